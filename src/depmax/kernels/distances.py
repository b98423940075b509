"""Kernels of distances: Gaussian, Laplace, inverse ones, and the one that distances induce."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.extmath import row_norms

from depmax._parameters import Rule, number
from depmax.kernels.bandwidth import Bandwidth, BandwidthKernel, squared_distances
from depmax.kernels.kernel import Capabilities, Kernel


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


@dataclass(eq=False, repr=False)
class Distance(Kernel):
    """Distance kernel, k(x, z) = (||x||^p + ||z||^p - ||x - z||^p) / 2 with p = ``exponent``.

    Four times the HSIC of two distance kernels is the squared distance covariance.

    Parameters
    ----------
    exponent : float, default=1.0
        Above 0 and at most 2; 2 gives the linear kernel.

    Examples
    --------
    >>> from depmax.kernels import Distance
    >>> Distance()([[1.0], [3.0], [-2.0]])
    array([[1., 1., 0.],
           [1., 3., 0.],
           [0., 0., 2.]])
    """

    exponent: float = 1.0

    _capabilities: ClassVar[Capabilities] = Capabilities(sparse=True)
    _declared: ClassVar = {
        "exponent": number(0, 2, ends="(]", hint="beyond 2 the kernel is not positive semidefinite")
    }

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        values = self._power(squared_distances(X, Z))
        values *= -0.5
        values += 0.5 * self._power(row_norms(X, squared=True))[:, np.newaxis]
        values += 0.5 * self._power(row_norms(Z, squared=True))[np.newaxis, :]
        return values

    def _diag(self, X: Any) -> np.ndarray:
        return self._power(row_norms(X, squared=True))

    def _power(self, squares: np.ndarray) -> np.ndarray:
        """||.||^p from ||.||²."""
        return squares ** (0.5 * self.exponent)
