"""Quadratic forms over samples: what a criterion asks of pairs of samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from depmax.algebra.row_sums import Aligned
from depmax.data.chunks import Chunk

#: Some of the samples: a slice of those in memory, or a block of those that are read.
Part = slice | Chunk

#: A symmetric operator on columns of values at the samples.
Operator = Callable[[np.ndarray], np.ndarray]


# --- values at the samples ------------------------------------------------------------------------
@dataclass(frozen=True)
class CentredValues:
    """Values at all rows with columns of mean zero, made a part of the rows at a time.

    Stands where an array of the values would: it can be scaled, subtracted and split into columns,
    and ``beside`` gives the values of a part.
    """

    make: Callable[[Any, Any], np.ndarray]  # from φ and the part
    shape: tuple[int, ...]
    slope: float = 1.0
    gram: np.ndarray | None = None  # ΨᵀΨ, shape (r, r), where it is asked for
    #: Ask numpy's numbers to leave products with them to this class.
    __array_ufunc__ = None

    @property
    def total(self) -> float:
        """Σ‖ψ‖²."""
        return float(np.trace(gram_of(self)))

    def beside(self, phi: Any, part: Part) -> np.ndarray:
        """Values at the rows of a part."""
        values = self.make(phi, part)
        return values if self.slope == 1.0 else self.slope * values

    def array(self) -> np.ndarray:
        """All values that do not depend on φ, of rows in memory."""
        return self.beside(None, slice(0, self.shape[0]))

    def column(self, number: int) -> CentredValues:
        """One column, of shape (m,)."""
        return CentredValues(partial(_column, self, number), self.shape[:1])

    def __mul__(self, factor: float) -> CentredValues:
        gram = None if self.gram is None else self.gram * float(factor) ** 2
        return replace(self, slope=self.slope * float(factor), gram=gram)

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> CentredValues:
        return self * (1.0 / float(divisor))

    def __sub__(self, other: CentredValues) -> CentredValues:
        return CentredValues(partial(_difference, self, other), self.shape)


def _column(values: CentredValues, number: int, phi: Any, part: Part) -> np.ndarray:
    return values.beside(phi, part)[:, number]


def _difference(left: CentredValues, right: CentredValues, phi: Any, part: Part) -> np.ndarray:
    return left.beside(phi, part) - right.beside(phi, part)


@dataclass(frozen=True)
class FeaturesOfPart:
    """(φ - mean)P of some rows."""

    mean: np.ndarray
    directions: np.ndarray

    def __call__(self, phi: Any, part: Part) -> np.ndarray:
        """Of shape (n, k)."""
        values: np.ndarray = phi @ self.directions - self.mean @ self.directions
        return values


#: Values at the samples: an array, or what makes those of a part of the samples.
Factor = np.ndarray | CentredValues


# --- forms ----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Form:
    """M = ΨΨᵀ - diag(w) - N, a quadratic form over centred samples.

    With the centred coordinates Φ of the samples the matrix of a criterion is
    A = ΦᵀMΦ = CCᵀ - Φᵀdiag(w)Φ - ΦᵀNΦ with C = ΦᵀΨ. If only some samples are labelled, Ψ and w are
    zero for the others, and diag(w) acts on the labelled samples measured from their own mean.

    Ψ need not be held: its rows are made beside those of Φ, a part of the samples at a time.
    """

    factor: Any  # Ψ, shape (m, r), columns of mean zero: an array or CentredValues
    diagonal: Any = None  # w, shape (m,): an array, CentredValues or OfLengths
    penalties: tuple[Operator, ...] = ()  # whose sum is N

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
        diagonal = self.diagonal
        if diagonal is not None:
            diagonal = diagonal(psi) if callable(diagonal) else values_at(diagonal, phi, rows)
        return Aligned(phi, psi, diagonal)

    def held(self) -> Form:
        """The same form with Ψ and w in memory, for values at all samples at once."""
        factor, diagonal = as_array(self.factor), self.diagonal
        if diagonal is not None:
            diagonal = diagonal(factor) if callable(diagonal) else as_array(diagonal)
        return replace(self, factor=factor, diagonal=diagonal)

    def apply(self, values: np.ndarray) -> np.ndarray:
        """M times columns of values on the samples, of shape (m, k); of a form that is held."""
        images: np.ndarray = self.factor @ (self.factor.T @ values)
        if self.diagonal is not None:
            images -= self.diagonal[:, np.newaxis] * values
        for penalty in self.penalties:
            images -= penalty(values)
        return images

    def reached(self, features: np.ndarray) -> np.ndarray:
        """fᵀMf of each column of centred features, of shape (k,)."""
        return np.einsum("ij,ij->j", features, self.held().apply(features))

    def spread(self, labelled: np.ndarray) -> Form:
        """The same form of the labelled samples, as one of all samples."""
        held = self.held()
        factor = np.zeros((len(labelled), self.width))
        factor[labelled] = held.factor
        penalties = () if held.diagonal is None else (OfLabelled(labelled, held.diagonal),)
        return Form(factor, penalties=penalties)

    def times(self, rate: float) -> Form:
        """The form multiplied by a number; of a form that is held."""
        diagonal = None if self.diagonal is None else rate * self.diagonal
        penalties = tuple((lambda values, own=own: rate * own(values)) for own in self.penalties)
        return Form(np.sqrt(rate) * self.factor, diagonal, penalties)

    def less(self, penalty: Operator) -> Form:
        """The form less an operator."""
        return replace(self, penalties=(*self.penalties, penalty))

    @property
    def is_low_rank(self) -> bool:
        """Whether M = ΨΨᵀ."""
        return self.diagonal is None and not self.penalties


@dataclass(frozen=True)
class OfLabelled:
    """A diagonal times values at the labelled samples, measured from their mean; zero at others."""

    labelled: np.ndarray  # which samples are, shape (m,)
    diagonal: np.ndarray  # of these, shape (n_labelled,)

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Of shape (m, k)."""
        known = values[self.labelled]
        known = self.diagonal[:, np.newaxis] * (known - known.mean(axis=0))
        images = np.zeros_like(values)
        images[self.labelled] = known - known.mean(axis=0)
        return images


