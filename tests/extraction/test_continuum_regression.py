"""Continuum regression: its criterion against a search, and the methods at its ends."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression

from depmax import DeflationFeatures, KernelPLS, load_model, save_model
from depmax.extraction import ContinuumRegression
from depmax.kernels import Gaussian

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 5)) * [4.0, 2.0, 1.0, 0.5, 0.2] @ np.linalg.qr(rng.normal(size=(5, 5)))[0]
y = X @ rng.normal(size=5) + 0.3 * rng.normal(size=80)
Y = np.column_stack([y, X @ rng.normal(size=5) + rng.normal(size=80)])


def first(alpha: float, target: np.ndarray = y, rows: np.ndarray = X, **options) -> np.ndarray:
    model = DeflationFeatures(1, criterion=ContinuumRegression(alpha), **options)
    return model.fit(rows, target).components_[0]


def value(u: np.ndarray, alpha: float, target: np.ndarray, rows: np.ndarray = X) -> float:
    """log of ‖YᵀXu‖²(uᵀXᵀXu)^(α/(1-α) - 1) for u of length 1."""
    centred, others = rows - rows.mean(axis=0), target - target.mean(axis=0)
    image = centred @ (u / np.linalg.norm(u))
    power = alpha / (1.0 - alpha) - 1.0
    return float(np.log(np.sum((others.T @ image) ** 2)) + power * np.log(image @ image))


def searched(alpha: float, target: np.ndarray, rows: np.ndarray = X) -> float:
    """The largest value from many starts."""
    starts = np.random.default_rng(1).normal(size=(40, rows.shape[1]))
    return max(
        -optimize.minimize(lambda u: -value(u, alpha, target, rows), start, tol=1e-12).fun
        for start in starts
    )


@pytest.mark.parametrize("target", [y, Y], ids=["one target", "two targets"])
@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.45, 0.55, 0.7, 0.9, 0.97])
def test_no_direction_has_a_larger_value(alpha: float, target: np.ndarray) -> None:
    u = first(alpha, target)
    assert np.linalg.norm(u) == pytest.approx(1.0)
    assert value(u, alpha, target) >= searched(alpha, target) - 1e-7


def test_an_axis_without_covariance_is_leant_on_where_its_variance_pays(rng) -> None:
    axes = np.linalg.qr(np.column_stack([np.ones(60), rng.normal(size=(60, 3))]))[0][:, 1:]
    rows, target = axes * [10.0, 1.0, 0.5], axes[:, 1] + axes[:, 2]
    u = first(0.9, target, rows)
    assert abs(u[0]) > 0.9
    assert value(u, 0.9, target, rows) >= searched(0.9, target, rows) - 1e-7


class TestEnds:
    def test_zero_is_least_squares_and_ends_there(self) -> None:
        with pytest.warns(ConvergenceWarning):
            model = DeflationFeatures(3, criterion=ContinuumRegression(0.0)).fit(X, y)
        expected = LinearRegression().fit(X, y).coef_
        assert model.n_components_ == 1
        found = model.components_[0] * np.sign(model.components_[0] @ expected)
        np.testing.assert_allclose(found, expected / np.linalg.norm(expected), atol=1e-8)

    @pytest.mark.parametrize("target", [y, Y], ids=["one target", "two targets"])
    def test_a_half_is_partial_least_squares(self, target: np.ndarray) -> None:
        model = DeflationFeatures(3, criterion=ContinuumRegression(0.5)).fit(X, target)
        expected = KernelPLS(3, kernel="linear").fit_transform(X, target)
        found = model.transform(X)
        flips = np.sign((found * expected).sum(axis=0))
        expected *= np.linalg.norm(found, axis=0) / np.linalg.norm(expected, axis=0)
        np.testing.assert_allclose(found * flips, expected, atol=1e-7)

    def test_one_is_principal_components_and_so_is_nearly_one(self) -> None:
        expected = PCA(3).fit_transform(X)
        for alpha, tol in ((1.0, 1e-8), (1.0 - 1e-7, 1e-3)):
            found = DeflationFeatures(3, criterion=ContinuumRegression(alpha)).fit_transform(X, y)
            flips = np.sign((found * expected).sum(axis=0))
            np.testing.assert_allclose(found * flips, expected, atol=tol)


@pytest.mark.parametrize("alpha", [0.0, 0.2, 0.5, 0.8])
def test_dual_is_primal(alpha: float) -> None:
    count = 1 if alpha == 0.0 else 3
    models = [
        DeflationFeatures(count, criterion=ContinuumRegression(alpha), dual=dual).fit(X, y)
        for dual in (False, True)
    ]
    np.testing.assert_allclose(models[0].transform(X), models[1].transform(X), atol=1e-6)


def test_more_columns_than_rows_kernels_and_files(tmp_path, rng) -> None:
    wide = rng.normal(size=(20, 60))
    u = first(0.0, wide[:, 0], wide)  # the shortest of those that explain all
    expected = LinearRegression().fit(wide, wide[:, 0]).coef_
    assert abs(u @ expected) / np.linalg.norm(expected) == pytest.approx(1.0)
    model = DeflationFeatures(2, criterion=ContinuumRegression(0.7), kernel=Gaussian(3.0))
    features = model.fit_transform(X, y > 0)
    assert abs(features[:, 0] @ features[:, 1]) < 1e-8
    save_model(model, tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))


def test_refusals() -> None:
    with pytest.raises(ValueError, match="alpha of ContinuumRegression"):
        ContinuumRegression(1.5)
    with pytest.raises(ValueError, match="requires y"):
        DeflationFeatures(1, criterion=ContinuumRegression(0.3)).fit(X)
