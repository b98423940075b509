"""Targets y: facts that add up decide their type, in memory and in chunks; views for methods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from depmax._resources import cached_property
from depmax.data.chunks import RowsInChunks
from depmax.data.columns import WIDE, in_narwhals, is_missing
from depmax.data.survival import are_survival_times, require_events, survival_rows
from depmax.data.table import refuse_unreadable, require_finite
from depmax.data.target_messages import (
    refuse_gaps,
    refuse_identifiers,
    refuse_mixed,
    refuse_nested,
    refuse_ragged,
    refuse_streamed_times,
    refuse_unknown_types,
    warn_of_order,
    warn_of_survival,
)
from depmax.kernels.censored import Censored
from depmax.kernels.kernel import count_distinct, object_array

if TYPE_CHECKING:
    from depmax.data.stream import StreamRows

TargetKind = Literal["classes", "numbers", "multilabel", "multioutput", "censored"]
#: What is to be predicted, where the type of the target is not to be guessed.
Task = Literal["auto", "classification", "regression"]
TASKS = ("auto", "classification", "regression")
#: Whole numbers with more distinct values than this are numbers, with fewer they are classes.
MAX_INTEGER_CLASSES = 20
#: Different values of a target in chunks that are counted; with more it can only be numbers.
MOST_CLASSES = 1000


@dataclass(frozen=True)
class TargetFacts:
    """What decides the type of a target, and what class weights are made of."""

    n_rows: int  # with a target
    n_missing: int
    kinds: frozenset[str]  # of numpy's dtypes: b, i, u, f, U, O, …
    width: int | None  # None: one dimension
    counts: dict[Any, int]  # of different values of one dimension, or of some
    is_counted: bool  # whether these are all of them
    is_binary: bool  # whether several columns hold only zeros and ones
    is_declared: bool  # whether a column of categories

    @classmethod
    def of(
        cls, present: np.ndarray, n_missing: int, declared: bool, most: float = MOST_CLASSES
    ) -> TargetFacts:
        """Facts about the rows of a chunk that have a target, and up to so many values of it."""
        counts, width, is_binary = {}, None, False
        if present.ndim == 1:
            counts = count_values(present, most)
        else:
            numbers, width = as_columns(present), int(present.shape[1])
            is_binary = bool(((numbers == 0.0) | (numbers == 1.0)).all())
        kinds = frozenset(present.dtype.kind if len(present) else "")
        is_counted = len(counts) <= most
        return cls(len(present), n_missing, kinds, width, counts, is_counted, is_binary, declared)

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
        return TargetFacts(
            self.n_rows + other.n_rows,
            n_missing,
            self.kinds | other.kinds,
            self.width,
            counts,
            self.is_counted and other.is_counted and len(counts) <= MOST_CLASSES,
            self.is_binary and other.is_binary,
            self.is_declared or other.is_declared,
        )

    @cached_property
    def values(self) -> np.ndarray:
        """The different values of one dimension that were counted, as an array of their type."""
        numeric = self.kinds <= frozenset("biuf")
        if not numeric and len({kind in "biuf" for kind in self.kinds}) > 1:
            raise TypeError("y holds numbers in one part of the table and text in another.")
        if numeric and "f" in self.kinds:
            return np.array([*self.counts], dtype=np.float64)
        known = numeric or self.kinds == {"U"}
        return np.array([*self.counts]) if known else settle(object_array([*self.counts]))

    @cached_property
    def distinct(self) -> tuple[np.ndarray, np.ndarray]:
        """These values, sorted, and how often each occurs."""
        order = np.argsort(self.values, kind="stable")
        return self.values[order], np.array([*self.counts.values()], dtype=np.int64)[order]

    def kind(self, whole_classes: bool = False, task: Task = "auto") -> TargetKind:
        """The type of the target by the rules of ``read_target``, or the one the task requests."""
        if self.width is not None:
            if task == "classification" and not self.is_binary:
                raise ValueError(
                    "task='classification' needs one label per row, or several as zeros and ones, "
                    f"but y has {self.width} columns of other numbers."
                )
            return "multilabel" if self.is_binary and task != "regression" else "multioutput"
        values, most = self.values, float(MAX_INTEGER_CLASSES)
        if values.dtype.kind == "O":
            refuse_mixed(values)
        is_number = values.dtype.kind in "iuf"
        if task == "regression":
            if values.dtype.kind not in "biuf":
                raise ValueError(
                    f"task='regression' needs numbers, but y holds other values, such as "
                    f"{values.tolist()[0]!r}."
                )
            return "numbers"
        if self.is_declared or not is_number or task == "classification":
            return "classes"
        if values.dtype.kind == "f" and not (whole_classes and (values == np.rint(values)).all()):
            most = 2
        return "numbers" if len(values) > most else "classes"

    def has_marks(self, whole_classes: bool) -> bool:
        """Whether -1 marks unlabelled rows: among classes, unless these are -1 and +1."""
        if self.width is not None or not self.kinds <= frozenset("iufO"):
            return False
        others = {value: count for value, count in self.counts.items() if not is_mark(value)}
        if len(others) == len(self.counts) or all(value == 1 for value in others):
            return False
        # Three floats are numbers, even -1, 0 and 1; elsewhere a mark is not one of the values.
        is_value = self.values.dtype.kind == "f" and not whole_classes
        deciding = self if is_value else replace(self, counts=others)
        return deciding.kind(whole_classes) == "classes"

    def refuse_identifiers(self) -> None:
        """Refuse categories of one row each, and text that is no class by the rule for X."""
        declared = self.is_declared
        if self.is_counted and (declared or self.values.dtype.kind not in "biuf"):
            n_rows, example = self.n_rows + self.n_missing, next(iter(self.counts), "")
            refuse_identifiers(len(self.counts), self.n_rows, n_rows, example, declared=declared)


@dataclass(frozen=True, eq=False)
class Target:
    """A target, its type, and which rows are labelled, in memory or read a chunk at a time."""

    kind: TargetKind
    #: Labels of shape (n_samples,) for classes, else floats of shape (n_samples, n_outputs), of
    #: survival times the coordinates of ``Censored``; or what reads them a chunk at a time.
    values: Any
    #: Whether each row has a label; of a table in chunks only rows that have one are visited.
    labelled: np.ndarray
    facts: TargetFacts | None = None  # about all rows
    times: np.ndarray | None = None  # rows (event, time) of survival times

    @classmethod
    def of_times(cls, times: np.ndarray, weight: np.ndarray | None = None) -> Target:
        """Survival times, where each row counts by its weight."""
        values = Censored().resolve(times, sample_weight=weight).features(times)
        return cls("censored", values, np.ones(len(times), dtype=bool), times=times)

    def weighed(self, weight: np.ndarray | None) -> Target:
        """The target where rows count by weights: of survival times other values."""
        if weight is None or self.times is None:
            return self
        return Target.of_times(self.times, weight)

    @property
    def n_unlabeled(self) -> int:
        """Number of rows without a label."""
        return int((~self.labelled).sum()) if self.facts is None else self.facts.n_missing

    @property
    def is_streamed(self) -> bool:
        """Whether values are read a chunk at a time."""
        return isinstance(self.values, RowsInChunks)

    def take(self, rows: np.ndarray) -> Target:
        """Some of the rows in memory; the type stays that of the whole."""
        times = None if self.times is None else self.times[rows]
        return Target(self.kind, self.values[rows], self.labelled[rows], times=times)

    @property
    def n_samples(self) -> int:
        """Number of rows, labelled or not, that are visited."""
        return int(self.values.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of outputs."""
        return 1 if self.values.ndim == 1 else int(self.values.shape[1])

    @cached_property
    def _distinct(self) -> tuple[np.ndarray, np.ndarray]:
        facts = self.facts
        if facts is not None and facts.width is None and facts.is_counted:
            values, counts = facts.distinct
            return values.astype(self.values.dtype, copy=False), counts
        if self.is_streamed:
            raise ValueError(
                f"y has more than {MOST_CLASSES} classes, too many for a table that is read a "
                "chunk at a time: merge rare ones."
            )
        values = self.values[self.labelled] if self.n_unlabeled else self.values
        return count_distinct(values)

    @property
    def classes(self) -> np.ndarray:
        """Distinct labels of the labelled rows, sorted."""
        return self._distinct[0]

    @property
    def counts(self) -> np.ndarray:
        """How many rows each class has."""
        return self._distinct[1]

    @property
    def largest(self) -> np.ndarray:
        """Largest size of each column of numbers."""
        ends = self.values.stream.numbers.ends if self.is_streamed else self.values
        return np.asarray(np.abs(ends).max(axis=0))

    @property
    def is_constant(self) -> bool:
        """Whether all rows have one value, of every output."""
        if not self.is_streamed:
            return bool((self.values == self.values[0]).all())
        if self.values.distinct is not None:
            return len(self.classes) < 2
        low, high = self.values.stream.numbers.ends
        return bool((low == high).all())

    @cached_property
    def labels(self) -> Any:
        """One label per row, for kernels of labels."""
        if self.n_columns > 1:
            what = f"y has {self.n_columns} columns" if self.times is None else "y holds times"
            raise ValueError(f"A kernel of labels needs one label per row, but {what}.")
        if not self.is_streamed:
            return self.values if self.values.ndim == 1 else self.values[:, 0]
        is_float = self.classes.dtype.kind == "f"
        labels = self.values.changed(np.float64) if is_float else self.values
        return replace(labels, example=self.classes[:1])

    @cached_property
    def vectors(self) -> Any:
        """One vector per row, for kernels of vectors.

        Numbers stay as they are; two text classes become -1 and +1, more become indicators.
        """
        if self.kind == "classes" and self.values.dtype.kind not in "biuf":
            two = len(self.classes) == 2
            return self.view(Indicators(self.classes, signs=two), 1 if two else len(self.classes))
        vectors = self.view(as_columns, self.n_columns)
        if self.is_streamed:
            vectors = replace(vectors, moments=self.values.stream.numbers.moments)
        return vectors

    def view(self, change: Callable[[np.ndarray], np.ndarray], width: int | None) -> Any:
        """A function of the target, with so many columns; of labels where ``width`` is None."""
        return self.values.changed(change, width) if self.is_streamed else change(self.values)

    def groups(self, n_slices: int) -> list[StreamRows]:
        """One grouping of the rows in chunks per output: its classes, or slices of its numbers."""
        if self.kind == "classes":
            return [self.labels]
        columns: list[Any] = [partial(column_of, number) for number in range(self.n_columns)]
        if self.kind != "multilabel":
            columns = [self.values.sliced(column, n_slices) for column in columns]
        return [self.values.grouped(column) for column in columns]