@dataclass(frozen=True)
class OfLengths:
    """Weights slope·‖ψ‖² + shift."""

    slope: float
    shift: float

    def __call__(self, psi: np.ndarray) -> np.ndarray:
        """Of the samples whose ψ are given, of shape (n,)."""
        return self.slope * np.einsum("ij,ij->i", psi, psi) + self.shift


def values_at(values: Factor, phi: Any, rows: Any) -> np.ndarray:
    """Values at some samples."""
    return values[rows] if isinstance(values, np.ndarray) else values.beside(phi, rows)


def as_array(values: Factor) -> np.ndarray:
    """Values at all samples, in memory."""
    return values if isinstance(values, np.ndarray) else values.array()


def square_of(factor: Factor, weight: np.ndarray | None = None) -> float:
    """Σ‖ψ‖² over all samples that the given ones stand for."""
    if not isinstance(factor, np.ndarray):
        return factor.total
    squares = np.einsum("ij,ij->i", factor, factor)
    return float(squares.sum() if weight is None else weight @ squares)


def columns_of(values: Factor) -> list[Factor]:
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


def hsic_form(factor: Factor, *, unbiased: bool, weight: np.ndarray | None = None) -> Form:
    """Form whose A has pᵀAp = HSIC between the feature Φp (linear kernel) and the target.

    Parameters
    ----------
    factor : ndarray of shape (m, r), or values that are made block by block
        Ψ with the target's kernel matrix L = ΨΨᵀ, columns of mean zero.
    unbiased : bool
        HSIC₁, or HSIC₀, which has no diagonal.
    weight : ndarray of shape (m,), optional
        How many samples each stands for; the space of Φ must have the same.

    Examples
    --------
    >>> hsic_form(np.array([[1.0], [-1.0]]), unbiased=False).factor.ravel()
    array([ 1., -1.])
    """
    m = factor.shape[0] if weight is None else float(weight.sum())
    if not unbiased:
        return Form(factor / (m - 1))
    scale = m * (m - 3)
    rest = square_of(factor, weight) / ((m - 1) * (m - 2) * scale)
    return Form(factor / np.sqrt(scale), OfLengths(m / (m - 2), -rest))
