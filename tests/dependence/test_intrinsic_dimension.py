"""Intrinsic dimension against its formulas in plain loops, and on sets of known dimension."""

import importlib

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_swiss_roll

from depmax.dependence.intrinsic_dimension import intrinsic_dimension

module = importlib.import_module("depmax.dependence.intrinsic_dimension")

METHODS = ["mle", "correlation"]


def cube(n_dimensions, n_rows=3000, n_columns=10, seed=0):
    """Uniform rows of a cube, turned into a space of more columns without changing distances."""
    rng = np.random.default_rng(seed)
    frame = np.linalg.qr(rng.normal(size=(n_columns, n_dimensions)))[0]
    return rng.uniform(size=(n_rows, n_dimensions)) @ frame.T


def slow_likelihood(X, fewest, most):
    estimates = []
    for k in range(fewest, most + 1):
        inverses = []
        for row in X:
            T = np.sort(np.linalg.norm(X - row, axis=1))[1 : k + 1]
            inverses.append(sum(np.log(T[-1] / T[j]) for j in range(k - 1)) / (k - 1))
        estimates.append(1 / np.mean(inverses))
    return np.mean(estimates)


@pytest.mark.parametrize("neighbours", [(10, 20), (2, 5), 7])
def test_likelihood_equals_the_formula(neighbours):
    X = cube(3, n_rows=80)
    bounds = (neighbours, neighbours) if isinstance(neighbours, int) else neighbours
    found = intrinsic_dimension(X, n_neighbors=neighbours)
    assert found == pytest.approx(slow_likelihood(X, *bounds), rel=1e-10)


def test_correlation_is_the_slope_of_the_correlation_integral():
    X = cube(2, n_rows=400)
    i, j = np.triu_indices(400, 1)
    distances = np.linalg.norm(X[i] - X[j], axis=1)
    radii = np.quantile(distances, np.geomspace(0.001, 0.01, 20))
    integral = [np.mean(distances < radius) for radius in radii]  # C(r) of the thesis
    slope = np.polyfit(np.log(radii), np.log(integral), 1)[0]
    assert intrinsic_dimension(X, "correlation") == pytest.approx(slope, rel=0.01)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("n_dimensions", "tolerance"), [(1, 0.03), (2, 0.1), (3, 0.2), (4, 0.35), (5, 0.6)]
)
def test_cubes(method, n_dimensions, tolerance):
    found = intrinsic_dimension(cube(n_dimensions), method)
    assert abs(found - n_dimensions) < tolerance
    assert round(found) == n_dimensions or n_dimensions == 5


@pytest.mark.parametrize("method", METHODS)
def test_swiss_roll(method):
    X, _ = make_swiss_roll(2000, noise=0.0, random_state=0)
    assert intrinsic_dimension(X, method) == pytest.approx(2.0, abs=0.15)


@pytest.mark.parametrize("method", METHODS)
def test_order_shift_scale_and_rotation(method):
    X = cube(2, n_rows=500)
    rng = np.random.default_rng(1)
    expected = intrinsic_dimension(X, method)
    assert intrinsic_dimension(X, method) == expected
    rotation = np.linalg.qr(rng.normal(size=(10, 10)))[0]
    for moved in (rng.permutation(X), X + 1000.0, 1e-3 * X, X @ rotation):
        assert intrinsic_dimension(moved, method) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_equal_rows_count_once(method):
    X = cube(2, n_rows=500)
    repeated = np.vstack([X, X[:300], X[:300]])
    assert intrinsic_dimension(repeated, method) == intrinsic_dimension(X, method)


def test_close_rows_in_many_columns_keep_their_distances():
    # beyond 15 columns scikit-learn searches with squared distances by products
    X = cube(1, n_rows=300, n_columns=40)
    X[:150] = X[150:] + 1e-9 * (X[:150] - X[150:])
    assert 0.0 < intrinsic_dimension(X) < 1.0
    assert np.isfinite(intrinsic_dimension(X))


def test_beyond_the_limit_a_fixed_subset_of_rows_is_asked_for_neighbours(monkeypatch):
    X = cube(2, n_rows=1000)
    whole = intrinsic_dimension(X)
    monkeypatch.setattr(module, "LIKELIHOOD_ROWS", 400)
    part = intrinsic_dimension(X)
    assert part != whole
    assert part == intrinsic_dimension(X)
    assert part == pytest.approx(whole, abs=0.1)  # the neighbours are as close as before


def test_beyond_the_limit_a_fixed_subset_stands_for_all(monkeypatch):
    X = cube(2, n_rows=1000)
    whole = intrinsic_dimension(X, "correlation")
    monkeypatch.setattr(module, "CORRELATION_ROWS", 600)
    part = intrinsic_dimension(X, "correlation")
    assert part != whole
    assert part == intrinsic_dimension(X, "correlation")
    assert part == pytest.approx(whole, abs=0.25)


@pytest.mark.parametrize("method", METHODS)
def test_few_rows(method):
    found = intrinsic_dimension(cube(2, n_rows=60), method)
    assert found == pytest.approx(2.0, abs=0.6)


@pytest.mark.parametrize("method", METHODS)
def test_frames_and_single_precision(method):
    X = cube(2, n_rows=300)
    expected = intrinsic_dimension(X, method)
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(10)])
    assert intrinsic_dimension(frame, method) == expected
    found = intrinsic_dimension(X.astype(np.float32), method)
    assert found == pytest.approx(expected, rel=1e-3)


def test_refusals():
    X = cube(2, n_rows=30)
    with pytest.raises(ValueError, match="method must be 'mle'"):
        intrinsic_dimension(X, "pca")
    for wrong in (1, (5, 3), (2, 3, 4), (2.5, 4), "ten"):
        with pytest.raises(ValueError, match=r"n_neighbors .* at least 2"):
            intrinsic_dimension(X, n_neighbors=wrong)
    with pytest.raises(ValueError, match=r"21 distinct rows.*10"):
        intrinsic_dimension(np.vstack([X[:10], X[:10], X[:10]]))
    with pytest.raises(ValueError, match=r"20 distinct rows.*1"):
        intrinsic_dimension(np.ones((30, 2)), "correlation")
    with pytest.raises(TypeError, match="column 'c' of X is categorical"):
        intrinsic_dimension(pd.DataFrame({"c": pd.Categorical(list("ab"))}))
    with pytest.raises(TypeError, match=r"X\.toarray\(\)"):
        intrinsic_dimension(sparse.csr_matrix(X))
    with pytest.raises(ValueError, match="X contains NaN"):
        intrinsic_dimension(np.full((30, 2), np.nan))
    grid = np.array(np.meshgrid(np.arange(30.0), np.arange(30.0))).reshape(2, -1).T
    with pytest.raises(ValueError, match="equally far"):
        intrinsic_dimension(grid, n_neighbors=2)
    with pytest.raises(ValueError, match="equally far"):
        intrinsic_dimension(np.vstack([np.eye(50)]), "correlation")