def read_target(
    y: Any,
    *,
    semi: bool = False,
    minus_one: bool = False,
    whole_classes: bool = False,
    task: Task = "auto",
    is_part: bool = False,
) -> Target:
    """Target from an array, a series, a frame, a sparse indicator matrix, or a table in chunks.

    Text, booleans and categories are classes; floats with more than two values are numbers, even
    when whole; integers are classes up to 20 distinct values; a 2-D target of zeros and ones is
    multi-label, any other 2-D target multi-output. A structured array of a boolean and a number, or
    a frame of the columns ``event`` and ``time``, holds survival times, of which some are censored.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), or y of ``aligned``
    semi : bool
        Whether rows may be unlabelled: NaN or None. If not, a missing value is refused.
    minus_one : bool
        With ``semi``: whether -1 marks an unlabelled row too, where y holds classes other than -1
        and +1. It does not count among the 20 distinct values. Among numbers it is a number.
    whole_classes : bool
        Whether up to 20 distinct whole numbers are classes as floats too.
    task : {"auto", "classification", "regression"}
        Classes or labels, numbers, or by the rules above.
    is_part : bool
        Whether y is a part of a target, or follows a fit: a class may then have a single row.
    """
    if task not in TASKS:
        raise ValueError(f"task must be one of {', '.join(map(repr, TASKS))}, got {task!r}.")
    rules: Any = {"semi": semi, "whole_classes": whole_classes, "task": task, "is_part": is_part}
    if isinstance(y, RowsInChunks):
        return _in_chunks(y, **rules)
    refuse_unreadable(y, "y")
    is_plain = isinstance(y, np.ndarray) and y.dtype.names is None
    if not is_plain and (times := survival_rows(y)) is not None:
        return _censored(times, task, is_part)
    array, series = target_array(y), declared_categories(y)
    if array.ndim not in (1, 2):
        raise ValueError(f"y must have one or two dimensions, got shape {array.shape}.")
    if array.size == 0:
        raise ValueError(
            f"y has no columns: its shape is {array.shape}."
            if len(array)
            else "y is empty: found 0 sample(s), at least 1 is needed."
        )
    missing = missing_rows(array)
    if not semi and array.ndim == 2 and array.dtype.kind == "f" and missing.any():
        require_finite(array, None, "y")  # names the output
    present, facts = _looked_at(array, missing, series is not None)
    if semi and minus_one and facts.has_marks(whole_classes):
        missing |= np.array([is_mark(item) for item in array.tolist()], dtype=bool)
        present, facts = _looked_at(array, missing, series is not None)
    kind = decide(facts, series, **rules)
    return Target(kind, _values(array, present, missing, kind, task), ~missing, facts)


