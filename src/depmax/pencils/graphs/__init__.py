"""Graphs of neighbouring samples and their Laplacians."""

from depmax.pencils.graphs.gaussian import GaussianGraph
from depmax.pencils.graphs.given import GivenGraph
from depmax.pencils.graphs.graph import Graph, GraphLike, as_graph
from depmax.pencils.graphs.laplacian import Laplacian
from depmax.pencils.graphs.neighbors import NeighborGraph
from depmax.pencils.graphs.points import KernelPoints, Points, VectorPoints
from depmax.pencils.graphs.radius import RadiusGraph

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
