"""A target that is read a chunk at a time: facts that add up, its type by them, its views."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import narwhals.stable.v2 as nw
import numpy as np

from depmax.data.checks import require_finite
from depmax.data.chunks import Chunk, Scan, add_up
from depmax.data.columns import (
    ChunkColumns,
    ColumnFacts,
    column_names,
    is_frame,
    is_nominal,
    why_not_numeric,
)
from depmax.data.labels import (
    declared_categories,
    refuse_gaps,
    refuse_roles,
    require_classes,
    require_labelled,
    settle,
    warn_of_order,
)
from depmax.data.stream import Stream, StreamRows, View, order_statistics
from depmax.data.target import (
    Column,
    Indicators,
    SliceEdges,
    TargetKind,
    as_columns,
    present_target,
    read_target,
)

#: Different values of a target that are counted; with more it can only be numbers.
MOST_CLASSES = 1000
#: Outputs up to which the first visit takes their mean and scatter.
FEW_OUTPUTS = 16
#: Rows that are looked at first.
GLANCE = 2000


@dataclass(frozen=True)
class TargetFacts:
    """What decides the type of a target, and what class weights are made of."""

    n_rows: int  # with a target
    n_missing: int
    kinds: frozenset[str]  # of numpy's dtypes: b, i, u, f, U, O, …
    width: int | None  # None: one dimension
    counts: dict[Any, int]  # of different values of one dimension, or of some
    is_counted: bool  # whether these are all of them
    is_binary: bool  # only zeros and ones
    is_declared: bool  # categories
    #: Smallest and largest number of each column; None where they are not numbers.
    ends: tuple[np.ndarray, np.ndarray] | None
    #: Mean of few columns of numbers, and scatter about it, of shapes (q,) and (q, q).
    moments: tuple[np.ndarray, np.ndarray] | None

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")  # infinity is refused once all facts are known
    def of(cls, y: Any) -> TargetFacts:
        """Facts about one chunk."""
        (values, missing), declared = present_target(y), declared_categories(y)
        if declared is not None:
            warn_of_order(declared)
        n_missing = 0 if missing is None else int(missing.sum())
        counts, is_counted = _counted(values) if values.ndim == 1 else ({}, False)
        ends = moments = None
        if values.dtype.kind in "biuf" and len(values):
            columns = as_columns(values)
            ends = columns.min(axis=0), columns.max(axis=0)
            if columns.shape[1] <= FEW_OUTPUTS:
                mean = columns.mean(axis=0)
                moments = mean, (columns - mean).T @ (columns - mean)
        return cls(
            n_rows=len(values),
            n_missing=n_missing,
            kinds=frozenset(values.dtype.kind) if len(values) else frozenset(),
            width=None if values.ndim == 1 else int(values.shape[1]),
            counts=counts,
            is_counted=is_counted,
            is_binary=ends is not None and bool(np.isin(values, (0, 1)).all()),
            is_declared=declared is not None,
            ends=ends,
            moments=moments,
        )

    @np.errstate(over="ignore", invalid="ignore")
    def __add__(self, other: TargetFacts) -> TargetFacts:
        """Facts about the rows of both."""
        n_missing = self.n_missing + other.n_missing
        if not other.n_rows or not self.n_rows:
            return replace(self if self.n_rows else other, n_missing=n_missing)
        if self.width != other.width:
            raise ValueError("y has a different number of columns in one part of the table.")
        counts = {**self.counts}
        for value, count in other.counts.items() if self.is_counted else ():
            counts[value] = counts.get(value, 0) + count
        ends = moments = None
        if self.ends is not None and other.ends is not None:
            low, high = zip(self.ends, other.ends, strict=True)
            ends = np.minimum(*low), np.maximum(*high)
        if self.moments is not None and other.moments is not None:  # each about its own mean
            (mean, scatter), (mean_of_other, more) = self.moments, other.moments
            share, apart = other.n_rows / (self.n_rows + other.n_rows), mean_of_other - mean
            between = self.n_rows * share * np.outer(apart, apart)
            moments = mean + share * apart, scatter + more + between
        return TargetFacts(
            n_rows=self.n_rows + other.n_rows,
            n_missing=n_missing,
            kinds=self.kinds | other.kinds,
            width=self.width,
            counts=counts,
            is_counted=self.is_counted and other.is_counted and len(counts) <= MOST_CLASSES,
            is_binary=self.is_binary and other.is_binary,
            is_declared=self.is_declared or other.is_declared,
            ends=ends,
            moments=moments,
        )

    @property
    def largest(self) -> np.ndarray | None:
        """Largest size of each column of numbers."""
        return None if self.ends is None else np.abs(self.ends).max(axis=0)

    def representative(self) -> np.ndarray:
        """A small target of the same type: its different values, or many of them."""
        numeric = self.kinds <= frozenset("biuf")
        if self.width is not None:
            numbers = [0.0, 1.0] if self.is_binary else [0.0, 2.0]
            return np.array([numbers if numeric else ["text", "text"]])
        if not numeric and len({kind in "biuf" for kind in self.kinds}) > 1:
            raise TypeError("y holds numbers in one part of the table and text in another.")
        if numeric and "f" in self.kinds:
            return np.array([*self.counts], dtype=np.float64)
        return settle(np.array([*self.counts], None if numeric or self.kinds == {"U"} else object))

    def kind(self, **rules: Any) -> TargetKind:
        """The type of the target, decided by ``read_target`` on its different values."""
        require_labelled(self.n_rows, self.n_missing)
        if self.largest is not None:
            require_finite(self.largest[np.newaxis], None, "y")
        found = read_target(self.representative(), is_part=True, **rules).kind
        return "classes" if self.is_declared else found


def _counted(values: np.ndarray) -> tuple[dict[Any, int], bool]:
    """How often each value occurs, or each of some of them, and whether these are all."""
    if values.dtype.kind == "O":
        found = dict(Counter(values.tolist()))
        return found, len(found) <= MOST_CLASSES
    some = np.unique(values[:GLANCE])
    if len(some) > MOST_CLASSES:
        return dict.fromkeys(some.tolist(), 1), False
    distinct, counts = np.unique(values, return_counts=True)
    found = dict(zip(distinct.tolist(), counts.tolist(), strict=True))
    return found, len(found) <= MOST_CLASSES


# --- the first visit ------------------------------------------------------------------------------
@dataclass(frozen=True)
class Survey:
    """What one visit to a table tells."""

    lengths: Mapping[int, int]  # rows of each piece, those without a target not counted
    columns: ColumnFacts | None = None
    target: TargetFacts | None = None

    def __add__(self, other: Survey) -> Survey:
        columns = add_up([self.columns, other.columns])
        target = add_up([self.target, other.target])
        return Survey({**self.lengths, **other.lengths}, columns, target)


def _look(nominal: Sequence[str], number: int, chunks: Iterator[Chunk]) -> Survey:
    """Survey of one piece: its length, levels of its categorical columns, its target."""
    count, columns, target = 0, None, None
    for chunk in chunks:
        known = chunk.n_rows
        if chunk.y is not None:
            more = TargetFacts.of(chunk.y)
            target, known = add_up([target, more]), more.n_rows
        if nominal:
            frame = nw.from_native(chunk.x, eager_only=True).select(nominal)
            columns = add_up([columns, ColumnFacts.of(frame)])
        count += known
    return Survey({number: count}, columns, target)


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
        survey = table.total(partial(_look, nominal), columns=visited)
    if survey is None or sum(survey.lengths.values()) == 0:
        raise ValueError("The table is empty: found 0 sample(s), at least 1 is needed.")
    lengths = [survey.lengths[number] for number in sorted(survey.lengths)]
    return Stream(table, ChunkColumns.like(empty, survey.columns), lengths, survey.target)


# --- the target by its facts ----------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class StreamedY:
    """y of a scanned table: ``read_target`` asks it for its type."""

    stream: Stream
    is_streamed: ClassVar[bool] = True

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and, for several outputs, columns."""
        width = self.stream.facts.width
        return (self.stream.n_rows,) if width is None else (self.stream.n_rows, width)

    def as_target(self, *, semi: bool, minus_one: bool, **rules: Any) -> StreamedTarget:
        """The target by the rules of ``read_target``."""
        facts: TargetFacts = self.stream.facts
        if not semi:
            refuse_gaps(facts.n_missing, facts.n_missing + facts.n_rows)
        kind, distinct = facts.kind(**rules), None
        if facts.is_counted:
            values, counts = facts.representative(), np.array(list(facts.counts.values()))
            if facts.is_declared or values.dtype.kind not in "biuf":
                n_rows, example = facts.n_rows + facts.n_missing, values.tolist()[0]
                declared = facts.is_declared
                refuse_roles(len(values), facts.n_rows, n_rows, example, declared=declared)
            order = np.argsort(values, kind="stable")
            distinct = values[order], counts[order]
            if kind == "classes":
                require_classes(values)
        return StreamedTarget(self.stream, kind, distinct)


