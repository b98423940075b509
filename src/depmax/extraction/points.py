"""The samples of a side as points, for graphs and neighbours."""

from __future__ import annotations

from depmax.pencils.graphs import KernelPoints, Points, VectorPoints
from depmax.samples import Sample


def points_of(side: Sample) -> Points:
    """Points of the kernel's feature space: its features where it has them, else kernel values."""
    if side.n_coordinates is not None:
        return VectorPoints.of(side.coordinates(slice(None)))
    return KernelPoints(side.tile, side.diag())
