"""Features that are smooth over a graph: LPP and the Laplacian eigenmap."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg
from sklearn.manifold import SpectralEmbedding

from depmax import LPP, GaussianGraph, LaplacianEigenmap, NeighborGraph, RadiusGraph
from depmax.algebra.points import VectorPoints
from depmax.extraction import laplacian_eigenmap as embedding
from depmax.kernels import Gaussian
from tests.extraction.oracles import same_up_to_signs

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4)) + 3.0
CURVE = np.sort(rng.uniform(0, 5, size=300))
SPIRAL = np.column_stack([CURVE * np.cos(CURVE), CURVE * np.sin(CURVE)])
GRAPHS = [NeighborGraph(8), NeighborGraph(8, bandwidth="median"), RadiusGraph(), GaussianGraph()]


def weights(graph, X: np.ndarray) -> np.ndarray:
    W = graph.weights(VectorPoints.of(X)).matrix()
    return W if isinstance(W, np.ndarray) else W.toarray()


def unit(columns: np.ndarray) -> np.ndarray:
    columns = columns - columns.mean(axis=0)
    return columns / columns.std(axis=0)


class TestLPP:
    @pytest.mark.parametrize("graph", GRAPHS, ids=repr)
    def test_definition(self, graph):
        """(3.12), Λ on the right, with an intercept: X measured from its mean weighted by D."""
        W = weights(graph, X)
        D = np.diag(W.sum(axis=1))
        centred = X - np.diag(D) @ X / np.trace(D)
        values, vectors = linalg.eigh(centred.T @ (D - W) @ centred, centred.T @ D @ centred)
        fitted = LPP(4, graph=graph).fit(X)
        np.testing.assert_allclose(fitted.dependence_, 1.0 - values, atol=1e-9)
        same_up_to_signs(fitted.transform(X).T, unit(X @ vectors).T, 1e-6)

    def test_normalised(self):
        graph = NeighborGraph(8, normalized=True)
        W = weights(graph, X)
        D = W.sum(axis=1)
        L = np.eye(60) - W / np.sqrt(np.outer(D, D))
        centred = X - X.mean(axis=0)
        values, vectors = linalg.eigh(centred.T @ L @ centred, centred.T @ centred)
        fitted = LPP(4, graph=graph).fit(X)
        np.testing.assert_allclose(fitted.dependence_, 1.0 - values, atol=1e-9)
        same_up_to_signs(fitted.transform(X).T, unit(X @ vectors).T, 1e-6)

    def test_no_other_direction_is_smoother(self, rng):
        W = weights(NeighborGraph(8), X)
        D = W.sum(axis=1)

        def quotient(p):
            f = X @ p
            f = f - D @ f / D.sum()
            return 0.5 * (W * (f[:, np.newaxis] - f) ** 2).sum() / (D @ f**2)

        best = quotient(LPP(1, graph=NeighborGraph(8)).fit(X).components_[0])
        assert all(quotient(p) >= best for p in rng.normal(size=(500, 4)))

    def test_dependence_is_the_correlation_along_edges(self):
        fitted = LPP(2, graph=NeighborGraph(8)).fit(X)
        W = weights(NeighborGraph(8), X)
        D = W.sum(axis=1)
        f = fitted.transform(X)
        f = f - D @ f / D.sum()
        np.testing.assert_allclose(
            fitted.dependence_, np.diag(f.T @ W @ f) / np.diag(f.T @ (D[:, np.newaxis] * f))
        )

    def test_routes(self):
        plain = LPP(3, alpha=0.01, graph=NeighborGraph(8)).fit_transform(X)
        dual = LPP(3, kernel="precomputed", alpha=0.01, graph=NeighborGraph(8))
        same_up_to_signs(dual.fit_transform(X @ X.T).T, plain.T, 1e-6)

    def test_kernel_of_full_rank_is_the_eigenmap(self):
        """(3.14) on a nonsingular K leaves the eigenproblem of the graph."""
        kernel, graph = Gaussian(1.0), NeighborGraph(8)
        features = LPP(3, kernel=kernel, alpha=0.0, graph=graph).fit_transform(X)
        eigenmap = LaplacianEigenmap(3, kernel=kernel, alpha=0.0, graph=graph).fit(X)
        same_up_to_signs(features.T, eigenmap.embedding_.T, 1e-5)
        same_up_to_signs(eigenmap.transform(X).T, eigenmap.embedding_.T, 1e-5)


class TestEigenmap:
    @pytest.mark.parametrize("graph", GRAPHS, ids=repr)
    def test_spectral_embedding(self, graph):
        W = weights(graph, X)
        other = SpectralEmbedding(3, affinity="precomputed", random_state=0).fit_transform(W)
        fitted = LaplacianEigenmap(3, kernel="linear", graph=graph).fit(X)
        same_up_to_signs(fitted.embedding_.T, unit(other).T, 1e-5)

    def test_normalised_is_scaled_by_the_degrees(self):
        plain = LaplacianEigenmap(2, graph=NeighborGraph(8)).fit(X)
        other = LaplacianEigenmap(2, graph=NeighborGraph(8, normalized=True)).fit(X)
        np.testing.assert_allclose(plain.dependence_, other.dependence_)

    def test_few_eigenvectors_of_many_nodes(self, monkeypatch):
        expected = LaplacianEigenmap(3, graph=NeighborGraph(8)).fit(SPIRAL)
        monkeypatch.setattr(embedding, "DENSE_NODES", 10)
        found = LaplacianEigenmap(3, graph=NeighborGraph(8)).fit(SPIRAL)
        same_up_to_signs(found.embedding_.T, expected.embedding_.T, 1e-5)

    def test_new_rows(self):
        fitted = LaplacianEigenmap(1, graph=NeighborGraph(8)).fit(SPIRAL[::2])
        assert abs(np.corrcoef(fitted.transform(SPIRAL[1::2])[:, 0], CURVE[1::2])[0, 1]) > 0.95
        assert np.corrcoef(fitted.transform(SPIRAL[::2])[:, 0], fitted.embedding_[:, 0])[0, 1] > 0.9

    def test_spectral_regression(self):
        """With the linear kernel the map is the regression of the embedding on the columns."""
        fitted = LaplacianEigenmap(2, kernel="linear", graph=NeighborGraph(8), alpha=0.0).fit(X)
        centred = X - X.mean(axis=0)
        weights = linalg.lstsq(centred, fitted.embedding_)[0]
        np.testing.assert_allclose(fitted.components_, weights.T, atol=1e-8)

    def test_parts(self):
        apart = np.vstack([X, X + 1000.0])
        with pytest.warns(UserWarning, match="falls into 2 parts"):
            fitted = LaplacianEigenmap(1, graph=NeighborGraph(8)).fit(apart)
        coordinate = fitted.embedding_[:, 0]
        assert np.ptp(coordinate[:60]) < 1e-6
        assert np.ptp(coordinate[60:]) < 1e-6
        assert abs(coordinate[0] - coordinate[-1]) > 1.0

    @pytest.mark.parametrize("estimator", [LPP, LaplacianEigenmap])
    def test_refusals(self, estimator):
        with pytest.raises(ValueError, match="alpha of"):
            estimator(alpha=-1.0).fit(X)
        with pytest.raises(ValueError, match="graph must be"):
            estimator(graph="ring").fit(X)
        with pytest.raises(ValueError, match="n_neighbors=80"):
            estimator(graph=NeighborGraph(80)).fit(X)
        with pytest.raises(ValueError, match="alpha of LaplacianEigenmap"):
            LaplacianEigenmap(alpha="auto").fit(X)