@dataclass(frozen=True, eq=False)
class StreamedTarget:
    """What ``Target`` is for a target in memory, without its values."""

    stream: Stream
    kind: TargetKind
    distinct: tuple[np.ndarray, np.ndarray] | None  # values, sorted, and how often each occurs
    is_streamed: ClassVar[bool] = True

    @property
    def n_samples(self) -> int:
        """Number of rows with a target."""
        return self.stream.n_rows

    @property
    def n_columns(self) -> int:
        """Number of outputs."""
        width: int | None = self.stream.facts.width
        return 1 if width is None else width

    @property
    def n_unlabeled(self) -> int:
        """Number of rows without a target, which are not visited."""
        return int(self.stream.facts.n_missing)

    @property
    def classes(self) -> np.ndarray:
        """Distinct labels, sorted."""
        return self._distinct[0]

    @property
    def counts(self) -> np.ndarray:
        """How many rows each class has."""
        return self._distinct[1]

    @property
    def _distinct(self) -> tuple[np.ndarray, np.ndarray]:
        if self.distinct is None:
            raise ValueError(
                f"y has more than {MOST_CLASSES} classes, too many for a table that is read a "
                "chunk at a time: merge rare ones."
            )
        return self.distinct

    @property
    def largest(self) -> np.ndarray:
        """Largest size of each column of numbers."""
        largest: np.ndarray = self.stream.facts.largest
        return largest

    @property
    def is_constant(self) -> bool:
        """Whether all rows have one value, of every output."""
        if self.distinct is not None:
            return len(self.distinct[0]) < 2
        low, high = self.stream.facts.ends
        return bool((low == high).all())

    @cached_property
    def labels(self) -> StreamRows:
        """One label per row, for kernels of labels."""
        if self.n_columns > 1:
            raise ValueError(
                f"A kernel of labels needs one label per row, but y has {self.n_columns} columns."
            )
        is_float = "f" in self.stream.facts.kinds
        view = partial(_of_target, _as_floats if is_float else None)
        return StreamRows(self.stream, view, self.classes[:1], self._distinct)

    @cached_property
    def vectors(self) -> StreamRows:
        """One vector per row, for kernels of vectors, by the rules of ``Target.vectors``."""
        if self.kind == "classes" and self.classes.dtype.kind not in "biuf":
            two = len(self.classes) == 2
            return self.view(Indicators(self.classes, signs=two), 1 if two else len(self.classes))
        return replace(self.view(as_columns, self.n_columns), moments=self.stream.facts.moments)

    def view(self, change: Callable[[np.ndarray], np.ndarray], width: int | None) -> StreamRows:
        """A function of the target; of labels where ``width`` is None."""
        distinct = None
        if self.distinct is not None:
            distinct = change(self.distinct[0]), self.distinct[1]
        example = np.zeros(1) if width is None else np.zeros((1, width))
        return StreamRows(self.stream, partial(_of_target, change), example, distinct)

    def groups(self, n_slices: int) -> list[StreamRows]:
        """One grouping of the rows per output: its classes, or slices of its numbers."""
        if self.kind == "classes":
            return [self.labels]
        columns = [Column(number) for number in range(self.n_columns)]
        if self.kind == "multilabel":
            return [self._grouped(column) for column in columns]
        return [self._grouped(slice_edges(self.stream, column, n_slices)) for column in columns]

    def _grouped(self, change: Callable[[np.ndarray], np.ndarray]) -> StreamRows:
        """Labels that are a function of the target, with the count of each."""
        counted = self.stream.total(partial(_count_labels, change), inputs=False)
        values = np.array(sorted(counted))
        counts = np.array([counted[value] for value in values.tolist()])
        return StreamRows(self.stream, partial(_of_target, change), values[:1], (values, counts))


