"""Tables that are read a chunk at a time: rows of X and y that can be read again, and visits.

A piece is a run of consecutive rows: a slice of an array, a row group of a file, a partition of a
Dask collection. Whoever visits passes a function of one piece whose results can be added, and gets
the sum over all pieces; where the pieces are read, in which order and by how many, changes nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import islice, pairwise
from operator import add
from typing import Any, ClassVar, Literal

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from depmax._resources import blas_threads_for_parts, map_threads, slices
from depmax.data.columns import is_frame

#: Bytes of a piece of an array, and of a batch of a file.
PIECE_BYTES = 4 * 2**20
#: Local pieces are summed in so many runs, whatever the number of threads, so that these change no
#: digit of the result.
RUNS = 8


@dataclass(frozen=True)
class Chunk:
    """Some consecutive rows: inputs, and the target of the same rows, as they are stored or read.

    As stored they are arrays, CSR matrices, series and frames of any library; as read, numbers,
    and labels of the rows that have one.
    """

    x: Any  # None where only the target was asked for
    y: Any = None  # None without a target
    start: int = 0  # position of the first row among those with a target

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return n_rows(self.y if self.x is None else self.x)

    def part(self, rows: slice) -> Chunk:
        """Some of the rows."""
        x = None if self.x is None else _part(self.x, rows)
        y = None if self.y is None else _part(self.y, rows)
        return Chunk(x, y, self.start + rows.start)

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


def n_rows(rows: Any) -> int:
    """Number of rows of an array, a matrix, a series or a frame."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def _part(rows: Any, part: slice) -> Any:
    """Some consecutive rows of an array, a matrix, a series or a frame of any library."""
    if isinstance(rows, np.ndarray) or sparse.issparse(rows):
        return rows[part]
    native = nw.from_native(rows, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(native, nw.DataFrame | nw.Series):
        return native[part].to_native()
    return rows[part]


def with_text_names(x: Any) -> Any:
    """A frame of pandas whose columns have text as names, by which chunks are cut; others as is."""
    if not hasattr(x, "set_axis") or all(isinstance(name, str) for name in x.columns):
        return x
    return x.set_axis(list(map(str, x.columns)), axis=1)


def require_columns(names: Iterable[str], known: Iterable[Any], owner: str) -> None:
    """Refuse the name of a column that the owner does not have."""
    columns = list(map(str, known))
    for name in names:
        if name not in columns:
            raise ValueError(
                f"{owner} has no column named {name!r}: its columns are {', '.join(columns)}."
            )


def split_target(frame: Any, targets: Sequence[str]) -> Chunk:
    """A chunk of a table whose target is one of its columns, or some; none without names."""
    if not targets:
        return Chunk(frame)
    table = nw.from_native(frame, eager_only=True)
    require_columns(targets, table.columns, "A chunk")
    y = table.get_column(targets[0]) if len(targets) == 1 else table.select(targets)
    return Chunk(table.drop(targets).to_native(), y.to_native())


def add_up(results: Iterable[Any]) -> Any:
    """Sum of results of which some may be None; None if all are."""
    present = (result for result in results if result is not None)
    first = next(present, None)
    return None if first is None else reduce(add, present, first)


def stacked(parts: Sequence[Any]) -> Any:
    """Rows of arrays, sparse matrices or frames, one after another."""
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    if is_frame(parts[0]):
        return nw.concat([nw.from_native(part, eager_only=True) for part in parts]).to_native()
    return np.concatenate(parts)


#: Names of columns of X, where they have names, and numbers of pieces; None: all.
Names = Sequence[str] | None
Pieces = frozenset[int] | None
#: What a visit does with a piece, given its number and its chunks: something that can be added to
#: what it does with the others, or None.
Work = Callable[[int, Iterator[Chunk]], Any]


class RowsInChunks:
    """Rows of X or of y of a table in chunks that was visited once; see ``StreamRows``."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Scan(ABC):
    """A table that is read a piece at a time, as often as a method needs.

    Made by :func:`depmax.scan`; passed as ``X`` to every estimator and measure that streams.
    """

    #: No rows: the names and types of the columns.
    empty: Chunk
    #: Rows of each piece; None where only reading tells.
    lengths: Sequence[int] | None = None
    #: What is done with every chunk as it is read, one after another.
    changes: tuple[Callable[[Chunk], Chunk], ...] = ()
    #: Why rows may be others when they are read again, and what to do; None: they cannot be, or
    #: the reader notices it itself.
    unsteady: ClassVar[str | None] = None

    def __repr__(self) -> str:
        x = self.empty.x
        width = 1 if getattr(x, "ndim", 2) == 1 else int(x.shape[1])
        known = self.lengths is not None
        rows = f"{sum(self.lengths or ()):,} rows" if known else "an unknown number of rows"
        target = " and a target" if self.has_target else ""
        return f"<Scan of {rows}, {width:,} {'column' if width == 1 else 'columns'}{target}>"

    @property
    def has_target(self) -> bool:
        """Whether the rows come with a target."""
        return self.empty.y is not None

    @abstractmethod
    def total(self, work: Work, *, columns: Names = None, only: Pieces = None) -> Any:
        """Sum of what ``work`` makes of every piece; None if it makes nothing of any.

        ``columns`` of X are read, and ``only`` these pieces are visited.
        """

    @abstractmethod
    def _all_chunks(self) -> Iterator[Chunk]:
        """All chunks in order, one at a time, as they are after the changes."""

    def chunks(self) -> Iterator[Any]:
        """The rows of X, piece by piece, in order."""
        return (chunk.x for chunk in self._all_chunks())

    def compute(self) -> Any:
        """All rows of X in memory."""
        return stacked(list(self.chunks()))

    def map(self, function: Callable[[Any], Any]) -> Scan:
        """A table with ``function`` applied to every chunk of X as it is read.

        For a transformer that works row by row, such as a fitted ``StandardScaler``:
        ``scan(…).map(scaler.transform)``.

        Parameters
        ----------
        function : callable
            From an array or a frame to one with as many rows. A Dask cluster needs one that can
            be pickled.

        Returns
        -------
        Scan
        """
        return self._changed_by(partial(_map_inputs, function))

    def without_target(self) -> Scan:
        """Rows without their target."""
        return self._changed_by(_forget_target) if self.has_target else self

    def _changed_by(self, change: Callable[[Chunk], Chunk]) -> Scan:
        empty = self.empty
        for chunk in self._all_chunks():
            if chunk.n_rows:  # some functions refuse to change no row
                empty = change(chunk.part(slice(0, 1))).part(slice(0, 0))
                break
        return replace(self, empty=empty, changes=(*self.changes, change))


def changed(
    changes: Sequence[Callable[[Chunk], Chunk]], chunks: Iterable[Chunk]
) -> Iterator[Chunk]:
    """Chunks after some changes, one after another."""
    return iter(reduce(lambda parts, change: map(change, parts), changes, chunks))


def _map_inputs(function: Callable[[Any], Any], chunk: Chunk) -> Chunk:
    return Chunk(function(chunk.x), chunk.y)


def _forget_target(chunk: Chunk) -> Chunk:
    return Chunk(chunk.x)


#: Whether chunks may be matrices without names, which sums need, and the first rows may be enough.
Matrices = Literal["none", "all", "partly"]


class LocalScan(Scan):
    """A table whose pieces this process reads, several at a time if threads are allowed."""

    @property
    def readers(self) -> int | None:
        """Pieces of which memory holds all at a time; None: one per thread."""
        return None

    @abstractmethod
    def _read(self, number: int, columns: Names, matrices: Matrices = "none") -> Iterator[Chunk]:
        """Chunks of a piece as they are stored, of some columns of X, or as matrices."""

    def total(self, work: Work, *, columns: Names = None, only: Pieces = None) -> Any:
        """Sum over the pieces, in a fixed number of runs in threads."""
        numbers = [each for each in range(len(self.lengths or ())) if only is None or each in only]
        ends = [len(numbers) * run // RUNS for run in range(RUNS + 1)]
        runs = [numbers[start:end] for start, end in pairwise(ends) if start < end]

        def read(number: int) -> Iterator[Chunk]:
            if self.changes:
                return changed(self.changes, self._read(number, None))
            return self._read(number, columns, "all" if only is None else "partly")

        def summed(run: list[int]) -> Any:
            return add_up(work(number, read(number)) for number in run)

        readers = min(len(runs), self.readers or len(runs))
        with blas_threads_for_parts() if readers > 1 else nullcontext(1) as threads:
            return add_up(map_threads(summed, runs, min(threads, max(1, readers))))

    def _all_chunks(self) -> Iterator[Chunk]:
        for number in range(len(self.lengths or ())):
            yield from changed(self.changes, self._read(number, None))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MemoryScan(LocalScan):
    """Rows in memory or in a memory map, a slice at a time."""

    rows: Chunk
    slices: Sequence[slice]

    @classmethod
    def of(cls, x: Any, y: Any, rows_per_piece: int | None) -> MemoryScan:
        """Slices of so many rows, or of about 4 MB."""
        rows = Chunk(x, y)
        parts = list(slices(rows.n_rows, rows_per_piece or rows_of_piece(int(x.shape[1]))))
        lengths = [part.stop - part.start for part in parts]
        return cls(empty=rows.part(slice(0, 0)), lengths=lengths, rows=rows, slices=parts)

    def _read(self, number: int, columns: Names, matrices: Matrices = "none") -> Iterator[Chunk]:
        chunk = self.rows.part(self.slices[number])
        x = chunk.x
        if columns is not None and is_frame(x):
            x = nw.from_native(x, eager_only=True).select(list(columns)).to_native()
        yield Chunk(None if columns is not None and not columns else x, chunk.y)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class IteratedScan(Scan):
    """Chunks of an iterator that can be made again, one after another."""

    make: Callable[[], Iterable[Chunk]]
    unsteady: ClassVar = (
        "the iterator of chunks is started anew for every visit, and must give the same rows in "
        "the same order each time. Give what is random in it a fixed seed, or write its rows to a "
        "file and pass depmax.scan of that."
    )

    def total(self, work: Work, *, columns: Names = None, only: Pieces = None) -> Any:
        """Sum over the chunks in their order."""
        until = None if only is None else max(only, default=-1) + 1
        return add_up(
            work(number, changed(self.changes, (chunk,)))
            for number, chunk in enumerate(islice(self.make(), until))
            if only is None or number in only
        )

    def _all_chunks(self) -> Iterator[Chunk]:
        return changed(self.changes, self.make())
