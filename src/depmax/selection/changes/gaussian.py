"""Changes of a Gaussian kernel: every score by a few matrix products.

The kernel without column j is K∘exp(γ(a - b)²), with one more column K∘exp(-γ(a - b)²). With
s = ±γ, exp(s(a-b)²) = e^{sa²} e^{sb²} e^{-2sab}; the last factor's power series turns the scores of
*all* columns into products of W = M∘K with the columns' powers. Writing p = e^{sx²} - 1,

    Σ W (exp(s(a-b)²) - 1) = 2 Σ_a r_a p_a + pᵀWp + Σ_{k≥1} (-2s)^k/k! (e^{sx²}x^k)ᵀ W (e^{sx²}x^k)

with r the row sums of W, so that only the change is computed and single precision is safe.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from depmax.selection.changes.explicit import explicit_scores
from depmax.selection.changes.inner_products import InnerProducts
from depmax.selection.changes.pair_weights import PairWeights, pair_weights
from depmax.selection.changes.problem import Change, Outcome, Problem

#: Largest γ max|x|² that the series is used for; beyond, exponentials one by one.
REACH = 1.5
#: Wanted size of the first neglected terms, relative to the first-order change of an entry.
PRECISION = {"f": 1e-6, "d": 1e-13}
#: Terms after which the series is given up.
MAX_TERMS = 60
#: Factors of terms that are made and multiplied at a time, at most.
MOST_FACTORS = 512


def gaussian_changes(problem: Problem, kernel: object, change: Change) -> Outcome:
    """Scores of every unit for a resolved Gaussian kernel."""
    gamma = 0.5 / kernel.bandwidth**2  # type: ignore[attr-defined]
    if not change.is_single:
        return explicit_scores(problem, kernel, change)
    columns = np.concatenate(change.units)
    serial = gamma * problem.ranges.half_width[columns] ** 2 <= REACH
    if not serial.any():
        return explicit_scores(problem, kernel, change)
    series = Series.of(problem, columns[serial], gamma * change.sign)
    value, changes = _sums(problem, gamma, change, series)
    scores = np.empty(len(columns))
    scores[serial] = value + changes
    if not serial.all():
        rest = [unit for unit, easy in zip(change.units, serial, strict=True) if not easy]
        tails = explicit_scores(problem, kernel, Change(change.base, rest, change.joins))
        scores[~serial] = tails.scores
    return Outcome(value, scores, problem.weights.absolute * series.remainder)  # as K <= 1


@dataclass(frozen=True)
class Series:
    """How many terms of the power series each column needs."""

    columns: np.ndarray
    s: float  # ±γ
    needed: np.ndarray  # terms per column
    remainder: float  # largest neglected part of exp(s(a-b)²), over all columns and rows

    @classmethod
    def of(cls, problem: Problem, columns: np.ndarray, s: float) -> Series:
        """Terms for columns centred at their midrange."""
        ranges = problem.ranges
        squares = ranges.half_width[columns] ** 2
        needed, remainder = _terms_needed(
            2.0 * abs(s) * squares,
            2.0 * max(s, 0.0) * squares,
            np.maximum(2.0 * abs(s) * ranges.variance[columns], np.finfo(np.float64).tiny),
            problem.dtype.char,
        )
        return cls(columns, s, needed, remainder)

    def factors(self, problem: Problem, places: np.ndarray) -> Factors:
        """Factors v of the terms ± vᵀWv of some columns, those that need most terms first.

        The first is p = e^{sx²} - 1; then e^{sx²} x^k √((2|s|)^k/k!) for the leading columns that
        still need the k-th term.
        """
        needed = self.needed[places]
        widths = [len(places)]
        widths += [int(np.sum(needed >= k)) for k in range(1, int(needed.max(initial=0)) + 1)]
        x = problem.centred[self.columns[places]]
        rows = np.empty((sum(widths), x.shape[1]), dtype=x.dtype)
        first, current = rows[: widths[0]], x
        np.multiply(x, x, out=first)
        first *= x.dtype.type(self.s)
        np.expm1(first, out=first)
        signs = np.ones(len(rows))
        start, last = widths[0], first + x.dtype.type(1.0)
        for k, width in enumerate(widths[1:], start=1):
            current = rows[start : start + width]
            np.multiply(x[:width], x.dtype.type(np.sqrt(2.0 * abs(self.s) / k)), out=current)
            current *= last[:width]
            if self.s > 0 and k % 2:
                signs[start : start + width] = -1.0
            start, last = start + width, current
        return Factors(rows, signs, np.concatenate([np.arange(width) for width in widths]))

    def chunks(self, n_threads: int) -> list[np.ndarray]:
        """Columns in parts of about equally many factors, most needed first."""
        order = np.argsort(-self.needed, kind="stable")
        factors = np.cumsum(self.needed[order] + 1)
        count = max(min(n_threads, len(order)), -(-int(factors[-1]) // MOST_FACTORS))
        ends = np.searchsorted(factors, factors[-1] * np.arange(1, count) / count)
        return [part for part in np.split(order, ends) if len(part)]


@dataclass(frozen=True)
class Factors:
    """Vectors whose quadratic forms with W, signed, add up to the changes of some columns."""

    rows: np.ndarray  # shape (n_factors, n_samples)
    signs: np.ndarray
    owners: np.ndarray  # place of the column that each factor belongs to

    def changes(self, pairs: PairWeights, n_columns: int) -> np.ndarray:
        """Change by each column that the pairs of one strip contribute."""
        forms = self.signs * pairs.bilinear(self.rows)
        sums = np.bincount(self.owners, weights=forms, minlength=n_columns)
        return sums + self.rows[:n_columns] @ pairs.ends  # 2 Σ_a r_a p_a


def _terms_needed(
    reach: np.ndarray, growth: np.ndarray, spread: np.ndarray, precision: str
) -> tuple[np.ndarray, float]:
    """Terms for which the first neglected one is small, and a bound on all neglected ones.

    ``reach`` is 2|s| max|x|², so that the k-th term is at most e^growth reach^k/k!.
    """
    allowed = PRECISION[precision] * spread
    needed = np.zeros(len(reach), dtype=np.int64)
    size = np.exp(growth)
    tail = np.zeros(len(reach))
    for k in range(1, MAX_TERMS + 1):
        size = size * reach / k
        needed[size > allowed] = k
        tail = np.where(size > allowed, 0.0, tail + size)
        if k > 4 and (size < 1e-6 * allowed).all():  # by then reach/k < 1, and the rest is nothing
            break
    return needed, float(tail.max(initial=0.0))


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
    for pairs in pair_weights(problem, fill, pairs_of_rows * len(products.changed)):
        total += pairs.total

        def work(chunk: np.ndarray, pairs: PairWeights = pairs) -> np.ndarray:
            return series.factors(problem, chunk).changes(pairs, len(chunk))

        effort = pairs_of_rows * float(np.sum(series.needed + 1))
        for chunk, part in zip(chunks, problem.over(work, chunks, effort), strict=True):
            changes[chunk] += part
    return total, changes
