"""Where rows come from: arrays, memory maps and sparse matrices behind one small protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy import sparse

from depmax._inputs.table import (
    is_streamed,
    read_fit,
    read_new,
    refuse_unreadable,
    require_finite,
)


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


# --- batches of partial_fit, of which an estimator keeps only sums, in ``_batches`` --------------
def keeps_sums(estimator: Any) -> bool:
    """Refuse to continue after ``fit``, which does not keep the sums that batches are added to."""
    if hasattr(estimator, "n_features_in_") and not hasattr(estimator, "_batches"):
        raise AttributeError(
            f"{type(estimator).__name__} was fitted by fit, which keeps no sums to continue from: "
            "pass all batches to partial_fit of a clone."
        )
    return True


def read_batch(estimator: Any, X: Any) -> Any:
    """Rows of a batch as numbers; the first batch sets the estimator's attributes about columns."""
    name = type(estimator).__name__
    if is_streamed(X):
        raise TypeError(
            f"partial_fit of {name} takes batches in memory: fit reads a Dask collection or a "
            "scan a chunk at a time by itself."
        )
    if hasattr(estimator, "_batches") and estimator.__sklearn_is_fitted__():
        return read_new(estimator, X, categories={}, accept_sparse=True)
    known = getattr(estimator, "n_features_in_", None)
    rows, categories = read_fit(estimator, X, accept_sparse=True)
    if known is not None and known != rows.shape[1]:
        raise ValueError(f"X has {rows.shape[1]} features, but {name} expects {known}.")
    if categories:
        called = getattr(estimator, "feature_names_in_", range(estimator.n_features_in_))
        names = [str(called[column]) for column in categories]
        estimator.__dict__.pop("n_features_in_")
        raise TypeError(
            f"partial_fit of {name} takes numbers, but X has categorical columns "
            f"({', '.join(names)}): encode them, e.g. with sklearn.preprocessing.OneHotEncoder."
        )
    return rows
