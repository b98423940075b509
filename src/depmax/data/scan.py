"""The door for tables that need not fit in memory: ``scan``, and the first visit to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from glob import glob
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from depmax._parameters import is_whole
from depmax.data.chunks import (
    Chunk,
    IteratedScan,
    MemoryScan,
    Scan,
    add_up,
    n_rows,
    split_target,
    with_text_names,
)
from depmax.data.columns import (
    ColumnFacts,
    Columns,
    column_names,
    is_frame,
    is_nominal,
    why_not_numeric,
)
from depmax.data.files import FileScan
from depmax.data.marks import Mark
from depmax.data.stream import Stream
from depmax.data.table import is_dask, require_equal_length
from depmax.data.target import TargetFacts, as_columns, declared_categories, present_target

#: Outputs up to which the first visit to a table takes their mean and scatter.
FEW_OUTPUTS = 16
#: A file, a folder, or several.
Paths = str | PathLike[str]


def scan(
    data: Any,
    target: Any = None,
    *,
    columns: Sequence[str] | None = None,
    rows_per_chunk: int | None = None,
) -> Scan:
    """A table that is read a piece at a time, for estimators that stream.

    Parameters
    ----------
    data : path, sequence of paths, Dask collection, array, memory map, sparse matrix, frame, \
iterable or callable
        A Parquet or Arrow file, a folder of them (column names of folders such as ``year=2024``
        included), or several. A Dask array or data frame. Rows in memory or in a memory map. Or
        chunks of rows, arrays, frames or pairs (X, y): a list of them, another object that can be
        iterated any number of times, or a function that returns a fresh iterator when it is called.
    target : str, sequence of str, or target of the same rows, optional
        Name of the column that is the target, or names of several; or for arrays the target
        itself (for a Dask collection another collection).
    columns : sequence of str, optional
        Columns of X, where they have names; others are not read. By default all but the target.
    rows_per_chunk : int, optional
        Rows that are decoded at a time; by default about 4 MB.

    Returns
    -------
    Scan
        To be passed as ``X``, without ``y`` if it has a target.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import HSCA, scan
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 4))
    >>> rows = scan(X, X[:, 2] > 0, rows_per_chunk=100)
    >>> rows
    <Scan of 1,000 rows, 4 columns and a target>
    >>> int(abs(HSCA(1).fit(rows).components_).argmax())
    2
    """
    if rows_per_chunk is not None and not (is_whole(rows_per_chunk) and rows_per_chunk >= 1):
        raise ValueError(
            f"rows_per_chunk must be a whole number of at least 1, got {rows_per_chunk!r}."
        )
    if columns is not None and len(columns) == 0:
        raise ValueError("columns is empty: name a column, or omit it to use all.")
    if isinstance(data, Scan):
        raise TypeError("data is already a scan: pass it as X.")
    names, paths = _names(target), _paths(data)
    if is_dask(data):
        from depmax.data.dask_scan import scan_dask

        return scan_dask(data, target if names is None else None, names or (), columns)
    make = _maker_of_chunks(data) if paths is None else None
    if paths is None and make is None:
        return _in_memory(data, target, names, columns, rows_per_chunk)
    if names is None:
        raise TypeError(
            "target must be the name of a column, or several names: files and iterators hold the "
            "target in their rows."
        )
    if len(set(names)) < len(names):
        raise ValueError(f"target names a column twice: {', '.join(names)}.")
    if make is not None:
        return _iterated(make, names, columns)
    return FileScan.opened(paths or [], names, columns, rows_per_chunk)


def by_chunks(
    function: Callable[[Any], Any], X: Any, width: int | None = None, dtype: Any = None
) -> Any:
    """A function of rows in memory, of a table that is read a chunk at a time: lazy as it is.

    Parameters
    ----------
    function : callable
        From rows to an array with as many.
    X : Scan or Dask collection
    width : int, optional
        Columns of what it gives; None for one dimension.
    dtype : dtype, optional
        Of what it gives: by default float64, or float32 for such an array.
    """
    if not is_dask(X):
        return X.map(function)
    from depmax.data.dask_scan import applied

    if dtype is None:
        dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
    return applied(X, function, width, np.dtype(dtype))


def _paths(data: Any) -> list[Paths] | None:
    """The paths that ``data`` names, if it does."""
    if isinstance(data, str | PathLike):
        text = fspath(data)
        if not text:
            raise ValueError("data is an empty path: name a file or a folder, such as '.'.")
        if "*" not in text or Path(text).exists():
            return [data]
        found = sorted(glob(text, recursive=True))
        if not found:
            raise FileNotFoundError(f"No file matches {text!r}.")
        return list(map(Path, found))
    if isinstance(data, list | tuple) and data and all(isinstance(p, str | PathLike) for p in data):
        return list(data)
    return None


def _names(target: Any) -> tuple[str, ...] | None:
    """Names of the columns that are the target; None if it is given as values."""
    if target is None or isinstance(target, str):
        return () if target is None else (target,)
    named = isinstance(target, list | tuple) and all(isinstance(name, str) for name in target)
    return tuple(target) if named else None


def _in_memory(
    data: Any,
    y: Any,
    names: tuple[str, ...] | None,
    columns: Sequence[str] | None,
    rows_per_chunk: int | None,
) -> MemoryScan:
    if is_frame(data):
        data = with_text_names(data)
        if names and (isinstance(y, str) or len(names) != n_rows(data)):
            frame = nw.from_native(data, eager_only=True)
            chosen = data if columns is None else frame.select([*columns, *names]).to_native()
            chunk = split_target(chosen, names)
            data, y = chunk.x, chunk.y
        elif columns is not None:
            data = nw.from_native(data, eager_only=True).select(columns).to_native()
    elif columns is not None:
        raise TypeError("columns= needs a table whose columns have names.")
    elif sparse.issparse(data):
        data = data.tocsr()
    else:
        data = data if isinstance(data, np.ndarray) else np.asarray(data)
        data = data[:, np.newaxis] if data.ndim == 1 else data
    if y is not None and not hasattr(y, "shape"):
        y = np.asarray(y)
    if y is not None:
        require_equal_length(n_rows(data), n_rows(y))
    return MemoryScan.of(data, y, rows_per_chunk)


def _maker_of_chunks(data: Any) -> Callable[[], Iterable[Any]] | None:
    """A function that starts the chunks anew, where ``data`` gives chunks of rows."""
    if hasattr(data, "shape") or hasattr(data, "__array__") or is_frame(data):
        return None
    if callable(data):
        return data
    if isinstance(data, list | tuple):
        first = data[0] if data else None
        rows = first[0] if isinstance(first, tuple) and first else first
        if len(getattr(rows, "shape", ())) != 2:
            return None  # rows of one table
    return (lambda: iter(data)) if hasattr(data, "__iter__") else None


def _iterated(
    make: Callable[[], Iterable[Any]], names: tuple[str, ...], columns: Any
) -> IteratedScan:
    """Chunks of an iterator that can be made again."""

    def chunks() -> Iterator[Chunk]:
        for item in make():
            if isinstance(item, tuple):
                x, y = item if len(item) > 1 else (item[0], None)
                if y is not None:
                    require_equal_length(n_rows(x), n_rows(y))
                yield Chunk(with_text_names(x), y)
            else:
                yield split_target(with_text_names(item), names)

    is_used_up = iter(make()) is iter(make())  # the same iterator twice
    first = next(chunks(), None)
    if first is None:
        raise ValueError("The iterator of chunks is empty: it has no rows.")
    if is_used_up or next(chunks(), None) is None:
        raise TypeError(
            "The chunks can be read only once, and methods read them several times: pass a "
            "function that returns a new iterator every time, such as lambda: read_batches(path)."
        )
    if columns is not None:
        raise TypeError(
            "columns= is for tables in files, frames and Dask; iterators choose theirs."
        )
    return IteratedScan(make=chunks, empty=first.part(slice(0, 0)))


# --- the first visit ------------------------------------------------------------------------------
@dataclass(frozen=True)
class NumberFacts:
    """Range, mean and scatter of columns of numbers in chunks."""

    n_rows: int
    ends: tuple[np.ndarray, np.ndarray]  # smallest and largest number of each column
    #: Mean of few columns, and scatter about it, of shapes (q,) and (q, q).
    moments: tuple[np.ndarray, np.ndarray] | None

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")  # infinity is refused once all facts are known
    def of(cls, present: np.ndarray) -> NumberFacts | None:
        """Facts about one chunk; None where it holds no numbers."""
        if present.dtype.kind not in "biuf" or not len(present):
            return None
        columns, moments = as_columns(present), None
        if columns.shape[1] <= FEW_OUTPUTS:
            mean = columns.mean(axis=0)
            moments = mean, (columns - mean).T @ (columns - mean)
        return cls(len(columns), (columns.min(axis=0), columns.max(axis=0)), moments)

    @np.errstate(over="ignore", invalid="ignore")
    def __add__(self, other: NumberFacts) -> NumberFacts:
        n_rows, moments = self.n_rows + other.n_rows, None
        ends = np.minimum(self.ends[0], other.ends[0]), np.maximum(self.ends[1], other.ends[1])
        if self.moments is not None and other.moments is not None:  # each about its own mean
            (mean, scatter), (mean_of_other, more) = self.moments, other.moments
            share, apart = other.n_rows / n_rows, mean_of_other - mean
            between = self.n_rows * share * np.outer(apart, apart)
            moments = mean + share * apart, scatter + more + between
        return NumberFacts(n_rows, ends, moments)


@dataclass(frozen=True)
class Survey:
    """What one visit to a table tells."""

    lengths: Mapping[int, int]  # rows of each piece, those without a target not counted
    columns: ColumnFacts | None = None
    target: TargetFacts | None = None
    numbers: NumberFacts | None = None
    marks: Mapping[int, Mark] = field(default_factory=dict)  # of the target of each piece

    def __add__(self, other: Survey) -> Survey:
        pairs = (
            (self.columns, other.columns),
            (self.target, other.target),
            (self.numbers, other.numbers),
        )
        marks = dict(self.marks)
        for number, mark in other.marks.items():
            marks[number] = marks[number] + mark if number in marks else mark
        columns, target, numbers = map(add_up, pairs)
        return Survey({**self.lengths, **other.lengths}, columns, target, numbers, marks)


def _look(nominal: Sequence[str], with_marks: bool, number: int, chunks: Iterator[Chunk]) -> Survey:
    """Survey of one piece: its length, levels of its categorical columns, its target."""
    found = Survey({number: 0})
    for chunk in chunks:
        count, columns, target, numbers = chunk.n_rows, None, None, None
        start, marks = found.lengths[number], {}
        if chunk.y is not None:
            present, missing = present_target(chunk.y)
            count, n_missing = len(present), 0 if missing is None else int(missing.sum())
            declared = declared_categories(chunk.y) is not None
            target = TargetFacts.of(present, n_missing, declared)
            numbers = NumberFacts.of(present)
            if with_marks and count:
                marks = {number: Mark.of(present, start)}
        if nominal:
            columns = ColumnFacts.of(nw.from_native(chunk.x, eager_only=True).select(nominal))
        found += Survey({number: start + count}, columns, target, numbers, marks)
    return found


def surveyed(table: Scan) -> Stream:
    """The table after a first visit to its target and its categories."""
    empty = table.empty.x
    visited: Sequence[str] | None = None  # columns of X that the visit reads
    nominal: Sequence[str] = ()
    if is_frame(empty):
        frame, names = nw.from_native(empty, eager_only=True), column_names(empty)
        for place, kind in enumerate(frame.schema.values()):
            if not is_nominal(kind) and not kind.is_numeric():
                raise TypeError(why_not_numeric(frame[:, place], "X"))
        nominal = [name for name, kind in frame.schema.items() if is_nominal(kind)]
        visited = nominal if nominal or table.has_target else names[:1]
    if not nominal and not table.has_target and table.lengths is not None:
        survey = Survey(dict(enumerate(table.lengths)))
    else:
        survey = table.total(partial(_look, nominal, table.unsteady is not None), columns=visited)
    if survey is None or sum(survey.lengths.values()) == 0:
        raise ValueError("The table is empty: found 0 sample(s), at least 1 is needed.")
    lengths = [survey.lengths[number] for number in sorted(survey.lengths)]
    decoder = Columns.of_chunks(empty, survey.columns)
    return Stream(
        table, decoder, lengths, survey.target, survey.numbers, y_marks=dict(survey.marks)
    )
