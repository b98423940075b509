"""Moments of columns beside a target, and the scores that are functions of them.

Moments add up over parts of the rows, so that rows in memory and rows that are read a chunk at a
time have the same scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import digamma, polygamma
from scipy.stats import t as student
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from depmax._resources import cached_property
from depmax.data.chunks import Chunk
from depmax.data.target import as_columns


@dataclass(frozen=True)
class ColumnMoments:
    """Means and squares of every column in every class of the target, or beside its numbers.

    Each about its own mean, so that sums of parts far from zero keep their digits when added.
    """

    of_classes: bool  # whether there is a group per class; else one, beside numbers
    counts: np.ndarray  # rows of each group, by their weights: shape (n_groups,)
    means: np.ndarray  # shape (n_groups, n_features)
    squares: np.ndarray  # Σ (x - mean)² within each group
    low: np.ndarray  # shape (n_features,)
    high: np.ndarray
    outputs: np.ndarray  # means of the numbers, shape (n_outputs,)
    output_squares: np.ndarray
    cross: np.ndarray  # Σ (x - x̄)(y - ȳ) over all rows, shape (n_features, n_outputs)

    @classmethod
    def of(
        cls, X: Any, y: np.ndarray, classes: np.ndarray | None, weight: np.ndarray | None = None
    ) -> ColumnMoments:
        """Of some rows; y are labels, of these sorted classes, or columns of numbers."""
        low, high = min_max_axis(X, axis=0) if sparse.issparse(X) else (X.min(0), X.max(0))
        if classes is None:
            mean, squares, centred = _about_mean(X, weight)
            outputs, output_squares, numbers = _about_mean(y, weight)
            counted = numbers if weight is None else weight[:, np.newaxis] * numbers
            counts = np.array([len(y) if weight is None else weight.sum()])
            cross = centred.T @ counted
            parts = mean[np.newaxis], squares[np.newaxis]
            return cls(False, counts, *parts, low, high, outputs, output_squares, cross)
        codes = np.searchsorted(classes, y)
        counts = np.bincount(codes, weight, minlength=len(classes))
        means, within = np.zeros((2, len(classes), X.shape[1]))
        for code in np.flatnonzero(counts):
            rows = codes == code
            some = None if weight is None else weight[rows]
            means[code], within[code] = _about_mean(X[rows], some, overwrite=True)[:2]
        none = np.empty((X.shape[1], 0))
        return cls(True, counts, means, within, low, high, none[0], none[0], none)

    def __add__(self, other: ColumnMoments) -> ColumnMoments:
        counts = self.counts + other.counts
        share = (other.counts / np.maximum(counts, 1))[:, np.newaxis]
        apart = other.means - self.means
        total, n = self.counts.sum(), other.counts.sum()
        weight = total * n / (total + n)
        y_apart = other.outputs - self.outputs
        return ColumnMoments(
            self.of_classes,
            counts,
            self.means + share * apart,
            self.squares + other.squares + self.counts[:, np.newaxis] * share * apart**2,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.outputs + n / (total + n) * y_apart,
            self.output_squares + other.output_squares + weight * y_apart**2,
            self.cross + other.cross + weight * np.outer(other.overall - self.overall, y_apart),
        )

    @property
    def overall(self) -> np.ndarray:
        """Mean of every column over all rows."""
        return np.asarray(self.counts @ self.means / self.counts.sum())

    @cached_property
    def constant(self) -> np.ndarray:
        """Which columns have one value only."""
        return np.asarray(self.low == self.high)

    def settled(self) -> ColumnMoments:
        """These moments with exact zeros for constant columns, free of rounding."""
        varies = ~self.constant
        return replace(
            self,
            means=np.where(varies, self.means, 0.0),
            squares=np.where(varies, self.squares, 0.0),
            cross=np.where(varies[:, np.newaxis], self.cross, 0.0),
        )

    @property
    def variances(self) -> np.ndarray:
        """Unbiased variance of every column in every class."""
        if self.counts.min() < 2:
            raise ValueError(
                "The variance within a class needs at least 2 rows of each class, but the smallest "
                f"class has {self.counts.min()}: use score_func='centroid', 'pam' or 'hsic'."
            )
        return np.asarray(self.squares / (self.counts[:, np.newaxis] - 1))

    @property
    def difference(self) -> np.ndarray:
        """Mean of the second class less that of the first."""
        return np.asarray(self.means[1] - self.means[0])

    def products(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Σ(x - x̄)y with centred outputs, Σ(x - x̄)² and Σy².

        Two classes are one output of -1 and +1, more are an indicator each, since classes have no
        order even where their labels are whole numbers.
        """
        if not self.of_classes:
            return self.cross, self.squares[0], self.output_squares
        counts = self.counts
        apart = self.means - self.overall
        squares = self.squares.sum(axis=0) + counts @ apart**2
        cross, spread = (counts[:, np.newaxis] * apart).T, counts * (1.0 - counts / counts.sum())
        if len(counts) == 2:
            cross, spread = 2.0 * cross[:, 1:], 4.0 * spread[1:]
        return cross, squares, spread


