"""Autoencoder: PCA as its linear case, deeper ones, noise, targets."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import linalg
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

torch = pytest.importorskip("torch", reason="torch is not installed: run make test-neural")

from depmax.neural import Autoencoder, FullBatch, MiniBatch

QUICK = FullBatch(max_iter=8, n_hops=0)
rng = np.random.default_rng(0)
X = rng.normal(size=(80, 5)) @ rng.normal(size=(5, 5))
ANGLE = rng.uniform(0.0, 3.0, size=120)
CURVE = np.column_stack([np.cos(ANGLE), np.sin(ANGLE)]) + 0.02 * rng.normal(size=(120, 2))


#: Few steps, or noise, are worse than PCA and say so.
worse_than_pca = pytest.mark.filterwarnings("ignore:Autoencoder reconstructs X no better")


@worse_than_pca
@parametrize_with_checks(
    [
        Autoencoder(1, hidden_layers=(4,), solver=QUICK, random_state=0),
        Autoencoder(1, supervised=True, solver=QUICK, random_state=0),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_linear_autoencoder_spans_the_principal_components():
    scaled = StandardScaler().fit_transform(X)
    solver = FullBatch(max_iter=500, n_hops=0)
    model = Autoencoder(2, activation="linear", solver=solver, random_state=0).fit(X)
    principal = PCA(2).fit(scaled)
    angles = linalg.subspace_angles(model.transform(X), principal.transform(scaled))
    assert angles.max() < 1e-2
    rest = ((scaled - principal.inverse_transform(principal.transform(scaled))) ** 2).mean()
    assert model.loss_ == pytest.approx(rest, rel=1e-3)
    rebuilt = principal.inverse_transform(principal.transform(scaled))
    mine = model.inverse_transform(model.transform(X))
    expected = rebuilt * X.std(axis=0) + X.mean(axis=0)
    np.testing.assert_allclose(mine, expected, atol=0.05 * np.abs(X).max())


def test_a_curve_needs_hidden_layers():
    solver = FullBatch(max_iter=150, n_hops=0)
    line = Autoencoder(1, activation="linear", solver=solver, random_state=0).fit(CURVE)
    curved = Autoencoder(1, hidden_layers=(8,), solver=solver, random_state=0).fit(CURVE)
    assert curved.loss_ < 0.3 * line.loss_


def reconstruction_by_pca(rows: np.ndarray, count: int) -> float:
    scaled = StandardScaler().fit_transform(rows)
    principal = PCA(count).fit(scaled)
    return float(((scaled - principal.inverse_transform(principal.transform(scaled))) ** 2).mean())


class TestDeep:
    wine = load_wine().data

    @pytest.mark.slow
    @pytest.mark.parametrize(("tied", "share"), [(False, 0.75), (True, 1.0)])
    @pytest.mark.parametrize("activation", ["tanh", "relu"])
    def test_better_than_principal_components(self, activation, tied, share):
        model = Autoencoder(
            2, hidden_layers=(10,), activation=activation, tied_weights=tied, random_state=0
        ).fit(self.wine)
        assert model.loss_ < share * reconstruction_by_pca(self.wine, 2)
        assert (model.transform(self.wine).std(axis=0) > 1e-2).all()

    def test_the_best_start_is_kept(self):
        solver = FullBatch(max_iter=40, n_hops=0)
        settings = {"hidden_layers": (6,), "solver": solver, "random_state": 0}
        losses = [Autoencoder(1, n_init=n, **settings).fit(CURVE).loss_ for n in (1, 2, 5)]
        assert losses == sorted(losses, reverse=True)
        assert losses[2] < losses[0]

    def test_many_rows(self):
        angle = np.random.default_rng(2).uniform(0.0, 4.0, size=1200)
        rows = np.column_stack([np.cos(angle), np.sin(angle)])
        model = Autoencoder(1, hidden_layers=(8,), random_state=0).fit(rows)
        assert model.loss_ < 0.3 * reconstruction_by_pca(rows, 1)

    def test_a_loss_that_is_not_below_that_of_pca_is_told(self):
        settings = {"hidden_layers": (6, 4), "random_state": 0, "n_init": 1}
        with pytest.warns(ConvergenceWarning, match="no better than 2 principal") as said:
            model = Autoencoder(2, solver=FullBatch(max_iter=2, n_hops=0), **settings).fit(X)
        assert f"{reconstruction_by_pca(X, 2):.4g}" in str(said[0].message)
        assert model.loss_ > reconstruction_by_pca(X, 2)

    def test_a_constant_feature_is_told(self):
        with pytest.warns(ConvergenceWarning, match=r"n_components=2 .* Autoencoder"):
            model = Autoencoder(
                2, hidden_layers=(4,), weight_decay=100.0, solver=QUICK, random_state=0
            ).fit(X)
        assert model.transform(X).std() < 1e-3

    def test_a_start_without_constant_features_is_preferred(self):
        """Of ReLU networks some units never respond: other starts do."""
        single = {"hidden_layers": (16, 8), "activation": "relu", "solver": QUICK, "n_init": 1}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            one = [Autoencoder(2, random_state=seed, **single).fit(X) for seed in range(12)]
            many = [
                Autoencoder(2, random_state=seed, **{**single, "n_init": 6}).fit(X)
                for seed in range(4)
            ]
        assert any((model.transform(X).std(axis=0) < 1e-6).any() for model in one)
        assert all((model.transform(X).std(axis=0) > 1e-6).all() for model in many)


@worse_than_pca
def test_noise_and_minibatches():
    solver = MiniBatch(learning_rate=1e-2, batch_size=16, max_epochs=30)
    model = Autoencoder(2, noise=0.3, solver=solver, random_state=0, validation_fraction=0.2)
    assert model.fit(X).loss_ < 0.9
    full = Autoencoder(2, noise=0.3, solver=QUICK, random_state=0)
    np.testing.assert_array_equal(full.fit_transform(X), full.fit_transform(X))


def test_supervised_features_predict():
    y = X[:, 0] ** 2 + X[:, 1]
    solver = FullBatch(max_iter=100, n_hops=0)
    model = Autoencoder(2, hidden_layers=(8,), supervised=True, solver=solver, random_state=0)
    assert model.fit(X, y).loss_ < 0.1
    assert model.fit(X, np.where(y > 0, "up", "down")).loss_ < 0.3
    assert not hasattr(model, "inverse_transform")
    with pytest.raises(ValueError, match="one class only"):
        model.fit(X, np.zeros(80))
