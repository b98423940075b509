"""Dask collections as tables in pieces: the only module that imports Dask.

Every partition is a piece. A visit is one graph: a task per partition that reads it and makes a
small result of it, and a tree of additions, so that neither the scheduler nor any worker ever holds
more than a few results. Nothing is persisted; a collection that is expensive to make and fits in
the workers' memory is persisted by whoever made it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import dask
import numpy as np
from dask import array as da

from depmax._text import counted
from depmax.data.chunks import (
    Chunk,
    Names,
    Pieces,
    Scan,
    Work,
    add_up,
    changed,
    n_rows,
    require_columns,
    split_target,
)
from depmax.data.columns import column_names
from depmax.data.table import is_dask, require_equal_length

#: Results that one task of the tree adds.
FAN_IN = 8


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DaskScan(Scan):
    """Partitions of a collection X and of a collection y beside it, or of one table of both."""

    #: Delayed partitions of X, or of the table of both, and of y; None without a target.
    parts: list[tuple[Any, Any]]
    #: Names of the columns that are the target, where X and y are one table.
    targets: tuple[str, ...] = ()
    unsteady: ClassVar = (
        "the graph of the Dask collection is computed anew for every visit, and gives other rows "
        "each time: it draws or shuffles without a seed, or its source has no fixed order. Compute "
        "it once with persist(), as in X = X.persist() (X and y together: X, y = dask.persist(X, "
        "y)), or write it to Parquet and read that."
    )

    def total(self, work: Work, *, columns: Names = None, only: Pieces = None) -> Any:
        """Sum over the partitions, by a tree of additions."""
        visit = _Visit(work, self.targets, self.changes, column_names(self.empty.x))
        shared = dask.delayed(visit, pure=False)
        visited, results = dask.delayed(_visited, pure=False), []
        for number, (x, y) in enumerate(self.parts):
            if only is None or number in only:
                of_y = columns is not None and not len(columns) and y is not None
                in_table = self.targets and not of_y
                results.append(
                    visited(shared, number, None if of_y else x, None if in_table else y)
                )
        merge = dask.delayed(add_up, pure=False)
        while len(results) > 1:
            groups = range(0, len(results), FAN_IN)
            results = [merge(results[start : start + FAN_IN]) for start in groups]
        return _computed(results[0]) if results else None

    def _all_chunks(self) -> Iterator[Chunk]:
        for number in range(len(self.parts)):
            yield from self.total(_collect, only=frozenset((number,)))


def _collect(number: int, chunks: Iterator[Chunk]) -> list[Chunk]:
    return list(chunks)


@dataclass(frozen=True)
class _Visit:
    """What is done to every partition, sent to each worker once."""

    work: Work
    targets: tuple[str, ...]
    changes: Sequence[Callable[[Chunk], Chunk]]
    names: tuple[str, ...]  # of the columns of X, if they have any

    def chunks(self, x: Any, y: Any) -> Iterator[Chunk]:
        """Parts of a partition as they are stored."""
        if not self.targets or x is None:
            return Chunk(x, y).parts()
        names, columns = self.targets, [str(name) for name in x.columns]
        inputs = [place for place, name in enumerate(columns) if name not in names]
        is_matrix = not self.changes and set(x.dtypes) == {np.dtype(np.float64)}
        if not is_matrix or tuple(columns[place] for place in inputs) != self.names:
            return (split_target(part.x, names) for part in Chunk(x).parts())
        # One matrix of float64, as a partition of numbers is, is not copied: a frame without the
        # target would be, and frames of some thousand rows take longer to make than their sums.
        chosen: Any = inputs
        if inputs == list(range(inputs[0], inputs[0] + len(inputs))):
            chosen = slice(inputs[0], inputs[0] + len(inputs))  # a view
        outputs: Any = [columns.index(name) for name in names]
        outputs = outputs[0] if len(names) == 1 else outputs
        parts = Chunk(x.to_numpy()).parts()
        return (Chunk(part.x[:, chosen], part.x[:, outputs]) for part in parts)


def _visited(visit: _Visit, number: int, x: Any, y: Any) -> Any:
    if x is not None and y is not None and n_rows(x) != n_rows(y):
        raise ValueError(
            f"Partition {number} of X has {counted(n_rows(x), 'row')}, but that of y has "
            f"{n_rows(y)}: make both from one collection, or rechunk y like X."
        )
    chunks = visit.chunks(x, y)
    return visit.work(number, chunks if x is None else changed(visit.changes, chunks))


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


def scan_dask(
    x: Any, target: Any, names: tuple[str, ...], columns: Sequence[str] | None
) -> DaskScan:
    """Dask arrays and data frames; the target is another collection, or columns of x."""
    require_columns(names, getattr(x, "columns", ()), "X")
    if columns is not None:
        x = x[[*columns, *names]]
    parts, empty, lengths = _partitions(x, "X")
    if names:
        # a visit to the target alone reads no other column, where the table is read from files
        others = _partitions(x[names[0] if len(names) == 1 else list(names)], "y")[0]
        pairs = list(zip(parts, others, strict=True))
        rows = split_target(empty, names)
        return DaskScan(empty=rows, lengths=lengths, parts=pairs, targets=names)
    if target is None:
        pairs = [(part, None) for part in parts]
        return DaskScan(empty=Chunk(empty), lengths=lengths, parts=pairs)
    others, empty_y, lengths_y = _partitions(_like(target, lengths), "y")
    if len(others) != len(parts):
        raise ValueError(
            f"X has {len(parts)} partitions and y {len(others)}: rows that belong together must "
            "be in partitions of the same number. Make both from one collection, or pass "
            'depmax.scan(frame, target="…").'
        )
    pairs = list(zip(parts, others, strict=True))
    return DaskScan(empty=Chunk(empty, empty_y), lengths=lengths or lengths_y, parts=pairs)


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


def _like(y: Any, lengths: Sequence[int] | None) -> Any:
    """The target in the partitions of X, where both lengths are known."""
    if not is_dask(y):
        if lengths is None:
            raise TypeError(
                "y is in memory, but the lengths of the partitions of X are not known: pass y as a "
                'Dask collection, or depmax.scan(frame, target="…"), or call '
                "X.compute_chunk_sizes() first."
            )
        y = da.from_array(np.asarray(y), chunks=-1)
    if lengths is None or not is_dask_array(y) or any(np.isnan(size) for size in y.chunks[0]):
        return y
    require_equal_length(sum(lengths), sum(y.chunks[0]))
    return y.rechunk({0: tuple(lengths)})
