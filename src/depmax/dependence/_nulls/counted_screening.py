"""Screening of columns as counted levels: HSIC, the law of its permutations, effects.

The counterpart of ``screening_target`` for a table that is read a chunk at a time. All that depends
on a column is a matrix of kernel values between its levels and sums over the rows of each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from depmax.algebra.targets import CentredValues, centred_target
from depmax.data.chunks import Chunk
from depmax.data.sample import Sample
from depmax.data.stream import Stream, StreamRows
from depmax.dependence._nulls.counted_columns import (
    CountedColumn,
    Grid,
    LevelGram,
    SumLevels,
    TableValues,
    batches,
    dense_columns,
    look_at_columns,
)
from depmax.dependence._nulls.law import (
    SKEWNESS_ROWS,
    PermutationLaw,
    Spread,
    leading_eigenvalues,
    permutation_law,
    spread_of_levels,
    spread_of_part,
    u_centred,
)
from depmax.dependence._nulls.permutation import SLACK
from depmax.dependence._nulls.rare import (
    CHUNK,
    is_out_of_range,
    pvalue_of_counts,
    sequential_pvalue,
)
from depmax.dependence._nulls.sorted_columns import MEDIAN_POINTS, SPECTRUM_POINTS
from depmax.dependence._terms import Terms
from depmax.kernels.kernel import Kernel

#: Rows of a target of many values that stand for all of them where rows are permuted.
POOL_ROWS = 10_000
#: Ones of the rarer side up to which two levels on both sides are counted one by one.
MOST_COUNTED = 10**6


@dataclass(frozen=True)
class _Rotated:
    """Coordinates of a block on other axes."""

    make: Callable[[Any, Chunk], np.ndarray]
    axes: np.ndarray

    def __call__(self, phi: Any, block: Chunk) -> np.ndarray:
        return self.make(phi, block) @ self.axes


@dataclass(frozen=True)
class TargetLevels:
    """The different values of a target, as coordinates."""

    psi: np.ndarray  # shape (n_levels, r)
    counts: np.ndarray

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @property
    def n_rare(self) -> int:
        """Rows that do not have the most frequent value."""
        return self.n_samples - int(self.counts.max())


@dataclass(frozen=True, eq=False)
class CountedTarget:
    """A streamed target prepared for all columns: coordinates on principal axes."""

    stream: Stream
    psi: CentredValues
    levels: TargetLevels | None  # where its values are few
    error: float  # part of the trace that is left out

    @classmethod
    def of(cls, side: Sample, tol: float) -> CountedTarget:
        """Coordinates of the target kernel, cut at ``tol`` of its trace, from visits to y alone."""
        full = centred_target(side)
        assert full.gram is not None
        values, vectors = np.linalg.eigh(full.gram)
        trailing = np.cumsum(np.maximum(values, 0.0))
        kept = trailing > (0.01 * tol if side.has_features else tol) * trailing[-1]
        axes = np.ascontiguousarray(vectors[:, kept][:, ::-1])
        psi = CentredValues(
            _Rotated(full.make, axes),
            (full.shape[0], axes.shape[1]),
            slope=full.slope,
            gram=np.diag(values[kept][::-1]),
        )
        lost = 0.0 if side.has_features else float(trailing[~kept].max(initial=0.0) / trailing[-1])
        rows, levels = side.rows, None
        if rows.distinct is not None and rows.distinct[1] is not None:
            seen, counts = rows.distinct
            if len(seen) <= SKEWNESS_ROWS:
                images = full.make.images(seen) - full.make.mean  # type: ignore[attr-defined]  # a TargetOfPart
                levels = TargetLevels(full.slope * np.asarray(images) @ axes, counts)
        return cls(rows.stream, psi, levels, lost)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.stream.n_rows

    def at(self, positions: np.ndarray) -> np.ndarray:
        """ψ of the rows at some positions."""
        return self.psi.beside(None, self.stream.take(positions, inputs=False))

    @cached_property
    def pool(self) -> np.ndarray:
        """ψ of rows that stand for all where rows are permuted."""
        if self.levels is not None and self.n_samples <= POOL_ROWS:
            return np.repeat(self.levels.psi, self.levels.counts, axis=0)
        return self.at(_some_rows(self.n_samples, POOL_ROWS))

    def spread(self, fourth: float) -> Spread:
        """Sums over its U-centred kernel matrix, given Σ‖ψ‖⁴."""
        m = self.n_samples
        if self.levels is not None and len(self.levels.counts) <= SKEWNESS_ROWS < m:
            return spread_of_levels(self.levels.psi @ self.levels.psi.T, self.levels.counts)
        psi = self.at(_some_rows(m, SKEWNESS_ROWS))
        return spread_of_part(psi @ psi.T, m, lambda: m * (m - 3) * self.own(fourth))

    def own(self, fourth: float) -> float:
        """Unbiased HSIC of the target with itself."""
        assert self.psi.gram is not None
        inner, total = float(np.sum(self.psi.gram**2)), self.psi.total
        return Terms(self.n_samples, inner - fourth, fourth, total**2, zero_diagonal=True).hsic()


def _some_rows(n_rows: int, size: int) -> np.ndarray:
    """All rows, or some drawn with a fixed seed."""
    if n_rows <= size:
        return np.arange(n_rows)
    return np.random.default_rng(0).choice(n_rows, size, replace=False)


@dataclass(frozen=True)
class ColumnScore:
    """What a column says about the target."""

    hsic: float
    biased: float
    pvalue: float
    bandwidth: float
    effect: float = 0.0  # unbiased HSIC, normalised
    method: str = "gamma"  # that gave the p-value


class CountedScreening:
    """All columns of a table against its target, in visits that each sum over the rows.

    Parameters
    ----------
    rows : StreamRows
        The inputs.
    target : CountedTarget
    """

    def __init__(self, rows: StreamRows, target: CountedTarget) -> None:
        self.rows, self.target = rows, target
        self.stream = rows.stream
        self.values: TableValues = self.stream.total(look_at_columns)
        sample = dense_columns(rows.sample())
        columns = zip(self.values.columns, sample, strict=True)
        self.grids = [Grid.of(values, some) for values, some in columns]
        self.columns: list[CountedColumn] = []
        width = target.psi.shape[1]
        for batch in batches(self.grids, width):
            grids = tuple(self.grids[number] for number in batch)
            found = self.stream.total(SumLevels(tuple(batch), grids, target.psi))
            counted = zip(grids, found.sums, strict=True)
            self.columns += [CountedColumn.of(grid, sums) for grid, sums in counted]
            fourth = found.fourth
        self.own_y, self.spread = target.own(fourth), target.spread(fourth)

    def kernel(self, recipe: Kernel, position: int) -> Kernel:
        """The kernel of a column, its recipe replaced by numbers."""
        column = self.columns[position]
        if recipe.capabilities.labels:
            return recipe.resolve(column.values)
        if recipe.capabilities.telescopes and getattr(recipe, "bandwidth", None) == "median":
            from depmax.dependence._nulls._laplace_loop import median_gap

            width = float(median_gap(column.evenly_spaced(MEDIAN_POINTS, spread=True)))
            return recipe._copy_with(bandwidth=width)
        return recipe.resolve(self.rows.column([position]))

    def levels(self, recipe: Kernel, position: int) -> LevelGram:
        """Kernel values between the levels of a column."""
        return LevelGram.of(self.kernel(recipe, position), self.columns[position])

    def score(self, recipe: Kernel, position: int) -> ColumnScore:
        """HSIC of one column and its p-value."""
        column = self.columns[position]
        kernel = self.kernel(recipe, position)
        bandwidth = float(getattr(kernel, "bandwidth", np.nan))
        if len(column.values) < 2:
            return ColumnScore(0.0, 0.0, 1.0, bandwidth)
        levels = LevelGram.of(kernel, column)
        statistic = levels.hsic(column.psi, column.squares, unbiased=True)
        telescopes = recipe.capabilities.telescopes
        spread = spread_of_levels(levels.gram, column.counts, with_leading=not telescopes)
        if telescopes:  # as for sorted columns in memory
            spread = replace(spread, leading=_leading(kernel, column))
        law = permutation_law(spread, self.spread, column.n_samples)
        pvalue, method = self._pvalue(statistic, law, levels)
        m = column.n_samples
        both = float(column.counts @ levels.square_rows) / (m * (m - 3)), self.own_y
        effect = statistic / math.sqrt(both[0] * both[1]) if min(both) > 0.0 else 0.0
        biased = levels.hsic(column.psi, column.squares, unbiased=False)
        return ColumnScore(statistic, biased, pvalue, bandwidth, min(1.0, max(0.0, effect)), method)

    def _pvalue(
        self, statistic: float, law: PermutationLaw, levels: LevelGram
    ) -> tuple[float, str]:
        """From counts if both sides have two levels, from permutations if the law is off."""
        column, target = levels.column, self.target.levels
        if target is not None and len(target.counts) == len(column.counts) == 2:
            ones_x, ones_y = int(column.counts[1]), int(target.counts[1])
            if min(ones_x, ones_y) <= MOST_COUNTED:
                # Σψ over the rows of a level tells how many of them have each value of y
                step = target.psi[1] - target.psi[0]
                left = column.psi[1] - ones_x * target.psi[0]
                n_both = round(float(left @ step / (step @ step)))
                return pvalue_of_counts(column.n_samples, ones_x, ones_y, n_both), "counts"
        known = None if target is None else column
        if is_out_of_range(law, known, target, column.n_samples):
            permuted = self._permuted(levels)
            return sequential_pvalue(statistic, permuted, SLACK * law.scale), "permutation"
        return law.sf(statistic), "gamma"

    def _permuted(self, levels: LevelGram) -> Iterator[np.ndarray]:
        """HSIC₁ of random permutations of the target, with a fixed seed, in chunks."""
        rng, target = np.random.default_rng(0), self.target
        draw = _draw_counts if target.levels is not None else _draw_pool
        while True:
            yield np.array([draw(levels, target, rng) for _ in range(CHUNK)])


def _leading(kernel: Kernel, column: CountedColumn) -> tuple[float, ...]:
    """Leading eigenvalues of the U-centred kernel matrix, from evenly spaced rows."""
    places = column.evenly_spaced(SPECTRUM_POINTS)[:, np.newaxis]
    gram = np.asarray(kernel(places, places), dtype=np.float64)
    return tuple(column.n_samples / len(places) * leading_eigenvalues(u_centred(gram)))


# --- permutations ---------------------------------------------------------------------------------
def _draw_counts(levels: LevelGram, target: CountedTarget, rng: np.random.Generator) -> float:
    """HSIC₁ of a random table of the levels of both sides with their counts."""
    assert target.levels is not None
    column, of_y = levels.column, target.levels
    left = of_y.counts.astype(np.int64)
    table = np.empty((len(column.counts), len(left)))
    common = int(np.argmax(column.counts))
    for level, count in enumerate(column.counts):
        if level != common:
            table[level] = rng.multivariate_hypergeometric(left, int(count), method="marginals")
            left = left - table[level].astype(np.int64)
    table[common] = left
    squares = np.einsum("ij,ij->i", of_y.psi, of_y.psi)
    return levels.hsic(table @ of_y.psi, table @ squares, unbiased=True)


def _draw_pool(levels: LevelGram, target: CountedTarget, rng: np.random.Generator) -> float:
    """HSIC₁ with rows of the target drawn for the rare rows, or for some of many.

    Only rows that do not have the column's most frequent value matter. If these are too many to
    draw, rows are drawn for as many as the pool has: the law of m·HSIC₁ hardly depends on m.
    """
    column, pool = levels.column, target.pool
    m, n = column.n_samples, min(column.n_samples, len(pool))
    counts = column.counts
    if column.n_rare > len(pool) or m <= len(pool):
        codes = (
            rng.permutation(np.repeat(np.arange(len(counts)), counts))
            if m <= len(pool)
            else (rng.choice(len(counts), n, p=counts / m))
        )
        some = CountedColumn(
            column.values,
            np.bincount(codes, minlength=len(counts)),
            column.psi,
            column.squares,
            column.places,
        )
        drawn = pool[rng.permutation(len(pool))[:n]]
        drawn = drawn - drawn.mean(axis=0)
        part = LevelGram(some, levels.gram)
        psi, squares = _sums(drawn, codes, len(counts))
        return n / m * part.hsic(psi, squares, unbiased=True)
    common = int(np.argmax(counts))
    rare = np.repeat(np.arange(len(counts)), np.where(np.arange(len(counts)) == common, 0, counts))
    drawn = pool[rng.choice(len(pool), len(rare), replace=False)]
    psi, squares = _sums(drawn, rare, len(counts))
    psi[common] = -psi.sum(axis=0)
    squares[common] = target.psi.total - squares.sum()
    return levels.hsic(psi, squares, unbiased=True)


def _sums(psi: np.ndarray, codes: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Σψ and Σ‖ψ‖² of every level."""
    sums = np.zeros((count, psi.shape[1]))
    np.add.at(sums, codes, psi)
    weights = np.einsum("ij,ij->i", psi, psi)
    return sums, np.bincount(codes, weights=weights, minlength=count)
