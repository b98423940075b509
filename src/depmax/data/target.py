"""Targets y: what type they are, which rows are labelled, and how methods see them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np

from depmax._arrays import count_integers
from depmax.data.checks import require_finite
from depmax.data.columns import is_missing
from depmax.data.labels import (
    declared_categories,
    missing_rows,
    refuse_gaps,
    refuse_identifiers,
    refuse_mixed,
    settle,
    target_array,
    warn_of_order,
)
from depmax.data.table import refuse_unreadable

TargetKind = Literal["classes", "numbers", "multilabel", "multioutput"]
#: What is to be predicted, where the type of the target is not to be guessed.
Task = Literal["auto", "classification", "regression"]
TASKS = ("auto", "classification", "regression")

#: Whole numbers with more distinct values than this are numbers, with fewer they are classes.
MAX_INTEGER_CLASSES = 20

#: Rows that are looked at first.
GLANCE = 1000


@dataclass(frozen=True)
class Target:
    """A target, its type, and which rows are labelled."""

    kind: TargetKind
    #: Labels of shape (n_samples,) for classes, else floats of shape (n_samples, n_outputs).
    values: np.ndarray
    #: Whether each row has a label.
    labelled: np.ndarray
    #: Whether values are read a chunk at a time.
    is_streamed: ClassVar[bool] = False

    def take(self, rows: np.ndarray) -> Target:
        """Some of the rows; the type stays that of the whole."""
        return Target(self.kind, self.values[rows], self.labelled[rows])

    @property
    def n_samples(self) -> int:
        """Number of rows, labelled or not."""
        return int(self.values.shape[0])

    @property
    def n_unlabeled(self) -> int:
        """Number of rows without a label."""
        return int(self.n_samples - self.labelled.sum())

    @cached_property
    def classes(self) -> np.ndarray:
        """Distinct labels of the labelled rows, sorted."""
        values = self.values[self.labelled] if self.n_unlabeled else self.values
        return np.unique(values) if (counts := count_integers(values)) is None else counts[0]

    @property
    def is_constant(self) -> bool:
        """Whether all rows have one value, of every output."""
        return bool((self.values == self.values[0]).all())

    @property
    def labels(self) -> np.ndarray:
        """One label per row, for kernels of labels."""
        if self.values.ndim == 1:
            return self.values
        if self.values.shape[1] == 1:
            return self.values[:, 0]
        raise ValueError(
            f"A kernel of labels needs one label per row, but y has {self.values.shape[1]} columns."
        )

    @property
    def vectors(self) -> np.ndarray:
        """One vector per row, for kernels of vectors.

        Numbers stay as they are; two text classes become -1 and +1, more become indicators.
        """
        if self.values.ndim == 2:
            return self.values
        if self.values.dtype.kind in "biuf":
            return self.values.astype(np.float64)[:, np.newaxis]
        classes = np.unique(self.values)
        return Indicators(classes, signs=len(classes) == 2)(self.values)


def read_target(
    y: Any,
    *,
    semi: bool = False,
    minus_one: bool = False,
    whole_classes: bool = False,
    task: Task = "auto",
    is_part: bool = False,
) -> Target:
    """Target from an array, a series, a frame or a sparse indicator matrix.

    Text, booleans and categories are classes; floats with more than two values are numbers, even
    when whole; integers are classes up to 20 distinct values; a 2-D target of zeros and ones is
    multi-label, any other 2-D target multi-output.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
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
    if getattr(y, "is_streamed", False) and hasattr(y, "as_target"):
        streamed: Target = y.as_target(
            semi=semi, minus_one=minus_one, whole_classes=whole_classes, task=task
        )
        return streamed
    if task not in TASKS:
        raise ValueError(f"task must be one of {', '.join(map(repr, TASKS))}, got {task!r}.")
    refuse_unreadable(y, "y")
    array = target_array(y)
    if array.ndim not in (1, 2):
        raise ValueError(f"y must have one or two dimensions, got shape {array.shape}.")
    if array.shape[0] == 0:
        raise ValueError("y is empty: found 0 sample(s), at least 1 is needed.")
    if array.size == 0:
        raise ValueError(f"y has no columns: its shape is {array.shape}.")
    missing = missing_rows(array)
    declared = declared_categories(y)
    categorical = declared is not None
    if semi and minus_one:
        missing = missing | _marked(
            array, missing, categorical=categorical, whole_classes=whole_classes
        )
    elif not semi and missing.any():
        if array.dtype.kind in "fc" and array.size > len(array):  # names the output
            require_finite(np.atleast_2d(array.T).T, None, "y")
        refuse_gaps(int(missing.sum()), len(array))
    complete = not missing.any()
    present = settle(array if complete else array[~missing])
    refuse_mixed(present)
    guess: TargetKind = "classes" if categorical else _kind(present, whole_classes)
    kind = _kind_for(task, present, guess)
    if kind == "classes" and not is_part:
        refuse_identifiers(present, len(array), declared=categorical)
        if declared is not None:
            warn_of_order(declared)
    if array.ndim == 2 or present.dtype.kind == "f" or kind == "numbers":
        numbers = _numbers(array)
        require_finite(numbers if complete else numbers[~missing], None, "y")
        _require_distinct(array, numbers)
        array = numbers if array.ndim == 2 or kind == "numbers" else numbers[:, 0]
    elif array.dtype.kind == "O" and present.dtype.kind in "iu":
        array = _numbers(array)[:, 0]  # missing whole numbers are NaN
    if task == "classification" and array.dtype.kind == "f" and complete:
        whole = array.ndim == 1 and bool((array == np.floor(array)).all())
        array = array.astype(np.int64) if whole and np.abs(array).max() < 2**53 else array
    return Target(kind, array, ~missing)


