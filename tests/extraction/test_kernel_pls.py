"""Kernel PLS and its kin: sparse, reduced, boosted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import linalg, optimize, sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline

from depmax import (
    BoostedLatentFeatures,
    KernelBoosting,
    KernelPLS,
    KernelPLSClassifier,
    ReducedKernelOPLS,
    SparseKernelPLS,
    scan,
)
from depmax.algebra.losses import LOSSES
from depmax.kernels import Gaussian
from depmax.maps import NystroemMap
from tests.extraction.deflation_oracles import gaussian_gram, up_to_sign

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 6)) @ rng.normal(size=(6, 6)) + 2.0
y = X[:, 0] + X[:, 3] ** 2 + 0.3 * rng.normal(size=50)
Y = np.column_stack([y, np.sin(X[:, 1])])
NEW = rng.normal(size=(9, 6)) + 2.0
LABELS = np.array(["low", "mid", "high"])[np.digitize(y, np.quantile(y, [0.3, 0.7]))]


def reference(target, n_components=4):
    return PLSRegression(n_components, scale=False, tol=1e-15, max_iter=100_000).fit(X, target)


class TestKernelPLS:
    @pytest.mark.parametrize("target", [y, Y])
    def test_linear_is_pls(self, target):
        model, expected = KernelPLS(4).fit(X, target), reference(target)
        up_to_sign(model.transform(NEW), expected.transform(NEW), atol=1e-6)
        np.testing.assert_allclose(model.predict(NEW), expected.predict(NEW), atol=1e-6)
        np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-6)
        np.testing.assert_allclose(model.loadings_, _signed(model, expected), atol=1e-6)
        values = (NEW - model.mean_) @ model.coef_.T + model.intercept_
        np.testing.assert_allclose(values, model.predict(NEW).reshape(9, -1))

    @pytest.mark.parametrize("target", [y, Y, LABELS])
    def test_all_routes_agree(self, target):
        narrow = KernelPLS(3).fit_transform(X, target)
        wide = np.column_stack([X, np.zeros((50, 60))])
        for model, rows in (
            (KernelPLS(3), wide),
            (KernelPLS(3), sparse.csr_array(X)),
            (KernelPLS(3, kernel="precomputed"), X @ X.T),
        ):
            np.testing.assert_allclose(model.fit_transform(rows, target), narrow, atol=1e-8)
            np.testing.assert_allclose(model.transform(rows), narrow, atol=1e-8)
        streamed = KernelPLS(3).fit(scan(X, target, rows_per_chunk=20))
        np.testing.assert_allclose(streamed.transform(X), narrow, atol=1e-8)

    def test_dual_coefficients(self):
        K = gaussian_gram(X, 3.0)
        H = np.eye(50) - 1 / 50
        T = KernelPLS(4, kernel=Gaussian(3.0)).fit_transform(X, Y)
        model = KernelPLS(4, kernel=Gaussian(3.0)).fit(X, Y)
        # α = B(TᵀKB)⁻¹TᵀY with B = the deflated targets, as Rosipal and Trejo have it
        centred, Kc = H @ Y, H @ K @ H
        B, left = [], centred
        for t in T.T:
            B.append(left @ linalg.eigh(left.T @ Kc @ left)[1][:, -1])
            left = left - np.outer(t, t @ left) / (t @ t)
        B = np.array(B).T
        alpha = B @ linalg.inv(T.T @ Kc @ B) @ T.T @ centred
        np.testing.assert_allclose(model.predict(X), Kc @ alpha + Y.mean(axis=0), atol=1e-8)

    def test_predicts_classes(self):
        model = KernelPLS(5, kernel="gaussian").fit(X, LABELS)
        assert np.mean(model.predict(X) == LABELS) > 0.8
        two = KernelPLS(4).fit(X, X[:, 0] > 2)
        assert np.mean(two.predict(X) == (X[:, 0] > 2)) > 0.9

    @pytest.mark.parametrize("cut", [[1.0], [0.0, 2.0]])
    @pytest.mark.parametrize("kind", ["text", "objects", "categories", "booleans"])
    def test_classes_are_predicted_and_scored_as_classes(self, cut, kind):
        codes = np.digitize(X[:, 0], cut)
        if kind == "booleans":
            labels = codes > 0
        else:
            labels = np.array(["a", "b", "c"])[codes]
            labels = labels.astype(object) if kind == "objects" else labels
            labels = pd.Series(labels, dtype="category") if kind == "categories" else labels
        model = KernelPLS(3).fit(X, labels)
        predicted = model.predict(X)
        accuracy = np.mean(predicted == np.asarray(labels))
        assert model.score(X, labels) == accuracy > 0.6
        assert set(predicted) <= set(model.classes_) == set(np.asarray(labels))
        assert is_regressor(model)
        same = KernelPLSClassifier(3).fit(X, labels)
        np.testing.assert_array_equal(same.predict(X), predicted)
        assert same.score(X, np.asarray(labels)) == accuracy

    @pytest.mark.parametrize("kernel", ["linear", "gaussian"])
    @pytest.mark.parametrize("cut", [[3.0], [-2.0, 0.0], [-1.0, 0.0, 1.0]])
    def test_the_nearest_mean_of_the_predicted_indicators(self, kernel, cut):
        labels = np.digitize(X[:, 0], cut)
        model = KernelPLSClassifier(3, kernel=kernel).fit(X, labels)
        classes = np.unique(labels)
        codes = model.transform(X) @ model.target_loadings_ + model.intercept_
        centres = np.array([codes[labels == label].mean(axis=0) for label in classes])
        distances = np.square(codes[:, np.newaxis] - centres).sum(axis=2)
        np.testing.assert_array_equal(model.predict(X), classes[distances.argmin(axis=1)])
        decision = model.decision_function(X)
        if len(classes) == 2:
            np.testing.assert_allclose(2 * decision, distances[:, 0] - distances[:, 1], atol=1e-9)
        else:
            np.testing.assert_array_equal(decision.argmax(axis=1), distances.argmin(axis=1))

    def test_a_classifier_to_scikit_learn(self):
        labels = np.arange(50) % 25  # whole numbers of many values are classes here
        assert is_classifier(KernelPLSClassifier())
        assert not is_regressor(KernelPLSClassifier())
        assert len(KernelPLSClassifier(3).fit(X, labels).classes_) == 25
        search = GridSearchCV(KernelPLSClassifier(), {"n_components": [1, 2, "auto"]}, cv=3)
        search.fit(X, np.where(X[:, 0] > 1, "high", "low"))
        assert search.best_score_ > 0.8
        with pytest.raises(ValueError, match="one class per row"):
            KernelPLSClassifier().fit(X, Y)
        with pytest.raises(ValueError, match="Unknown label type"):
            KernelPLSClassifier().fit(X, y)

    def test_refitting_forgets_the_classes(self):
        model = KernelPLS(2).fit(X, np.where(X[:, 0] > 1, "high", "low"))
        assert model.fit(X, y).predict(X).dtype == np.float64
        assert not hasattr(model, "classes_")

    def test_whole_numbers_are_numbers(self):
        counts = np.arange(50) % 3
        np.testing.assert_allclose(
            KernelPLS(2).fit(X, counts).predict(X), KernelPLS(2).fit(X, counts * 1.0).predict(X)
        )

    @pytest.mark.parametrize("width", [1.0, 30.0])  # the second makes an ill-conditioned map
    def test_map_as_kernel(self, width):
        mapping = NystroemMap(20, kernel=Gaussian(width), random_state=0)
        model = KernelPLS(3, kernel=mapping)
        T = model.fit_transform(X, y)
        phi = mapping.fit_transform(X)
        plain = KernelPLS(3).fit(phi, y)
        np.testing.assert_allclose(model.predict(NEW), plain.predict(mapping.transform(NEW)))
        np.testing.assert_allclose(T, plain.transform(phi), atol=1e-9)
        np.testing.assert_allclose(T.T @ T, np.diag(np.diag(T.T @ T)), atol=1e-8)

    @pytest.mark.parametrize("wide", [False, True])
    def test_explained_target_ends_it(self, wide):
        rows = np.column_stack([X[:, 0], np.zeros((50, 500 if wide else 5))])
        with pytest.warns(ConvergenceWarning, match="1 of n_components=6"):
            KernelPLS(6).fit(rows, X[:, 0])

    def test_whitened_inputs_have_one_component(self):
        white = linalg.orth(X - X.mean(axis=0))
        wide = np.column_stack([white, np.zeros((50, 500))])
        for kernel, rows in (("linear", white), ("linear", wide), ("precomputed", white @ white.T)):
            with pytest.warns(ConvergenceWarning, match="1 of n_components=3"):
                KernelPLS(3, kernel=kernel).fit(rows, y)

    def test_fast_convergence_is_no_end(self):
        rows = np.random.default_rng(0).normal(size=(20_000, 30))
        model = KernelPLS(7).fit(rows, rows[:, :5].sum(axis=1) + rows[:, 6] ** 2)
        assert model.components_.shape == (7, 30)


def _signed(model, expected):
    signs = np.sign(np.sum(model.components_ * expected.x_rotations_.T, axis=1))
    return expected.x_loadings_.T * signs[:, np.newaxis]


class TestSparseKernelPLS:
    @pytest.mark.parametrize("heuristic", ["max_residual", "max_information"])
    @pytest.mark.parametrize("target", [y, Y])
    def test_all_rows_are_kernel_pls(self, heuristic, target):
        model = SparseKernelPLS(3, nu=1.0, heuristic=heuristic, kernel=Gaussian(3.0))
        expected = KernelPLS(3, kernel=Gaussian(3.0)).fit_transform(X, target)
        np.testing.assert_allclose(model.fit_transform(X, target), expected, atol=1e-8)

    @pytest.mark.parametrize("heuristic", ["max_residual", "max_information"])
    def test_definition(self, heuristic):
        K = gaussian_gram(X, 3.0)
        model = SparseKernelPLS(3, nu=0.1, heuristic=heuristic, kernel=Gaussian(3.0))
        T = model.fit_transform(X, y)
        Q, used = np.full((50, 1), 50**-0.5), set()
        for t in T.T:
            left = y - Q @ (Q.T @ y)
            scores = np.abs(left) if heuristic == "max_residual" else np.abs(K @ left)
            rows = np.argsort(-scores)[:5]
            used |= set(rows)
            beta = np.zeros(50)
            beta[rows] = left[rows]
            beta /= np.sqrt(beta @ K @ beta)
            image = K @ beta
            feature = image - Q @ (Q.T @ image)
            np.testing.assert_allclose(np.abs(feature), np.abs(t), atol=1e-9)
            Q = np.column_stack([Q, feature / linalg.norm(feature)])
        np.testing.assert_array_equal(model.basis_indices_, sorted(used))
        np.testing.assert_allclose(model.transform(X), T, atol=1e-9)

    @pytest.mark.parametrize("loss", ["least_squares", "absolute", "logistic", "exponential"])
    def test_all_rows_with_a_loss_are_boosted_latent_features(self, loss):
        target = y if loss in ("least_squares", "absolute") else y > np.median(y)
        model = SparseKernelPLS(3, nu=1.0, loss=loss, kernel=Gaussian(3.0))
        found = model.fit_transform(X, target)
        boosted = BoostedLatentFeatures(3, loss=loss, kernel=Gaussian(3.0))
        expected = boosted.fit_transform(X, target)
        np.testing.assert_allclose(found / linalg.norm(found, axis=0), expected, atol=1e-6)

    def test_rows_with_the_steepest_loss(self):
        """The largest |gradient| first, at the fit on the features before."""
        signs = np.where(y > np.median(y), 1.0, -1.0)
        model = SparseKernelPLS(2, nu=0.1, loss="logistic", kernel=Gaussian(3.0))
        first, second = model.fit_transform(X, signs).T
        fitted = BoostedLatentFeatures(1, loss="logistic", kernel="linear")
        value = fitted.fit(first[:, np.newaxis], signs)
        margin = value._apply(first[:, np.newaxis]) @ value.target_loadings_ + value.intercept_
        gradient = signs / (1 + np.exp(signs * margin[:, 0]))
        rows = np.argsort(-np.abs(gradient))[:5]
        assert set(rows) <= set(model.basis_indices_)
        image = gaussian_gram(X, 3.0)[:, rows] @ gradient[rows]
        Q = np.column_stack([np.full(50, 50**-0.5), first / linalg.norm(first)])
        image -= Q @ (Q.T @ image)
        assert abs(image @ second) == pytest.approx(linalg.norm(image) * linalg.norm(second))

    def test_a_cache_of_all_rows_changes_nothing(self):
        options = {"nu": 0.2, "heuristic": "max_information", "kernel": Gaussian(3.0)}
        plain = SparseKernelPLS(3, **options).fit_transform(X, Y)
        cached = SparseKernelPLS(3, cache_size=80, **options).fit_transform(X, Y)
        np.testing.assert_allclose(cached, plain, atol=1e-10)

    def test_rows_outside_the_cache_have_no_weight(self):
        options = {"nu": 0.2, "heuristic": "max_information", "kernel": Gaussian(3.0)}
        model = SparseKernelPLS(3, cache_size=12, random_state=0, **options).fit(X, y)
        assert len(model.basis_indices_) <= 12
        again = SparseKernelPLS(3, cache_size=12, random_state=0, **options).fit(X, y)
        np.testing.assert_array_equal(model.transform(X), again.transform(X))
        with pytest.raises(ValueError, match="cache_size of SparseKernelPLS"):
            SparseKernelPLS(cache_size=12).fit(X, y)

    def test_a_loss_of_margins_needs_classes(self):
        with pytest.raises(ValueError, match=r"loss='logistic' .*classes"):
            SparseKernelPLS(loss="logistic").fit(X, y)

    def test_unknown_heuristic(self):
        with pytest.raises(ValueError, match="'max_residual'"):
            SparseKernelPLS(heuristic="best").fit(X, y)


class TestReducedKernelOPLS:
    def test_definition(self):
        model = ReducedKernelOPLS(2, n_basis=12, kernel=Gaussian(3.0), random_state=0)
        T = model.fit_transform(X, Y)
        basis = model.basis_indices_
        assert len(basis) == 12
        R = gaussian_gram(X, 3.0)[:, basis]
        R = R - R.mean(axis=0)
        C = R.T @ (Y - Y.mean(axis=0))
        values, vectors = linalg.eigh(C @ C.T, R.T @ R)
        up_to_sign(T, R @ vectors[:, ::-1][:, :2], atol=1e-7)
        np.testing.assert_allclose(model.dependence_ * 49**2, values[::-1][:2], rtol=1e-7)
        np.testing.assert_allclose(T.T @ T, np.eye(2), atol=1e-10)
        np.testing.assert_allclose(model.transform(X), T, atol=1e-9)

    def test_full_form(self):
        model = ReducedKernelOPLS(2, n_basis=None, kernel="linear")
        T = model.fit_transform(X, Y)
        np.testing.assert_array_equal(model.basis_indices_, np.arange(50))
        Q = linalg.orth(X - X.mean(axis=0))
        C = Q.T @ (Y - Y.mean(axis=0))
        up_to_sign(T, Q @ linalg.svd(C)[0][:, :2], atol=1e-8)
        assert model.components_.shape == (2, 6)

    def test_no_more_features_than_targets(self):
        with pytest.warns(ConvergenceWarning, match="1 of n_components=2"):
            ReducedKernelOPLS(2).fit(X, y)
        with pytest.warns(ConvergenceWarning, match="2 of n_components=5"):
            ReducedKernelOPLS(5).fit(X, LABELS)


class TestBoostedLatentFeatures:
    @pytest.mark.parametrize("kernel", ["linear", "gaussian"])
    @pytest.mark.parametrize("target", [y, Y, LABELS])
    def test_least_squares_is_pls(self, kernel, target):
        T = BoostedLatentFeatures(3, kernel=kernel).fit_transform(X, target)
        expected = KernelPLS(3, kernel=kernel).fit_transform(X, target)
        np.testing.assert_allclose(T, expected / linalg.norm(expected, axis=0), atol=1e-8)

    @pytest.mark.parametrize("loss", ["absolute", "exponential", "logistic"])
    def test_directions_follow_the_gradient(self, loss):
        target = y - y.mean() if loss == "absolute" else np.where(y > np.median(y), 1.0, -1.0)
        model = BoostedLatentFeatures(3, loss=loss)
        T = model.fit_transform(X, target if loss == "absolute" else target > 0)
        Q = np.full((50, 1), 50**-0.5)
        centred = X - X.mean(axis=0)
        for t in T.T:
            w = LOSSES[loss].descent(target, Q)
            np.testing.assert_allclose(Q.T @ w, 0, atol=1e-4 * linalg.norm(w))
            left = centred - Q @ (Q.T @ centred)
            feature = left @ (left.T @ w)
            np.testing.assert_allclose(np.abs(t), np.abs(feature) / linalg.norm(feature), atol=1e-4)
            Q = np.column_stack([Q, t])

    @pytest.mark.parametrize("loss", ["exponential", "logistic"])
    def test_gradient_is_at_the_minimum(self, loss):
        target = np.where(y > np.median(y), 1.0, -1.0)
        Q = linalg.qr(np.column_stack([np.ones(50), X[:, 1]]), mode="economic")[0]
        function = (
            (lambda f: np.exp(-f)) if loss == "exponential" else (lambda f: np.log1p(np.exp(-f)))
        )
        best = optimize.minimize(lambda c: function(target * (Q @ c)).sum(), np.zeros(2), tol=1e-12)
        margin = target * (Q @ best.x)
        weight = np.exp(-margin) if loss == "exponential" else 1 / (1 + np.exp(margin))
        np.testing.assert_allclose(LOSSES[loss].descent(target, Q), target * weight, atol=1e-4)

    def test_least_absolute_deviation(self):
        Q = linalg.qr(np.column_stack([np.ones(50), X[:, 1]]), mode="economic")[0]
        signs = LOSSES["absolute"].descent(y, Q)
        np.testing.assert_allclose(Q.T @ signs, 0, atol=1e-9)
        assert np.sum(np.abs(np.abs(signs) - 1) > 1e-9) <= 2
        # Strong duality: yᵀd is the smallest sum of absolute residuals.
        best = optimize.minimize(
            lambda c: np.abs(y - Q @ c).sum(), Q.T @ y, method="Nelder-Mead", tol=1e-10
        ).fun
        np.testing.assert_allclose(y @ signs, best, rtol=1e-5)

    def test_separated_classes(self):
        model = BoostedLatentFeatures(3, loss="logistic").fit(X, X[:, 0] > 2)
        assert np.isfinite(model.transform(X)).all()

    def test_bad_parameters(self):
        with pytest.raises(ValueError, match="loss of BoostedLatentFeatures"):
            BoostedLatentFeatures(loss="hinge").fit(X, y)
        with pytest.raises(ValueError, match="needs classes"):
            BoostedLatentFeatures(loss="logistic").fit(X, y)


class TestKernelBoosting:
    @pytest.mark.parametrize("loss", ["exponential", "logistic"])
    @pytest.mark.parametrize("target", [y > 2, LABELS])
    def test_definition(self, loss, target):
        T = KernelBoosting(3, loss=loss).fit_transform(X, target)
        phi = X - X.mean(axis=0)
        S = np.where(np.asarray(target)[:, None] == np.asarray(target), 1.0, -1.0)
        G = np.zeros((50, 50))
        for t in T.T:
            D = np.exp(-S * G) if loss == "exponential" else 1 / (1 + np.exp(S * G))
            np.fill_diagonal(D, 0.0)
            vector = linalg.eigh(phi.T @ (D * S) @ phi)[1][:, -1]
            feature = phi @ vector
            feature /= np.abs(feature).max()
            R = np.outer(feature, feature)
            right, wrong = (D * np.abs(R))[S * R > 0].sum(), (D * np.abs(R))[S * R < 0].sum()
            np.testing.assert_allclose(t @ t / (feature @ feature), np.log(right / wrong) / 2)
            np.testing.assert_allclose(
                np.abs(t / linalg.norm(t)), np.abs(feature / linalg.norm(feature)), atol=1e-7
            )
            G += np.outer(t, t)

    def test_ends_where_it_is_no_better_than_chance(self):
        labels = np.arange(50)  # all pairs differ
        with pytest.raises(ValueError, match="needs one class per row"):
            KernelBoosting().fit(X, labels)

    def test_numbers_are_refused(self):
        with pytest.raises(ValueError, match="cut y into classes"):
            KernelBoosting().fit(X, y)
        with pytest.raises(ValueError, match="'exponential' or 'logistic'"):
            KernelBoosting(loss="hinge").fit(X, LABELS)

    def test_kernel(self):
        model = KernelBoosting(4, kernel=Gaussian(3.0))
        T = model.fit_transform(X, LABELS)
        np.testing.assert_allclose(model.transform(X), T, atol=1e-8)


def test_rows_in_single_precision_lose_nothing_on_the_way():
    rows = np.random.default_rng(0).normal(size=(400, 8)).astype(np.float32)
    target = np.sin(rows[:, 0]) + rows[:, 1]
    landmarks = NystroemMap(40, kernel=Gaussian(2.0), random_state=0)
    single = KernelPLS(4, kernel=landmarks).fit(rows, target)
    double = KernelPLS(4, kernel=landmarks).fit(rows.astype(np.float64), target)
    np.testing.assert_allclose(double.predict(rows), single.predict(rows), atol=1e-6)
    exact = KernelPLS(4, kernel=Gaussian(2.0)).fit(rows, target)
    same = KernelPLS(4, kernel=Gaussian(2.0)).fit(rows.astype(np.float64), target)
    np.testing.assert_allclose(exact.dependence_, same.dependence_, rtol=1e-9)


def test_single_precision_ends_where_nothing_is_left():
    rows = np.repeat(np.random.default_rng(0).normal(size=(5, 4)), 60, axis=0).astype(np.float32)
    target = np.tile(np.random.default_rng(1).normal(size=60), 5) + rows[:, 0] ** 2
    landmarks = NystroemMap(40, kernel=Gaussian(1.0), random_state=0)
    with pytest.warns(ConvergenceWarning, match="found 4 of n_components=5"):
        KernelPLS(5, kernel=landmarks).fit(rows, target)


class TestNearestCentre:
    """Classification by the nearest class centre among PLS features: a composition."""

    @pytest.mark.parametrize("kernel", ["linear", Gaussian(3.0)], ids=repr)
    def test_it_is_the_nearest_centre(self, kernel):
        iris = load_iris()
        train = np.arange(150) % 2 == 0
        model = make_pipeline(KernelPLSClassifier(2, kernel=kernel), NearestCentroid())
        model.fit(iris.data[train], iris.target[train])
        features = model[0].transform(iris.data)
        centres = [features[train & (iris.target == label)].mean(axis=0) for label in range(3)]
        distances = np.linalg.norm(features[:, np.newaxis] - np.array(centres), axis=2)
        np.testing.assert_array_equal(model.predict(iris.data), distances.argmin(axis=1))
        assert model.score(iris.data[~train], iris.target[~train]) > 0.85
