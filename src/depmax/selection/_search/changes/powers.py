"""Changes of Gaussian and polynomial kernels: every score by products with powers of columns.

A Gaussian kernel without column j is K∘exp(γ(a - b)²), with one more column K∘exp(-γ(a - b)²).
With s = ±γ, exp(s(a-b)²) = e^{sa²} e^{sb²} e^{-2sab}; the last factor's power series turns the
scores of *all* columns into products of W = M∘K with the columns' powers. Writing p = e^{sx²} - 1,

    Σ W (exp(s(a-b)²) - 1) = 2 Σ_a r_a p_a + pᵀWp + Σ_{k≥1} (-2s)^k/k! (e^{sx²}x^k)ᵀ W (e^{sx²}x^k)

with r the row sums of W, so that only the change is computed and single precision is safe. With
u = s x² e^{sx²} the form of p and the second term are pᵀWp + 2uᵀWu = 3vᵀWv + ⅔(p-u)ᵀW(p-u) for
v = (2u + p)/3. As |p - u| ≤ ½(sx²)² e^{max(s,0)x²}, the last form is at most a quarter of the bound
on the fourth term (in the root mean square over pairs, by which terms are judged: a form is at most
‖W‖_F times that of its entries): where that is neglected, one product does for both.

Of a column with two values, z = 1 in rows of the rarer one, (a - b)² is the squared gap g² times
z_a + z_b - 2z_a z_b. With e = e^{sg²} - 1 the change is 2e (Σ_a r_a z_a - zᵀWz), exactly.

A polynomial kernel is exact with one product per degree: (G + c ∓ ab)^b is Σ_k C(b, k) (∓ab)^k
(G + c)^{b-k}, so that a score is Σ_k C(b, k) (∓1)^k (x^k)ᵀ W_k x^k with W_k = M∘(G + c)^{b-k}.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import comb

import numpy as np

from depmax.kernels.distances import Gaussian
from depmax.kernels.inner_products import Polynomial
from depmax.selection._search.changes.problem import (
    KEPT,
    Change,
    FastForm,
    Outcome,
    Problem,
    is_exactly,
    takes_single_columns,
)

#: From so many columns on, taking some away is cheaper than starting anew.
FEWEST_COLUMNS = 128


@dataclass
class InnerProducts:
    """G_ab = Σ_j x_aj x_bj of pairs of rows, over columns of which some leave in every round.

    Rounding errors of columns that have left stay, so the sums start anew whenever half of the
    columns of the last start have left.
    """

    problem: Problem
    columns: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    n_at_start: int = 0
    strips: dict[int, np.ndarray] = field(default_factory=dict)  # by first row
    norms: np.ndarray = field(default_factory=lambda: np.empty(0))  # G_aa, in double precision
    changed: np.ndarray = field(default_factory=lambda: np.empty(0))  # columns to add or take away

    @classmethod
    def of(cls, problem: Problem, columns: np.ndarray) -> InnerProducts:
        """Those that a problem carries, for a round with these columns."""
        kept: InnerProducts = problem.__dict__.setdefault("_inner_products", cls(problem))
        kept._begin(columns)
        return kept

    def _begin(self, columns: np.ndarray) -> None:
        left = np.setdiff1d(self.columns, columns, assume_unique=True)
        is_subset = len(self.columns) - len(left) == len(columns)
        goes_on = bool(self.strips) and is_subset and 2 * len(columns) > self.n_at_start
        if not goes_on:
            self.strips, self.n_at_start = {}, len(columns)
        self.columns = columns
        self.changed = self.problem.centred[left if goes_on else columns]
        norms = np.einsum("ji,ji->i", self.changed, self.changed, dtype=np.float64)
        self.norms = self.norms - norms if goes_on else norms

    def fill(self, rows: slice, later: slice, out: np.ndarray) -> None:
        """Write the products of a strip of rows with itself and all later rows; once a round."""
        np.matmul(self.changed[:, rows].T, self.changed[:, later], out=out)
        strip = self.strips.get(rows.start)
        if strip is not None:
            np.subtract(strip, out, out=strip)
            out[...] = strip
        elif self.problem.weights.n_samples**2 <= KEPT and len(self.columns) >= FEWEST_COLUMNS:
            self.strips[rows.start] = out.copy()


#: Entries of W held at a time, and rows of a strip at least: memory is linear in the rows.
ENTRIES, FEWEST_ROWS = 2**24, 512

#: Writes K of some rows against others into an array.
FillKernel = Callable[[slice, slice, np.ndarray], None]


@dataclass(frozen=True)
class PairWeights:
    """W of some rows against themselves and all later rows."""

    values: np.ndarray  # shape (rows, later rows); what lies left of ``blocks`` is not set
    start: int  # first row
    blocks: Sequence[tuple[slice, slice]]  # rows and columns of W that cover its pairs
    ends: np.ndarray  # sum of the pairs that a row is an end of, shape (n_samples,)
    total: float  # Σ W

    def bilinear(self, columns: np.ndarray) -> np.ndarray:
        """Σ_ab W_ab v_a v_b for every row v of ``columns``."""
        sums = np.zeros(len(columns))
        widest = max(rows.stop - rows.start for rows, _ in self.blocks)
        space = np.empty((len(columns), widest), dtype=columns.dtype)  # one for all products
        for rows, later in self.blocks:
            block = self.values[_moved(rows, self.start), _moved(later, self.start)]
            products = space[:, : len(block)]
            np.matmul(columns[:, later], block.T, out=products)
            sums += np.einsum("ji,ji->j", columns[:, rows], products)
        return sums


def pair_weights(
    problem: Problem, fill_kernel: FillKernel, effort: float = np.inf
) -> Iterator[PairWeights]:
    """W strip by strip, each in the place of the one before; ``effort`` is that of all of K."""
    thin = problem.weights.strips()
    m = problem.weights.n_samples
    height = max(FEWEST_ROWS, ENTRIES // max(m, 1))
    at_a_time = max(1, height // (thin[0].stop - thin[0].start))
    for first in range(0, len(thin), at_a_time):
        yield _strip(problem, fill_kernel, thin[first : first + at_a_time], effort)


def _strip(
    problem: Problem, fill_kernel: FillKernel, thin: Sequence[slice], effort: float
) -> PairWeights:
    m, start, stop = problem.weights.n_samples, thin[0].start, thin[-1].stop
    values = problem.space(stop - start, m - start)

    def fill(rows: slice) -> tuple[float, np.ndarray]:
        later = slice(rows.start, m)
        part = values[_moved(rows, start), _moved(later, start)]
        fill_kernel(rows, later, part)
        weights = problem.strip(rows)
        total = float(np.vdot(weights, part.astype(np.float64, copy=False)))
        np.multiply(part, weights, out=part, casting="same_kind")
        ends = np.zeros(m)
        ends[later] = part.sum(axis=0)
        ends[rows] += part.sum(axis=1)
        return total, ends

    parts = problem.over(fill, thin, effort)
    ends = np.sum([part for _, part in parts], axis=0).astype(problem.dtype)
    blocks = list(_triangle(thin))
    if stop < m:
        blocks.append((slice(start, stop), slice(stop, m)))
    return PairWeights(values, start, blocks, ends, sum(total for total, _ in parts))


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


def _moved(rows: slice, start: int) -> slice:
    return slice(rows.start - start, rows.stop - start)


#: Largest γ max|x|² that the series is used for; beyond, exponentials one by one.
REACH = 1.5
#: Largest γ g² of a column with two values: of pairs that differ, K is so much smaller.
GAP_REACH = 6.0
#: Wanted size of the first neglected terms, relative to the first-order change: root mean squares
#: over all entries.
PRECISION = {"f": 1e-6, "d": 1e-13}
#: Terms after which the series is given up.
MAX_TERMS = 60
#: Terms from which on the form of p needs a product of its own.
APART = 4
#: Multiplications that take as long as an entry of W does: its exponential, weight and sums.
EXPONENTIAL = 200
#: Factors of terms that are made and multiplied at a time, at most.
MOST_FACTORS = 512


def takes_short_series(problem: Problem, kernel: Gaussian, change: Change) -> np.ndarray:
    """Which units are one column with a short series, or with two values."""
    takes = takes_single_columns(problem, kernel, change)
    columns = [int(unit[0]) for unit in change.of(np.flatnonzero(takes)).units]
    gamma, ranges = _gamma(kernel), problem.ranges
    gaps = ranges.gap[columns]
    has_two = (gaps > 0) & (gamma * gaps**2 <= GAP_REACH)
    takes[takes] = has_two | (gamma * ranges.half_width[columns] ** 2 <= REACH)
    return takes


def gaussian_changes(problem: Problem, kernel: Gaussian, change: Change) -> Outcome:
    """Scores of single columns for a resolved Gaussian kernel."""
    gamma = _gamma(kernel)
    series = Series.of(problem, np.concatenate(change.units), gamma * change.sign)
    value, changes = _sums(problem, gamma, change, series)
    return Outcome(value, value + changes, series.remainder)  # as K <= 1


def _gamma(kernel: Gaussian) -> float:
    return 0.5 / kernel._width() ** 2


GAUSSIAN = FastForm(is_exactly(Gaussian), gaussian_changes, takes_short_series)


@dataclass(frozen=True)
class Series:
    """How many terms of the power series each column needs."""

    columns: np.ndarray
    s: float  # ±γ
    needed: np.ndarray  # terms per column
    remainder: float  # root mean square of the neglected part of exp(s(a-b)²), largest of columns
    gaps: np.ndarray  # between the two values of a column, 0 if it has others

    @classmethod
    def of(cls, problem: Problem, columns: np.ndarray, s: float) -> Series:
        """Terms for columns centred at their midrange."""
        ranges = problem.ranges
        gaps = ranges.gap[columns]
        squares = np.where(gaps > 0, 0.0, ranges.half_width[columns] ** 2)
        needed, remainder = _terms_needed(
            2.0 * abs(s) * squares,
            2.0 * max(s, 0.0) * squares,
            problem.mean_powers[:, columns],
            np.maximum(2.0 * abs(s) * ranges.variance[columns], np.finfo(np.float64).tiny),
            problem.dtype.char,
        )
        return cls(columns, s, np.where(gaps > 0, 1, needed), remainder, gaps)

    def factors(self, problem: Problem, places: np.ndarray) -> Factors:
        """Factors v of the terms ± vᵀWv of some columns, those that need most terms first.

        They are e^{sx²} x^k √((2|s|)^k/k!) for the leading columns that still need the k-th term,
        then p itself for the leading columns that need many; for the others the second factor
        carries p along.
        """
        needed = self.needed[places]
        powers = [int(np.sum(needed >= k)) for k in range(1, int(needed.max(initial=0)) + 1)]
        apart = int(np.sum(needed >= APART))
        x = problem.centred[self.columns[places]]
        number = x.dtype.type
        shifts = np.multiply(x, x)
        shifts *= number(self.s)
        np.expm1(shifts, out=shifts)
        rows = np.empty((sum(powers) + apart, x.shape[1]), dtype=x.dtype)
        signs = np.ones(len(rows))
        start, last = 0, shifts + number(1.0)
        for k, width in enumerate(powers, start=1):
            current = rows[start : start + width]
            np.multiply(x[:width], number(np.sqrt(2.0 * abs(self.s) / k)), out=current)
            current *= last[:width]
            if self.s > 0 and k % 2:
                signs[start : start + width] = -1.0
            start, last = start + width, current
        if len(powers) > 1:
            second = rows[powers[0] + apart : powers[0] + powers[1]]  # √2|u|, becomes √3 v
            second *= number(np.copysign(np.sqrt(2.0 / 3.0), self.s))
            second += number(np.sqrt(1.0 / 3.0)) * shifts[apart : powers[1]]
        rows[start:] = shifts[:apart]
        two = np.flatnonzero(self.gaps[places])
        rarer = _rarer(x[two])
        change = np.expm1(self.s * self.gaps[places[two], np.newaxis] ** 2)
        shifts[two], rows[two] = change * rarer, np.sqrt(2.0 * np.abs(change)) * rarer
        owners = np.concatenate([np.arange(width) for width in (*powers, apart)])
        return Factors(rows, signs, owners, shifts)

    @property
    def n_factors(self) -> np.ndarray:
        """Factors of every column."""
        return self.needed + (self.needed >= APART)

    def chunks(self, n_threads: int) -> list[np.ndarray]:
        """Columns in parts of about equally many factors, most needed first."""
        order = np.argsort(-self.needed, kind="stable")
        factors = np.cumsum(self.n_factors[order] + 1)
        count = max(min(n_threads, len(order)), -(-int(factors[-1]) // MOST_FACTORS))
        ends = np.searchsorted(factors, factors[-1] * np.arange(1, count) / count)
        return [part for part in np.split(order, ends) if len(part)]


def _rarer(columns: np.ndarray) -> np.ndarray:
    """Rows of columns with two values that have the rarer one, as a mask."""
    if not len(columns):
        return np.zeros(columns.shape, dtype=bool)
    upper = columns > 0.5 * (columns.min(axis=1) + columns.max(axis=1))[:, np.newaxis]
    return np.asarray(upper ^ (upper.mean(axis=1) > 0.5)[:, np.newaxis])


@dataclass(frozen=True)
class Factors:
    """Vectors whose quadratic forms with W, signed, add up to the changes of some columns."""

    rows: np.ndarray  # shape (n_factors, n_samples)
    signs: np.ndarray
    owners: np.ndarray  # place of the column that each factor belongs to
    shifts: np.ndarray  # p of each column, shape (n_columns, n_samples)

    def changes(self, pairs: PairWeights, n_columns: int) -> np.ndarray:
        """Change by each column that the pairs of one strip contribute."""
        forms = self.signs * pairs.bilinear(self.rows)
        sums = np.bincount(self.owners, weights=forms, minlength=n_columns)
        return sums + self.shifts @ pairs.ends  # 2 Σ_a r_a p_a


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
    What p has no factor for is at most half of the first neglected term: a quarter of the fourth
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


def _sums(
    problem: Problem, gamma: float, change: Change, series: Series
) -> tuple[float, np.ndarray]:
    """Σ W and the change by each column; W is made strip by strip."""
    products = InnerProducts.of(problem, change.base)
    norms = (gamma * products.norms).astype(problem.dtype)

    def fill(rows: slice, columns: slice, out: np.ndarray) -> None:
        products.fill(rows, columns, out)
        out *= problem.dtype.type(2.0 * gamma)
        out -= norms[rows, np.newaxis]
        out -= norms[np.newaxis, columns]
        np.minimum(out, 0.0, out=out)
        np.exp(out, out=out)

    chunks = series.chunks(problem.n_threads)
    changes = np.zeros(len(series.columns))
    total = 0.0
    pairs_of_rows = 0.5 * float(problem.weights.n_samples) ** 2
    for pairs in pair_weights(problem, fill, pairs_of_rows * (len(products.changed) + EXPONENTIAL)):
        total += pairs.total

        def work(chunk: np.ndarray, pairs: PairWeights = pairs) -> np.ndarray:
            return series.factors(problem, chunk).changes(pairs, len(chunk))

        effort = pairs_of_rows * float(np.sum(series.n_factors))
        for chunk, part in zip(chunks, problem.over(work, chunks, effort), strict=True):
            changes[chunk] += part
    return total, changes


def polynomial_changes(problem: Problem, kernel: Polynomial, change: Change) -> Outcome:
    """Scores of single columns for a polynomial kernel."""
    degree, offset = int(kernel.degree), float(kernel.offset)
    base = np.asarray(problem.X[:, change.base], dtype=np.float64)
    columns = np.asarray(problem.X[:, np.concatenate(change.units)], dtype=np.float64)
    powers = [columns**k for k in range(1, degree + 1)]

    def work(rows: slice) -> tuple[float, np.ndarray]:
        weights = problem.weights.strip(rows)
        products = base[rows] @ base[rows.start :].T + offset
        value = float(np.vdot(weights, products**degree))
        scores = np.full(columns.shape[1], value)
        for k, power in enumerate(powers, start=1):
            strip = weights * products ** (degree - k)
            bilinear = np.einsum("ij,ij->j", strip @ power[rows.start :], power[rows])
            scores += comb(degree, k) * (-change.sign) ** k * bilinear
        return value, scores

    parts = problem.over(work, problem.weights.strips())
    return Outcome(sum(value for value, _ in parts), np.sum([part for _, part in parts], axis=0))


POLYNOMIAL = FastForm(is_exactly(Polynomial), polynomial_changes, takes_single_columns)
