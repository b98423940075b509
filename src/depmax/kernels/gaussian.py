"""The Gaussian kernel."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from depmax.kernels.bandwidth import Bandwidth, BandwidthKernel
from depmax.kernels.kernel import Capabilities


class Gaussian(BandwidthKernel):
    """Gaussian (RBF) kernel, k(x, z) = exp(-||x - z||² / (2 bandwidth²)).

    Parameters
    ----------
    bandwidth : float or {"median", "dimension", "maximize"}, default="median"
        ``"median"``: the median distance between rows; ``"dimension"``: √n_features, so k =
        exp(-||x - z||² / 2d), for standardised data; ``"maximize"``: the multiple of the median
        with the largest unbiased HSIC.

    Examples
    --------
    >>> from depmax.kernels import Gaussian
    >>> Gaussian(bandwidth=1.0)([[0.0], [1.0]]).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """

    _capabilities: ClassVar[Capabilities] = Capabilities(
        stationary=True,
        radial=True,
        factors_over_features=True,
        embeds_missing=True,
        sparse=True,
        joins_categories="distance",
    )

    def __init__(self, bandwidth: Bandwidth = "median") -> None:
        self.bandwidth = bandwidth

    @property
    def decay(self) -> float:
        """The squared distance at which the kernel is 1/e."""
        return 2.0 * self._width() ** 2

    def of_squares(self, squares: np.ndarray) -> np.ndarray:
        """Kernel values from squared distances, in place."""
        squares *= -0.5 / self._width() ** 2
        return np.exp(squares, out=squares)

    def _diag(self, X: Any) -> np.ndarray:
        return np.ones(X.shape[0], dtype=X.dtype)

    def spectral_sample(self, n_features: int, size: int, rng: np.random.Generator) -> np.ndarray:
        """Frequencies ω of shape (n_features, size) with E cos ωᵀ(x - z) = k(x, z): normal."""
        return rng.standard_normal((n_features, size)) / self._width()
