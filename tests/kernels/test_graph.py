"""Graph kernels by GraKeL."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from depmax.kernels.graph import METHODS, Graph

PATH = ({0: [1], 1: [0, 2], 2: [1]}, {0: "C", 1: "C", 2: "O"})
RING = ({0: [1, 2], 1: [0, 2], 2: [0, 1]}, {0: "C", 1: "C", 2: "O"})


def random_graph(seed, labels="abc"):
    """Connected graph with labels on nodes and edges."""
    rng = np.random.default_rng(seed)
    n_nodes = rng.integers(4, 8)
    edges = {
        pair: 1
        for i in range(n_nodes)
        for j in range(i)
        if j == i - 1 or rng.random() < 0.5
        for pair in ((i, j), (j, i))
    }
    nodes = {i: labels[rng.integers(len(labels))] for i in range(n_nodes)}
    return edges, nodes, {(i, j): "xy"[(i + j) % 2] for i, j in edges}


def graphs(method):
    # The first two have labels that no other graph has.
    rows = [random_graph(seed, "ad" if seed < 2 else "abc") for seed in range(9)]
    if method != "graph_hopper":
        return rows
    return [
        (edges, {i: [ord(label), 1.0] for i, label in nodes.items()}) for edges, nodes, _ in rows
    ]


@pytest.fixture
def grakel():
    return pytest.importorskip("grakel", reason="the extra 'graphs' is not installed")


def options(method):
    chosen = {"random_walk": {"lamda": 0.01}, "graph_hopper": {"kernel_type": "linear"}}
    return chosen.get(method)


@pytest.mark.parametrize("method", METHODS)
def test_values_do_not_depend_on_the_other_graphs(grakel, method):
    X = graphs(method)
    kernel = Graph(method, options(method), normalize=False)
    whole = kernel(X)
    size = np.abs(whole).max()
    assert_allclose(kernel(X[:2], X[2:]), whole[:2, 2:], rtol=1e-10, atol=1e-12 * size)
    assert_allclose(kernel(X[2:], X[:2]), whole[2:, :2], rtol=1e-10, atol=1e-12 * size)
    assert_allclose(kernel(X[::-1]), whole[::-1, ::-1], rtol=1e-10, atol=1e-12 * size)
    assert_allclose(kernel.diag(X), np.diag(whole), rtol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_normalised_matrix_is_symmetric_positive_semidefinite_with_unit_diagonal(grakel, method):
    X = graphs(method)
    kernel = Graph(method, options(method))
    K = kernel(X)
    assert_allclose(K, K.T, rtol=1e-12)
    assert_array_equal(np.diag(K), 1.0)
    assert_array_equal(kernel.diag(X), 1.0)
    assert np.linalg.eigvalsh(K).min() > -1e-10
    assert_allclose(kernel(X[:2], X[2:]), K[:2, 2:], rtol=1e-10)


def test_vertex_histogram_equals_counting_labels(grakel):
    assert_array_equal(Graph("vertex_histogram", normalize=False)([PATH, RING]), [[5, 5], [5, 5]])


def test_shortest_paths_equal_a_count_by_hand(grakel):
    # Triples (end, end, distance) of the path: CC1 and CC1, CO1, OC1, CO2, OC2; of the ring: CC1
    # and CC1, CO1 and CO1, OC1 and OC1. This is also the example of the docstring.
    expected = np.array([[2 * 2 + 4, 2 * 2 + 2 + 2], [2 * 2 + 2 + 2, 3 * 2 * 2]])
    assert_array_equal(Graph("shortest_path", normalize=False)([PATH, RING]), expected)
    assert_allclose(Graph("shortest_path")([PATH, RING]).round(3)[0, 1], 0.816)


def test_grakel_graphs_and_iterators_are_read(grakel):
    expected = Graph()([PATH, RING])
    assert_array_equal(Graph()([grakel.Graph(*PATH), grakel.Graph(*RING)]), expected)
    assert_array_equal(Graph().diag([iter(PATH), iter(RING)]), [1, 1])


def test_networkx_graphs_are_read(grakel):
    networkx = pytest.importorskip("networkx", reason="networkx graphs are optional")
    rows = []
    for edges, labels in (PATH, RING):
        graph = networkx.Graph((i, j) for i in edges for j in edges[i])
        networkx.set_node_attributes(graph, labels, "atom")
        rows.append(graph)
    found = Graph(params={"node_labels_tag": "atom", "n_iter": 5})(rows)
    assert_allclose(found, Graph(params={"n_iter": 5})([PATH, RING]), rtol=1e-12)


def test_no_rows(grakel):
    assert Graph()([]).shape == (0, 0)
    assert Graph().diag([]).shape == (0,)


@pytest.mark.parametrize("row", [3, "abc", (), (1, 2, 3, 4)])
def test_rows_that_are_no_graphs_are_named(grakel, row):
    with pytest.raises(TypeError, match=r"Row 1 is of type .* Graph compares GraKeL graphs"):
        Graph()([PATH, row])


def test_methods_that_are_no_kernels_are_refused(grakel):
    with pytest.raises(ValueError, match="depend on which graphs are compared together"):
        Graph("propagation")([PATH])


def test_a_diverging_random_walk_is_refused(grakel):
    with pytest.raises(ValueError, match="with a smaller number"):
        Graph("random_walk", {"lamda": 0.9})([PATH, RING])


def test_a_missing_grakel_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "grakel", None)
    with pytest.raises(ImportError, match=r'pip install "depmax\[graphs\]"'):
        Graph()([PATH])
