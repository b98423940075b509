"""Tables in pieces: aligned chunks of X and y that can be read again, and the way to visit them.

A piece is a run of consecutive rows: a slice of an array, a row group of a file, a partition of a
Dask collection. Whoever visits passes a function of one piece whose results can be added, and gets
the sum over all pieces; where the pieces are read, in which order and by how many, changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from itertools import islice, pairwise
from operator import add
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from depmax._threads import blas_threads_for_parts, map_threads, slices
from depmax.data.table import is_frame

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

        ``columns`` are the names of those of X to read, where they have names, and ``only`` the
        numbers of the pieces to visit; None: all.
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
    read_matrices : callable, optional
        The same as ``read`` for sums, which need matrices and no names; ``partly`` says that the
        first rows of a piece may be enough.
    readers : int, optional
        Pieces of which memory holds all at a time; by default one per thread.
    """

    read: Callable[[int, Sequence[str] | None], Iterator[Chunk]]
    count: int
    empty: Chunk
    lengths: Sequence[int] | None = None
    read_matrices: Callable[..., Iterator[Chunk]] | None = None
    readers: int | None = None

    def total(
        self,
        work: Work,
        *,
        columns: Sequence[str] | None = None,
        only: frozenset[int] | None = None,
    ) -> Any:
        """Sum over the pieces, in a fixed number of runs in threads."""
        numbers = [number for number in range(self.count) if only is None or number in only]
        ends = [len(numbers) * run // RUNS for run in range(RUNS + 1)]
        runs = [numbers[start:end] for start, end in pairwise(ends) if start < end]

        read: Callable[..., Iterator[Chunk]] = self.read
        if self.read_matrices is not None:
            read = partial(self.read_matrices, partly=only is not None)

        def summed(run: list[int]) -> Any:
            return add_up(work(number, read(number, columns)) for number in run)

        readers = min(len(runs), self.readers or len(runs))
        with blas_threads_for_parts() if readers > 1 else nullcontext(1) as threads:
            return add_up(map_threads(summed, runs, min(threads, max(1, readers))))

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
        until = None if only is None else max(only, default=-1) + 1
        return add_up(
            work(number, iter((chunk,)))
            for number, chunk in enumerate(islice(self.make(), until))
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


def with_text_names(x: Any) -> Any:
    """A frame of pandas whose columns have text as names, by which chunks are cut; others as is."""
    if not hasattr(x, "set_axis") or all(isinstance(name, str) for name in x.columns):
        return x
    return x.set_axis(list(map(str, x.columns)), axis=1)


def split_target(frame: Any, target: str | Sequence[str] | None) -> Chunk:
    """A chunk of a table whose target is one of its columns, or some."""
    if target is None:
        return Chunk(frame)
    names = [target] if isinstance(target, str) else list(target)
    table = nw.from_native(frame, eager_only=True)
    unknown = [name for name in names if name not in table.columns]
    if unknown:
        raise ValueError(
            f"A chunk has no column named {unknown[0]!r}: its columns are "
            f"{', '.join(map(str, table.columns))}."
        )
    y = table.get_column(names[0]) if isinstance(target, str) else table.select(names)
    return Chunk(table.drop(names).to_native(), y.to_native())


# --- blocks ---------------------------------------------------------------------------------------
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
class Gathered:
    """Rows at some positions, all different."""

    positions: np.ndarray  # shape (n,)
    x: Any  # their inputs; None where only the target was asked for
    y: Any  # their target; None without one

    def __add__(self, other: Gathered) -> Gathered:
        both = (self, other)
        positions = np.concatenate([part.positions for part in both])
        x = y = None
        if self.x is not None and other.x is not None:
            xs = [part.x for part in both]
            x = sparse.vstack(xs, format="csr") if sparse.issparse(xs[0]) else np.concatenate(xs)
        if self.y is not None:
            y = np.concatenate([part.y for part in both])
        return Gathered(positions, x, y)

    def block(self, indices: np.ndarray, *, inputs: bool) -> Block:
        """Some of them, in the order that is asked for."""
        order = np.argsort(self.positions)
        rows = order[np.searchsorted(self.positions, indices, sorter=order)]
        return Block(self.x[rows] if inputs else None, None if self.y is None else self.y[rows], 0)


@dataclass(frozen=True)
class Gather:
    """Take the rows at some positions out of blocks."""

    indices: np.ndarray  # sorted
    ends: frozenset[int]  # the last of them in each piece

    def __call__(self, blocks: Iterator[Block]) -> Gathered | None:
        """Those of one piece; rows behind the last of them are not read."""
        found = None
        for block in blocks:
            more = self._of_block(block)
            found = add_up([found, more])
            if more is not None and int(more.positions[-1]) in self.ends:
                break
        return found

    def _of_block(self, block: Block) -> Gathered | None:
        first, last = np.searchsorted(self.indices, [block.start, block.start + block.n_rows])
        positions = self.indices[first:last]
        if not len(positions):
            return None
        rows = positions - block.start
        x = None if block.x is None else block.x[rows]
        return Gathered(positions, x, None if block.y is None else block.y[rows])


# --- chunks as matrices --------------------------------------------------------------------------
def numbers_of(frame: Any) -> np.ndarray | None:
    """The matrix of a frame without a look at every column, where its library can do that.

    A hundred columns of some thousand rows are copied in less time than it takes to ask each of
    them for its type.
    """
    table = frame.to_native()
    if frame.implementation.is_pyarrow():
        if not has_numbers(table.schema):
            return None
        values = np.empty((table.num_columns, table.num_rows))
        for position, column in enumerate(table.columns):
            whole = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
            values[position] = whole.to_numpy(zero_copy_only=False)
        return values.T
    if frame.implementation.is_pandas() and len({*table.dtypes}) == 1:
        values = table.to_numpy()  # a view where one array holds all columns
        return values if values.dtype.kind == "f" else None
    return None


def arrow_doubles(empty: Any) -> Any:
    """The schema of an Arrow table whose columns are all of float64; None of anything else."""
    if type(empty).__module__.split(".")[0] != "pyarrow" or not hasattr(empty, "to_batches"):
        return None
    types = {str(kind) for kind in empty.schema.types}
    return empty.schema if types == {"double"} else None


def column_major(table: Any) -> np.ndarray:
    """The matrix of an Arrow table of float64, copied column after column by Arrow itself."""
    import pyarrow as pa

    (batch,) = table.combine_chunks().to_batches()
    has_choice = int(pa.__version__.split(".")[0]) >= 17  # before, always column after column
    options = {"row_major": False} if has_choice else {}
    values: np.ndarray = batch.to_tensor(null_to_nan=True, **options).to_numpy()
    return values


@lru_cache(maxsize=16)
def has_numbers(schema: Any) -> bool:
    """Whether all columns of an Arrow table are numbers, not all of them of single precision."""
    frame = nw.from_native(schema.empty_table(), eager_only=True)
    types = set(frame.schema.values())
    return all(dtype.is_numeric() for dtype in types) and types != {nw.Float32()}
