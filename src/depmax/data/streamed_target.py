"""A target that is read a chunk at a time: its type, its values for kernels, its slices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from depmax.data.labels import refuse_roles
from depmax.data.pieces import Block, add_up
from depmax.data.stream import Stream, StreamRows, TargetView, View
from depmax.data.survey import MOST_CLASSES
from depmax.data.target import TargetKind, read_target


@dataclass(frozen=True, eq=False)
class StreamedTarget:
    """What ``Target`` is for a target in memory, without its values."""

    stream: Stream
    kind: TargetKind
    distinct: tuple[np.ndarray, np.ndarray] | None  # values, sorted, and how often each occurs
    n_columns: int
    is_float: bool
    is_streamed = True

    @property
    def n_samples(self) -> int:
        """Number of rows with a target."""
        return self.stream.n_rows

    @property
    def n_unlabeled(self) -> int:
        """Number of rows without one, which are not visited."""
        facts = self.stream.survey.target
        return 0 if facts is None else facts.n_missing

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

    @cached_property
    def labels(self) -> StreamRows:
        """One label per row, for kernels of labels."""
        if self.n_columns > 1:
            raise ValueError(
                f"A kernel of labels needs one label per row, but y has {self.n_columns} columns."
            )
        change = _as_floats if self.is_float else None
        values, counts = self._distinct
        return StreamRows(self.stream, TargetView(change), values[:1], (values, counts))

    @cached_property
    def vectors(self) -> StreamRows:
        """One vector per row, for kernels of vectors, by the rules of ``Target.vectors``."""
        numeric = self.kind != "classes" or self.classes.dtype.kind in "biuf"
        change: Callable[[np.ndarray], np.ndarray] = as_columns
        distinct = None
        if not numeric:
            change = Indicators(self.classes, signs=len(self.classes) == 2)
        if self.distinct is not None and self.n_columns == 1:
            distinct = change(self.distinct[0]), self.distinct[1]
        example = np.zeros((1, self.n_columns)) if numeric else change(self.classes[:1])
        facts, moments = self.stream.survey.target, None
        if numeric and facts is not None and facts.mean is not None and facts.scatter is not None:
            moments = facts.mean, facts.scatter
        return StreamRows(self.stream, TargetView(change), example, distinct, moments)

    def view(self, change: Callable[[np.ndarray], np.ndarray], width: int | None) -> StreamRows:
        """A function of the target; of labels where ``width`` is None."""
        distinct = None
        if self.distinct is not None and self.n_columns == 1:
            distinct = change(self.distinct[0]), self.distinct[1]
        example = np.zeros(1) if width is None else np.zeros((1, width))
        return StreamRows(self.stream, TargetView(change), example, distinct)

    @property
    def is_constant(self) -> bool:
        """Whether all rows have one value, of every output."""
        if self.distinct is not None and self.n_columns == 1:
            return len(self.distinct[0]) < 2
        seen = self.stream.total(_look_at_range, inputs=False)
        return bool((seen.low == seen.high).all())

    @property
    def largest(self) -> np.ndarray:
        """Largest size of each column of numbers."""
        facts = self.stream.survey.target
        assert facts is not None
        assert facts.largest is not None
        return facts.largest

    def groups(self, n_slices: int) -> list[StreamRows]:
        """One grouping of the rows per output: its classes, or slices of its numbers."""
        if self.kind == "classes":
            return [self.labels]
        if self.kind == "multilabel":
            columns = [Column(number) for number in range(self.n_columns)]
            return [self._grouped(column) for column in columns]
        edges = (edges_of(self.stream, column, n_slices) for column in range(self.n_columns))
        return [self._grouped(found) for found in edges]

    def _grouped(self, change: Callable[[np.ndarray], np.ndarray]) -> StreamRows:
        """Labels that are a function of the target, with the count of each."""
        counted = self.stream.total(CountLabels(change), inputs=False)
        values = np.array(sorted(counted.counts))
        counts = np.array([counted.counts[value] for value in values.tolist()])
        return StreamRows(self.stream, TargetView(change), values[:1], (values, counts))


def streamed_target(
    stream: Stream, *, semi: bool, minus_one: bool, whole_classes: bool, task: Any
) -> StreamedTarget:
    """The target of a stream, its type decided by ``read_target`` on its different values."""
    facts = stream.survey.target
    assert facts is not None
    if facts.n_missing and not semi:
        raise ValueError(
            f"y is missing (NaN or None) in {facts.n_missing} of "
            f"{facts.n_missing + facts.n_rows} rows: drop these rows, or use an estimator with a "
            "beta parameter, which learns from unlabelled rows."
        )
    if facts.n_rows == 0:
        raise ValueError(
            f"y has no labelled rows: all {facts.n_missing} are missing. Label some rows, or use "
            "an unsupervised method such as PCA."
        )
    if facts.largest is not None:
        read_target(facts.largest)  # refuses infinity and what overflows
    values = facts.representative()
    small = read_target(values, whole_classes=whole_classes, task=task, is_part=True)
    kind: TargetKind = "classes" if facts.categorical else small.kind
    distinct = None
    if facts.counts is not None:
        if facts.categorical or values.dtype.kind not in "biuf":
            n_rows = facts.n_rows + facts.n_missing
            example = values.tolist()[0]
            refuse_roles(len(values), facts.n_rows, n_rows, example, declared=facts.categorical)
        order = np.argsort(values, kind="stable")
        counts = np.array(list(facts.counts.values()))
        distinct = values[order], counts[order]
    if kind == "classes" and distinct is not None and len(distinct[0]) < 2:
        raise ValueError(
            f"y has one class only ({distinct[0].tolist()[0]!r}): nothing can depend on a "
            "constant. At least two classes are needed."
        )
    width = 1 if facts.width is None else facts.width
    return StreamedTarget(stream, kind, distinct, width, "f" in facts.kinds)


@dataclass(frozen=True)
class _Range:
    """Smallest and largest number of every output."""

    low: np.ndarray
    high: np.ndarray

    def __add__(self, other: _Range) -> _Range:
        return _Range(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def _look_at_range(blocks: Iterator[Block]) -> _Range | None:
    parts = (as_columns(block.y) for block in blocks)
    return add_up(_Range(part.min(axis=0), part.max(axis=0)) for part in parts)


def as_columns(y: np.ndarray) -> np.ndarray:
    """Numbers as columns of floats."""
    values = np.asarray(y, dtype=np.float64)
    return values[:, np.newaxis] if values.ndim == 1 else values


def _as_floats(y: np.ndarray) -> np.ndarray:
    return np.asarray(y, dtype=np.float64)


@dataclass(frozen=True)
class Indicators:
    """One column of zeros and ones per class; with ``signs``, of two classes -1 and +1."""

    classes: np.ndarray  # sorted
    signs: bool = False

    def __call__(self, y: np.ndarray) -> np.ndarray:
        """Of shape (n, n_classes) or (n, 1)."""
        codes = np.searchsorted(self.classes, y)
        if self.signs:
            return np.where(codes == 1, 1.0, -1.0)[:, np.newaxis]
        return np.eye(len(self.classes))[codes]


@dataclass(frozen=True)
class Column:
    """One column of the target as labels."""

    number: int

    def __call__(self, y: np.ndarray) -> np.ndarray:
        """Of shape (n,)."""
        return as_columns(y)[:, self.number]


@dataclass(frozen=True)
class LabelCounts:
    """How often each label occurs."""

    counts: dict[float, int]

    def __add__(self, other: LabelCounts) -> LabelCounts:
        labels = {*self.counts, *other.counts}
        return LabelCounts(
            {label: self.counts.get(label, 0) + other.counts.get(label, 0) for label in labels}
        )


@dataclass(frozen=True)
class CountLabels:
    """Count labels that are a function of the target."""

    change: Callable[[np.ndarray], np.ndarray]

    def __call__(self, blocks: Iterator[Block]) -> LabelCounts:
        """Counts of one piece."""
        found = LabelCounts({})
        for block in blocks:
            values, counts = np.unique(self.change(block.y), return_counts=True)
            found += LabelCounts(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        return found


@dataclass(frozen=True)
class SideBySide:
    """Several views of the target of one column each, as columns."""

    views: tuple[View, ...]
    of_inputs: ClassVar[bool] = False

    def __call__(self, block: Block) -> np.ndarray:
        """Of shape (n, n_views)."""
        return np.column_stack([view(block) for view in self.views])


def beside(rows: list[StreamRows]) -> StreamRows:
    """Views of one column each as one view of several."""
    view = SideBySide(tuple(part.view for part in rows))
    return StreamRows(rows[0].stream, view, np.zeros((1, len(rows))))


# --- slices ---------------------------------------------------------------------------------------
@dataclass(frozen=True)
class SliceEdges:
    """Cuts between slices of one column: a value belongs to the slice after the edges below it."""

    column: int
    edges: np.ndarray  # sorted
    inclusive: np.ndarray  # whether the value of an edge itself belongs to the slice above it

    def __call__(self, y: np.ndarray) -> np.ndarray:
        """Number of the slice of every row, of shape (n,)."""
        values = as_columns(y)[:, self.column]
        above = values[:, np.newaxis] > self.edges
        above |= (values[:, np.newaxis] == self.edges) & self.inclusive
        return above.sum(axis=1).astype(np.float64)


def edges_of(stream: Stream, column: int, n_slices: int) -> SliceEdges:
    """The cuts that ``sliced`` makes in memory, found exactly in four visits to the target.

    An order statistic of floats is found digit by digit: their bits, read as whole numbers, have
    the same order, and a visit counts the rows by the next sixteen bits.
    """
    least, more = divmod(stream.n_rows, n_slices)
    sizes = [least + (number < more) for number in range(n_slices)]
    ranks = np.cumsum(sizes)[:-1]
    ranks = np.unique(ranks[ranks < stream.n_rows])  # of the first row of every later slice
    prefixes, below = np.zeros(len(ranks), np.uint64), np.zeros(len(ranks), np.int64)
    count = np.zeros(len(ranks), np.int64)
    for digit in range(4):
        found = stream.total(CountDigits(column, digit, np.unique(prefixes)), inputs=False)
        for place, rank in enumerate(ranks):
            digits = found.counts[int(prefixes[place])]
            reached = np.cumsum(digits)
            bucket = int(np.searchsorted(reached, rank - below[place], side="right"))
            below[place] += int(reached[bucket] - digits[bucket])
            count[place] = int(digits[bucket])
            prefixes[place] = (int(prefixes[place]) << 16) | bucket
    middle = below + count - (count + 1) // 2  # rank of the middle one of equal values
    edges = _from_keys(prefixes)
    return SliceEdges(column, edges, middle >= ranks)


@dataclass(frozen=True)
class DigitCounts:
    """Rows by their next digit, for every beginning that is asked about."""

    counts: dict[int, np.ndarray]

    def __add__(self, other: DigitCounts) -> DigitCounts:
        return DigitCounts(
            {prefix: counts + other.counts[prefix] for prefix, counts in self.counts.items()}
        )


@dataclass(frozen=True)
class CountDigits:
    """Count values by sixteen of their bits, among those that begin alike."""

    column: int
    digit: int  # 0 is the most significant
    prefixes: np.ndarray

    def __call__(self, blocks: Iterator[Block]) -> DigitCounts:
        """Counts of one piece."""
        counts = {int(prefix): np.zeros(2**16, np.int64) for prefix in self.prefixes}
        shift = np.uint64(48 - 16 * self.digit)
        for block in blocks:
            keys = _keys(as_columns(block.y)[:, self.column])
            begin = keys >> (shift + np.uint64(16)) if self.digit else np.zeros_like(keys)
            digits = ((keys >> shift) & np.uint64(2**16 - 1)).astype(np.int64)
            for prefix, found in counts.items():
                found += np.bincount(digits[begin == np.uint64(prefix)], minlength=2**16)
        return DigitCounts(counts)


def _keys(values: np.ndarray) -> np.ndarray:
    """Whole numbers in the order of the floats."""
    bits = np.ascontiguousarray(values + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    sign = bits >> np.uint64(63)
    return np.where(sign == 1, ~bits, bits | np.uint64(1 << 63))


def _from_keys(keys: np.ndarray) -> np.ndarray:
    sign = keys >> np.uint64(63)
    return np.where(sign == 1, keys & np.uint64((1 << 63) - 1), ~keys).view(np.float64)
