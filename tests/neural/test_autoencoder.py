"""Autoencoder: PCA as its linear case, deeper ones, noise, targets."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

torch = pytest.importorskip("torch", reason="torch is not installed: run make test-neural")

from depmax.neural import Autoencoder, FullBatch, MiniBatch  # noqa: E402  (after torch is known to be there)

QUICK = FullBatch(max_iter=8, n_hops=0)
rng = np.random.default_rng(0)
X = rng.normal(size=(80, 5)) @ rng.normal(size=(5, 5))
ANGLE = rng.uniform(0.0, 3.0, size=120)
CURVE = np.column_stack([np.cos(ANGLE), np.sin(ANGLE)]) + 0.02 * rng.normal(size=(120, 2))


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


def test_pretraining_trains_every_layer():
    settings = {"hidden_layers": (6, 4), "solver": FullBatch(max_iter=10, n_hops=0)}
    greedy = Autoencoder(2, random_state=0, **settings).fit(X)
    plain = Autoencoder(2, random_state=0, pretraining=False, **settings).fit(X)
    assert greedy.n_iter_ > 3 * plain.n_iter_ - 5
    assert greedy.loss_ < plain.loss_ * 1.5


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


def test_files(tmp_path):
    model = Autoencoder(2, hidden_layers=(4,), solver=QUICK, random_state=0).fit(X)
    model.save(tmp_path / "model.npz")
    again = Autoencoder.load(tmp_path / "model.npz")
    features = model.transform(X)
    np.testing.assert_array_equal(again.transform(X), features)
    np.testing.assert_array_equal(
        again.inverse_transform(features), model.inverse_transform(features)
    )
