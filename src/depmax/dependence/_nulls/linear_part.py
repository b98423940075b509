"""The linear part of a dependence: normal scores of a column against those of a target.

A kernel spends its power on every shape; a straight line is found more often by its own test. Let
a be the normal scores of a column, the mean of N(0, 1) between the quantiles of each rank, and U
orthonormal coordinates of the target: normal scores of numbers, indicators of classes. The share
R² = ‖Uᵀa‖²/‖a‖² that the target explains has, over all permutations, an exact mean and variance, to
which a beta law is fitted (Pitman 1937; Box and Watson 1955): that of the t- and the F-test unless
both sides have outlying scores. Its p-value and that of HSIC are combined by Cauchy's rule (Liu and
Xie 2020). Where rows are permuted, so is the combination. Derivations: docs/mathematics/screen.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from scipy import special

from depmax._resources import cached_property
from depmax.data.sample import Sample
from depmax.dependence._nulls.law import MOST_PERMUTATIONS, TINY, gamma_sf, sequential_pvalue

#: Rows per coordinate of the target that its linear part takes at least.
ROWS_PER_COORDINATE = 3
#: Scores of less skewness than this are symmetric.
SYMMETRIC = 0.01
#: A part of a target varies if its coordinates do by more than this, relative to all.
VARIES = 1e-10
#: Permutations that say where both statistics lie by chance, and the skewness of HSIC's law there:
#: both only balance the two tests, which are exact by the other permutations.
REFERENCE, SKEWED = 31, 1.5
#: Parts of HSIC and of the linear part (docs/mathematics/screen.md says how they were chosen), and
#: the least and largest p-value of one that count: a p-value of 1 must not outweigh the other.
WEIGHTS, LEAST, MOST = (0.6, 0.4), 1e-290, 0.99
#: Logarithms of p-values within which two of them are ties.
TIE = 1e-9


def normal_scores(counts: np.ndarray) -> np.ndarray:
    """Mean of N(0, 1) between the quantiles of the ranks of every level, in order.

    ``counts`` says how many rows, perhaps by their weights, each level has.
    """
    reached = np.concatenate([[0.0], np.cumsum(counts)]) / np.sum(counts)
    density = np.exp(-0.5 * special.ndtri(reached) ** 2) / np.sqrt(2.0 * np.pi)
    density[[0, -1]] = 0.0
    found: np.ndarray = -np.diff(density) * np.sum(counts) / counts
    return found


def has_room(rank: int, m: int) -> bool:
    """Whether so many rows are enough for a linear part of this rank."""
    return 0 < rank * ROWS_PER_COORDINATE < m and m > ROWS_PER_COORDINATE + 1


def scores_of(values: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Normal scores of some numbers, equal ones sharing theirs."""
    _, codes = np.unique(values, return_inverse=True)
    return normal_scores(np.bincount(codes.ravel(), weights=weight))[codes.ravel()]


@dataclass(frozen=True)
class Scores:
    """Normal scores of numbers by their ranks among some, whose different values these are."""

    values: np.ndarray  # sorted
    counts: np.ndarray

    def __call__(self, numbers: np.ndarray) -> np.ndarray:
        """Scores of numbers; between two values, that of the share of rows below."""
        places = np.minimum(np.searchsorted(self.values, numbers), len(self.values) - 1)
        reached, total = np.concatenate([[0.0], np.cumsum(self.counts)]), self.counts.sum()
        below = reached[np.searchsorted(self.values, numbers)]
        between = special.ndtri(np.clip(below, 0.5, total - 0.5) / total)
        known = self.values[places] == numbers
        return np.asarray(np.where(known, normal_scores(self.counts)[places], between))


