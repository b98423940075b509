"""Where rows come from: arrays, memory maps and sparse matrices behind one small protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy import sparse

from depmax._inputs.table import refuse_unreadable, require_finite


@runtime_checkable
class RowSource(Protocol):
    """Rows that can be read in any order, a block at a time."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""

    def block(self, rows: slice) -> Any:
        """The rows of a slice, as an array or a CSR matrix in memory."""

    def take(self, indices: np.ndarray) -> Any:
        """The rows with these indices."""


@dataclass(frozen=True)
class ArrayRows:
    """Rows of an array, which may be a memory map: a block is copied only when it is used."""

    values: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.values.shape[0], self.values.shape[1]

    def block(self, rows: slice) -> np.ndarray:
        """A view of the rows of a slice."""
        return self.values[rows]

    def take(self, indices: np.ndarray) -> np.ndarray:
        """A copy of the rows with these indices."""
        return self.values[indices]


@dataclass(frozen=True)
class SparseRows:
    """Rows of a compressed sparse row matrix."""

    values: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.values.shape[0], self.values.shape[1]

    def block(self, rows: slice) -> Any:
        """The rows of a slice, still sparse."""
        return self.values[rows]

    def take(self, indices: np.ndarray) -> Any:
        """The rows with these indices, still sparse."""
        return self.values[indices]


@dataclass(frozen=True)
class SourceRows:
    """Rows of a source, read and checked when they are sliced, like those of an array."""

    source: RowSource

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.source.shape

    @property
    def dtype(self) -> np.dtype:
        """Precision of the rows."""
        return np.dtype(self.source.block(slice(0, 1)).dtype)

    def __getitem__(self, rows: slice | np.ndarray) -> Any:
        values = self.source.block(rows) if isinstance(rows, slice) else self.source.take(rows)
        return require_finite(values, None, "X", is_part=True)


def as_rows(X: Any) -> RowSource:
    """Row source of an array, a memory map, a sparse matrix, or of something that is one already.

    Examples
    --------
    >>> as_rows(np.zeros((3, 2))).shape
    (3, 2)
    """
    refuse_unreadable(X, "X")
    if sparse.issparse(X):
        return SparseRows(X.tocsr())
    if isinstance(X, RowSource):
        return X
    X = X if isinstance(X, np.ndarray) else np.asarray(X)
    return ArrayRows(X if X.ndim == 2 else X.reshape(len(X), -1))
