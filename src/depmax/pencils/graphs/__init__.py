"""Graphs of neighbouring samples and their Laplacians."""

from depmax.pencils.graphs.gaussian import GaussianGraph
from depmax.pencils.graphs.graph import Graph, as_graph
from depmax.pencils.graphs.laplacian import Laplacian
from depmax.pencils.graphs.neighbors import NeighborGraph
from depmax.pencils.graphs.points import KernelPoints, Points, VectorPoints
from depmax.pencils.graphs.radius import RadiusGraph

__all__ = [
    "GaussianGraph",
    "Graph",
    "KernelPoints",
    "Laplacian",
    "NeighborGraph",
    "Points",
    "RadiusGraph",
    "VectorPoints",
    "as_graph",
]
