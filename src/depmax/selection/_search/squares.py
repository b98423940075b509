"""Changes of kernels that factor over columns, for every unit at once: signed squares ±vᵀWv.

Such a kernel is K∘k_u^{±1} once a unit u has joined or left. With W = M∘K the change of HSIC is
Σ W (k_u^{±1} - 1), and k_u^{±1} - 1 is written as a sum of ±vvᵀ: a matrix product for all of them.

*Series.* A Gaussian kernel without column j is K∘exp(γ(a - b)²), with one more column
K∘exp(-γ(a - b)²). With s = ±γ, exp(s(a-b)²) = e^{sa²} e^{sb²} e^{-2sab}; with the power series of
the last factor and p = e^{sx²} - 1,

    Σ W (exp(s(a-b)²) - 1) = 2 Σ_a r_a p_a + pᵀWp + Σ_{k≥1} (-2s)^k/k! (e^{sx²}x^k)ᵀ W (e^{sx²}x^k)

with r the row sums of W, so that only the change is computed and single precision is safe. With
u = s x² e^{sx²} the form of p and the second term are pᵀWp + 2uᵀWu = 3vᵀWv + ⅔(p-u)ᵀW(p-u) for
v = (2u + p)/3. As |p - u| ≤ ½(sx²)² e^{max(s,0)x²}, the last form is at most a quarter of the bound
on the fourth term (in the root mean square over pairs, by which terms are judged: a form is at most
‖W‖_F times that of its entries): where that is neglected, one product does for both.

*Two values.* Of a column with two values, z = 1 in rows of the rarer one, (a - b)² is the squared
gap g² times z_a + z_b - 2z_a z_b. With e = e^{sg²} - 1 the change is 2e (Σ_a r_a z_a - zᵀWz). Where
g is so wide that W has lost its digits, as of a rare indicator in units of its standard deviation,
the pairs of the few rows with all others are summed with the column and without it.

*Levels.* A unit with few distinct rows, such as the indicators of a category, has a small table
k_u^{±1} - 1 of its levels; its eigenvectors, spread over the rows, are the vectors v.

*Gaps.* A missing cell is the mean embedding of its column (``kernels/neutral.py``): t away from a
value and u away from another missing cell. With the middle of its range in missing cells, only the
pairs with a missing cell are wrong: with n the rows that lack a value and c the kernel's decay,

    2 nᵀWq + (e^{±u/c} - 1) nᵀWn,    q_b = e^{±t_b/c} - e^{±filled_b/c}.

*Laplace.* Of a Laplace kernel, e^{±|a - b|/s} of a single column is the larger or smaller of two
products: a compiled loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from depmax.kernels.distances import Gaussian, Laplace
from depmax.kernels.neutral import GappedRows
from depmax.selection._search.data import KEPT, Change, Outcome, SearchData

# --- W = M∘K: what pairs of rows contribute to HSIC, for a kernel of some columns -----------------

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


# --- vectors whose squares add up to changes ------------------------------------------------------

#: Largest γ max|x|² that the series is used for; beyond, exponentials one by one.
REACH = 1.5
#: Largest γ g² of a column with two values, or between levels: K is so much smaller there.
GAP_REACH = 6.0
#: Part of the rows that has the rarer value, at most, of a column whose values are farther apart.
FEW = 0.2
#: Largest |x|/bandwidth of a centred column whose exponentials are formed.
LAPLACE_REACH = 300.0
#: Levels of a unit at most, and the smallest k_u that a kernel matrix is divided by.
MOST_LEVELS, SMALLEST = 256, np.exp(-50.0)
#: Wanted size of the first neglected terms, relative to the first-order change: root mean squares
#: over all entries.
PRECISION = {"f": 1e-6, "d": 1e-13}
#: Terms after which the series is given up, and from which on the form of p needs its own product.
MAX_TERMS, APART = 60, 4
#: Vectors that are made and multiplied at a time, at most.
MOST_VECTORS = 512


@dataclass(frozen=True)
class Squares:
    """Vectors whose squares vᵀWv, signed, add up to the changes of some units."""

    vectors: np.ndarray  # shape (n_vectors, n_samples)
    signs: np.ndarray
    owners: np.ndarray  # unit that each vector belongs to
    shifts: np.ndarray  # p of some units, shape (n_shifted, n_samples)
    shifted: np.ndarray  # these units

    def changes(self, pairs: PairWeights, n_units: int) -> np.ndarray:
        """Change by each unit that the pairs of one strip contribute."""
        forms = self.signs * pairs.squares(self.vectors)
        sums = np.bincount(self.owners, weights=forms, minlength=n_units)
        sums = sums.astype(np.float64, copy=False)  # without any vector they are integers
        if len(self.shifted):
            sums[self.shifted] += self.shifts @ pairs.ends  # 2 Σ_a r_a p_a
        return sums


@dataclass(frozen=True)
class Series:
    """How many terms of the power series each of some columns needs."""

    data: SearchData
    columns: np.ndarray
    units: np.ndarray  # of these columns
    s: float  # ±γ
    needed: np.ndarray  # terms per column
    remainder: float  # root mean square of the neglected part of exp(s(a-b)²), largest of columns
    gaps: np.ndarray  # between the two values of a column, 0 if it has others

    @classmethod
    def of(cls, data: SearchData, columns: np.ndarray, units: np.ndarray, s: float) -> Series:
        """Terms for columns centred at their midrange."""
        ranges = data.ranges
        gaps = ranges.gap[columns]
        squares = np.where(gaps > 0, 0.0, ranges.half_width[columns] ** 2)
        needed, remainder = _terms_needed(
            2.0 * abs(s) * squares,
            2.0 * max(s, 0.0) * squares,
            data.mean_powers[:, columns],
            np.maximum(2.0 * abs(s) * ranges.variance[columns], np.finfo(np.float64).tiny),
            data.dtype.char,
        )
        needed = np.where(gaps > 0, 1, needed)
        return cls(data, columns, units, s, needed, remainder, gaps)

    @property
    def n_vectors(self) -> np.ndarray:
        """Vectors of every column."""
        return self.needed + (self.needed >= APART)

    def batches(self) -> list[Callable[[], Squares]]:
        """Columns in parts of about equally many vectors, most needed first."""
        order = np.argsort(-self.needed, kind="stable")
        counts = np.cumsum(self.n_vectors[order] + 1)
        threads = int(effective_n_jobs(self.data.n_jobs))
        n_parts = max(min(threads, len(order)), -(-int(counts[-1]) // MOST_VECTORS))
        ends = np.searchsorted(counts, counts[-1] * np.arange(1, n_parts) / n_parts)
        return [partial(self.squares, part) for part in np.split(order, ends) if len(part)]

    def squares(self, places: np.ndarray) -> Squares:
        """Vectors of some columns, those that need most terms first.

        They are e^{sx²} x^k √((2|s|)^k/k!) for the leading columns that still need the k-th term,
        then p itself for the leading columns that need many; for the others the second vector
        carries p along.
        """
        needed = self.needed[places]
        powers = [int(np.sum(needed >= k)) for k in range(1, int(needed.max(initial=0)) + 1)]
        apart = int(np.sum(needed >= APART))
        x = self.data.centred[self.columns[places]]
        number = x.dtype.type
        shifts = np.multiply(x, x)
        shifts *= number(self.s)
        np.expm1(shifts, out=shifts)
        vectors = np.empty((sum(powers) + apart, x.shape[1]), dtype=x.dtype)
        signs = np.ones(len(vectors))
        start, last = 0, shifts + number(1.0)
        for k, width in enumerate(powers, start=1):
            current = vectors[start : start + width]
            np.multiply(x[:width], number(np.sqrt(2.0 * abs(self.s) / k)), out=current)
            current *= last[:width]
            if self.s > 0 and k % 2:
                signs[start : start + width] = -1.0
            start, last = start + width, current
        if len(powers) > 1:
            second = vectors[powers[0] + apart : powers[0] + powers[1]]  # √2|u|, becomes √3 v
            second *= number(np.copysign(np.sqrt(2.0 / 3.0), self.s))
            second += number(np.sqrt(1.0 / 3.0)) * shifts[apart : powers[1]]
        vectors[start:] = shifts[:apart]
        two = np.flatnonzero(self.gaps[places])
        rarer = _rarer(x[two])
        change = np.expm1(self.s * self.gaps[places[two], np.newaxis] ** 2)
        shifts[two], vectors[two] = change * rarer, np.sqrt(2.0 * np.abs(change)) * rarer
        owners = np.concatenate([np.arange(width) for width in (*powers, apart)])
        units = self.units[places]
        return Squares(vectors, signs, units[owners], shifts, units)


def _rarer(columns: np.ndarray) -> np.ndarray:
    """Rows of columns with two values that have the rarer one, as a mask."""
    if not len(columns):
        return np.zeros(columns.shape, dtype=bool)
    upper = columns > 0.5 * (columns.min(axis=1) + columns.max(axis=1))[:, np.newaxis]
    return np.asarray(upper ^ (upper.mean(axis=1) > 0.5)[:, np.newaxis])


def _terms_needed(
    reach: np.ndarray,
    growth: np.ndarray,
    mean_powers: np.ndarray,
    spread: np.ndarray,
    precision: str,
) -> tuple[np.ndarray, float]:
    """Terms for which the first neglected one is small, and a bound on all that is neglected.

    ``reach`` is 2|s| h² for a column in [-h, h]. Over all pairs of rows, the k-th term has the root
    mean square (2|s|)^k/k! mean(e^{2sx²} x^{2k}), at most e^growth reach^k/k! mean((x/h)^{2k}).
    What p has no vector for is at most half of the first neglected term: a quarter of the fourth
    if two or three are needed, and pᵀWp at most half of the second if it is neglected.
    """
    allowed = PRECISION[precision] * spread
    needed = np.zeros(len(reach), dtype=np.int64)
    largest = np.exp(growth)
    tail = np.zeros(len(reach))
    for k in range(1, MAX_TERMS + 1):
        largest = largest * reach / k
        size = largest * mean_powers[min(k, len(mean_powers)) - 1]
        needed[size > allowed] = k
        tail = np.where(size > allowed, 0.0, tail + size)
        if k > 4 and (largest < 1e-6 * allowed).all():  # by then reach/k < 1: the rest is nothing
            break
    return needed, 1.5 * float(tail.max(initial=0.0))


def levels_of(data: SearchData, unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows of a unit, and the one of every row; found once for all rounds."""
    key = unit.tobytes()
    if key not in data.kept:
        values = np.ascontiguousarray(data.X[:, unit], dtype=np.float64)
        whole_rows = values.view(np.dtype((np.void, values.itemsize * values.shape[1])))
        _, first, codes = np.unique(whole_rows, return_index=True, return_inverse=True)
        data.kept[key] = values[first], codes.ravel()
    found: tuple[np.ndarray, np.ndarray] = data.kept[key]
    return found


