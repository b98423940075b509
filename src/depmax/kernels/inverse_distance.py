"""Kernels that are inverse to the distance."""

from __future__ import annotations

import numpy as np

from depmax.kernels.bandwidth import BandwidthKernel


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

    def of_squares(self, squares: np.ndarray) -> np.ndarray:
        """Kernel values from squared distances, in place."""
        np.sqrt(squares, out=squares)
        squares += self._width()
        return np.reciprocal(squares, out=squares)


class InverseMultiquadric(BandwidthKernel):
    """Inverse multiquadric kernel, k(x, z) = 1 / √(||x - z||² + bandwidth²).

    Parameters
    ----------
    bandwidth : float, {"median", "dimension", "maximize"} or sequence of float, default="median"
        The constant c of the usual notation; policies as in :class:`Gaussian`.

    Examples
    --------
    >>> from depmax.kernels import InverseMultiquadric
    >>> InverseMultiquadric(bandwidth=3.0)([[0.0], [4.0]]).round(3)
    array([[0.333, 0.2  ],
           [0.2  , 0.333]])
    """

    def of_squares(self, squares: np.ndarray) -> np.ndarray:
        """Kernel values from squared distances, in place."""
        squares += self._width() ** 2
        np.sqrt(squares, out=squares)
        return np.reciprocal(squares, out=squares)