def _censored(times: np.ndarray, task: Task, is_part: bool) -> Target:
    if task != "auto":
        raise ValueError(f"task={task!r} is not for survival times, as y holds: omit it.")
    if not is_part:
        require_events(times)
    return Target.of_times(times)


def decide(
    facts: TargetFacts, series: Any, *, semi: bool, whole_classes: bool, task: Any, is_part: bool
) -> TargetKind:
    """The type of a target by facts; ``series`` is a column of categories, if it is one."""
    if facts.n_missing and not semi:
        refuse_gaps(facts.n_missing, facts.n_missing + facts.n_rows)
    kind = facts.kind(whole_classes, task)
    if kind == "classes" and not is_part:
        facts.refuse_identifiers()
        if series is not None:
            warn_of_order(series)
    return kind


def _in_chunks(y: Any, **rules: Any) -> Target:
    """A target whose values are not held, but for those that were counted."""
    facts, numbers, distinct = y.stream.facts, y.stream.numbers, None
    kind = decide(facts, declared_categories(y.stream.table.empty.y), **rules)
    if numbers is not None:
        require_finite(np.abs(numbers.ends).max(axis=0)[np.newaxis], None, "y")
    if facts.width is None and facts.is_counted:
        distinct = facts.distinct
        if kind == "classes":
            require_classes(distinct[0])
    example = y.example if facts.width is not None else facts.values[:1]
    values = replace(y, distinct=distinct, example=example)
    return Target(kind, values, np.ones(0, dtype=bool), facts)


