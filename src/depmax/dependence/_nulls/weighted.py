"""Tests with weights of rows: these belong to one side, which the other is permuted against.

The weighted covariance of the images φ of X and ψ of y is Σ w_i(φ_i - μ)ψ_iᵀ/Σw, with μ the
weighted mean of φ. It is the plain covariance of w_i(φ_i - μ), which add up to zero, and ψ: a
permutation of y changes nothing else. So the test with weights is the plain one with these images
of X. It is exact if y is independent of (X, w) and its kernel is read off y alone. Weights of the
classes of y belong to y: then X is permuted against (y, w), likewise (docs/mathematics/weights.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from depmax._resources import cached_property
from depmax.data.sample import Sample, sample_of_matrix
from depmax.dependence._nulls.law import Levels, sequential_pvalue
from depmax.dependence._nulls.linear_part import LinearPart, permuted_pvalue
from depmax.dependence._nulls.permutation import permutation_chunks, permuted_statistics
from depmax.dependence._nulls.screening import FOUND, Asked
from depmax.dependence._nulls.sorted_columns import (
    MEDIAN_POINTS,
    Drawn,
    SortedColumns,
    hsic_of_sums,
    places_by_rank,
)
from depmax.dependence._terms import centred_gram, coordinates_to, terms
from depmax.dependence.resolve import most_dependent, refuse_to_choose
from depmax.kernels import Linear
from depmax.kernels.kernel import Choose

#: What counts as a tie, relative to the statistic.
TIE = 1e-9


def with_weights(side: Sample) -> Sample:
    """The images w_i(φ_i - μ) of a side as a sample of their own, weights scaled to mean 1."""
    assert side.weight is not None
    shares = side.weight / side.weight.mean()
    if side.is_narrow:
        return Sample(Linear(), shares[:, np.newaxis] * side.centred_coordinates())
    centred = centred_gram(side.gram(), side.weight)
    return sample_of_matrix(shares[:, np.newaxis] * centred * shares).resolved()


def weighted_sides(
    x: tuple[Sample, ...], y: tuple[Sample, ...], weight: np.ndarray
) -> tuple[tuple[Sample, ...], tuple[Sample, ...]]:
    """Both sides for a test, with weighted images of the side that the weights belong to."""
    if are_of_classes(y[0], weight):
        return x, tuple(with_weights(replace(side, weight=weight)) for side in y)
    return tuple(with_weights(replace(side, weight=weight)) for side in x), y


def are_of_classes(y: Sample, weight: np.ndarray) -> bool:
    """Whether weights differ between the few values of y, and only between these.

    Such as ``class_weight="balanced"`` gives, or a survey that oversamples cases.
    """
    levels = Levels.of(y)
    if levels is None or 2 * len(levels.counts) > len(levels.codes):
        return False
    return weight.min() < weight.max() and bool(
        (weight == weight[levels.first][levels.codes]).all()
    )


@dataclass(frozen=True)
class PermutedTarget:
    """What is permuted against columns: the target without weights, or with those of classes."""

    psi: np.ndarray  # about its mean, of shape (m, rank)
    weight: np.ndarray  # of the rows of a column: 1 where the weights belong to the target
    linear: LinearPart | None  # if p-values see it too

    @classmethod
    def of(cls, plain: Sample, weight: np.ndarray, tol: float, omnibus: bool) -> PermutedTarget:
        """Of a target whose kernel was read without weights."""
        psi = np.ascontiguousarray(coordinates_to(plain, tol)[0], dtype=np.float64)
        linear = LinearPart.of(plain, psi) if omnibus else None
        if not are_of_classes(plain, weight):
            return cls(psi, weight, linear)
        shares = (weight / weight.mean())[:, np.newaxis]
        if linear is not None:
            axes = linear.axes - np.average(linear.axes, axis=0, weights=weight)
            linear = replace(linear, axes=shares * axes)
        return cls(shares * psi, np.ones_like(weight), linear)

    @cached_property
    def orders(self) -> Drawn:
        """Random orders of the target, the same for every column."""
        m = len(self.weight)
        return Drawn(lambda rng: rng.permutation(m), m)

    def pvalue_of_sorted(self, column: SortedColumns) -> float:
        """P-value of a sorted column."""
        linear = self.linear
        as_observed = np.arange(len(self.weight))[np.newaxis]
        (hsic,), (share,) = next(column.in_orders(self.psi, [as_observed], linear, self.weight))
        permuted = column.in_orders(self.psi, self.orders, linear, self.weight)
        rank = None if linear is None else linear.axes.shape[1]
        return permuted_pvalue((float(hsic), float(share)), permuted, TIE * hsic, rank=rank)

    def pvalue(self, side: Sample) -> float:
        """P-value of a column with any kernel, by HSIC."""
        images, plain = with_weights(side), Sample(Linear(), self.psi)
        observed, _ = permuted_statistics(images, plain, 1, np.random.default_rng(0))
        return sequential_pvalue(observed, permutation_chunks(images, plain), TIE * abs(observed))


@dataclass(frozen=True)
class WeighedTarget:
    """A target that columns are screened against, whose rows have weights."""

    side: Sample  # coordinates with LLᵀ to tol, with the linear kernel and the weights
    error: float  # part of the kernel's trace that the coordinates leave out
    permuted: PermutedTarget | None  # for p-values, if these are wanted
    is_free: ClassVar[bool] = True
    sorts: ClassVar[bool] = True

    @classmethod
    def of(
        cls, side: Sample, plain: Sample | None, tol: float, *, omnibus: bool = False
    ) -> WeighedTarget:
        """A target with weights, and for p-values the same without.

        ``omnibus``: whether p-values see the linear part of a dependence too, if there is one.
        """
        assert side.weight is not None
        coordinates, error = coordinates_to(side, tol)
        coordinates = np.ascontiguousarray(coordinates, dtype=np.float64)
        permuted = None if plain is None else PermutedTarget.of(plain, side.weight, tol, omnibus)
        return cls(Sample(Linear(), coordinates, weight=side.weight), error, permuted)

    @property
    def linear(self) -> LinearPart | None:
        """The linear part, if p-values see it."""
        return None if self.permuted is None else self.permuted.linear

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.side.n_samples

    def prepare(self) -> None:
        """What threads would ask for at once."""
        if self.permuted is not None:
            _ = self.permuted.orders

    def of_sorted(self, asked: Asked, blocks: Iterable[np.ndarray]) -> np.ndarray:
        """Lines of ``FOUND`` and NaN, of blocks of columns with the Laplace kernel."""
        columns = np.concatenate(list(blocks))
        found = np.full((len(columns), len(FOUND) + 1), np.nan)
        found[:, :3] = [self._of_sorted(asked.recipe, each, asked.unbiased) for each in columns]
        return found

    def _of_sorted(
        self, recipe: Any, column: np.ndarray, unbiased: bool
    ) -> tuple[float, float, float]:
        """By the recursion over the sorted column."""
        if column.min() == column.max():
            return 0.0, 1.0, np.nan
        weight, permuted = self.side.weight, self.permuted
        assert weight is not None
        if recipe.policy == "median":
            width = median_gap_of(column, weight)
        else:
            width = recipe.resolve(column[:, np.newaxis], self._choice, weight).bandwidth
        prepared = SortedColumns.of(column[np.newaxis], np.array([width]))
        as_observed = np.arange(len(column))[np.newaxis]
        sums = prepared.sums_in_orders(weight, self.side.rows, as_observed)
        value = float(hsic_of_sums(sums, weight, unbiased=unbiased)[0])
        if permuted is None:
            return value, np.nan, width
        if permuted.weight is not weight and recipe.policy == "median":
            tested = np.array([median_gap_of(column, permuted.weight)])
            prepared = SortedColumns.of(column[np.newaxis], tested)
        return value, permuted.pvalue_of_sorted(prepared), width

    def alone(self, asked: Asked, column: np.ndarray) -> np.ndarray:
        """What is found out about a column with any kernel (``FOUND``); effects are not known."""
        found, recipe = np.full(len(FOUND), np.nan), asked.recipe
        if column.min() == column.max():
            found[:2] = 0.0, 1.0
            return found
        rows, weight, permuted = column[:, np.newaxis], self.side.weight, self.permuted
        kernel = recipe.resolve(rows, self._choice, weight)
        side = Sample(kernel, rows, weight=weight)
        found[0] = terms(side, self.side, unbiased=asked.unbiased).hsic()
        if permuted is not None:
            if permuted.weight is not weight:
                kernel = recipe.resolve(rows, self._choice, permuted.weight)
                side = Sample(kernel, rows, weight=permuted.weight)
            found[1] = permuted.pvalue(side)
        found[2] = getattr(kernel, "bandwidth", np.nan)
        return found

    @property
    def _choice(self) -> Choose:
        """How ``bandwidth="maximize"`` chooses: not at all for a test."""
        if self.permuted is not None:
            return partial(refuse_to_choose, "screen with sample_weight")
        return partial(most_dependent, self.side, warn=False)


def median_gap_of(column: np.ndarray, weight: np.ndarray) -> float:
    """Median distance of a column's values, each as often as its weight says."""
    from depmax.dependence._nulls._laplace_loop import median_gap

    order = np.argsort(column)
    places, _ = places_by_rank(weight[order], MEDIAN_POINTS)
    return float(median_gap(np.ascontiguousarray(column[order[places]], dtype=np.float64)))
