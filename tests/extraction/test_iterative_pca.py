from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA, KernelPCA
from sklearn.exceptions import ConvergenceWarning

from depmax import IterativePCA
from depmax.kernels import Gaussian
from depmax.pencils import principal
from tests.extraction.oracles import same_up_to_signs

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 6)) @ rng.normal(size=(6, 6)) + 3.0


def test_linear_is_pca():
    fitted, pca = IterativePCA(6).fit(X), PCA(6).fit(X)
    same_up_to_signs(fitted.components_, pca.components_, 1e-8)
    np.testing.assert_allclose(fitted.dependence_, pca.explained_variance_)
    np.testing.assert_allclose(fitted.inverse_transform(fitted.transform(X)), X)


@pytest.mark.parametrize("m", [50, 450])
def test_kernel_is_kernel_pca(m, rng):
    rows = np.random.default_rng(1).normal(size=(m, 3))
    kernel = Gaussian(2.0)
    fitted = IterativePCA(4, kernel=kernel).fit(rows)
    other = KernelPCA(4, kernel="precomputed", eigen_solver="dense").fit(kernel(rows))
    new = rng.normal(size=(20, 3))
    same_up_to_signs(fitted.transform(new).T, other.transform(kernel(new, rows)).T, 1e-6)
    np.testing.assert_allclose(fitted.dependence_ * (m - 1), other.eigenvalues_, rtol=1e-8)


def test_wide_and_sparse_rows(rng):
    wide = rng.normal(size=(20, 60))
    same_up_to_signs(IterativePCA(5).fit(wide).components_, PCA(5).fit(wide).components_, 1e-8)
    rows = sparse.random(40, 8, density=0.3, random_state=0, format="csr")
    plain = IterativePCA(3).fit_transform(rows.toarray())
    np.testing.assert_allclose(IterativePCA(3).fit_transform(rows), plain, atol=1e-10)


def test_each_step_leaves_nothing_along_its_direction():
    """(3.3) with the projector on the left: printed on the right, it does not fit."""
    S = X.T @ X
    p = principal(S, 1).vectors[:, 0]
    rest = X @ (np.eye(6) - np.outer(p, p))
    value = p @ S @ p
    np.testing.assert_allclose(rest.T @ rest, S - value * np.outer(p, p), atol=1e-8)
    same_up_to_signs(principal(rest.T @ rest, 1).vectors.T, principal(S, 2).vectors[:, 1:].T)


def test_stops_where_no_variance_is_left(rng):
    flat = X[:, :2] @ rng.normal(size=(2, 5))
    with pytest.warns(ConvergenceWarning, match="found 2 of n_components=4"):
        fitted = IterativePCA(4).fit(flat)
    assert fitted.n_components_ == fitted.transform(flat).shape[1] == 2


def test_share_of_the_variance():
    pca = PCA(0.8).fit(X)
    assert IterativePCA(0.8).fit(X).n_components_ == pca.n_components_


def test_equal_rows():
    with pytest.raises(ValueError, match="All rows of X are equal"):
        IterativePCA(1).fit(np.ones((5, 2)))
