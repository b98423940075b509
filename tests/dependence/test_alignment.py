"""Kernel target alignment against kernel matrices multiplied out."""

import numpy as np
import pytest
from scipy import sparse

from depmax.dependence.alignment import alignment
from depmax.dependence.hsic import hsic
from depmax.kernels import Delta, Gaussian, Linear


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    return X, X[:, :2] ** 2 + 0.3 * rng.normal(size=(40, 2))


def cosine(K, L):
    return np.sum(K * L) / np.sqrt(np.sum(K**2) * np.sum(L**2))


def centred(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


@pytest.mark.parametrize("target_kernel", [Gaussian(1.5), Linear()])
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Linear()])
def test_equals_the_definition(data, kernel, target_kernel):
    X, Y = data
    K, L = kernel(X), target_kernel(Y)
    options = {"kernel": kernel, "target_kernel": target_kernel}
    assert alignment(X, Y, centered=False, **options) == pytest.approx(cosine(K, L), rel=1e-12)
    expected = cosine(centred(K), centred(L))
    assert alignment(X, Y, **options) == pytest.approx(expected, rel=1e-12)


def test_is_hsic_over_its_largest_value(data):
    X, Y = data
    options = {"unbiased": False, "target_kernel": "gaussian"}
    expected = hsic(X, Y, **options) / np.sqrt(hsic(X, X, **options) * hsic(Y, Y, **options))
    assert alignment(X, Y, target_kernel="gaussian") == pytest.approx(expected, rel=1e-11)


def test_scale_and_shift(data):
    X, Y = data
    expected = alignment(X, Y)
    # the median bandwidth follows the data, so scale drops out; so does a factor of a kernel
    assert alignment(5.0 * X + 3.0, Y) == pytest.approx(expected, rel=1e-10)
    assert alignment(X, Y, kernel=7.0 * Gaussian()) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("target_kernel", ["linear", "gaussian"])
def test_a_large_offset_costs_no_digits(data, target_kernel):
    X, Y = data
    X, Y = X.round(6), Y  # so that X + 1e4 is exact up to 1e-12
    options = {"kernel": "linear", "target_kernel": target_kernel}
    assert alignment(X + 1e4, Y, **options) == pytest.approx(alignment(X, Y, **options), rel=1e-9)


def test_a_wide_kernel_costs_few_digits(data):
    X, Y = data
    # a Gaussian kernel far wider than the data is a linear one after centring
    expected = alignment(X, Y, kernel="linear", target_kernel="gaussian")
    found = alignment(X, Y, kernel=Gaussian(1e4), target_kernel="gaussian")
    assert found == pytest.approx(expected, rel=1e-6)


def test_symmetric_and_one_for_itself(data):
    X, Y = data
    both = {"kernel": "gaussian", "target_kernel": "gaussian"}
    assert alignment(X, Y, **both) == pytest.approx(alignment(Y, X, **both), rel=1e-12)
    assert alignment(X, X, **both) == pytest.approx(1.0, rel=1e-12)
    assert 0.0 <= alignment(X, Y, **both) <= 1.0


def test_zero_without_centring_only_if_the_kernel_is_zero():
    y = np.arange(1.0, 31.0)
    assert alignment(np.zeros(30), y, kernel="linear", centered=False) == 0.0
    assert alignment(np.ones(30), y, kernel="linear", centered=False) > 0.5


def test_centring_reveals_independence():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 500))
    assert alignment(x, y, centered=False) > 0.7
    assert alignment(x, y) < 0.05


@pytest.mark.parametrize("centered", [True, False])
def test_sparse_rows_with_a_gaussian_target(data, centered):
    X, Y = data
    options = {"kernel": "linear", "target_kernel": "gaussian", "centered": centered}
    expected = alignment(X, Y, **options)
    assert alignment(sparse.csr_matrix(X), Y, **options) == pytest.approx(expected, rel=1e-11)
    assert alignment(X.astype(np.float32), Y, **options) == pytest.approx(expected, rel=1e-5)


def test_labels_and_sparse_rows(data):
    X, _ = data
    labels = np.repeat(["a", "b", "c", "d"], 10)
    K, L = X @ X.T, Delta()(labels)
    found = alignment(X, labels, kernel="linear", target_kernel=Delta())
    assert found == pytest.approx(cosine(centred(K), centred(L)), rel=1e-12)
    rows = sparse.csr_matrix(X)
    assert alignment(rows, labels, kernel="linear", target_kernel=Delta()) == pytest.approx(
        found, rel=1e-12
    )
