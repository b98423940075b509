"""HBFE by plain eigenvectors, as the thesis has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import linalg, sparse

from depmax import HBFE, GaussianGraph, NeighborGraph
from depmax.algebra.points import VectorPoints
from depmax.kernels import Gaussian, Linear
from depmax.maps import NystroemMap
from reproduction.plain_eigenvectors import PlainEigenvectors
from tests.extraction.oracles import form, same_up_to_signs

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 6)) @ rng.normal(size=(6, 6)) + 3.0
NUMBERS = np.sin(X[:, 0]) + 0.3 * rng.normal(size=40)
CLASSES = np.digitize(X[:, 1] - X[:, 2], [0.0, 4.0])
OUTPUTS = np.column_stack([X[:, 0] ** 2, X[:, 3]])
TARGETS = {"numbers": NUMBERS, "classes": CLASSES, "outputs": OUTPUTS}
CASES: dict[str, Any] = {
    "linear": (Linear(), X),
    "wide": (Linear(), rng.normal(size=(15, 30))),
    "map": (NystroemMap(8, kernel=Gaussian(3.0), random_state=0), X),
}


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("target", sorted(TARGETS))
@pytest.mark.parametrize("case", sorted(CASES))
def test_all_eigenvectors(case: str, target: str, unbiased: bool) -> None:
    """Zero eigenvalues, those of directions beyond the samples' span too, precede negative ones."""
    kernel, rows = CASES[case]
    y = TARGETS[target][: len(rows)]
    model = PlainEigenvectors(1, kernel=kernel, unbiased=unbiased).fit(rows, y)
    phi = np.asarray(model.kernel_.features(rows))
    centred = phi - phi.mean(axis=0)
    seen = y[:, np.newaxis] if y.ndim == 1 and y.dtype.kind == "f" else y
    A = centred.T @ form(model.target_kernel_(seen), unbiased) @ centred
    values, vectors = linalg.eigh(A)
    for count in (2, min(len(rows), A.shape[0])):
        model.set_params(n_components=count).fit(rows, y)
        np.testing.assert_allclose(
            model.dependence_, values[::-1][:count], atol=1e-9 * np.abs(values).max()
        )
        W = model._projection.weights
        np.testing.assert_allclose(W.T @ W, np.eye(count), atol=1e-8)
        reached = np.einsum("ij,ik,kj->j", W, A, W)
        np.testing.assert_allclose(reached, model.dependence_, atol=1e-9 * np.abs(values).max())
    if case == "linear" and unbiased:  # no eigenvalues are equal
        same_up_to_signs(model.components_, vectors[:, ::-1].T, 1e-7)
    with pytest.raises(ValueError, match="more than the number of"):
        model.set_params(n_components=max(A.shape) + 1).fit(rows, y)


def test_unbiased_balanced_classes_go_on_by_least_variance() -> None:
    y = np.repeat([0, 1], 20)
    by_variance, plain = HBFE(3).fit(X, y), PlainEigenvectors(3).fit(X, y)
    np.testing.assert_allclose(by_variance.components_[0], plain.components_[0], atol=1e-9)
    assert by_variance.transform(X)[:, 1].var() > 10 * plain.transform(X)[:, 1].var()
    assert (plain.dependence_[1:] < 0).all()


@pytest.mark.parametrize("graph", [NeighborGraph(8), GaussianGraph()], ids=repr)
@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("relative", [False, True])
def test_graph(graph: Any, unbiased: bool, relative: bool) -> None:
    known = np.arange(40) % 2 == 0
    y = np.where(known, CLASSES.astype(object), None)
    L = (CLASSES[known][:, np.newaxis] == CLASSES[known]).astype(float)
    centred, m = X - X.mean(axis=0), known.sum()
    pairs = m * (m - 3) if unbiased else (m - 1) ** 2
    M = np.zeros((40, 40))
    M[np.ix_(known, known)] = form(L, unbiased)
    H = np.eye(m) - 1 / m
    B = centred.T @ np.asarray(graph.laplacian(VectorPoints.of(X)).matrix() @ centred)
    dependence = centred.T @ M @ centred
    A = dependence * pairs
    if relative:
        A = dependence / (np.trace(X[known].T @ H @ L @ H @ X[known]) / pairs)
        B = B / np.trace(B)
    expected = linalg.eigh(0.7 * A - 0.3 * B)[1][:, ::-1].T
    model = PlainEigenvectors(
        6, beta=0.3, graph=graph, unbiased=unbiased, target_kernel="delta", relative=relative
    ).fit(X, y)
    same_up_to_signs(model.components_, expected)
    reached = np.einsum("ij,jk,ik->i", expected, dependence, expected)
    np.testing.assert_allclose(model.dependence_, reached, atol=1e-10)
    assert model.n_unlabeled_ == 20


def test_sparse_rows() -> None:
    dense = PlainEigenvectors(4).fit(X, CLASSES)
    other = PlainEigenvectors(4).fit(sparse.csr_matrix(X), CLASSES)
    np.testing.assert_allclose(other.components_, dense.components_, atol=1e-9)


def test_kernels_without_coordinates_are_refused() -> None:
    with pytest.raises(ValueError, match="kernel with coordinates"):
        PlainEigenvectors(2, kernel=Gaussian(2.0)).fit(X, CLASSES)
