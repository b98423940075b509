"""Graphs of neighbouring samples and their Laplacians."""

from depmax.algebra.graphs.graph import (
    GaussianGraph,
    GivenGraph,
    Graph,
    GraphLike,
    NeighborGraph,
    RadiusGraph,
    as_graph,
)
from depmax.algebra.graphs.laplacian import Laplacian
from depmax.algebra.graphs.points import KernelPoints, Points, VectorPoints

__all__ = [
    "GaussianGraph",
    "GivenGraph",
    "Graph",
    "GraphLike",
    "KernelPoints",
    "Laplacian",
    "NeighborGraph",
    "Points",
    "RadiusGraph",
    "VectorPoints",
    "as_graph",
]
