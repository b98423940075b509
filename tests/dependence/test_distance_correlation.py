"""Distance correlation against its definition, and against dcor where that is installed."""

import numpy as np
import pandas as pd
import pytest

from depmax.dependence.alignment import alignment
from depmax.dependence.distance_correlation import distance_correlation
from depmax.dependence.hsic import hsic
from depmax.kernels import Distance


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    return X, X[:, :2] ** 2 + rng.normal(size=(40, 2))


def distances(X, exponent):
    X = np.reshape(X, (len(X), -1))
    return np.linalg.norm(X[:, None] - X[None], axis=2) ** exponent


def double_centred(D):
    return D - D.mean(axis=0) - D.mean(axis=1)[:, None] + D.mean()


def u_centred(D):
    m = len(D)
    A = D - D.sum(axis=0) / (m - 2) - D.sum(axis=1)[:, None] / (m - 2)
    A += D.sum() / ((m - 1) * (m - 2))
    np.fill_diagonal(A, 0.0)
    return A


def definition(X, Y, unbiased, exponent):
    centre = u_centred if unbiased else double_centred
    A, B = centre(distances(X, exponent)), centre(distances(Y, exponent))
    squared = np.sum(A * B) / np.sqrt(np.sum(A**2) * np.sum(B**2))
    return squared if unbiased else np.sqrt(squared)


@pytest.mark.parametrize("exponent", [1.0, 0.5, 1.7, 2.0])
@pytest.mark.parametrize("unbiased", [True, False])
def test_equals_the_definition(data, unbiased, exponent):
    found = distance_correlation(*data, unbiased=unbiased, exponent=exponent)
    assert found == pytest.approx(definition(*data, unbiased, exponent), rel=1e-12)


@pytest.mark.parametrize("exponent", [1.0, 1.5])
@pytest.mark.parametrize("shape", [(50,), (50, 1), (200, 4)])
def test_equals_dcor(shape, exponent):
    dcor = pytest.importorskip("dcor", reason="a peer, which CI does not install")
    rng = np.random.default_rng(1)
    x = rng.normal(size=shape)
    for y in (rng.normal(size=shape), x + 0.5 * rng.normal(size=shape), np.round(x, 1)):
        found = distance_correlation(x, y, exponent=exponent)
        assert found == pytest.approx(dcor.distance_correlation(x, y, exponent=exponent), abs=1e-12)
        found = distance_correlation(x, y, unbiased=True, exponent=exponent)
        expected = dcor.u_distance_correlation_sqr(x, y, exponent=exponent)
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("unbiased", [True, False])
def test_is_hsic_with_the_distance_kernel(data, unbiased):
    X, Y = data
    options = {"kernel": Distance(), "target_kernel": Distance(), "unbiased": unbiased}
    squared = hsic(X, Y, **options) / np.sqrt(hsic(X, X, **options) * hsic(Y, Y, **options))
    found = distance_correlation(X, Y, unbiased=unbiased)
    assert found == pytest.approx(squared if unbiased else np.sqrt(squared), rel=1e-9)
    if not unbiased:
        aligned = alignment(X, Y, kernel="distance", target_kernel="distance")
        assert found**2 == pytest.approx(aligned, rel=1e-9)


def test_four_times_hsic_is_the_squared_distance_covariance(data):
    X, Y = data
    m = len(X)
    A, B = double_centred(distances(X, 1.0)), double_centred(distances(Y, 1.0))
    value = hsic(X, Y, kernel=Distance(), target_kernel=Distance(), unbiased=False)
    assert 4 * value * ((m - 1) / m) ** 2 == pytest.approx(np.mean(A * B), rel=1e-10)


@pytest.mark.parametrize("unbiased", [True, False])
def test_order_scale_shift_and_rotation(data, unbiased):
    X, Y = data
    rng = np.random.default_rng(1)
    expected = distance_correlation(X, Y, unbiased=unbiased)
    order = rng.permutation(len(X))
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    for moved in (3.0 * X, X + 100.0, X @ rotation, -X):
        found = distance_correlation(moved, Y, unbiased=unbiased)
        assert found == pytest.approx(expected, rel=1e-10)
    found = distance_correlation(X[order], Y[order], unbiased=unbiased)
    assert found == pytest.approx(expected, rel=1e-12)
    assert distance_correlation(Y, X, unbiased=unbiased) == pytest.approx(expected, rel=1e-12)


def test_one_for_a_linear_function_and_pearson_at_exponent_two(data):
    x, y = data[0][:, 0], data[1][:, 0]
    assert distance_correlation(x, 2.0 - 3.0 * x) == pytest.approx(1.0, rel=1e-12)
    pearson = abs(np.corrcoef(x, y)[0, 1])
    assert distance_correlation(x, y, exponent=2) == pytest.approx(pearson, rel=1e-12)


def test_bias_corrected_is_around_zero_under_independence():
    rng = np.random.default_rng(0)
    values = [distance_correlation(*rng.normal(size=(2, 20)), unbiased=True) for _ in range(300)]
    assert abs(np.mean(values)) < 3 * np.std(values) / np.sqrt(300)
    assert min(values) < 0


def test_labels_count_as_signs_or_indicators(data):
    X, _ = data
    two = np.where(X[:, 0] > 0, "yes", "no")
    assert distance_correlation(X, two) == distance_correlation(
        X, np.where(two == "yes", 1.0, -1.0)
    )
    three = np.repeat(list("abca"), 10)
    indicators = (three[:, None] == np.array(list("abc"))).astype(float)
    assert distance_correlation(X, three) == pytest.approx(distance_correlation(X, indicators))


def test_refusals(data):
    X, Y = data
    with pytest.raises(ValueError, match=r"exponent .*\(0, 2\].* 2.5"):
        distance_correlation(X, Y, exponent=2.5)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        distance_correlation(X, Y[:-1])
    with pytest.raises(ValueError, match=r"unbiased .* 4 samples"):
        distance_correlation(X[:3], Y[:3], unbiased=True)
    with pytest.raises(TypeError, match="categorical column 'c'"):
        distance_correlation(
            pd.DataFrame({"c": pd.Categorical(list("abab"))}), [1.0, 2.0, 3.0, 4.0]
        )
