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
from typing import Any

import numpy as np
from scipy import sparse

from depmax._resources import cached_property, map_threads, one_blas_thread
from depmax.algebra.row_sums import CentredValues, centred_target, gram_of
from depmax.data import Table
from depmax.data.chunks import Chunk
from depmax.data.sample import Sample
from depmax.data.stream import Stream, StreamRows, View
from depmax.dependence._nulls.law import (
    CHUNK,
    SKEWNESS_ROWS,
    TINY,
    PermutationLaw,
    Spread,
    drawn_rows,
    is_out_of_range,
    leading_eigenvalues,
    n_rare,
    permutation_law,
    pvalue_of_counts,
    spread_of_levels,
    spread_of_part,
    u_centred,
)
from depmax.dependence._nulls.linear_part import (
    VARIES,
    Scores,
    ShareLaw,
    combined,
    has_room,
    normal_scores,
    permuted_pvalue,
)
from depmax.dependence._nulls.permutation import SLACK
from depmax.dependence._nulls.screening import FOUND, Asked
from depmax.dependence._nulls.sorted_columns import MEDIAN_POINTS, SPECTRUM_POINTS, places_by_rank
from depmax.dependence._terms import Terms, centred_gram
from depmax.kernels import Delta
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
class Images:
    """What is summed of a target: ψ, and beside it normal scores b of numbers if asked for."""

    psi: CentredValues
    view: View  # of the target
    scores: Scores | None = None

    @property
    def rank(self) -> int:
        """How many of the columns are ψ."""
        return int(self.psi.shape[1])

    def __call__(self, block: Chunk) -> np.ndarray:
        """Those of the rows of a block."""
        psi = self.psi.beside(None, block)
        if self.scores is None:
            return psi
        numbers = np.asarray(self.view(block), dtype=np.float64).ravel()
        return np.column_stack([psi, self.scores(numbers)])


@dataclass(frozen=True)
class LevelSums:
    """Sums over the rows of every level of some columns, and of the target over all rows."""

    #: Per column (n_levels, …): 1, x - middle, ‖ψ‖² and the target's images.
    sums: tuple[np.ndarray, ...]
    fourth: float  # Σ‖ψ‖⁴
    powers: np.ndarray  # Σb, Σb², Σb³, Σb⁴ of the last of the images

    def __add__(self, other: LevelSums) -> LevelSums:
        sums = tuple(left + right for left, right in zip(self.sums, other.sums, strict=True))
        return LevelSums(sums, self.fourth + other.fourth, self.powers + other.powers)


@dataclass(frozen=True)
class SumLevels:
    """Sum the target over the rows of every level."""

    columns: tuple[int, ...]
    grids: tuple[Grid, ...]
    images: Images

    def __call__(self, blocks: Iterator[Chunk]) -> LevelSums | None:
        """Sums of one piece."""
        fourth, powers, sums = 0.0, np.zeros(4), [np.zeros(())] * len(self.grids)
        for block in blocks:
            images = self.images(block)
            psi, n = images[:, : self.images.rank], len(images)
            squares = np.einsum("ij,ij->i", psi, psi)
            fourth += float(squares @ squares)
            if self.images.scores is not None:
                powers += [float(np.sum(images[:, -1] ** power)) for power in (1, 2, 3, 4)]
            beside = np.column_stack([np.ones(n), np.zeros(n), squares, images])
            for place, column in enumerate(dense_columns(block.x, self.columns)):
                grid = self.grids[place]
                beside[:, 1] = column - grid.middle
                # a column of ones at the level of every row
                rows = sparse.csc_array(
                    (np.ones(n), grid.codes(column), np.arange(n + 1)), (grid.count, n)
                )
                sums[place] = sums[place] + rows @ beside
        return LevelSums(tuple(sums), fourth, powers)


