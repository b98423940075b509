from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg
from sklearn.cross_decomposition import PLSRegression
from sklearn.exceptions import ConvergenceWarning

from depmax import HSCA, hsic
from depmax.kernels import Gaussian
from depmax.maps import KernelMap
from tests.extraction.oracles import form, positive_part, same_up_to_signs, top_eigenvector

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 6)) @ rng.normal(size=(6, 6)) + 3.0
NUMBERS = np.sin(X[:, 0]) + 0.3 * rng.normal(size=40)
CLASSES = np.digitize(X[:, 1] - X[:, 2], [0.0, 4.0])
OUTPUTS = np.column_stack([X[:, 0] ** 2, X[:, 3]])
H = np.eye(40) - 1 / 40


def slow(X, L, n, alpha, unbiased, feature_gram=lambda F: F @ F.T):
    """Algorithm 4 with relative regularisation, by dense generalised eigenproblems."""
    A = X.T @ form(L, unbiased) @ X
    P = [linalg.eigh(A)[1][:, -1]]
    while len(P) < n:
        F = (X - X.mean(axis=0)) @ np.array(P).T
        B = X.T @ form(feature_gram(F), unbiased) @ X
        B = positive_part(B)
        P.append(top_eigenvector(A, B + alpha * np.trace(B) / len(P) * np.eye(len(A))))
    return np.array(P)


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("y", [NUMBERS, CLASSES, OUTPUTS], ids=["numbers", "classes", "outputs"])
def test_equals_the_definition(unbiased, y):
    fitted = HSCA(3, unbiased=unbiased, alpha=1e-2).fit(X, y)
    rows = y[:, np.newaxis] if y.dtype.kind == "f" and y.ndim == 1 else y
    L = fitted.target_kernel_(rows)
    same_up_to_signs(fitted.components_, slow(X, L, 3, 1e-2, unbiased), 1e-6)
    reached = [p @ X.T @ form(L, unbiased) @ X @ p for p in fitted.components_]
    np.testing.assert_allclose(fitted.dependence_, reached, rtol=1e-8)
    feature = fitted.transform(X)[:, 1]
    value = hsic(feature, y, kernel="linear", target_kernel=fitted.target_kernel_,
                 unbiased=unbiased)  # fmt: skip  # shorter to read in this form
    assert value == pytest.approx(fitted.dependence_[1])


@pytest.mark.parametrize("unbiased", [True, False])
def test_gaussian_feature_kernel_equals_the_definition(unbiased):
    fitted = HSCA(3, unbiased=unbiased, alpha=1e-2, feature_kernel="gaussian").fit(X, NUMBERS)
    L = fitted.target_kernel_(NUMBERS[:, np.newaxis])
    expected = slow(X, L, 3, 1e-2, unbiased, lambda F: Gaussian().resolve(F)(F))
    same_up_to_signs(fitted.components_, expected, 1e-5)


@pytest.mark.parametrize("unbiased", [True, False])
def test_no_other_direction_has_a_larger_quotient(unbiased, rng):
    alpha = 1e-3
    P = HSCA(2, unbiased=unbiased, alpha=alpha, target_kernel="linear").fit(X, OUTPUTS).components_
    A = X.T @ form(OUTPUTS @ OUTPUTS.T, unbiased) @ X
    f = X @ P[0]
    B = positive_part(X.T @ form(np.outer(f, f), unbiased) @ X)
    B += alpha * np.trace(B) * np.eye(6)

    def quotient(p):
        return (p @ A @ p) / (p @ B @ p)

    best = quotient(P[1])
    tries = rng.normal(size=(2000, 6))
    near = P[1] + 1e-3 * rng.normal(size=(2000, 6))
    assert max(map(quotient, np.vstack([tries, near]))) <= best * (1 + 1e-9)


def test_without_regularisation_it_is_pls1():
    y = NUMBERS
    ours = HSCA(4, target_kernel="linear", alpha=0.0).fit_transform(X, y)
    theirs = PLSRegression(4, scale=False).fit(X, y).transform(X)
    same_up_to_signs((ours / linalg.norm(ours, axis=0)).T,
                     (theirs / linalg.norm(theirs, axis=0)).T, 1e-7)  # fmt: skip  # shorter
    limit = HSCA(4, target_kernel="linear", alpha=1e-13).fit_transform(X, y)
    np.testing.assert_allclose(limit, ours, atol=1e-5 * np.abs(ours).max())


