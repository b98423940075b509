"""Quadratic forms over samples: what a criterion asks of pairs of samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

from depmax.maps._pivots import factor_to
from depmax.pencils.row_sums import Aligned
from depmax.pencils.streamed import (
    FEW_ROWS,
    PRECISION,
    CentredValues,
    RowValues,
    centred_target,
    few_pivots,
)
from depmax.samples import Sample, require_positive, require_semidefinite

#: Values at the samples: an array, or what makes those of a part of the samples.
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

    Ψ need not be held: its rows are made beside those of Φ, a part of the samples at a time.
    """

    factor: Any  # Ψ, shape (m, r), columns of mean zero: an array or CentredValues
    weights: Any = None  # w, shape (m,): an array, RowValues or OfLengths
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
        psi = values_at(self.factor, phi, rows)
        weights = self.weights
        if weights is not None:
            weights = weights(psi) if callable(weights) else values_at(weights, phi, rows)
        labelled = None if weights is None or self.labelled is None else self.labelled[rows]
        return Aligned(phi, psi, weights, labelled)

    def held(self) -> Form:
        """The same form with Ψ and w in memory, for values at all samples at once."""
        factor, weights = as_array(self.factor), self.weights
        if weights is not None:
            weights = weights(factor) if callable(weights) else as_array(weights)
        return replace(self, factor=factor, weights=weights)

    def apply(self, values: np.ndarray) -> np.ndarray:
        """M times columns of values on the samples, of shape (m, k); of a form that is held."""
        images: np.ndarray = self.factor @ (self.factor.T @ values)
        if self.weights is not None:
            images -= self._weighted(values, self.weights[:, np.newaxis])
        if self.penalty is not None:
            images -= self.penalty(values)
        return images

    def reached(self, features: np.ndarray) -> np.ndarray:
        """fᵀMf of each column of centred features, of shape (k,)."""
        return np.einsum("ij,ij->j", features, self.held().apply(features))

    def spread(self, labelled: np.ndarray) -> Form:
        """The same form of the labelled samples, as one of all samples."""
        held = self.held()
        factor = np.zeros((len(labelled), self.width))
        factor[labelled] = held.factor
        weights = None
        if held.weights is not None:
            weights = np.zeros(len(labelled))
            weights[labelled] = held.weights
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


@dataclass(frozen=True)
class OfLengths:
    """Weights slope·‖ψ‖² + shift."""

    slope: float
    shift: float

    def __call__(self, psi: np.ndarray) -> np.ndarray:
        """Of the samples whose ψ are given, of shape (n,)."""
        return self.slope * np.einsum("ij,ij->i", psi, psi) + self.shift


def values_at(values: Values, phi: Any, rows: Any) -> np.ndarray:
    """Values at some samples."""
    return values[rows] if isinstance(values, np.ndarray) else values.beside(phi, rows)


def as_array(values: Values) -> np.ndarray:
    """Values at all samples, in memory."""
    return values if isinstance(values, np.ndarray) else values.array()


def square_of(factor: Factor, mass: np.ndarray | None = None) -> float:
    """Σ‖ψ‖² over all samples that the given ones stand for."""
    if not isinstance(factor, np.ndarray):
        return factor.total
    squares = np.einsum("ij,ij->i", factor, factor)
    return float(squares.sum() if mass is None else mass @ squares)


def columns_of(values: Values) -> list[Values]:
    """The columns of values at the samples."""
    if isinstance(values, np.ndarray):
        return list(values.T)
    return [values.column(number) for number in range(values.shape[1])]


def rank_of_factor(factor: Factor) -> int:
    """Number of directions that a factor spans."""
    if isinstance(factor, np.ndarray):
        return int(np.linalg.matrix_rank(factor - factor.mean(axis=0)))
    return int(np.linalg.matrix_rank(gram_of(factor), hermitian=True))


def gram_of(factor: Factor) -> np.ndarray:
    """ΨᵀΨ of shape (r, r)."""
    if isinstance(factor, np.ndarray):
        return factor.T @ factor
    assert factor.gram is not None
    return factor.gram


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
    scale = m * (m - 3)
    rest = square_of(factor, mass) / ((m - 1) * (m - 2) * scale)
    return Form(factor / np.sqrt(scale), OfLengths(m / (m - 2), -rest))


def target_factor(side: Sample) -> Any:
    """Ψ of shape (m, r) with ΨΨᵀ = HLH, up to rounding.

    The kernel's exact coordinates where it has them, no more than samples; otherwise a Cholesky
    factor with as many pivots as full precision takes: about twenty for a Gaussian kernel of
    numbers, all samples for a kernel matrix of full rank. Only the factor of few rows, or one of
    many pivots, is held as an array; otherwise rows of Ψ are made where they are asked for.
    """
    width = side.n_coordinates
    if side.is_streamed or (width is not None and width <= side.n_samples):
        return centred_target(side)
    if side.is_array and side.n_samples > FEW_ROWS:
        found = few_pivots(side)
        if found is not None:
            return found
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
