"""Moderated t and log odds, each computed again in another way.

Private modules: the prior of variances is compared with draws; a score shows it in one number.
"""

import math

import numpy as np
import pytest
from scipy import optimize, special, stats

from depmax import DependenceFilter
from depmax.data import read_target
from depmax.selection._moments import (
    Moderated,
    VariancePrior,
    column_moments,
    trigamma_inverse,
    variance_prior,
)

# columns have variances of their own on purpose
pytestmark = pytest.mark.filterwarnings("ignore::depmax.ScaleWarning")

LABELS = np.repeat([0, 1], [7, 9])
DEGREES = len(LABELS) - 2


def moderated_t(X):
    return DependenceFilter(score_func="moderated_t").fit(X, LABELS).scores_


def lods(X):
    return DependenceFilter(score_func="lods").fit(X, LABELS).scores_


def moderated(X):
    return Moderated.of(column_moments(X, read_target(LABELS)))


def simulate(n_columns, d0, s0, seed=0, n_shifted=0):
    """Columns whose variances follow the prior; the first few differ between the classes."""
    rng = np.random.default_rng(seed)
    variances = d0 * s0**2 / rng.chisquare(d0, n_columns)
    X = rng.normal(size=(len(LABELS), n_columns)) * np.sqrt(variances)
    X[:, :n_shifted] += 3 * s0 * LABELS[:, np.newaxis]
    return X


def pooled_variances(X):
    parts = [X[label == LABELS] for label in (0, 1)]
    return sum((len(part) - 1) * part.var(axis=0, ddof=1) for part in parts) / DEGREES


@pytest.mark.parametrize("value", [1e-8, 1e-3, 0.1, 1.0, 5.0, 300.0, 1e6, 1e9])
def test_trigamma_inverse(value):
    assert special.polygamma(1, trigamma_inverse(value)) == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize(("d0", "s0"), [(4.0, 1.0), (12.0, 0.3)])
def test_the_prior_is_recovered(d0, s0):
    rng = np.random.default_rng(1)
    found = variance_prior(s0**2 * rng.f(DEGREES, d0, size=40_000), DEGREES)
    assert found.degrees == pytest.approx(d0, rel=0.1)
    assert found.variance == pytest.approx(s0**2, rel=0.03)


def test_the_prior_is_near_the_most_likely_one():
    variances = 2.0 * np.random.default_rng(2).f(DEGREES, 6.0, size=5000)
    found = variance_prior(variances, DEGREES)

    def surprise(logs):
        d0, scale = np.exp(logs)
        return -np.sum(stats.f.logpdf(variances, DEGREES, d0, scale=scale))

    d0, scale = np.exp(optimize.minimize(surprise, [1.0, 0.0], method="Nelder-Mead").x)
    assert found.degrees == pytest.approx(d0, rel=0.15)
    assert found.variance == pytest.approx(scale, rel=0.03)


def test_the_prior_has_the_moments_of_the_log_variances():
    """The two equations of Smyth (2004, section 6.2), solved by bisection."""
    variances = pooled_variances(simulate(80, 5.0, 2.0))
    spread = np.log(variances).var(ddof=1)
    half = optimize.brentq(
        lambda h: special.polygamma(1, h) + special.polygamma(1, DEGREES / 2) - spread, 0.1, 100
    )
    found = variance_prior(variances, DEGREES)
    assert found.degrees == pytest.approx(2 * half, rel=1e-8)
    # E log F(d, d₀) = log d₀/d + ψ(d/2) - ψ(d₀/2)
    mean = math.log(half / (DEGREES / 2)) + special.psi(DEGREES / 2) - special.psi(half)
    assert math.log(found.variance) == pytest.approx(np.log(variances).mean() - mean, rel=1e-8)


def test_moderated_t_from_the_pieces():
    X = simulate(60, 5.0, 2.0, n_shifted=3)
    variances = pooled_variances(X)
    prior = variance_prior(variances, DEGREES)
    expected = []
    for column, variance in zip(X.T, variances, strict=True):
        drawn = (prior.degrees * prior.variance + DEGREES * variance) / (prior.degrees + DEGREES)
        difference = column[LABELS == 1].mean() - column[LABELS == 0].mean()
        expected.append(abs(difference) / math.sqrt(drawn * (1 / 7 + 1 / 9)))
    np.testing.assert_allclose(moderated_t(X), expected, rtol=1e-10)


