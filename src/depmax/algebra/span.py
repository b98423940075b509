"""Samples in coordinates of their own span: all of it, or the part that a method needs.

Methods ask ``space_of`` in ``space.py``, which comes here where features are not few.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.utils.extmath import safe_sparse_dot

from depmax._resources import blas_threads_for_parts, thread_pool
from depmax.algebra.directions import NONE, rank_of
from depmax.algebra.gram import FeatureProducts, Gram, Products, matrix_tile, tile_of
from depmax.algebra.row_sums import as_array
from depmax.algebra.space import EPS, Form, Operator, Space, Span
from depmax.data.sample import Sample, require_semidefinite
from depmax.maps.feature_map import leading

#: Up to so many samples their whole span is used, by an eigenproblem of that size.
EXACT_ROWS = 400
#: Arrays of all pairs of samples that the whole span takes at its peak: the centred kernel matrix,
#: its eigenvectors, coordinates, weights of the samples, and a copy of one of these.
WHOLE_SPAN = 6.0


# --- a growing basis -----------------------------------------------------------------------------
class GrownColumns:
    """A matrix in the order of columns that grows to the right.

    Parameters
    ----------
    n_rows : int

    Attributes
    ----------
    lengths : ndarray of shape (size,)
        Length of each column.

    Examples
    --------
    >>> columns = GrownColumns(2)
    >>> columns.append(np.array([[3.0, 0.0], [4.0, 1.0]]))
    >>> columns.lengths
    array([5., 1.])
    """

    def __init__(self, n_rows: int) -> None:
        self._store = np.empty((n_rows, 0), order="F")
        self.lengths = np.empty(0)

    @property
    def size(self) -> int:
        """Number of columns."""
        return len(self.lengths)

    @property
    def array(self) -> np.ndarray:
        """All columns, of shape (n_rows, size)."""
        return self._store[:, : self.size]

    def append(self, block: np.ndarray) -> None:
        """Add columns."""
        size = self.size + block.shape[1]
        if size > self._store.shape[1]:
            larger = np.empty((len(block), max(size, 2 * self.size)), order="F")
            larger[:, : self.size] = self.array
            self._store = larger
        self._store[:, self.size : size] = block
        self.lengths = np.append(self.lengths, lengths(block))


def lengths(columns: np.ndarray) -> np.ndarray:
    """Length of each column.

    Examples
    --------
    >>> lengths(np.array([[3.0, 0.0], [4.0, 1.0]]))
    array([5., 1.])
    """
    return np.sqrt(np.einsum("ij,ij->j", columns, columns))


#: A product with fewer columns than this takes as long as one with so many.
WIDTH = 8
#: Directions converge when their residuals, relative to the largest eigenvalue, are below this and
#: so many roundings of it.
CONVERGED, ROUNDINGS = 1e-10, 64.0
#: A Ritz value ≤ 0 is not waited for once its residual, relative to the largest, is below this.
UNSEEN = 1e-3
#: Length of the random columns that likely ones are mixed with, relative to these.
MIXED = 0.001
#: Landmarks for each column of a first block, at least, for residuals to be corrected by them.
FEWEST = 5
#: Eigenvalues of landmarks below this, relative to the largest, are rounding errors.
ALIKE = 1e-10
#: No eigenvalue of what is nearly the operator counts as nearer than this to one of it.
NEAREST = 1e-3
#: Convergence is looked at from this step on.
FIRST_LOOK = 2
#: A step lowers residuals by no more than this, most of the time: there is no need to look sooner.
FALL = 50.0
#: A new direction is dropped if its length, relative to the longest, is below so many roundings.
NULL = 100.0


@dataclass(frozen=True)
class Rest:
    """What columns q have beyond a basis, as directions Φᵀq orthogonal to it."""

    columns: np.ndarray  # of unit length, shape (m, n_kept)
    kept: np.ndarray  # which of the columns have something beyond, shape (n_columns,)
    amounts: np.ndarray  # how much, shape (n_columns,)


class Basis:
    """Orthonormal directions Φᵀq in feature space, with their values Φ(Φᵀq) = HKHq on the samples.

    Parameters
    ----------
    gram : Products
        Of samples times √w, if they have weights: so are values on them.
    """

    def __init__(self, gram: Products) -> None:
        self.gram = gram
        self._dual = GrownColumns(gram.n_samples)
        self._values = GrownColumns(gram.n_samples)
        # What two orthogonalisations leave of a column that the basis spans, relative to its parts
        self._precision = max(16 * float(np.finfo(np.float64).eps), (100 * gram.eps) ** 2)
        self._largest = 0.0  # largest ‖Φᵀq‖² of a q of unit length so far

    @property
    def dual(self) -> np.ndarray:
        """Q with QᵀHKHQ = I, of shape (m, s)."""
        return self._dual.array

    @property
    def values(self) -> np.ndarray:
        """HKHQ, of shape (m, s): the coordinates of the samples in this basis."""
        return self._values.array

    @property
    def size(self) -> int:
        """Number of directions s."""
        return self._dual.size

    @property
    def space(self) -> Space:
        """The samples in the coordinates of this basis."""
        gram = self.gram
        return Space(gram.plain(self.values), eps=gram.eps, weight=gram.weight)

    def of_data(self, data: Sample, squares: np.ndarray, means: np.ndarray | None) -> Span:
        """The samples in these coordinates, and the way from directions to new rows."""
        gram = self.gram
        weights = gram.rooted(self.dual)  # of the samples themselves, which add up to zero
        dual = weights - np.outer(gram.shares, weights.sum(axis=0))
        return Span(data, gram.plain(self.values), dual, squares, means, gram.eps)

    def reduced(self, form: Form, n_vectors: int) -> Basis:
        """The eigenvectors of A = ΦᵀMΦ with λ > 0 that this basis holds, at most so many."""
        theta, ritz = leading(_symmetric(self.values.T @ form.apply(self.values)), n_vectors)
        return self.rotated(ritz[:, theta > NONE * np.abs(theta).max(initial=0.0)])

    def rotated(self, vectors: np.ndarray) -> Basis:
        """Basis of directions given by orthonormal vectors of s coordinates, of shape (s, k)."""
        basis = Basis(self.gram)
        basis._largest = self._largest
        basis._dual.append(self.dual @ vectors)
        basis._values.append(self.values @ vectors)
        return basis

    def append(self, columns: np.ndarray) -> None:
        """Add the directions Φᵀq for the columns q, less what the basis already spans."""
        self.add(self.beyond(columns))

    def beyond(self, columns: np.ndarray) -> Rest:
        """What columns have beyond the basis."""
        columns = self.gram.centred(columns)
        sizes = lengths(columns)
        columns /= np.where(sizes > 0, sizes, 1.0)
        inside = self.values.T @ columns  # coefficients in this basis
        columns -= self.dual @ inside
        columns -= self.dual @ (self.values.T @ columns)  # removes what rounding left
        left = lengths(columns)
        kept = left > self._precision * (self._dual.lengths @ np.abs(inside))
        kept &= left > 0
        columns /= np.where(kept, left, 1.0)
        return Rest(columns if kept.all() else columns[:, kept], kept, left * sizes * kept)

    def add(self, rest: Rest) -> None:
        """Add directions, at the cost of one product with the kernel matrix."""
        images = self.gram.times(rest.columns)
        squares, rotation = np.linalg.eigh(_symmetric(rest.columns.T @ images))
        self._largest = max(self._largest, squares.max(initial=0.0))
        some = squares > NULL * self.gram.eps * self._largest
        rotation = rotation[:, some] / np.sqrt(squares[some])
        self._dual.append(rest.columns @ rotation)
        self._values.append(images @ rotation)

    def longest(self, rest: Rest, weights: np.ndarray) -> np.ndarray:
        """Bound on the length of combinations of what is beyond the basis, of shape (k,).

        Directions orthogonal to the basis have no more than the variance that it leaves:
        ‖Φᵀq‖² ≤ ‖q‖²(tr S - tr PᵀSP).

        Parameters
        ----------
        rest : Rest
        weights : ndarray of shape (n_columns, k)
            One combination of the columns per column.
        """
        left = max(self.gram.trace - float(self._values.lengths @ self._values.lengths), 0.0)
        scaled = (weights * rest.amounts[:, np.newaxis])[rest.kept]
        return np.sqrt(left) * lengths(rest.columns @ scaled)


def span_of_steps(
    gram: Products, factor: Any, n_steps: int, columns_after: Callable[[Space, int], Any]
) -> Basis:
    """Basis of C = ΦᵀΨ, and of what follows from it in steps: where a method of low rank lives.

    Parameters
    ----------
    gram : Products
    factor : ndarray of shape (m, r), or values that are made block by block
        Ψ.
    n_steps : int
    columns_after : callable
        Values on the samples whose directions the next step needs, of shape (m, k), for the samples
        in the coordinates of the basis so far and the number of the step; None: no more.
    """
    basis = Basis(gram)
    basis.append(gram.rooted(as_array(factor)))
    for step in range(1, n_steps + 1):
        columns = columns_after(basis.space, step)
        if columns is None:
            break
        basis.append(gram.rooted(columns))
    return basis


def span_of_dependence(gram: Products, form: Form, n_vectors: int) -> Basis:
    """Basis of the directions of most dependence, those with λ > 0, at most this many.

    Parameters
    ----------
    gram : Products
    form : Form
        M of the criterion A = ΦᵀMΦ.
    n_vectors : int
    """
    basis, form = Basis(gram), form.held()
    form = replace(form, factor=gram.rooted(form.factor))
    basis.append(form.factor)  # all of the range of CCᵀ
    rank = min(n_vectors, rank_of(basis.values.T @ form.factor))
    if not form.is_low_rank and rank:
        grow(basis, form.apply, rank, positive=True)
    return basis.reduced(form, rank)


def completed(basis: Basis, n_vectors: int, variance: Operator | None = None) -> Basis:
    """Basis extended to this many vectors by the directions of most variance orthogonal to it.

    The variance is ΦᵀΦ, or ΦᵀNΦ with another operator N on values at the samples.
    """
    missing = n_vectors - basis.size
    if missing <= 0:
        return basis
    held = basis.size
    width = -(-missing // WIDTH) * WIDTH
    if variance is None and basis.gram.n_landmarks >= FEWEST * (missing + WIDTH):
        nearly = Nearly.of(basis.gram)
        basis.append(nearly.first_block(missing + WIDTH))
        variances = grow_by_residuals(basis, nearly, missing, held)
    else:
        shape = basis.gram.n_samples, width  # columns that no direction is orthogonal to
        basis.append(np.random.default_rng(0).standard_normal(shape))
        variances = grow(basis, variance or (lambda values: values), missing, held)
    vectors = np.zeros((basis.size, held + min(len(variances), width)))
    vectors[:held, :held] = np.eye(held)
    vectors[held:, held:] = leading(variances, width)[1]
    return basis.rotated(vectors)


def grow(
    basis: Basis,
    apply: Callable[[np.ndarray], np.ndarray],
    n_vectors: int,
    held: int = 0,
    *,
    positive: bool = False,
) -> np.ndarray:
    """Grow a basis until it holds the leading eigenvectors of an operator, by block Krylov steps.

    Parameters
    ----------
    basis : Basis
        Holds the first block, after ``held`` directions that are left out of the eigenproblem.
    apply : callable
        Takes the values f of directions on the samples and returns the dual columns q of the
        operator's image: f itself for the scatter S, Mf for A = ΦᵀMΦ.
    n_vectors : int
        Number of leading eigenvectors.
    held : int
        Directions that the eigenvectors must be orthogonal to.
    positive : bool
        Whether eigenvectors with λ ≤ 0 are not wanted.

    Returns
    -------
    ndarray of shape (s - held, s - held)
        The operator in the directions of the basis beyond those held.
    """
    operator = np.empty((0, 0))
    size = held  # directions that the operator was applied to, and those held
    step, look = 0, FIRST_LOOK
    while basis.size > size:
        step += 1
        width, size = basis.size - size, basis.size
        values = basis.values[:, held:]
        images = apply(values[:, -width:])
        operator = _bordered(operator, values.T @ images)
        if size >= basis.gram.n_samples - 1:
            break
        rest = basis.beyond(images)
        if step == look:
            theta, ritz = leading(operator, n_vectors)
            above = _above(theta, basis.longest(rest, ritz[-width:]), positive=positive)
            above /= max(CONVERGED, ROUNDINGS * basis.gram.eps)
            if above <= 1.0:
                break
            look += max(1, int(np.log(above) / np.log(FALL)))
        basis.add(rest)
    return operator


@dataclass(frozen=True)
class Nearly:
    """HKH by its columns at a few landmarks, C(C_L)⁻¹Cᵀ (Nyström): what corrects residuals."""

    columns: np.ndarray  # C = HKH of the landmarks, shape (m, n_landmarks)
    axes: np.ndarray  # G such that the eigenvectors are CG, shape (n_landmarks, n_landmarks)
    values: np.ndarray  # its eigenvalues, in rising order

    @classmethod
    def of(cls, gram: Products) -> Nearly:
        """From landmarks that are evenly spread over the samples."""
        places = np.linspace(0, gram.n_samples - 1, gram.n_landmarks).astype(np.intp)
        columns = gram.columns(places)
        own, roots = linalg.eigh(_symmetric(columns[places]))
        some = own > ALIKE * own[-1]
        roots = roots[:, some] / np.sqrt(own[some])  # (C_L)⁻¹ is their product
        values, axes = linalg.eigh(roots.T @ (columns.T @ columns) @ roots)
        some = values > ALIKE * values[-1]
        return cls(columns, roots @ (axes[:, some] / np.sqrt(values[some])), values[some])

    def first_block(self, n_columns: int) -> np.ndarray:
        """Its leading eigenvectors, and a little of everything."""
        likely = self.columns @ self.axes[:, ::-1][:, :n_columns]
        noise = np.random.default_rng(0).standard_normal(likely.shape)
        return likely + MIXED / np.sqrt(len(noise)) * noise

    def corrected(self, residuals: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """(C(C_L)⁻¹Cᵀ - θ)⁻¹r of each residual, away from the poles."""
        gaps = self.values[:, np.newaxis] - theta
        smallest = NEAREST * theta
        gaps = np.where(np.abs(gaps) < smallest, np.copysign(smallest, gaps), gaps)
        inside = (1.0 / gaps + 1.0 / theta) * (self.axes.T @ (self.columns.T @ residuals))
        return self.columns @ (self.axes @ inside) - residuals / theta


def grow_by_residuals(basis: Basis, nearly: Nearly, n_vectors: int, held: int) -> np.ndarray:
    """Grow a basis until it holds the directions of most variance, as ``grow`` does.

    The basis grows by the residual of each eigenvector that is still wanted, corrected by what is
    nearly the operator (Davidson's method): fewer columns than Krylov steps take.
    """
    operator, size = np.empty((0, 0)), held
    while basis.size > size:
        width, size = basis.size - size, basis.size
        values = basis.values[:, held:]
        operator = _bordered(operator, values.T @ values[:, -width:])
        if size >= basis.gram.n_samples - 1:
            break
        theta, ritz = leading(operator, n_vectors)
        rest = basis.beyond(values @ ritz - basis.dual[:, held:] @ (ritz * theta))
        left = basis.longest(rest, np.eye(len(theta)))[rest.kept]
        wanted = left > max(CONVERGED, ROUNDINGS * basis.gram.eps) * theta[0]
        if not wanted.any():
            break
        theta = theta[rest.kept][wanted]
        basis.append(nearly.corrected(rest.columns[:, wanted], theta))
    return operator


def _above(theta: np.ndarray, residuals: np.ndarray, *, positive: bool) -> float:
    """Largest residual of the eigenvectors that are wanted, relative to the largest eigenvalue."""
    scale = np.abs(theta).max()
    needed = np.full(len(theta), True)
    if positive:
        needed = (theta > NONE * scale) | (residuals > UNSEEN * scale)
    return float(residuals[needed].max(initial=0.0) / scale)


def _bordered(matrix: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Symmetric matrix continued by its last columns, of shape (n, k)."""
    size, width = columns.shape
    larger = np.empty((size, size))
    larger[: size - width, : size - width] = matrix
    larger[:, size - width :] = columns
    larger[size - width :] = columns.T
    larger[size - width :, size - width :] = _symmetric(columns[size - width :])
    return larger


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return (matrix + matrix.T) / 2


# --- coordinates ---------------------------------------------------------------------------------
#: A basis of the part of the samples' span that a method needs; None if it needs all.
Grow = Callable[[Products], Basis | None]


def span_of(data: Sample, grow: Grow | None = None, *, few: bool = False) -> Span:
    """Samples in coordinates of their own span: the part that ``grow`` asks for, or all of it."""
    if grow is not None and data.n_samples > EXACT_ROWS:
        part = part_of_span(data, grow, few=few)
        if part is not None:
            return part
    gram, scale, means = _centred_gram(data)
    eps = EPS if data.has_features else data.eps
    coordinates, dual = span(gram, scale, data.weight, eps)
    shares = (
        np.full(len(dual), 1.0 / len(dual)) if data.weight is None else data.weight / data.total
    )
    dual = dual - np.outer(shares, dual.sum(axis=0))  # weights of the samples that add up to zero
    return Span(data, coordinates, dual, gram.diagonal(), means, eps)


def part_of_span(data: Sample, grow: Grow, *, few: bool = False) -> Span | None:
    """The part of the samples' span that a method asks for; None: it asks for all of it.

    BLAS keeps to one thread: its own would wait busily between the parts that ours compute.
    """
    if data.has_features and few:
        features = Space.held(data)
        basis = grow(FeatureProducts(features))
        return None if basis is None else basis.of_data(data, features.squares, None)
    with blas_threads_for_parts() as threads, thread_pool(threads) as run:
        tile = tile_of(data)
        if data.has_features:
            tile = matrix_tile(_centred_gram(data)[0])
        gram = Gram(tile, data.n_samples, np.float64, run, data.weight)
        basis = grow(gram)
    means = None if data.has_features else gram.mean
    return None if basis is None else basis.of_data(data, gram.squares, means)


def _centred_gram(data: Sample) -> tuple[np.ndarray, float, np.ndarray | None]:
    """HKH, the size of what it was computed from, and without features the column means of K."""
    if data.has_features:
        phi = data.coordinates(slice(None))
        if not sparse.issparse(phi):
            phi = Space(phi, data=data).centred()
            return phi @ phi.T, 0.0, None
        gram = safe_sparse_dot(phi.astype(np.float64), phi.T, dense_output=True)
    else:
        gram = data.gram()
    scale = float(gram.diagonal().max())
    means = np.average(gram, axis=0, weights=data.weight)
    gram = gram - means
    gram -= np.average(gram, axis=1, weights=data.weight)[:, np.newaxis]
    return gram, scale, None if data.has_features else means


def pairs_held(data: Sample, *, whole_span: bool) -> float:
    """Values of pairs of samples that ``space_of`` holds at its peak, counted in float64.

    None where features are fewer than samples, or where the user gave the kernel matrix. Without
    ``whole_span`` the part is grown that a method asks for.
    """
    m = data.n_samples
    if data.precomputed or (data.n_coordinates or m + 1) <= m:
        return 0.0
    if whole_span or m <= EXACT_ROWS:
        return WHOLE_SPAN * m**2
    if data.has_features:
        return 1.5 * m**2  # the products of features, and half of them in strips
    return 0.5 * m**2  # strips from the diagonal on


def span(
    gram: np.ndarray, scale: float, weight: np.ndarray | None = None, eps: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """UΛ^(1/2) and UΛ^(-1/2) of a Gram matrix UΛUᵀ, without its numerical null space.

    ``scale`` is the size of the entries that the matrix was computed from, if larger than its own,
    and ``eps`` their relative precision, if it is less than that of float64.

    With weights w the eigenproblem is that of W^½GW^½ = UΛUᵀ, whose eigenvalues are those of the
    samples repeated; the coordinates are W^(-½)UΛ^½, the weights of the samples W^½UΛ^(-½).
    """
    if weight is not None:
        roots = np.sqrt(weight)[:, np.newaxis]
        coordinates, dual = span(roots * gram * roots.T, scale, eps=eps)
        return coordinates / roots, roots * dual
    values, vectors = linalg.eigh(gram)
    values, vectors = values[::-1], vectors[:, ::-1]
    require_semidefinite(values[-1], max(values[0], scale))
    precision = max(len(values) * float(np.finfo(np.float64).eps), 10 * eps)
    kept = values > precision * max(values[0], scale)
    roots = np.sqrt(values[kept])
    return vectors[:, kept] * roots, vectors[:, kept] / roots
