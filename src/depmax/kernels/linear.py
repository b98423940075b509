"""The linear kernel."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from depmax.kernels.kernel import Capabilities, Kernel


class Linear(Kernel):
    """Linear kernel, k(x, z) = <x, z>.

    Examples
    --------
    >>> from depmax.kernels import Linear
    >>> Linear()([[1.0, 2.0], [0.0, 1.0]])
    array([[5., 2.],
           [2., 1.]])
    """

    _capabilities: ClassVar[Capabilities] = Capabilities(
        additive_over_features=True,
        embeds_missing=True,
        sparse=True,
        joins_categories="add",
        is_linear=True,
    )

    @property
    def has_features(self) -> bool:
        """The rows are their own coordinates."""
        return True

    def features(self, X: Any) -> Any:
        """The rows themselves."""
        return self._read(X)

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        return safe_sparse_dot(X, Z.T, dense_output=True)

    def _diag(self, X: Any) -> np.ndarray:
        return row_norms(X, squared=True)