def column_moments(X: Any, target: Any, weight: np.ndarray | None = None) -> ColumnMoments:
    """Moments of all rows, in memory or read a chunk at a time; a row counts by its weight."""
    classes = target.classes if target.kind == "classes" else None
    if target.is_streamed:
        total: ColumnMoments = X.stream.total(partial(_of_chunks, classes=classes))
        return total.settled()
    return ColumnMoments.of(X, target.values, classes, weight).settled()


def _of_chunks(chunks: Iterator[Chunk], classes: np.ndarray | None) -> ColumnMoments | None:
    parts = [
        ColumnMoments.of(chunk.x, as_columns(chunk.y) if classes is None else chunk.y, classes)
        for chunk in chunks
    ]
    return reduce(add, parts) if parts else None


def _about_mean(
    X: Any, weight: np.ndarray | None, *, overwrite: bool = False
) -> tuple[np.ndarray, np.ndarray, Any]:
    """Means of columns, squares about them, and columns about their means if they are dense."""
    if sparse.issparse(X):
        mean, variance = mean_variance_axis(X.astype(np.float64), axis=0, weights=weight)
        return mean, variance * (X.shape[0] if weight is None else weight.sum()), X
    values = np.asarray(X, dtype=np.float64)
    mean = np.average(values, axis=0, weights=weight)
    centred = np.subtract(values, mean, out=values if overwrite else None)
    counted = centred if weight is None else weight[:, np.newaxis] * centred
    return mean, np.einsum("ij,ij->j", counted, centred), centred


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Quotient with 0/0 = 0: nothing differs. A difference without any spread is infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(numerator == 0.0, 0.0, numerator / denominator)


def pearson(moments: ColumnMoments) -> np.ndarray:
    """Sum over the outputs of the squared correlation with each column.

    HSIC₀ of a standardised column and a standardised output, both with the linear kernel, is
    m²/(m-1)² times it.

    Examples
    --------
    >>> from depmax.data import read_target
    >>> X = np.array([[1.0, 1.0], [2.0, -1.0], [3.0, -1.0], [4.0, 1.0]])
    >>> pearson(column_moments(X, read_target([2.0, 4.0, 6.0, 8.0]))).round(12)
    array([1., 0.])
    """
    cross, squares, outputs = moments.products()
    cross = np.where(outputs == 0.0, 0.0, cross)
    return ratio(cross**2, np.outer(squares, outputs)).sum(axis=1)


def centroid(moments: ColumnMoments) -> np.ndarray:
    """Absolute difference of the two class means.

    HSIC₀ of a column with the linear kernel and ``ClassBalanced`` is m²/(m-1)² times its square.
    """
    return np.abs(moments.difference)


def t(moments: ColumnMoments) -> np.ndarray:
    """Absolute t statistic with a variance for each class (Welch).

    The ``centroid`` of the column divided by √(s₊²/m₊ + s₋²/m₋).
    """
    error = np.sqrt(np.sum(moments.variances / moments.counts[:, np.newaxis], axis=0))
    return ratio(np.abs(moments.difference), error)


def snr(moments: ColumnMoments) -> np.ndarray:
    """Absolute signal-to-noise ratio: the ``centroid`` over s₊ + s₋ (Golub et al., 1999)."""
    return ratio(np.abs(moments.difference), np.sqrt(moments.variances).sum(axis=0))


