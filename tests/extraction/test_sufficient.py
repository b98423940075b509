"""SIR, PHD and linear regression: directions that are sufficient to predict the target.

Private modules: slices of numbers show in a fit through their directions only.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import linalg, optimize
from scipy.spatial.distance import pdist
from sklearn.linear_model import LinearRegression, Ridge

from depmax import (
    PHD,
    SIR,
    GaussianGraph,
    KernelLDA,
    LinearRegressionFeature,
    NeighborGraph,
)
from depmax.extraction.sir import sliced
from depmax.kernels import Gaussian
from tests.extraction.oracles import same_up_to_signs
from tests.references.make_statsmodels import Case

PATH = Path(__file__).parents[1] / "references" / "statsmodels.json"
REFERENCES = json.loads(PATH.read_text())["values"]

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 4)) @ rng.normal(size=(4, 4)) + 3.0
NUMBERS = np.exp(X[:, 0] / 3) + 0.1 * rng.normal(size=80)
CLASSES = np.digitize(X[:, 1], [2.0, 4.0])


def unit(P: np.ndarray) -> np.ndarray:
    return P / linalg.norm(P, axis=1, keepdims=True)


def sphered(X: np.ndarray) -> np.ndarray:
    centred = X - X.mean(axis=0)
    return centred @ linalg.inv(linalg.sqrtm(centred.T @ centred / len(X)))


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda value: value["case"]["name"])
class TestStatsmodels:
    def data(self, reference):
        case = {k: tuple(v) if isinstance(v, list) else v for k, v in reference["case"].items()}
        return Case(**case).read()

    @pytest.mark.parametrize("n_slices", [5, 12])
    def test_sir(self, reference, n_slices):
        X, y = self.data(reference)
        expected = reference[f"sir_{n_slices}"]
        fitted = SIR(X.shape[1], n_slices=n_slices).fit(X, y)
        np.testing.assert_allclose(fitted.dependence_, expected["eigenvalues"], rtol=1e-6)
        same_up_to_signs(unit(fitted.components_), np.array(expected["directions"]), 1e-6)

    @pytest.mark.parametrize("residuals", [False, True])
    def test_phd(self, reference, residuals):
        X, y = self.data(reference)
        expected = reference["phd_residuals" if residuals else "phd"]
        fitted = PHD(X.shape[1], residuals=residuals).fit(X, y)
        scale = y.std() * (len(y) - 1) / len(y)  # statsmodels divides cov(x) by n - 1, y by nothing
        np.testing.assert_allclose(
            fitted.dependence_ * scale, np.abs(expected["eigenvalues"]), rtol=1e-6
        )
        same_up_to_signs(unit(fitted.components_), np.array(expected["directions"]), 1e-6)


class TestSIR:
    def test_classes_are_slices(self):
        np.testing.assert_allclose(
            SIR(3).fit_transform(X, CLASSES), KernelLDA(3).fit_transform(X, CLASSES)
        )

    def test_definition(self):
        fitted = SIR(2, n_slices=4).fit(X, NUMBERS)
        Z = sphered(X)
        order = np.array_split(np.argsort(NUMBERS), 4)
        V = sum(len(rows) / 80 * np.outer(Z[rows].mean(0), Z[rows].mean(0)) for rows in order)
        values, vectors = linalg.eigh(V)
        np.testing.assert_allclose(fitted.dependence_, values[::-1][:2])
        same_up_to_signs(fitted.transform(X).T, (Z @ vectors[:, ::-1][:, :2]).T, 1e-7)

    def test_all_features_keep_mahalanobis_distances(self):
        features = SIR(4).fit_transform(X, NUMBERS)
        np.testing.assert_allclose(pdist(features), pdist(sphered(X)))

    def test_several_outputs_add_up(self):
        Y = np.column_stack([NUMBERS, X[:, 1] ** 2])
        fitted = SIR(4, n_slices=5).fit(X, Y)
        alone = [SIR(4, n_slices=5).fit(X, column) for column in Y.T]
        assert fitted.dependence_.sum() == pytest.approx(
            sum(one.dependence_.sum() for one in alone)
        )

    def test_finds_the_space_of_a_nonlinear_target(self):
        many = np.random.default_rng(1).normal(size=(2000, 5))
        y = np.exp(many[:, 0]) + (many[:, 1] > 0.5)
        space = linalg.orth(SIR(2).fit(many, y).components_.T)
        assert linalg.svdvals(space[:2])[-1] > 0.98

    def test_equal_values_share_a_slice(self, rng):
        y = np.array([0.0] * 7 + [1.0, 2.0, 3.0])
        assert sliced(y, 5).tolist() == [0] * 7 + [1, 2, 2]
        rng.shuffle(y)
        assert len(np.unique(sliced(y, 5)[y == 0])) == 1

    def test_more_slices_than_values(self):
        assert sliced(np.array([2.0, 1.0, 3.0]), 10).tolist() == [1, 0, 2]


class TestPHD:
    def test_mean_hessian_of_normal_inputs(self):
        """Stein: for y = zᵀAz the mean Hessian is 2A."""
        Z = np.random.default_rng(0).normal(size=(200_000, 3))
        A = np.diag([1.0, -2.0, 0.0])
        y = np.einsum("ij,jk,ik->i", Z, A, Z)
        fitted = PHD(3).fit(Z, y)
        np.testing.assert_allclose(fitted.dependence_ * y.std(), [4.0, 2.0, 0.0], atol=0.1)
        same_up_to_signs(fitted.components_[:2, :2], np.array([[0, 1], [1, 0]]), 0.05)

    def test_several_outputs(self):
        Y = np.column_stack([NUMBERS, X[:, 1] ** 2])
        fitted = PHD(4).fit(X, Y)
        Z = sphered(X)
        outputs = (Y - Y.mean(axis=0)) / Y.std(axis=0)
        H = [Z.T @ (y[:, np.newaxis] * Z) / 80 for y in outputs.T]
        values, vectors = linalg.eigh(sum(h @ h for h in H))
        np.testing.assert_allclose(fitted.dependence_**2, values[::-1])
        same_up_to_signs(fitted.transform(X).T, (Z @ vectors[:, ::-1]).T, 1e-6)

    def test_two_classes_by_what_differs_in_their_covariances(self):
        Z = np.random.default_rng(0).normal(size=(500, 3))
        y = np.abs(Z[:, 1]) > 0.7
        assert abs(unit(PHD(1).fit(Z, y).components_)[0, 1]) > 0.99


class TestLinearRegression:
    def test_is_the_regression(self):
        fitted = LinearRegressionFeature(1).fit(X, NUMBERS)
        model = LinearRegression().fit(X, NUMBERS)
        coefficients = model.coef_ / linalg.norm(model.coef_)
        same_up_to_signs(unit(fitted.components_), coefficients[np.newaxis], 1e-9)
        assert fitted.dependence_[0] == pytest.approx(model.score(X, NUMBERS))

    def test_wide_is_ridge_regression(self, rng):
        wide = rng.normal(size=(30, 60))
        y = wide[:, 0] + 0.1 * rng.normal(size=30)
        values = linalg.svdvals(wide - wide.mean(axis=0))[:29] ** 2
        model = Ridge(alpha=0.05 * values.mean()).fit(wide, y)
        fitted = LinearRegressionFeature(1, alpha=0.05).fit(wide, y)
        same_up_to_signs(unit(fitted.components_), unit(model.coef_[np.newaxis]), 1e-8)

    def test_several_outputs_are_reduced_rank_regression(self):
        Y = np.column_stack([NUMBERS, X[:, 1] ** 2, X[:, 2]])
        outputs = (Y - Y.mean(axis=0)) / Y.std(axis=0)
        fitted = LinearRegressionFeature(3).fit(X, Y)
        predicted = LinearRegression().fit(X, outputs).predict(X)
        left, roots, _ = linalg.svd(predicted, full_matrices=False)
        same_up_to_signs(fitted.transform(X).T / np.sqrt(80), left.T, 1e-7)
        np.testing.assert_allclose(fitted.dependence_, roots**2 / 240)

    def test_two_classes_are_discriminant_analysis(self):
        y = np.where(CLASSES == 1, "a", "b")
        np.testing.assert_allclose(
            LinearRegressionFeature(2).fit_transform(X, y), KernelLDA(2).fit_transform(X, y)
        )

    @pytest.mark.parametrize("beta", [0.2, 0.8])
    @pytest.mark.parametrize("n_outputs", [1, 2])
    def test_laplacian_regularisation(self, beta, n_outputs):
        """Equation (2.19): a labelled sum of squares plus λ times the roughness of all rows."""
        graph = GaussianGraph(3.0)
        D2 = ((X[:, np.newaxis] - X) ** 2).sum(axis=2)
        W = np.exp(-D2 / 18.0)
        np.fill_diagonal(W, 0.0)
        laplacian = np.diag(W.sum(axis=1)) - W
        Y = np.column_stack([NUMBERS, X[:, 1] ** 2])[:, :n_outputs]
        known = np.arange(80) < 30
        centred, outputs = X[known] - X[known].mean(axis=0), Y[known]
        outputs = (outputs - outputs.mean(axis=0)) / outputs.std(axis=0)
        rough = X.T @ laplacian @ X
        scatter = centred.T @ centred
        penalty = beta / (1 - beta) * np.trace(scatter) / np.trace(rough)  # λ

        def loss(flat):
            P = flat.reshape(4, n_outputs)
            fit = np.sum((centred @ P - outputs) ** 2)
            return fit + penalty * np.trace(P.T @ rough @ P)

        best = optimize.minimize(loss, np.zeros(4 * n_outputs), tol=1e-12).x.reshape(4, n_outputs)
        y = np.where(known[:, np.newaxis], Y, np.nan)
        fitted = LinearRegressionFeature(n_outputs, beta=beta, graph=graph).fit(X, y)
        assert fitted.n_unlabeled_ == 50
        # The features span the predictions, and the first is the one for a single output.
        rest = best - fitted.components_.T @ linalg.lstsq(fitted.components_.T, best)[0]
        np.testing.assert_allclose(rest, 0.0, atol=1e-5 * np.abs(best).max())
        feature = fitted.transform(X)[known, 0]
        squares = [np.corrcoef(feature, column)[0, 1] ** 2 for column in outputs.T]
        assert fitted.dependence_[0] == pytest.approx(np.mean(squares))

    def test_a_graph_of_all_rows_is_that_of_the_labelled_where_all_are(self):
        graph = NeighborGraph(8)
        dual = LinearRegressionFeature(1, kernel="precomputed", beta=0.4, graph=graph, alpha=0.0)
        primal = LinearRegressionFeature(1, beta=0.4, graph=graph, alpha=0.0).fit(X, NUMBERS)
        features = dual.fit_transform(X @ X.T, NUMBERS)
        np.testing.assert_allclose(abs(features), abs(primal.transform(X)), atol=1e-6)

    def test_no_labels(self):
        with pytest.raises(ValueError, match=r"y of .* no labelled rows"):
            LinearRegressionFeature(beta=0.5).fit(X, np.full(80, np.nan))

    def test_kernel(self):
        """Kernel ridge regression on centred kernel values."""
        K = Gaussian(2.0)(X)
        H = np.eye(80) - 1.0 / 80
        K = H @ K @ H
        penalty = 0.01 * np.trace(K) / 79
        y = NUMBERS - NUMBERS.mean()
        predicted = K @ linalg.solve(K + penalty * np.eye(80), y)
        feature = LinearRegressionFeature(1, kernel=Gaussian(2.0), alpha=0.01).fit_transform(
            X, NUMBERS
        )
        same_up_to_signs(feature.T, (predicted / predicted.std())[np.newaxis], 1e-6)
