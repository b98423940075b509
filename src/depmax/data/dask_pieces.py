"""Dask collections as tables in pieces: the only module that imports Dask.

Every partition is a piece. A visit is one graph: a task per partition that reads it and makes a
small result of it, and a tree of additions, so that neither the scheduler nor any worker ever holds
more than a few results. Nothing is persisted; a collection that is expensive to make and fits in
the workers' memory is persisted by whoever made it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import dask
import numpy as np
from dask import array as da

from depmax._text import counted
from depmax.data.pieces import Chunk, Work, add_up, changed_empty, n_rows, split_target
from depmax.data.table import column_names

#: Results that one task of the tree adds.
FAN_IN = 8


@dataclass(frozen=True)
class DaskPieces:
    """Partitions of a collection X and of a collection y beside it, or of one table of both.

    Parameters
    ----------
    parts : list of tuples
        Delayed partitions of X, or of the table of both, and of y; None without a target.
    empty : Chunk
    lengths : sequence of int or None
        None for chunks of unknown length.
    target : name or names of the columns that are the target, where X and y are one table.
    """

    parts: list[tuple[Any, Any]]
    empty: Chunk
    lengths: Sequence[int] | None = None
    target: Any = None
    change: Callable[[Chunk], Chunk] | None = None

    def total(
        self,
        work: Work,
        *,
        columns: Sequence[str] | None = None,
        only: frozenset[int] | None = None,
    ) -> Any:
        """Sum over the partitions, by a tree of additions."""
        visited = _Visit(work, self.target, self.change, column_names(self.empty.x))
        shared = dask.delayed(visited, pure=False)
        visit, results = dask.delayed(_visit, pure=False), []
        for number, (x, y) in enumerate(self.parts):
            if only is None or number in only:
                of_y = columns is not None and not len(columns) and y is not None
                in_table = self.target is not None and not of_y
                results.append(visit(shared, number, None if of_y else x, None if in_table else y))
        merge = dask.delayed(add_up, pure=False)
        while len(results) > 1:
            groups = range(0, len(results), FAN_IN)
            results = [merge(results[start : start + FAN_IN]) for start in groups]
        return _computed(results[0]) if results else None

    def chunks(self) -> Iterator[Chunk]:
        """All chunks in order, each computed when it is asked for."""
        for number in range(len(self.parts)):
            yield from self.total(_collect, only=frozenset((number,)))

    def mapped(self, change: Callable[[Chunk], Chunk]) -> DaskPieces:
        """The same partitions, changed by the workers as they are read."""
        before = self.change
        both = change if before is None else _Both(before, change)
        empty = changed_empty(self, change)
        return DaskPieces(self.parts, empty, self.lengths, self.target, both)


@dataclass(frozen=True)
class _Both:
    """Two changes, one after the other."""

    first: Callable[[Chunk], Chunk]
    second: Callable[[Chunk], Chunk]

    def __call__(self, chunk: Chunk) -> Chunk:
        return self.second(self.first(chunk))


@dataclass(frozen=True)
class _Visit:
    """What is done to every partition, sent to each worker once."""

    work: Work
    target: Any
    change: Callable[[Chunk], Chunk] | None
    names: tuple[str, ...]  # of the columns of X, if they have any


def _computed(result: Any) -> Any:
    """The result; what Arrow says of a damaged file does not name it, and so says what will."""
    try:
        return result.compute()
    except Exception as error:
        if type(error) is not OSError and type(error).__module__.split(".")[0] != "pyarrow":
            raise
        said = " ".join(str(error).split()).rstrip(".")
        raise ValueError(
            f"A partition of the Dask collection cannot be read: {said}. If it comes from files, "
            "one of them is damaged or incomplete: pass depmax.scan of their folder instead of the "
            "collection to learn which one."
        ) from error


def _visit(visit: _Visit, number: int, x: Any, y: Any) -> Any:
    if x is not None and y is not None and n_rows(x) != n_rows(y):
        raise ValueError(
            f"Partition {number} of X has {counted(n_rows(x), 'row')}, but that of y has "
            f"{n_rows(y)}: make both from one collection, or rechunk y like X."
        )
    chunks = Chunk(x, y).parts()
    if visit.target is not None and x is not None:
        chunks = _split(x, visit)
    if visit.change is not None and x is not None:
        chunks = map(visit.change, chunks)
    return visit.work(number, chunks)


def _split(table: Any, visit: _Visit) -> Iterator[Chunk]:
    """Parts of a partition that has the target among its columns.

    One matrix of float64, as a partition of numbers is, is not copied: a frame without the target
    would be, and frames of a few thousand rows take longer to make than their sums.
    """
    names = [visit.target] if isinstance(visit.target, str) else list(visit.target)
    columns = [str(name) for name in table.columns]
    inputs = [place for place, name in enumerate(columns) if name not in names]
    is_matrix = visit.change is None and set(table.dtypes) == {np.dtype(np.float64)}
    if not is_matrix or tuple(columns[place] for place in inputs) != visit.names:
        for part in Chunk(table).parts():
            yield split_target(part.x, visit.target)
        return
    values = table.to_numpy()
    outputs: Any = [columns.index(name) for name in names]
    chosen: Any = inputs
    if inputs == list(range(inputs[0], inputs[0] + len(inputs))):
        chosen = slice(inputs[0], inputs[0] + len(inputs))  # a view
    if isinstance(visit.target, str):
        outputs = outputs[0]
    for part in Chunk(values).parts():
        yield Chunk(part.x[:, chosen], part.x[:, outputs])


def _collect(number: int, chunks: Iterator[Chunk]) -> list[Chunk]:
    return list(chunks)


def pieces_of_dask(
    x: Any, y: Any, target: Any, columns: Sequence[str] | None, name: str = "X"
) -> DaskPieces:
    """Pieces of Dask arrays and data frames; y is another collection, or columns of x."""
    if target is not None:
        _require_columns(x, target)
        if columns is not None:
            x = x[[*columns, *([target] if isinstance(target, str) else target)]]
    elif columns is not None:
        x = x[list(columns)]
    blocks, empty_x, lengths = _partitions(x, name)
    if target is not None:
        empty = split_target(empty_x, target)
        # a visit to the target alone reads no other column, where the table is read from files
        answers = _partitions(x[target if isinstance(target, str) else list(target)], "y")[0]
        return DaskPieces(list(zip(blocks, answers, strict=True)), empty, lengths, target)
    if y is None:
        return DaskPieces([(block, None) for block in blocks], Chunk(empty_x), lengths)
    y = _like(y, lengths, len(blocks))
    others, empty_y, lengths_y = _partitions(y, "y")
    if len(others) != len(blocks):
        raise ValueError(
            f"X has {len(blocks)} partitions and y {len(others)}: rows that belong together must "
            "be in partitions of the same number. Make both from one collection, or pass "
            'depmax.scan(frame, target="…").'
        )
    return DaskPieces(
        list(zip(blocks, others, strict=True)), Chunk(empty_x, empty_y), lengths or lengths_y
    )


def is_dask_array(x: Any) -> bool:
    """Whether a Dask collection is an array."""
    return isinstance(x, da.Array)


def applied(x: Any, function: Callable[[Any], np.ndarray], width: int | None, dtype: Any) -> Any:
    """A lazy array of a function of the rows of a collection, partition by partition."""
    columns = () if width is None else (width,)
    meta = np.empty((0, *columns), dtype)
    if is_dask_array(x):
        x = x.rechunk({1: -1}) if x.ndim == 2 and len(x.chunks[1]) > 1 else x
        dropped = [1] if x.ndim == 2 and width is None else None
        chunks = (x.chunks[0], *((size,) for size in columns))
        return x.map_blocks(function, dtype=dtype, chunks=chunks, drop_axis=dropped, meta=meta)
    lazy = x.map_partitions(function, meta=meta)
    return da.Array(
        lazy.dask, lazy.name, (lazy.chunks[0], *((size,) for size in columns)), dtype=dtype
    )


def _partitions(x: Any, name: str) -> tuple[list[Any], Any, Sequence[int] | None]:
    """Delayed partitions, an empty one, and their lengths if they are known."""
    if is_dask_array(x):
        if x.ndim == 2 and len(x.chunks[1]) > 1:
            x = x.rechunk({1: -1})
        if x.ndim not in (1, 2):
            raise ValueError(f"{name} must have one or two dimensions, got shape {x.shape}.")
        known = not any(np.isnan(length) for length in x.chunks[0])
        shape = (0,) if x.ndim == 1 else (0, int(x.shape[1]))
        meta: Any = x._meta
        empty = (
            np.empty(shape, x.dtype) if isinstance(meta, np.ndarray) else meta[:0].reshape(shape)
        )
        lengths = list(map(int, x.chunks[0])) if known else None
        return list(x.to_delayed().ravel()), empty, lengths
    if not hasattr(x, "to_delayed") or not hasattr(x, "_meta"):
        raise TypeError(
            f"{name} is a Dask {type(x).__name__}: pass a Dask array or a Dask data frame, such as "
            "what dask.bag's to_dataframe makes."
        )
    parts = list(x.to_delayed())
    if len(parts) != x.npartitions:  # a few columns of many files are read several files at a time
        parts = list(x.simplify().to_delayed(optimize_graph=False))
    return parts, x._meta, None


def _like(y: Any, lengths: Sequence[int] | None, n_parts: int) -> Any:
    """The target in the partitions of X, where both lengths are known."""
    if type(y).__module__.split(".")[0] != "dask":
        if lengths is None:
            raise TypeError(
                "y is in memory, but the lengths of the partitions of X are not known: pass y as a "
                'Dask collection, or depmax.scan(frame, target="…"), or call '
                "X.compute_chunk_sizes() first."
            )
        values = np.asarray(y)
        chunks = (tuple(lengths), *((size,) for size in values.shape[1:]))
        if values.shape[0] != sum(lengths):
            raise ValueError(
                f"X and y have inconsistent numbers of samples: {sum(lengths)} rows against "
                f"{values.shape[0]}."
            )
        return da.from_array(values, chunks=chunks)
    if lengths is None or not is_dask_array(y):
        return y
    if not any(np.isnan(length) for length in y.chunks[0]):
        if sum(y.chunks[0]) != sum(lengths):
            raise ValueError(
                f"X and y have inconsistent numbers of samples: {sum(lengths)} rows against "
                f"{sum(y.chunks[0])}."
            )
        return y.rechunk({0: tuple(lengths)})
    return y


def _require_columns(x: Any, target: Any) -> None:
    known = list(getattr(x, "columns", ()))
    for name in [target] if isinstance(target, str) else target:
        if name not in known:
            raise ValueError(
                f"X has no column named {name!r}: its columns are {', '.join(map(str, known))}."
            )