def _looked_at(
    array: np.ndarray, missing: np.ndarray, declared: bool
) -> tuple[np.ndarray, TargetFacts]:
    """The rows in memory that have a target, and facts about them."""
    n_missing = int(np.count_nonzero(missing))
    present = settle(array[~missing] if n_missing else array)
    is_number = present.dtype.kind in "iuf" and not declared
    most = MAX_INTEGER_CLASSES + 1 if is_number else np.inf  # one may be a mark
    return present, TargetFacts.of(present, n_missing, declared, most)


def _values(
    array: np.ndarray, present: np.ndarray, missing: np.ndarray, kind: TargetKind, task: Task
) -> np.ndarray:
    """Labels as they are, numbers as columns of floats; NaN where they are missing."""
    complete = len(present) == len(array)
    if array.ndim == 2 or present.dtype.kind == "f" or kind == "numbers":
        numbers = as_columns(array)
        require_finite(numbers if complete else numbers[~missing], None, "y")
        if array.dtype.kind in "iu" and np.ptp(numbers) == 0 and array.min() < array.max():
            raise ValueError(
                f"y holds whole numbers around {numbers.flat[0]:.3g}, whose differences are lost "
                "in double precision: pass y - y.min()."
            )
        array = numbers if array.ndim == 2 or kind == "numbers" else numbers[:, 0]
    elif array.dtype.kind == "O" and present.dtype.kind in "iu":
        array = as_columns(array)[:, 0]  # missing whole numbers are NaN
    if task == "classification" and array.dtype.kind == "f" and array.ndim == 1 and complete:
        whole = bool((array == np.floor(array)).all()) and np.abs(array).max() < 2**53
        array = array.astype(np.int64) if whole else array
    return array


