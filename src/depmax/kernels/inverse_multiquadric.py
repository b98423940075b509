"""The inverse multiquadric kernel."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from depmax.kernels.bandwidth import Bandwidth, BandwidthKernel, squared_distances
from depmax.kernels.base import Capabilities


class InverseMultiquadric(BandwidthKernel):
    """k(x, z) = 1 / √(||x - z||² + bandwidth²).

    Parameters
    ----------
    bandwidth : float or {"median", "dimension", "maximize"}, default="median"
        The constant c of the usual notation.

    Examples
    --------
    >>> from depmax.kernels import InverseMultiquadric
    >>> InverseMultiquadric(bandwidth=3.0)([[0.0], [4.0]]).round(3)
    array([[0.333, 0.2  ],
           [0.2  , 0.333]])
    """

    _capabilities: ClassVar[Capabilities] = Capabilities(stationary=True, sparse=True)

    def __init__(self, bandwidth: Bandwidth = "median") -> None:
        self.bandwidth = bandwidth

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        values = squared_distances(X, Z)
        values += self._width() ** 2
        np.sqrt(values, out=values)
        return np.reciprocal(values, out=values)

    def _diag(self, X: Any) -> np.ndarray:
        return np.full(X.shape[0], 1.0 / self._width(), dtype=X.dtype)
