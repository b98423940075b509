from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning

from depmax import HBFE, hsic, scan
from depmax.kernels import Delta, Gaussian, Polynomial
from depmax.maps import KernelMap
from tests.extraction.oracles import form, same_up_to_signs

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 6)) @ rng.normal(size=(6, 6)) + 3.0
NUMBERS = np.sin(X[:, 0]) + 0.3 * rng.normal(size=40)
CLASSES = np.digitize(X[:, 1] - X[:, 2], [0.0, 4.0])
OUTPUTS = np.column_stack([X[:, 0] ** 2, X[:, 3]])
TARGETS = {"numbers": NUMBERS, "classes": CLASSES, "outputs": OUTPUTS}


def criterion(X: np.ndarray, fitted: HBFE, y: np.ndarray) -> np.ndarray:
    """A = XᵀMX with M as the thesis writes it."""
    rows = y[:, np.newaxis] if y.ndim == 1 and y.dtype.kind == "f" else y
    return X.T @ form(fitted.target_kernel_(rows), fitted.unbiased) @ X


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("target", sorted(TARGETS))
class TestDefinition:
    def test_eigenvectors_are_those_of_the_thesis(self, unbiased, target):
        """Those with positive eigenvalues; directions of largest variance follow."""
        y = TARGETS[target]
        fitted = HBFE(2, unbiased=unbiased).fit(X, y)
        values, vectors = linalg.eigh(criterion(X, fitted, y))
        assert (values[-2:] > 1e-6 * values[-1]).all()
        same_up_to_signs(fitted.components_, vectors[:, ::-1][:, :2].T, 1e-7)
        np.testing.assert_allclose(fitted.dependence_, values[::-1][:2], rtol=1e-8)

    def test_dependence_is_hsic_of_each_feature(self, unbiased, target):
        y = TARGETS[target]
        fitted = HBFE(4, unbiased=unbiased).fit(X, y)
        features = fitted.transform(X)
        reached = [
            hsic(f, y, kernel="linear", target_kernel=fitted.target_kernel_, unbiased=unbiased)
            for f in features.T
        ]
        np.testing.assert_allclose(fitted.dependence_, reached, atol=1e-9 * max(np.abs(reached)))
        whole = hsic(features, y, kernel="linear", target_kernel=fitted.target_kernel_,
                     unbiased=unbiased)  # fmt: skip  # shorter to read in this form
        assert whole == pytest.approx(fitted.dependence_.sum())

    def test_no_other_directions_reach_more(self, unbiased, target, rng):
        y = TARGETS[target]
        fitted = HBFE(2, unbiased=unbiased).fit(X, y)
        A = criterion(X, fitted, y)
        best = -np.inf
        for start in rng.normal(size=(30, 6, 2)):
            P = linalg.qr(start, mode="economic")[0]
            for _ in range(60):  # projected gradient ascent on tr PᵀAP
                P = linalg.qr(P + A @ P / linalg.norm(A), mode="economic")[0]
            best = max(best, np.trace(P.T @ A @ P))
        positive = np.maximum(fitted.dependence_, 0.0).sum()
        assert max(best, 0.0) <= positive * (1 + 1e-8)

    def test_directions_are_orthonormal(self, unbiased, target):
        P = HBFE(6, unbiased=unbiased).fit(X, TARGETS[target]).components_
        np.testing.assert_allclose(P @ P.T, np.eye(6), atol=1e-12)