@dataclass(frozen=True)
class CountedColumn:
    """A column as its levels, with the sums of the target over the rows of each."""

    values: np.ndarray  # sorted, shape (n_levels,)
    counts: np.ndarray
    images: np.ndarray  # sums of the target's images, one level per row
    squares: np.ndarray  # Σ‖ψ‖²
    edges: np.ndarray | None = None  # ends of the values that were rounded to each, (n_levels, 2)

    @classmethod
    def of(cls, grid: Grid, sums: np.ndarray) -> CountedColumn:
        """The levels that have rows."""
        some = np.flatnonzero(sums[:, 0])
        counts = np.round(sums[some, 0]).astype(np.int64)
        if grid.levels is not None:
            return cls(grid.levels[some], counts, sums[some, 3:], sums[some, 2])
        values = grid.middle + sums[some, 1] / counts
        order = np.argsort(values)  # the value with a level of its own takes its place
        some, counts, values = some[order], counts[order], values[order]
        return cls(values, counts, sums[some, 3:], sums[some, 2], grid.edges[some])

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
    rank: int  # how many of the target's images are ψ

    def hsic(self, column: CountedColumn, *, unbiased: bool) -> float:
        """HSIC of the column, or of another with these levels."""
        m, diagonal, counts = column.n_samples, np.diag(self.gram), column.counts
        psi, squares = column.images[:, : self.rank], column.squares
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
    """The different values of a target."""

    images: np.ndarray  # one per row
    counts: np.ndarray


@dataclass(frozen=True, eq=False)
class CountedTarget:
    """A streamed target prepared for all columns: coordinates on principal axes."""

    stream: Stream
    images: Images
    levels: TargetLevels | None  # where its values are few
    error: float  # part of the trace that is left out
    has_linear: bool  # whether p-values see the linear part: that of classes is ψ of length 1

    @classmethod
    def of(cls, side: Sample, tol: float, *, omnibus: bool = False) -> CountedTarget:
        """Coordinates of the target kernel, cut at ``tol`` of its trace, from visits to y alone.

        ``omnibus``: whether p-values see the linear part of a dependence too, if there is one.
        """
        full, rows = centred_target(side), side.rows
        assert full.gram is not None
        values, vectors = np.linalg.eigh(full.gram)
        trailing = np.cumsum(np.maximum(values, 0.0))
        kept = trailing > (0.01 * tol if side.has_features else tol) * trailing[-1]
        axes = np.ascontiguousarray(vectors[:, kept][:, ::-1])
        shape, gram = (full.shape[0], axes.shape[1]), np.diag(values[kept][::-1])
        psi = CentredValues(_Rotated(full.make, axes), shape, slope=full.slope, gram=gram)
        lost = 0.0 if side.has_features else float(trailing[~kept].max(initial=0.0) / trailing[-1])
        labels, levels, scores = side.kernel.capabilities.labels, None, None
        if omnibus and not labels and rows.shape[1:] == (1,):
            some = np.asarray(rows[drawn_rows(rows.shape[0], POOL_ROWS)], dtype=np.float64)
            scores = Scores(*np.unique(some, return_counts=True))
        if rows.distinct is not None and rows.distinct[1] is not None:
            seen, counts = rows.distinct
            if len(seen) <= SKEWNESS_ROWS:
                centred = full.make.images(seen) - full.make.mean  # type: ignore[attr-defined]  # a TargetOfPart
                images = full.slope * np.asarray(centred) @ axes
                if scores is not None:
                    scores = Scores(seen.ravel().astype(np.float64), counts)
                    images = np.column_stack([images, scores(scores.values)])
                levels = TargetLevels(images, counts)
        has_linear = scores is not None or (omnibus and labels and levels is not None)
        return cls(rows.stream, Images(psi, rows.view, scores), levels, lost, has_linear)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.stream.n_rows

    def some(self, size: int) -> np.ndarray:
        """Images of all rows, or of some drawn with a fixed seed."""
        return self.images(self.stream.take(drawn_rows(self.n_samples, size), inputs=False))

    @cached_property
    def pool(self) -> np.ndarray:
        """Images of rows that stand for all where rows are permuted."""
        if self.levels is not None and self.n_samples <= POOL_ROWS:
            return np.repeat(self.levels.images, self.levels.counts, axis=0)
        return self.some(POOL_ROWS)

    def linear(self, powers: np.ndarray) -> CountedLinear | None:
        """The linear part, given Σb, Σb², Σb³ and Σb⁴; None if it is not asked for."""
        m, rank, levels = self.n_samples, self.images.rank, self.levels
        if not self.has_linear or not has_room(1 if self.images.scores else rank, m):
            return None
        if self.images.scores is None:
            assert levels is not None
            lengths = np.sqrt(np.diag(gram_of(self.images.psi)))
            law = ShareLaw.of(levels.images / lengths, levels.counts)
            return CountedLinear(law, np.diag(1.0 / lengths), np.zeros(rank))
        mean, two, three, four = (powers / m).tolist()
        variance = two - mean**2
        if variance <= VARIES * max(two, TINY):
            return None
        third = three - 3.0 * mean * two + 2.0 * mean**3
        fourth = four - 4.0 * mean * three + 6.0 * mean**2 * two - 3.0 * mean**4
        length, skewness = np.sqrt(m * variance), float(third / np.sqrt(m * variance**3))
        law = ShareLaw(m, 1, fourth / (m * variance**2), ((skewness, 1.0),))
        return CountedLinear(law, np.eye(1, rank + 1, rank).T / length, np.array([mean / length]))

    def spread(self, fourth: float) -> Spread:
        """Sums over its U-centred kernel matrix, given Σ‖ψ‖⁴."""
        m, rank = self.n_samples, self.images.rank
        if self.levels is not None and len(self.levels.counts) <= SKEWNESS_ROWS < m:
            psi = self.levels.images[:, :rank]
            return spread_of_levels(psi @ psi.T, self.levels.counts)
        psi = self.some(SKEWNESS_ROWS)[:, :rank]
        return spread_of_part(psi @ psi.T, m, lambda: m * (m - 3) * self.own(fourth))

    def own(self, fourth: float) -> float:
        """Unbiased HSIC of the target with itself."""
        psi = self.images.psi
        inner = float(np.sum(gram_of(psi) ** 2)) - fourth
        return Terms(self.n_samples, inner, fourth, psi.total**2, zero_diagonal=True).hsic()