def present_target(y: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """The target of a chunk on the rows that have one, and which have none; None if all have."""
    is_double = str(getattr(y, "type", "")) == "double"  # a column of an Arrow table
    array = y.to_numpy() if is_double else target_array(y)
    missing = missing_rows(array)
    return (settle(array[~missing]), missing) if missing.any() else (array, None)


def as_columns(y: np.ndarray) -> np.ndarray:
    """Numbers as columns of floats."""
    values = np.asarray(y, dtype=np.float64)
    return values[:, np.newaxis] if values.ndim == 1 else values


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
class SliceEdges:
    """Cuts between slices of one column: a value belongs to the slice after the edges below it."""

    column: Column
    edges: np.ndarray  # sorted
    inclusive: np.ndarray  # whether the value of an edge itself belongs to the slice above it

    def __call__(self, y: np.ndarray) -> np.ndarray:
        """Number of the slice of every row, of shape (n,)."""
        values = self.column(y)[:, np.newaxis]
        above = (values > self.edges) | ((values == self.edges) & self.inclusive)
        return above.sum(axis=1).astype(np.float64)


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


def _marked(
    array: np.ndarray, missing: np.ndarray, *, categorical: bool, whole_classes: bool
) -> np.ndarray:
    """Rows that -1 marks as unlabelled: among classes, unless these are -1 and +1."""
    marked = np.zeros(len(array), dtype=bool)
    present = settle(array[~missing])
    if present.ndim != 1 or present.dtype.kind not in "iufO":
        return marked
    minus = _minus_ones(present)
    others = settle(present[~minus])
    if not minus.any() or not len(others) or not (others != 1).any():
        return marked
    # Three floats are numbers, even -1, 0 and 1; elsewhere a mark is not one of the values.
    deciding = present if present.dtype.kind == "f" and not whole_classes else others
    if categorical or _kind(deciding, whole_classes) == "classes":
        marked[~missing] = minus
    return marked


def _minus_ones(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind != "O":
        return np.asarray(values == -1)
    return np.array([isinstance(item, Real) and item == -1 for item in values], dtype=bool)


def _require_distinct(array: np.ndarray, numbers: np.ndarray) -> None:
    """Refuse whole numbers so large that they are all equal as floats."""
    if array.dtype.kind in "iu" and np.ptp(numbers) == 0 and array.min() < array.max():
        raise ValueError(
            f"y holds whole numbers around {numbers.flat[0]:.3g}, whose differences are lost in "
            "double precision: pass y - y.min()."
        )


def _kind_for(task: Task, present: np.ndarray, guess: TargetKind) -> TargetKind:
    """The type that the task requests, or the guess, if y can be read as that type."""
    if task == "classification":
        if present.ndim == 1:
            return "classes"
        if guess == "multilabel":
            return guess
        raise ValueError(
            "task='classification' needs one label per row, or several as zeros and ones, but y "
            f"has {present.shape[1]} columns of other numbers."
        )
    if task == "regression":
        if present.ndim == 2:
            return "multioutput"
        if present.dtype.kind in "biuf":
            return "numbers"
        raise ValueError(
            f"task='regression' needs numbers, but y holds other values, such as "
            f"{present.tolist()[0]!r}."
        )
    return guess


def _kind(present: np.ndarray, whole_classes: bool) -> TargetKind:
    if present.ndim == 2:
        values = _numbers(present)
        return "multilabel" if np.isin(values, (0.0, 1.0)).all() else "multioutput"
    if present.dtype.kind == "f":
        whole = whole_classes and bool((present == np.rint(present)).all())
        most = MAX_INTEGER_CLASSES if whole else 2
        return "numbers" if _has_more_values(present, most) else "classes"
    if present.dtype.kind in "iu":
        return "numbers" if _has_more_values(present, MAX_INTEGER_CLASSES) else "classes"
    return "classes"


def _has_more_values(values: np.ndarray, most: int) -> bool:
    """Whether there are more distinct values; for numbers the first rows often show it."""
    if len(np.unique(values[:GLANCE])) > most:
        return True
    counts = count_integers(values)
    return len(np.unique(values) if counts is None else counts[0]) > most


def _numbers(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "O":
        array = np.where(np.vectorize(is_missing, otypes=[bool])(array), np.nan, array)
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            "A target with several columns must be numeric: encode its text columns first."
        ) from error
    return numbers[:, np.newaxis] if numbers.ndim == 1 else numbers
