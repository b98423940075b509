"""W = M∘K: what pairs of rows contribute to HSIC, for a kernel of some columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from depmax.kernels.distances import Gaussian
from depmax.kernels.neutral import GappedRows
from depmax.selection._search.data import KEPT, Change, SearchData

#: From so many columns on, taking some away is cheaper than starting anew.
FEWEST_COLUMNS = 128
#: Entries of W held at a time, and rows of a strip at least: memory is linear in the rows.
ENTRIES, FEWEST_ROWS = 2**24, 512
#: Multiplications that take as long as an entry of W does: its exponential, weight and sums.
EXPONENTIAL = 200


@dataclass
class HalfDistances:
    """½‖x_a - x_b‖² of pairs of rows, over columns of which some leave in every round.

    Rounding errors of columns that have left stay, so the sums start anew whenever half of the
    columns of the last start have left.
    """

    data: SearchData
    columns: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    n_at_start: int = 0
    strips: dict[int, np.ndarray] = field(default_factory=dict)  # by first row
    left: np.ndarray = field(default_factory=lambda: np.empty(0))  # leftᵀ right is added or taken
    right: np.ndarray = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of(cls, data: SearchData, columns: np.ndarray) -> HalfDistances:
        """Distances that are kept with the data, for a round with these columns."""
        kept: HalfDistances = data.kept.setdefault("distances", cls(data))
        kept._begin(columns)
        return kept

    def _begin(self, columns: np.ndarray) -> None:
        gone = np.setdiff1d(self.columns, columns, assume_unique=True)
        is_subset = len(self.columns) - len(gone) == len(columns)
        goes_on = bool(self.strips) and is_subset and 2 * len(columns) > self.n_at_start
        if not goes_on:
            self.strips, self.n_at_start = {}, len(columns)
        self.columns = columns
        changed = self.data.centred[gone if goes_on else columns]
        half = 0.5 * np.einsum("ji,ji->i", changed, changed, dtype=np.float64)
        half, ones = (
            half.astype(changed.dtype)[np.newaxis],
            np.ones_like(changed, shape=(1, len(half))),
        )
        self.left = np.concatenate([changed, half, ones])
        self.right = np.concatenate([-changed, ones, half])

    def fill(self, rows: slice, later: slice, out: np.ndarray) -> np.ndarray:
        """Distances of a strip of rows to itself and all later rows; once a round.

        ``out`` may be the result and is overwritten anyway.
        """
        np.matmul(self.left[:, rows].T, self.right[:, later], out=out)
        strip = self.strips.get(rows.start)
        if strip is not None:
            return np.subtract(strip, out, out=strip)
        if self.data.n_samples**2 <= KEPT and len(self.columns) >= FEWEST_COLUMNS:
            self.strips[rows.start] = out.copy()
        return out


@dataclass(frozen=True)
class GappedColumns:
    """Columns with missing cells, ready to be compared by exp(-sum/decay)."""

    kernel: Any
    columns: np.ndarray
    seen: GappedRows  # these columns of all rows

    @classmethod
    def of(cls, data: SearchData, kernel: Any, change: Change) -> GappedColumns:
        """All columns of a change."""
        columns = np.unique(np.concatenate([change.base, *change.units]))
        gaps = data.gaps.among(columns)
        seen = gaps.see(data.X[:, columns], kernel.norm_, kernel.decay)
        return cls(kernel, columns, seen)

    def rows_of(self, columns: np.ndarray) -> GappedRows:
        """Some of the columns."""
        return self.seen.among(np.searchsorted(self.columns, columns))

    def sums(self, rows: GappedRows, strip: slice) -> np.ndarray:
        """Differences of a strip of rows with themselves and all later ones."""
        part, later = rows.take(strip), rows.take(slice(strip.start, None))
        sums = part.sums(later, self.kernel.difference_sums)
        np.fill_diagonal(sums, part.absent @ rows.apart)  # free of rounding
        return sums


@dataclass(frozen=True)
class PairWeights:
    """W of some rows against themselves and all later rows."""

    values: np.ndarray  # shape (rows, later rows); what lies left of ``blocks`` is not set
    strips: Sequence[slice]  # the rows, as they were filled
    blocks: Sequence[tuple[slice, slice]]  # rows and columns of W that cover its pairs
    ends: np.ndarray  # sum of the pairs that a row is an end of, shape (n_samples,)
    total: float  # Σ W

    def part(self, rows: slice, later: slice) -> np.ndarray:
        """W of some of the rows."""
        start = self.strips[0].start
        return self.values[
            rows.start - start : rows.stop - start, later.start - start : later.stop - start
        ]

    def squares(self, vectors: np.ndarray) -> np.ndarray:
        """Σ_ab W_ab v_a v_b for every row v of ``vectors``."""
        sums = np.zeros(len(vectors))
        widest = max(rows.stop - rows.start for rows, _ in self.blocks)
        space = np.empty((len(vectors), widest), dtype=vectors.dtype)  # one for all products
        for rows, later in self.blocks:
            products = space[:, : rows.stop - rows.start]
            np.matmul(vectors[:, later], self.part(rows, later).T, out=products)
            sums += np.einsum("ji,ji->j", vectors[:, rows], products)
        return sums


def weighted_pairs(
    data: SearchData, kernel: Any, change: Change, gapped: GappedColumns | None = None
) -> Iterator[PairWeights]:
    """W = M∘K strip by strip, each in the place of the one before; without columns, K is 1."""
    m, n_products, dtype = data.n_samples, len(change.base), np.dtype(np.float64)
    if gapped is not None:
        base = gapped.rows_of(change.base)

        def fill(rows: slice, later: slice, out: np.ndarray) -> None:
            out[...] = kernel.of_squares(gapped.sums(base, rows))

    elif type(kernel) is Gaussian:
        distances, dtype = HalfDistances.of(data, change.base), data.dtype
        factor, n_products = dtype.type(-2.0 / kernel.decay), len(distances.left)

        def fill(rows: slice, later: slice, out: np.ndarray) -> None:
            np.multiply(distances.fill(rows, later, out), factor, out=out)
            np.minimum(out, 0.0, out=out)
            np.exp(out, out=out)

    else:
        columns = data.X[:, change.base]

        def fill(rows: slice, later: slice, out: np.ndarray) -> None:
            out[...] = kernel(columns[rows], columns[later]) if len(change.base) else 1.0

    thin = data.strips()
    effort = 0.5 * float(m) ** 2 * (n_products + EXPONENTIAL)
    at_a_time = max(1, max(FEWEST_ROWS, ENTRIES // max(m, 1)) // (thin[0].stop - thin[0].start))
    for first in range(0, len(thin), at_a_time):
        yield _filled(data, fill, thin[first : first + at_a_time], dtype, effort)


def _filled(
    data: SearchData,
    fill: Callable[[slice, slice, np.ndarray], None],
    thin: Sequence[slice],
    dtype: np.dtype[Any],
    effort: float,
) -> PairWeights:
    m, start, stop = data.n_samples, thin[0].start, thin[-1].stop
    values = data.space(stop - start, m - start, dtype)
    blocks = list(_triangle(thin))
    if stop < m:
        blocks.append((slice(start, stop), slice(stop, m)))
    weights = PairWeights(values, thin, blocks, np.empty(0), 0.0)

    def work(rows: slice) -> tuple[float, np.ndarray]:
        later = slice(rows.start, m)
        part = weights.part(rows, later)
        fill(rows, later, part)
        M, gained = data.kept_strip(rows) if dtype == data.dtype else (data.strip(rows), 0.0)
        gained *= float(part[0].mean())  # M sums to nothing, and K is about the same everywhere
        part *= M
        ends, own = np.zeros(m), part.sum(axis=1)
        ends[later] = part.sum(axis=0)
        ends[rows] += own
        return float(own.sum(dtype=np.float64)) - gained, ends

    totals, ends = zip(*data.over(work, thin, effort), strict=True)
    return PairWeights(values, thin, blocks, np.sum(ends, axis=0).astype(dtype), sum(totals))


def _triangle(thin: Sequence[slice]) -> Iterator[tuple[slice, slice]]:
    """Blocks that cover the pairs within some rows: halves against each other, then each half."""
    if len(thin) == 1:
        yield thin[0], thin[0]
        return
    half = len(thin) // 2
    first, second = thin[:half], thin[half:]
    yield slice(first[0].start, first[-1].stop), slice(second[0].start, second[-1].stop)
    yield from _triangle(first)
    yield from _triangle(second)
