"""Graphs against their definitions, on vectors and on kernel values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from depmax.algebra import points as points_module
from depmax.algebra.graphs import GaussianGraph, GivenGraph, NeighborGraph, RadiusGraph, as_graph
from depmax.algebra.points import KernelPoints, VectorPoints

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3)) + 5.0
D2 = ((X[:, np.newaxis] - X) ** 2).sum(axis=2)
H = np.eye(40) - 1 / 40


def kernel_points():
    K = X @ X.T
    return KernelPoints(lambda rows, columns: K[rows][:, columns], K.diagonal(), X)


POINTS = {
    "vectors": lambda: VectorPoints.of(X),
    "sparse": lambda: VectorPoints.of(sparse.csr_matrix(X), X),
    "kernel": kernel_points,
}


def nearest(p, mutual=False):
    far = D2 + np.diag(np.full(40, np.inf))
    near = np.zeros((40, 40), dtype=bool)
    np.put_along_axis(near, np.argsort(far, axis=1)[:, :p], True, axis=1)
    return (near & near.T if mutual else near | near.T).astype(float)


def _name(item):
    """Of a graph or message in a test's name: without the address of a function."""
    return repr(item).split(" at 0x")[0]


def no_loops(W):
    return W - np.diag(np.diag(W))


MEDIAN = np.sqrt(np.median(D2[np.triu_indices(40, 1)]))
OWN = no_loops(np.triu(rng.uniform(size=(40, 40)) * (rng.uniform(size=(40, 40)) < 0.3)))
OWN = OWN + OWN.T
GRAPHS = [
    (GivenGraph(OWN), OWN),
    (GivenGraph(sparse.coo_array(OWN)), OWN),
    (GivenGraph((OWN > 0) | np.eye(40, dtype=bool)), (OWN > 0).astype(float)),
    (GivenGraph(lambda rows: np.exp(-cdist(rows, rows))), no_loops(np.exp(-np.sqrt(D2)))),
    (NeighborGraph(6), nearest(6)),
    (NeighborGraph(10, mutual=True), nearest(10, mutual=True)),
    (NeighborGraph(6, bandwidth=1.5), nearest(6) * np.exp(-D2 / 4.5)),
    (RadiusGraph(2.0), no_loops((D2 <= 4.0).astype(float))),
    (GaussianGraph(), no_loops(np.exp(-D2 / (2 * MEDIAN**2)))),
    (GaussianGraph(0.7), no_loops(np.exp(-D2 / 0.98))),
]


@pytest.mark.parametrize("kind", sorted(POINTS))
@pytest.mark.parametrize(("graph", "W"), GRAPHS, ids=[_name(graph) for graph, _ in GRAPHS])
@pytest.mark.parametrize("normalized", [False, True])
def test_laplacian_is_that_of_the_definition(graph, W, normalized, kind, monkeypatch, rng):
    monkeypatch.setattr("depmax.algebra.graphs.TILE", 16)
    monkeypatch.setattr(points_module, "BLOCK", 400)
    laplacian = type(graph)(**{**graph.get_params(), "normalized": normalized}).laplacian(
        POINTS[kind]()
    )
    degrees = W.sum(axis=1)
    expected = np.diag(degrees) - W
    if normalized:
        expected = expected / np.sqrt(np.outer(degrees, degrees))
    matrix = laplacian.matrix()
    assert sparse.issparse(matrix) == (not isinstance(graph, GaussianGraph))
    dense = matrix.toarray() if sparse.issparse(matrix) else matrix
    np.testing.assert_allclose(dense, expected, atol=1e-9)
    np.testing.assert_allclose(laplacian.degrees, degrees)
    F = rng.normal(size=(40, 2))
    np.testing.assert_allclose(laplacian.apply(F), expected @ F, atol=1e-9)
    trace = np.trace(X.T @ H @ expected @ H @ X)
    assert laplacian.trace(POINTS[kind]()) == pytest.approx(trace)


def test_weights_of_many_samples_are_not_stored(monkeypatch, rng):
    F = rng.normal(size=(40, 3))
    expected = GaussianGraph().laplacian(VectorPoints.of(X)).apply(F)
    monkeypatch.setattr("depmax.algebra.graphs.STORED_ROWS", 10)
    monkeypatch.setattr("depmax.algebra.graphs.TILE", 16)
    laplacian = GaussianGraph().laplacian(VectorPoints.of(X))
    np.testing.assert_allclose(laplacian.apply(F), expected, atol=1e-12)
    assert "_matrix" not in vars(laplacian.weights)


