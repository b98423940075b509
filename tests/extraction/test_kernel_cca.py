"""KernelCCA against scikit-learn, generalised eigenproblems and what it is a case of."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg
from sklearn.cross_decomposition import CCA

from depmax import KernelCCA, KernelLDA, load_model, save_model
from depmax.kernels import Gaussian, Spectrum
from depmax.maps import NystroemMap
from tests.extraction.oracles import same_up_to_signs

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 4)) @ rng.normal(size=(4, 4)) + 2.0
Z = X @ rng.normal(size=(4, 3)) + 2.0 * rng.normal(size=(90, 3))
CLASSES = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + rng.normal(size=90), [1.0, 3.0])]
H = np.eye(90) - 1 / 90


def unit(values):
    values = values - values.mean(axis=0)
    return values / values.std(axis=0)


def brute_force(Sx, Sy, C, alpha, target_alpha):
    """Directions and penalised correlations from one generalised eigenproblem of both sides."""
    a, b = len(Sx), len(Sy)
    A = np.block([[np.zeros((a, a)), C], [C.T, np.zeros((b, b))]])
    B = linalg.block_diag(
        Sx + alpha * np.trace(Sx) / a * np.eye(a), Sy + target_alpha * np.trace(Sy) / b * np.eye(b)
    )
    values, vectors = linalg.eigh(A, B)
    return values[::-1], vectors[:a, ::-1], vectors[a:, ::-1]


@pytest.mark.parametrize(("alpha", "target_alpha"), [(0.0, 0.0), (0.3, 0.0), (0.05, 0.7)])
def test_generalised_eigenproblem(alpha, target_alpha):
    centred_x, centred_z = X - X.mean(axis=0), Z - Z.mean(axis=0)
    Sx, Sz, C = (
        left.T @ right / 90
        for left, right in [(centred_x, centred_x), (centred_z, centred_z), (centred_x, centred_z)]
    )
    _, P, Q = brute_force(Sx, Sz, C, alpha, target_alpha)
    model = KernelCCA(3, alpha=alpha, target_alpha=target_alpha).fit(X, Z)
    same_up_to_signs(model.transform(X).T, unit(X @ P[:, :3]).T, 1e-7)
    same_up_to_signs(model.transform_target(Z).T, unit(Z @ Q[:, :3]).T, 1e-7)
    pairs = [
        np.corrcoef(f, g)[0, 1]
        for f, g in zip(model.transform(X).T, model.transform_target(Z).T, strict=True)
    ]
    np.testing.assert_allclose(model.dependence_, pairs)
    assert model.n_pairs_ == 3


def test_scikit_learn():
    theirs = CCA(3, max_iter=20_000, tol=1e-12).fit(X, Z)
    x_scores, y_scores = theirs.transform(X, Z)
    model = KernelCCA(3).fit(X, Z)
    same_up_to_signs(model.transform(X).T, unit(x_scores).T, 1e-3)  # their steps stop early
    same_up_to_signs(model.transform_target(Z).T, unit(y_scores).T, 1e-3)
    expected = [abs(np.corrcoef(f, g)[0, 1]) for f, g in zip(x_scores.T, y_scores.T, strict=True)]
    np.testing.assert_allclose(model.dependence_, expected, atol=1e-7)


def test_no_other_directions_correlate_more():
    best = KernelCCA(1).fit(X, Z).dependence_[0]
    draws = np.random.default_rng(1)
    for _ in range(300):
        p, q = draws.normal(size=4), draws.normal(size=3)
        assert abs(np.corrcoef(X @ p, Z @ q)[0, 1]) <= best + 1e-12


def test_classes_are_discriminant_analysis():
    model = KernelCCA(2).fit(X, CLASSES)
    lda = KernelLDA(2).fit(X, CLASSES)
    np.testing.assert_allclose(model.transform(X), lda.transform(X), atol=1e-8)
    np.testing.assert_allclose(model.dependence_**2, lda.dependence_)
    assert model.transform_target(["a", "b", "c", "a"]).shape == (4, 2)


def test_one_number_is_regression():
    model = KernelCCA(2).fit(X, Z[:, 0])
    assert model.n_pairs_ == 1
    fitted = np.linalg.lstsq(np.column_stack([X, np.ones(90)]), Z[:, 0])[0]
    r = np.corrcoef(X @ fitted[:4], Z[:, 0])[0, 1]
    np.testing.assert_allclose(model.dependence_, [r, 0.0], atol=1e-9)
    assert model.transform_target(Z[:, 0]).shape == (90, 1)


@pytest.mark.parametrize("alpha", [0.05, 0.5])
def test_kernels_on_both_sides(alpha):
    """The eigenproblem (HKHLH; K(K + αI)) with α relative to the mean eigenvalue, the slow way."""
    kernel, target_kernel = Gaussian(3.0), Gaussian(4.0)
    sides = []
    for K in (H @ kernel(X) @ H, H @ target_kernel(Z) @ H):
        values, vectors = linalg.eigh(K)
        kept = values > 90 * np.finfo(float).eps * 1.0
        sides.append(vectors[:, kept] * np.sqrt(values[kept]))
    left, right = sides
    _, P, Q = brute_force(left.T @ left / 90, right.T @ right / 90, left.T @ right / 90, alpha, 0.2)
    model = KernelCCA(
        2, kernel=kernel, target_kernel=target_kernel, alpha=alpha, target_alpha=0.2
    ).fit(X, Z)
    same_up_to_signs(model.transform(X).T, unit(left @ P[:, :2]).T, 1e-6)
    same_up_to_signs(model.transform_target(Z).T, unit(right @ Q[:, :2]).T, 1e-6)


def test_primal_equals_dual():
    options = {"alpha": 0.1, "target_alpha": 0.2}
    primal = KernelCCA(3, **options).fit_transform(X, Z)
    dual = KernelCCA(3, kernel="precomputed", **options).fit_transform(X @ X.T, Z)
    same_up_to_signs(dual.T, primal.T, 1e-6)


def test_a_penalty_keeps_wide_rows_from_perfect_correlation():
    wide = np.random.default_rng(3).normal(size=(30, 60))
    y = np.random.default_rng(4).normal(size=30)
    assert KernelCCA(1, alpha=1e-9).fit(wide, y).dependence_[0] > 0.999
    assert KernelCCA(1, alpha=10.0).fit(wide, y).dependence_[0] < 0.99


def test_maps_strings_and_files(tmp_path):
    mapped = KernelCCA(2, kernel=NystroemMap(10, random_state=0)).fit(X, Z)
    assert mapped.transform(X).shape == (90, 2)
    words = np.array(["abab", "baba", "aabb", "cdcd", "dccd", "ddcc"], dtype=object)
    paired = np.array(["xy", "xx", "yx", "uv", "vv", "vu"], dtype=object)
    texts = KernelCCA(1, kernel=Spectrum(1), target_kernel=Spectrum(1), alpha=0.1, target_alpha=0.1)
    texts.fit(words, paired)
    assert texts.dependence_[0] > 0.95
    assert texts.transform_target(paired[:2]).shape == (2, 1)
    pytest.importorskip("skops", reason="the extra 'save' is not installed")
    for model, rows, target in [(mapped, X, Z), (KernelCCA(1).fit(X, CLASSES), X, CLASSES)]:
        save_model(model, tmp_path / "model.skops")
        again = load_model(tmp_path / "model.skops")
        np.testing.assert_array_equal(again.transform(rows), model.transform(rows))
        np.testing.assert_allclose(again.transform_target(target), model.transform_target(target))
