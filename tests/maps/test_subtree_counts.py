"""Counts of subtrees: against trees unfolded one by one, and GraKeL's kernel."""

from __future__ import annotations

import warnings
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from depmax import BAHSIC, HSCA, hsic_test, load_model, save_model
from depmax.maps import SubtreeCounts


def random_graph(seed: int, labels: str = "abc") -> tuple:
    """Some nodes with edges in both directions, some perhaps without any."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 8))
    matrix = np.triu(rng.random((size, size)) < 0.4, 1)
    matrix = matrix | matrix.T
    edges = {i: np.flatnonzero(matrix[i]).tolist() for i in range(size)}
    return edges, {i: labels[rng.integers(len(labels))] for i in range(size)}


GRAPHS = [random_graph(seed) for seed in range(30)]


def unfolded(graph: tuple, node: int, depth: int) -> tuple:
    """The subtree around a node as nested tuples."""
    edges, labels = graph
    if depth == 0:
        return (labels[node],)
    return labels[node], tuple(sorted(unfolded(graph, other, depth - 1) for other in edges[node]))


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_counts_are_those_of_unfolded_trees(depth: int) -> None:
    counts = SubtreeCounts(depth).fit_transform(GRAPHS)
    slow = [
        Counter((d, unfolded(graph, v, d)) for d in range(depth + 1) for v in graph[1])
        for graph in GRAPHS
    ]
    trees = sorted(set().union(*slow), key=repr)
    expected = np.array([[row[tree] for tree in trees] for row in slow], dtype=float)
    assert counts.shape == expected.shape
    np.testing.assert_array_equal(  # the same columns, in another order
        counts[:, np.lexsort(counts)], expected[:, np.lexsort(expected)]
    )


@pytest.mark.parametrize("depth", [1, 3])
def test_inner_products_are_the_weisfeiler_lehman_kernel(depth: int) -> None:
    grakel = pytest.importorskip("grakel", reason="GraKeL is not installed")
    connected = [graph for graph in GRAPHS if all(graph[0].values())]
    counts = SubtreeCounts(depth, sparse_output=True).fit_transform(connected)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # GraKeL's own
        expected = grakel.WeisfeilerLehman(n_iter=depth).fit_transform(connected)
    np.testing.assert_allclose((counts @ counts.T).toarray(), expected)


def test_every_form_of_a_graph() -> None:
    edges, labels = GRAPHS[0]
    pairs = [(a, b) for a, others in edges.items() for b in others]
    matrix = np.zeros((len(labels), len(labels)))
    matrix[tuple(np.array(pairs).T)] = 1.0
    adjacency = {a: {b: {} for b in others} for a, others in edges.items()}
    nodes = [(node, {"label": label}) for node, label in labels.items()]
    of_networkx = SimpleNamespace(nodes=lambda data: nodes, adj=adjacency)
    forms = [
        (edges, labels),
        (pairs, labels),
        (dict.fromkeys(pairs, 1.0), labels),
        (matrix, labels),
        (sparse.csr_array(matrix), labels),
        of_networkx,
    ]
    counts = SubtreeCounts(2).fit(GRAPHS).transform(forms)
    assert (counts == counts[0]).all()
    assert counts[0].sum() == 3 * len(labels)


def test_labels_of_nodes_and_edges_are_told_apart() -> None:
    bond = ({0: [1], 1: [0]}, {0: "C", 1: "O"}, {(0, 1): 2, (1, 0): 2})
    model = SubtreeCounts(1).fit([bond, ({}, {0: 1, 1: "1", 2: "a,b", 3: ""})])
    assert model.vocabulary_.tolist() == [
        *["''", "'1'", "'a,b'", "1", "C", "O"],
        *["''()", "'1'()", "'a,b'()", "1()", "C(2:O)", "O(2:C)"],
    ]


def test_rare_subtrees_are_left_out_and_new_ones_do_not_count() -> None:
    everything, common = SubtreeCounts(2).fit(GRAPHS), SubtreeCounts(2, min_graphs=5).fit(GRAPHS)
    graphs = (everything.transform(GRAPHS) > 0).sum(axis=0)
    assert common.vocabulary_.tolist() == everything.vocabulary_[graphs >= 5].tolist()
    assert common.transform([({}, {0: "unknown"})]).sum() == 0.0
    assert common.transform([]).shape == (0, len(common.vocabulary_))


class TestUse:
    """Graphs with two more nodes, joined or not."""

    y = np.arange(30) % 2
    graphs = tuple(
        (
            {**edges, **({"x": ["y"], "y": ["x"]} if k % 2 else {"x": [], "y": []})},
            {**labels, "x": "X", "y": "Y"},
        )
        for k, (edges, labels) in enumerate(GRAPHS)
    )

    def test_selection_names_the_subtree(self) -> None:
        counts = SubtreeCounts(1).set_output(transform="pandas")
        model = make_pipeline(counts, BAHSIC(2, kernel="linear")).fit(self.graphs, self.y)
        assert isinstance(counts.fit_transform(self.graphs), pd.DataFrame)
        kept = model[-1].get_feature_names_out().tolist()
        assert kept[0].startswith(("X", "Y"))
        assert kept[1].startswith(("X", "Y"))

    def test_it_is_a_kernel_of_graphs(self) -> None:
        kernel = SubtreeCounts(1, sparse_output=True)
        assert hsic_test(self.graphs, self.y, kernel=kernel, random_state=0).pvalue < 0.01
        features = HSCA(1, kernel=kernel).fit_transform(self.graphs, self.y)
        assert features.shape == (30, 1)

    def test_clones_and_files(self, tmp_path) -> None:
        model = clone(SubtreeCounts(2, min_graphs=2)).fit(self.graphs)
        save_model(model, tmp_path / "counts.skops")
        loaded = load_model(tmp_path / "counts.skops")
        np.testing.assert_array_equal(loaded.transform(self.graphs), model.transform(self.graphs))


@pytest.mark.parametrize(
    ("graphs", "error", "message"),
    [
        ([], ValueError, "no graphs"),
        (["abc"], TypeError, "Row 0 is of type str"),
        ([({0: [1]}, ["a", "b"])], TypeError, "labels by node"),
        ([({0: [1]}, {0: "a"})], ValueError, "Node 1 of graph 0 has an edge but no label"),
        ([SimpleNamespace(nodes=lambda data: [(7, {})], adj={})], ValueError, "Node 7 of graph 0"),
    ],
)
def test_refusals(graphs, error, message) -> None:
    with pytest.raises(error, match=message):
        SubtreeCounts().fit(graphs)


def test_parameters_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="depth of SubtreeCounts must be"):
        SubtreeCounts(-1).fit(GRAPHS)
    with pytest.raises(ValueError, match="lower min_graphs"):
        SubtreeCounts(min_graphs=31).fit(GRAPHS)
    hub = ({0: list(range(1, 60)), **{i: [0] for i in range(1, 60)}}, dict.fromkeys(range(60), "a"))
    with pytest.raises(ValueError, match="lower depth of SubtreeCounts"):
        SubtreeCounts(6).fit([hub])
