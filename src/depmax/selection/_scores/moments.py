"""Moments of columns by class, and the scores that compare means, with own or shared variances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import digamma, polygamma
from scipy.stats import t as student
from sklearn.utils.sparsefuncs import mean_variance_axis

from depmax.data import Target
from depmax.data.checks import constant_columns
from depmax.selection._scores.outputs import centred_outputs, class_codes

#: A target in memory, or one that is read a chunk at a time.
AnyTarget = Any


@dataclass(frozen=True)
class ClassMoments:
    """Number of rows, mean and sum of squared deviations of every column in every class."""

    counts: np.ndarray  # shape (n_classes,)
    means: np.ndarray  # shape (n_classes, n_features)
    squares: np.ndarray  # Σ (x - mean)², shape (n_classes, n_features)
    constant: np.ndarray  # which columns have one value only

    @classmethod
    def of(cls, X: Any, target: AnyTarget) -> ClassMoments:
        """Moments of each class; a constant column counts as zero, free of rounding."""
        if target.is_streamed:
            sums = X.sums
            counts, means, squares = sums.counts, sums.means.copy(), sums.squares.copy()
            constant = sums.constant
        else:
            codes, constant = class_codes(target), constant_columns(X)
            counts = np.bincount(codes)
            parts = [_mean_and_squares(X[codes == code]) for code in range(len(counts))]
            means, squares = (np.array(part) for part in zip(*parts, strict=True))
        means[:, constant] = 0.0
        squares[:, constant] = 0.0
        return cls(counts, means, squares, constant)

    @property
    def variances(self) -> np.ndarray:
        """Unbiased variance of every column in every class."""
        if self.counts.min() < 2:
            raise ValueError(
                "The variance within a class needs at least 2 rows of each class, but the smallest "
                f"class has {self.counts.min()}: use score_func='centroid', 'pam' or 'hsic'."
            )
        return self.squares / (self.counts[:, np.newaxis] - 1)

    @property
    def difference(self) -> np.ndarray:
        """Mean of the second class less that of the first."""
        return self.means[1] - self.means[0]


@dataclass(frozen=True)
class Products:
    """Sums over rows of every column with centred outputs; a constant column has exact zeros."""

    cross: np.ndarray  # Σ(x - x̄)y, shape (n_features, n_outputs)
    squares: np.ndarray  # Σ(x - x̄)², shape (n_features,)
    outputs: np.ndarray  # Σy², shape (n_outputs,)

    @classmethod
    def of(cls, X: Any, target: AnyTarget, weight: np.ndarray | None = None) -> Products:
        """Two classes are one output, more are an indicator each; a row counts by its weight."""
        if target.is_streamed:
            cross, squares, spread = X.products()
            constant = X.sums.constant
        else:
            outputs, constant = centred_outputs(target, weight), constant_columns(X)
            weights = np.ones(len(outputs)) if weight is None else weight
            counted = weights[:, np.newaxis] * outputs
            spread = np.einsum("ij,ij->j", outputs, counted)
            if sparse.issparse(X):
                cross = X.T @ counted
                squares = _mean_and_squares(X, weight)[1]
            else:
                centred = X - np.average(np.asarray(X, dtype=np.float64), axis=0, weights=weight)
                cross = centred.T @ counted
                squares = weights @ (centred * centred)
        cross[constant] = 0.0
        squares[constant] = 0.0
        return cls(cross, squares, spread)


def _mean_and_squares(rows: Any, weight: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    if sparse.issparse(rows):
        mean, variance = mean_variance_axis(rows.astype(np.float64), axis=0, weights=weight)
        return mean, variance * (rows.shape[0] if weight is None else weight.sum())
    values = np.asarray(rows, dtype=np.float64)
    mean = values.mean(axis=0)
    values = values - mean
    return mean, np.einsum("ij,ij->j", values, values)


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Quotient with 0/0 = 0: nothing differs. A difference without any spread is infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(numerator == 0.0, 0.0, numerator / denominator)


def pearson(X: Any, target: Target, weight: np.ndarray | None = None) -> np.ndarray:
    """Sum over the outputs of the squared correlation with each column.

    HSIC₀ of a standardised column and a standardised output, both with the linear kernel, is
    m²/(m-1)² times it. Two classes are one output, more are an indicator each. A row counts as
    often as its weight says.

    Examples
    --------
    >>> from depmax.data import read_target
    >>> X = np.array([[1.0, 1.0], [2.0, -1.0], [3.0, -1.0], [4.0, 1.0]])
    >>> pearson(X, read_target([2.0, 4.0, 6.0, 8.0])).round(12)
    array([1., 0.])
    """
    sums = Products.of(X, target, weight)
    cross = np.where(sums.outputs == 0.0, 0.0, sums.cross)
    return ratio(cross**2, np.outer(sums.squares, sums.outputs)).sum(axis=1)


def centroid(X: Any, target: Target) -> np.ndarray:
    """Absolute difference of the two class means.

    HSIC₀ of a column with the linear kernel and ``ClassBalanced`` is m²/(m-1)² times its square.
    """
    return np.abs(ClassMoments.of(X, target).difference)


def t(X: Any, target: Target) -> np.ndarray:
    """Absolute t statistic with a variance for each class (Welch).

    The ``centroid`` of the column divided by √(s₊²/m₊ + s₋²/m₋).
    """
    moments = ClassMoments.of(X, target)
    error = np.sqrt(np.sum(moments.variances / moments.counts[:, np.newaxis], axis=0))
    return ratio(np.abs(moments.difference), error)


def snr(X: Any, target: Target) -> np.ndarray:
    """Absolute signal-to-noise ratio: the difference of means over s₊ + s₋ (Golub et al., 1999).

    The ``centroid`` of the column divided by the sum of the two standard deviations.
    """
    moments = ClassMoments.of(X, target)
    return ratio(np.abs(moments.difference), np.sqrt(moments.variances).sum(axis=0))


def pam(X: Any, target: Target) -> np.ndarray:
    """Sum over the classes of the squared distance of their mean to the mean of all rows.

    HSIC₀ of a column with the linear kernel and ``Delta`` with weights 1/p², p the shares of the
    classes, is m²/(m-1)² times it. Unlike the classifier of Tibshirani et al. (2002), whose
    information this is, it neither standardises nor shrinks.
    """
    moments = ClassMoments.of(X, target)
    overall = moments.counts @ moments.means / moments.counts.sum()
    return np.sum((moments.means - overall) ** 2, axis=0)


def ridge(X: Any, target: Target, alpha: float = 1.0) -> np.ndarray:
    """By how much ridge regression on a column alone lowers the regularised risk.

    With column and outputs centred, the smallest ‖y - wx‖² + αw² is ‖y‖² - (xᵀy)²/(xᵀx + α). The
    last term, summed over the outputs, is (m-1)² times HSIC₀ of ``RidgeKernel("linear", alpha)``
    and the linear kernel of y. ``BAHSIC`` with the ridge kernel weighs all columns together.

    Examples
    --------
    >>> from depmax.data import read_target
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]])
    >>> ridge(X, read_target([0.0, 1.0, 6.0, 7.0]), alpha=1.0)
    array([32.4,  0.5])
    """
    sums = Products.of(X, target)
    return np.sum(sums.cross**2, axis=1) / (sums.squares + alpha)


# --- moderated t and log odds, after Smyth (2004) -------------------------------------------------
# The variances of all columns share a prior, so that a column whose variance is small by chance
# does not lead the ranking. The prior is estimated from the variances of all columns.
#
# Smyth, G. K. (2004), Linear models and empirical Bayes methods for assessing differential
# expression in microarray experiments. Statistical Applications in Genetics and Molecular Biology.

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
    def of(cls, X: Any, target: Target) -> Moderated:
        """Pooled variances of the two classes, drawn towards their common prior.

        Constant columns tell nothing about the noise: they do not enter the prior.
        """
        moments = ClassMoments.of(X, target)
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


def moderated_t(X: Any, target: Target) -> np.ndarray:
    """Absolute moderated t statistic of the difference of two class means.

    The ``centroid`` of the column divided by √((1/m₊ + 1/m₋)(d₀s₀² + ds²)/(d₀ + d)) with s² the
    pooled variance, d = m - 2.
    """
    return np.abs(Moderated.of(X, target).statistics)


def lods(X: Any, target: Target) -> np.ndarray:
    """Log odds that the class means differ, given that one column in a hundred differs.

    The B statistic of Lönnstedt and Speed (2002) in the form of Smyth (2004, section 6). It rises
    with the moderated t statistic, so the ranking is the same; a constant column has the odds of
    t = 0.
    """
    moderated = Moderated.of(X, target)
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
