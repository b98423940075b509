"""The distance-induced kernel, which turns HSIC into distance covariance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.extmath import row_norms

from depmax._parameters import number
from depmax.kernels.bandwidth import squared_distances
from depmax.kernels.kernel import Capabilities, Kernel


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
