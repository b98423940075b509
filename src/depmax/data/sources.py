"""Where rows come from: arrays, memory maps, sparse matrices, row groups of Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy import sparse

from depmax._files import DamagedFileError, validated
from depmax.data.table import (
    is_streamed,
    read_fit,
    read_new,
    refuse_unreadable,
    require_finite,
)

#: Bytes of each column that are read from a Parquet file at a time.
PAGE_BYTES = 2**16


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


@dataclass(frozen=True)
class RowGroup:
    """A row group of a Parquet file, read forward."""

    path: Path
    metadata: Any  # of the file
    number: int
    n_rows: int

    def batches(self, names: Sequence[str], size: int, *, threads: bool = False) -> Iterator[Any]:
        """Record batches of so many rows and these columns; no more is decoded at a time.

        Arrow holds a dictionary and a page of every column meanwhile.
        """
        columns = list(names)
        with self._opened() as rows:
            for batch in rows.iter_batches(size, [self.number], columns, use_threads=threads):
                yield batch.select(columns)  # in this order

    def matrices(self, names: Sequence[str], size: int, *, partly: bool) -> Iterator[np.ndarray]:
        """Matrices of so many rows, from columns of numbers each of which is decoded as a whole.

        With ``partly`` the first rows come before anything else is decoded, for whoever needs no
        others.
        """
        if partly:
            yield self._first(names, size)
            if self.n_rows <= size:
                return
        n_full = self.n_rows // size
        full = np.empty((n_full, len(names), size))  # every matrix column after column
        rest = np.empty((len(names), self.n_rows - n_full * size))
        with self._opened() as rows:
            for place, name in enumerate(names):
                column = self._checked(rows.read_row_group(self.number, [name], use_threads=False))
                values = column.column(name).to_numpy()
                full[:, place] = values[: n_full * size].reshape(n_full, size)
                rest[place] = values[n_full * size :]
        for values in [*full, rest][1 if partly else 0 :]:
            if values.size:
                yield values.T

    def _first(self, names: Sequence[str], size: int) -> np.ndarray:
        """The first rows."""
        values = np.empty((len(names), min(size, self.n_rows)))
        with self._opened() as rows:
            for place, name in enumerate(names):
                options = {"columns": [name], "use_threads": False}
                batch = next(rows.iter_batches(size, [self.number], **options))
                column = self._checked(batch, values.shape[1]).column(name)
                values[place] = column.to_numpy(zero_copy_only=False)
        return values.T

    def _checked(self, table: Any, n_rows: int | None = None) -> Any:
        """A table or a batch whose buffers are sound, with the rows that it should have."""
        if table.num_rows != (self.n_rows if n_rows is None else n_rows):
            raise DamagedFileError(f"{self.path} is damaged: its columns differ in length.")
        return validated(table, self.path)

    def _opened(self) -> Any:
        import pyarrow.parquet as pq

        return pq.ParquetFile(
            self.path, metadata=self.metadata, buffer_size=PAGE_BYTES, pre_buffer=False
        )


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
