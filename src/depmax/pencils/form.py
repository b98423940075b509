"""Quadratic forms over samples: what a criterion asks of pairs of samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from depmax.maps.incomplete_cholesky import factor_to
from depmax.pencils.row_sums import Aligned
from depmax.pencils.streamed import PRECISION, CentredValues, RowValues, centred_target
from depmax.samples import Sample, require_positive, require_semidefinite

#: Values at the samples: an array, or where rows are read a block at a time what gives them.
Values = np.ndarray | RowValues
#: Values with columns of mean zero.
Factor = np.ndarray | CentredValues

#: A symmetric operator on columns of values at the samples.
Operator = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Form:
    """M = ΨΨᵀ - diag(w) - N, a quadratic form over centred samples.

    With the centred coordinates Φ of the samples the matrix of a criterion is
    A = ΦᵀMΦ = CCᵀ - Φᵀdiag(w)Φ - ΦᵀNΦ with C = ΦᵀΨ. If only some samples are labelled, Ψ and w are
    zero for the others, and diag(w) acts on the labelled samples measured from their own mean.
    """

    factor: Any  # Ψ, shape (m, r), columns of mean zero: an array or CentredValues
    weights: Any = None  # w, shape (m,): an array or RowValues
    labelled: np.ndarray | None = None  # which samples are, shape (m,); None: all
    penalty: Operator | None = None  # N

    @property
    def n_samples(self) -> int:
        """Number of samples m."""
        return int(self.factor.shape[0])

    @property
    def width(self) -> int:
        """Number of columns r of Ψ."""
        return int(self.factor.shape[1])

    def beside(self, phi: Any, rows: Any) -> Aligned:
        """A chunk of coordinates with what this form knows of the same samples.

        ``rows`` is a slice of samples in memory, or a block of those that are read.
        """
        weights = None if self.weights is None else _at(self.weights, phi, rows)
        labelled = None if weights is None or self.labelled is None else self.labelled[rows]
        return Aligned(phi, _at(self.factor, phi, rows), weights, labelled)

    def apply(self, values: np.ndarray) -> np.ndarray:
        """M times columns of values on the samples, of shape (m, k)."""
        images: np.ndarray = self.factor @ (self.factor.T @ values)
        if self.weights is not None:
            images -= self._weighted(values, self.weights[:, np.newaxis])
        if self.penalty is not None:
            images -= self.penalty(values)
        return images

    def reached(self, features: np.ndarray) -> np.ndarray:
        """fᵀMf of each column of centred features, of shape (k,)."""
        return np.einsum("ij,ij->j", features, self.apply(features))

    def spread(self, labelled: np.ndarray) -> Form:
        """The same form of the labelled samples, as one of all samples."""
        factor = np.zeros((len(labelled), self.factor.shape[1]))
        factor[labelled] = self.factor
        weights = None
        if self.weights is not None:
            weights = np.zeros(len(labelled))
            weights[labelled] = self.weights
        return Form(factor, weights, labelled)

    def _weighted(self, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        if self.labelled is None:
            return weights * values
        images = weights * (values - values[self.labelled].mean(axis=0))
        images[self.labelled] -= images[self.labelled].mean(axis=0)
        return images

    @property
    def is_low_rank(self) -> bool:
        """Whether M = ΨΨᵀ."""
        return self.weights is None and self.penalty is None


def _at(values: Any, phi: Any, rows: Any) -> np.ndarray:
    """Values at some samples."""
    found: np.ndarray = values[rows] if isinstance(values, np.ndarray) else values.beside(phi, rows)
    return found


def squared_lengths(factor: Factor, mass: np.ndarray | None = None) -> tuple[Values, float]:
    """‖ψ‖² of every sample, of shape (m,), and their sum over all that they stand for."""
    if not isinstance(factor, np.ndarray):
        return factor.squares(), factor.total
    squares = np.einsum("ij,ij->i", factor, factor)
    return squares, float(squares.sum() if mass is None else mass @ squares)


def columns_of(values: Values) -> list[Values]:
    """The columns of values at the samples."""
    if isinstance(values, np.ndarray):
        return list(values.T)
    return [values.column(number) for number in range(values.shape[1])]


def rank_of_factor(factor: Factor) -> int:
    """Number of directions that a factor spans."""
    if isinstance(factor, np.ndarray):
        return int(np.linalg.matrix_rank(factor - factor.mean(axis=0)))
    assert factor.gram is not None
    return int(np.linalg.matrix_rank(factor.gram, hermitian=True))


def hsic_form(factor: Factor, *, unbiased: bool, mass: np.ndarray | None = None) -> Form:
    """Form whose A has pᵀAp = HSIC between the feature Φp (linear kernel) and the target.

    Parameters
    ----------
    factor : ndarray of shape (m, r), or values that are made block by block
        Ψ with the target's kernel matrix L = ΨΨᵀ, columns of mean zero.
    unbiased : bool
        HSIC₁, or HSIC₀, for which there are no weights.
    mass : ndarray of shape (m,), optional
        How many samples each stands for; the space of Φ must have the same.

    Examples
    --------
    >>> hsic_form(np.array([[1.0], [-1.0]]), unbiased=False).factor.ravel()
    array([ 1., -1.])
    """
    m = factor.shape[0] if mass is None else float(mass.sum())
    if not unbiased:
        return Form(factor / (m - 1))
    squares, total = squared_lengths(factor, mass)  # ‖ψ_i‖²
    weights = m / (m - 2) * squares - total / ((m - 1) * (m - 2))
    scale = m * (m - 3)
    return Form(factor / np.sqrt(scale), weights / scale)


def target_factor(side: Sample) -> Any:
    """Ψ of shape (m, r) with ΨΨᵀ = HLH, up to rounding.

    The kernel's exact coordinates where it has them, no more than samples; otherwise a Cholesky
    factor with as many pivots as full precision takes: about twenty for a Gaussian kernel of
    numbers, all samples for a kernel matrix of full rank.
    """
    if side.is_streamed:
        return centred_target(side)
    width = side.n_coordinates
    if width is not None and width <= side.n_samples:
        return side.centred_coordinates()
    sample = Sample(side.kernel, side.rows)
    if sample.is_small:
        factor = _of_matrix(sample.gram())
    else:
        factor = np.asarray(factor_to(sample, PRECISION).factor)
    centred: np.ndarray = factor - side.mean_of(factor)
    return centred


def _of_matrix(matrix: np.ndarray) -> np.ndarray:
    """The factor of a kernel matrix that is at hand, by LAPACK."""
    diagonal = matrix.diagonal()
    total, largest = float(diagonal.sum()), float(diagonal.max())
    require_positive(largest)
    lower, order, rank, _ = linalg.lapack.dpstrf(matrix, lower=1)
    factor = np.empty((len(matrix), rank))
    factor[order - 1] = np.tril(lower)[:, :rank]
    require_semidefinite((diagonal - np.square(factor).sum(axis=1)).min(), largest)
    left = total - np.cumsum(np.square(factor).sum(axis=0))
    return factor[:, : 1 + int(np.argmax(np.append(left, 0.0) <= PRECISION * total))]
