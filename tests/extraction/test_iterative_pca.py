from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA, KernelPCA
from sklearn.exceptions import ConvergenceWarning

from depmax import IterativePCA, load_model, save_model
from depmax.algebra.directions import principal
from depmax.kernels import Gaussian, Polynomial
from depmax.maps import NystroemMap
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


class TestReconstructionError:
    rows = np.random.default_rng(8).normal(size=(60, 4)) @ np.diag([3.0, 2.0, 1.0, 0.3]) + 5.0
    new = np.random.default_rng(9).normal(size=(12, 4)) + 5.0

    def test_linear_is_the_distance_to_the_reconstruction(self):
        model = IterativePCA(2).fit(self.rows)
        rebuilt = model.inverse_transform(model.transform(self.new))
        expected = np.sum((self.new - rebuilt) ** 2, axis=1)
        np.testing.assert_allclose(model.reconstruction_error(self.new), expected, atol=1e-9)

    def test_sparse_and_wide_rows(self):
        wide = sparse.random(20, 40, density=0.3, random_state=0, format="csr")
        model = IterativePCA(3).fit(wide)
        dense = IterativePCA(3).fit(wide.toarray())
        np.testing.assert_allclose(
            model.reconstruction_error(wide), dense.reconstruction_error(wide.toarray()), atol=1e-9
        )
        left = wide.toarray() - dense.inverse_transform(dense.transform(wide.toarray()))
        expected = np.sum(left**2, axis=1)
        np.testing.assert_allclose(model.reconstruction_error(wide), expected, atol=1e-9)

    @pytest.mark.parametrize(
        "kernel", [Gaussian(2.0), Polynomial(2), NystroemMap(15, random_state=0)], ids=repr
    )
    def test_definition_in_feature_space(self, kernel):
        """‖φ - μ - Σ f_j p_j‖² with every product written out by kernel values."""
        model = IterativePCA(4, kernel=kernel).fit(self.rows)
        K, crossed = model.kernel_(self.rows), model.kernel_(self.new, self.rows)
        H = np.eye(60) - 1 / 60
        values, vectors = np.linalg.eigh(H @ K @ H)
        A = H @ vectors[:, ::-1][:, :4] / np.sqrt(values[::-1][:4])
        for x, cross in enumerate(crossed):
            centred = cross - K.mean(axis=0)
            norm = model.kernel_.diag(self.new)[x] - 2 * cross.mean() + K.mean()
            expected = norm - np.sum((centred @ A) ** 2)
            found = model.reconstruction_error(self.new[x : x + 1])[0]
            assert found == pytest.approx(expected, rel=1e-6, abs=1e-8 * abs(norm))

    def test_all_components_leave_nothing_of_training_rows(self):
        model = IterativePCA(4).fit(self.rows)
        np.testing.assert_allclose(model.reconstruction_error(self.rows), 0.0, atol=1e-9)

    def test_a_kernel_matrix_is_refused(self):
        K = self.rows @ self.rows.T
        with pytest.raises(ValueError, match="needs k"):
            IterativePCA(2, kernel="precomputed").fit(K).reconstruction_error(K)

    def test_saved(self, tmp_path):
        pytest.importorskip("skops", reason="the extra 'save' is not installed")
        for kernel in ("linear", Gaussian(2.0)):
            model = IterativePCA(2, kernel=kernel).fit(self.rows)
            save_model(model, tmp_path / "model.skops")
            again = load_model(tmp_path / "model.skops")
            np.testing.assert_allclose(
                again.reconstruction_error(self.new), model.reconstruction_error(self.new)
            )