def marks_unlabeled(unlabeled: Any, beta: Any) -> bool:
    """Whether -1 may mark an unlabelled row: only where a weight ``beta`` > 0 uses such rows.

    Examples
    --------
    >>> marks_unlabeled("auto", 0.2), marks_unlabeled("auto", 0.0), marks_unlabeled(None, 0.2)
    (True, False, False)
    """
    if unlabeled is not None and not (isinstance(unlabeled, str) and unlabeled == "auto"):
        raise ValueError(f"unlabeled must be 'auto' or None, got {unlabeled!r}.")
    return unlabeled == "auto" and isinstance(beta, Real) and float(beta) > 0


# --- values of one type ---------------------------------------------------------------------------
def target_array(y: Any) -> np.ndarray:
    """Target as an array of one or two dimensions, of one type where its values have one."""
    if y is None:
        raise ValueError(
            "This method requires y to be passed, but the target y is None: it is supervised."
        )
    array = y if type(y) is np.ndarray and y.dtype.kind != "O" else _as_array(y)
    if array.dtype.kind == "V" and survival_rows(array) is not None:
        refuse_streamed_times()
    if array.dtype.kind in "mMcVO":
        refuse_unknown_types(array)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _as_array(y: Any) -> np.ndarray:
    if sparse.issparse(y):
        return y.toarray()
    native = in_narwhals(y, eager_only=True, allow_series=True)
    if isinstance(native, nw.Series):
        return _of_series(native)
    if isinstance(native, nw.DataFrame):
        if are_survival_times(native):  # of a table in memory, read_target has read them
            refuse_streamed_times()
        columns = [_of_series(series) for series in native.iter_columns()]
        if len(columns) == 2:
            warn_of_survival(native)
        return columns[0] if len(columns) == 1 else np.column_stack(columns)
    try:
        array = np.asarray(y)  # not a subclass such as np.matrix
    except ValueError as error:
        refuse_ragged(error)
    if array.dtype.kind == "O" and array.ndim == 1:
        return settle(array)
    return array


def _of_series(series: Any) -> np.ndarray:
    """Numbers as they are; text, categories and whole numbers with gaps as settled objects."""
    gaps = series.dtype.is_integer() and series.null_count() > 0
    if series.dtype.is_numeric() and not gaps and not isinstance(series.dtype, WIDE):
        return series.to_numpy()
    if series.null_count() == 0 and series.dtype == nw.Boolean:
        return series.to_numpy().astype(bool, copy=False)
    if series.null_count() == 0 and series.dtype == nw.String:
        return np.array(series.to_list(), dtype=str)
    refuse_nested(series)
    cells = series.to_list()
    if isinstance(series.dtype, nw.Categorical | nw.Enum):  # levels may be intervals, or dates
        plain = str | bool | int | float | np.generic
        cells = [c if isinstance(c, plain) or is_missing(c) else str(c) for c in cells]
    return settle(object_array(cells))


def declared_categories(y: Any) -> nw.Series[Any] | None:
    """A series of categories, whose levels may be numbers, as narwhals'; None for any other y."""
    if isinstance(y, np.ndarray):
        return None
    native = in_narwhals(y, eager_only=True, allow_series=True)
    if isinstance(native, nw.DataFrame) and len(native.columns) == 1:
        native = next(native.iter_columns())
    declared = isinstance(native, nw.Series) and isinstance(native.dtype, nw.Categorical | nw.Enum)
    return native if declared else None