def pam(moments: ColumnMoments) -> np.ndarray:
    """Sum over the classes of the squared distance of their mean to the mean of all rows.

    HSIC₀ of a column with the linear kernel and ``Delta`` with weights 1/p², p the shares of the
    classes, is m²/(m-1)² times it. Unlike the classifier of Tibshirani et al. (2002), whose
    information this is, it neither standardises nor shrinks.
    """
    return np.sum((moments.means - moments.overall) ** 2, axis=0)


def ridge(moments: ColumnMoments, alpha: float = 1.0) -> np.ndarray:
    """By how much ridge regression on a column alone lowers the regularised risk.

    With column and outputs centred, the smallest ‖y - wx‖² + αw² is ‖y‖² - (xᵀy)²/(xᵀx + α). The
    last term, summed over the outputs, is (m-1)² times HSIC₀ of ``RidgeKernel("linear", alpha)``
    and the linear kernel of y. ``BAHSIC`` with the ridge kernel weighs all columns together.

    Examples
    --------
    >>> from depmax.data import read_target
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]])
    >>> ridge(column_moments(X, read_target([0.0, 1.0, 6.0, 7.0])), alpha=1.0)
    array([32.4,  0.5])
    """
    cross, squares, _ = moments.products()
    return np.asarray(np.sum(cross**2, axis=1) / (squares + alpha))


# --- moderated t and log odds, after Smyth (2004) -------------------------------------------------
# Variances share a prior, estimated from all columns: one that is small by chance does not lead.
# G. K. Smyth (2004), Linear models and empirical Bayes methods for assessing differential
# expression in microarray experiments.

#: Share of the columns that are taken to differ between the classes.
PROPORTION = 0.01
#: Smallest and largest standard deviation of a difference, in units of the noise.
LIMITS = (0.1, 4.0)
#: Variances below this share of their median count as this share of it.
FLOOR = 1e-5
#: Prior degrees of freedom beyond which the variance counts as known.
KNOWN = 1e6


@dataclass(frozen=True)
class VariancePrior:
    """Scaled inverse χ² law of the variances: s² ~ s₀² F(d, d₀)."""

    degrees: float  # d₀: 0 without a prior, infinite if all columns share one variance
    variance: float  # s₀²

    def posterior(self, variances: np.ndarray, degrees: float) -> np.ndarray:
        """Variances s² with d degrees of freedom, drawn towards s₀²: (d₀s₀² + ds²)/(d₀ + d)."""
        if math.isinf(self.degrees):
            return np.full_like(variances, self.variance)
        total = self.degrees * self.variance + degrees * variances
        return total / (self.degrees + degrees)


def variance_prior(variances: np.ndarray, degrees: float) -> VariancePrior:
    """Prior whose log F law has the mean and the variance of the log variances.

    Examples
    --------
    >>> variance_prior(np.array([2.0, 2.0, 2.0]), degrees=10)
    VariancePrior(degrees=inf, variance=2.0)
    """
    middle = float(np.median(variances)) if len(variances) else 0.0
    if middle == 0.0 or len(variances) < 2:
        return VariancePrior(0.0, middle)
    logs = np.log(np.maximum(variances, FLOOR * middle))
    logs += math.log(degrees / 2) - digamma(degrees / 2)  # now without the bias of log χ²
    excess = float(np.var(logs, ddof=1) - polygamma(1, degrees / 2))
    if excess <= 0:  # no more variable than chance: one variance for all
        return VariancePrior(math.inf, float(np.mean(variances)))
    prior = 2.0 * trigamma_inverse(excess)
    scale = math.exp(np.mean(logs) + digamma(prior / 2) - math.log(prior / 2))
    return VariancePrior(prior, scale)


def trigamma_inverse(value: float) -> float:
    """The argument y > 0 with ψ'(y) = value, by Newton's method on 1/ψ'.

    1/ψ'(y) is convex, nearly linear and above y - 1/2, so the steps from 1/2 + 1/value fall to
    the solution and cannot overshoot.

    Examples
    --------
    >>> round(float(polygamma(1, trigamma_inverse(0.3))), 12)
    0.3
    """
    if value > 1e7:  # ψ'(y) ≈ 1/y²
        return 1.0 / math.sqrt(value)
    if value < 1e-6:  # ψ'(y) ≈ 1/y
        return 1.0 / value
    y = 0.5 + 1.0 / value
    for _ in range(50):
        slope = float(polygamma(1, y))
        step = slope * (1.0 - slope / value) / float(polygamma(2, y))
        y += step
        if abs(step) < 1e-12 * y:
            break
    return y