@dataclass(frozen=True)
class CountedLinear:
    """The linear part of a streamed target: coordinates U of length 1, linear in its images."""

    law: ShareLaw
    axes: np.ndarray  # (n_images, rank)
    means: np.ndarray  # what each row of U loses, shape (rank,)

    def share(self, scores: np.ndarray, column: CountedColumn) -> float:
        """Share that the target explains of normal scores of the levels, of length 1."""
        of_levels = column.images @ self.axes - np.outer(column.counts, self.means)
        return float(np.sum((scores @ of_levels) ** 2))

    def pvalue(self, scores: np.ndarray, column: CountedColumn) -> np.ndarray:
        """By the law, of shape (1,)."""
        third, fourth = (np.array([column.counts @ scores**power]) for power in (3, 4))
        return self.law.sf(np.array([self.share(scores, column)]), third, fourth)


class CountedScreening:
    """All columns of a table against its target, in visits that each sum over the rows.

    Parameters
    ----------
    table : rows that are read a chunk at a time
    target : CountedTarget
    """

    def __init__(self, table: Table, target: CountedTarget) -> None:
        self.table, self.target = table, target
        self.rows: StreamRows = table.values
        visited = self.rows.stream.total(look_at_columns)
        self.constant = visited.constant
        sample = enumerate(dense_columns(self.rows.sample()))
        grids = [Grid.of(visited, position, some) for position, some in sample]
        self.columns: list[CountedColumn] = []
        for batch in batches(grids, target.images.rank):
            some = tuple(grids[number] for number in batch)
            found = self.rows.stream.total(SumLevels(tuple(batch), some, target.images))
            counted = zip(some, found.sums, strict=True)
            self.columns += [CountedColumn.of(grid, sums) for grid, sums in counted]
        self.own_y, self.spread = target.own(found.fourth), target.spread(found.fourth)
        self.linear = target.linear(found.powers)
        self.has_linear = self.linear is not None

    @property
    def own_biased(self) -> float:
        """HSIC₀ of the target with itself."""
        return float(np.sum(gram_of(self.target.images.psi) ** 2)) / (self.rows.shape[0] - 1) ** 2

    def levels(self, recipe: Kernel, position: int) -> tuple[Kernel, LevelGram]:
        """The kernel of a column, its recipe replaced by numbers, between its levels."""
        recipe = Delta() if position in self.table.categories else recipe
        column = self.columns[position]
        if recipe.capabilities.labels:
            kernel = recipe.resolve(column.values)
        elif recipe.capabilities.telescopes and getattr(recipe, "bandwidth", None) == "median":
            from depmax.dependence._nulls._laplace_loop import median_gap

            width = float(median_gap(column.evenly_spaced(MEDIAN_POINTS, spread=True)))
            kernel = recipe._copy_with(bandwidth=width)
        else:
            kernel = recipe.resolve(self.rows.column([position]))
        values = column.values[:, np.newaxis]
        gram = centred_gram(np.asarray(kernel(values, values), dtype=np.float64), column.counts)
        return kernel, LevelGram(column, gram, self.target.images.rank)

    def found(self, asked: Asked, n_jobs: int | None = None) -> np.ndarray:
        """What is found out about every column (``FOUND``); ends of intervals are not known."""
        found = np.full((len(self.columns), len(FOUND)), np.nan)

        def fill(position: int) -> None:
            if asked.test:
                found[position, :4] = self.judged(asked, position)[0]
                return
            levels, column = self.levels(asked.recipe, position)[1], self.columns[position]
            found[position, 0] = levels.hsic(column, unbiased=asked.unbiased)
            squares = column.counts @ levels.gram**2 @ column.counts
            found[position, 6] = squares / (self.rows.shape[0] - 1) ** 2

        with one_blas_thread(always=True):
            map_threads(fill, range(len(found)), n_jobs)
        return found

    def judged(self, asked: Asked, position: int) -> tuple[tuple[float, float, float, float], str]:
        """Score, p-value, bandwidth and effect of a column, and how the p-value was found."""
        column = self.columns[position]
        kernel, levels = self.levels(asked.recipe, position)
        bandwidth = float(getattr(kernel, "bandwidth", np.nan))
        if len(column.values) < 2:
            return (0.0, 1.0, bandwidth, 0.0), "gamma"
        statistic, m = levels.hsic(column, unbiased=True), column.n_samples
        telescopes = kernel.capabilities.telescopes
        spread = spread_of_levels(levels.gram, column.counts, with_leading=not telescopes)
        if telescopes:  # as for sorted columns in memory
            spread = replace(spread, leading=_leading(kernel, column))
        law = permutation_law(spread, self.spread, m)
        linear = self.linear if telescopes else None
        pvalue, method = self._pvalue(statistic, law, levels, linear)
        both = spread.squares / (m * (m - 3)), self.own_y
        effect = statistic / math.sqrt(both[0] * both[1]) if min(both) > 0.0 else 0.0
        score = statistic if asked.unbiased else levels.hsic(column, unbiased=False)
        return (score, pvalue, bandwidth, min(1.0, max(0.0, effect))), method

    def _pvalue(
        self, statistic: float, law: PermutationLaw, levels: LevelGram, linear: CountedLinear | None
    ) -> tuple[float, str]:
        """P-value of a column, perhaps with its linear part, and how it was found."""
        column, target, m = levels.column, self.target.levels, levels.column.n_samples
        if target is not None and len(target.counts) == len(column.counts) == 2:
            ones_x, ones_y = int(column.counts[1]), int(target.counts[1])
            if min(ones_x, ones_y) <= MOST_COUNTED:
                # Σψ over the rows of a level tells how many of them have each value of y
                step = (target.images[1] - target.images[0])[: levels.rank]
                left = (column.images[1] - ones_x * target.images[0])[: levels.rank]
                n_both = round(float(left @ step / (step @ step)))
                return pvalue_of_counts(m, ones_x, ones_y, n_both), "counts"
        scores = normal_scores(column.counts)
        scores /= np.sqrt(column.counts @ scores**2)
        if is_out_of_range(law, m, column.counts, None if target is None else target.counts):
            permuted = self._permuted(levels, linear, scores)
            observed = statistic, 0.0 if linear is None else linear.share(scores, column)
            rank = None if linear is None else linear.law.rank
            slack = SLACK * law.scale
            pvalue = permuted_pvalue(observed, permuted, slack, rank=rank, scale=law.scale)
            return pvalue, "permutation"
        pvalue = law.sf(statistic)
        if linear is not None and law.scale > 0.0:
            pvalue = float(combined(np.array([pvalue]), linear.pvalue(scores, column))[0])
        return pvalue, "gamma"

    def _permuted(
        self, levels: LevelGram, linear: CountedLinear | None, scores: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """HSIC₁ and shares of random permutations of the target, with a fixed seed, in chunks."""
        rng, m = np.random.default_rng(0), levels.column.n_samples
        draw = _draw_pool if self.target.levels is None else _draw_counts
        while True:
            hsic, shares = np.empty(CHUNK), np.zeros(CHUNK)
            for place in range(CHUNK):
                drawn = draw(levels, self.target, rng)
                # the law of m·HSIC₁ hardly depends on m, nor does that of m times the share
                times = drawn.n_samples / m
                hsic[place] = times * levels.hsic(drawn, unbiased=True)
                if linear is not None:
                    shares[place] = linear.share(scores, drawn) / times
            yield hsic, shares


def _leading(kernel: Kernel, column: CountedColumn) -> tuple[float, ...]:
    """Leading eigenvalues of the U-centred kernel matrix, from evenly spaced rows."""
    places = column.evenly_spaced(SPECTRUM_POINTS)[:, np.newaxis]
    gram = np.asarray(kernel(places, places), dtype=np.float64)
    return tuple(column.n_samples / len(places) * leading_eigenvalues(u_centred(gram)))


# --- permutations ---------------------------------------------------------------------------------
def _draw_counts(
    levels: LevelGram, target: CountedTarget, rng: np.random.Generator
) -> CountedColumn:
    """A random table of the levels of both sides with their counts."""
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
    squares = np.einsum("ij,ij->i", *[of_y.images[:, : levels.rank]] * 2)
    return replace(column, images=table @ of_y.images, squares=table @ squares)


def _draw_pool(levels: LevelGram, target: CountedTarget, rng: np.random.Generator) -> CountedColumn:
    """Rows of the target drawn for the rare rows of a column, or for some of many.

    Only rows that do not have the column's most frequent value matter. If these are too many to
    draw, rows are drawn for as many as the pool has.
    """
    column, pool, rank = levels.column, target.pool, levels.rank
    m, n, counts = column.n_samples, min(column.n_samples, len(pool)), column.counts
    every = np.arange(len(counts))
    if n_rare(counts) > len(pool) or m <= len(pool):
        codes = (
            rng.permutation(np.repeat(every, counts))
            if m <= len(pool)
            else (rng.choice(len(counts), n, p=counts / m))
        )
        drawn = pool[rng.permutation(len(pool))[:n]]
        drawn[:, :rank] -= drawn[:, :rank].mean(axis=0)
        images, squares = _sums(drawn, codes, len(counts), rank)
        counts = np.bincount(codes, minlength=len(counts))
        return replace(column, counts=counts, images=images, squares=squares)
    common = int(np.argmax(counts))
    rare = np.repeat(every, np.where(every == common, 0, counts))
    drawn = pool[rng.choice(len(pool), len(rare), replace=False)]
    images, squares = _sums(drawn, rare, len(counts), rank)
    images[common] = column.images.sum(axis=0) - images.sum(axis=0)
    squares[common] = target.images.psi.total - squares.sum()
    return replace(column, images=images, squares=squares)


def _sums(
    images: np.ndarray, codes: np.ndarray, count: int, rank: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of images and Σ‖ψ‖² of every level."""
    sums, psi = np.zeros((count, images.shape[1])), images[:, :rank]
    np.add.at(sums, codes, images)
    return sums, np.bincount(codes, np.einsum("ij,ij->i", psi, psi), minlength=count)