def settle(array: np.ndarray) -> np.ndarray:
    """Objects of one type as an array of that type; whole numbers with gaps stay objects."""
    if array.dtype.kind != "O" or array.ndim != 1:
        return array
    present = [item for item in array if not is_missing(item)]
    types = {_type_of(item) for item in present}
    complete = len(present) == len(array)
    if types <= {int, float} and float in types:
        return np.array([np.nan if is_missing(item) else item for item in array], dtype=np.float64)
    if complete and len(types) == 1 and types <= {bool, int, str}:
        try:
            return array.astype(types.pop())
        except OverflowError:
            raise ValueError(
                f"The whole number {max(present, key=abs)} takes more than 64 bits: pass labels as "
                "text, and numbers as floats."
            ) from None
    return array


def _type_of(item: Any) -> type:
    """The built-in type that numpy's and Python's own objects share."""
    families = (
        (bool, bool | np.bool_),
        (int, int | np.integer),
        (float, float | np.floating | Decimal | Fraction),
    )
    return next((kind for kind, family in families if isinstance(item, family)), type(item))


def missing_rows(array: np.ndarray) -> np.ndarray:
    """Which rows have no value: NaN or None."""
    if array.dtype.kind == "f":
        absent = np.isnan(array)
    elif array.dtype.kind == "O":
        absent = np.array([is_missing(item) for item in array.flat]).reshape(array.shape)
    else:
        absent = np.zeros(array.shape, dtype=bool)
    return absent.any(axis=1) if absent.ndim == 2 else absent


def present_target(y: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """The target of a chunk on the rows that have one, and which have none; None if all have."""
    is_double = str(getattr(y, "type", "")) == "double"  # a column of an Arrow table
    array = y.to_numpy() if is_double else target_array(y)
    missing = missing_rows(array)
    return (settle(array[~missing]), missing) if missing.any() else (array, None)


def require_classes(classes: np.ndarray) -> None:
    """Refuse a single class."""
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only ({classes.tolist()[0]!r}): nothing can depend on a constant. At "
            "least two classes are needed."
        )


def column_of(number: int, y: np.ndarray) -> np.ndarray:
    """One column of a target, of shape (n,)."""
    return as_columns(y)[:, number]


def as_columns(array: np.ndarray) -> np.ndarray:
    """Numbers as columns of floats, NaN where a value is missing."""
    if array.dtype.kind == "O":
        array = np.where(np.vectorize(is_missing, otypes=[bool])(array), np.nan, array)
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            "A target with several columns must be numeric: encode its text columns first."
        ) from error
    return numbers[:, np.newaxis] if numbers.ndim == 1 else numbers


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


def count_values(values: np.ndarray, most: float) -> dict[Any, int]:
    """How often each value occurs, or each of some of them, more than so many."""
    if values.dtype.kind in "OU":
        return dict(Counter(values.tolist()))
    if len(values) > most:  # some rows often show that there are many
        some = np.unique(values[:: 1 + int(len(values) // (2 * most))])
        if len(some) > most:
            return dict.fromkeys(some[: int(most) + 1].tolist(), 1)
    found = count_distinct(values)
    return dict(zip(found[0].tolist(), found[1].tolist(), strict=True))


def is_mark(value: Any) -> bool:
    """Whether a label is -1, which may mark an unlabelled row."""
    return isinstance(value, Real) and value == -1


def is_flat(y: Any) -> bool:
    """Whether y has one dimension, and is no record of survival times, which has several values."""
    shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    return len(shape) == 1 and not getattr(getattr(y, "dtype", None), "names", None)


def label_type(classes: np.ndarray, like: Any) -> np.ndarray:
    """Classes as objects if y holds objects, as scikit-learn's classifiers return them.

    Examples
    --------
    >>> label_type(np.array(["a", "b"]), np.array(["b", "a"], dtype=object))
    array(['a', 'b'], dtype=object)
    """
    return classes.astype(object) if np.asarray(like).dtype.kind == "O" else classes


#: A ``Target``, or a ``StreamedTarget``, which answers the same questions.
AnyTarget = Any
