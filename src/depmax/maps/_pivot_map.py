"""Maps that are spanned by chosen training rows, in the coordinates of a Cholesky factor."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from depmax.maps._pivots import PartialFactor
from depmax.maps.base import FeatureMap


class PivotMap(FeatureMap):
    """Φ(x) = k(x, pivots) R⁻ᵀ with RRᵀ = K[pivots, pivots], the projection on their span."""

    def _keep(self, partial: PartialFactor) -> np.ndarray:
        """Remember the pivots; the features of the training rows are the factor G."""
        pivots = np.array(partial.pivots)
        self._reference = partial.sample.take(pivots).reference()
        self._triangle = partial.triangle.astype(np.float64)  # R, shape (r, r)
        self._n_features_out = partial.rank
        return np.asarray(partial.factor)

    def _map(self, rows: Any) -> np.ndarray:
        values = self._reference.against(rows).T  # k(pivots, x), shape (r, n_new)
        return linalg.solve_triangular(self._triangle, values, lower=True).T
