"""The centred kernel matrix as an operator: made once, multiplied with blocks of columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from depmax._threads import blas_threads_for_parts, map_threads
from depmax.rows import slices

#: Rows and columns of a tile, small enough for the second-level cache.
TILE = 512

#: Kernel values of one slice of samples against another.
Tile = Callable[[slice, slice], np.ndarray]


class Gram:
    """HKH for the kernel matrix K of m samples.

    K is symmetric: only tiles on and above its diagonal are computed, in threads, and stored, as
    strips of rows. They are stored less a constant, which centring removes, so that in single
    precision the digits go to what differs between samples.

    Parameters
    ----------
    tile : callable
        Kernel values of two slices of samples, which may be overwritten.
    n_samples : int
    dtype : dtype
        Precision of storage and of products.
    likely : ndarray of shape (m, k), optional
        Values on the samples that directions of large variance are likely to have.

    Attributes
    ----------
    mean : ndarray of shape (m,)
        Mean of each column of K.
    """

    def __init__(
        self, tile: Tile, n_samples: int, dtype: Any, likely: np.ndarray | None = None
    ) -> None:
        self.n_samples = n_samples
        self.likely = np.empty((n_samples, 0)) if likely is None else likely
        self._dtype = np.dtype(dtype)
        parts = list(slices(n_samples, TILE))
        constant = self._dtype.type(tile(parts[0], parts[-1]).mean())
        # Rows of the slice against its own and all later columns
        self._strips = [
            (rows, np.empty((rows.stop - rows.start, n_samples - rows.start), dtype=self._dtype))
            for rows in parts
        ]

        def fill(place: tuple[int, int]) -> None:
            (rows, strip), columns = self._strips[place[0]], parts[place[1]]
            part = strip[:, columns.start - rows.start : columns.stop - rows.start]
            np.subtract(tile(rows, columns), constant, out=part, casting="same_kind")

        places = [(i, j) for i in range(len(parts)) for j in range(i, len(parts))]
        with blas_threads_for_parts() as threads:
            map_threads(fill, places, threads)
        sums = self._product(np.ones((n_samples, 1), dtype=self._dtype))[:, 0]
        self.mean = sums / n_samples + float(constant)

    @property
    def eps(self) -> float:
        """Relative rounding error of one value."""
        return float(np.finfo(self._dtype).eps)

    def times(self, columns: np.ndarray) -> np.ndarray:
        """HKH times columns of mean zero, of shape (m, k), in float64."""
        product = self._product(np.ascontiguousarray(columns, dtype=self._dtype))
        product -= product.mean(axis=0)
        return product

    def _product(self, columns: np.ndarray) -> np.ndarray:
        """The stored matrix times columns."""
        product = np.zeros(columns.shape)
        for rows, strip in self._strips:
            product[rows] += strip @ columns[rows.start :]
            beyond = strip[:, rows.stop - rows.start :]
            product[rows.stop :] += beyond.T @ columns[rows]
        return product