@pytest.mark.parametrize("unbiased", [True, False])
class TestRoutes:
    def test_primal_equals_dual(self, unbiased):
        primal = HBFE(4, unbiased=unbiased).fit_transform(X, CLASSES)
        model = HBFE(4, unbiased=unbiased, kernel="precomputed").fit(X @ X.T, CLASSES)
        same_up_to_signs(model.transform(X @ X.T).T, primal.T, 1e-7)

    def test_wide_equals_precomputed(self, unbiased, rng):
        wide = rng.normal(size=(20, 50)) + 5.0
        y = np.repeat([0, 1, 2, 3], 5)
        linear = HBFE(4, unbiased=unbiased).fit(wide, y)
        gram = HBFE(4, unbiased=unbiased, kernel="precomputed").fit(wide @ wide.T, y)
        same_up_to_signs(gram.transform(wide @ wide.T).T, linear.transform(wide).T, 1e-7)
        np.testing.assert_allclose(gram.dependence_, linear.dependence_, rtol=1e-7, atol=1e-12)
        P = linear.components_
        np.testing.assert_allclose(P @ P.T, np.eye(4), atol=1e-10)
        text = HBFE(4, unbiased=unbiased).fit(sparse.csr_matrix(wide), y)
        np.testing.assert_allclose(text.components_, P, atol=1e-9)

    def test_exact_map_equals_gram_route(self, unbiased):
        kernel = Gaussian(3.0)
        gram = HBFE(4, unbiased=unbiased, kernel=kernel).fit(X, NUMBERS)
        mapped = HBFE(4, unbiased=unbiased, kernel=KernelMap(kernel=kernel)).fit(X, NUMBERS)
        new = X + 0.1
        same_up_to_signs(mapped.transform(new).T, gram.transform(new).T, 1e-6)
        np.testing.assert_allclose(mapped.dependence_, gram.dependence_, rtol=1e-6, atol=1e-12)

    def test_kernel_directions_solve_the_dual_problem(self, unbiased):
        """KMKq = λKq with qᵀKq = 1, (4.6) and (4.11)."""
        fitted = HBFE(2, unbiased=unbiased, kernel=Gaussian(3.0)).fit(X, NUMBERS)
        K = Gaussian(3.0)(X)
        M = form(fitted.target_kernel_(NUMBERS), unbiased)
        Q = fitted._projection.weights
        np.testing.assert_allclose(Q.T @ K @ Q, np.eye(2), atol=1e-9)
        np.testing.assert_allclose(K @ M @ K @ Q, K @ Q * fitted.dependence_, atol=1e-8)

    def test_polynomial_features_equal_its_gram_matrix(self, unbiased):
        kernel = Polynomial(2, 1.0)
        model = HBFE(3, unbiased=unbiased, kernel=kernel).fit(X[:, :3], NUMBERS)
        K = kernel(X[:, :3])
        gram = HBFE(3, unbiased=unbiased, kernel="precomputed").fit(K, NUMBERS)
        same_up_to_signs(gram.transform(K).T, model.transform(X[:, :3]).T, 1e-6)


class TestCompletion:
    def test_beyond_the_rank_by_variance_inside_the_null_space(self):
        y = CLASSES > 0
        fitted = HBFE(4, unbiased=False).fit(X, y)
        p = fitted.components_[0]
        rest = X @ (np.eye(6) - np.outer(p, p))
        same_up_to_signs(fitted.components_[1:], PCA(3).fit(rest).components_, 1e-7)
        np.testing.assert_allclose(fitted.dependence_[1:], 0.0, atol=1e-20)

    def test_all_directions_of_few_samples(self, rng):
        wide = rng.normal(size=(5, 8))
        with pytest.warns(ConvergenceWarning, match="found 4 of n_components=5"):
            fitted = HBFE(5, unbiased=False).fit(wide, [0, 1, 0, 1, 0])
        P = fitted.components_
        np.testing.assert_allclose(P @ P.T, np.eye(4), atol=1e-10)

    def test_more_than_the_kernel_matrix_carries(self):
        repeated = np.repeat(np.arange(3.0), 4)[:, np.newaxis]
        with pytest.warns(ConvergenceWarning, match="found 2 of n_components=3"):
            HBFE(3, kernel=Gaussian(1.0)).fit(repeated, np.tile([0, 1], 6))


def test_whitened_inputs_and_delta_over_root_counts_give_lda():
    centred = X - X.mean(axis=0)
    values, vectors = linalg.eigh(centred.T @ centred / len(X))
    whiten = vectors / np.sqrt(values)
    shares = {label: 1.0 / np.mean(label == CLASSES) for label in np.unique(CLASSES).tolist()}
    fitted = HBFE(2, unbiased=False, target_kernel=Delta(shares)).fit(centred @ whiten, CLASSES)
    directions = (whiten @ fitted.components_.T).T
    reference = LinearDiscriminantAnalysis(solver="eigen").fit(X, CLASSES).scalings_[:, :2].T
    directions /= linalg.norm(directions, axis=1, keepdims=True)
    reference = reference / linalg.norm(reference, axis=1, keepdims=True)
    same_up_to_signs(directions, reference, 1e-7)


def test_one_pass_over_rows_in_blocks_gives_the_same():
    whole = HBFE(3).fit(X, NUMBERS)
    blocks = HBFE(3).fit(scan(X, NUMBERS, rows_per_chunk=20))
    np.testing.assert_allclose(blocks.components_, whole.components_)
    np.testing.assert_allclose(
        blocks.transform(scan(X, rows_per_chunk=20)).compute(), whole.transform(X)
    )
