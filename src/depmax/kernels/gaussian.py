"""The Gaussian kernel."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from depmax.kernels.bandwidth import BandwidthKernel
from depmax.kernels.kernel import Capabilities


class Gaussian(BandwidthKernel):
    """Gaussian (RBF) kernel, k(x, z) = exp(-||x - z||² / (2 bandwidth²)).

    Parameters
    ----------
    bandwidth : float, {"median", "dimension", "maximize"} or sequence of float, default="median"
        ``"median"``: the median distance between rows; ``"dimension"``: √n_features, so k =
        exp(-||x - z||² / 2d), for standardised data; ``"maximize"``: the multiple of the median,
        from 1/256 to 256, with the largest unbiased HSIC with the target; a sequence: that of its
        numbers with the largest unbiased HSIC. A warning says if it is the first or the last.

    Examples
    --------
    >>> from depmax.kernels import Gaussian
    >>> Gaussian(bandwidth=1.0)([[0.0], [1.0]]).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])

    The best of some bandwidths for a target:

    >>> import numpy as np
    >>> from depmax import resolve
    >>> x = np.random.default_rng(0).uniform(size=200)
    >>> resolve(Gaussian(bandwidth=[0.01, 0.03, 0.1, 0.3]), x, np.sin(30 * x))
    Gaussian(bandwidth=0.03)
    """

    _capabilities: ClassVar[Capabilities] = replace(
        BandwidthKernel._capabilities, factors_over_features=True, embeds_missing=True
    )

    @property
    def decay(self) -> float:
        """The squared distance at which the kernel is 1/e."""
        return 2.0 * self._width() ** 2

    def of_squares(self, squares: np.ndarray) -> np.ndarray:
        """Kernel values from squared distances, in place."""
        squares *= -0.5 / self._width() ** 2
        return np.exp(squares, out=squares)

    def spectral_sample(self, n_features: int, size: int, rng: np.random.Generator) -> np.ndarray:
        """Frequencies ω of shape (n_features, size) with E cos ωᵀ(x - z) = k(x, z): normal."""
        return rng.standard_normal((n_features, size)) / self._width()