def test_several_targets_without_regularisation_are_simpls():
    """Each weight: the leading left singular vector of the cross-product off the loadings."""
    centred, Y = X - X.mean(axis=0), OUTPUTS - OUTPUTS.mean(axis=0)
    cross, loadings, weights = centred.T @ Y, np.empty((6, 0)), []
    for _ in range(4):
        basis = linalg.orth(loadings) if loadings.shape[1] else np.zeros((6, 0))
        rest = cross - basis @ (basis.T @ cross)
        p = linalg.svd(rest)[0][:, 0]
        weights.append(p)
        loadings = np.column_stack([loadings, centred.T @ (centred @ p)])
    ours = HSCA(4, target_kernel="linear", alpha=0.0).fit(X, OUTPUTS)
    same_up_to_signs(ours.components_, np.array(weights), 1e-7)


def test_small_inputs_do_not_repeat_the_first_direction():
    plain = HSCA(3).fit(X, NUMBERS)
    scaled = HSCA(3).fit(X * 1e-3, NUMBERS)
    np.testing.assert_allclose(scaled.components_, plain.components_, atol=1e-8)


@pytest.mark.parametrize("unbiased", [True, False])
class TestRoutes:
    def test_primal_equals_dual(self, unbiased):
        primal = HSCA(3, unbiased=unbiased).fit(X, CLASSES)
        dual = HSCA(3, unbiased=unbiased, kernel="precomputed").fit(X @ X.T, CLASSES)
        same_up_to_signs(dual.transform(X @ X.T).T, primal.transform(X).T, 1e-6)
        np.testing.assert_allclose(dual.dependence_, primal.dependence_, rtol=1e-6)

    def test_wide_equals_precomputed(self, unbiased, rng):
        wide = rng.normal(size=(20, 50)) + 5.0
        y = np.repeat([0, 1, 2, 3], 5)
        linear = HSCA(3, unbiased=unbiased).fit(wide, y)
        gram = HSCA(3, unbiased=unbiased, kernel="precomputed").fit(wide @ wide.T, y)
        same_up_to_signs(gram.transform(wide @ wide.T).T, linear.transform(wide).T, 1e-6)
        np.testing.assert_allclose(linalg.norm(linear.components_, axis=1), 1.0)

    def test_exact_map_equals_gram_route(self, unbiased):
        kernel = Gaussian(3.0)
        gram = HSCA(3, unbiased=unbiased, kernel=kernel).fit(X, NUMBERS)
        mapped = HSCA(3, unbiased=unbiased, kernel=KernelMap(kernel=kernel)).fit(X, NUMBERS)
        same_up_to_signs(mapped.transform(X + 0.1).T, gram.transform(X + 0.1).T, 1e-6)


def test_the_kernel_penalty_is_the_norm_in_feature_space():
    """In the dual the penalty is αK, not αI."""
    kernel, alpha = Gaussian(3.0), 1e-2
    fitted = HSCA(2, kernel=kernel, target_kernel="linear", alpha=alpha).fit(X, OUTPUTS)
    K = H @ kernel(X) @ H
    values, vectors = linalg.eigh(K)
    basis = vectors[:, 1:] / np.sqrt(values[1:])  # the centred span, orthonormal in feature space
    M = form(OUTPUTS @ OUTPUTS.T, False)
    A = basis.T @ K @ M @ K @ basis
    p = linalg.eigh(A)[1][:, -1]
    f = K @ basis @ p
    B = basis.T @ K @ form(np.outer(f, f), False) @ K @ basis
    second = top_eigenvector(A, B + alpha * np.trace(B) * np.eye(len(B)))
    features = np.column_stack([f, K @ basis @ second])
    same_up_to_signs(fitted.transform(X).T, features.T, 1e-6)


class TestFewerFeatures:
    def test_whitened_inputs_with_one_target_have_one_component(self):
        centred = X - X.mean(axis=0)
        white = linalg.svd(centred, full_matrices=False)[0]
        with pytest.warns(ConvergenceWarning, match="found 1 of n_components=3"):
            fitted = HSCA(3, target_kernel="linear").fit(white, NUMBERS)
        assert fitted.transform(white).shape == (40, 1)
        assert list(fitted.get_feature_names_out()) == ["hsca0"]


def test_unbiased_needs_regularisation():
    with pytest.raises(ValueError, match="positive with unbiased=True"):
        HSCA(alpha=0.0, unbiased=True).fit(X, CLASSES)