@dataclass(frozen=True)
class Moderated:
    """Moderated t statistics of all columns, with what the log odds need besides."""

    statistics: np.ndarray  # t̃, signed
    prior: VariancePrior
    degrees: float  # of a column's own variance, m - 2
    unscaled: float  # 1/m₊ + 1/m₋: variance of a difference of means in units of the noise
    n_varying: int  # columns that are not constant

    @classmethod
    def of(cls, moments: ColumnMoments) -> Moderated:
        """Pooled variances of the two classes, drawn towards their common prior.

        Constant columns tell nothing about the noise: they do not enter the prior.
        """
        degrees = float(moments.counts.sum() - 2)
        if degrees < 1:
            raise ValueError(
                "The pooled variance needs at least 3 rows, got n_samples = "
                f"{moments.counts.sum()}: use score_func='centroid'."
            )
        variances = moments.squares.sum(axis=0) / degrees
        prior = variance_prior(variances[~moments.constant], degrees)
        unscaled = float(np.sum(1.0 / moments.counts))
        error = np.sqrt(prior.posterior(variances, degrees) * unscaled)
        n_varying = max(1, int(np.sum(~moments.constant)))
        statistics = ratio(moments.difference, error)
        return cls(statistics, prior, degrees, unscaled, n_varying)


def moderated_t(moments: ColumnMoments) -> np.ndarray:
    """Absolute moderated t statistic of the difference of two class means.

    The ``centroid`` of the column divided by √((1/m₊ + 1/m₋)(d₀s₀² + ds²)/(d₀ + d)) with s² the
    pooled variance, d = m - 2.
    """
    return np.abs(Moderated.of(moments).statistics)


def lods(moments: ColumnMoments) -> np.ndarray:
    """Log odds that the class means differ, given that one column in a hundred differs.

    The B statistic of Lönnstedt and Speed (2002) in the form of Smyth (2004, section 6). It rises
    with the moderated t statistic, so the ranking is the same; a constant column has the odds of
    t = 0.
    """
    moderated = Moderated.of(moments)
    most = moderated.degrees * moderated.n_varying
    degrees = min(moderated.degrees + moderated.prior.degrees, most)
    added = _variance_of_differences(moderated, degrees)
    growth = 1.0 + added / moderated.unscaled  # variance of t̃ where the means differ
    squares = np.minimum(moderated.statistics**2, 1e300)
    if moderated.prior.degrees > KNOWN:
        evidence = squares * (1.0 - 1.0 / growth) / 2.0
    else:
        evidence = np.log((squares + degrees) / (squares / growth + degrees)) * (1 + degrees) / 2
    return math.log(PROPORTION / (1 - PROPORTION)) - math.log(growth) / 2 + evidence


def _variance_of_differences(moderated: Moderated, degrees: float) -> float:
    """Variance v₀ of true differences in units of the noise, from the largest statistics.

    Each of the top half per cent is compared with its quantile under the mixture of columns that
    differ, whose t̃ is wider by √(1 + v₀/v), and columns that do not (Smyth, 2004, section 6.3).
    """
    sizes = np.sort(np.abs(moderated.statistics))[::-1]
    count = math.ceil(PROPORTION / 2 * len(sizes))
    share = max(count / len(sizes), PROPORTION)
    top = np.minimum(sizes[:count], 1e150)
    tails = 2.0 * student.sf(top, degrees)
    expected = ((np.arange(1, count + 1) - 0.5) / len(sizes) - (1 - share) * tails) / share
    found = np.zeros(count)
    wider = expected > tails
    quantiles = student.isf(expected[wider] / 2.0, degrees)
    found[wider] = moderated.unscaled * ((top[wider] / quantiles) ** 2 - 1.0)
    if moderated.prior.variance > 0:
        low, high = (limit**2 / moderated.prior.variance for limit in LIMITS)
        found = np.clip(found, low, high)
    return float(np.mean(found))
