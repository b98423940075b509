"""A scanned table with what a first look at it tells: rows of X and y that are read when needed.

The sample that is made of them has rows that are read chunk by chunk, X and y of a chunk together;
nothing as long as the table is held.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from depmax._resources import cached_property
from depmax.data.chunks import Chunk, RowsInChunks, Scan, stacked
from depmax.data.columns import Columns
from depmax.data.marks import Mark, marked
from depmax.data.table import require_finite, sample_positions, some_rows
from depmax.data.target import present_target


class SampledRowsWarning(UserWarning):
    """A search that needs rows in memory took some of those of a larger table, with a fixed seed.

    Silence it with ``warnings.simplefilter("ignore", depmax.SampledRowsWarning)``.
    """


@dataclass(frozen=True, eq=False)
class Stream:
    """A surveyed table: how many rows it has, how they are read, and visits to them."""

    table: Scan
    decoder: Columns
    lengths: Sequence[int]  # rows of each piece, those without a target not counted
    facts: Any = None  # TargetFacts
    numbers: Any = None  # NumberFacts of a target of numbers
    _kept: list[_Taken] = field(default_factory=list)
    #: Of pieces of X and of y that were read, where they may have other rows the next time.
    y_marks: dict[int, Mark] = field(default_factory=dict)
    _x_marks: dict[int, Mark] = field(default_factory=dict)

    @cached_property
    def starts(self) -> np.ndarray:
        """Positions of the first rows of all pieces, and the end."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    @property
    def n_rows(self) -> int:
        """Number of rows that are visited."""
        return int(self.starts[-1])

    @property
    def inputs(self) -> StreamRows:
        """The rows of X."""
        columns = self.decoder
        return StreamRows(self, _inputs, columns.example, of_inputs=True, columns=columns)

    @property
    def target(self) -> StreamRows | None:
        """The rows of y, whose type ``read_target`` decides; None without a target."""
        if self.facts is None:
            return None
        width = self.facts.width
        return StreamRows(self, _target, np.zeros(1 if width is None else (1, width)))

    def total(
        self,
        work: Callable[[Iterator[Chunk]], Any],
        *,
        inputs: bool = True,
        only: frozenset[int] | None = None,
    ) -> Any:
        """Sum of what ``work`` makes of the chunks of every piece; without ``inputs`` y alone."""
        unsteady, columns = self.table.unsteady, None if inputs else ()
        visit = partial(_visit, work, self.decoder, self.starts, inputs, unsteady)
        found = self.table.total(visit, columns=columns, only=only)
        if unsteady is None or found is None:
            return found
        for name, marks, known in (("X", found.x, self._x_marks), ("y", found.y, self.y_marks)):
            for number, mark in marks.items():
                if known.setdefault(number, mark).contradicts(mark):
                    raise RuntimeError(
                        f"Part {number} of {name} has other rows than when it was read before: "
                        f"{unsteady}"
                    )
        return found.result

    def take(self, indices: np.ndarray, *, inputs: bool = True) -> Chunk:
        """The rows at some positions, in that order, in memory; without ``inputs`` y alone."""
        indices, parts = np.asarray(indices, dtype=np.int64), self._kept
        known = np.concatenate([positions for positions, _ in parts] or [indices[:0]])
        missing = np.setdiff1d(indices, known)
        if len(missing):
            parts = [*parts, *self._taken(missing, inputs=inputs)]
        positions = np.concatenate([positions for positions, _ in parts])
        order = np.argsort(positions)
        rows = order[np.searchsorted(positions, indices, sorter=order)]
        x = stacked([part.x for _, part in parts])[rows] if inputs else None
        has_target = self.facts is not None
        return Chunk(x, stacked([part.y for _, part in parts])[rows] if has_target else None)

    def keep(self, indices: np.ndarray) -> None:
        """Read the rows at some positions once, for later calls of ``take``."""
        self._kept[:] = self._taken(np.unique(np.asarray(indices, dtype=np.int64)))

    def _taken(self, indices: np.ndarray, *, inputs: bool = True) -> list[_Taken]:
        """The rows at some positions, sorted, from a visit to the pieces that have them."""
        numbers = np.searchsorted(self.starts, indices, side="right") - 1
        ends = frozenset(indices[np.flatnonzero(np.diff(numbers, append=-1))].tolist())
        found: list[_Taken] = self.total(
            partial(_gather, indices, ends), inputs=inputs, only=frozenset(numbers.tolist())
        )
        return found

    @cached_property
    def sample_indices(self) -> np.ndarray:
        """Positions of the rows from which numbers of kernels are read."""
        return sample_positions(self.n_rows)


