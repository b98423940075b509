"""Graphs of neighbouring samples and their Laplacians."""

from depmax.pencils.graphs.given import GivenGraph
from depmax.pencils.graphs.graph import (
    GaussianGraph,
    Graph,
    GraphLike,
    NeighborGraph,
    RadiusGraph,
    as_graph,
)
from depmax.pencils.graphs.laplacian import Laplacian
from depmax.pencils.graphs.points import KernelPoints, Points, VectorPoints

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
