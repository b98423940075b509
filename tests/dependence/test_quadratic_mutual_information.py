"""Quadratic mutual information against numerical integration of the two densities."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from depmax.dependence.hsic import hsic
from depmax.dependence.quadratic_mutual_information import quadratic_mutual_information as qmi
from depmax.kernels import Delta, Gaussian


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=25)
    return x, x**2 + 0.3 * rng.normal(size=25)


def windows(values, h):
    """Grid, and the Parzen window of every value on it."""
    grid = np.linspace(values.min() - 9 * h, values.max() + 9 * h, 1201)
    return grid, stats.norm.pdf(grid, loc=values[:, None], scale=h)


def test_equals_the_integral_for_numbers(data):
    x, y = data
    (s, a), (t, b) = windows(x, 0.3), windows(y, 0.4)
    joint = a.T @ b / len(x)
    product = np.outer(a.mean(axis=0), b.mean(axis=0))
    inner = np.trapezoid((joint - product) ** 2, t, axis=1)
    expected = np.trapezoid(inner, s)
    assert qmi(x, y, bandwidth=0.3, target_bandwidth=0.4) == pytest.approx(expected, rel=1e-10)


def test_equals_the_integral_for_classes(data):
    x, _ = data
    labels = np.where(x > 0.3, "high", np.where(x < -0.3, "low", "middle"))
    grid, a = windows(x, 0.3)
    expected = 0.0
    for label in np.unique(labels):
        member = labels == label
        joint = a[member].sum(axis=0) / len(x)
        product = member.mean() * a.mean(axis=0)
        expected += np.trapezoid((joint - product) ** 2, grid)
    assert qmi(x, labels, bandwidth=0.3) == pytest.approx(expected, rel=1e-10)


def explicit(X, Y, h, g):
    """tr(κHνH)/m² with overlaps of windows written out."""

    def overlaps(Z, width):
        squares = np.sum((Z[:, None] - Z[None]) ** 2, axis=2)
        peak = (4 * np.pi * width**2) ** (-Z.shape[1] / 2)
        return peak * np.exp(-squares / (4 * width**2))

    m = len(X)
    H = np.eye(m) - 1 / m
    return np.trace(overlaps(X, h) @ H @ overlaps(Y, g) @ H) / m**2


def test_several_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    Y = X[:, :2] * X[:, 2:] + 0.1 * rng.normal(size=(30, 2))
    found = qmi(X, Y, bandwidth=0.7, target_bandwidth=0.9)
    assert found == pytest.approx(explicit(X, Y, 0.7, 0.9), rel=1e-11)


def test_silverman_is_the_default(data):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(25, 3)) * [1.0, 2.0, 3.0]
    y = data[1]

    def silverman(Z):
        m, d = Z.shape
        return np.sqrt(Z.var(axis=0, ddof=1).mean()) * (4 / ((d + 2) * m)) ** (1 / (d + 4))

    expected = explicit(X, y[:, None], silverman(X), silverman(y[:, None]))
    assert qmi(X, y) == pytest.approx(expected, rel=1e-11)


def test_is_hsic_with_window_overlaps(data):
    x, y = data
    m = len(x)
    options = {"kernel": Gaussian(0.3 * np.sqrt(2)), "target_kernel": Gaussian(0.4 * np.sqrt(2))}
    peaks = 1 / (4 * np.pi * 0.3 * 0.4)
    expected = peaks * hsic(x, y, unbiased=False, **options) * ((m - 1) / m) ** 2
    assert qmi(x, y, bandwidth=0.3, target_bandwidth=0.4) == pytest.approx(expected, rel=1e-12)


def test_order_symmetry_shift_and_scale(data):
    x, y = data
    expected = qmi(x, y)
    order = np.random.default_rng(1).permutation(len(x))
    for pair in ((x[order], y[order]), (y, x), (x + 100, y), (-x, y)):
        assert qmi(*pair) == pytest.approx(expected, rel=1e-9)
    # a density has the unit 1/x, so do its square's integrals
    assert qmi(10 * x, y) == pytest.approx(expected / 10, rel=1e-11)
    X = np.column_stack([x, y])
    assert qmi(10 * X, y) == pytest.approx(qmi(X, y) / 100, rel=1e-11)


def test_grows_with_dependence_and_vanishes_for_a_balanced_design():
    x, y = (grid.ravel() for grid in np.meshgrid(np.arange(5.0), np.arange(6.0)))
    assert qmi(x, y) == pytest.approx(0.0, abs=1e-15)
    assert qmi(x, y) >= 0
    assert qmi(x, x) > 0.01


def test_a_bandwidth_makes_numbers_of_classes(data):
    x, _ = data
    codes = (x > 0).astype(int)
    found = qmi(x, codes, bandwidth=0.3, target_bandwidth=0.5)
    expected = explicit(x[:, None], codes[:, None].astype(float), 0.3, 0.5)
    assert found == pytest.approx(expected, rel=1e-11)
    assert qmi(x, codes, bandwidth=0.3) == qmi(x, codes == 1, bandwidth=0.3)


def test_every_combination_of_labels_is_a_class(data):
    x, _ = data
    rng = np.random.default_rng(0)
    several = rng.integers(0, 2, size=(25, 2))
    names = np.array([f"{a}{b}" for a, b in several])
    assert qmi(x, several) == pytest.approx(qmi(x, names), rel=1e-12)


def test_categorical_columns_are_summed_over(data):
    x, y = data
    labels = np.array(list("abcab") * 5)
    frame = pd.DataFrame({"u": x, "c": pd.Categorical(labels)})
    H = np.eye(25) - 1 / 25
    K = Gaussian(0.3 * np.sqrt(2))(x[:, None]) * Delta()(labels) / np.sqrt(4 * np.pi * 0.09)
    L = Gaussian(0.4 * np.sqrt(2))(y[:, None]) / np.sqrt(4 * np.pi * 0.16)
    expected = np.trace(K @ H @ L @ H) / 25**2
    found = qmi(frame, y, bandwidth=0.3, target_bandwidth=0.4)
    assert found == pytest.approx(expected, rel=1e-11)
    only = qmi(frame[["c"]], y, target_bandwidth=0.4)
    assert only == pytest.approx(np.trace(Delta()(labels) @ H @ L @ H) / 25**2, rel=1e-11)


def test_many_columns_leave_the_range_of_floats_quietly():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2000))
    assert qmi(X, X[:, 0]) == 0.0
    assert qmi(1e-3 * X, X[:, 0]) == np.inf


def test_refusals(data):
    x, y = data
    with pytest.raises(ValueError, match="target_bandwidth must be"):
        qmi(x, y, target_bandwidth=0.0)
    with pytest.raises(ValueError, match=r"bandwidth must be .* -1"):
        qmi(x, y, bandwidth=-1)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        qmi(x, y[:-1])
    with pytest.raises(ValueError, match="at least 2 samples"):
        qmi([[1.0]], [1.0], target_bandwidth=1.0)
