"""The polynomial kernel."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from depmax.kernels.kernel import Capabilities, Kernel


class Polynomial(Kernel):
    """Polynomial kernel, k(x, z) = (<x, z> + offset)^degree.

    Parameters
    ----------
    degree : int, default=2
    offset : float, default=1.0
        At least zero; above zero, every monomial up to ``degree`` contributes.

    Examples
    --------
    >>> from depmax.kernels import Polynomial
    >>> Polynomial(degree=2, offset=1.0)([[1.0], [2.0]])
    array([[ 4.,  9.],
           [ 9., 25.]])
    """

    _capabilities: ClassVar[Capabilities] = Capabilities(sparse=True)

    def __init__(self, degree: int = 2, offset: float = 1.0) -> None:
        self.degree = degree
        self.offset = offset

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        return self._power(safe_sparse_dot(X, Z.T, dense_output=True))

    def _diag(self, X: Any) -> np.ndarray:
        return self._power(row_norms(X, squared=True))

    def _power(self, products: np.ndarray) -> np.ndarray:
        if int(self.degree) != self.degree or self.degree < 1:
            raise ValueError(f"degree of Polynomial must be a whole number >= 1, got {self.degree}")
        if not self.offset >= 0:
            raise ValueError(
                f"offset of Polynomial must be at least 0, got {self.offset}: "
                "below zero the kernel is not positive semidefinite."
            )
        products += self.offset
        return products ** int(self.degree)
