"""Columns of a table that is read a chunk at a time, as levels with sums over the rows of each.

HSIC of one column needs, of every different value of it, how many rows have it and the sum of the
target's coordinates over them: sums that can be added, whatever the order of the rows. A column
with more than ``MOST_LEVELS`` different values is rounded to about that many, fine near its middle
and coarser in its tails, each the mean of the rows that it stands for; a value that many rows share
keeps a level of its own. Kernels smooth, so that this changes HSIC by about the square of the width
of a level in bandwidths.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from depmax._resources import cached_property
from depmax.algebra.row_sums import CentredValues, centred_target
from depmax.data.chunks import Chunk
from depmax.data.sample import Sample
from depmax.data.stream import Stream, StreamRows
from depmax.dependence._nulls.law import (
    CHUNK,
    SKEWNESS_ROWS,
    PermutationLaw,
    Spread,
    leading_eigenvalues,
    n_rare,
    permutation_law,
    pvalue_of,
    pvalue_of_counts,
    spread_of_levels,
    spread_of_part,
    u_centred,
)
from depmax.dependence._nulls.permutation import SLACK
from depmax.dependence._nulls.sorted_columns import MEDIAN_POINTS, SPECTRUM_POINTS, places_by_rank
from depmax.dependence._terms import Terms, centred_gram
from depmax.kernels.kernel import Kernel

#: Different values of a column up to which it is counted as it is.
MOST_LEVELS = 512
#: Share of the rows from which a value keeps its own level.
SPIKE = 0.02
#: Numbers that the sums of one visit may hold; of more columns some are visited later.
MOST_SUMS = 2**21


@dataclass(frozen=True)
class TableValues:
    """What a first visit tells about all columns."""

    low: np.ndarray
    high: np.ndarray
    distinct: tuple[np.ndarray | None, ...]  # sorted; None if there are more than ``MOST_LEVELS``

    def __add__(self, other: TableValues) -> TableValues:
        return self.with_values(other.low, other.high, other.distinct)

    def with_values(
        self, low: np.ndarray, high: np.ndarray, values: Sequence[np.ndarray | None]
    ) -> TableValues:
        """With more values; different ones are looked for only while they are few."""
        distinct = tuple(
            None if known is None or more is None else _few(np.concatenate([known, more]))
            for known, more in zip(self.distinct, values, strict=True)
        )
        return TableValues(np.minimum(self.low, low), np.maximum(self.high, high), distinct)

    @property
    def constant(self) -> np.ndarray:
        """Which columns have one value only."""
        return np.asarray(self.low == self.high)


def look_at_columns(blocks: Iterator[Chunk]) -> TableValues | None:
    """Smallest, largest and, where they are few, all different values of every column."""
    found: TableValues | None = None
    for block in blocks:
        x = dense_columns(block.x)
        nothing = np.full(len(x), np.inf)
        found = found or TableValues(nothing, -nothing, (np.empty(0),) * len(x))
        found = found.with_values(x.min(axis=1), x.max(axis=1), tuple(x))
    return found


def _few(values: np.ndarray) -> np.ndarray | None:
    distinct = np.unique(values)
    return distinct if len(distinct) <= MOST_LEVELS else None


def dense_columns(x: Any, columns: Sequence[int] | None = None) -> np.ndarray:
    """Columns of a block one after another, of shape (n_columns, n), in float64."""
    x = x if columns is None else x[:, list(columns)]
    return np.ascontiguousarray((x.toarray() if sparse.issparse(x) else x).T, dtype=np.float64)


# --- from values to levels ------------------------------------------------------------------------
@dataclass(frozen=True)
class Grid:
    """Which level a value belongs to."""

    levels: np.ndarray | None  # the values themselves, sorted, where they are few
    middle: float = 0.0
    scale: float = 1.0
    start: float = 0.0  # of asinh((x - middle)/scale)
    step: float = 1.0
    count: int = 0
    spike: float | None = None  # a value with the last level for itself

    @classmethod
    def of(cls, values: TableValues, position: int, sample: np.ndarray) -> Grid:
        """The values themselves, or a grid that is even in asinh of the distance to the median.

        The scale is the quartiles' distance from the median, read off a sample of the column.
        """
        distinct = values.distinct[position]
        low, high = float(values.low[position]), float(values.high[position])
        if distinct is not None:
            return cls(distinct, count=len(distinct))
        middle = float(np.median(sample))
        scale = float(np.median(np.abs(sample - middle)))
        if scale == 0.0:  # more than half of the rows are equal
            away = np.abs(sample - middle)
            scale = float(away[away > 0].mean()) if away.any() else high - low
        ends = np.arcsinh((np.array([low, high]) - middle) / scale)
        step = float(ends[1] - ends[0]) / (MOST_LEVELS - 1)
        seen, counts = np.unique(sample, return_counts=True)
        common = int(np.argmax(counts))
        spike = float(seen[common]) if counts[common] >= SPIKE * len(sample) else None
        return cls(None, middle, scale, float(ends[0]), step, MOST_LEVELS, spike)

    @property
    def edges(self) -> np.ndarray:
        """Ends of the values that every level stands for, of shape (count, 2)."""
        places = self.start + self.step * np.arange(self.count)
        ends = self.middle + self.scale * np.sinh(places)
        alone = np.full((1, 2), 0.0 if self.spike is None else self.spike)
        return np.vstack([np.column_stack([ends[:-1], ends[1:]]), alone])

    def codes(self, column: np.ndarray) -> np.ndarray:
        """Number of the level of every row."""
        if self.levels is not None:
            return np.searchsorted(self.levels, column)
        places = np.arcsinh((column - self.middle) / self.scale)
        places -= self.start
        places /= self.step
        codes = places.astype(np.intp)
        np.clip(codes, 0, self.count - 2, out=codes)
        if self.spike is not None:
            codes[column == self.spike] = self.count - 1
        return codes


@dataclass(frozen=True)
class LevelSums:
    """Sums over the rows of every level of some columns, and of the target over all rows."""

    sums: tuple[np.ndarray, ...]  # per column (n_levels, r + 3): 1, x - middle, ‖ψ‖² and ψ
    fourth: float  # Σ‖ψ‖⁴

    def __add__(self, other: LevelSums) -> LevelSums:
        sums = tuple(left + right for left, right in zip(self.sums, other.sums, strict=True))
        return LevelSums(sums, self.fourth + other.fourth)


@dataclass(frozen=True)
class SumLevels:
    """Sum the target over the rows of every level."""

    columns: tuple[int, ...]
    grids: tuple[Grid, ...]
    psi: CentredValues

    def __call__(self, blocks: Iterator[Chunk]) -> LevelSums | None:
        """Sums of one piece."""
        rank, fourth = self.psi.shape[1], 0.0
        sums = [np.zeros((grid.count, rank + 3)) for grid in self.grids]
        for block in blocks:
            psi = self.psi.beside(None, block)
            squares = np.einsum("ij,ij->i", psi, psi)
            fourth += float(squares @ squares)
            n = len(psi)
            beside = np.column_stack([np.ones(n), np.zeros(n), squares, psi])
            for place, column in enumerate(dense_columns(block.x, self.columns)):
                grid = self.grids[place]
                beside[:, 1] = column - grid.middle
                # a column of ones at the level of every row
                rows = sparse.csc_array(
                    (np.ones(n), grid.codes(column), np.arange(n + 1)), (grid.count, n)
                )
                sums[place] += rows @ beside
        return LevelSums(tuple(sums), fourth)


@dataclass(frozen=True)
class CountedColumn:
    """A column as its levels, with the sums of the target over the rows of each."""

    values: np.ndarray  # sorted, shape (n_levels,)
    counts: np.ndarray
    psi: np.ndarray  # Σψ, shape (n_levels, r)
    squares: np.ndarray  # Σ‖ψ‖²
    edges: np.ndarray | None = None  # ends of the values that were rounded to each, (n_levels, 2)

    @classmethod
    def of(cls, grid: Grid, sums: np.ndarray) -> CountedColumn:
        """The levels that have rows."""
        some = np.flatnonzero(sums[:, 0])
        counts = np.round(sums[some, 0]).astype(np.int64)
        edges = None
        if grid.levels is None:
            values = grid.middle + sums[some, 1] / counts
            order = np.argsort(values)  # the value with a level of its own takes its place
            some, counts, values = some[order], counts[order], values[order]
            edges = grid.edges[some]
        else:
            values = grid.levels[some]
        return cls(values, counts, sums[some, 3:], sums[some, 2], edges)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    def evenly_spaced(self, size: int, *, spread: bool = False) -> np.ndarray:
        """At most ``size`` of the rows' values, evenly spaced by rank, the ends included.

        With ``spread`` rows that were rounded to one level count as spread evenly over it.
        """
        levels, ranks = places_by_rank(self.counts, size)
        if self.edges is None or not spread:
            return self.values[levels]
        reached = np.cumsum(self.counts)
        share = (reached[levels] - ranks - 0.5) / self.counts[levels]
        low, high = self.edges[levels].T
        return np.sort(high - share * (high - low))


def batches(grids: Sequence[Grid], width: int) -> Iterator[list[int]]:
    """Numbers of columns whose sums are made in one visit."""
    batch: list[int] = []
    size = 0
    for number, grid in enumerate(grids):
        more = grid.count * (width + 3)
        if batch and size + more > MOST_SUMS:
            yield batch
            batch, size = [], 0
        batch.append(number)
        size += more
    if batch:
        yield batch


@dataclass(frozen=True)
class LevelGram:
    """Kernel values between the levels of a column, about their mean."""

    column: CountedColumn
    gram: np.ndarray  # centred by the counts, shape (n_levels, n_levels)

    @classmethod
    def of(cls, kernel: Kernel, column: CountedColumn) -> LevelGram:
        """Values of a resolved kernel."""
        values = column.values[:, np.newaxis]
        gram = np.asarray(kernel(values, values), dtype=np.float64)
        return cls(column, centred_gram(gram, column.counts))

    def hsic(self, psi: np.ndarray, squares: np.ndarray, *, unbiased: bool) -> float:
        """HSIC with a target of these sums per level."""
        m, diagonal, counts = self.column.n_samples, np.diag(self.gram), self.column.counts
        inner = float(np.sum((self.gram @ psi) * psi))
        if not unbiased:
            return Terms(m, inner, 0.0, 0.0, zero_diagonal=False).hsic()
        rows = self.gram @ counts - diagonal  # K̃1
        return Terms(
            m,
            inner - float(diagonal @ squares),
            -float(rows @ squares),  # L̃1 = -‖ψ_i‖² since Ψ is centred
            -float(rows @ counts) * float(squares.sum()),
            zero_diagonal=True,
        ).hsic()


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
        sample = enumerate(dense_columns(rows.sample()))
        self.grids = [Grid.of(self.values, position, some) for position, some in sample]
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
        both = spread.squares / (m * (m - 3)), self.own_y
        effect = statistic / math.sqrt(both[0] * both[1]) if min(both) > 0.0 else 0.0
        biased = levels.hsic(column.psi, column.squares, unbiased=False)
        return ColumnScore(statistic, biased, pvalue, bandwidth, min(1.0, max(0.0, effect)), method)

    def _pvalue(
        self, statistic: float, law: PermutationLaw, levels: LevelGram
    ) -> tuple[float, str]:
        """P-value of a column and how it was found."""
        column, target, counted = levels.column, self.target.levels, None
        if target is not None and len(target.counts) == len(column.counts) == 2:
            ones_x, ones_y = int(column.counts[1]), int(target.counts[1])
            if min(ones_x, ones_y) <= MOST_COUNTED:
                # Σψ over the rows of a level tells how many of them have each value of y
                step = target.psi[1] - target.psi[0]
                left = column.psi[1] - ones_x * target.psi[0]
                n_both = round(float(left @ step / (step @ step)))
                counted = pvalue_of_counts(column.n_samples, ones_x, ones_y, n_both)
        counts = column.counts, None if target is None else target.counts
        permuted = partial(self._permuted, levels)
        return pvalue_of(statistic, law, counts, column.n_samples, counted, permuted, SLACK)

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
    if n_rare(counts) > len(pool) or m <= len(pool):
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
