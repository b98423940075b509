"""The ridge kernel: K(K + αI)⁻¹ on the rows it is resolved on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from depmax import hsic, resolve
from depmax.kernels import Columns, Gaussian, Laplace, Linear, RidgeKernel, Spectrum
from depmax.maps import KernelMap

rng = np.random.default_rng(0)
X = rng.normal(size=(25, 3))
Z = rng.normal(size=(6, 3))
y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=25)


def smoother(K: np.ndarray, alpha: float) -> np.ndarray:
    return K @ np.linalg.inv(K + alpha * np.eye(len(K)))


class TestDefinition:
    @pytest.mark.parametrize("alpha", [1e-3, 1.0, 50.0])
    @pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.5), Laplace(2.0)], ids=repr)
    def test_is_the_smoother_of_ridge_regression(self, kernel: Any, alpha: float) -> None:
        found = RidgeKernel(kernel, alpha)(X)
        np.testing.assert_allclose(found, smoother(kernel(X), alpha), atol=1e-9)
        np.testing.assert_allclose(RidgeKernel(kernel, alpha).diag(X), np.diag(found), atol=1e-9)

    def test_fits_what_scikit_learn_fits(self) -> None:
        """Fitted values are the kernel matrix times y, for linear and for kernel ridge."""
        linear = Ridge(alpha=2.0, fit_intercept=False).fit(X, y).predict(X)
        np.testing.assert_allclose(RidgeKernel("linear", 2.0)(X) @ y, linear, atol=1e-10)
        gaussian = KernelRidge(alpha=0.5, kernel="rbf", gamma=0.5).fit(X, y).predict(X)
        np.testing.assert_allclose(RidgeKernel(Gaussian(1.0), 0.5)(X) @ y, gaussian, atol=1e-10)

    def test_new_rows_go_through_the_feature_map(self) -> None:
        """k(x, z) = φ(x)ᵀ(ΦᵀΦ + αI)⁻¹φ(z) for rows of any origin."""
        kernel = resolve(RidgeKernel("linear", 0.7), X)
        inverse = np.linalg.inv(X.T @ X + 0.7 * np.eye(3))
        np.testing.assert_allclose(kernel(Z), Z @ inverse @ Z.T, atol=1e-12)
        np.testing.assert_allclose(kernel(Z, X), Z @ inverse @ X.T, atol=1e-12)
        np.testing.assert_allclose(kernel.diag(Z), np.diag(Z @ inverse @ Z.T), atol=1e-12)

    def test_eigenvalues_lie_between_zero_and_one(self) -> None:
        values = np.linalg.eigvalsh(RidgeKernel(Gaussian(1.0), 0.1)(X))
        assert values.min() > -1e-10
        assert values.max() < 1.0

    def test_a_large_penalty_leaves_the_inner_kernel(self) -> None:
        found = 1e8 * RidgeKernel(Gaussian(1.0), 1e8)(X)
        np.testing.assert_allclose(found, Gaussian(1.0)(X), atol=1e-6)


class TestRecipe:
    def test_resolving_keeps_the_rows_and_resolves_the_inner_kernel(self) -> None:
        recipe = RidgeKernel("gaussian", 0.5)
        resolved = resolve(recipe, X)
        assert not recipe.is_resolved
        assert recipe.kernel == "gaussian"
        assert resolved.kernel.bandwidth == resolve("gaussian", X).bandwidth
        np.testing.assert_array_equal(resolved.reference, X)
        assert resolved.resolve(Z) is resolved
        with pytest.raises(ValueError, match="is a recipe"):
            recipe(X, Z)

    def test_changed_parameters_change_the_values(self) -> None:
        """The factor of K + αI is kept between calls and made anew when a parameter changes."""
        kernel = resolve(RidgeKernel(Gaussian(1.0), 0.5), X)
        kernel(Z)
        kernel.set_params(alpha=2.0)
        np.testing.assert_allclose(kernel(X), smoother(Gaussian(1.0)(X), 2.0), atol=1e-10)
        kernel.set_params(kernel__bandwidth=3.0)
        np.testing.assert_allclose(kernel(X), smoother(Gaussian(3.0)(X), 2.0), atol=1e-10)
        kernel.set_params(kernel=Linear())
        np.testing.assert_allclose(kernel(X), smoother(X @ X.T, 2.0), atol=1e-10)
        kernel.set_params(reference=X[:10])
        np.testing.assert_allclose(kernel(X[:10]), smoother(X[:10] @ X[:10].T, 2.0), atol=1e-10)

    def test_a_clone_of_a_resolved_kernel_has_its_values(self) -> None:
        kernel = resolve(RidgeKernel(Gaussian(1.0), 0.5), X)
        np.testing.assert_allclose(clone(kernel)(Z), kernel(Z))

    @pytest.mark.parametrize("inner", [Linear(), Gaussian(1.0)], ids=repr)
    def test_rows_that_stand_for_several_are_these_rows_repeated(self, inner: object) -> None:
        counts = np.arange(len(X)) % 3 + 1
        some = RidgeKernel(inner, 0.5).resolve(X, None, counts)
        repeated = RidgeKernel(inner, 0.5, reference=np.repeat(X, counts, axis=0))
        np.testing.assert_allclose(some(X, Z), repeated(X, Z), atol=1e-10)
        np.testing.assert_allclose(some.diag(Z), repeated.diag(Z), atol=1e-10)
        np.testing.assert_allclose(clone(some)(Z), some(Z))

    @pytest.mark.parametrize("alpha", [0.0, -1.0, np.nan])
    def test_penalties_that_are_not_positive_are_refused(self, alpha: float) -> None:
        with pytest.raises(ValueError, match="alpha of RidgeKernel"):
            RidgeKernel("linear", alpha)(X)


class TestRows:
    def test_strings(self) -> None:
        words = ["acgt", "aacc", "gtta", "ccgg"]
        kernel = RidgeKernel(Spectrum(1), 2.0)
        assert not kernel.requires_vector_input
        np.testing.assert_allclose(kernel(words), smoother(Spectrum(1)(words), 2.0), atol=1e-10)

    def test_named_columns(self) -> None:
        inner = Columns([("a", Linear(), ["u", "w"])])
        bound = RidgeKernel(inner, 0.5).bind(["u", "v", "w"])
        part = X[:, [0, 2]]
        np.testing.assert_allclose(bound(X), smoother(part @ part.T, 0.5), atol=1e-10)

    def test_a_map_of_it(self) -> None:
        features = KernelMap(kernel=RidgeKernel("linear", 0.5)).fit_transform(X)
        np.testing.assert_allclose(features @ features.T, smoother(X @ X.T, 0.5), atol=1e-9)


def test_hsic_ranks_columns_as_the_loss_of_ridge_regression_does() -> None:
    """yᵀK(K + αI)⁻¹y is what the penalised loss falls by (Song et al., section 6.6)."""
    target = y - y.mean()

    def fall(columns: list[int]) -> float:
        model = Ridge(alpha=1.0, fit_intercept=False).fit(X[:, columns], target)
        residual = target - model.predict(X[:, columns])
        return float(target @ target - residual @ residual - model.coef_ @ model.coef_)

    for columns in ([0], [1], [2], [0, 1], [0, 1, 2]):
        found = hsic(
            X[:, columns], target, kernel=RidgeKernel(), target_kernel="linear", unbiased=False
        )
        assert found * 24**2 == pytest.approx(fall(columns), rel=1e-9)
