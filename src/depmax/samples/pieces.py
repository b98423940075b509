"""Tables in pieces: aligned chunks of X and y that can be read again, and the way to visit them.

A piece is a run of consecutive rows: a slice of an array, a row group of a file, a partition of a
Dask collection. Whoever visits passes a function of one piece whose results can be added, and gets
the sum over all pieces; where the pieces are read, in which order and by how many, changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from depmax._inputs.table import is_frame
from depmax._threads import blas_threads_for_parts, map_threads, slices

#: Bytes of a piece of an array, and of a batch of a file.
PIECE_BYTES = 4 * 2**20
#: Local pieces are summed in so many runs, whatever the number of threads, so that these change no
#: digit of the result.
RUNS = 8


@dataclass(frozen=True)
class Chunk:
    """Some consecutive rows as they are stored: inputs, and the target of the same rows."""

    x: Any  # array, CSR matrix or eager data frame; None if no column was asked for
    y: Any = None  # array, series or eager data frame; None without a target

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return n_rows(self.y if self.x is None else self.x)

    def part(self, rows: slice) -> Chunk:
        """Some of the rows."""
        x = None if self.x is None else take_slice(self.x, rows)
        return Chunk(x, None if self.y is None else take_slice(self.y, rows))

    def parts(self) -> Iterator[Chunk]:
        """Consecutive rows that fit in the caches of a processor."""
        shape = tuple(getattr(self.x, "shape", ()))
        size = rows_of_piece(shape[1]) if len(shape) == 2 else self.n_rows
        if self.n_rows <= size:
            yield self
            return
        for rows in slices(self.n_rows, size):
            yield self.part(rows)


def rows_of_piece(n_columns: int) -> int:
    """Rows that are decoded at a time."""
    return max(256, PIECE_BYTES // (8 * max(1, n_columns)))


#: What a visit does with a piece, given its number and its chunks: something that can be added to
#: what it does with the others, or None.
Work = Callable[[int, Iterator[Chunk]], Any]


class Pieces(Protocol):
    """A table in pieces, each of which can be read any number of times."""

    @property
    def empty(self) -> Chunk:
        """No rows: the names and types of the columns."""

    @property
    def lengths(self) -> Sequence[int] | None:
        """Rows of each piece; None where only reading tells."""

    def total(
        self,
        work: Work,
        *,
        columns: Sequence[str] | None = None,
        only: frozenset[int] | None = None,
    ) -> Any:
        """Sum of what ``work`` makes of every piece; None if it makes nothing of any.

        Parameters
        ----------
        work : callable
        columns : names of the columns of X to read, where they have names; None: all
        only : numbers of the pieces to visit; None: all
        """

    def chunks(self) -> Iterator[Chunk]:
        """All chunks in order, one at a time."""

    def mapped(self, change: Callable[[Chunk], Chunk]) -> Pieces:
        """The same pieces with every chunk changed as it is read."""


@dataclass(frozen=True)
class LocalPieces:
    """Pieces that this process reads, several at a time if threads are allowed.

    Parameters
    ----------
    read : callable
        Chunks of a piece, given its number and the names of the columns of X.
    count : int
        Number of pieces.
    empty : Chunk
    lengths : sequence of int or None
    """

    read: Callable[[int, Sequence[str] | None], Iterator[Chunk]]
    count: int
    empty: Chunk
    lengths: Sequence[int] | None = None
    concurrent: bool = True

    def total(
        self,
        work: Work,
        *,
        columns: Sequence[str] | None = None,
        only: frozenset[int] | None = None,
    ) -> Any:
        """Sum over the pieces, in a fixed number of runs in threads."""
        numbers = [number for number in range(self.count) if only is None or number in only]
        runs = [numbers[part] for part in slices(len(numbers), max(1, -(-len(numbers) // RUNS)))]

        def summed(run: list[int]) -> Any:
            return add_up(work(number, self.read(number, columns)) for number in run)

        many = self.concurrent and len(runs) > 1
        with blas_threads_for_parts() if many else nullcontext(1) as threads:
            return add_up(map_threads(summed, runs, threads))

    def chunks(self) -> Iterator[Chunk]:
        """All chunks in order."""
        for number in range(self.count):
            yield from self.read(number, None)

    def mapped(self, change: Callable[[Chunk], Chunk]) -> LocalPieces:
        """The same pieces, changed as they are read."""

        def read(number: int, columns: Sequence[str] | None) -> Iterator[Chunk]:
            return map(change, self.read(number, None))

        return LocalPieces(read, self.count, changed_empty(self, change), self.lengths)


@dataclass(frozen=True)
class IteratedPieces:
    """Pieces from an iterator that can be made again, one after another."""

    make: Callable[[], Iterable[Chunk]]
    empty: Chunk
    lengths: Sequence[int] | None = None

    def total(
        self,
        work: Work,
        *,
        columns: Sequence[str] | None = None,
        only: frozenset[int] | None = None,
    ) -> Any:
        """Sum over the pieces in their order."""
        return add_up(
            work(number, iter((chunk,)))
            for number, chunk in enumerate(self.make())
            if only is None or number in only
        )

    def chunks(self) -> Iterator[Chunk]:
        """All chunks in order."""
        yield from self.make()

    def mapped(self, change: Callable[[Chunk], Chunk]) -> IteratedPieces:
        """The same pieces, changed as they are read."""
        return IteratedPieces(lambda: map(change, self.make()), changed_empty(self, change))


def add_up(results: Iterable[Any]) -> Any:
    """Sum of results of which some may be None; None if all are."""
    present = (result for result in results if result is not None)
    first = next(present, None)
    return None if first is None else reduce(add, present, first)


def pieces_of_memory(x: Any, y: Any = None, rows_per_piece: int | None = None) -> LocalPieces:
    """Pieces of rows in memory or in a memory map."""
    count = n_rows(x)
    width = int(x.shape[1])
    size = rows_per_piece or rows_of_piece(width)
    parts = list(slices(count, size))

    def read(number: int, columns: Sequence[str] | None) -> Iterator[Chunk]:
        rows = parts[number]
        chunk = Chunk(x, y).part(rows)
        yield Chunk(_columns(chunk.x, columns), chunk.y)

    empty = Chunk(x, y).part(slice(0, 0))
    lengths = [part.stop - part.start for part in parts]
    return LocalPieces(read, len(parts), empty, lengths)


def changed_empty(pieces: Pieces, change: Callable[[Chunk], Chunk]) -> Chunk:
    """No rows after a change, which may refuse to change none: the first row is changed."""
    for chunk in pieces.chunks():
        if chunk.n_rows:
            return change(chunk.part(slice(0, 1))).part(slice(0, 0))
    return pieces.empty


def n_rows(rows: Any) -> int:
    """Number of rows of an array, a matrix, a series or a frame."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def take_slice(rows: Any, part: slice) -> Any:
    """Some consecutive rows of an array, a matrix, a series or a frame of any library."""
    if isinstance(rows, np.ndarray) or sparse.issparse(rows):
        return rows[part]
    if hasattr(rows, "block"):  # a source of the user's own
        return rows.block(part)
    native = nw.from_native(rows, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(native, nw.DataFrame | nw.Series):
        return native[part].to_native()
    return rows[part]


def _columns(x: Any, columns: Sequence[str] | None) -> Any:
    """Some columns of a frame; anything else as it is, and None if none is asked for."""
    if columns is None:
        return x
    if len(columns) == 0:
        return None
    return (
        nw.from_native(x, eager_only=True).select(list(columns)).to_native() if is_frame(x) else x
    )


def split_target(frame: Any, target: str | Sequence[str] | None) -> Chunk:
    """A chunk of a table whose target is one of its columns, or some."""
    if target is None:
        return Chunk(frame)
    names = [target] if isinstance(target, str) else list(target)
    table = nw.from_native(frame, eager_only=True)
    y = table.get_column(names[0]) if isinstance(target, str) else table.select(names)
    return Chunk(table.drop(names).to_native(), y.to_native())
