"""SMA and SMC against enumeration of all kernel columns."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from depmax import SMA, SMC, DeflationFeatures, load_model, save_model
from depmax.extraction.sparse_maximal import best_combination
from depmax.kernels import Gaussian, Spectrum
from tests.extraction.deflation_oracles import gaussian_gram, sparse_features

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.2 * rng.normal(size=40)
LABELS = np.digitize(y, [0.3, 1.2])
METHODS = {"sma": SMA, "smc": SMC}


@pytest.mark.parametrize("method", ["sma", "smc"])
class TestDefinition:
    @pytest.mark.parametrize("target", [y, LABELS, np.column_stack([y, X[:, 2]])])
    @pytest.mark.parametrize("center", [True, False])
    def test_one_sample_per_direction(self, method, target, center):
        model = METHODS[method](6, kernel=Gaussian(1.0), n_candidates=None, center=center)
        T = model.fit_transform(X, target)
        betas, features = sparse_features(gaussian_gram(X, 1.0), target, 6, method, center=center)
        np.testing.assert_array_equal(model.basis_indices_, np.abs(betas).argmax(axis=0))
        np.testing.assert_allclose(np.abs(T), np.abs(features), atol=1e-9)
        np.testing.assert_allclose(model.transform(X), T, atol=1e-9)
        np.testing.assert_allclose(T.T @ T, np.diag(np.diag(T.T @ T)), atol=1e-9)

    @pytest.mark.parametrize("sparsity", [2, 3])
    @pytest.mark.parametrize("target", [y, LABELS])
    def test_few_samples_per_direction(self, method, sparsity, target):
        few, target = X[:11], target[:11]
        model = METHODS[method](3, kernel=Gaussian(1.0), sparsity=sparsity)
        T = model.fit_transform(few, target)
        _, features = sparse_features(gaussian_gram(few, 1.0), target, 3, method, sparsity)
        np.testing.assert_allclose(np.abs(T), np.abs(features), atol=1e-8)
        np.testing.assert_allclose(model.transform(few), T, atol=1e-8)
        assert len(model.basis_indices_) <= 3 * sparsity

    def test_scales(self, method):
        model = METHODS[method](4, kernel=Gaussian(1.0) * Gaussian(1.0))
        T = model.fit_transform(X, y)
        if method == "sma":
            np.testing.assert_allclose(linalg.norm(T, axis=0), 1.0)
        assert (T.T @ y > 0).all()

    def test_cost_of_new_rows(self, method):
        model = METHODS[method](5).fit(X, y)
        assert model._projection.width == 5
        assert model._projection.weights.shape == (5, 5)

    def test_linear_kernel_has_weights(self, method):
        model = METHODS[method](2, kernel="linear").fit(X, y)
        direct = (X - X.mean(axis=0)) @ model.components_.T
        np.testing.assert_allclose(model.transform(X), direct, atol=1e-9)
        centred = X - X.mean(axis=0)  # directions are measured from the mean
        gram = centred @ centred.T
        np.testing.assert_array_equal(
            METHODS[method](2, kernel="precomputed").fit(gram, y).basis_indices_,
            model.basis_indices_,
        )

    def test_candidates_are_drawn_by_the_seed(self, method):
        first = METHODS[method](4, n_candidates=5, random_state=1).fit(X, y)
        again = METHODS[method](4, n_candidates=5, random_state=1).fit(X, y)
        other = METHODS[method](4, n_candidates=5, random_state=2).fit(X, y)
        np.testing.assert_array_equal(first.basis_indices_, again.basis_indices_)
        assert set(first.basis_indices_) != set(other.basis_indices_)

    def test_blocks_of_rows(self, method, monkeypatch, rng):
        rows = rng.normal(size=(150, 3))
        target = np.cos(rows[:, 0])
        expected = METHODS[method](3, sparsity=2, n_candidates=30, random_state=0).fit(rows, target)
        monkeypatch.setattr("depmax.extraction.sparse_maximal.BLOCK", 1)
        model = METHODS[method](3, sparsity=2, n_candidates=30, random_state=0).fit(rows, target)
        np.testing.assert_array_equal(model.basis_indices_, expected.basis_indices_)

    def test_strings(self, method, tmp_path, rng):
        words = ["".join(rng.choice(list("acgt"), 8)) for _ in range(30)]
        counts = [float(word.count("a")) for word in words]
        model = METHODS[method](3, kernel=Spectrum(2)).fit(words, counts)
        expected = model.transform(words[:4])
        assert expected.shape == (4, 3)
        save_model(model, tmp_path / "model.skops")
        np.testing.assert_array_equal(
            load_model(tmp_path / "model.skops").transform(words[:4]), expected
        )
        dense = DeflationFeatures(3, criterion=method, kernel=Spectrum(2)).fit(words, counts)
        np.testing.assert_allclose(dense.transform(words[:4]), expected, atol=1e-9)

    def test_equal_rows_exhaust_the_candidates(self, method):
        doubled, target = np.repeat(X[:5], 6, axis=0), np.repeat(y[:5], 6)
        with pytest.warns(ConvergenceWarning, match="of n_components=9"):
            model = METHODS[method](9, n_candidates=3, random_state=0).fit(doubled, target)
        # With the constant, five distinct rows have at most four features.
        assert len(model.basis_indices_) <= 4

    def test_explained_target_ends_it(self, method):
        K = gaussian_gram(X, 1.0)
        with pytest.warns(ConvergenceWarning, match="1 of n_components=3"):
            METHODS[method](3, kernel=Gaussian(1.0)).fit(X, K[:, 7] - K[:, 7].mean())


@pytest.mark.parametrize("rank", [1, 2, 5])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_best_combination_is_the_enumerated_one(rank, size, rng):
    B, F = rng.normal(size=(9, rank)), rng.normal(size=(9, 12))
    N, G = B @ B.T, F @ F.T
    members, weights, value = best_combination(N, G, size)
    best = max(
        linalg.eigh(N[np.ix_(s, s)], G[np.ix_(s, s)], eigvals_only=True)[-1]
        for s in itertools.combinations(range(9), size)
    )
    block = np.ix_(members, members)
    np.testing.assert_allclose(value, best, rtol=1e-9)
    np.testing.assert_allclose(weights @ N[block] @ weights, best, rtol=1e-9)
    np.testing.assert_allclose(weights @ G[block] @ weights, 1.0, rtol=1e-9)


class TestPublishedFigures:
    """Synthetic data of sections 4.3 and 4.4: labels from 50 of the columns, little noise."""

    def make(self, m, d):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(m, d))
        X -= X.mean(axis=0)
        X /= linalg.norm(X, axis=0)
        y = X[:, :50] @ rng.uniform(-1, 1, size=50) + rng.uniform(-0.01, 0.01, size=m)
        return X, y - y.mean()

    @pytest.mark.parametrize(("cls", "per_feature"), [(SMA, False), (SMC, True)])
    def test_one_sample_gives_most_per_kernel_value(self, cls, per_feature):
        X, y = self.make(30, 200)
        curves = {}
        for sparsity in (1, 2):
            model = cls(6, kernel="linear", sparsity=sparsity, center=False).fit(X, y)
            T = model.transform(X)
            gains = np.square(T.T @ y)
            gains = gains if per_feature else gains / np.square(T).sum(axis=0)
            curves[sparsity] = np.cumsum(gains) / (sparsity * np.arange(1, 7))
        assert (curves[1] > curves[2]).all()

    @pytest.mark.parametrize("cls", [SMA, SMC])
    def test_a_subset_of_columns_comes_close_to_all(self, cls):
        X, y = self.make(400, 200)
        reached = {}
        for count in (100, None):
            model = cls(20, kernel="linear", n_candidates=count, random_state=0, center=False)
            T = model.fit_transform(X, y)
            reached[count] = np.sum(np.square(T.T @ y) / np.square(T).sum(axis=0))
        assert reached[100] > 0.85 * reached[None]