#: Positions of some rows, and these rows.
_Taken = tuple[np.ndarray, Chunk]


def _visit(
    work: Callable[[Iterator[Chunk]], Any],
    decoder: Columns,
    starts: np.ndarray,
    inputs: bool,
    unsteady: str | None,
    number: int,
    chunks: Iterator[Chunk],
) -> Any:
    """What ``work`` makes of the chunks of a piece, as they are read."""
    remedy = unsteady or "make sure that nothing writes to it, and fit again."
    changed = RuntimeError(
        "The table has changed while it was read, as a part of it has a different number of rows "
        f"than before: {remedy}"
    )

    def read() -> Iterator[Chunk]:
        if number + 1 >= len(starts):
            raise changed
        start, end = starts[number : number + 2].tolist()
        for chunk in chunks:
            x = decoder.matrix(chunk.x) if inputs else None
            if x is not None:
                x = require_finite(x, decoder.names, "X", is_part=True)
            y, missing = (None, None) if chunk.y is None else present_target(chunk.y)
            if x is not None and missing is not None:
                x = x[~missing]
            found = Chunk(x, y, start)
            start += found.n_rows
            if start > end:
                raise changed
            if found.n_rows:
                yield found
        if start != end:
            raise changed

    return work(read()) if unsteady is None else marked(work, number, read())


def _gather(indices: np.ndarray, ends: frozenset[int], chunks: Iterator[Chunk]) -> list[_Taken]:
    """The rows at some positions of one piece; rows behind the last of them are not read."""
    found: list[_Taken] = []
    for chunk in chunks:
        first, last = np.searchsorted(indices, [chunk.start, chunk.start + chunk.n_rows])
        positions = indices[first:last]
        if len(positions):
            rows = positions - chunk.start
            x = None if chunk.x is None else chunk.x[rows]
            found.append((positions, Chunk(x, None if chunk.y is None else chunk.y[rows])))
            if int(positions[-1]) in ends:
                break
    return found


#: A function of the target.
Change = Callable[[np.ndarray], np.ndarray]
#: What is looked at in a chunk: an array or a CSR matrix with a row per row of the chunk.
View = Callable[[Chunk], Any]


def _inputs(chunk: Chunk, columns: Sequence[int] | None = None) -> Any:
    return chunk.x if columns is None else chunk.x[:, columns]


def _target(chunk: Chunk) -> Any:
    return chunk.y


