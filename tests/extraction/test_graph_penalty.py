"""Penalties of change between neighbours, published, printed and normalised, by definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import linalg

from depmax import (
    HBFE,
    HSCA,
    LPP,
    GaussianGraph,
    LinearRegressionFeature,
    NeighborGraph,
)
from depmax.algebra.points import VectorPoints
from depmax.kernels import Gaussian
from tests.extraction.oracles import form, positive_part, same_up_to_signs, top_eigenvector

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4)) + 3.0
CLASSES = np.digitize(X[:, 0] + 0.5 * rng.normal(size=60), [2.0, 4.0])
KNOWN = np.arange(60) % 3 == 0
Y = np.where(KNOWN, CLASSES, -1)
TWO = np.where(KNOWN, X[:, 0] > 3.0, np.nan)
GRAPHS = [NeighborGraph(8), NeighborGraph(8, normalized=True), GaussianGraph()]
ids = [repr(graph) for graph in GRAPHS]
CENTRED = X - X.mean(axis=0)


def printed(unbiased: bool) -> np.ndarray:
    """XᵀMX with M of the labelled rows as the thesis prints it, not divided."""
    m = KNOWN.sum()
    L = (CLASSES[KNOWN][:, np.newaxis] == CLASSES[KNOWN]).astype(float)
    M = np.zeros((60, 60))
    M[np.ix_(KNOWN, KNOWN)] = form(L, unbiased) * (m * (m - 3) if unbiased else (m - 1) ** 2)
    matrix: np.ndarray = CENTRED.T @ M @ CENTRED
    return matrix


def of_graph(graph: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """XᵀΔX, XᵀDX about the mean weighted by D, and Xᵀ(2D - Δ)X."""
    laplacian = graph.laplacian(VectorPoints.of(X))
    delta = laplacian.apply(np.eye(60))
    degrees = np.ones(60) if graph.normalized else laplacian.degrees
    rows = X - degrees @ X / degrees.sum()
    middles = CENTRED.T @ (2.0 * np.diag(np.diag(delta)) - delta) @ CENTRED
    return CENTRED.T @ delta @ CENTRED, rows.T @ (degrees[:, np.newaxis] * rows), middles


def redundancy(found: np.ndarray, unbiased: bool) -> np.ndarray:
    """XᵀM_fX of earlier directions as printed."""
    rows = X[KNOWN] - X[KNOWN].mean(axis=0)
    m, features = len(rows), rows @ found.T
    M = form(features @ features.T, unbiased) * (m * (m - 3) if unbiased else (m - 1) ** 2)
    matrix: np.ndarray = rows.T @ M @ rows
    return matrix


@pytest.mark.parametrize("graph", GRAPHS, ids=ids)
@pytest.mark.parametrize("unbiased", [False, True])
def test_beta_of_hbfe_as_printed(graph: Any, unbiased: bool) -> None:
    values, vectors = linalg.eigh(0.9 * printed(unbiased) - 0.1 * of_graph(graph)[0])
    positive = int(min(2, (values > 0).sum()))
    assert positive >= 1
    model = HBFE(
        2, beta=0.1, relative=False, unbiased=unbiased, target_kernel="delta", graph=graph
    ).fit(X, Y)
    same_up_to_signs(model.components_[:positive], vectors[:, ::-1].T[:positive])


@pytest.mark.parametrize("beta", [0.0, 0.02])
@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.filterwarnings("ignore:HSCA ignored:UserWarning")  # with beta = 0
def test_alpha_and_beta_of_hsca_as_printed(beta: float, unbiased: bool) -> None:
    graph = NeighborGraph(8)
    A = (1 - beta) * printed(unbiased) - beta * of_graph(graph)[0]
    found = np.empty((0, 4))
    while len(found) < 3:
        B = np.eye(4)
        if len(found):
            B = positive_part(redundancy(found, unbiased)) + 50.0 * B
        found = np.vstack([found, top_eigenvector(A, B)])
    options: dict[str, Any] = {"target_kernel": "delta", "graph": graph, "unbiased": unbiased}
    y = np.where(KNOWN, CLASSES.astype(object), None)
    model = HSCA(3, alpha=50.0, beta=beta, relative=False, **options).fit(X, y)
    same_up_to_signs(model.components_, found, 1e-6)


@pytest.mark.parametrize("price", [0.01, 1.0, 30.0])
def test_lambda_of_regression_as_printed(price: float) -> None:
    graph, y = NeighborGraph(8), X @ [1.0, 2.0, 0.0, -1.0] + np.sin(7.0 * X[:, 1])
    rows = X[KNOWN] - X[KNOWN].mean(axis=0)
    answers = y[KNOWN] - y[KNOWN].mean()
    weights = linalg.solve(rows.T @ rows + price * of_graph(graph)[0], rows.T @ answers)
    model = LinearRegressionFeature(1, beta=price, relative=False, graph=graph, alpha=0.0)
    model.fit(X, np.where(KNOWN, y, np.nan))
    expected = y[KNOWN].mean() + (X - X[KNOWN].mean(axis=0)) @ weights
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-8)
    if price > 1:
        with pytest.raises(ValueError, match=r"beta of .*relative=False"):
            model.set_params(relative=True).fit(X, y)


def normalised(graph: Any, unbiased: bool, beta: float, relative: bool) -> tuple[Any, Any]:
    """Matrices of the numerator and of the size, with HSIC over its trace in this metric."""
    change, size, _ = of_graph(graph)
    low = printed(False) * (1.0 if relative else 0.0)
    m = KNOWN.sum()
    scale = np.trace(linalg.solve(size, low)) / (m - 1) ** 2 if relative else 1.0
    A = printed(unbiased)
    if relative:
        A = A / (m * (m - 3) if unbiased else (m - 1) ** 2)
        scale = scale * ((m - 1) ** 2 / (m * (m - 3)) if unbiased else 1.0)
    return (1 - beta) * A / scale - beta * change, size


@pytest.mark.parametrize("graph", GRAPHS, ids=ids)
@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("relative", [False, True])
def test_normalised_hbfe_is_the_eigenproblem(graph: Any, unbiased: bool, relative: bool) -> None:
    A, B = normalised(graph, unbiased, 0.3, relative)
    expected = X @ linalg.eigh(A, B)[1][:, ::-1]
    expected = (expected - expected.mean(axis=0)) / expected.std(axis=0)
    model = HBFE(
        4,
        beta=0.3,
        graph=graph,
        graph_penalty="normalised",
        relative=relative,
        unbiased=unbiased,
        target_kernel="delta",
    )
    features = model.fit_transform(X, Y)
    same_up_to_signs(features.T, expected.T, 1e-6)
    weights = np.linalg.lstsq(CENTRED, features, rcond=None)[0]
    m = KNOWN.sum()
    A = printed(unbiased) / (m * (m - 3) if unbiased else (m - 1) ** 2)
    np.testing.assert_allclose(model.dependence_, np.diag(weights.T @ A @ weights), atol=1e-9)


@pytest.mark.parametrize("graph", GRAPHS, ids=ids)
@pytest.mark.parametrize("unbiased", [False, True])
def test_normalised_hsca_is_the_eigenproblem(graph: Any, unbiased: bool) -> None:
    A, B = normalised(graph, unbiased, 0.3, True)
    A = A + 0.3 * B  # the share that stays, not minus the share that changes
    root = linalg.cholesky(B, lower=True)
    whiten = linalg.inv(root).T  # B is the identity in these coordinates
    A = whiten.T @ A @ whiten
    turned = np.empty((0, 4))
    while len(turned) < 3:
        D = np.eye(4)
        if len(turned):
            M = positive_part(whiten.T @ redundancy(turned @ whiten.T, unbiased) @ whiten)
            D = M + 0.01 * np.trace(M) / len(turned) * D
        turned = np.vstack([turned, top_eigenvector(A, D)])
    found = turned @ whiten.T
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    options: dict[str, Any] = {"target_kernel": "delta", "graph": graph, "unbiased": unbiased}
    model = HSCA(3, alpha=0.01, beta=0.3, graph_penalty="normalised", **options).fit(X, Y)
    same_up_to_signs(model.components_, found, 1e-6)


@pytest.mark.parametrize("graph", GRAPHS, ids=ids)
@pytest.mark.parametrize("kernel", ["linear", Gaussian(4.0)], ids=repr)
def test_the_graph_alone_is_lpp(graph: Any, kernel: Any) -> None:
    expected = LPP(3, kernel=kernel, graph=graph).fit_transform(X)
    options: dict[str, Any] = {"kernel": kernel, "graph": graph, "graph_penalty": "normalised"}
    found = HBFE(3, beta=1.0, **options).fit_transform(X, Y)
    np.testing.assert_allclose(found, expected, atol=1e-8)
    first = HSCA(1, beta=1.0, **options).fit_transform(X, Y)[:, 0]
    assert abs(np.corrcoef(first, expected[:, 0])[0, 1]) > 1 - 1e-10


@pytest.mark.parametrize("graph", GRAPHS, ids=ids)
@pytest.mark.parametrize("beta", [0.2, 1.0])
def test_what_follows_is_variance_smoothed_by_the_graph(graph: Any, beta: float) -> None:
    model = HBFE(4, beta=beta, graph=graph).fit(X, TWO)
    n_positive = 1 if beta < 1 else 0  # two classes: one direction pays
    scatter, middles = CENTRED.T @ CENTRED, of_graph(graph)[2]
    spread = (1 - beta) * scatter / np.trace(scatter) + beta * middles / np.trace(middles)
    first = model.components_[:n_positive].T
    basis = linalg.null_space(first.T) if n_positive else np.eye(4)
    expected = basis @ linalg.eigh(basis.T @ spread @ basis)[1][:, ::-1]
    same_up_to_signs(model.components_[n_positive:], expected.T, 1e-7)


def test_it_is_the_same_along_a_grown_basis(monkeypatch: pytest.MonkeyPatch) -> None:
    from depmax.algebra import span

    model = HBFE(4, kernel=Gaussian(8.0), beta=0.2, graph=NeighborGraph(8))
    expected = model.fit_transform(X, TWO)
    monkeypatch.setattr(span, "EXACT_ROWS", 10)
    np.testing.assert_allclose(model.fit_transform(X, TWO), expected, atol=1e-5)
