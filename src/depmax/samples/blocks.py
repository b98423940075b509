"""Blocks of rows: numbers, read off the chunks in which a table is stored, and checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from depmax._inputs.levels import encode_levels, is_nominal, refuse_gaps
from depmax._inputs.table import (
    Categories,
    is_frame,
    require_finite,
    require_numbers,
)
from depmax.samples.pieces import Chunk
from depmax.samples.survey import present_target


@dataclass(frozen=True)
class Block:
    """Some consecutive rows, read and checked."""

    x: Any  # array or CSR matrix of shape (n, d); None where only the target was asked for
    y: Any  # array of shape (n,) or (n, q); None without a target
    start: int  # position of the first row among those with a target

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int((self.y if self.x is None else self.x).shape[0])

    def part(self, rows: slice) -> Block:
        """Some of the rows."""
        x = None if self.x is None else self.x[rows]
        y = None if self.y is None else self.y[rows]
        return Block(x, y, self.start + rows.start)


@dataclass(frozen=True)
class Decoder:
    """From chunks as they are stored to blocks of numbers."""

    names: tuple[str, ...] | None
    n_columns: int
    categories: Categories
    dtype: np.dtype
    drop_unlabelled: bool = False

    def block(self, chunk: Chunk, start: int, *, inputs: bool) -> Block:
        """A chunk as numbers, without the rows that have no target."""
        y = None if chunk.y is None else present_target(chunk.y)
        x = self.matrix(chunk.x) if inputs else None
        if y is not None and y.missing is not None and self.drop_unlabelled:
            x = x if x is None else x[~y.missing]
        return Block(x, None if y is None else y.values, start)

    def matrix(self, x: Any) -> Any:
        """Inputs as an array of floats or a CSR matrix; categories as codes."""
        if is_frame(x):
            values = self._of_frame(nw.from_native(x, eager_only=True))
        elif sparse.issparse(x):
            values = x.tocsr()
        else:
            values = np.asarray(x)
            require_numbers(values, "X")
            values = values[:, np.newaxis] if values.ndim == 1 else values
        if values.shape[1] != self.n_columns:
            raise ValueError(
                f"A chunk of X has {values.shape[1]} columns, but others have {self.n_columns}."
            )
        if values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
        return require_finite(values, self.names, "X", is_part=True)

    def _of_frame(self, frame: Any) -> np.ndarray:
        if tuple(map(str, frame.columns)) != self.names:
            raise ValueError(
                f"A chunk of X has the columns {list(frame.columns)}, but others have "
                f"{list(self.names or ())}."
            )
        # column after column, as frames hold them
        values = np.empty((self.n_columns, len(frame)), self.dtype)
        for position, series in enumerate(frame.iter_columns()):
            nominal = is_nominal(series.dtype)
            if nominal != (position in self.categories):
                now, then = ("categorical", "numeric") if nominal else ("numeric", "categorical")
                raise TypeError(
                    f"Column {series.name!r} of X is {now} in one part of the table and {then} in "
                    "others: write it with one type everywhere."
                )
            if nominal:
                refuse_gaps(series, "X")
                values[position] = encode_levels(series, self.categories[position], "X")
            else:
                values[position] = series.to_numpy()
        return values.T
