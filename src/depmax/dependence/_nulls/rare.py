"""Where few rows carry the dependence: levels, exact counts, and permutations instead of a law.

The law of permutations in ``law`` is close to a mixture of chi-squares where many rows take part.
It does not hold for a rare value on one side against a rare value on the other: the statistic is
then a function of a count that is nearly always 0. Two levels on both sides leave one count,
whose law is hypergeometric; otherwise the rows are permuted, as often as the p-value needs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from scipy import stats

from depmax._warnings import warn_caller
from depmax.data.sample import Sample
from depmax.dependence._nulls.law import SKEWNESS_ROWS, TINY, PermutationLaw, Spread, spread

#: No mixture of chi-squares is more skewed than one of them, √8 = 2.83; a law beyond is not one.
SKEWEST = 3.0
#: Rows that are rare on both sides at once: with fewer expected the law is not believed.
EXPECTED = 5.0
#: The same of rows whose numbers outweigh all others, such as outliers with unbounded kernels.
SHARED = 2.0
#: With fewer rows than this the law is not believed: they have few permutations.
FEWEST_ROWS = 10
#: Rows that tell whether nearly all differ.
SAMPLED = 1000
#: If fewer rows than this differ from the most frequent value of a side, the interval is short.
FEWEST_RARE = 10
#: A p-value is settled when so many permuted values have reached the observed one …
ENOUGH = 30
#: … or after so many permutations; no smaller p-value than 1 over one more is reported.
MOST_PERMUTATIONS = 9_999
#: Permuted values that are compared at a time.
CHUNK = 111


@dataclass(frozen=True)
class Levels:
    """Which rows of one side are equal."""

    codes: np.ndarray  # the level of every row, shape (n_samples,)
    counts: np.ndarray  # rows of each level
    first: np.ndarray  # a row of each level

    @classmethod
    def of(cls, side: Sample) -> Levels | None:
        """Levels of the rows of a side; None where rows cannot be compared or nearly all differ."""
        rows = side.rows
        if side.precomputed or not isinstance(rows, np.ndarray) or rows.dtype.kind not in "biufUS":
            return None
        flat = rows.reshape(len(rows), -1)
        return cls.of_values(flat[:, 0] if flat.shape[1] == 1 else flat)

    @classmethod
    def of_values(cls, values: np.ndarray) -> Levels | None:
        """Levels of numbers or labels, or of rows of them."""
        axis = 0 if values.ndim > 1 else None
        if len(values) > 2 * SAMPLED:  # spare rows that nearly all differ the sorting
            some = values[np.random.default_rng(0).choice(len(values), SAMPLED, replace=False)]
            if len(np.unique(some, axis=axis)) > SKEWNESS_ROWS:
                return None
        _, first, codes, counts = np.unique(
            values, return_index=True, return_inverse=True, return_counts=True, axis=axis
        )
        if len(counts) > SKEWNESS_ROWS and counts.max() <= len(values) // 2:
            return None
        return cls(codes.ravel(), counts, first)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def n_rare(self) -> int:
        """Rows that do not have the most frequent value."""
        return self.n_samples - int(self.counts.max())


class Counted(Protocol):
    """One side whose rows have been counted by their values."""

    @property
    def n_samples(self) -> int:
        """Number of rows."""

    @property
    def n_rare(self) -> int:
        """Rows that do not have the most frequent value."""


def spread_of(side: Sample, levels: Levels | None, squares: float | None = None) -> Spread:
    """Spread of one side, from its levels where these are fewer than the rows it would take."""
    return spread(side, squares, None if levels is None else (levels.first, levels.counts))


def is_out_of_range(
    law: PermutationLaw, x: Counted | None, y: Counted | None, n_samples: int
) -> bool:
    """Whether the rows must be permuted, since the law is not close to that of permutations."""
    if law.scale == 0.0:
        return False
    if law.skewness > SKEWEST or n_samples < FEWEST_ROWS or law.n_shared < SHARED:
        return True
    if x is None or y is None:
        return False
    m = n_samples
    return max(x.n_rare, y.n_rare) <= m / 2 and x.n_rare * y.n_rare < EXPECTED * m


def counted_pvalue(x: Levels | None, y: Levels | None) -> float | None:
    """Exact p-value where both sides have two levels, None where they do not.

    For any kernel HSIC₁ is then a·(P - SU/(m-2))² + b with a > 0 over all permutations, where the
    levels are written as ±1, S and U are their sums and P is the sum of their products.
    """
    if x is None or y is None or len(x.counts) != 2 or len(y.counts) != 2:
        return None
    n_both = int(np.sum((x.codes == 1) & (y.codes == 1)))
    return pvalue_of_counts(len(x.codes), int(x.counts[1]), int(y.counts[1]), n_both)


@lru_cache(maxsize=10_000)
def pvalue_of_counts(m: int, k: int, l: int, n_both: int) -> float:  # noqa: E741  (l ones of y)
    """Exact p-value of two levels on both sides: k and l ones among m rows, some together."""
    counts = np.arange(max(0, k + l - m), min(k, l) + 1)

    def distance(count: np.ndarray | int) -> np.ndarray:
        return np.abs((m - 2) * (m - 2 * k - 2 * l + 4 * count) - (m - 2 * k) * (m - 2 * l))

    reaching = counts[distance(counts) >= distance(n_both)]
    return float(np.clip(stats.hypergeom.pmf(reaching, m, k, l).sum(), TINY, 1.0))


def sequential_pvalue(
    observed: float, chunks: Iterable[np.ndarray], slack: float, most: int = MOST_PERMUTATIONS
) -> float:
    """P-value from as many permuted values as it needs (Besag and Clifford, 1991).

    With the ``ENOUGH``-th value that reaches the observed one it is ``ENOUGH`` over their number;
    if ``most`` bring fewer, (1 + reached)/(1 + permutations). Values within ``slack`` of the
    observed one are ties, which count.
    """
    reached, done = 0, 0
    for values in chunks:
        hits = np.flatnonzero(values[: most - done] >= observed - slack)
        if reached + len(hits) >= ENOUGH:
            return ENOUGH / (done + int(hits[ENOUGH - reached - 1]) + 1)
        reached += len(hits)
        done = min(done + len(values), most)
        if done == most:
            break
    return (1 + reached) / (1 + done)


def is_varied(side: Sample, name: str) -> bool:
    """Whether enough rows differ from the most frequent value; warns if they do not."""
    levels = Levels.of(side)
    if levels is None:
        return True
    counts = np.bincount(levels.codes, weights=side.weight)
    weights = getattr(side.kernel, "weights", None)
    if isinstance(weights, dict) and len(set(weights.values())) > 1:  # which undo frequencies
        found, enough, what = counts.min(), 2.0, "have the rarest class"
    else:
        found, enough = counts.sum() - counts.max(), min(FEWEST_RARE, counts.sum() / 4)
        what = "differ from the most frequent value"
    if found >= enough:
        return True
    warn_caller(
        f"Rows of {name} that {what}: {found:.0f}. With so few, the interval is often too short, "
        "and the truth above it. depmax.hsic_test is valid here.",
        UserWarning,
    )
    return False
