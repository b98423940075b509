"""The inverse distance kernel."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from depmax.kernels.bandwidth import Bandwidth, BandwidthKernel
from depmax.kernels.kernel import Capabilities


class InverseDistance(BandwidthKernel):
    """Inverse distance kernel, k(x, z) = 1 / (||x - z|| + bandwidth).

    Parameters
    ----------
    bandwidth : float, {"median", "dimension", "maximize"} or sequence of float, default="median"
        The positive constant that keeps the diagonal finite; policies as in :class:`Gaussian`.

    Examples
    --------
    >>> from depmax.kernels import InverseDistance
    >>> InverseDistance(bandwidth=1.0)([[0.0], [3.0]])
    array([[1.  , 0.25],
           [0.25, 1.  ]])
    """

    _capabilities: ClassVar[Capabilities] = Capabilities(
        stationary=True,
        radial=True,
        sparse=True,
        joins_categories="distance",
    )

    def __init__(self, bandwidth: Bandwidth = "median") -> None:
        self.bandwidth = bandwidth

    def of_squares(self, squares: np.ndarray) -> np.ndarray:
        """Kernel values from squared distances, in place."""
        np.sqrt(squares, out=squares)
        squares += self._width()
        return np.reciprocal(squares, out=squares)

    def _diag(self, X: Any) -> np.ndarray:
        return np.full(X.shape[0], 1.0 / self._width(), dtype=X.dtype)
