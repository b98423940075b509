"""The subset kernel: all products of distinct features."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from depmax.kernels.kernel import Capabilities, Kernel


class Subset(Kernel):
    """All-subsets kernel, k(x, z) = ∏ⱼ (1 + xⱼ zⱼ): one monomial per subset of the features.

    Examples
    --------
    >>> from depmax.kernels import Subset
    >>> Subset()([[1.0, 2.0], [3.0, 0.0]])
    array([[10.,  4.],
           [ 4., 10.]])
    """

    _capabilities: ClassVar[Capabilities] = Capabilities(factors_over_features=True)

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        product = np.ones((X.shape[0], Z.shape[0]), dtype=np.result_type(X, Z))
        for x, z in zip(X.T, Z.T, strict=True):
            factor = np.multiply.outer(x, z)
            factor += 1.0
            product *= factor
        return product

    def _diag(self, X: Any) -> np.ndarray:
        return np.prod(1.0 + X**2, axis=1)
