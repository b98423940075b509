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
from depmax.selection.changes.problem import Change, Outcome, Problem

#: Largest γ max|x|² that the series is used for; beyond, exponentials one by one.
REACH = 1.5
#: Wanted size of the first neglected terms, relative to the first-order change of an entry.
PRECISION = {"f": 1e-6, "d": 1e-13}
#: Terms after which the series is given up.
MAX_TERMS = 60


def gaussian_changes(problem: Problem, kernel: object, change: Change) -> Outcome:
    """Scores of every unit for a resolved Gaussian kernel."""
    gamma = 0.5 / kernel.bandwidth**2  # type: ignore[attr-defined]
    if not change.is_single:
        return explicit_scores(problem, kernel, change)
    columns = np.concatenate(change.units)
    candidates = problem.columns(columns)
    middle = 0.5 * (candidates.max(axis=0) + candidates.min(axis=0))
    candidates -= middle
    largest = np.abs(candidates).max(axis=0).astype(np.float64)
    serial = gamma * largest**2 <= REACH
    if not serial.any():
        return explicit_scores(problem, kernel, change)
    powers = Powers.of(candidates[:, serial], gamma * change.sign, largest[serial])
    value, changes, weight = _strip_sums(problem, gamma, change, powers)
    scores = np.empty(len(columns))
    scores[serial] = value + changes
    error = weight * powers.remainder
    if not serial.all():
        rest = [unit for unit, easy in zip(change.units, serial, strict=True) if not easy]
        tails = explicit_scores(problem, kernel, Change(change.base, rest, change.joins))
        scores[~serial] = tails.scores
    return Outcome(value, scores, error)


@dataclass(frozen=True)
class Powers:
    """Scaled powers of columns, those that need most terms first."""

    order: np.ndarray  # columns sorted by the number of terms they need
    shifts: np.ndarray  # p = e^{sx²} - 1, shape (n_samples, n_columns)
    terms: list[np.ndarray]  # e^{sx²} x^k √((2|s|)^k/k!), the columns that need k terms
    signs: list[float]
    remainder: float  # largest neglected part of exp(s(a-b)²), over all columns and rows

    @classmethod
    def of(cls, columns: np.ndarray, s: float, largest: np.ndarray) -> Powers:
        """Powers of columns centred at their midrange, with ``largest`` their largest |x|."""
        spread = np.maximum(2.0 * abs(s) * columns.var(axis=0), np.finfo(np.float64).tiny)
        needed, remainder = _terms_needed(
            2.0 * abs(s) * largest**2, 2.0 * max(s, 0.0) * largest**2, spread, columns.dtype.char
        )
        order = np.argsort(-needed, kind="stable")
        columns = columns[:, order]
        squares = columns * columns
        squares *= s
        shifts = np.expm1(squares)
        current = shifts + columns.dtype.type(1.0)
        terms, signs = [], []
        for k in range(1, int(needed.max(initial=0)) + 1):
            width = int(np.sum(needed >= k))
            scale = columns.dtype.type(np.sqrt(2.0 * abs(s) / k))
            current = current[:, :width] * columns[:, :width]
            current *= scale
            terms.append(current)
            signs.append(-1.0 if s > 0 and k % 2 else 1.0)
        return cls(order, shifts, terms, signs, remainder)


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
    return needed, float(tail.max(initial=0.0))


def _strip_sums(
    problem: Problem, gamma: float, change: Change, powers: Powers
) -> tuple[float, np.ndarray, float]:
    """Σ W, the change by each column, and Σ |W|, from strips of W = M∘K."""
    base = problem.columns(change.base)
    base -= base.mean(axis=0)
    norms = np.einsum("ij,ij->i", base, base)
    scaled = base * base.dtype.type(2.0 * gamma)
    n_columns = powers.shifts.shape[1]

    def work(rows: slice) -> tuple[float, float, np.ndarray]:
        later = slice(rows.start, None)
        exponents = scaled[rows] @ base[later].T
        exponents -= (gamma * norms[rows])[:, np.newaxis]
        exponents -= (gamma * norms[later])[np.newaxis, :]
        np.minimum(exponents, 0.0, out=exponents)
        np.exp(exponents, out=exponents)
        strip = problem.weights.strip(rows)
        strip *= exponents
        total, weight = float(strip.sum()), float(np.abs(strip).sum())
        single = strip.astype(problem.dtype, copy=False)
        # pairs are counted once, so both ends take their share of 2 Σ r_a p_a
        sums = strip.sum(axis=1) @ powers.shifts[rows] + strip.sum(axis=0) @ powers.shifts[later]
        sums = sums.astype(np.float64) + _bilinear(single, powers.shifts, rows)
        for sign, term in zip(powers.signs, powers.terms, strict=True):
            sums[: term.shape[1]] += sign * _bilinear(single, term, rows)
        return total, weight, sums

    total, weight, changes = 0.0, 0.0, np.zeros(n_columns)
    for part_total, part_weight, part in problem.over(work, problem.weights.strips()):
        total += part_total
        weight += part_weight
        changes += part
    unsorted = np.empty(n_columns)
    unsorted[powers.order] = changes
    return total, unsorted, weight


def _bilinear(strip: np.ndarray, columns: np.ndarray, rows: slice) -> np.ndarray:
    """Σ_ab W_ab v_a v_b over a strip, for every column v."""
    products = strip @ columns[rows.start :]
    return np.einsum("ij,ij->j", products, columns[rows]).astype(np.float64)
