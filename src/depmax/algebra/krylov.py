"""A growing basis of directions in the span of the samples, for kernel matrices that are large."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from depmax.algebra.directions import NONE, leading, rank_of
from depmax.algebra.form import Form, Operator, as_array
from depmax.algebra.gram import Products
from depmax.algebra.space import Space


class Columns:
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
    >>> columns = Columns(2)
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
#: Size of the random numbers that likely columns are mixed with, relative to these.
MIXED = 0.01
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
        self._dual = Columns(gram.n_samples)
        self._values = Columns(gram.n_samples)
        # What two orthogonalisations leave of a column that the basis spans, relative to its parts
        self._precision = max(16 * float(np.finfo(np.float64).eps), (100 * gram.eps) ** 2)
        self._largest = 0.0  # largest ‖Φᵀq‖² of a q of unit length so far

    @property
    def dual(self) -> np.ndarray:
        """Q with QᵀHKHQ = I, of shape (m, s)."""
        return self._dual.array

    @property
    def sample_weights(self) -> np.ndarray:
        """Q as weights of the samples themselves, which add up to zero."""
        weights = self.gram.rooted(self.dual)
        centred: np.ndarray = weights - np.outer(self.gram.shares, weights.sum(axis=0))
        return centred

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
        return Space.of_array(gram.plain(self.values), gram.eps, weight=gram.weight)

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
    basis.append(_first_block(basis.gram, width))
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


def _first_block(gram: Products, n_columns: int) -> np.ndarray:
    """Columns that no direction is orthogonal to, likely ones first, always the same."""
    block = np.random.default_rng(0).standard_normal((gram.n_samples, n_columns))
    likely = gram.likely[:, :n_columns]
    sizes = lengths(likely)
    block[:, : likely.shape[1]] *= MIXED
    block[:, : likely.shape[1]] += likely * (np.sqrt(len(likely)) / np.where(sizes > 0, sizes, 1.0))
    return block
