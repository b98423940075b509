"""The framework: what it specialises to, in the primal and in the dual."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA, KernelPCA
from sklearn.exceptions import ConvergenceWarning

from depmax import SMA, SMC, BoostedLatentFeatures, DeflationFeatures, KernelPLS
from depmax.kernels import Gaussian
from tests.extraction.deflation_oracles import deflated, gaussian_gram, up_to_sign

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 7)) @ rng.normal(size=(7, 7)) + 3.0
y = X[:, 0] + X[:, 3] ** 2 + 0.3 * rng.normal(size=50)
Y = np.column_stack([y, np.sin(X[:, 1]), rng.normal(size=50)])
NEW = rng.normal(size=(9, 7)) + 3.0
CRITERIA = ["pca", "pls", "sma", "smc", "skfa", "blf", "sparse_blf"]


class TestSpecialisations:
    @pytest.mark.parametrize("dual", [False, True])
    def test_pca(self, dual):
        model = DeflationFeatures(4, criterion="pca", dual=dual).fit(X)
        reference = PCA(4).fit(X)
        up_to_sign(model.transform(X), reference.transform(X), atol=1e-10)
        up_to_sign(model.transform(NEW), reference.transform(NEW), atol=1e-10)

    def test_pca_with_lanczos(self, monkeypatch):
        monkeypatch.setattr("depmax.extraction.deflation_features.DENSE", 3)
        model = DeflationFeatures(4, criterion="pca")
        up_to_sign(model.fit_transform(X), PCA(4).fit_transform(X), atol=1e-9)

    def test_kernel_pca(self):
        K, L = gaussian_gram(X, 4.0), np.exp(-np.square(NEW[:, None] - X).sum(axis=2) / 32)
        model = DeflationFeatures(4, criterion="pca", kernel=Gaussian(4.0)).fit(X)
        reference = KernelPCA(4, kernel="precomputed").fit(K)
        up_to_sign(model.transform(X), reference.transform(K), atol=1e-10)
        up_to_sign(model.transform(NEW), reference.transform(L), atol=1e-10)

    @pytest.mark.parametrize("target", [y, Y])
    @pytest.mark.parametrize("dual", [False, True])
    def test_pls(self, target, dual):
        model = DeflationFeatures(4, dual=dual).fit(X, target)
        reference = PLSRegression(4, scale=False, tol=1e-15, max_iter=100_000).fit(X, target)
        up_to_sign(model.transform(X), reference.x_scores_, atol=1e-6)
        up_to_sign(model.transform(NEW), reference.transform(NEW), atol=1e-6)
        up_to_sign(model.components_.T, reference.x_rotations_, atol=1e-6)

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_dual_linear_is_primal(self, criterion):
        primal = DeflationFeatures(3, criterion=criterion, dual=False).fit(X, y)
        dual = DeflationFeatures(3, criterion=criterion, dual=True).fit(X, y)
        np.testing.assert_allclose(dual.transform(NEW), primal.transform(NEW), atol=1e-9)
        np.testing.assert_allclose(dual.components_, primal.components_, atol=1e-9)
        np.testing.assert_allclose(dual.loadings_, primal.loadings_, atol=1e-9)

    @pytest.mark.parametrize(("criterion", "cls"), [("sma", SMA), ("smc", SMC)])
    def test_sparse_methods(self, criterion, cls):
        model = DeflationFeatures(4, criterion=criterion, kernel="gaussian").fit(X, y)
        direct = cls(4, n_candidates=None).fit(X, y)
        np.testing.assert_allclose(model.transform(NEW), direct.transform(NEW), atol=1e-10)

    @pytest.mark.parametrize("kernel", ["linear", "gaussian"])
    @pytest.mark.parametrize(("target", "loss"), [(y, "absolute"), (y > np.median(y), "logistic")])
    def test_boosted(self, kernel, target, loss):
        model = DeflationFeatures(3, criterion="blf", kernel=kernel).fit(X, target)
        direct = BoostedLatentFeatures(3, loss=loss, kernel=kernel).fit(X, target)
        np.testing.assert_allclose(model.transform(NEW), direct.transform(NEW), atol=1e-10)

    def test_sample_of_largest_variance(self):
        """Sparse kernel feature analysis, every sample tried in every step."""
        K = gaussian_gram(X, 4.0)
        model = DeflationFeatures(3, criterion="skfa", kernel=Gaussian(4.0)).fit(X)
        left, expected = deflated(K, np.ones(50)), []
        for _ in range(3):
            best = int(np.argmax(np.square(left).sum(axis=0) / K.diagonal()))
            expected.append(left[:, best])
            left = deflated(left, expected[-1])
        up_to_sign(model.transform(X), np.array(expected).T, atol=1e-8)

    def test_sample_of_largest_covariance_with_the_gradient(self):
        """Sparse boosted features, the loss minimised by a general optimiser in every step."""
        K = gaussian_gram(X, 4.0)
        signs = np.where(y > np.median(y), 1.0, -1.0)
        model = DeflationFeatures(3, criterion="sparse_blf", kernel=Gaussian(4.0)).fit(X, signs > 0)
        basis, left, expected = np.ones((50, 1)), deflated(K, np.ones(50)), []
        for _ in range(3):

            def loss(c, basis=basis):
                return np.logaddexp(0, -signs * (basis @ c)).sum()

            c = optimize.minimize(loss, np.zeros(basis.shape[1]), tol=1e-12).x
            gradient = signs / (1 + np.exp(signs * (basis @ c)))
            best = int(np.argmax(np.square(gradient @ left) / K.diagonal()))
            expected.append(left[:, best] / np.linalg.norm(left[:, best]))
            left = deflated(left, expected[-1])
            basis = np.column_stack([basis, expected[-1]])
        up_to_sign(model.transform(X), np.array(expected).T, atol=1e-7)


class TestAlgorithm:
    @pytest.mark.parametrize("criterion", CRITERIA)
    @pytest.mark.parametrize("kernel", ["linear", "gaussian"])
    @pytest.mark.parametrize("center", [True, False])
    def test_features_are_orthogonal_and_reproduced(self, criterion, kernel, center):
        model = DeflationFeatures(4, criterion=criterion, kernel=kernel, center=center)
        T = model.fit_transform(X, y)
        products = T.T @ T
        sizes = np.sqrt(np.outer(products.diagonal(), products.diagonal()))
        np.testing.assert_allclose(products / sizes, np.eye(4), atol=1e-10)
        np.testing.assert_allclose(model.transform(X), T, atol=1e-9 * np.abs(T).max())

    def test_primal_algorithm_1(self, rng):
        directions = rng.normal(size=(7, 3))
        model = DeflationFeatures(
            3, criterion=lambda r: directions[:, r.features.shape[1]], center=False
        ).fit(X)
        left, U, P, T = X, directions, [], []
        for u in U.T:
            T.append(left @ u)
            P.append(left.T @ T[-1] / (T[-1] @ T[-1]))
            left = deflated(left, T[-1])
        M = np.array(P) @ U
        np.testing.assert_allclose(np.tril(M), np.eye(3), atol=1e-10)  # unit upper triangular
        weights = U @ np.linalg.inv(M)
        up_to_sign(model.components_.T, weights, atol=1e-9)
        up_to_sign(model.transform(X), np.array(T).T, atol=1e-8)

    def test_dual_algorithm_2(self, rng):
        K = gaussian_gram(X, 4.0)
        B = rng.normal(size=(50, 3))
        model = DeflationFeatures(
            3, criterion=lambda r: B[:, r.features.shape[1]], kernel=Gaussian(4.0), center=False
        ).fit(X)
        left, T = K, []
        for beta in B.T:
            T.append(left @ beta)
            left = deflated(left, T[-1])
        T = np.array(T).T
        weights = B @ np.linalg.inv(np.linalg.inv(T.T @ T) @ T.T @ K @ B)
        up_to_sign(model.transform(X), T, atol=1e-8)
        new = np.exp(-np.square(NEW[:, None] - X).sum(axis=2) / 32)
        up_to_sign(model.transform(NEW), new @ weights, atol=1e-8)

    def test_one_target_makes_a_bidiagonal_matrix(self):
        centred = X - X.mean(axis=0)
        model = DeflationFeatures(5).fit(X, y)
        U = []
        T = model.fit_transform(X, y)
        left = centred
        for t in T.T:
            u = left.T @ (y - y.mean())
            U.append(u / np.linalg.norm(u))
            left = deflated(left, t)
        P = centred.T @ T / np.square(T).sum(axis=0)
        M = P.T @ np.array(U).T
        np.testing.assert_allclose(M, np.triu(np.tril(M, 1)), atol=1e-8)

    def test_a_criterion_sees_the_residual(self):
        seen = []

        def criterion(residual):
            seen.append(residual)
            centred = X - X.mean(axis=0)
            expected = centred
            for t in residual.features.T:
                expected = deflated(expected, t)
            np.testing.assert_allclose(residual.matrix, expected, atol=1e-9)
            target = residual.left_target
            np.testing.assert_allclose(residual.pull(target), expected.T @ target, atol=1e-8)
            np.testing.assert_allclose(residual.push(np.eye(7)), expected, atol=1e-9)
            return residual.pull(target)[:, 0]

        T = DeflationFeatures(3, criterion=criterion).fit_transform(X, y)
        assert len(seen) == 3
        reference = DeflationFeatures(3).fit_transform(X, y)
        up_to_sign(
            T / np.linalg.norm(T, axis=0), reference / np.linalg.norm(reference, axis=0), atol=1e-9
        )

    def test_dependence(self):
        model = DeflationFeatures(2)
        T = model.fit_transform(X, Y)
        centred = Y - Y.mean(axis=0)
        np.testing.assert_allclose(
            model.dependence_, np.square(centred.T @ T).sum(axis=0) / 49**2, rtol=1e-9
        )
        pca = DeflationFeatures(2, criterion="pca")
        T = pca.fit_transform(X)
        centred = X - X.mean(axis=0)
        expected = np.square(centred.T @ T).sum(axis=0) / 49**2
        np.testing.assert_allclose(pca.dependence_, expected, rtol=1e-9)
        kernel = DeflationFeatures(2, criterion="pca", kernel="precomputed").fit(X @ X.T)
        np.testing.assert_allclose(kernel.dependence_, expected, rtol=1e-7)


class TestInputs:
    @pytest.mark.parametrize("criterion", ["pls", "pca", "smc"])
    @pytest.mark.parametrize("center", [True, False])
    def test_sparse_rows_stay_sparse(self, criterion, center, rng):
        text = sparse.random(60, 300, density=0.05, format="csr", random_state=0)
        text.data += 0.5  # no column is tiny
        target = np.asarray(text[:, :20].sum(axis=1)).ravel() + 0.1 * rng.normal(size=60)
        model = DeflationFeatures(3, criterion=criterion, center=center)
        dense = model.fit(text.toarray(), target).transform(text.toarray())
        np.testing.assert_allclose(model.fit_transform(text, target), dense, atol=1e-9)
        np.testing.assert_allclose(model.transform(text), dense, atol=1e-9)

    def test_beyond_the_rank(self, rng):
        flat = X[:, :2] @ rng.normal(size=(2, 7))
        with pytest.warns(ConvergenceWarning, match="2 of n_components=5"):
            model = DeflationFeatures(5).fit(flat, y)
        assert model.transform(flat).shape == (50, 2)
        with pytest.raises(ValueError, match="n_features = 7"):
            DeflationFeatures(8).fit(X, y)

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_equal_rows(self, criterion):
        doubled, target = np.repeat(X[:6], 8, axis=0), np.repeat(y[:6], 8)
        model = DeflationFeatures(7, criterion=criterion, kernel="gaussian")
        with pytest.warns(ConvergenceWarning, match="of n_components=7"):
            features = model.fit_transform(doubled, target)
        assert features.shape[1] <= 5
        np.testing.assert_allclose(model.transform(doubled), features, atol=1e-6)

    def test_bad_parameters(self):
        for bad in ("lda", 3):
            with pytest.raises(ValueError, match="criterion of DeflationFeatures"):
                DeflationFeatures(criterion=bad).fit(X, y)
        with pytest.raises(ValueError, match="dual of DeflationFeatures"):
            DeflationFeatures(dual="yes").fit(X, y)
        with pytest.raises(ValueError, match="features of the kernel"):
            DeflationFeatures(kernel="gaussian", dual=False).fit(X, y)
        with pytest.raises(ValueError, match=r"u_j, .*\(7,\)"):
            DeflationFeatures(criterion=lambda r: np.ones(50)).fit(X, y)
        with pytest.raises(ValueError, match="NaN or infinity"):
            DeflationFeatures(criterion=lambda r: np.full(7, np.nan)).fit(X, y)
        with pytest.raises(ValueError, match="needs a target"):
            DeflationFeatures(criterion=lambda r: r.pull(r.left_target)[:, 0]).fit(X)
        with pytest.raises(ValueError, match="y is None"):
            DeflationFeatures(criterion="pls").fit(X)


class TestBoostedPredictions:
    """The function of the features that has the least loss on the training rows."""

    rows = np.random.default_rng(21).normal(size=(60, 4))
    numbers = rows[:, 0] + 0.3 * np.random.default_rng(22).standard_t(2, size=60)

    @pytest.mark.parametrize("loss", ["least_squares", "absolute"])
    def test_numbers_have_the_least_loss(self, loss):
        model = BoostedLatentFeatures(2, loss=loss).fit(self.rows, self.numbers)
        T = model.transform(self.rows)

        def value(c):
            rest = self.numbers - c[0] - T @ c[1:]
            return np.sum(rest**2 if loss == "least_squares" else np.abs(rest))

        own = np.concatenate([model.intercept_, model.target_loadings_[:, 0]])
        np.testing.assert_allclose(model.predict(self.rows), own[0] + T @ own[1:], atol=1e-9)
        for seed in range(20):
            step = np.random.default_rng(seed).normal(size=3) * 1e-2
            assert value(own) <= value(own + step) + 1e-9

    @pytest.mark.parametrize("loss", ["exponential", "logistic"])
    def test_margins_have_the_least_loss(self, loss):
        y = np.where(self.numbers > 0.2, "yes", "no")
        model = BoostedLatentFeatures(2, loss=loss).fit(self.rows, y)
        T = model.transform(self.rows)
        signs = np.where(y == "yes", 1.0, -1.0)

        def value(c):
            margin = signs * (c[0] + T @ c[1:])
            losses = np.exp(-margin) if loss == "exponential" else np.logaddexp(0, -margin)
            return losses.sum()

        own = np.concatenate([model.intercept_, model.target_loadings_[:, 0]])
        best = optimize.minimize(value, np.zeros(3), tol=1e-10).fun
        assert value(own) == pytest.approx(best, rel=1e-5)
        assert (
            model.predict(self.rows).tolist()
            == np.where(T @ own[1:] > -own[0], "yes", "no").tolist()
        )

    def test_classes_labels_and_outputs(self):
        three = np.digitize(self.rows[:, 0], [-0.5, 0.5])
        for loss in ("least_squares", "logistic"):
            model = BoostedLatentFeatures(2, loss=loss).fit(self.rows, three.astype(str))
            assert np.mean(model.predict(self.rows) == three.astype(str)) > 0.6
            labels = np.column_stack([self.rows[:, 0] > 0, self.rows[:, 1] > 0.5]).astype(int)
            model = BoostedLatentFeatures(3, loss=loss).fit(self.rows, labels)
            predicted = model.predict(self.rows)
            assert predicted.shape == labels.shape
            assert np.mean(predicted == labels) > 0.8
        both = np.column_stack([self.numbers, self.rows[:, 2]])
        model = BoostedLatentFeatures(2).fit(self.rows, both)
        expected = KernelPLS(2).fit(self.rows, both).predict(self.rows)
        np.testing.assert_allclose(model.predict(self.rows), expected, atol=1e-8)
