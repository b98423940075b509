"""HBFE and HSCA reach the optimum of the dense problem, whatever the shape and the kernel."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import linalg
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from depmax import HBFE, HSCA, KernelLDA
from depmax.kernels import Gaussian, Laplace, Linear
from depmax.maps import NystroemMap, RandomFourier
from tests.extraction.oracles import form, same_up_to_signs

SHAPES = [(12, 44), (12, 13), (20, 20), (40, 6), (16, 5)]  # m < d, m = d, m > d
KERNELS: dict[str, Any] = {
    "linear": Linear(),
    "nystroem": NystroemMap(8, kernel=Gaussian(3.0), random_state=0),
    "fourier": RandomFourier(30, kernel=Gaussian(3.0), random_state=0),
}
WITHOUT_FEATURES: dict[str, Any] = {"gaussian": Gaussian(2.0), "laplace": Laplace(4.0)}
TARGETS = ["two classes", "three classes", "numbers"]


def data(shape: tuple[int, int], target: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(shape[0])
    X = rng.normal(size=shape) + 2.0
    trend = X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=len(X))
    ranks = trend.argsort().argsort()
    if target == "numbers":
        return X, trend
    return X, ranks * (2 if target == "two classes" else 3) // len(X)


def matrix_of_target(y: np.ndarray, unbiased: bool) -> np.ndarray:
    """M of HSIC with the linear kernel of numbers, or the delta kernel of classes, slowly."""
    L = np.outer(y, y) if y.dtype.kind == "f" else (y[:, np.newaxis] == y).astype(float)
    return form(L, unbiased)


def target_kernel(y: np.ndarray) -> str:
    return "linear" if y.dtype.kind == "f" else "delta"


def n_carried(values: np.ndarray, target: str) -> int:
    """Number of eigenvalues that carry dependence: positive, at most the rank of the target."""
    rank = 2 if target == "three classes" else 1
    return min(rank, int((values > 1e-6 * values[0]).sum()))


def counts(most: int) -> list[int]:
    return sorted({1, 2, 8, most // 2, most - 1, most} & set(range(1, most + 1)))


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kernel", KERNELS)
def test_eigenvectors(kernel: str, shape: Any, target: str, unbiased: bool) -> None:
    """Directions with positive eigenvalues, at most as many as the rank of the target, come first.

    No other orthonormal directions reach more; those that follow have no dependence to add.
    """
    X, y = data(shape, target)
    model = HBFE(1, kernel=KERNELS[kernel], target_kernel=target_kernel(y), unbiased=unbiased).fit(
        X, y
    )
    phi = np.asarray(model.kernel_.features(X))
    centred = phi - phi.mean(axis=0)
    A = centred.T @ matrix_of_target(y, unbiased) @ centred
    values = linalg.eigvalsh(A)[::-1]
    carried = n_carried(values, target)
    for count in counts(min(len(X) - 1, A.shape[0])):
        model.set_params(n_components=count).fit(X, y)
        first = min(count, carried)
        reached = model.dependence_[:first]
        np.testing.assert_allclose(reached, values[:first], atol=1e-9 * values[0])
        W = model._projection.weights
        np.testing.assert_allclose(W.T @ W, np.eye(count), atol=1e-8)
        reached = np.einsum("ij,ik,kj->j", W, A, W)
        np.testing.assert_allclose(reached, model.dependence_, atol=1e-9 * values[0])
    with pytest.raises(ValueError, match="more than the number of"):
        model.set_params(n_components=max(A.shape[0], len(X)) + 1).fit(X, y)


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", WITHOUT_FEATURES)
def test_eigenvectors_without_features(name: str, target: str, unbiased: bool) -> None:
    """Of directions in the span of the samples, QᵀKQ = I."""
    X, y = data((20, 4), target)
    kernel = WITHOUT_FEATURES[name]
    K = kernel(X)
    H = np.eye(20) - 1 / 20
    values, vectors = linalg.eigh(K)
    root = (vectors * np.sqrt(values)) @ vectors.T
    A = root @ H @ matrix_of_target(y, unbiased) @ H @ root
    expected = linalg.eigvalsh(A)[::-1]
    carried = n_carried(expected, target)
    for rows, options in ((X, {"kernel": kernel}), (K, {"kernel": "precomputed"})):
        for count in counts(19):
            model = HBFE(count, target_kernel=target_kernel(y), unbiased=unbiased, **options)
            features = model.fit_transform(rows, y)
            first = min(count, carried)
            reached = model.dependence_[:first]
            np.testing.assert_allclose(reached, expected[:first], atol=1e-8 * expected[0])
            Q = model._projection.weights
            np.testing.assert_allclose(Q.T @ K @ Q, np.eye(count), atol=1e-6)
            np.testing.assert_allclose(model.transform(rows), features, atol=1e-7)


@pytest.mark.parametrize("beta", [0.0, 0.1])
@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("cls", [HBFE, HSCA, KernelLDA])
def test_wide_rows_are_as_in_their_own_columns(
    cls: Any, target: str, unbiased: bool, beta: float
) -> None:
    """Solving in the span of the samples changes nothing where columns outnumber them.

    In an orthonormal basis of that span rows have as many columns as there are samples.
    """
    X, y = data((14, 30), target)
    if cls is KernelLDA:
        if target == "numbers" or unbiased:
            return
        model = KernelLDA(2, beta=beta)
    else:
        model = cls(3, unbiased=unbiased, beta=beta, target_kernel=target_kernel(y))
    with warnings.catch_warnings():
        # fewer components than requested are told in both fits
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", ".*falls into")
        span = clone(model).fit(X, y)
        basis = linalg.orth(X.T)
        dense = clone(model).fit(X @ basis, y)
    np.testing.assert_allclose(span.dependence_, dense.dependence_, rtol=1e-6, atol=1e-9)
    same_up_to_signs(span.components_, dense.components_ @ basis.T, 1e-5)


def test_more_components_than_rows() -> None:
    X, y = data((12, 44), "two classes")
    with pytest.raises(ValueError, match="training rows"):
        HBFE(30).fit(X, y)
