"""Gaussian information against determinants of covariance matrices."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from depmax.dependence.gaussian_information import gaussian_mutual_information, total_correlation


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3))
    return X, X[:, :2] + rng.normal(size=(60, 2))


def log_determinant(C):
    return np.linalg.slogdet(np.atleast_2d(C))[1]


def definition(X, Y):
    C = np.cov(np.hstack([X, Y]).T)
    d = X.shape[1]
    return 0.5 * (log_determinant(C[:d, :d]) + log_determinant(C[d:, d:]) - log_determinant(C))


def test_equals_the_definition(data):
    X, Y = data
    assert gaussian_mutual_information(X, Y) == pytest.approx(definition(X, Y), rel=1e-11)
    correlations = np.corrcoef(X.T)
    expected = -0.5 * np.log(np.linalg.det(correlations))
    assert total_correlation(X) == pytest.approx(expected, rel=1e-11)


def test_one_column_each_is_a_function_of_the_correlation(data):
    x, y = data[0][:, 0], data[1][:, 0]
    expected = -0.5 * np.log(1 - np.corrcoef(x, y)[0, 1] ** 2)
    assert gaussian_mutual_information(x, y) == pytest.approx(expected, rel=1e-12)
    assert total_correlation(np.column_stack([x, y])) == pytest.approx(expected, rel=1e-12)


def test_total_correlation_is_a_chain_of_mutual_informations(data):
    X, _ = data
    chain = gaussian_mutual_information(X[:, 0], X[:, 1])
    chain += gaussian_mutual_information(X[:, :2], X[:, 2])
    assert total_correlation(X) == pytest.approx(chain, rel=1e-11)


def test_population_value():
    rng = np.random.default_rng(0)
    x = rng.normal(size=20_000)
    y = x + rng.normal(size=20_000)
    assert gaussian_mutual_information(x, y) == pytest.approx(0.5 * np.log(2), abs=0.01)


def test_order_and_affine_maps_change_nothing(data):
    X, Y = data
    rng = np.random.default_rng(1)
    order = rng.permutation(len(X))
    expected = gaussian_mutual_information(X, Y)
    assert gaussian_mutual_information(X[order], Y[order]) == pytest.approx(expected, rel=1e-11)
    assert gaussian_mutual_information(Y, X) == pytest.approx(expected, rel=1e-11)
    mixed = X @ rng.normal(size=(3, 3)) + 100.0
    assert gaussian_mutual_information(mixed, Y) == pytest.approx(expected, rel=1e-9)
    scaled = X * np.array([1e-12, 1.0, 1e12])
    assert gaussian_mutual_information(scaled, Y) == pytest.approx(expected, rel=1e-11)
    total = total_correlation(X)
    assert total_correlation(scaled + 5.0 * scaled.std(axis=0)) == pytest.approx(total, rel=1e-9)
    assert total_correlation(X[order][:, ::-1]) == pytest.approx(total, rel=1e-11)


def test_small_and_large_correlations_keep_their_digits():
    x = np.arange(-50.0, 51.0)
    noise = np.abs(x) - np.abs(x).mean()  # exactly uncorrelated with x
    for share in (1e-6, 1e6):
        y = noise + share * x
        ratio = (share**2 * x @ x) / (noise @ noise)  # ρ²/(1 - ρ²)
        expected = 0.5 * np.log1p(ratio)
        assert gaussian_mutual_information(x, y) == pytest.approx(expected, rel=1e-8)


def test_the_rank_counts(data):
    X, Y = data
    expected = gaussian_mutual_information(X, Y)
    doubled = np.hstack([X, X @ np.ones((3, 1)), np.full((60, 1), 0.1)])
    assert gaussian_mutual_information(doubled, Y) == pytest.approx(expected, rel=1e-9)
    wide = X @ np.random.default_rng(2).normal(size=(3, 200))  # 200 columns of rank 3
    assert gaussian_mutual_information(wide, Y) == pytest.approx(expected, rel=1e-9)


def test_labels_count_as_indicators(data):
    X, _ = data
    labels = np.repeat(list("abc"), 20)
    indicators = (labels[:, None] == np.array(list("ab"))).astype(float)  # the third is redundant
    expected = definition(X, indicators)
    assert gaussian_mutual_information(X, labels) == pytest.approx(expected, rel=1e-10)
    frame = pd.DataFrame({"u": X[:, 0], "c": pd.Categorical(labels)})
    expected = definition(np.column_stack([X[:, 0], indicators]), X[:, 1:])
    assert gaussian_mutual_information(frame, X[:, 1:]) == pytest.approx(expected, rel=1e-10)


def test_sparse_rows(data):
    X, Y = data
    rows = sparse.csr_matrix(X)
    expected = gaussian_mutual_information(X, Y)
    assert gaussian_mutual_information(rows, Y) == pytest.approx(expected, rel=1e-11)
    assert total_correlation(rows) == pytest.approx(total_correlation(X), rel=1e-11)


def test_zero_for_a_constant(data):
    X, _ = data
    assert gaussian_mutual_information(X, np.full(60, 0.1)) == 0.0
    assert gaussian_mutual_information(np.full((60, 2), 1e8 / 3), X) == 0.0
    assert total_correlation(np.full((60, 2), 0.1)) == 0.0
    assert total_correlation(X[:, :1]) == 0.0
    padded = np.column_stack([X, np.full(60, 0.1)])
    assert total_correlation(padded) == pytest.approx(total_correlation(X), rel=1e-12)


def test_infinite_for_linear_functions(data):
    X, Y = data
    assert gaussian_mutual_information(X, X @ [1.0, 2.0, 3.0]) == math.inf
    assert gaussian_mutual_information(X, np.column_stack([Y, X[:, 0] - 5])) == math.inf
    assert total_correlation(np.column_stack([X, X @ [1.0, 2.0, 3.0]])) == math.inf
    assert total_correlation(X[:3]) == math.inf  # no more samples than columns


def test_too_few_samples_are_refused():
    X = np.random.default_rng(0).normal(size=(10, 9))
    with pytest.raises(ValueError, match="X with rank 9 and y"):
        gaussian_mutual_information(X, np.arange(10.0))
    assert np.isfinite(gaussian_mutual_information(X[:, :8], np.arange(10.0)))


def test_refusals(data):
    X, Y = data
    with pytest.raises(ValueError, match="inconsistent numbers"):
        gaussian_mutual_information(X, Y[:-1])
    with pytest.raises(ValueError, match="at least 2 samples"):
        total_correlation([[1.0, 2.0]])
    with pytest.raises(TypeError, match="column 'c' of X is categorical"):
        total_correlation(pd.DataFrame({"u": [1.0, 2.0], "c": pd.Categorical(["a", "b"])}))
