"""Columns of a table that is read a chunk at a time, as levels with sums over the rows of each.

HSIC of one column needs, of every different value of it, how many rows have it and the sum of the
target's coordinates over them: sums that can be added, whatever the order of the rows. A column
with more than ``MOST_LEVELS`` different values is rounded to about that many, fine near its middle
and coarser in its tails, each the mean of the rows that it stands for; a value that many rows share
keeps a level of its own. Kernels smooth, so that this changes HSIC by about the square of the width
of a level in bandwidths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from depmax.algebra.targets import CentredValues
from depmax.data.chunks import Chunk
from depmax.dependence._terms import Terms
from depmax.kernels.kernel import Kernel

#: Different values of a column up to which it is counted as it is.
MOST_LEVELS = 512
#: Share of the rows from which a value keeps its own level.
SPIKE = 0.02
#: Numbers that the sums of one visit may hold; of more columns some are visited later.
MOST_SUMS = 2**21


@dataclass(frozen=True)
class ColumnValues:
    """What a first visit tells about one column."""

    low: float
    high: float
    distinct: np.ndarray | None  # sorted; None if there are more than ``MOST_LEVELS``

    def __add__(self, other: ColumnValues) -> ColumnValues:
        distinct = None
        if self.distinct is not None and other.distinct is not None:
            distinct = _few(np.concatenate([self.distinct, other.distinct]))
        return ColumnValues(min(self.low, other.low), max(self.high, other.high), distinct)

    def with_rows(self, values: np.ndarray) -> ColumnValues:
        """With more rows; different values are looked for only while they are few."""
        distinct = None
        if self.distinct is not None:
            distinct = _few(np.concatenate([self.distinct, values]))
        low, high = float(values.min()), float(values.max())
        return ColumnValues(min(self.low, low), max(self.high, high), distinct)


@dataclass(frozen=True)
class TableValues:
    """What a first visit tells about all columns."""

    columns: tuple[ColumnValues, ...]

    def __add__(self, other: TableValues) -> TableValues:
        pairs = zip(self.columns, other.columns, strict=True)
        return TableValues(tuple(left + right for left, right in pairs))

    @property
    def constant(self) -> np.ndarray:
        """Which columns have one value only."""
        return np.array([column.low == column.high for column in self.columns])


def look_at_columns(blocks: Iterator[Chunk]) -> TableValues | None:
    """Smallest, largest and, where they are few, all different values of every column."""
    found: list[ColumnValues] = []
    for block in blocks:
        x = dense_columns(block.x)
        before = found or [ColumnValues(np.inf, -np.inf, np.empty(0))] * len(x)
        found = [known.with_rows(column) for known, column in zip(before, x, strict=True)]
    return TableValues(tuple(found)) if found else None


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
    def of(cls, column: ColumnValues, sample: np.ndarray) -> Grid:
        """The values themselves, or a grid that is even in asinh of the distance to the median.

        The scale is the quartiles' distance from the median, read off a sample of the column.
        """
        if column.distinct is not None:
            return cls(column.distinct, count=len(column.distinct))
        middle = float(np.median(sample))
        scale = float(np.median(np.abs(sample - middle)))
        if scale == 0.0:  # more than half of the rows are equal
            away = np.abs(sample - middle)
            scale = float(away[away > 0].mean()) if away.any() else column.high - column.low
        ends = np.arcsinh((np.array([column.low, column.high]) - middle) / scale)
        step = float(ends[1] - ends[0]) / (MOST_LEVELS - 1)
        values, counts = np.unique(sample, return_counts=True)
        common = int(np.argmax(counts))
        spike = float(values[common]) if counts[common] >= SPIKE * len(sample) else None
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
    places: np.ndarray  # per level of the grid: its position here; -1 if no row has it
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
        places = np.full(grid.count, -1)
        places[some] = np.arange(len(some))
        return cls(values, counts, sums[some, 3:], sums[some, 2], places, edges)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @property
    def n_rare(self) -> int:
        """Rows that do not have the most frequent value."""
        return self.n_samples - int(self.counts.max())

    def evenly_spaced(self, size: int, *, spread: bool = False) -> np.ndarray:
        """At most ``size`` of the rows' values, evenly spaced by rank, the ends included.

        With ``spread`` rows that were rounded to one level count as spread evenly over it.
        """
        m = self.n_samples
        ranks = np.arange(m) if m <= size else np.arange(size) * (m - 1) // (size - 1)
        reached = np.cumsum(self.counts)
        levels = np.searchsorted(reached, ranks, side="right")
        if self.edges is None or not spread:
            return self.values[levels]
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
        means = gram @ column.counts / column.n_samples
        gram -= means[:, np.newaxis]
        gram -= means[np.newaxis, :]
        gram += column.counts @ means / column.n_samples
        return cls(column, gram)

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

    @cached_property
    def square_rows(self) -> np.ndarray:
        """(Ã ∘ Ã)1 of a row of every level."""
        counts, m, diagonal = self.column.counts, self.column.n_samples, np.diag(self.gram)
        u = (self.gram @ counts - diagonal) / (m - 2)
        centred = self.gram - u[:, np.newaxis] - u[np.newaxis, :] + (counts @ u) / (m - 1)
        rows: np.ndarray = centred**2 @ counts - np.diag(centred) ** 2
        return rows