# --- functions of the target, which may travel to a worker ----------------------------------------
def _of_target(change: Callable[[np.ndarray], np.ndarray] | None, chunk: Chunk) -> np.ndarray:
    y: np.ndarray = chunk.y
    return y if change is None else change(y)


def _as_floats(y: np.ndarray) -> np.ndarray:
    return np.asarray(y, dtype=np.float64)


def _count_labels(
    change: Callable[[np.ndarray], np.ndarray], chunks: Iterator[Chunk]
) -> Counter[float]:
    found: Counter[float] = Counter()
    for chunk in chunks:
        values, counts = np.unique(change(chunk.y), return_counts=True)
        found.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
    return found


def _side_by_side(views: Sequence[View], chunk: Chunk) -> np.ndarray:
    return np.column_stack([view(chunk) for view in views])


def beside(rows: list[StreamRows]) -> StreamRows:
    """Views of one column each as one view of several."""
    views = partial(_side_by_side, [part.view for part in rows])
    return StreamRows(rows[0].stream, views, np.zeros((1, len(rows))))


def slice_edges(stream: Stream, column: Column, n_slices: int) -> SliceEdges:
    """The cuts into slices of nearly equal counts that are made in memory, in four visits."""
    least, more = divmod(stream.n_rows, n_slices)
    ranks = np.cumsum([least + (number < more) for number in range(n_slices)])[:-1]
    ranks = np.unique(ranks[ranks < stream.n_rows])  # of the first row of every later slice
    edges, below, count = order_statistics(stream, column, ranks)
    middle = below + count - (count + 1) // 2  # rank of the middle one of equal values
    return SliceEdges(column, edges, middle >= ranks)