def level_batches(
    data: SearchData, kernel: Any, change: Change, places: np.ndarray
) -> list[Callable[[], Squares]]:
    """Vectors of units with few levels, some units at a time."""

    def squares(part: np.ndarray) -> Squares:
        vectors, signs = [], []
        for place in part:
            levels, codes = levels_of(data, change.units[place])
            values, axes = np.linalg.eigh(kernel(levels) ** float(-change.sign) - 1.0)
            vectors.append((np.sqrt(np.abs(values)) * axes)[codes].T)
            signs.append(np.sign(values))
        owners = np.repeat(part, [len(each) for each in signs])
        stacked = np.concatenate(vectors).astype(data.dtype, copy=False)
        return Squares(stacked, np.concatenate(signs), owners, np.empty(0), np.empty(0))

    counts = np.cumsum([len(levels_of(data, change.units[place])[0]) for place in places])
    parts = np.split(places, np.flatnonzero(np.diff(counts // MOST_VECTORS)) + 1)
    return [partial(squares, part) for part in parts if len(part)]


def gap_squares(
    data: SearchData, gapped: GappedColumns, change: Change, places: np.ndarray
) -> Squares:
    """What units of one column each lack where its cells are missing: ½(q' + n)² - ½(q' - n)²."""
    kernel, seen = gapped.kernel, gapped.seen
    factor = change.sign / kernel.decay
    cell_of = {int(gapped.columns[first]): cell for cell, first in enumerate(seen.first)}
    places = np.array([p for p in places if int(change.units[p][0]) in cell_of], dtype=np.intp)
    columns = np.array([change.units[place][0] for place in places], dtype=np.intp)
    cells = [cell_of[int(column)] for column in columns]
    absent, apart = seen.absent[:, cells].T, seen.apart[cells, np.newaxis]
    filled = np.abs(data.centred[columns]) ** kernel.norm_
    values = seen.filled[:, seen.first[cells]].T
    means = np.einsum("ji,ji->j", absent, values) / absent.sum(axis=1)  # in missing cells
    away = seen.beyond[:, cells].T + np.abs(values - means[:, np.newaxis]) ** kernel.norm_  # t
    q = (np.exp(factor * away) - np.exp(factor * filled)) * (1.0 - absent)
    q += 0.5 * np.expm1(factor * apart) * absent
    vectors = np.sqrt(0.5) * np.concatenate([q + absent, q - absent])
    signs = np.repeat([1.0, -1.0], len(places))
    return Squares(vectors, signs, np.tile(places, 2), np.empty(0), np.empty(0))


def ratio_sums_of(
    data: SearchData, kernel: Laplace, change: Change, columns: np.ndarray
) -> Callable[[PairWeights], np.ndarray]:
    """Of single columns, Σ W e^{±|a - b|/s} over the pairs of a strip."""
    from depmax.selection._search._ratio_loop import ratio_sums

    values = data.filled[:, columns] - data.ranges.middle[columns]
    grown = np.ascontiguousarray(np.exp(values.T.astype(np.float64) / kernel.decay))
    shrunk = 1.0 / grown

    def sums(pairs: PairWeights) -> np.ndarray:
        def work(rows: slice) -> np.ndarray:
            strip = np.ascontiguousarray(pairs.part(rows, slice(rows.start, data.n_samples)))
            found = np.zeros(len(grown))
            ratio_sums(strip, rows.start, grown, shrunk, change.joins, found)
            return found

        found: np.ndarray = np.sum(data.over(work, pairs.strips), axis=0)
        return found

    return sums


def takes_squares(data: SearchData, kernel: Any, change: Change) -> np.ndarray:
    """Which units are a column with near values, or have few levels that are near each other."""
    takes = change.singles()
    columns = np.array([unit[0] for unit in change.units], dtype=np.intp)[takes]
    if type(kernel) is Gaussian:
        gaps, gamma = data.ranges.gap[columns], 1.0 / kernel.decay
        has_two = (gaps > 0) & (gamma * gaps**2 <= GAP_REACH)
        near = has_two | (gamma * data.ranges.half_width[columns] ** 2 <= REACH)
        near[rare_of(data, kernel, columns)] = True
    elif type(kernel) is Laplace and kernel.norm == 1:
        near = data.ranges.half_width[columns] <= LAPLACE_REACH * kernel.decay
    else:
        near = np.zeros(len(columns), dtype=bool)
    with_gaps = np.concatenate([np.empty(0, dtype=np.intp), *data.cells])

    def has_few_levels(unit: np.ndarray) -> bool:
        if np.isin(unit, with_gaps).any():
            return False
        levels = levels_of(data, unit)[0]
        if len(levels) > MOST_LEVELS:
            return False
        table = kernel(levels)
        least, most = (
            (SMALLEST, np.exp(GAP_REACH)) if change.joins else (np.exp(-GAP_REACH), np.inf)
        )
        return bool(table.min() >= least and table.max() <= most)

    several = [has_few_levels(change.units[place]) for place in np.flatnonzero(~takes).tolist()]
    result = np.empty(len(takes), dtype=bool)
    result[takes], result[~takes] = near, several
    return result


def rare_of(data: SearchData, kernel: Gaussian, columns: np.ndarray) -> np.ndarray:
    """Places of columns with two values far from each other, one of them in few rows."""
    far = np.flatnonzero(data.ranges.gap[columns] ** 2 > GAP_REACH * kernel.decay)
    if not len(far) or len(data.cells):
        return far[:0]
    counts = _rarer(data.centred[columns[far]]).sum(axis=1)
    return far[counts <= FEW * data.n_samples]


def rare_change(data: SearchData, kernel: Gaussian, change: Change, unit: np.ndarray) -> float:
    """Change by a column with two values, from the pairs of rows that it tells apart."""
    rarer = _rarer(data.centred[unit])[0]
    rows, others = np.flatnonzero(rarer), np.flatnonzero(~rarer)

    def values(columns: np.ndarray) -> Any:
        return kernel(data.X[np.ix_(rows, columns)], data.X[np.ix_(others, columns)])

    with_it, without = (np.append(change.base, unit), change.base)
    if not change.joins:
        with_it, without = change.base, change.after(unit)
    moved = (values(without) if len(without) else 1.0) - values(with_it)
    return float(change.sign * np.vdot(data.weights_between(rows, others), moved))


def square_changes(data: SearchData, kernel: Any, change: Change) -> Outcome:
    """Scores of units of a kernel that factors over columns."""
    n_units, single = len(change.units), np.flatnonzero(change.singles())
    columns = np.array([change.units[place][0] for place in single.tolist()], dtype=np.intp)
    rare = single[:0]
    if type(kernel) is Gaussian:
        far = rare_of(data, kernel, columns)
        rare, single, columns = single[far], np.delete(single, far), np.delete(columns, far)
    gapped = GappedColumns.of(data, kernel, change) if len(data.cells) else None
    batches = level_batches(data, kernel, change, np.flatnonzero(~change.singles()))
    changes = np.zeros(n_units)
    changes[rare] = [rare_change(data, kernel, change, change.units[place]) for place in rare]
    n_vectors, error, ratios = float(n_units), 0.0, None
    if len(single) and type(kernel) is Gaussian:
        series = Series.of(data, columns, single, change.sign / kernel.decay)
        batches += series.batches()
        n_vectors, error = n_vectors + float(series.n_vectors.sum()), series.remainder  # as K <= 1
    elif len(single):
        ratios = ratio_sums_of(data, kernel, change, columns)
    if gapped is not None:
        batches.append(partial(gap_squares, data, gapped, change, single))
    total = 0.0
    effort = 0.5 * float(data.n_samples) ** 2 * n_vectors
    for pairs in weighted_pairs(data, kernel, change, gapped):
        total += pairs.total

        def work(make: Callable[[], Squares], pairs: PairWeights = pairs) -> np.ndarray:
            return make().changes(pairs, n_units)

        for part in data.over(work, batches, effort):
            changes += part
        if ratios is not None:
            changes[single] += ratios(pairs) - pairs.total
    return Outcome(total, total + changes, error)


# --- entry by entry, where cells are missing ------------------------------------------------------

#: Largest sum of a unit, over the kernel's decay, by which a kernel matrix is divided.
LOST = 50.0


def gapped_changes(data: SearchData, kernel: Any, change: Change) -> Outcome:
    """Scores of any units with missing cells: one exponential per pair of rows and unit."""
    gapped = GappedColumns.of(data, kernel, change)
    base, units = gapped.rows_of(change.base), [gapped.rows_of(unit) for unit in change.units]

    def work(strip: slice) -> np.ndarray:
        M = data.strip(strip)
        W = M * kernel.of_squares(gapped.sums(base, strip))
        parts = [float(W.sum())]
        for columns, unit in zip(change.units, units, strict=True):
            sums = gapped.sums(unit, strip)
            if not change.joins and sums.max() > LOST * kernel.decay:  # K was lost
                left = gapped.rows_of(change.after(columns))
                parts.append(float(np.vdot(M, kernel.of_squares(gapped.sums(left, strip)))))
            else:
                sums *= change.sign / kernel.decay
                parts.append(float(np.vdot(W, np.exp(sums, out=sums))))
        return np.array(parts)

    return data.added(work)
