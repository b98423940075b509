"""Agreement with scikit-learn: pairwise kernels, kernel PCA and Gaussian-process kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

from depmax import alignment, hsic, hsic_test, mmd, resolve
from depmax.datasets import load
from depmax.kernels import (
    Columns,
    Gaussian,
    Kernel,
    Laplace,
    Linear,
    Polynomial,
    RidgeKernel,
    as_kernel,
)
from depmax.maps import BasisSelection, IncompleteCholesky, KernelMap, NystroemMap

SONAR = load("sonar")
WINE = load("wine")
X, LABELS = SONAR.X[::4], SONAR.y[::4]  # the rows are sorted by class
Z = SONAR.X[1::8]
COUNTS = np.random.default_rng(0).poisson(0.5, size=(40, 12)).astype(float)

#: Ours, and the same kernel as scikit-learn computes it.
PAIRS = [
    (Gaussian(0.7), lambda A, B: pairwise.rbf_kernel(A, B, gamma=1 / (2 * 0.7**2))),
    (Gaussian(25.0), lambda A, B: pairwise.rbf_kernel(A, B, gamma=1 / (2 * 25.0**2))),
    (Laplace(4.0), lambda A, B: pairwise.laplacian_kernel(A, B, gamma=1 / 4.0)),
    (
        Polynomial(3, 0.5),
        lambda A, B: pairwise.polynomial_kernel(A, B, degree=3, gamma=1.0, coef0=0.5),
    ),
    (
        Polynomial(2, 0.0),
        lambda A, B: pairwise.polynomial_kernel(A, B, degree=2, gamma=1.0, coef0=0.0),
    ),
    (Linear(), pairwise.linear_kernel),
]
each_pair = pytest.mark.parametrize(("kernel", "theirs"), PAIRS, ids=[repr(k) for k, _ in PAIRS])


class TestPairwiseKernels:
    @each_pair
    def test_values_are_the_same(self, kernel: Kernel, theirs: Any) -> None:
        np.testing.assert_allclose(kernel(X), theirs(X, X), rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(kernel(X, Z), theirs(X, Z), rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(kernel.diag(X), np.diag(theirs(X, X)), rtol=1e-11)

    @each_pair
    def test_values_of_raw_columns_of_any_scale_are_the_same(
        self, kernel: Kernel, theirs: Any
    ) -> None:
        np.testing.assert_allclose(kernel(WINE.X), theirs(WINE.X, WINE.X), rtol=1e-7, atol=1e-300)

    @each_pair
    def test_sparse_values_are_the_same(self, kernel: Kernel, theirs: Any) -> None:
        if not kernel.capabilities.sparse:
            with pytest.raises(TypeError, match=r"X\.toarray\(\)"):
                kernel(sparse.csr_matrix(COUNTS))
            return
        rows = sparse.csr_matrix(COUNTS)
        np.testing.assert_allclose(kernel(rows), theirs(rows, rows), rtol=1e-11, atol=1e-13)

    @each_pair
    def test_their_functions_are_kernels_as_they_are(self, kernel: Kernel, theirs: Any) -> None:
        found = hsic(X, LABELS, kernel=theirs)
        assert found == pytest.approx(hsic(X, LABELS, kernel=kernel), rel=1e-9, abs=1e-14)


class TestKernelPCA:
    """Its coordinates are those of the centred kernel, up to the sign of each."""

    @pytest.mark.parametrize(
        ("kernel", "options"),
        [
            (Gaussian(1.5), {"kernel": "rbf", "gamma": 1 / (2 * 1.5**2)}),
            (Polynomial(2, 1.0), {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}),
            (Linear(), {"kernel": "linear"}),
        ],
        ids=repr,
    )
    def test_coordinates_of_the_centred_map(self, kernel: Kernel, options: dict[str, Any]) -> None:
        features = KernelMap(kernel=kernel).fit_transform(X)
        centred = features - features.mean(axis=0)
        vectors = np.linalg.svd(centred, full_matrices=False)[2][:4]
        theirs = KernelPCA(4, eigen_solver="dense", **options).fit_transform(X)
        scale = np.abs(theirs).max()
        np.testing.assert_allclose(
            np.abs(centred @ vectors.T), np.abs(theirs), rtol=0, atol=1e-8 * scale
        )

    def test_coordinates_of_the_centred_kernel_matrix(self) -> None:
        """Given the centred matrix itself nothing is left to centre."""
        K = Gaussian(1.5)(X)
        H = np.eye(len(X)) - 1 / len(X)
        ours = KernelMap(4, kernel="precomputed").fit_transform(H @ K @ H)
        theirs = KernelPCA(4, kernel="rbf", gamma=1 / (2 * 1.5**2)).fit_transform(X)
        np.testing.assert_allclose(np.abs(ours), np.abs(theirs), rtol=0, atol=1e-9)

    def test_new_rows(self) -> None:
        estimator = KernelMap(kernel=Gaussian(1.5)).fit(X)
        features = estimator.transform(X)
        vectors = np.linalg.svd(features - features.mean(axis=0), full_matrices=False)[2][:3]
        ours = (estimator.transform(Z) - features.mean(axis=0)) @ vectors.T
        theirs = KernelPCA(3, kernel="rbf", gamma=1 / (2 * 1.5**2)).fit(X).transform(Z)
        np.testing.assert_allclose(np.abs(ours), np.abs(theirs), rtol=0, atol=1e-8)


#: Kernels of Gaussian processes, and ours with the same values where there are any.
PROCESSES = {
    "rbf": (gp.RBF(1.5), Gaussian(1.5)),
    "matern": (gp.Matern(2.0, nu=0.5), Laplace(2.0, norm=2)),
    "matern 3/2": (gp.Matern(2.0, nu=1.5), None),
    "linear": (gp.DotProduct(0.0), Linear()),
    "sum": (gp.RBF(1.5) + gp.DotProduct(0.0), Gaussian(1.5) + Linear()),
    "product": (gp.RBF(1.5) * gp.DotProduct(0.0), Gaussian(1.5) * Linear()),
    "scaled": (3.0 * gp.RBF(1.5), 3.0 * Gaussian(1.5)),
    "anisotropic": (gp.RBF(np.linspace(1.0, 2.0, 60)), None),
}


def gamma_pvalue(X: Any, y: Any, **options: Any) -> float:
    return hsic_test(X, y, method="gamma", **options).pvalue


each_process = pytest.mark.parametrize("name", sorted(PROCESSES))


class TestGaussianProcessKernels:
    @each_process
    def test_values_are_theirs(self, name: str) -> None:
        theirs, ours = PROCESSES[name]
        kernel = as_kernel(theirs)
        np.testing.assert_array_equal(kernel(X, Z), theirs(X, Z))
        np.testing.assert_array_equal(kernel.diag(X), theirs.diag(X))
        if ours is not None:
            np.testing.assert_allclose(kernel(X), ours(X), rtol=1e-9, atol=1e-12)

    @each_process
    @pytest.mark.parametrize("measure", [hsic, alignment, gamma_pvalue])
    def test_every_measure_takes_them(self, name: str, measure: Any) -> None:
        theirs, _ = PROCESSES[name]
        through_matrix = measure(theirs(X), LABELS, kernel="precomputed")
        assert measure(X, LABELS, kernel=theirs) == pytest.approx(through_matrix, rel=1e-8)

    @each_process
    def test_they_compare_targets(self, name: str) -> None:
        theirs, _ = PROCESSES[name]
        through_matrix = hsic(X, theirs(X), target_kernel="precomputed")
        found = hsic(X, X, target_kernel=theirs)
        assert found == pytest.approx(through_matrix, rel=1e-9)

    @each_process
    @pytest.mark.parametrize("part", [KernelMap, IncompleteCholesky, NystroemMap, BasisSelection])
    def test_every_map_takes_them(self, name: str, part: Any) -> None:
        theirs, _ = PROCESSES[name]
        features = part(len(X), kernel=theirs).fit_transform(X)
        K = theirs(X)
        np.testing.assert_allclose(features @ features.T, K, rtol=0, atol=1e-3 * K.max())

    def test_two_samples_are_compared(self) -> None:
        expected = mmd(X, Z, kernel=Gaussian(1.5))
        assert mmd(X, Z, kernel=gp.RBF(1.5)) == pytest.approx(expected, rel=1e-9)

    def test_they_combine_with_ours(self) -> None:
        theirs = gp.RBF(1.5)
        np.testing.assert_allclose((Linear() + theirs)(X), X @ X.T + theirs(X))
        np.testing.assert_allclose((Linear() * theirs)(X), (X @ X.T) * theirs(X))
        columns = Columns([("a", theirs, [0, 1]), ("b", "linear", 2)], combine="add")
        np.testing.assert_allclose(columns(X), theirs(X[:, :2]) + np.outer(X[:, 2], X[:, 2]))
        ridge = RidgeKernel(theirs, 0.5)(X)
        K = theirs(X)
        np.testing.assert_allclose(ridge, K @ np.linalg.inv(K + 0.5 * np.eye(len(X))), atol=1e-10)

    def test_their_parameters_are_numbers_already(self) -> None:
        assert as_kernel(gp.RBF(1.5)).is_resolved
        assert resolve(gp.RBF(1.5), X).get_params()["kernel"] == gp.RBF(1.5)

    def test_stationarity_is_theirs(self) -> None:
        assert as_kernel(gp.RBF()).capabilities.stationary
        assert not as_kernel(gp.DotProduct()).capabilities.stationary