@dataclass(frozen=True)
class LinearPart:
    """Orthonormal coordinates U of a target of numbers or classes, about their mean."""

    axes: np.ndarray  # shape (m, r)

    @classmethod
    def of(cls, side: Sample, psi: np.ndarray) -> LinearPart | None:
        """That of a target with centred principal coordinates Ψ; None if it has several columns.

        Strings, graphs and other objects have none either, and many classes of few rows each.
        """
        if side.precomputed or not isinstance(side.rows, np.ndarray):
            return None
        if side.kernel.capabilities.labels:
            return cls._of_axes(psi)
        rows = side.rows
        if rows.dtype.kind not in "biuf" or rows.size != len(rows):
            return None
        return cls._of_axes(scores_of(rows.ravel())[:, np.newaxis])

    @classmethod
    def _of_axes(cls, axes: np.ndarray) -> LinearPart | None:
        axes = axes - axes.mean(axis=0)
        values, vectors = np.linalg.eigh(axes.T @ axes)
        kept = values > VARIES * max(values.max(initial=0.0), np.finfo(float).tiny)
        rank, m = int(kept.sum()), len(axes)
        if not has_room(rank, m):
            return None
        return cls(np.ascontiguousarray(axes @ (vectors[:, kept] / np.sqrt(values[kept]))))

    def take(self, rows: np.ndarray) -> LinearPart | None:
        """That of some rows; None if they do not vary."""
        return self._of_axes(self.axes[rows])

    @cached_property
    def law(self) -> ShareLaw:
        """Law of the share that the target explains of a column."""
        return ShareLaw.of(self.axes, np.ones(len(self.axes)))

    def shares(self, scores: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Shares explained of scores by the rows of the target in some orders.

        Scores sum to zero, or are zero for all rows that an order leaves out.
        """
        found = np.einsum("kia,i->ka", self.axes[rows], scores)
        return np.asarray(np.einsum("ka,ka->k", found, found))


@dataclass(frozen=True)
class ShareLaw:
    """Law of R² = ‖Uᵀa‖²/‖a‖² when the rows of U, of rank r, are permuted."""

    m: int
    rank: int
    leverages: float  # Σ(UUᵀ)_ii²
    #: Σu³ of directions of length 1 in the span of U, and how many there are of each: the column of
    #: U, or of several the indicators of classes.
    thirds: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, axes: np.ndarray, counts: np.ndarray) -> ShareLaw:
        """That of orthonormal coordinates, given for so many rows each."""
        leverage, rank = np.einsum("ij,ij->i", axes, axes), axes.shape[1]
        m = round(float(counts.sum()))
        if rank == 1:
            thirds = [(float(counts @ axes[:, 0] ** 3), 1.0)]
        else:  # a class with a share q of the rows gives each of them the leverage (1 - q)/(qm)
            kinds, codes = np.unique(np.round(1.0 / (leverage * m + 1.0), 9), return_inverse=True)
            sizes = np.bincount(codes.ravel(), weights=counts)
            third = (1.0 - 2.0 * kinds) / np.sqrt(m * kinds * (1.0 - kinds))
            thirds = list(zip(third.tolist(), (sizes / (m * kinds)).tolist(), strict=True))
        return cls(m, rank, float(counts @ leverage**2), tuple(thirds))

    def sf(self, share: np.ndarray, third: np.ndarray, fourth: np.ndarray) -> np.ndarray:
        """Probabilities of at least these shares, given Σa³ and Σa⁴ where Σa = 0 and Σa² = 1.

        If both sides are skewed, Σua of a direction u follows Pearson's law of type III, whose two
        tails have more than those of a normal law: as much is added to the law of normal scores,
        where this is longer than the beta law.
        """
        m, r, h = float(self.m), float(self.rank), self.leverages
        mean = r / (m - 1.0)
        last = 2.0 * fourth - 1.0
        square = (  # E R⁴, from the means of products of four scores
            (h + 4.0 * h / (m - 1.0)) * fourth / m
            + (r * r + 2.0 * r - 3.0 * h) * (1.0 - fourth) / (m * (m - 1.0))
            + (12.0 * h - 2.0 * r * r - 4.0 * r) * last / (m * (m - 1.0) * (m - 2.0))
            - (r * r + 2.0 * r - 6.0 * h) * 3.0 * last / (m * (m - 1.0) * (m - 2.0) * (m - 3.0))
        )
        variance = np.maximum(square - mean**2, 1e-12 * mean * (1.0 - mean))
        size = np.maximum(mean * (1.0 - mean) / variance - 1.0, 1e-6)
        found = special.betainc((1.0 - mean) * size, mean * size, 1.0 - np.clip(share, 0.0, 1.0))
        skewed = np.flatnonzero(np.abs(third) * m > SYMMETRIC * np.sqrt(m))
        if len(skewed):
            some, third = np.clip(share[skewed], 0.0, 1.0), third[skewed]
            tail = special.betainc(0.5 * (m - 1.0 - r), 0.5 * r, 1.0 - some)
            z = np.sqrt(np.maximum(some * (m - 1.0) - (r - 1.0), 0.0))  # others at their mean
            for of_target, count in self.thirds:
                skewness = m / (m - 2.0) * np.sqrt(m - 1.0) * third * of_target
                both = gamma_sf(z, skewness) + gamma_sf(z, -skewness)
                tail += count * np.maximum(both - 2.0 * special.ndtr(-z), 0.0)
            found[skewed] = np.maximum(found[skewed], tail)
        return np.asarray(np.clip(found, TINY, 1.0))


def combined(of_hsic: np.ndarray, of_linear: np.ndarray) -> np.ndarray:
    """P-values of both tests together: Cauchy's combination, whatever their dependence."""
    total = np.zeros(np.shape(of_hsic))
    for weight, pvalues in zip(WEIGHTS, (of_hsic, of_linear), strict=True):
        total = total + weight / np.tan(np.pi * np.clip(pvalues, LEAST, MOST))
    return np.asarray(np.arctan2(1.0, total) / np.pi)


@dataclass
class Strength:
    """Evidence of HSIC and of the linear part together, in any order of the rows.

    Minus the logarithm of two rough p-values combined, from where both statistics lie in the first
    permutations; those that follow give the p-value.
    """

    rank: int
    scale: float = 0.0  # standard deviation of HSIC at least
    reference: tuple[float, float, float] = field(default=(0.0, 0.0, 0.0), init=False)

    def against(
        self, observed: tuple[float, float], chunks: Iterator[tuple[np.ndarray, np.ndarray]]
    ) -> tuple[float, Iterator[np.ndarray]]:
        """Evidence as observed, and under permutations that follow the first."""
        hsic, share = next(chunks)
        while len(hsic) < REFERENCE:
            more = next(chunks)
            hsic, share = np.append(hsic, more[0]), np.append(share, more[1])
        first_hsic, first_share = hsic[:REFERENCE], share[:REFERENCE]
        spread = max(float(first_hsic.std()), self.scale)
        self.reference = float(first_hsic.mean()), spread, float(first_share.mean())
        rest = chain([(hsic[REFERENCE:], share[REFERENCE:])], chunks)
        found = float(self(*(np.array([each]) for each in observed))[0])
        return found, (self(*each) for each in rest)

    def __call__(self, hsic: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Minus the logarithm of the combined p-value."""
        mean, spread, of_share = self.reference
        first, second = np.ones(len(hsic)), np.ones(len(share))
        if spread > 0.0:
            first = gamma_sf((hsic - mean) / spread, np.full(len(hsic), SKEWED))
        if of_share > 0.0:
            chi2 = self.rank * share / of_share
            second = special.gammaincc(0.5 * self.rank, 0.5 * chi2)
        return np.asarray(-np.log(combined(first, second)))


def permuted_pvalue(
    observed: tuple[float, float],
    permuted: Iterator[tuple[np.ndarray, np.ndarray]],
    slack: float,
    *,
    rank: int | None = None,
    scale: float = 0.0,
    most: int = MOST_PERMUTATIONS,
) -> float:
    """P-value of HSIC, and of the linear part if that has a rank, from permutations in chunks.

    Parameters
    ----------
    observed : HSIC, and the share that the linear part explains
    permuted : the same under permutations, in chunks
    slack : within which two values of HSIC alone are ties
    rank : of the linear part; None: HSIC alone counts
    scale : standard deviation of HSIC at least
    most : permutations
    """
    if rank is None:
        return sequential_pvalue(observed[0], (hsic for hsic, _ in permuted), slack, most)
    found, chunks = Strength(rank, scale).against(observed, permuted)
    return sequential_pvalue(found, chunks, TIE, most)
