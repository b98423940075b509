"""A growing basis of directions in the span of the samples, for kernel matrices that are large."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from depmax.pencils.directions import NONE, leading, rank_of
from depmax.pencils.form import Form
from depmax.pencils.gram import Gram
from depmax.pencils.space import Space

#: Columns that a block has beyond the directions it looks for.
SPARE = 4
#: Directions converge when their residuals are below so many roundings of the largest eigenvalue.
CONVERGED = 32.0
#: A Ritz value ≤ 0 is not waited for once its residual, relative to the largest, is below this.
UNSEEN = 1e-3
#: Size of the random numbers that likely columns are mixed with, relative to these.
MIXED = 0.01
#: Convergence is looked at from this step on.
FIRST_LOOK = 2
#: A new direction is dropped if its length, relative to the longest, is below so many roundings.
NULL = 100.0


class Basis:
    """Orthonormal directions Φᵀq in feature space, with their values Φ(Φᵀq) = HKHq on the samples.

    Parameters
    ----------
    gram : Gram

    Attributes
    ----------
    dual : ndarray of shape (m, s)
        Q with QᵀHKHQ = I.
    values : ndarray of shape (m, s)
        HKHQ: the coordinates of the samples in this basis.
    """

    def __init__(self, gram: Gram) -> None:
        self.gram = gram
        self.dual = np.empty((gram.n_samples, 0), order="F")
        self.values = np.empty((gram.n_samples, 0), order="F")
        # What two orthogonalisations leave of a column that the basis spans, relative to its parts
        self._precision = max(16 * float(np.finfo(np.float64).eps), (100 * gram.eps) ** 2)
        self._largest = 0.0  # largest ‖Φᵀq‖² of a q of unit length so far

    @property
    def size(self) -> int:
        """Number of directions s."""
        return int(self.dual.shape[1])

    @property
    def space(self) -> Space:
        """The samples in the coordinates of this basis."""
        return Space.of_array(self.values, self.gram.eps)

    def reduced(self, form: Form, n_wanted: int) -> Basis:
        """The eigenvectors of A = ΦᵀMΦ with λ > 0 that this basis holds, at most so many."""
        theta, ritz = leading(_symmetric(self.values.T @ form.apply(self.values)), n_wanted)
        return self.rotated(ritz[:, theta > NONE * np.abs(theta).max(initial=0.0)])

    def rotated(self, vectors: np.ndarray) -> Basis:
        """Basis of directions given by orthonormal vectors of s coordinates, of shape (s, k)."""
        basis = Basis(self.gram)
        basis.dual = np.asfortranarray(self.dual @ vectors)
        basis.values = np.asfortranarray(self.values @ vectors)
        return basis

    def append(self, columns: np.ndarray) -> np.ndarray:
        """Add the directions Φᵀq for the columns q, less what the basis already spans.

        Costs one product with the kernel matrix.

        Returns
        -------
        ndarray of shape (n_added, n_columns)
            Coefficients of the columns in the added directions.
        """
        columns = columns - columns.mean(axis=0)
        sizes = _lengths(columns)
        columns = columns / sizes
        inside = self.values.T @ columns  # coefficients in this basis
        columns = columns - self.dual @ inside
        columns = columns - self.dual @ (self.values.T @ columns)  # removes what rounding left
        left = linalg.norm(columns, axis=0)
        kept = left > self._precision * (linalg.norm(self.dual, axis=0) @ np.abs(inside))
        kept &= left > 0
        columns = columns[:, kept] / left[kept]
        images = self.gram.times(columns)
        squares, rotation = linalg.eigh(_symmetric(columns.T @ images))
        self._largest = max(self._largest, squares.max(initial=0.0))
        some = squares > NULL * self.gram.eps * self._largest
        rotation, roots = rotation[:, some], np.sqrt(squares[some])
        self.dual = _joined(self.dual, columns @ (rotation / roots))
        self.values = _joined(self.values, images @ (rotation / roots))
        coefficients = np.zeros((len(roots), len(sizes)))
        coefficients[:, kept] = (rotation * roots).T * (left * sizes)[kept]
        return coefficients


def span_of_dependence(basis: Basis, form: Form, n_wanted: int) -> Basis:
    """Basis that holds the directions of most dependence, completed by those of most variance.

    Parameters
    ----------
    basis : Basis
        Empty.
    form : Form
        M of the criterion A = ΦᵀMΦ.
    n_wanted : int
    """
    spare = _first_block(basis.gram, n_wanted + SPARE)
    basis.append(form.factor)  # all of the range of CCᵀ
    rank = min(n_wanted, rank_of(basis.values.T @ form.factor))
    if not form.is_low_rank and rank:
        grow(basis, form.apply, rank, positive=True)
    basis = basis.reduced(form, rank)
    missing = n_wanted - basis.size
    if missing > 0:
        held = basis.size
        basis.append(spare[:, : missing + SPARE])
        variances = grow(basis, lambda values: values, missing, held)
        vectors = np.zeros((basis.size, held + min(len(variances), missing + SPARE)))
        vectors[:held, :held] = np.eye(held)
        vectors[held:, held:] = leading(variances, missing + SPARE)[1]
        basis = basis.rotated(vectors)
    return basis


def grow(
    basis: Basis,
    apply: Callable[[np.ndarray], np.ndarray],
    n_wanted: int,
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
    n_wanted : int
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
    width = basis.size - held  # of the last block
    step = 0
    converged = False
    while width:
        step += 1
        values = basis.values[:, held:]
        images = apply(values[:, -width:])
        operator = _bordered(operator, values.T @ images)
        if converged or basis.size >= basis.gram.n_samples - 1:
            break
        coefficients = basis.append(images)
        width = coefficients.shape[0]
        converged = step >= FIRST_LOOK and _converged(
            operator, coefficients, n_wanted, basis.gram.eps, positive=positive
        )
    return operator


def _converged(
    operator: np.ndarray, coefficients: np.ndarray, n_wanted: int, eps: float, *, positive: bool
) -> bool:
    """Whether the operator leaves its leading eigenvectors where they are.

    ``coefficients`` tell what it makes of the last block beyond the basis.
    """
    theta, ritz = leading(operator, n_wanted)
    residuals = linalg.norm(coefficients @ ritz[-coefficients.shape[1] :], axis=0)
    scale = np.abs(theta).max()
    open_ones = residuals > CONVERGED * eps * scale
    if positive:
        open_ones &= (theta > NONE * scale) | (residuals > UNSEEN * scale)
    return not open_ones.any()


def _bordered(matrix: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Symmetric matrix continued by its last columns, of shape (n, k)."""
    size, width = columns.shape
    larger = np.empty((size, size))
    larger[: size - width, : size - width] = matrix
    larger[:, size - width :] = columns
    larger[size - width :] = columns.T
    larger[size - width :, size - width :] = _symmetric(columns[size - width :])
    return larger


def _joined(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Columns beside columns, in the order in which products with them are fastest."""
    joined = np.empty((left.shape[0], left.shape[1] + right.shape[1]), order="F")
    joined[:, : left.shape[1]] = left
    joined[:, left.shape[1] :] = right
    return joined


def _lengths(columns: np.ndarray) -> np.ndarray:
    """Length of each column; 1 for columns of zeros."""
    lengths = linalg.norm(columns, axis=0)
    return np.where(lengths > 0, lengths, 1.0)


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return (matrix + matrix.T) / 2


def _first_block(gram: Gram, n_columns: int) -> np.ndarray:
    """Columns that no direction is orthogonal to, likely ones first, always the same."""
    block = np.random.default_rng(0).standard_normal((gram.n_samples, n_columns))
    likely = gram.likely[:, :n_columns]
    block[:, : likely.shape[1]] *= MIXED
    block[:, : likely.shape[1]] += likely * (np.sqrt(len(likely)) / _lengths(likely))
    return block
