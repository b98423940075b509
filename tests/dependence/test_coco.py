"""Constrained covariance against the dense eigenproblem."""

import numpy as np
import pytest
from scipy import linalg, optimize, sparse

from depmax.dependence.coco import coco
from depmax.dependence.hsic import hsic
from depmax.kernels import ClassBalanced, Delta, Gaussian, Laplace, Linear


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, X[:, :2] ** 2 + 0.3 * rng.normal(size=(60, 2))


def centred(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


def root(K):
    """Symmetric root of a semidefinite matrix."""
    values, vectors = linalg.eigh(K)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def largest_singular_value(K, L):
    """That of the cross-covariance operator, in coordinates K̄^½ and L̄^½."""
    return linalg.svdvals(root(centred(K)) @ root(centred(L)))[0] / len(K)


def largest_eigenvalue(K, L):
    return np.sqrt(np.max(linalg.eigvals(centred(K) @ centred(L)).real)) / len(K)


KERNELS = [Gaussian(2.0), Laplace(3.0), Linear()]


@pytest.mark.parametrize("target_kernel", KERNELS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_equals_the_definition(data, kernel, target_kernel):
    X, Y = data
    expected = largest_eigenvalue(kernel(X), target_kernel(Y))
    found = coco(X, Y, kernel=kernel, target_kernel=target_kernel)
    assert found == pytest.approx(expected, rel=1e-10)
    assert found == pytest.approx(largest_singular_value(kernel(X), target_kernel(Y)), rel=1e-7)


def test_is_the_largest_covariance_of_unit_functions(data):
    """Maximise cov(f(x), g(y)) over f, g of unit norm by a general optimiser."""
    X, Y = data[0][:12], data[1][:12]
    root_k, root_l = root(Gaussian(2.0)(X)), root(Gaussian(1.0)(Y))

    def negative_covariance(coefficients):
        a, b = coefficients[:12], coefficients[12:]
        f, g = root_k @ a / np.linalg.norm(a), root_l @ b / np.linalg.norm(b)
        return -np.mean((f - f.mean()) * (g - g.mean()))

    rng = np.random.default_rng(0)
    best = min(optimize.minimize(negative_covariance, rng.normal(size=24)).fun for _ in range(5))
    found = coco(X, Y, kernel=Gaussian(2.0), target_kernel=Gaussian(1.0))
    assert found == pytest.approx(-best, rel=1e-5)


def test_is_not_the_spectral_norm_of_the_product(data):
    X, Y = data
    K, L = centred(Gaussian(2.0)(X)), centred(Gaussian(1.0)(Y))
    norm = np.sqrt(np.linalg.norm(K @ L, 2)) / len(X)
    assert coco(X, Y, kernel=Gaussian(2.0), target_kernel=Gaussian(1.0)) < 0.99 * norm


def test_below_hsic_and_equal_to_it_for_two_classes(data):
    X, Y = data
    m = len(X)
    options = {"kernel": Gaussian(2.0), "target_kernel": Gaussian(1.0)}
    assert coco(X, Y, **options) ** 2 <= hsic(X, Y, unbiased=False, **options) * ((m - 1) / m) ** 2
    labels = X[:, 0] > 0  # one singular value only
    options = {"kernel": Gaussian(2.0), "target_kernel": ClassBalanced()}
    expected = hsic(X, labels, unbiased=False, **options) * ((m - 1) / m) ** 2
    assert coco(X, labels, **options) ** 2 == pytest.approx(expected, rel=1e-10)


def test_linear_kernels_give_the_covariance(data):
    x, y = data[0][:, 0], data[1][:, 0]
    found = coco(x, y, kernel="linear", target_kernel="linear")
    assert found == pytest.approx(abs(np.cov(x, y, bias=True)[0, 1]), rel=1e-12)


def test_order_scale_shift_and_repetition(data):
    X, Y = data
    order = np.random.default_rng(1).permutation(len(X))
    expected = coco(X, Y)
    assert coco(X, Y) == expected
    assert coco(X[order], Y[order]) == pytest.approx(expected, rel=1e-11)
    assert coco(4.0 * X - 7.0, Y) == pytest.approx(expected, rel=1e-9)
    assert coco(X, Y, kernel=9.0 * Gaussian()) == pytest.approx(3 * expected, rel=1e-10)


@pytest.mark.parametrize("target_kernel", ["linear", "gaussian"])
def test_a_large_offset_costs_no_digits(data, target_kernel):
    X, Y = data[0].round(6), data[1]
    options = {"kernel": "linear", "target_kernel": target_kernel}
    assert coco(X + 1e5, Y, **options) == pytest.approx(coco(X, Y, **options), rel=1e-9)


def test_zero_for_a_balanced_design():
    x, y = (grid.ravel() for grid in np.meshgrid(np.arange(7.0), np.arange(9.0)))
    assert coco(x, y, target_kernel="gaussian") == pytest.approx(0.0, abs=1e-7)


def test_many_classes(data):
    X, _ = data
    labels = np.repeat(list("abcdef"), 10)
    expected = largest_eigenvalue(Gaussian(2.0)(X), Delta("balanced")(labels))
    assert coco(X, labels, kernel=Gaussian(2.0)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("target_kernel", ["linear", "gaussian"])
def test_sparse_rows_and_single_precision(data, target_kernel):
    X, Y = data
    options = {"kernel": "linear", "target_kernel": target_kernel}
    expected = coco(X, Y, **options)
    assert coco(sparse.csr_matrix(X), Y, **options) == pytest.approx(expected, rel=1e-10)
    assert coco(X.astype(np.float32), Y, **options) == pytest.approx(expected, rel=1e-6)
