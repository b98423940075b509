"""Tests with weights of rows: these belong to one side, which the other is permuted against.

The weighted covariance of the images φ of X and ψ of y is Σ w_i(φ_i - μ)ψ_iᵀ/Σw, with μ the
weighted mean of φ. It is the plain covariance of w_i(φ_i - μ), which add up to zero, and ψ: a
permutation of y changes nothing else. So the test with weights is the plain one with these images
of X. It is exact if y is independent of (X, w) and its kernel is read off y alone. Weights of the
classes of y belong to y: then X is permuted against (y, w), likewise (docs/mathematics/weights.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from depmax._resources import cached_property
from depmax.data.sample import Sample, sample_of_matrix
from depmax.dependence._nulls.law import Levels, sequential_pvalue
from depmax.dependence._nulls.linear_part import TIE as TIE_OF_BOTH
from depmax.dependence._nulls.linear_part import LinearPart, Strength
from depmax.dependence._nulls.permutation import permutation_chunks, permuted_statistics
from depmax.dependence._nulls.sorted_columns import (
    MEDIAN_POINTS,
    Drawn,
    SortedColumns,
    places_by_rank,
)
from depmax.dependence._terms import centred_gram, coordinates_to, terms, unbiased_hsic
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
class WeighedTarget:
    """A target that columns are screened against, whose rows have weights."""

    coordinates: np.ndarray  # Ψ about its weighted mean, with LLᵀ to tol, shape (m, rank)
    permuted: np.ndarray  # the same of the target's kernel without weights, about its plain mean
    weight: np.ndarray  # w, shape (m,)
    tested: np.ndarray  # weights of the rows of X in tests: 1 where they belong to the target
    error: float  # part of the kernel's trace that the coordinates leave out
    linear: LinearPart | None = None  # of what is permuted, if p-values see it too

    @classmethod
    def of(cls, side: Sample, plain: Sample, tol: float, *, omnibus: bool = False) -> WeighedTarget:
        """A target with weights, and the same without.

        ``omnibus``: whether p-values see the linear part of a dependence too, if there is one.
        """
        assert side.weight is not None
        coordinates, error = coordinates_to(side, tol)
        coordinates = np.ascontiguousarray(coordinates, dtype=np.float64)
        permuted = np.ascontiguousarray(coordinates_to(plain, tol)[0], dtype=np.float64)
        linear = LinearPart.of(plain, permuted) if omnibus else None
        if are_of_classes(plain, side.weight):
            shares = (side.weight / side.weight.mean())[:, np.newaxis]
            if linear is not None:
                axes = linear.axes - np.average(linear.axes, axis=0, weights=side.weight)
                linear = replace(linear, axes=shares * axes)
            ones = np.ones_like(side.weight)
            return cls(coordinates, shares * coordinates, side.weight, ones, error, linear)
        return cls(coordinates, permuted, side.weight, side.weight, error, linear)

    @property
    def side(self) -> Sample:
        """The target as coordinates with the linear kernel."""
        return Sample(Linear(), self.coordinates, weight=self.weight)

    def score(
        self, recipe: Any, column: np.ndarray, unbiased: bool, *, test: bool = True
    ) -> tuple[float, float, float]:
        """HSIC of one column, its p-value (NaN without a test) and the bandwidth used."""
        if column.min() == column.max():
            return 0.0, 1.0, np.nan
        rows = column[:, np.newaxis]
        if recipe.capabilities.telescopes:
            return self._score_sorted(recipe, column, unbiased, test=test)
        kernel = recipe.resolve(rows, self._choice(test), self.weight)
        side = Sample(kernel, rows, weight=self.weight)
        value = terms(side, self.side, unbiased=unbiased).hsic()
        pvalue = np.nan
        if test:
            if self.tested is not self.weight:
                kernel = recipe.resolve(rows, self._choice(test), self.tested)
                side = Sample(kernel, rows, weight=self.tested)
            images, plain = with_weights(side), Sample(Linear(), self.permuted)
            observed, _ = permuted_statistics(images, plain, 1, np.random.default_rng(0))
            chunks = permutation_chunks(images, plain)
            pvalue = sequential_pvalue(observed, chunks, TIE * abs(observed))
        return value, pvalue, float(getattr(kernel, "bandwidth", np.nan))

    def _score_sorted(
        self, recipe: Any, column: np.ndarray, unbiased: bool, *, test: bool
    ) -> tuple[float, float, float]:
        """Score and p-value with the Laplace kernel, by its recursion over the sorted column."""
        if recipe.policy == "median":
            width = median_gap_of(column, self.weight)
        else:
            kernel = recipe.resolve(column[:, np.newaxis], self._choice(test), self.weight)
            width = kernel.bandwidth
        prepared = SortedColumns.of(column[np.newaxis], np.array([width]))
        as_observed = np.arange(len(column))[np.newaxis]
        sums = prepared.sums_in_orders(self.weight, self.coordinates, as_observed)
        value = float(_weighted_hsic(sums, self.weight, unbiased)[0])
        pvalue = np.nan
        if test:
            if self.tested is not self.weight and recipe.policy == "median":
                width_tested = np.array([median_gap_of(column, self.tested)])
                prepared = SortedColumns.of(column[np.newaxis], width_tested)

            pvalue = self._permuted_pvalue(prepared, as_observed)
        return value, pvalue, width

    def _permuted_pvalue(self, prepared: SortedColumns, as_observed: np.ndarray) -> float:
        """P-value of a sorted column from orders of the target."""
        linear, places = self.linear, prepared.orders[0]

        def values(orders: np.ndarray) -> np.ndarray:
            sums = prepared.sums_in_orders(self.tested, self.permuted, orders)
            return _weighted_hsic(sums, self.tested, unbiased=False)

        if linear is None:
            observed = float(values(as_observed)[0])
            return sequential_pvalue(observed, map(values, self.orders), TIE * observed)
        scores = prepared.scores(self.tested) * self.tested[places]

        def both(orders: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return values(orders), linear.shares(scores, orders.take(places, axis=1))

        (value,), (share,) = both(as_observed)
        strength = Strength(linear.axes.shape[1])
        observed, chunks = strength.against((float(value), float(share)), map(both, self.orders))
        return sequential_pvalue(observed, chunks, TIE_OF_BOTH)

    @cached_property
    def orders(self) -> Drawn:
        """Random orders of the target, the same for every column."""
        m = len(self.weight)
        return Drawn(lambda rng: rng.permutation(m), m)

    def _choice(self, test: bool) -> Choose:
        """How ``bandwidth="maximize"`` chooses: not at all for a test."""
        if test:
            return partial(refuse_to_choose, "screen with sample_weight")
        return partial(most_dependent, self.side, warn=False)


def _weighted_hsic(sums: tuple[np.ndarray, ...], weight: np.ndarray, unbiased: bool) -> np.ndarray:
    """HSIC of a column with coordinates of a target, where a row of both stands for several."""
    inner, middle, squares, own, pairs = sums
    total = float(weight.sum())
    found: np.ndarray = (inner + own) / (total - 1.0) ** 2
    if unbiased:
        copies = own - squares  # Σ w(w - 1)‖ψ‖²: of a row with its other copies, at distance 0
        outer = (pairs + weight @ weight - total) * squares  # L̃1 = -‖ψ‖² since Ψ is centred
        found = unbiased_hsic(total, inner + copies, -(middle + copies), -outer)
    return found


def median_gap_of(column: np.ndarray, weight: np.ndarray) -> float:
    """Median distance of a column's values, each as often as its weight says."""
    from depmax.dependence._nulls._laplace_loop import median_gap

    order = np.argsort(column)
    places, _ = places_by_rank(weight[order], MEDIAN_POINTS)
    return float(median_gap(np.ascontiguousarray(column[order[places]], dtype=np.float64)))
