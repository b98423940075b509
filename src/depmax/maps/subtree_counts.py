"""Graphs as counts of the subtrees around their nodes: columns that can be selected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from depmax._parameters import FLAG, check_parameters, integer
from depmax.kernels.kernel import object_array

#: Characters of a subtree's name up to which it is written out.
LONGEST = 100_000


@dataclass(eq=False, repr=False)
class SubtreeCounts(TransformerMixin, BaseEstimator):
    """Labelled graphs as counts of rooted subtrees, one named column per subtree.

    A subtree of depth 0 is a node's label; one of depth r is the label with the subtrees of depth
    r - 1 of all its neighbours: ``"C(C,O)"`` is a C between a C and an O. The inner product of two
    rows of counts is the Weisfeiler-Lehman subtree kernel, so that this transformer is also a
    kernel of graphs (``kernel=SubtreeCounts(2)``), and a selector behind it tells which subtrees
    the target depends on.

    Parameters
    ----------
    depth : int, default=2
        Largest depth; all smaller ones are counted too.
    min_graphs : int, default=1
        Subtrees that fewer of the training graphs have are ignored.
    sparse_output : bool, default=False
        Whether counts are a sparse matrix, which names of columns (``set_output``) do not fit.

    Attributes
    ----------
    vocabulary_ : ndarray of shape (n_subtrees,)
        Names of the subtrees, the shallow ones first. New graphs may have others, which do not
        count.

    Notes
    -----
    A graph is ``(edges, labels)`` or ``(edges, labels, edge_labels)``: edges as neighbours by node,
    as pairs of nodes (an edge in both directions is two pairs), or as a square matrix, where nodes
    are 0, 1, …; labels by node; edge_labels by pair, written ``"C(2:O)"``. Or a networkx graph,
    whose nodes have an attribute "label", and whose edges may have one.

    References
    ----------
    N. Shervashidze, P. Schweitzer, E. J. van Leeuwen, K. Mehlhorn, K. Borgwardt (2011),
    Weisfeiler-Lehman graph kernels. L. Song, A. Smola, A. Gretton, J. Bedo, K. Borgwardt (2012),
    Feature selection via dependence maximization, section 5.1.4.

    Examples
    --------
    >>> from depmax.maps import SubtreeCounts
    >>> ethanol = ({0: [1], 1: [0, 2], 2: [1]}, {0: "C", 1: "C", 2: "O"})
    >>> ether = ({0: [1], 1: [0, 2], 2: [1]}, {0: "C", 1: "O", 2: "C"})
    >>> counts = SubtreeCounts(1)
    >>> counts.fit_transform([ethanol, ether])
    array([[2., 1., 1., 1., 0., 1., 0.],
           [2., 1., 0., 0., 2., 0., 1.]])
    >>> counts.get_feature_names_out().tolist()
    ['C', 'O', 'C(C)', 'C(C,O)', 'C(O)', 'O(C)', 'O(C,C)']

    Which subtree tells two kinds of graphs apart:

    >>> from sklearn.pipeline import make_pipeline
    >>> from depmax import BAHSIC
    >>> model = make_pipeline(SubtreeCounts(1), BAHSIC(1, kernel="linear"))
    >>> _ = model.fit([ethanol, ether] * 10, [0, 1] * 10)
    >>> model[:-1].get_feature_names_out()[model[-1].get_support()].tolist()
    ['C(O)']
    """

    depth: int = 2
    _: KW_ONLY
    min_graphs: int = 1
    sparse_output: bool = False

    _declared: ClassVar = {"depth": integer(0), "min_graphs": integer(1), "sparse_output": FLAG}

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the subtrees.

        Parameters
        ----------
        X : sequence of graphs
        y : ignored

        Returns
        -------
        self
        """
        self._learn(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Find the subtrees and count them.

        Parameters
        ----------
        X : sequence of graphs
        y : ignored

        Returns
        -------
        ndarray or CSR matrix of shape (n_graphs, n_subtrees)
        """
        return self._matrix(self._learn(X))

    def transform(self, X: Any) -> Any:
        """Count the subtrees of graphs.

        Parameters
        ----------
        X : sequence of graphs

        Returns
        -------
        ndarray or CSR matrix of shape (n_graphs, n_subtrees)
        """
        check_is_fitted(self)
        return self._matrix(self._counted(X))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the subtrees.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of shape (n_subtrees,)
        """
        check_is_fitted(self)
        return self.vocabulary_

    def __sklearn_tags__(self) -> Any:
        """Rows are objects."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def _learn(self, X: Any) -> list[Counter[tuple[int, str]]]:
        check_parameters(self)
        counted = self._counted(X)
        if not counted:
            raise ValueError("X has no graphs (n_samples = 0): at least 1 is needed.")
        graphs = Counter(subtree for counts in counted for subtree in counts)
        kept = sorted(key for key, number in graphs.items() if number >= int(self.min_graphs))
        if not kept:
            raise ValueError(
                f"No subtree is in min_graphs={self.min_graphs} of the {len(counted)} graphs: "
                "lower min_graphs of SubtreeCounts."
            )
        self.vocabulary_ = object_array([name for _, name in kept])
        return counted

    def _counted(self, X: Any) -> list[Counter[tuple[int, str]]]:
        """How often each (depth, subtree) is in every graph."""
        items = list(X.to_numpy().ravel() if hasattr(X, "to_numpy") else X)
        return [_subtrees(item, number, int(self.depth)) for number, item in enumerate(items)]

    def _matrix(self, counted: list[Counter[tuple[int, str]]]) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer

        columns = {name: column for column, name in enumerate(self.vocabulary_)}
        counter = CountVectorizer(analyzer=list, vocabulary=columns, dtype=np.float64)
        names = [[name for _, name in counts.elements()] for counts in counted]
        found = sparse.csr_array(counter.transform(names))
        return found if self.sparse_output else found.toarray()


#: Neighbours of every node, each with the name of the edge's label.
Neighbours = dict[Hashable, list[tuple[str, Hashable]]]


def _read_graph(item: Any, number: int) -> tuple[dict[Hashable, str], Neighbours]:
    """Names of the nodes' labels, and the neighbours, from any of the forms of a graph."""
    if hasattr(item, "nodes") and hasattr(item, "adj"):  # of networkx
        labels: Mapping[Any, Any] = {
            node: data.get("label", item) for node, data in item.nodes(data=True)
        }
        pairs = {(a, b): data for a, others in item.adj.items() for b, data in others.items()}
        edge_labels = {pair: data["label"] for pair, data in pairs.items() if "label" in data}
        missing = [node for node, label in labels.items() if label is item]
        if missing:
            raise ValueError(f"Node {missing[0]!r} of graph {number} has no attribute 'label'.")
    else:
        is_graph = isinstance(item, Iterable) and not isinstance(item, str | bytes)
        parts = tuple(item) if is_graph else ()
        if len(parts) not in (2, 3) or not isinstance(parts[1], Mapping):
            raise TypeError(
                f"Row {number} is of type {type(item).__name__}: SubtreeCounts reads graphs "
                "(edges, labels[, edge_labels]) with labels by node, and networkx graphs."
            )
        pairs, labels = _pairs(parts[0]), parts[1]
        edge_labels = parts[2] if len(parts) == 3 else {}
    neighbours: Neighbours = {node: [] for node in labels}
    for a, b in pairs:
        if a not in labels or b not in labels:
            node = b if a in labels else a
            raise ValueError(f"Node {node!r} of graph {number} has an edge but no label.")
        edge = f"{_name(edge_labels[a, b])}:" if (a, b) in edge_labels else ""
        neighbours[a].append((edge, b))
    return {node: _name(label) for node, label in labels.items()}, neighbours


def _subtrees(item: Any, number: int, depth: int) -> Counter[tuple[int, str]]:
    """How many nodes of a graph have each subtree, with its depth."""
    labels, neighbours = _read_graph(item, number)
    names = dict(labels)
    counts = Counter((0, name) for name in names.values())
    for level in range(1, depth + 1):
        names = {
            node: f"{names[node] if not others else labels[node]}"
            f"({','.join(sorted(edge + names[other] for edge, other in others))})"
            for node, others in neighbours.items()
        }
        if max(map(len, names.values()), default=0) > LONGEST:
            raise ValueError(
                f"Graph {number} has a subtree of depth {level} with a name of more than "
                f"{LONGEST:,} characters: lower depth of SubtreeCounts."
            )
        counts.update((level, name) for name in names.values())
    return counts


def _pairs(edges: Any) -> dict[tuple[Hashable, Hashable], None]:
    """Pairs of nodes, once each, from neighbours by node, a matrix, or pairs."""
    if hasattr(edges, "shape"):
        nonzero = sparse.coo_array(edges)
        return dict.fromkeys(zip(nonzero.row.tolist(), nonzero.col.tolist(), strict=True))
    if isinstance(edges, Mapping) and not all(isinstance(key, tuple) for key in edges):
        return dict.fromkeys((a, b) for a, others in edges.items() for b in others)
    return dict.fromkeys((a, b) for a, b in edges)


def _name(label: Hashable) -> str:
    """A label as names of subtrees have it, in quotes where it would be misread."""
    if not isinstance(label, str):
        return repr(label.item() if isinstance(label, np.generic) else label)
    try:
        float(label)
    except ValueError:
        return label if label and not set(label) & set("(),:'\"") else repr(label)
    return repr(label)