@pytest.mark.parametrize("kind", sorted(POINTS))
def test_the_smallest_radius_leaves_nobody_alone(kind):
    graph = RadiusGraph()
    far = D2 + np.diag(np.full(40, np.inf))
    weights = graph.weights(POINTS[kind]())
    assert (weights.degrees >= 1).all()
    np.testing.assert_array_equal(weights.degrees, (far <= far.min(axis=1).max() * 1.0001).sum(0))


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("graph", [NeighborGraph(3), RadiusGraph(1.0)], ids=repr)
def test_disconnected_graphs_warn_and_work(graph, normalized, rng):
    parts = np.concatenate([rng.uniform(size=(10, 1)), rng.uniform(size=(10, 1)) + 50.0, [[1e3]]])
    graph.set_params(normalized=normalized)
    points = VectorPoints.of(parts if "n_neighbors" not in graph.get_params() else parts[:20])
    with pytest.warns(UserWarning, match=r"falls into \d parts .*Raise"):
        laplacian = graph.laplacian(points)
    assert np.isfinite(laplacian.apply(np.ones((points.n_samples, 1)))).all()
    assert laplacian.n_components == (2 if points.n_samples == 20 else 3)


def test_equal_rows_are_neighbours():
    points = VectorPoints.of(np.repeat([[0.0], [1.0]], 4, axis=0))
    laplacian = NeighborGraph(4).laplacian(points)
    assert (laplacian.degrees >= 4).all()
    assert GaussianGraph().laplacian(VectorPoints.of(np.ones((5, 2)))).degrees[0] == 4.0


def test_names():
    assert isinstance(as_graph("radius"), RadiusGraph)
    assert isinstance(as_graph("gaussian"), GaussianGraph)
    graph = NeighborGraph(3)
    assert as_graph(graph) is graph
    with pytest.raises(ValueError, match="graph must be 'neighbors'"):
        as_graph("nearest")
    with pytest.raises(ValueError, match="or a function of the rows"):
        as_graph(NeighborGraph)  # a class, not a graph
    assert isinstance(as_graph(OWN), GivenGraph)
    assert isinstance(as_graph(sparse.csr_matrix(OWN)), GivenGraph)
    assert isinstance(as_graph(lambda rows: OWN), GivenGraph)


@pytest.mark.parametrize("kind", sorted(POINTS))
def test_distances_of_pairs(kind, monkeypatch, rng):
    monkeypatch.setattr(points_module, "BLOCK", 60)
    first, second = rng.integers(0, 40, size=(2, 70))
    found = POINTS[kind]().between(first, second)
    np.testing.assert_allclose(found, D2[first, second], atol=1e-9)


def test_a_given_graph_in_parts_is_named_without_its_numbers():
    matrix = np.zeros((40, 40))
    matrix[0, 1] = matrix[1, 0] = 1.0
    with pytest.warns(UserWarning, match=r"^GivenGraph.*39 parts"):
        as_graph(matrix).laplacian(VectorPoints.of(X))


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (NeighborGraph(0), "n_neighbors of NeighborGraph must be an integer"),
        (NeighborGraph(40), "needs more than 40 rows, got n_samples = 40"),
        (NeighborGraph(3, bandwidth="mean"), "bandwidth of NeighborGraph must be a positive"),
        (RadiusGraph(-1.0), "radius of RadiusGraph must be a positive number or None"),
        (GivenGraph(OWN[1:, 1:]), r"shape \(39, 39\), but X has 40 rows.*a function of the rows"),
        (GivenGraph(OWN - 0.5), "negative, infinite or NaN"),
        (GivenGraph(np.where(OWN > 0.9, np.nan, OWN)), "negative, infinite or NaN"),
        (GivenGraph(np.triu(OWN)), r"not symmetric: give W.maximum\(W.T\)"),
        (GivenGraph(np.eye(40)), "graph has no edge"),
        (GivenGraph(lambda rows: rows), r"shape \(40, 3\)"),
        (GaussianGraph(0.0), "bandwidth of GaussianGraph must be a positive number or 'median'"),
    ],
    ids=_name,
)
def test_refusals(graph, message):
    with pytest.raises(ValueError, match=message):
        graph.laplacian(VectorPoints.of(X))


@pytest.mark.parametrize("kind", sorted(POINTS))
@pytest.mark.parametrize("graph", [NeighborGraph(6, bandwidth=1.5), GaussianGraph()], ids=repr)
def test_drawn_edges_estimate_the_sum_over_all(graph, kind, rng):
    weights = graph.weights(POINTS[kind]())
    values = rng.normal(size=40)
    dense = weights.matrix()
    dense = dense.toarray() if sparse.issparse(dense) else dense
    expected = (dense * np.subtract.outer(values, values) ** 2).sum() / 2
    draws = np.random.RandomState(0)
    found = []
    for _ in range(40):
        edges = weights.draw(100, draws)
        assert (edges.first != edges.second).all()
        found.append((edges.weights * (values[edges.first] - values[edges.second]) ** 2).mean())
    error = np.std(found) / np.sqrt(40)
    assert abs(np.mean(found) - expected) < 4 * error < 0.2 * expected
