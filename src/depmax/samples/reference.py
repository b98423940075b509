"""Rows and the kernel on them: what a map is fitted to, and what it compares new rows with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from depmax.kernels import Precomputed
from depmax.kernels.base import Kernel

#: Rows up to which the kernel matrix is made as a whole: 2 MB, in the time of a few dozen calls.
SMALL = 512


@dataclass(frozen=True)
class Sample:
    """The m training rows and a resolved kernel."""

    kernel: Kernel
    rows: Any  # whatever the kernel reads; row numbers if the kernel matrix was given
    dtype: np.dtype  # precision of the rows, and of the map's output
    precomputed: bool = False

    @property
    def n_samples(self) -> int:
        """Number of rows m."""
        return int(self.rows.shape[0])

    @property
    def eps(self) -> float:
        """Relative rounding error of one kernel value."""
        return float(np.finfo(self.dtype).eps)

    def gram(self) -> np.ndarray:
        """The kernel matrix K of shape (m, m), in float64."""
        return _finite(self.kernel(self.rows)).astype(np.float64, copy=False)

    def columns(self, indices: np.ndarray) -> np.ndarray:
        """Columns K[:, indices] of shape (m, len(indices)), in the precision of the rows."""
        if self.is_small:
            return self._matrix[:, indices]
        values = self.kernel(self.rows, self.rows[indices])
        return _finite(values).astype(self.dtype, copy=False)

    def diag(self) -> np.ndarray:
        """k(x, x) of every row, of shape (m,), in float64."""
        return _finite(self.kernel.diag(self.rows)).astype(np.float64)

    @property
    def is_small(self) -> bool:
        """Whether all columns at once, by one matrix product, cost less than some in turn."""
        return self.n_samples <= SMALL and self.kernel.capabilities.radial

    @cached_property
    def _matrix(self) -> np.ndarray:
        return self.gram().astype(self.dtype, copy=False)

    def take(self, indices: np.ndarray) -> Sample:
        """The same kernel on some of the rows."""
        return Sample(self.kernel, self.rows[indices], self.dtype, self.precomputed)

    def reference(self) -> Reference:
        """These rows as what new rows are compared with."""
        return Reference(None if self.precomputed else self.kernel, self.rows)


@dataclass(frozen=True)
class Reference:
    """Rows that new rows are compared with."""

    kernel: Kernel | None  # None: new rows are kernel values with every training row
    rows: Any  # the reference rows, or without a kernel their positions among the training rows

    @property
    def n_rows(self) -> int:
        """Number of reference rows."""
        return int(self.rows.shape[0])

    def against(self, rows: Any) -> np.ndarray:
        """Kernel values of new rows with the reference rows, of shape (n_new, n_rows)."""
        if self.kernel is None:
            return rows[:, self.rows]
        return self.kernel(rows, self._as_precise_as(rows))

    def _as_precise_as(self, rows: Any) -> Any:
        """The reference rows, rounded if the new rows are: more digits would not be kept."""
        single = getattr(rows, "dtype", None) == np.float32
        return self.rows.astype(np.float32, copy=False) if single else self.rows


def sample_of_matrix(matrix: np.ndarray) -> Sample:
    """The training rows of a given kernel matrix, which must be square and symmetric."""
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            'With kernel="precomputed" X is the square kernel matrix of the training rows in fit, '
            f"and of new rows against these in transform; got shape {matrix.shape} in fit."
        )
    asymmetry = np.abs(matrix - matrix.T).max()
    if asymmetry > np.sqrt(np.finfo(matrix.dtype).eps) * np.abs(matrix).max():
        raise ValueError(
            'With kernel="precomputed" X must be symmetric, k(x_i, x_j) = k(x_j, x_i), but entries '
            f"differ by up to {asymmetry:.3g}. Pass (K + K.T) / 2 if the difference is noise."
        )
    numbers = np.arange(matrix.shape[0])
    return Sample(Precomputed(matrix), numbers, matrix.dtype, precomputed=True)


def _finite(values: np.ndarray) -> np.ndarray:
    if not np.isfinite(values).all():
        raise ValueError(
            "The kernel gives NaN or infinity on these rows: scale the columns of X, e.g. with "
            "sklearn.preprocessing.StandardScaler, or choose another kernel."
        )
    return values
