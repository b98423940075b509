"""What graphs share: who is whose neighbour, and the Laplacian that follows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from depmax._inputs.parameters import FLAG, check_parameters, number
from depmax.pencils.graphs.laplacian import EdgeWeights, Laplacian, Weights
from depmax.pencils.graphs.points import Pairs, Points, median_distance

#: Weights of edges: all equal, or by distance.
BANDWIDTH = number(0, ends="(]", also=["median", None])


class Graph(BaseEstimator):
    """A rule by which samples are neighbours: a subclass implements ``weights``.

    Distances are those of the kernel's feature space: Euclidean distances for the linear kernel.
    """

    normalized: bool
    _declared: ClassVar = {"normalized": FLAG}

    def laplacian(self, points: Points) -> Laplacian:
        """Laplacian of the graph of some points.

        Parameters
        ----------
        points : Points

        Warns
        -----
        UserWarning
            If the graph falls into several parts: values may then differ freely between them.
        """
        check_parameters(self)
        laplacian = Laplacian.of(self.weights(points), normalized=bool(self.normalized))
        count = laplacian.n_components
        if count > 1:
            warnings.warn(
                f"{self!r} falls into {count} parts that no edge connects: the graph says nothing "
                f"about how these relate. {self._remedy}",
                UserWarning,
                stacklevel=2,
            )
        return laplacian

    def weights(self, points: Points) -> Weights:
        """Weights of the edges between points."""
        raise NotImplementedError

    #: What makes more samples neighbours.
    _remedy = ""


#: A graph, its name, a function of the rows that returns weights, or (Any) a matrix of weights.
GraphLike = Literal["neighbors", "radius", "gaussian"] | Graph | Callable[[Any], Any] | Any


def edge_weights(points: Points, pairs: Pairs, bandwidth: Any) -> EdgeWeights:
    """Weights 1 of the pairs, or with a bandwidth exp(-d²/2σ²)."""
    values = np.ones(len(pairs.squares))
    if bandwidth is not None:
        values = np.exp(pairs.squares / (-2.0 * width(points, bandwidth) ** 2))
    return EdgeWeights(points.n_samples, pairs.first, pairs.second, values, pairs.squares)


def width(points: Points, bandwidth: Any) -> float:
    """A bandwidth as a number: itself, or the median distance of the points."""
    return median_distance(points) if isinstance(bandwidth, str) else float(bandwidth)


def as_graph(graph: Any) -> Graph:
    """Graph from its name, "neighbors", "radius" or "gaussian", from weights, or the graph itself.

    Weights are a matrix, dense or sparse, or a function of the rows that returns one.

    Examples
    --------
    >>> as_graph("neighbors")
    NeighborGraph()
    """
    from depmax.pencils.graphs import GaussianGraph, GivenGraph, NeighborGraph, RadiusGraph

    names = {"neighbors": NeighborGraph, "radius": RadiusGraph, "gaussian": GaussianGraph}
    if isinstance(graph, str) and graph in names:
        return names[graph]()
    if isinstance(graph, Graph):
        return graph
    given = sparse.issparse(graph) or hasattr(graph, "__array__") or callable(graph)
    if given and not isinstance(graph, type):
        return GivenGraph(graph)
    raise ValueError(
        f"graph must be 'neighbors', 'radius', 'gaussian', a graph such as "
        f"NeighborGraph(n_neighbors=10), a matrix of weights or a function of the rows that "
        f"returns one, got {graph!r}."
    )
