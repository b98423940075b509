"""Sums, products and multiples of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from depmax import hsic, resolve
from depmax.kernels import (
    Columns,
    Delta,
    Gaussian,
    InverseDistance,
    Kernel,
    Laplace,
    Linear,
    Polynomial,
    Precomputed,
    Product,
    Scaled,
    Spectrum,
    Sum,
)
from depmax.testing import check_kernel

rng = np.random.default_rng(0)
X = rng.normal(size=(15, 3))
Z = rng.normal(size=(4, 3))
y = X[:, 0] ** 2


class TestValues:
    def test_a_sum_adds_and_a_product_multiplies(self) -> None:
        left, right = Gaussian(1.5), Polynomial(2)
        np.testing.assert_allclose((left + right)(X, Z), left(X, Z) + right(X, Z))
        np.testing.assert_allclose((left * right)(X, Z), left(X, Z) * right(X, Z))
        np.testing.assert_allclose((2.5 * left)(X, Z), 2.5 * left(X, Z))
        np.testing.assert_allclose((left + right).diag(X), left.diag(X) + right.diag(X))
        np.testing.assert_allclose((left * right).diag(X), left.diag(X) * right.diag(X))

    @pytest.mark.parametrize("rows", [X, X.tolist()], ids=["array", "list"])
    def test_lists_are_read_by_each_kernel(self, rows: Any) -> None:
        kernel = Linear() + 2.0 * Gaussian(1.0) * Laplace(1.0)
        np.testing.assert_allclose(kernel(rows), kernel(X))
        np.testing.assert_allclose(kernel(rows, Z.tolist()), kernel(X, Z))

    def test_a_single_number_per_row_needs_no_brackets(self) -> None:
        kernel = Linear() + Gaussian(1.0)
        np.testing.assert_allclose(kernel([1.0, 2.0]), kernel([[1.0], [2.0]]))

    def test_laws_of_arithmetic(self) -> None:
        a, b, c = Gaussian(1.0), Laplace(2.0), Linear()
        for one, other in [
            (a + b, b + a),
            (a * b, b * a),
            ((a + b) + c, a + (b + c)),
            (a * (b + c), a * b + a * c),
            (2.0 * (a + b), 2.0 * a + 2.0 * b),
            (a + a, 2 * a),
        ]:
            np.testing.assert_allclose(one(X), other(X), rtol=1e-12)

    def test_deep_nests_keep_the_contract(self) -> None:
        check_kernel(0.5 * (Linear() + Gaussian() * Laplace(2.0)) + 3 * Polynomial(2), X)


class TestOperators:
    @pytest.mark.parametrize("factor", [2, 2.0, np.float64(2), np.int32(2), np.float32(2)])
    def test_a_number_scales_from_either_side(self, factor: Any) -> None:
        for kernel in (factor * Linear(), Linear() * factor):
            assert isinstance(kernel, Scaled)
            assert kernel.factor == 2.0
            np.testing.assert_allclose(kernel(X), 2.0 * X @ X.T)

    @pytest.mark.parametrize("number", [1, 0.5, np.float64(3)])
    def test_a_number_cannot_be_added(self, number: Any) -> None:
        with pytest.raises(TypeError, match="A constant added to a kernel"):
            _ = Linear() + number
        with pytest.raises(TypeError, match="A constant added to a kernel"):
            _ = number + Linear()

    def test_adding_a_constant_would_indeed_change_nothing(self) -> None:
        plain = hsic(X, y, kernel=lambda A, B: A @ B.T)
        assert hsic(X, y, kernel=lambda A, B: A @ B.T + 3.0) == pytest.approx(plain, rel=1e-10)

    def test_names_multiply_and_add(self) -> None:
        for kernel in (Linear() * "gaussian", "gaussian" * Linear()):
            assert isinstance(kernel, Product)
            assert {type(kernel.left), type(kernel.right)} == {Linear, Gaussian}
        for kernel in (Linear() + "gaussian", "gaussian" + Linear()):
            assert isinstance(kernel, Sum)
            assert {type(kernel.left), type(kernel.right)} == {Linear, Gaussian}
        with pytest.raises(ValueError, match="Did you mean 'gaussian'"):
            _ = Linear() * "gausian"

    def test_names_are_parts(self) -> None:
        np.testing.assert_allclose(
            Sum("linear", "gaussian")(X), (Linear() + Gaussian())(X), rtol=1e-12
        )
        np.testing.assert_allclose(
            Product("linear", Scaled("gaussian", 2.0))(X), 2.0 * Linear()(X) * Gaussian()(X)
        )
        with pytest.raises(ValueError, match="Did you mean 'gaussian'"):
            Sum("linear", "gausian")(X)

    def test_functions_multiply_and_add(self) -> None:
        def first(A: np.ndarray, B: np.ndarray) -> np.ndarray:
            return np.outer(A[:, 0], B[:, 0])

        np.testing.assert_allclose((Linear() * first)(X), (X @ X.T) * first(X, X))
        np.testing.assert_allclose((first + Linear())(X), X @ X.T + first(X, X))

    @pytest.mark.parametrize("factor", [0.0, -1.0, np.nan, np.inf])
    def test_only_positive_factors_give_kernels(self, factor: float) -> None:
        kernel = factor * Linear()
        for use in (kernel, kernel.diag, kernel.resolve, kernel.features):
            with pytest.raises(ValueError, match="positive number only"):
                use(X)

    def test_anything_else_is_refused_by_name(self) -> None:
        with pytest.raises(TypeError, match="A kernel is a name"):
            _ = Linear() * None
        with pytest.raises(TypeError, match=r"kernel object, Gaussian\(\)"):
            _ = Linear() + Gaussian


class TestParameters:
    @pytest.fixture
    def kernel(self) -> Kernel:
        return 2.0 * (Gaussian(1.0) + Linear() * Laplace(3.0))

    def test_nested_ones_are_listed(self, kernel: Kernel) -> None:
        params = kernel.get_params()
        assert params["factor"] == 2.0
        assert params["kernel__left__bandwidth"] == 1.0
        assert params["kernel__right__right__bandwidth"] == 3.0
        assert set(kernel.get_params(deep=False)) == {"kernel", "factor"}

    def test_nested_ones_are_set(self, kernel: Kernel) -> None:
        kernel.set_params(factor=1.0, kernel__left__bandwidth=0.5)
        expected = Gaussian(0.5)(X) + (X @ X.T) * Laplace(3.0)(X)
        np.testing.assert_allclose(kernel(X), expected)
        pair = Gaussian() + Linear()
        pair.set_params(left__bandwidth=4.0)
        assert pair.left.bandwidth == 4.0

    def test_a_part_is_replaced(self) -> None:
        pair = (Gaussian(1.0) + Linear()).set_params(right=Laplace(1.0))
        np.testing.assert_allclose(pair(X), Gaussian(1.0)(X) + Laplace(1.0)(X))

    def test_unknown_ones_are_refused(self, kernel: Kernel) -> None:
        with pytest.raises(ValueError, match="Invalid parameter 'width'"):
            kernel.set_params(kernel__left__width=1.0)


class TestRecipes:
    def test_each_kernel_is_resolved_by_itself(self) -> None:
        kernel = resolve(Gaussian() + Laplace() * Gaussian("dimension"), X)
        assert kernel.is_resolved
        assert kernel.left.bandwidth == resolve("gaussian", X).bandwidth
        assert kernel.right.left.bandwidth == resolve("laplace", X).bandwidth
        assert kernel.right.right.bandwidth == pytest.approx(np.sqrt(3))

    def test_an_unresolved_part_makes_the_whole_a_recipe(self) -> None:
        for kernel in (Linear() + Gaussian(), Linear() * Gaussian(), 2.0 * Gaussian()):
            assert not kernel.is_resolved
            with pytest.raises(ValueError, match="is a recipe"):
                kernel(X, Z)
            assert kernel.resolve(X)(X, Z).shape == (15, 4)
            assert not kernel.is_resolved

    def test_maximize_reaches_every_part(self) -> None:
        kernel = resolve(2.0 * (Gaussian("maximize") + Laplace("maximize")), X, y)
        assert kernel.kernel.left.bandwidth == resolve(Gaussian("maximize"), X, y).bandwidth
        assert kernel.kernel.right.bandwidth == resolve(Laplace("maximize"), X, y).bandwidth


class TestFeatures:
    @pytest.mark.parametrize(
        "kernel",
        [
            Linear() + Linear(),
            Linear() * Linear(),
            3.0 * Linear(),
            2 * (Linear() + Linear()) * "linear",
        ],
        ids=repr,
    )
    def test_coordinates_reproduce_the_kernel(self, kernel: Kernel) -> None:
        assert kernel.has_features
        for rows in (X, sparse.csr_matrix(X)):
            phi = kernel.features(rows)
            product = phi @ phi.T
            product = product.toarray() if sparse.issparse(product) else product
            np.testing.assert_allclose(product, kernel(X), atol=1e-12)

    def test_one_kernel_without_coordinates_is_enough_to_have_none(self) -> None:
        assert not (Linear() + Gaussian(1.0)).has_features
        assert not (Linear() * Gaussian(1.0)).has_features
        assert not (2.0 * Gaussian(1.0)).has_features


class TestCapabilities:
    """A composite can do what its parts and its operation allow."""

    def test_products_factor_and_sums_add_over_features(self) -> None:
        factoring, adding = Gaussian(1.0), Linear()
        assert (factoring * Laplace(1.0)).capabilities.factors_over_features
        assert not (factoring + Laplace(1.0)).capabilities.factors_over_features
        assert (adding + Linear()).capabilities.additive_over_features
        assert not (adding * Linear()).capabilities.additive_over_features

    def test_stationary_only_if_both_are(self) -> None:
        assert (Gaussian(1.0) + Laplace(1.0)).capabilities.stationary
        assert not (Gaussian(1.0) + Linear()).capabilities.stationary

    def test_functions_of_the_distance_only_if_both_are(self) -> None:
        assert (Gaussian(1.0) + 2.0 * InverseDistance(1.0)).capabilities.radial
        assert (Gaussian(1.0) * Laplace(1.0, norm=2)).capabilities.radial
        assert not (Gaussian(1.0) + Laplace(1.0)).capabilities.radial
        assert not (Gaussian(1.0) + Linear()).capabilities.radial

    def test_only_the_inner_product_itself_is_linear(self) -> None:
        assert Linear().capabilities.is_linear
        for kernel in (Linear() + Linear(), Linear() * Linear(), 2.0 * Linear()):
            assert not kernel.capabilities.is_linear

    def test_sparse_rows_need_both(self) -> None:
        assert (Gaussian(1.0) * Linear()).capabilities.sparse
        kernel = Gaussian(1.0) + Laplace(1.0)
        assert not kernel.capabilities.sparse
        with pytest.raises(TypeError, match=r"Laplace .*inner products"):
            kernel(sparse.csr_matrix(X))

    def test_categories_join_as_the_operation_allows(self) -> None:
        assert (Gaussian(1.0) * Laplace(1.0)).capabilities.joins_categories == "distance"
        assert (Linear() + Linear()).capabilities.joins_categories == "add"
        assert (Linear() * Linear()).capabilities.joins_categories == "add"
        assert (Gaussian(1.0) + Linear()).capabilities.joins_categories is None

    def test_scaling_changes_nothing(self) -> None:
        assert (2.0 * Gaussian(1.0)).capabilities.stationary
        assert (2.0 * Linear()).capabilities.sparse

    def test_objects_and_labels(self) -> None:
        words = ["acgt", "ac", "gt"]
        kernel = Spectrum(1) + 2.0 * Spectrum(2)
        assert not kernel.requires_vector_input
        np.testing.assert_allclose(kernel(words), Spectrum(1)(words) + 2.0 * Spectrum(2)(words))
        labels = Delta() + Delta({"a": 2.0})
        assert labels.capabilities.labels
        np.testing.assert_allclose(labels(["a", "b"]), [[3.0, 0.0], [0.0, 1.0]])
        numbers = Precomputed(np.eye(3)) * Precomputed(2 * np.ones((3, 3)))
        np.testing.assert_allclose(numbers([0, 2]), 2 * np.eye(2))


def test_names_of_columns_are_bound_in_every_part() -> None:
    parts = Columns([("p", "linear", ["b"])])
    for kernel in (parts + Gaussian(1.0), Gaussian(1.0) * parts, 2.0 * parts):
        bound = kernel.bind(["a", "b", "c"])
        assert bound(X).shape == (15, 15)
    np.testing.assert_allclose((2.0 * parts).bind(list("abc"))(X), 2.0 * np.outer(X[:, 1], X[:, 1]))


def test_columns_must_be_as_many_on_both_sides() -> None:
    with pytest.raises(ValueError, match=r"X has 3 .* Z has 2: Sum"):
        (Linear() + Gaussian(1.0))(X, Z[:, :2])
