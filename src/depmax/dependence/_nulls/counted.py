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
from depmax.data.stream import Stream, StreamRows, View
from depmax.dependence._nulls.law import (
    CHUNK,
    SKEWNESS_ROWS,
    TINY,
    PermutationLaw,
    Spread,
    is_out_of_range,
    leading_eigenvalues,
    n_rare,
    permutation_law,
    pvalue_of,
    pvalue_of_counts,
    sequential_pvalue,
    spread_of_levels,
    spread_of_part,
    u_centred,
)
from depmax.dependence._nulls.linear_part import (
    TIE,
    VARIES,
    Scores,
    ShareLaw,
    Strength,
    combined,
    has_room,
    normal_scores,
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

    #: Per column (n_levels, r + 3): 1, x - middle, ‖ψ‖² and ψ; and scores b of a numeric target.
    sums: tuple[np.ndarray, ...]
    fourth: float  # Σ‖ψ‖⁴
    powers: np.ndarray  # Σb, Σb², Σb³, Σb⁴

    def __add__(self, other: LevelSums) -> LevelSums:
        sums = tuple(left + right for left, right in zip(self.sums, other.sums, strict=True))
        return LevelSums(sums, self.fourth + other.fourth, self.powers + other.powers)


@dataclass(frozen=True)
class Line:
    """Normal scores b of a numeric target."""

    view: View
    scores: Scores

    def __call__(self, block: Chunk) -> np.ndarray:
        """Those of the rows of a block, of shape (n,)."""
        return self.scores(np.asarray(self.view(block), dtype=np.float64).ravel())


@dataclass(frozen=True)
class SumLevels:
    """Sum the target over the rows of every level."""

    columns: tuple[int, ...]
    grids: tuple[Grid, ...]
    psi: CentredValues
    line: Line | None = None

    def __call__(self, blocks: Iterator[Chunk]) -> LevelSums | None:
        """Sums of one piece."""
        width, fourth, powers = self.psi.shape[1] + 3, 0.0, np.zeros(4)
        width += self.line is not None
        sums = [np.zeros((grid.count, width)) for grid in self.grids]
        for block in blocks:
            psi = self.psi.beside(None, block)
            squares = np.einsum("ij,ij->i", psi, psi)
            fourth += float(squares @ squares)
            n = len(psi)
            parts = [np.ones(n), np.zeros(n), squares, psi]
            if self.line is not None:
                parts.append(self.line(block))
                powers += [float(np.sum(parts[-1] ** power)) for power in (1, 2, 3, 4)]
            beside = np.column_stack(parts)
            for place, column in enumerate(dense_columns(block.x, self.columns)):
                grid = self.grids[place]
                beside[:, 1] = column - grid.middle
                # a column of ones at the level of every row
                rows = sparse.csc_array(
                    (np.ones(n), grid.codes(column), np.arange(n + 1)), (grid.count, n)
                )
                sums[place] += rows @ beside
        return LevelSums(tuple(sums), fourth, powers)


@dataclass(frozen=True)
class CountedColumn:
    """A column as its levels, with the sums of the target over the rows of each."""

    values: np.ndarray  # sorted, shape (n_levels,)
    counts: np.ndarray
    psi: np.ndarray  # Σψ, shape (n_levels, r)
    squares: np.ndarray  # Σ‖ψ‖²
    line: np.ndarray  # Σb, shape (n_levels,); empty without
    edges: np.ndarray | None = None  # ends of the values that were rounded to each, (n_levels, 2)

    @classmethod
    def of(cls, grid: Grid, sums: np.ndarray, rank: int) -> CountedColumn:
        """The levels that have rows; Ψ has so many columns."""
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
        psi, line = sums[some, 3 : 3 + rank], sums[some, 3 + rank :].ravel()
        return cls(values, counts, psi, sums[some, 2], line, edges)

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
        more = grid.count * (width + 4)
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
    line: np.ndarray  # scores b of a numeric target, shape (n_levels,); empty without


@dataclass(frozen=True, eq=False)
class CountedTarget:
    """A streamed target prepared for all columns: coordinates on principal axes."""

    stream: Stream
    psi: CentredValues
    levels: TargetLevels | None  # where its values are few
    error: float  # part of the trace that is left out
    #: If p-values see the linear part of a dependence too: of classes, as Ψ of length 1 has it, or
    #: of numbers, by their scores.
    of_classes: bool = False
    line: Line | None = None

    @classmethod
    def of(cls, side: Sample, tol: float, *, omnibus: bool = False) -> CountedTarget:
        """Coordinates of the target kernel, cut at ``tol`` of its trace, from visits to y alone.

        ``omnibus``: whether p-values see the linear part of a dependence too, if there is one.
        """
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
        rows, levels, line = side.rows, None, None
        of_classes = omnibus and side.kernel.capabilities.labels
        if omnibus and not of_classes and rows.shape[1:] == (1,):
            some = np.asarray(rows[_some_rows(rows.shape[0], POOL_ROWS)], dtype=np.float64)
            line = Line(rows.view, Scores(*np.unique(some, return_counts=True)))
        if rows.distinct is not None and rows.distinct[1] is not None:
            seen, counts = rows.distinct
            if len(seen) <= SKEWNESS_ROWS:
                images = full.make.images(seen) - full.make.mean  # type: ignore[attr-defined]  # a TargetOfPart
                if line is not None:
                    line = replace(line, scores=Scores(seen.ravel().astype(np.float64), counts))
                scores = np.empty(0) if line is None else line.scores(line.scores.values)
                levels = TargetLevels(full.slope * np.asarray(images) @ axes, counts, scores)
        return cls(rows.stream, psi, levels, lost, of_classes, line)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.stream.n_rows

    def at(self, positions: np.ndarray) -> np.ndarray:
        """ψ of the rows at some positions."""
        return self.psi.beside(None, self.stream.take(positions, inputs=False))

    @cached_property
    def pool(self) -> tuple[np.ndarray, np.ndarray]:
        """ψ and scores of rows that stand for all where rows are permuted."""
        if self.levels is not None and self.n_samples <= POOL_ROWS:
            line = self.levels.line if self.line is not None else np.zeros(len(self.levels.psi))
            rows = np.repeat(np.arange(len(line)), self.levels.counts)
            return self.levels.psi[rows], line[rows]
        block = self.stream.take(_some_rows(self.n_samples, POOL_ROWS), inputs=False)
        psi = self.psi.beside(None, block)
        return psi, np.zeros(len(psi)) if self.line is None else self.line(block)

    def linear(self, powers: np.ndarray) -> CountedLinear | None:
        """The linear part, given Σb, Σb², Σb³ and Σb⁴; None if it is not asked for."""
        m = self.n_samples
        if self.line is not None:
            mean, two, three, four = (powers / m).tolist()
            variance = two - mean**2
            if not has_room(1, m) or variance <= VARIES * max(two, TINY):
                return None
            third = three - 3.0 * mean * two + 2.0 * mean**3
            fourth = four - 4.0 * mean * three + 6.0 * mean**2 * two - 3.0 * mean**4
            skewness = third / np.sqrt(m * variance**3)
            law = ShareLaw(m, 1, fourth / (m * variance**2), ((float(skewness), 1.0),))
            return CountedLinear(law, np.array([np.sqrt(m * variance)]), mean)
        if not self.of_classes or self.levels is None or not has_room(self.psi.shape[1], m):
            return None
        assert self.psi.gram is not None
        lengths = np.sqrt(np.diag(self.psi.gram))
        return CountedLinear(ShareLaw.of(self.levels.psi / lengths, self.levels.counts), lengths)

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


@dataclass(frozen=True)
class CountedLinear:
    """The linear part of a streamed target: coordinates U of length 1, from Ψ or from scores b."""

    law: ShareLaw
    lengths: np.ndarray  # of the columns of Ψ, or of b about its mean
    mean: float | None = None  # of b; None: U is Ψ

    def axes(self, psi: np.ndarray, line: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Sums of U over the rows of some levels, from those of ψ and of b."""
        if self.mean is None:
            return psi / self.lengths
        return np.asarray((line - counts * self.mean)[:, np.newaxis] / self.lengths)


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
            work = SumLevels(tuple(batch), grids, target.psi, target.line)
            found = self.stream.total(work)
            counted = zip(grids, found.sums, strict=True)
            self.columns += [CountedColumn.of(grid, sums, width) for grid, sums in counted]
            fourth = found.fourth
        self.own_y, self.spread = target.own(fourth), target.spread(fourth)
        self.linear = target.linear(found.powers)

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
        omnibus = self.linear is not None and telescopes
        shown = ColumnScores.of(column, self.linear) if omnibus else None  # type: ignore[arg-type]
        pvalue, method = self._pvalue(statistic, law, levels, shown)
        m = column.n_samples
        both = spread.squares / (m * (m - 3)), self.own_y
        effect = statistic / math.sqrt(both[0] * both[1]) if min(both) > 0.0 else 0.0
        biased = levels.hsic(column.psi, column.squares, unbiased=False)
        return ColumnScore(statistic, biased, pvalue, bandwidth, min(1.0, max(0.0, effect)), method)

    def _pvalue(
        self,
        statistic: float,
        law: PermutationLaw,
        levels: LevelGram,
        linear: ColumnScores | None,
    ) -> tuple[float, str]:
        """P-value of a column, perhaps with its linear part, and how it was found."""
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
        m, permuted = column.n_samples, partial(self._permuted, levels, linear)
        if linear is None or counted is not None or law.scale == 0.0:
            alone = (hsic for hsic, _ in permuted())
            return pvalue_of(statistic, law, counts, m, counted, lambda: alone, SLACK)
        if is_out_of_range(law, counts, m):
            strength = Strength(linear.target.law.rank, law.scale)
            observed, chunks = strength.against((statistic, linear.share), permuted())
            return sequential_pvalue(observed, chunks, TIE), "permutation"
        both = combined(np.array([law.sf(statistic)]), linear.pvalue())
        return float(both[0]), "gamma"

    def _permuted(
        self, levels: LevelGram, linear: ColumnScores | None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """HSIC₁ and shares of random permutations of the target, with a fixed seed, in chunks."""
        rng, target = np.random.default_rng(0), self.target
        draw = _draw_counts if target.levels is not None else _draw_pool
        while True:
            hsic, shares = zip(
                *(draw(levels, target, rng, linear) for _ in range(CHUNK)), strict=True
            )
            yield np.array(hsic), np.array(shares)


@dataclass(frozen=True)
class ColumnScores:
    """Normal scores of a column by its levels, with the linear part of the target."""

    target: CountedLinear
    counts: np.ndarray
    scores: np.ndarray  # of length 1 over all rows
    share: float  # that the target explains

    @classmethod
    def of(cls, column: CountedColumn, target: CountedLinear) -> ColumnScores:
        """Those of a counted column."""
        scores = normal_scores(column.counts)
        scores /= np.sqrt(column.counts @ scores**2)
        found = scores @ target.axes(column.psi, column.line, column.counts)
        return cls(target, column.counts, scores, float(found @ found))

    def pvalue(self) -> np.ndarray:
        """By the law, of shape (1,)."""
        third, fourth = (np.array([self.counts @ self.scores**power]) for power in (3, 4))
        return self.target.law.sf(np.array([self.share]), third, fourth)

    def share_of(self, psi: np.ndarray, line: np.ndarray, counts: np.ndarray) -> float:
        """Share explained by other sums of ψ and b over levels of so many rows."""
        found = self.scores @ self.target.axes(psi, line, counts)
        return float(found @ found)


def _leading(kernel: Kernel, column: CountedColumn) -> tuple[float, ...]:
    """Leading eigenvalues of the U-centred kernel matrix, from evenly spaced rows."""
    places = column.evenly_spaced(SPECTRUM_POINTS)[:, np.newaxis]
    gram = np.asarray(kernel(places, places), dtype=np.float64)
    return tuple(column.n_samples / len(places) * leading_eigenvalues(u_centred(gram)))


# --- permutations ---------------------------------------------------------------------------------
def _draw_counts(
    levels: LevelGram, target: CountedTarget, rng: np.random.Generator, linear: ColumnScores | None
) -> tuple[float, float]:
    """HSIC₁ and share of a random table of the levels of both sides with their counts."""
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
    psi, share = table @ of_y.psi, 0.0
    if linear is not None:
        line = table @ of_y.line if len(of_y.line) else np.empty(0)
        share = linear.share_of(psi, line, column.counts)
    return levels.hsic(psi, table @ squares, unbiased=True), share


def _draw_pool(
    levels: LevelGram, target: CountedTarget, rng: np.random.Generator, linear: ColumnScores | None
) -> tuple[float, float]:
    """HSIC₁ and share with rows of the target drawn for the rare rows, or for some of many.

    Only rows that do not have the column's most frequent value matter. If these are too many to
    draw, rows are drawn for as many as the pool has: the law of m·HSIC₁ hardly depends on m.
    """
    column, (pool, scores) = levels.column, target.pool
    m, n = column.n_samples, min(column.n_samples, len(pool))
    counts = column.counts
    if n_rare(counts) > len(pool) or m <= len(pool):
        codes = (
            rng.permutation(np.repeat(np.arange(len(counts)), counts))
            if m <= len(pool)
            else (rng.choice(len(counts), n, p=counts / m))
        )
        some = replace(column, counts=np.bincount(codes, minlength=len(counts)))
        rows = rng.permutation(len(pool))[:n]
        drawn = pool[rows] - pool[rows].mean(axis=0)
        psi, squares = _sums(drawn, codes, len(counts))
        value = n / m * LevelGram(some, levels.gram).hsic(psi, squares, unbiased=True)
        if linear is None:
            return value, 0.0
        line = np.bincount(codes, weights=scores[rows], minlength=len(counts))
        return value, m / n * linear.share_of(psi, line, some.counts)
    common = int(np.argmax(counts))
    rare = np.repeat(np.arange(len(counts)), np.where(np.arange(len(counts)) == common, 0, counts))
    rows = rng.choice(len(pool), len(rare), replace=False)
    psi, squares = _sums(pool[rows], rare, len(counts))
    psi[common] = -psi.sum(axis=0)
    squares[common] = target.psi.total - squares.sum()
    share = 0.0
    if linear is not None:
        line = np.bincount(rare, weights=scores[rows], minlength=len(counts))
        line[common] = (linear.target.mean or 0.0) * m - line.sum()
        share = linear.share_of(psi, line, counts)
    return levels.hsic(psi, squares, unbiased=True), share


def _sums(psi: np.ndarray, codes: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Σψ and Σ‖ψ‖² of every level."""
    sums = np.zeros((count, psi.shape[1]))
    np.add.at(sums, codes, psi)
    weights = np.einsum("ij,ij->i", psi, psi)
    return sums, np.bincount(codes, weights=weights, minlength=count)