@dataclass(frozen=True, eq=False)
class StreamRows(RowsInChunks):
    """Rows of a stream as a kernel reads them: those of X, or a view of y.

    Indexed by a ``Chunk`` it gives the rows of that chunk; by positions, rows in memory.
    """

    stream: Stream
    view: View
    #: A row like the others, for whoever asks for widths and types only.
    example: Any
    #: Different values and how often each occurs, where that is known.
    distinct: tuple[np.ndarray, np.ndarray | None] | None = None
    #: Mean and scatter about it, where they are known.
    moments: tuple[np.ndarray, np.ndarray] | None = None
    #: Whether X is read for these rows.
    of_inputs: bool = False
    #: Names and categories of the columns of X; None for numbers that a kernel reads.
    columns: Columns | None = None
    #: What kernels ask, which know of no tables.
    is_streamed: ClassVar[bool] = True

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and columns."""
        return (self.stream.n_rows, *self.example.shape[1:])

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return int(self.example.ndim)

    @property
    def dtype(self) -> np.dtype:
        """Precision of the rows."""
        return np.dtype(self.example.dtype)

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, Chunk):
            return self.view(rows)
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(self.stream.n_rows))
        return self.view(self.stream.take(rows, inputs=self.of_inputs))

    def sample(self) -> Any:
        """Rows from which bandwidths are read: all, or 1000 drawn with a fixed seed."""
        return self._sampled

    @cached_property
    def _sampled(self) -> Any:
        return self[self.stream.sample_indices]

    def glance(self, size: int) -> Any:
        """Rows from two places that cost little to read: beginnings of pieces."""
        n_rows, starts = self.stream.n_rows, self.stream.starts
        length = min(n_rows, size // 2)
        places = np.array([0, n_rows // 2])
        firsts = starts[np.searchsorted(starts, places, side="right") - 1]
        firsts = np.unique(np.minimum(firsts, n_rows - length))
        return self[np.unique(np.add.outer(firsts, np.arange(length)))]

    def column(self, positions: Sequence[int]) -> StreamRows:
        """Some columns of the inputs."""
        where, distinct, levels = list(map(int, positions)), None, self.stream.decoder.categories
        if len(where) == 1 and where[0] in levels:
            distinct = np.arange(len(levels[where[0]]), dtype=np.float64), None
        view = partial(_inputs, columns=where)
        return StreamRows(self.stream, view, self.example[:, where], distinct, of_inputs=True)

    def changed(self, change: Change, width: int | None = None) -> StreamRows:
        """A function of the target with so many columns; of labels where ``width`` is None."""
        distinct = self.distinct
        distinct = None if distinct is None else (change(distinct[0]), distinct[1])
        example = np.zeros(1) if width is None else np.zeros((1, width))
        return StreamRows(self.stream, partial(_changed, change, self.view), example, distinct)

    def grouped(self, change: Change) -> StreamRows:
        """Labels that are a function of the target, with the count of each."""
        groups = self.changed(change)
        counted = self.stream.total(partial(_count_labels, groups.view), inputs=False)
        values = np.array(sorted(counted))
        counts = np.array([counted[value] for value in values.tolist()])
        return replace(groups, example=values[:1], distinct=(values, counts))

    def sliced(self, column: Change, n_slices: int) -> Change:
        """From a target to the number of the slice of every row, of shape (n,).

        Slices have nearly equal counts, as those made in memory; their edges are found in four
        visits.
        """
        n_rows = self.stream.n_rows
        least, more = divmod(n_rows, n_slices)
        ranks = np.cumsum([least + (number < more) for number in range(n_slices)])[:-1]
        ranks = np.unique(ranks[ranks < n_rows])  # of the first row of every later slice
        edges, below, count = order_statistics(self.stream, column, ranks)
        middle = below + count - (count + 1) // 2  # rank of the middle one of equal values
        return partial(_slice_of, column, edges, middle >= ranks)

    def describe_to(self, estimator: Any) -> None:
        """Set what ``fit`` tells about the columns: their number, names and categories."""
        estimator.categories_, estimator.n_features_in_ = {}, self.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
        if self.columns is not None and self.columns.names is not None:
            estimator.categories_ = dict(self.columns.categories)
            estimator.feature_names_in_ = np.array(self.columns.names, dtype=object)

    def some(self, size: int) -> tuple[Any, Any]:
        """X and y of at most so many rows, drawn with a fixed seed, in memory."""
        chunk, facts = self.stream.take(some_rows(self.stream.n_rows, size)), self.stream.facts
        if facts is not None and facts.kind() == "classes":
            return chunk.x, chunk.y.astype(str)  # classes whatever their labels look like
        return chunk.x, chunk.y


def _changed(change: Callable[[Any], Any], view: View, chunk: Chunk) -> Any:
    return change(view(chunk))


def _count_labels(view: View, chunks: Iterator[Chunk]) -> Counter[float]:
    found: Counter[float] = Counter()
    for chunk in chunks:
        values, counts = np.unique(view(chunk), return_counts=True)
        found.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
    return found


def beside(rows: list[StreamRows]) -> StreamRows:
    """Views of one column each as one view of several."""
    views = partial(_side_by_side, [part.view for part in rows])
    return StreamRows(rows[0].stream, views, np.zeros((1, len(rows))))


def _side_by_side(views: Sequence[View], chunk: Chunk) -> np.ndarray:
    return np.column_stack([view(chunk) for view in views])


def sample_rows(rows: Any) -> Any:
    """All rows, or 1000 drawn with a fixed seed, of an array or a stream."""
    return rows.sample() if isinstance(rows, StreamRows) else rows[sample_positions(len(rows))]


def refuse_with_streams(owner: str, **options: Any) -> None:
    """Refuse options that need all rows in memory, where they are given."""
    for name, value in options.items():
        if value is not None:
            raise TypeError(
                f"{owner} with {name}= needs all rows in memory, but X is read a chunk at a time: "
                f"pass X.compute() if it fits, or a random part of its rows."
            )


def _slice_of(
    column: Change, edges: np.ndarray, inclusive: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """A value belongs to the slice after the edges below it, and after one itself if inclusive."""
    values = column(y)[:, np.newaxis]
    above = (values > edges) | ((values == edges) & inclusive)
    return above.sum(axis=1).astype(np.float64)


def order_statistics(
    stream: Stream, change: Change, ranks: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values of some ranks of a function of the target, found exactly in four visits.

    With them comes how many rows have smaller values, and how many the same. The order statistics
    of floats are found digit by digit: their bits, read as whole numbers, have the same order, and
    a visit counts the rows by the next sixteen bits.
    """
    prefixes, below = np.zeros(len(ranks), np.uint64), np.zeros(len(ranks), np.int64)
    count = np.zeros(len(ranks), np.int64)
    for digit in range(4):
        known = np.unique(prefixes)
        found = stream.total(partial(_count_digits, change, digit, known), inputs=False)
        for place, rank in enumerate(ranks):
            digits = found[np.searchsorted(known, prefixes[place])]
            reached = np.cumsum(digits)
            bucket = int(np.searchsorted(reached, rank - below[place], side="right"))
            below[place] += int(reached[bucket] - digits[bucket])
            count[place] = int(digits[bucket])
            prefixes[place] = (int(prefixes[place]) << 16) | bucket
    return _from_keys(prefixes), below, count


