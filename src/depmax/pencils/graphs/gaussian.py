"""The graph of all pairs of samples, the closer the stronger."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from depmax._inputs.parameters import number
from depmax.pencils.graphs.graph import Graph, width
from depmax.pencils.graphs.laplacian import DrawnEdges, Weights
from depmax.pencils.graphs.points import Points
from depmax.samples import slices

#: Rows and columns of a tile.
TILE = 512
#: Up to so many samples the weights are kept; of more they are computed at every product.
STORED_ROWS = 4096


@dataclass(frozen=True)
class GaussianWeights:
    """exp(-d²/2σ²) between all pairs, in tiles."""

    points: Points
    bandwidth: float

    #: Every pair of samples has an edge.
    n_components = 1

    @cached_property
    def degrees(self) -> np.ndarray:
        """Sum of each node's weights."""
        return self.times(np.ones((self.points.n_samples, 1)))[:, 0]

    def times(self, values: np.ndarray) -> np.ndarray:
        """W times columns of values."""
        if self.points.n_samples <= STORED_ROWS:
            stored: np.ndarray = self.matrix() @ values
            return stored
        product = np.zeros(values.shape)
        for rows, columns, weights, _ in self._tiles():
            product[rows] += weights @ values[columns]
            if rows is not columns:
                product[columns] += weights.T @ values[rows]
        return product

    def energy(self, scales: np.ndarray) -> float:
        """½ Σ_ij s_i s_j W_ij d_ij²."""
        total = 0.0
        for rows, columns, weights, squares in self._tiles():
            share = float(scales[rows] @ (weights * squares) @ scales[columns])
            total += share / 2.0 if rows is columns else share
        return total

    def matrix(self) -> np.ndarray:
        """W, dense."""
        return self._matrix

    def draw(self, count: int, rng: np.random.RandomState) -> DrawnEdges:
        """Pairs drawn with equal probabilities."""
        m = self.points.n_samples
        first = rng.randint(m, size=count)
        second = (first + rng.randint(1, m, size=count)) % m
        squares = self.points.squares(first, second).diagonal()  # a batch is small
        weights = np.exp(squares / (-2.0 * self.bandwidth**2)) * (m * (m - 1) / 2.0)
        return DrawnEdges(first, second, weights)

    @cached_property
    def _matrix(self) -> np.ndarray:
        matrix = np.empty((self.points.n_samples,) * 2)
        for rows, columns, weights, _ in self._tiles():
            matrix[rows, columns] = weights
            matrix[columns, rows] = weights.T
        return matrix

    def _tiles(self) -> Iterator[tuple[slice, slice, np.ndarray, np.ndarray]]:
        """Weights and squared distances of the upper tiles."""
        parts = list(slices(self.points.n_samples, TILE))
        for place, rows in enumerate(parts):
            for columns in parts[place:]:
                squares = self.points.squares(rows, columns)
                weights = np.exp(squares / (-2.0 * self.bandwidth**2))
                if rows is columns:
                    np.fill_diagonal(weights, 0.0)
                yield rows, columns, weights, squares


class GaussianGraph(Graph):
    """All samples are connected, with weights exp(-d²/2σ²).

    Costs the number of samples squared, in time; up to 4,096 samples the weights are stored.

    Parameters
    ----------
    bandwidth : float or "median", default="median"
        σ, in units of the kernel's feature space.
    normalized : bool, default=False
        Whether the Laplacian is I - D^(-½) W D^(-½) rather than D - W.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.pencils.graphs import GaussianGraph, VectorPoints
    >>> laplacian = GaussianGraph(1.0).laplacian(VectorPoints.of([[0.0], [1.0]]))
    >>> laplacian.matrix().round(2)
    array([[ 0.61, -0.61],
           [-0.61,  0.61]])
    """

    _declared: ClassVar = {"bandwidth": number(0, ends="(]", also=["median"])}

    def __init__(
        self, bandwidth: float | Literal["median"] = "median", *, normalized: bool = False
    ) -> None:
        self.bandwidth = bandwidth
        self.normalized = normalized

    def weights(self, points: Points) -> Weights:
        """Weights of all pairs, in tiles."""
        return GaussianWeights(points, width(points, self.bandwidth))
