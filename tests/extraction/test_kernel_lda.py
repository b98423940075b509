from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning

from depmax import GaussianGraph, KernelLDA, NeighborGraph, hsic
from depmax.datasets import load
from depmax.kernels import Gaussian
from depmax.maps import KernelMap
from tests.extraction.oracles import same_up_to_signs

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5)) + 3.0
CLASSES = np.array(["a", "b", "c", "d"])[2 * (X[:, 1] > 3) + (X[:, 2] > 3)]


def scatters(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """S_b and S_t of (3.6)."""
    mean = X.mean(axis=0)
    means = {label: X[y == label].mean(axis=0) - mean for label in np.unique(y)}
    between = sum((y == label).sum() * np.outer(mu, mu) for label, mu in means.items())
    return between, (X - mean).T @ (X - mean)


def unit(P: np.ndarray) -> np.ndarray:
    return P / linalg.norm(P, axis=1, keepdims=True)


class TestDefinition:
    def test_directions_of_scikit_learn(self):
        iris = load_iris(return_X_y=True)
        wine = load("wine")
        for A, y in [(X, CLASSES), iris, (wine.X.astype(float), wine.y)]:
            count = len(np.unique(y)) - 1
            lda = LinearDiscriminantAnalysis(solver="eigen").fit(A, y)
            fitted = KernelLDA(count).fit(A, y)
            same_up_to_signs(unit(fitted.components_), unit(lda.scalings_.T[:count]), 1e-6)
            between, total = scatters(A, y)
            values = linalg.eigh(between, total, eigvals_only=True)[::-1][:count]
            np.testing.assert_allclose(fitted.dependence_, values, rtol=1e-6)

    def test_dependence_is_hsic_with_balanced_classes(self):
        fitted = KernelLDA(3).fit(X, CLASSES)
        reached = [
            hsic(f, CLASSES, kernel="linear", target_kernel=fitted.target_kernel_, unbiased=False)
            for f in fitted.transform(X).T
        ]
        np.testing.assert_allclose(fitted.dependence_, np.array(reached) * (59 / 60) ** 2)

    def test_features_are_uncorrelated_and_have_variance_one(self):
        features = KernelLDA(5).fit_transform(X, CLASSES)
        np.testing.assert_allclose(features.T @ features / len(X), np.eye(5), atol=1e-10)

    @pytest.mark.parametrize("alpha", [0.0, 0.1])
    def test_no_other_direction_reaches_more(self, alpha, rng):
        between, total = scatters(X, CLASSES)
        total = total + alpha * np.trace(total) / 5 * np.eye(5)
        fitted = KernelLDA(1, alpha=alpha).fit(X, CLASSES)

        def reached(p):
            return p @ between @ p / (p @ total @ p)

        best = reached(fitted.components_[0])
        assert best == pytest.approx(linalg.eigh(between, total, eigvals_only=True)[-1])
        assert all(reached(p) <= best for p in rng.normal(size=(1000, 5)))

    def test_dual_of_the_thesis_with_the_missing_kernel(self):
        """(3.9): K W_b K q = λ K H K q on the range of K; W_b q = λ W_t q is another problem."""
        K = Gaussian(2.0)(X)
        m = len(X)
        H = np.eye(m) - 1.0 / m
        E = (CLASSES[:, np.newaxis] == np.unique(CLASSES)).astype(float)
        F = (E / E.sum(axis=0) - 1.0 / m) * np.sqrt(E.sum(axis=0))
        values, vectors = linalg.eigh(H @ K @ H)
        kept = values > 1e-10
        Z = vectors[:, kept] * np.sqrt(values[kept])
        ridge = 0.01 * values[kept].mean() * np.eye(kept.sum())
        expected = linalg.eigh(Z.T @ F @ F.T @ Z, Z.T @ Z + ridge)[1][:, ::-1][:, :3]
        features = KernelLDA(3, kernel=Gaussian(2.0), alpha=0.01).fit_transform(X, CLASSES)
        expected = Z @ expected
        same_up_to_signs(features.T, (expected / expected.std(axis=0)).T, 1e-5)
        printed = linalg.eig(F @ F.T, H + 1e-9 * np.eye(m))[1][:, 0].real
        assert abs(np.corrcoef(K @ printed, features[:, 0])[0, 1]) < 0.99


class TestRoutes:
    def test_primal_dual_sparse_and_wide(self, rng):
        primal = KernelLDA(4, alpha=0.01).fit(X, CLASSES)
        features = primal.transform(X)
        K = X @ X.T
        dual = KernelLDA(4, kernel="precomputed", alpha=0.01).fit_transform(K, CLASSES)
        same_up_to_signs(dual.T, features.T, 1e-6)
        rows = sparse.csr_matrix(X)
        np.testing.assert_allclose(
            KernelLDA(4, alpha=0.01).fit_transform(rows, CLASSES), features, atol=1e-8
        )
        turned = linalg.qr(rng.normal(size=(90, 5)), mode="economic")[0]  # 90 columns of rank 5
        wide = KernelLDA(4, alpha=0.01).fit_transform(X @ turned.T, CLASSES)
        same_up_to_signs(wide.T, features.T, 1e-6)

    def test_exact_map_equals_kernel(self):
        kernel = Gaussian(3.0)
        direct = KernelLDA(3, kernel=kernel, alpha=0.01).fit_transform(X, CLASSES)
        mapped = KernelLDA(3, kernel=KernelMap(kernel=kernel), alpha=0.01)
        same_up_to_signs(mapped.fit_transform(X, CLASSES).T, direct.T, 1e-6)


class TestRange:
    @pytest.mark.parametrize("constant", [0.1, 1e6 + 0.1])
    def test_constant_and_repeated_columns_change_nothing(self, constant):
        more = np.column_stack([X, np.full(60, constant), X[:, 0] - X[:, 1], X[:, 2]])
        for rows in (more, sparse.csr_matrix(more)):
            fitted = KernelLDA(3).fit(rows, CLASSES)
            same_up_to_signs(
                fitted.transform(rows).T, KernelLDA(3).fit_transform(X, CLASSES).T, 1e-6
            )

    def test_more_components_than_directions_that_vary(self):
        more = np.column_stack([X, X[:, 0]])
        with pytest.warns(ConvergenceWarning, match="found 5 of n_components=6"):
            fitted = KernelLDA(6).fit(more, CLASSES)
        assert fitted.transform(more).shape == (len(X), 5)

    def test_after_the_classes_follow_directions_of_variance(self, rng):
        many = np.column_stack([10.0 * rng.normal(size=200), rng.normal(size=(200, 3))])
        y = many[:, 1] > 0
        fitted = KernelLDA(4).fit(many, y)
        assert abs(fitted.components_[1, 0]) > 5 * abs(fitted.components_[1, 1:]).max() * 0.01
        lengths = linalg.norm(fitted.components_[1:], axis=1)
        assert (np.diff(lengths) > 0).all()  # variance one each, so short ones vary most

    def test_wide_data_are_regularised(self, rng):
        """Without it classes at random are separated perfectly."""
        wide = rng.normal(size=(40, 100))
        y = np.arange(40) % 2
        assert KernelLDA(1, alpha=0.0).fit(wide, y).dependence_[0] == pytest.approx(1.0)
        assert KernelLDA(1, alpha=10.0).fit(wide, y).dependence_[0] < 0.99
        assert KernelLDA(1).fit(wide, y).dependence_[0] < 1.0 - 1e-9


def semi_supervised(labelled: int) -> np.ndarray:
    return np.where(np.arange(60) < labelled, CLASSES, None)


class TestSemiSupervised:
    def test_without_a_graph_unlabelled_rows_are_left_out(self):
        with pytest.warns(UserWarning, match="KernelLDA ignored 20 of 60"):
            some = KernelLDA(2).fit(X, semi_supervised(40))
        alone = KernelLDA(2).fit(X[:40], CLASSES[:40])
        assert some.n_unlabeled_ == 20
        np.testing.assert_allclose(some.transform(X), alone.transform(X))

    @pytest.mark.parametrize("normalized", [False, True])
    def test_definition(self, normalized):
        """Cai: S_b against S_t of the labelled rows and the Laplacian of all."""
        beta, y = 0.3, semi_supervised(30)
        fitted = KernelLDA(3, beta=beta, graph=GaussianGraph(4.0, normalized=normalized)).fit(X, y)
        W = np.exp(-((X[:, np.newaxis] - X) ** 2).sum(axis=2) / 32.0)
        np.fill_diagonal(W, 0.0)
        D = W.sum(axis=1)
        L = np.eye(60) - W / np.sqrt(np.outer(D, D)) if normalized else np.diag(D) - W
        centred = X - X.mean(axis=0)
        between, total = scatters(X[:30], CLASSES[:30])
        smooth = centred.T @ L @ centred
        B = (1 - beta) * total / np.trace(total) + beta * smooth / np.trace(smooth)
        vectors = linalg.eigh(between, B)[1][:, ::-1][:, :3].T
        same_up_to_signs(unit(fitted.components_), unit(vectors), 1e-6)
        np.testing.assert_allclose(fitted.transform(X).std(axis=0), 1.0)
        P = fitted.components_
        ratio = np.einsum("ij,jk,ik->i", P, between, P) / np.einsum("ij,jk,ik->i", P, total, P)
        np.testing.assert_allclose(fitted.dependence_, ratio)

    def test_primal_equals_dual(self):
        y = semi_supervised(30)
        options = {"alpha": 0.01, "beta": 0.5, "graph": NeighborGraph(8)}
        primal = KernelLDA(3, **options).fit_transform(X, y)
        dual = KernelLDA(3, kernel="precomputed", **options).fit_transform(X @ X.T, y)
        same_up_to_signs(dual.T, primal.T, 1e-6)

    @pytest.mark.filterwarnings("ignore:.* ignored .* rows:UserWarning")  # with beta = 0
    def test_two_moons(self):
        """Three labels in each moon: the graph carries them along."""
        from sklearn.datasets import make_moons

        moons, y = make_moons(300, noise=0.1, random_state=0)
        known = np.full(300, -1)
        for label in (0, 1):
            rows = np.flatnonzero(y == label)[:3]
            known[rows] = label
        known = np.where(known == -1, np.nan, known)

        def accuracy(beta):
            model = KernelLDA(1, kernel=Gaussian(0.3), beta=beta, graph=NeighborGraph(8))
            feature = model.fit(moons, known).transform(moons)[:, 0]
            centres = [feature[known == label].mean() for label in (0, 1)]
            guess = np.abs(feature - centres[0]) > np.abs(feature - centres[1])
            return (guess == y).mean()

        assert accuracy(0.9) > accuracy(0.0)
        assert accuracy(0.9) > 0.95

    def test_whole_floats_are_classes_where_gaps_made_them_floats(self):
        numbers = (CLASSES[:, np.newaxis] == np.unique(CLASSES)).argmax(axis=1).astype(float)
        plain = KernelLDA(3).fit(X[1:], CLASSES[1:])
        numbers[0] = np.nan
        with pytest.warns(UserWarning, match="KernelLDA ignored 1 of 60 rows"):
            fitted = KernelLDA(3).fit(X, numbers)
        np.testing.assert_allclose(fitted.components_, plain.components_)

    def test_refusals(self):
        with pytest.raises(ValueError, match="no labelled rows"):
            KernelLDA().fit(X, np.full(60, np.nan))
        with pytest.raises(ValueError, match="one class"):
            KernelLDA(beta=0.5).fit(X, np.where(np.arange(60) < 5, "a", None))
        with pytest.raises(ValueError, match="beta of KernelLDA"):
            KernelLDA(beta=1.5).fit(X, CLASSES)
        with pytest.raises(ValueError, match="graph must be"):
            KernelLDA(beta=0.5, graph="ring").fit(X, CLASSES)


class TestRefusals:
    def test_numbers(self):
        with pytest.raises(ValueError, match=r"numbers.*use SIR"):
            KernelLDA().fit(X, X[:, 0])

    def test_labels(self):
        with pytest.raises(ValueError, match="several labels"):
            KernelLDA().fit(X, X[:, :2] > 0)
