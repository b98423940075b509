"""The graph of nearest neighbours."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from depmax._inputs.parameters import FLAG, integer
from depmax.pencils.graphs.graph import BANDWIDTH, Graph, edge_weights
from depmax.pencils.graphs.laplacian import Weights
from depmax.pencils.graphs.points import Pairs, Points


class NeighborGraph(Graph):
    """Each sample is connected to its nearest others.

    Parameters
    ----------
    n_neighbors : int, default=5
    mutual : bool, default=False
        Whether two samples are connected only if each is among the nearest of the other; otherwise
        one of the two is enough.
    bandwidth : float, "median" or None, default=None
        Weights exp(-d²/2σ²) of the edges; None gives all the weight 1.
    normalized : bool, default=False
        Whether the Laplacian is I - D^(-½) W D^(-½) rather than D - W.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import HBFE, NeighborGraph
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> y = np.where(np.arange(60) < 20, X[:, 0] > 0, np.nan)
    >>> HBFE(1, beta=0.2, graph=NeighborGraph(8)).fit(X, y).n_unlabeled_
    40
    """

    _declared: ClassVar = {"n_neighbors": integer(1), "mutual": FLAG, "bandwidth": BANDWIDTH}
    _remedy = "Raise n_neighbors to connect them."

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        mutual: bool = False,
        bandwidth: float | Literal["median"] | None = None,
        normalized: bool = False,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.mutual = mutual
        self.bandwidth = bandwidth
        self.normalized = normalized

    def weights(self, points: Points) -> Weights:
        """Weights of the edges, sparse."""
        count = int(self.n_neighbors)
        if count >= points.n_samples:
            raise ValueError(
                f"n_neighbors={count} of NeighborGraph needs more than {count} rows, got "
                f"n_samples = {points.n_samples}: lower n_neighbors."
            )
        numbers, squares = points.nearest(count)
        rows = np.repeat(np.arange(points.n_samples), count)
        pairs = Pairs.of(rows, numbers.ravel(), squares.ravel(), mutual=bool(self.mutual))
        return edge_weights(points, pairs, self.bandwidth)
