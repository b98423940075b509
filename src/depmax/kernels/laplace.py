"""The Laplace kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from depmax._parameters import Rule
from depmax.kernels.bandwidth import Bandwidth, BandwidthKernel
from depmax.kernels.kernel import Capabilities


@dataclass(eq=False, repr=False)
class Laplace(BandwidthKernel):
    """Laplace kernel, k(x, z) = exp(-||x - z|| / bandwidth), by default with the L1 norm.

    Parameters
    ----------
    bandwidth : float, {"median", "dimension", "maximize"} or sequence of float, default="median"
        As in :class:`Gaussian`; ``"dimension"`` is n_features for the L1 norm and √n_features for
        the L2 norm.
    norm : {1, 2}, default=1
        With the L1 norm the kernel is a product over features; the L2 norm is the other definition
        found in the literature.

    Examples
    --------
    >>> from depmax.kernels import Laplace
    >>> Laplace(bandwidth=2.0)([[0.0, 0.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    bandwidth: Bandwidth = "median"
    norm: int = 1

    _declared: ClassVar = {"norm": Rule(lambda value: value in (1, 2), "1 or 2")}
    _L2: ClassVar[Capabilities] = replace(BandwidthKernel._capabilities, telescopes=True)
    _L1: ClassVar[Capabilities] = replace(
        _L2, radial=False, sparse=False, factors_over_features=True, embeds_missing=True
    )

    @property
    def capabilities(self) -> Capabilities:
        """Only the L1 norm factors over features, only the L2 norm keeps sparse rows."""
        return self._L1 if self.norm == 1 else self._L2

    @property
    def norm_(self) -> int:  # type: ignore[override]  # a parameter here
        """Order of the norm."""
        return self.norm

    @property
    def decay(self) -> float:
        """The distance at which the kernel is 1/e."""
        return self._width()

    def of_squares(self, squares: np.ndarray) -> np.ndarray:
        """Kernel values from squared distances, for the L1 norm from distances, in place."""
        if self.norm == 2:
            np.sqrt(squares, out=squares)
        squares *= -1.0 / self._width()
        return np.exp(squares, out=squares)

    def spectral_sample(self, n_features: int, size: int, rng: np.random.Generator) -> np.ndarray:
        """Frequencies ω of shape (n_features, size) with E cos ωᵀ(x - z) = k(x, z).

        Independent Cauchy variables for the L1 norm; for the L2 norm the multivariate Cauchy
        distribution (Student's t with one degree of freedom), whose coordinates share one
        denominator.
        """
        if self.norm == 1:
            return rng.standard_cauchy((n_features, size)) / self._width()
        normal = rng.standard_normal((n_features, size))
        return normal / (np.abs(rng.standard_normal(size)) * self._width())
