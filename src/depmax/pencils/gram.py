"""The centred kernel matrix as an operator: made once, multiplied with blocks of columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from depmax.rows import slices

#: Rows and columns of a tile, small enough for the second-level cache.
TILE = 512

#: Kernel values of one slice of samples against another.
Tile = Callable[[slice, slice], np.ndarray]


class Gram:
    """HKH for the kernel matrix K of m samples.

    K is symmetric, so that half of its tiles are computed. It is stored less a constant, which
    centring removes, so that in single precision the digits go to what differs between samples.

    Parameters
    ----------
    tile : callable
        Kernel values of two slices of samples.
    n_samples : int
    dtype : dtype
        Precision of storage and of products.

    Attributes
    ----------
    mean : ndarray of shape (m,)
        Mean of each column of K.
    """

    def __init__(self, tile: Tile, n_samples: int, dtype: Any) -> None:
        self.n_samples = n_samples
        self._values = np.empty((n_samples, n_samples), dtype=dtype)
        parts = list(slices(n_samples, TILE))
        constant = float(tile(parts[0], parts[-1]).mean())
        sums = np.zeros(n_samples)
        for position, rows in enumerate(parts):
            for columns in parts[position:]:
                values = tile(rows, columns)
                values -= values.dtype.type(constant)
                self._values[rows, columns] = values
                sums[rows] += values.sum(axis=1)
                if columns is not rows:
                    self._values[columns, rows] = values.T
                    sums[columns] += values.sum(axis=0)
        self.mean = sums / n_samples + constant

    @property
    def eps(self) -> float:
        """Relative rounding error of one value."""
        return float(np.finfo(self._values.dtype).eps)

    def times(self, columns: np.ndarray) -> np.ndarray:
        """HKH times columns of mean zero, of shape (m, k), in float64."""
        product = (self._values @ columns.astype(self._values.dtype)).astype(np.float64)
        product -= product.mean(axis=0)
        return product