def test_hsic_form():
    """Divided by its moderated standard error, a column's centroid is the moderated t."""
    from depmax import hsic
    from depmax.kernels import ClassBalanced

    X = simulate(30, 5.0, 2.0, n_shifted=3)
    variances = pooled_variances(X)
    drawn = variance_prior(variances, DEGREES).posterior(variances, DEGREES)
    scaled = X / np.sqrt(drawn * (1 / 7 + 1 / 9))
    options = {"kernel": "linear", "target_kernel": ClassBalanced(), "unbiased": False}
    found = [hsic(column, LABELS, **options) for column in scaled.T]
    m = len(LABELS)
    np.testing.assert_allclose(found, (m / (m - 1) * moderated_t(X)) ** 2, rtol=1e-9)


def test_without_a_prior_it_is_the_pooled_t():
    """One column tells nothing about a prior, wildly different variances almost nothing."""
    X = simulate(40, 5.0, 2.0, n_shifted=3)
    pooled = np.abs(stats.ttest_ind(X[LABELS == 0], X[LABELS == 1]).statistic)
    assert moderated_t(X[:, :1])[0] == pytest.approx(pooled[0], rel=1e-12)
    assert moderated(X[:, :1]).prior.degrees == 0
    wild = X * np.logspace(-2, 2, 40)
    assert moderated(wild).prior.degrees < 1
    np.testing.assert_allclose(moderated_t(wild)[20:], pooled[20:], rtol=0.05)


def test_with_one_variance_for_all_it_is_z():
    X = simulate(40, 5.0, 2.0, n_shifted=3)
    X *= 3.0 / np.sqrt(pooled_variances(X))
    assert moderated(X).prior == VariancePrior(math.inf, pytest.approx(9.0))
    difference = X[LABELS == 1].mean(axis=0) - X[LABELS == 0].mean(axis=0)
    z = np.abs(difference) / (3.0 * math.sqrt(1 / 7 + 1 / 9))
    np.testing.assert_allclose(moderated_t(X), z, rtol=1e-10)


def odds_by_densities(t, growth, law):
    """Log odds of the law widened by √growth against the law, one column in a hundred."""
    wide = law.logpdf(t / np.sqrt(growth)) - 0.5 * np.log(growth)
    return np.log(0.01 / 0.99) + wide - law.logpdf(t)


@pytest.mark.parametrize("n_shifted", [0, 1, 4])
def test_log_odds_are_a_ratio_of_densities(n_shifted):
    """With up to 200 columns only the largest statistic tells how wide the mixture is."""
    X = simulate(120, 5.0, 1.5, n_shifted=n_shifted)
    found = moderated(X)
    t, unscaled = np.abs(found.statistics), 1 / 7 + 1 / 9
    law = stats.t(DEGREES + found.prior.degrees)

    def surplus(growth):
        """Chance of a statistic as large as the largest, less its plotting position 0.5/n."""
        wide = 2 * law.sf(t.max() / np.sqrt(growth))
        return 0.01 * wide + 0.99 * 2 * law.sf(t.max()) - 0.5 / 120

    low, high = (1 + limit**2 / found.prior.variance / unscaled for limit in (0.1, 4.0))
    if surplus(low) > 0:
        growth = low
    elif surplus(high) < 0:
        growth = high
    else:
        growth = optimize.brentq(surplus, low, high, xtol=1e-13)
    expected = odds_by_densities(t, growth, law)
    np.testing.assert_allclose(lods(X), expected, rtol=1e-6)


def test_log_odds_with_known_variance_come_from_the_normal_law():
    X = simulate(40, 5.0, 2.0, n_shifted=3)
    X *= 3.0 / np.sqrt(pooled_variances(X))
    found, t = lods(X), moderated_t(X)
    slope = np.diff(found) / np.diff(t**2)  # ½(1 - 1/growth): B = a + bt̃² in the paper
    np.testing.assert_allclose(slope, slope[0], rtol=1e-6)
    growth = 1 / (1 - 2 * slope[0])
    np.testing.assert_allclose(found, odds_by_densities(t, growth, stats.norm), rtol=1e-6)


def test_log_odds_rank_as_the_moderated_t():
    X = simulate(300, 3.0, 1.0, n_shifted=5)
    np.testing.assert_array_equal(np.argsort(lods(X)), np.argsort(moderated_t(X)))


def test_degenerate_columns():
    """Constant columns do not enter the prior; columns constant within classes stay finite."""
    X = simulate(30, 5.0, 2.0)
    wide = np.column_stack([X, np.full(len(X), 0.1)])
    np.testing.assert_allclose(moderated_t(wide)[:-1], moderated_t(X))
    assert moderated_t(wide)[-1] == 0
    assert lods(wide).argmin() == 30
    separate = np.column_stack([X, LABELS])
    assert np.isfinite(lods(separate)).all()
    assert np.isfinite(lods(np.column_stack([LABELS, LABELS]))).all()