def _count_digits(
    change: Change,
    digit: int,
    prefixes: np.ndarray,
    chunks: Iterator[Chunk],
) -> np.ndarray:
    """Rows of a piece by sixteen bits of their values, among those that begin like each prefix."""
    counts = np.zeros((len(prefixes), 2**16), np.int64)
    shift = np.uint64(48 - 16 * digit)  # digit 0 is the most significant
    for chunk in chunks:
        keys = _keys(change(chunk.y))
        begin = keys >> (shift + np.uint64(16)) if digit else np.zeros_like(keys)
        digits = ((keys >> shift) & np.uint64(2**16 - 1)).astype(np.int64)
        for place, prefix in enumerate(prefixes):
            counts[place] += np.bincount(digits[begin == prefix], minlength=2**16)
    return counts


def _keys(values: np.ndarray) -> np.ndarray:
    """Whole numbers in the order of the floats."""
    bits = np.ascontiguousarray(values + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    sign = bits >> np.uint64(63)
    return np.where(sign == 1, ~bits, bits | np.uint64(1 << 63))


def _from_keys(keys: np.ndarray) -> np.ndarray:
    sign = keys >> np.uint64(63)
    return np.where(sign == 1, keys & np.uint64((1 << 63) - 1), ~keys).view(np.float64)
