"""LinearRegressionFeature predicts as the regression that it stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge

from depmax import LinearRegressionFeature, scan
from depmax.algebra.graphs import as_graph
from depmax.algebra.points import VectorPoints
from depmax.kernels import Gaussian

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4)) + 2.0
y = X[:, 0] + np.sin(X[:, 1]) + 5.0
Y = np.column_stack([y, 100.0 * X[:, 2] ** 2])
NEW = rng.normal(size=(9, 4)) + 2.0


@pytest.mark.parametrize("target", [y, Y])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_ridge_regression(target: np.ndarray, alpha: float) -> None:
    model = LinearRegressionFeature(2, alpha=alpha).fit(X, target)
    penalty = alpha * X.var(axis=0).mean() * 60
    expected = Ridge(penalty) if alpha else LinearRegression()
    np.testing.assert_allclose(model.predict(NEW), expected.fit(X, target).predict(NEW), atol=1e-8)


def test_kernel_ridge_regression() -> None:
    kernel = Gaussian(3.0)
    K, H = kernel(X), np.eye(60) - 1 / 60
    values = np.linalg.eigvalsh(H @ K @ H) / 60
    penalty = 0.05 * values[values > 1e-10 * values.max()].mean() * 60
    model = LinearRegressionFeature(1, kernel=kernel, alpha=0.05).fit(X, y)
    ridge = KernelRidge(alpha=penalty, kernel="precomputed").fit(H @ K @ H, y - y.mean())
    np.testing.assert_allclose(model.predict(X), ridge.predict(H @ K @ H) + y.mean(), atol=1e-5)


@pytest.mark.parametrize("beta", [0.1, 0.7])
def test_laplacian_regularised_regression(beta: float) -> None:
    known = np.where(np.arange(60) < 25, y, np.nan)
    model = LinearRegressionFeature(1, beta=beta, alpha=0.0).fit(X, known)
    laplacian = as_graph("neighbors").laplacian(VectorPoints.of(X)).apply(np.eye(60))
    rows, all_rows = X[:25] - X[:25].mean(axis=0), X - X.mean(axis=0)
    variance, rough = rows.T @ rows / 25, all_rows.T @ laplacian @ all_rows
    price = beta / (1 - beta) * np.trace(variance) / np.trace(rough)
    weights = np.linalg.solve(variance + price * rough, rows.T @ (y[:25] - y[:25].mean()) / 25)
    expected = y[:25].mean() + (NEW - X[:25].mean(axis=0)) @ weights
    np.testing.assert_allclose(model.predict(NEW), expected, atol=1e-9)


def test_fewer_features_than_outputs_are_reduced_rank_regression() -> None:
    model = LinearRegressionFeature(1).fit(X, Y)
    assert model.predict(NEW).shape == (9, 2)
    scale = Y.std(axis=0)
    fit = LinearRegression().fit(X, Y / scale).predict(X) - (Y / scale).mean(axis=0)
    direction = np.linalg.svd(fit)[2][0]
    expected = (np.outer(fit @ direction, direction) + (Y / scale).mean(axis=0)) * scale
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-6)


def test_weights_count_rows(rng: np.random.Generator) -> None:
    weights = rng.integers(0, 4, size=60)
    repeated = np.repeat(np.arange(60), weights)
    found = LinearRegressionFeature(1).fit(X, y, sample_weight=weights)
    expected = LinearRegressionFeature(1).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(found.predict(NEW), expected.predict(NEW), atol=1e-9)


@pytest.mark.parametrize("target", [y, np.where(y > 5, "high", "low")])
def test_streams(target: Any) -> None:
    expected = LinearRegressionFeature(1).fit(X, target).predict(NEW)
    found = LinearRegressionFeature(1).fit(scan(X, target)).predict(NEW)
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, atol=1e-8)
    else:
        np.testing.assert_array_equal(found, expected)
