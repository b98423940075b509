"""The graph of samples that are close."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from depmax._inputs.parameters import number
from depmax.pencils.graphs.graph import BANDWIDTH, Graph, edge_weights
from depmax.pencils.graphs.laplacian import Weights
from depmax.pencils.graphs.points import Points


class RadiusGraph(Graph):
    """Samples are connected if they are no farther apart than a radius.

    Parameters
    ----------
    radius : float or None, default=None
        In units of the kernel's feature space. None takes the smallest radius at which every
        sample has a neighbour.
    bandwidth : float, "median" or None, default=None
        Weights exp(-d²/2σ²) of the edges; None gives all the weight 1.
    normalized : bool, default=False
        Whether the Laplacian is I - D^(-½) W D^(-½) rather than D - W.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.pencils.graphs import RadiusGraph, VectorPoints
    >>> points = VectorPoints.of([[0.0], [1.0], [2.5]])
    >>> RadiusGraph(1.5).laplacian(points).degrees
    array([1., 2., 1.])
    """

    _declared: ClassVar = {"radius": number(0, ends="(]", also=[None]), "bandwidth": BANDWIDTH}
    _remedy = "Raise radius to connect them."

    def __init__(
        self,
        radius: float | None = None,
        *,
        bandwidth: float | Literal["median"] | None = None,
        normalized: bool = False,
    ) -> None:
        self.radius = radius
        self.bandwidth = bandwidth
        self.normalized = normalized

    def weights(self, points: Points) -> Weights:
        """Weights of the edges, sparse."""
        if self.radius is None:
            if points.n_samples < 2:
                raise ValueError("RadiusGraph needs at least two rows, got n_samples = 1.")
            radius = float(np.sqrt(points.nearest(1)[1].max()))
            radius *= 1.0 + 1e-6  # so that rounding does not part the two farthest neighbours
        else:
            radius = float(self.radius)
        return edge_weights(points, points.within(radius), self.bandwidth)
