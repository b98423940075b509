"""ICA: the likelihood of extended infomax, sources that are found, and what is said where not.

Private modules: a fit shows no likelihood, which must be no less than at the true sources.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from sklearn.decomposition import PCA, FastICA
from sklearn.exceptions import ConvergenceWarning

from depmax import ICA
from depmax.extraction import NaturalGradient
from depmax.extraction._ica_likelihood import HeldRows, Likelihood, Residuals

rng = np.random.default_rng(0)
S = np.column_stack(
    [
        rng.laplace(size=1500),
        rng.uniform(-1.0, 1.0, size=1500),
        rng.exponential(size=1500),
        np.sign(rng.normal(size=1500)) + 0.1 * rng.normal(size=1500),
        rng.standard_t(4, size=1500),
    ]
)
A = rng.normal(size=(5, 5))
X = S @ A


def amari(product: np.ndarray) -> float:
    """Zero where a matrix is a scaled permutation, at most one."""
    sizes, n = np.abs(product), len(product)
    rows = (sizes / sizes.max(axis=1, keepdims=True)).sum() - n
    columns = (sizes / sizes.max(axis=0)).sum() - n
    return float(rows + columns) / (2 * n * (n - 1))


def log_likelihood(W: np.ndarray, white: np.ndarray, kinds: np.ndarray) -> float:
    """log|det W| + mean Σ log p(u), the densities integrated numerically."""
    grid = np.linspace(-30.0, 30.0, 60_001)
    value = np.linalg.slogdet(W)[1]
    for j, kind in enumerate(kinds):
        u = white @ W[j]
        normaliser = np.trapezoid(np.exp(-(grid**2) / 2 - kind * np.log(np.cosh(grid))), grid)
        value += np.mean(-(u**2) / 2 - kind * np.log(np.cosh(u))) - np.log(normaliser)
    return float(value)


class TestLikelihood:
    white = PCA(3, whiten=True).fit_transform(X[:, :3]) * np.sqrt(1500 / 1499)
    kinds = np.array([1, -1, 0])

    def likelihood(self) -> Likelihood:
        no_target = Residuals(np.empty(0), np.empty(0))
        return Likelihood(HeldRows(self.white, None), no_target, 0, 0.0)

    def test_value_is_that_of_the_definition(self) -> None:
        W = np.random.default_rng(1).normal(size=(3, 3))
        value, _ = self.likelihood().loss(W, self.kinds)
        assert -value == pytest.approx(log_likelihood(W, self.white, self.kinds), abs=1e-9)

    def test_gradient_is_the_numerical_one(self) -> None:
        W = np.random.default_rng(2).normal(size=9)

        def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
            return self.likelihood().loss(weights.reshape(3, 3), self.kinds)

        numerical = optimize.approx_fprime(W, lambda w: loss(w)[0], 1e-7)
        np.testing.assert_allclose(loss(W)[1].ravel(), numerical, atol=1e-5)

    def test_published_step(self) -> None:
        """W ← W + μ(I - K tanh(u)uᵀ - uuᵀ)W, as Lee, Girolami and Sejnowski have it."""
        with pytest.warns(ConvergenceWarning, match="max_iter=2 "):
            model = ICA(3, solver=NaturalGradient(max_iter=2, learning_rate=0.01)).fit(X[:, :3])
        signs = {"super-gaussian": 1, "sub-gaussian": -1}
        K = np.diag([signs[name] for name in model.sources_])
        features = model.transform(X[:, :3])
        order = np.abs(np.corrcoef(features.T, self.white.T)[:3, 3:]).argmax(axis=1)
        u = self.white[:, order]  # the start: W = I
        W = np.eye(3) + 0.01 * (np.eye(3) - (K @ np.tanh(u.T) @ u + u.T @ u) / len(u))
        expected = u @ (W / np.linalg.norm(W, axis=1, keepdims=True)).T
        flips = np.sign((expected * features).sum(axis=0))
        np.testing.assert_allclose(features, flips * expected, atol=1e-8)


class TestSources:
    model = ICA(5).fit(X)

    def test_mixed_sources_are_found_as_by_fast_ica(self) -> None:
        other = FastICA(5, whiten="unit-variance", random_state=0, tol=1e-6, max_iter=1000).fit(X)
        found = amari(A @ self.model.components_.T)
        assert found < 0.03
        assert found < amari(A @ other.components_.T) + 0.005

    def test_their_tails_are_told(self) -> None:
        features = self.model.transform(X)
        which = np.abs(np.corrcoef(features.T, S.T)[:5, 5:]).argmax(axis=1)
        sub = np.isin(which, [1, 3])
        np.testing.assert_array_equal(self.model.sources_ == "sub-gaussian", sub)
        np.testing.assert_array_equal(self.model.sources_ == "super-gaussian", ~sub)

    def test_unit_variance_and_variances_in_falling_order(self) -> None:
        features = self.model.transform(X)
        np.testing.assert_allclose(features.var(axis=0), 1.0, rtol=1e-8)
        own = np.sum((features.T @ (X - X.mean(axis=0)) / len(X)) ** 2, axis=1)
        np.testing.assert_allclose(self.model.dependence_, own, rtol=1e-8)
        assert (np.diff(self.model.dependence_) <= 0).all()

    def test_loadings_mix_the_features_back(self) -> None:
        rows = self.model.transform(X) @ self.model.loadings_ + self.model.mean_
        np.testing.assert_allclose(rows, X, atol=1e-8)
        np.testing.assert_allclose(
            self.model.inverse_transform(self.model.transform(X)), X, atol=1e-8
        )

    def test_gaussian_columns_are_told(self) -> None:
        model = ICA(3).fit(np.random.default_rng(3).normal(size=(4000, 3)))
        assert set(model.sources_) == {"gaussian"}

    def test_random_starts_never_lose(self) -> None:
        many = ICA(5, n_init=3, random_state=0).fit(X)
        assert many.log_likelihood_ >= self.model.log_likelihood_ - 1e-9


class TestNumbers:
    def test_few_sources_span_the_principal_axes(self) -> None:
        features = ICA(2).fit_transform(X)
        axes = PCA(2).fit_transform(X)
        rest = axes - features @ np.linalg.lstsq(features, axes, rcond=None)[0]
        assert np.abs(rest).max() < 1e-8 * np.abs(axes).max()

    def test_a_share_is_one_of_the_variance(self) -> None:
        assert ICA(0.9).fit(X).n_components_ == PCA(0.9).fit(X).n_components_

    def test_wide_tables(self) -> None:
        wide = X[:40] @ np.random.default_rng(4).normal(size=(5, 100))
        assert ICA(3).fit_transform(wide).shape == (40, 3)
        with pytest.raises(ValueError, match="X is constant: all 5 rows"):
            ICA(1).fit(np.ones((5, 2)))

    def test_smaller_rank_is_told(self) -> None:
        flat = X[:, [0, 1, 2, 0]]
        with pytest.warns(ConvergenceWarning, match=r"ICA .*n_components=4"):
            model = ICA(4).fit(flat)
        assert model.transform(flat).shape == (1500, 3)

    @pytest.mark.parametrize(("solver", "error"), [("newton", ValueError), (3, TypeError)])
    def test_solvers_are_refused_by_name(self, solver, error) -> None:
        with pytest.raises(error, match="solver of ICA must be one of"):
            ICA(2, solver=solver).fit(X)
