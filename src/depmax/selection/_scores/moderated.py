"""Moderated t statistic and the log odds of a difference, after Smyth (2004).

The variances of all columns share a prior, so that a column whose variance is small by chance
does not lead the ranking. The prior is estimated from the variances of all columns.

Smyth, G. K. (2004), Linear models and empirical Bayes methods for assessing differential
expression in microarray experiments. Statistical Applications in Genetics and Molecular Biology.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import digamma, polygamma
from scipy.stats import t as student

from depmax._inputs import Target
from depmax.selection._scores.moments import ClassMoments, ratio

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
