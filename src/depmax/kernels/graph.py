"""Kernels of graphs, computed by GraKeL."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from depmax.kernels.kernel import Capabilities, Kernel, as_objects

# GraKeL's other methods draw hashes or samples, or number their patterns, anew for every set of
# graphs: their k(x, z) depends on the other graphs of the call, so it is not a kernel.
METHODS = (
    "core_framework",
    "edge_histogram",
    "graph_hopper",
    "hadamard_code",
    "pyramid_match",
    "random_walk",
    "shortest_path",
    "subgraph_matching",
    "vertex_histogram",
    "weisfeiler_lehman",
    "weisfeiler_lehman_optimal_assignment",
)

# Parameters that say how networkx graphs are read.
_NETWORKX = {
    "node_labels_tag",
    "edge_labels_tag",
    "edge_weight_tag",
    "val_node_labels",
    "val_edge_labels",
}


class Graph(Kernel):
    """Similarity of graphs, computed by GraKeL; needs ``pip install "depmax[graphs]"``.

    Parameters
    ----------
    method : str, default="weisfeiler_lehman"
        Name of a GraKeL kernel whose value depends on the two graphs alone; ``METHODS`` of this
        module lists them.
    params : mapping, optional
        Its parameters, for instance ``{"n_iter": 5}``, and those of GraKeL's
        ``graph_from_networkx`` for networkx graphs: ``node_labels_tag`` names the attribute that
        holds the label of a node, ``val_node_labels`` is a label for all nodes.
    normalize : bool, default=True
        Divide by √(k(x, x) k(z, z)), where 0/0 is read as 0.

    Notes
    -----
    Rows are GraKeL graphs, iterables ``(edges, node_labels)`` or ``(edges, node_labels,
    edge_labels)`` as GraKeL takes them, or networkx graphs. A matrix between two sets of n and m
    graphs is cut out of the matrix of all n + m: after ``fit``, GraKeL's ``transform`` gives
    different values for unseen labels (``hadamard_code``) and different diagonals
    (``shortest_path``).

    Examples
    --------
    >>> from depmax.kernels import Graph
    >>> path = ({0: [1], 1: [0, 2], 2: [1]}, {0: "C", 1: "C", 2: "O"})
    >>> ring = ({0: [1, 2], 1: [0, 2], 2: [0, 1]}, {0: "C", 1: "C", 2: "O"})
    >>> Graph("shortest_path")([path, ring]).round(3)  # doctest: +SKIP
    array([[1.   , 0.816],
           [0.816, 1.   ]])
    """

    _capabilities: ClassVar[Capabilities] = Capabilities(vector_input=False)

    def __init__(
        self,
        method: str = "weisfeiler_lehman",
        params: Mapping[str, Any] | None = None,
        normalize: bool = True,
    ) -> None:
        self.method = method
        self.params = params
        self.normalize = normalize

    def _read(self, X: Any) -> np.ndarray:
        grakel = _import_grakel()
        ready = isinstance(X, np.ndarray) or hasattr(X, "to_numpy")
        items = list(as_objects(X) if ready else X)
        networkx = sys.modules.get("networkx")  # the user's graphs are its graphs only if loaded
        graphs = np.empty(len(items), dtype=object)
        for number, item in enumerate(items):
            if networkx is not None and isinstance(item, networkx.Graph):
                options = {key: value for key, value in self._params() if key in _NETWORKX}
                (graphs[number],) = grakel.graph_from_networkx([item], **options)
            elif isinstance(item, grakel.Graph):
                graphs[number] = item
            else:
                graphs[number] = _parts(item, number)
        return graphs

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        n = len(X)
        K = self._raw(list(X) if X is Z else [*X, *Z])
        if self.normalize:
            own = K.diagonal()
            scale = np.divide(1.0, np.sqrt(own), out=np.zeros(own.size), where=own > 0)
            K = K * np.outer(scale, scale)
            np.fill_diagonal(K, scale > 0)
        return K if X is Z else np.ascontiguousarray(K[:n, n:])

    def _diag(self, X: Any) -> np.ndarray:
        own = np.array([self._raw([graph])[0, 0] for graph in X], dtype=np.float64)
        return (own > 0).astype(np.float64) if self.normalize else own

    def _params(self) -> list[tuple[str, Any]]:
        return list((self.params or {}).items())

    def _raw(self, graphs: list[Any]) -> np.ndarray:
        """GraKeL's matrix of the graphs with themselves, not normalised."""
        if self.method not in METHODS:
            raise ValueError(
                f"method of Graph must be one of {', '.join(METHODS)}; got {self.method!r}. Other "
                "GraKeL kernels give values that depend on which graphs are compared together."
            )
        if not graphs:
            return np.zeros((0, 0))
        options = {key: value for key, value in self._params() if key not in _NETWORKX}
        kernel = _import_grakel().GraphKernel(kernel={"name": self.method, **options})
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*random walk series diverge")
            warnings.filterwarnings("ignore", message="overriding existing")  # its own copies
            try:
                return np.asarray(kernel.fit_transform(graphs), dtype=np.float64)
            except RuntimeWarning as warning:
                raise ValueError(
                    f"{warning} GraKeL's choice would change with the graphs: "
                    'pass Graph("random_walk", params={"lamda": ...}) with a smaller number.'
                ) from None


def _parts(item: Any, number: int) -> tuple[Any, ...]:
    """The edges and labels of a graph, kept in case the iterable can be read only once."""
    if isinstance(item, Iterable) and not isinstance(item, str | bytes):
        parts = tuple(item)
        if 1 <= len(parts) <= 3:
            return parts
    raise TypeError(
        f"Row {number} is of type {type(item).__name__}: Graph compares GraKeL graphs, iterables "
        "(edges, node_labels[, edge_labels]), or networkx graphs after `import networkx`."
    )


def _import_grakel() -> Any:
    try:
        import grakel
    except ImportError as error:
        raise ImportError(
            f'Graph needs GraKeL, 0.1.11 or newer: pip install "depmax[graphs]" ({error}).'
        ) from error
    return grakel
