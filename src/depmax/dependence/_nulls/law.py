"""The law of unbiased HSIC under random permutations: three exact moments, one analytic tail.

Write Ã for the U-centred kernel matrix: zero diagonal, zero row sums. Then
m(m-3)·HSIC₁ = Σ Ã_ij B̃_ij, and over all permutations of the rows of B̃ its mean is zero, its
variance 2 ΣÃ² ΣB̃² / (m(m-3)), and its third moment a bilinear form in (ΣÃ³, tr Ã³) and
(ΣB̃³, tr B̃³). The derivation is in docs/mathematics. For many samples the law is that of
Σ α_k β_l (z_kl² - 1)/m with α, β the eigenvalues of Ã, B̃, whose largest products rule the far tail.

The law is close to a mixture of chi-squares where many rows take part. It does not hold for a rare
value on one side against a rare value on the other: the statistic is then a function of a count
that is nearly always 0. Two levels on both sides leave one count, whose law is hypergeometric;
otherwise the rows are permuted, as often as the p-value needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import optimize, special, stats

from depmax._warnings import warn_caller
from depmax.data.sample import Sample, require_finite_values


def mixture_sf(value: float, weights: np.ndarray, variance: float, third: float) -> float:
    """Probability that Σ_l w_l (z_l² - 1) + R reaches a positive value, z standard normal.

    The largest weights w rule the far tail; R, a centred gamma (or normal) variable with this
    variance and third cumulant, carries the rest. By the saddlepoint formula of Lugannani and Rice
    (1980), whose relative errors are a few per cent however small the tail.
    """
    # w(z² - 1) is a centred gamma variable with variance 2w² and scale 2w; scale 0 is a normal one
    variances, scales = 2.0 * weights**2, 2.0 * weights
    if variance > 0.0:
        variances = np.append(variances, variance)
        scales = np.append(scales, 0.5 * max(third, 0.0) / variance)
    # K' is convex: K'(s) ≥ K''(0)s bounds s, also where weights are so small that the limit,
    # 1 over the largest scale, is out of all proportion
    end = (1.0 + 1e-9) * value / float(variances.sum())
    if scales.max(initial=0.0) * end >= 1.0:
        end = (1.0 - 1e-12) / float(scales.max())

    def excess(s: float) -> float:
        return float(np.sum(variances * s / (1.0 - scales * s))) - value  # K'(s) - value

    if excess(end) <= 0.0:  # beyond the reach of the formula: Chernoff's bound at the end
        return float(np.exp(min(_cumulant(variances, scales, end) - end * value, 0.0)))
    s = optimize.brentq(excess, 0.0, end, xtol=1e-14 * end)
    r = np.sqrt(max(2.0 * (s * value - _cumulant(variances, scales, s)), 0.0))
    q = s * np.sqrt(np.sum(variances / (1.0 - scales * s) ** 2))
    tail = special.ndtr(-r) + np.exp(-0.5 * r**2) / np.sqrt(2.0 * np.pi) * (1.0 / q - 1.0 / r)
    if tail <= 0.0:  # digits cancelled: Barndorff-Nielsen's form of the same cannot be negative
        tail = special.ndtr(-(r + np.log(q / r) / r))
    return float(min(tail, 1.0))


def _cumulant(variances: np.ndarray, scales: np.ndarray, s: float) -> float:
    """Logarithm of the moment generating function of a sum of centred gamma variables.

    Each adds v s² g(cs) with g(t) = (-log(1 - t) - t)/t², which is ½ + t/3 + … for small t.
    """
    t = scales * s
    small = t < 1e-5
    ratio = np.where(small, 1.0, t)
    shape = np.where(small, 0.5 + t / 3.0 + t**2 / 4.0, (-np.log1p(-t) - t) / ratio**2)
    return float(np.sum(variances * s**2 * shape))


#: The least p-value of any number of rows.
TINY = float(np.finfo(np.float64).tiny)
#: Rows that the third moment is taken from; beyond, a random subset with a fixed seed.
SKEWNESS_ROWS = 768
#: Below this skewness the gamma law is indistinguishable from the normal one.
FLAT = 1e-6
#: A U-centred matrix whose squares are this small a part of the kernel's own is zero.
ROUNDING = 1e-24
#: Standard deviations from which the tail is taken from the leading eigenvalues.
TAIL = 1.0
#: Leading eigenvalues of each side that the tail is taken from.
LEADING = 4
#: Up to so many rows all eigenvalues are computed; beyond, a subspace is iterated so many times.
DIRECT_ROWS = 300
SUBSPACE_STEPS = 8


@dataclass(frozen=True)
class Spread:
    """Sums over the U-centred kernel matrix of one side, and its leading eigenvalues if known."""

    squares: float  # Σ Ã_ij²
    cubes: float  # Σ Ã_ij³
    triangles: float  # tr Ã³
    leading: tuple[float, ...] = ()
    #: (Σe)²/Σe² of the rows' sums of squares e: how many rows the matrix is made of. Bounded
    #: kernels of numbers have no rows that matter more than all others.
    n_carrying: float = math.inf


NOTHING = Spread(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class PermutationLaw:
    """Mean zero, a scale and a skewness, and the weights that rule the far tail.

    The body follows the gamma law with these moments (Pearson's type III). Beyond one standard
    deviation, where leading eigenvalues are known, the tail is that of a chi-square mixture with
    these weights and the same variance and third moment.
    """

    scale: float
    skewness: float
    weights: tuple[float, ...] = ()  # of the chi-squares, in units of the scale
    #: Rows among those that carry X and among those that carry y at once, under permutations.
    n_shared: float = math.inf
    #: No statistic is less likely: the order of the rows that was observed is one of m!.
    least: float = TINY

    def sf(self, value: float) -> float:
        """Probability of at least ``value`` under independence, never 0."""
        return 1.0 if self.scale == 0.0 else max(self._sf(value / self.scale), self.least)

    def _sf(self, z: float) -> float:
        # Σ8w³ ≤ 4 max(w) Σ2w²: weights too small for the skewness are not the leading ones, which
        # a few rows of a column with rare values may miss
        if z > TAIL and self.weights and 4.0 * self.weights[0] >= self.skewness:
            weights = np.array(self.weights)
            variance = 1.0 - 2.0 * float(np.sum(weights**2))
            third = self.skewness - 8.0 * float(np.sum(weights**3))
            # no remainder has a longer tail than the leading weight
            third = min(third, 4.0 * weights[0] * max(variance, 0.0))
            return mixture_sf(z, weights, variance, third)
        return float(gamma_sf(np.array(z), np.array(self.skewness)))

    def isf(self, tail: float) -> float:
        """The value that is reached with probability ``tail``, by the gamma law."""
        if abs(self.skewness) < FLAT:
            return self.scale * float(-special.ndtri(tail))
        shape = 4.0 / self.skewness**2
        inverse = special.gammainccinv if self.skewness > 0 else special.gammaincinv
        return self.scale * float(inverse(shape, tail) - shape) * self.skewness / 2.0


def permutation_law(x: Spread, y: Spread, n_samples: int) -> PermutationLaw:
    """Law of HSIC₁ when the rows of one side are permuted at random."""
    m = n_samples
    pairs = m * (m - 3)
    variance = 2.0 * max(x.squares, 0.0) * max(y.squares, 0.0) / pairs
    if variance == 0.0:
        return PermutationLaw(0.0, 0.0)
    scale = float(np.sqrt(variance))
    n_shared = min(x.n_carrying, m) * min(y.n_carrying, m) / m
    least = max(math.exp(-math.lgamma(m + 1.0)), TINY)
    if m < 6:  # the third moment needs six distinct rows
        return PermutationLaw(scale / pairs, 0.0, (), n_shared, least)
    require_finite_values([x.cubes, x.triangles, y.cubes, y.triangles])
    skewness = float(third_moment(x.cubes, x.triangles, y, m) / scale**3)
    products = np.outer(x.leading, y.leading).ravel() / (m * scale)
    weights = tail_weights(products, skewness)
    return PermutationLaw(scale / pairs, skewness, weights, n_shared, least)


def gamma_sf(z: np.ndarray, skewness: np.ndarray) -> np.ndarray:
    """Tails of gamma laws with mean zero and variance one (Pearson's type III), elementwise."""
    flat = np.abs(skewness) < FLAT
    skewed = np.where(flat, 1.0, skewness)
    shape = 4.0 / skewed**2
    point = np.maximum(shape + z * 2.0 / skewed, 0.0)
    tail = np.where(skewed > 0, special.gammaincc(shape, point), special.gammainc(shape, point))
    found: np.ndarray = np.where(flat, special.ndtr(-z), tail)
    return found


def third_moment(cubes: Any, triangles: Any, y: Spread, n_samples: int) -> Any:
    """Of Σ ÃB̃ over all permutations, from ΣÃ³ and tr Ã³, of one matrix or of several."""
    m = n_samples
    return (
        4 * (m**4 - 8 * m**3 + 19 * m**2 - 4 * m - 16) * cubes * y.cubes
        - 8 * (3 * m**2 - 15 * m + 16) * (cubes * y.triangles + triangles * y.cubes)
        + 8 * (m**3 - 9 * m**2 + 26 * m - 22) * triangles * y.triangles
    ) / (m * (m - 1) * (m - 2) * (m - 3) * (m - 4) * (m - 5))


def tail_weights(products: np.ndarray, skewness: float) -> tuple[float, ...]:
    """The largest weights that variance one and the skewness leave room for."""
    variance, third = 1.0, skewness  # what the weights chosen so far leave
    chosen: list[float] = []
    for product in np.sort(products)[::-1]:
        if product <= 0.0 or third <= 0.0:
            break
        weight = min(float(product), (third / 8.0) ** (1 / 3), (variance / 2.0) ** 0.5)
        chosen.append(weight)
        variance -= 2.0 * weight**2
        third -= 8.0 * weight**3
        if weight < product:
            break
    return tuple(chosen)


def spread(side: Sample, squares: float | None = None, levels: Levels | None = None) -> Spread:
    """Spread of one side; ``squares`` is Σ Ã² of all rows if the caller has it already."""
    m = side.n_samples

    def squares_of_all() -> float:
        from depmax.dependence._terms import terms

        known = squares
        return known if known is not None else m * (m - 3) * terms(side, side, unbiased=True).hsic()

    return spread_of(lambda rows: side.take(rows).near_origin().gram(), m, squares_of_all, levels)


def spread_of(
    gram: Callable[[np.ndarray], np.ndarray],
    n_samples: int,
    squares: Callable[[], float],
    levels: Levels | None = None,
) -> Spread:
    """Spread of one side, its cubic sums from all rows or from ``SKEWNESS_ROWS`` of them.

    Parameters
    ----------
    gram : kernel values of some rows
    n_samples : int
    squares : Σ Ã² of all rows
    levels : Levels, optional
        If rows repeat: with more rows than ``SKEWNESS_ROWS`` and no more levels the sums over all
        rows are taken from these, so that no rare value is missed.
    """
    if levels is not None and len(levels.counts) <= SKEWNESS_ROWS < n_samples:
        return spread_of_levels(gram(levels.first), levels.counts)
    return spread_of_part(gram(drawn_rows(n_samples, SKEWNESS_ROWS)), n_samples, squares)


def drawn_rows(n_rows: int, size: int) -> np.ndarray:
    """All rows, or some drawn with a fixed seed, in the order in which they are drawn."""
    if n_rows <= size:
        return np.arange(n_rows)
    return np.random.default_rng(0).choice(n_rows, size, replace=False)


def spread_of_part(gram: np.ndarray, n_samples: int, squares: Callable[[], float]) -> Spread:
    """Spread of all rows from the kernel values of some, which may be all.

    ``squares`` gives Σ Ã² of all rows.
    """
    m, s = n_samples, len(gram)
    centred = u_centred(gram)
    product = centred @ centred
    gross = float(np.sum(gram**2))
    of_all = float(np.sum(centred**2)) if m == s else squares()
    if of_all <= ROUNDING * gross:  # a constant: what is left is rounding
        return NOTHING
    pairs = m * (m - 1) / (s * (s - 1))
    rows = np.einsum("ij,ij->i", centred, centred)
    found = float(rows.sum())
    # where some rows are looked at and these hold too little, rows that were not carry the rest
    part = min(1.0, found * pairs / of_all) if m > s else 1.0
    return Spread(
        of_all,
        cubes=float(np.sum(centred * centred * centred)) * pairs,
        triangles=float(np.sum(product * centred)) * pairs * (m - 2) / (s - 2),
        leading=tuple(m / s * leading_eigenvalues(centred)),
        n_carrying=part * m / s * (found / math.sqrt(rows @ rows)) ** 2 if found > 0.0 else 1.0,
    )


def spread_of_levels(gram: np.ndarray, counts: np.ndarray, *, with_leading: bool = True) -> Spread:
    """Spread of all rows from the kernel values of their levels, exact.

    Ã_ij of two rows depends on their levels only; C holds these values, the diagonal included.
    """
    m = int(counts.sum())
    diagonal = np.diag(gram)
    u = (gram @ counts - diagonal) / (m - 2)
    centred = gram - u[:, np.newaxis] - u[np.newaxis, :] + (counts @ u) / (m - 1)
    delta = np.diag(centred)  # what the diagonal of Ã would be were it not zero
    rows = centred**2 @ counts - delta**2  # row sums of Ã²
    squares = float(counts @ rows)
    if squares <= ROUNDING * float(counts @ gram**2 @ counts):
        return NOTHING
    root = np.sqrt(counts)
    full = root[:, np.newaxis] * centred * root[np.newaxis, :]
    trace = float(np.sum((full @ full) * full))
    leading: tuple[float, ...] = ()
    if with_leading:
        within = np.repeat(-delta, np.minimum(counts - 1, LEADING))  # differences within a level
        spectrum = np.concatenate([np.linalg.eigvalsh(full - np.diag(delta)), within])
        leading = tuple(np.sort(spectrum)[::-1][:LEADING])
    return Spread(
        squares,
        cubes=float(counts @ centred**3 @ counts - counts @ delta**3),
        triangles=float(trace - 3.0 * counts @ (delta * rows) - counts @ delta**3),
        leading=leading,
        n_carrying=(squares / math.sqrt(counts @ rows**2)) ** 2,
    )


def leading_eigenvalues(centred: np.ndarray) -> np.ndarray:
    """The few largest eigenvalues of a U-centred matrix, largest first."""
    size = centred.shape[0]
    if size <= DIRECT_ROWS:
        return np.linalg.eigvalsh(centred)[::-1][:LEADING]
    basis = np.random.default_rng(0).normal(size=(size, 3 * LEADING))
    for _ in range(SUBSPACE_STEPS):
        basis = np.linalg.qr(centred @ basis)[0]
    return np.linalg.eigvalsh(basis.T @ centred @ basis)[::-1][:LEADING]


def u_centred(gram: np.ndarray) -> np.ndarray:
    """U-centred copy of a kernel matrix: zero diagonal, zero row sums off it."""
    m = gram.shape[0]
    centred = gram.copy()
    np.fill_diagonal(centred, 0.0)
    sums = centred.sum(axis=1)
    centred -= (sums / (m - 2))[:, np.newaxis]
    centred -= (sums / (m - 2))[np.newaxis, :]
    centred += sums.sum() / ((m - 1) * (m - 2))
    np.fill_diagonal(centred, 0.0)
    return centred


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


def n_rare(counts: np.ndarray) -> int:
    """Rows that do not have the most frequent value."""
    return int(counts.sum() - counts.max())


def is_out_of_range(
    law: PermutationLaw, n_samples: int, x: np.ndarray | None, y: np.ndarray | None
) -> bool:
    """Whether the rows must be permuted, since the law is not close to that of permutations.

    ``x`` and ``y`` say how many rows have each value, where that is known.
    """
    if law.scale == 0.0:
        return False
    if law.skewness > SKEWEST or n_samples < FEWEST_ROWS or law.n_shared < SHARED:
        return True
    if x is None or y is None:
        return False
    rare_x, rare_y = n_rare(x), n_rare(y)
    return max(rare_x, rare_y) <= n_samples / 2 and rare_x * rare_y < EXPECTED * n_samples


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
