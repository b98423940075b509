"""Targets as methods see them: groups and slices of samples, or numbers with coded classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from depmax.algebra.form import centred_target, square_of
from depmax.algebra.streamed import target_sums
from depmax.data import Target, TargetKind, read_target
from depmax.data.reading import Labels, warn_of_outputs
from depmax.data.sample import Sample
from depmax.data.stream import StreamRows
from depmax.data.streamed_target import Indicators, beside
from depmax.data.table import is_streamed
from depmax.data.target import MAX_INTEGER_CLASSES, as_columns, columns_of_classes
from depmax.kernels import Columns, Delta, Linear

#: A ``Target``, or a ``StreamedTarget``, which answers the same questions.
AnyTarget = Any

_ONE_CLASS = (
    "y of {} has one class or value only: nothing can depend on a constant. At least two classes "
    "are needed."
)


def sliced(values: np.ndarray, n_slices: int, mass: np.ndarray | None = None) -> np.ndarray:
    """Number of the slice of each value, for slices of nearly equal counts.

    Equal values share a slice, that of the middle one of them, so that the order of the samples
    does not matter; there may be fewer slices then. A value counts as often as its mass says.

    Examples
    --------
    >>> sliced(np.array([3.0, 1.0, 2.0, 2.0, 5.0]), 2)
    array([1, 0, 0, 0, 1])
    """
    _, inverse = np.unique(values, return_inverse=True)
    counts = np.bincount(inverse, weights=mass)
    reached = np.cumsum(counts)
    middle = reached - (counts + 1) // 2  # rank of the middle one of equal values
    size, larger = divmod(float(reached[-1]), n_slices)  # the first slices have one more
    ends = np.arange(1, n_slices) * size + np.minimum(np.arange(1, n_slices), larger)
    slices_of_values = np.searchsorted(ends, middle, side="right")
    return np.unique(slices_of_values[inverse], return_inverse=True)[1]


def groups_of(target: AnyTarget, n_slices: int, mass: np.ndarray | None = None) -> list[Any]:
    """One grouping of the samples per output: its classes, or slices of its numbers."""
    if target.is_streamed:
        return list(target.groups(n_slices))
    if target.kind == "classes":
        return [target.values]
    columns = target.values.T
    if target.kind == "multilabel":
        return list(columns)
    return [sliced(column, n_slices, mass) for column in columns]


def side_of_groups(groups: list[Any], mass: np.ndarray | None = None) -> Sample:
    """Groupings under the balanced delta kernel, that of the scatter between groups.

    Several groupings are added.
    """
    if len(groups) == 1:
        return Sample(Delta(weights="balanced"), groups[0], mass=mass).resolved()
    if is_streamed(groups[0]):
        return _side_of_streamed(groups)
    codes = np.column_stack(groups).astype(np.float64)
    parts = [(f"y{column}", Delta(weights="balanced"), column) for column in range(len(groups))]
    return Sample(Columns(parts, combine="add"), codes, mass=mass).resolved()


def _side_of_streamed(groups: list[StreamRows]) -> Sample:
    """The same for groupings that are read a block at a time."""
    kernels = [Sample(Delta(weights="balanced"), group).resolved().kernel for group in groups]
    parts = [(f"y{column}", kernel, column) for column, kernel in enumerate(kernels)]
    return Sample(Columns(parts, combine="add"), beside(groups))


@dataclass(frozen=True)
class OutputScale:
    """How outputs are made of a target: values minus their mean, over their spread."""

    mean: np.ndarray  # shape (q,)
    spread: np.ndarray  # shape (q,); infinity for an output that does not vary
    classes: np.ndarray | None = None  # labels, sorted, whose indicators are meant; None: numbers


def output_scale(target: AnyTarget, mass: np.ndarray | None = None) -> OutputScale:
    """Mean and spread of numbers, or of indicators, one for two classes, which are not scaled."""
    if target.kind == "classes":
        if target.is_streamed:
            classes, counts = target.classes, np.asarray(target.counts, dtype=np.float64)
        else:
            classes, codes = np.unique(target.values, return_inverse=True)
            counts = np.bincount(codes, weights=mass).astype(np.float64)
        shares = counts / counts.sum()
        shares = shares[1:] if len(classes) == 2 else shares
        return OutputScale(shares, np.ones(len(shares)), classes)
    if target.is_streamed:
        mean, squares = target.vectors.moments or (None, None)
        if mean is None:  # of many outputs
            sums = target_sums(target.vectors, as_columns).centred()
            mean, squares = sums.mean_x, sums.scatter
        assert squares is not None
        spread = np.sqrt(np.diagonal(squares) / target.n_samples)
        rounding = 1e-12 * target.largest
    else:
        values = target.values
        mean = np.average(values, axis=0, weights=mass)
        spread = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=mass))
        rounding = 10 * np.finfo(np.float64).eps * np.abs(values).max(axis=0, initial=0.0)
    return OutputScale(mean, np.where(spread <= rounding, np.inf, spread))


def outputs_of(target: Target, mass: np.ndarray | None = None) -> np.ndarray:
    """Numbers to regress on: outputs in units of their standard deviation, classes as indicators.

    Of shape (m, q); an output that does not vary is zero.
    """
    scale, values = output_scale(target, mass), target.values
    if scale.classes is not None:
        values = np.eye(len(scale.classes))[np.searchsorted(scale.classes, values)]
        values = values[:, 1:] if len(scale.classes) == 2 else values
    outputs: np.ndarray = (values - scale.mean) / scale.spread
    return outputs


def side_of_outputs(target: AnyTarget, name: str, mass: np.ndarray | None = None) -> Sample:
    """Outputs under the linear kernel."""
    if target.is_streamed:
        return Sample(Linear(), _streamed_outputs(target, name))
    outputs = outputs_of(target, mass)
    if not outputs.any():
        raise ValueError(
            f"y of {name} is constant (one class or value in all {len(outputs)} rows): nothing can "
            "depend on it."
        )
    return Sample(Linear(), outputs, mass=mass)


def output_labels(target: AnyTarget, name: str, mass: np.ndarray | None = None) -> Labels:
    """Outputs of the labelled rows, under the linear kernel."""
    if target.is_streamed:
        return Labels(side_of_outputs(target, name), n_skipped=target.n_unlabeled)
    require_labelled(target, name)
    values = target.values[target.labelled]
    known = Target(target.kind, values, np.ones(len(values), dtype=bool))
    labelled = None if target.n_unlabeled == 0 else target.labelled
    mass = None if mass is None else mass[target.labelled]
    return Labels(side_of_outputs(known, name, mass), labelled)


def _streamed_outputs(target: AnyTarget, name: str) -> StreamRows:
    """``outputs_of`` for a target that is read a block at a time."""
    if target.kind == "classes":
        change: Any = Indicators(target.classes)
        if len(target.classes) == 2:
            change = Shares(change, slice(1, None))
        return target.view(change, 1 if len(target.classes) == 2 else len(target.classes))
    scale = output_scale(target)
    if np.isinf(scale.spread).all():
        raise ValueError(
            f"y of {name} is constant (one class or value in all {target.n_samples} rows): nothing "
            "can depend on it."
        )
    return target.view(Standardized(scale.mean, scale.spread), target.n_columns)


@dataclass(frozen=True)
class Standardized:
    """Numbers in units of their standard deviation, about their mean."""

    mean: np.ndarray
    spread: np.ndarray

    def __call__(self, y: np.ndarray) -> np.ndarray:
        return (as_columns(y) - self.mean) / self.spread


@dataclass(frozen=True)
class Shares:
    """Some columns of indicators."""

    indicators: Indicators
    columns: slice

    def __call__(self, y: np.ndarray) -> np.ndarray:
        return self.indicators(y)[:, self.columns]


def require_groups(groups: list[Any], name: str) -> None:
    """Refuse a target that is the same for all rows."""
    if all(_n_different(group) < 2 for group in groups):
        raise ValueError(_ONE_CLASS.format(name))


def _n_different(group: Any) -> int:
    return len(group.distinct[0] if is_streamed(group) else np.unique(group))


def read_classes(y: Any, *, minus_one: bool) -> Target:
    """Classes, of which some may be unknown; whole numbers are classes here, even as floats."""
    return read_target(y, semi=True, minus_one=minus_one, whole_classes=True)


def require_labelled(target: AnyTarget, name: str) -> None:
    """Refuse a target that is missing in all rows."""
    if not target.is_streamed and not target.labelled.any():
        raise ValueError(
            f"y of {name} has no labelled rows: all {target.n_samples} are missing. Label some "
            "rows, or use an unsupervised method such as LPP."
        )


def class_labels(target: AnyTarget, name: str, mass: np.ndarray | None = None) -> Labels:
    """Classes of the labelled rows."""
    require_labelled(target, name)
    if target.kind != "classes":
        found = {"numbers": "numbers", "multilabel": "several labels per row"}
        raise ValueError(
            f"{name} separates classes, but y holds {found.get(target.kind, 'several outputs')} "
            "(Unknown label type): use SIR or HBFE, or turn y into classes, as text or whole "
            f"numbers of at most {MAX_INTEGER_CLASSES} different values."
        )
    if target.is_streamed:
        return Labels(side_of_groups([target.labels]), n_skipped=target.n_unlabeled)
    values = target.values[target.labelled]
    side = side_of_groups([values], None if mass is None else mass[target.labelled])
    if side.n_coordinates == 1:  # one indicator per class
        raise ValueError(_ONE_CLASS.format(name))
    return Labels(side, None if target.n_unlabeled == 0 else target.labelled)


@dataclass(frozen=True)
class CodedTarget:
    """A target as numbers.

    Numbers, outputs and multi-labels stay as they are. Two classes are one column of -1 and +1;
    more are indicators e_y/√m_y, so that YᵀY = I.
    """

    kind: TargetKind
    values: Any  # Y, shape (m, r): an array, or rows that are read a block at a time
    classes: np.ndarray | None  # labels, sorted; None for numbers
    class_counts: np.ndarray | None = None  # rows of each class, where values are not at hand
    mass: np.ndarray | None = None  # how many rows each stands for, shape (m,); None: one
    flat: bool = True  # whether y has one dimension

    @property
    def n_samples(self) -> int:
        """Number of rows m."""
        return int(self.values.shape[0])

    @property
    def plain(self) -> np.ndarray:
        """The target as an array that is read in the same way again: text, or numbers."""
        if self.classes is not None:
            return np.asarray(self.classes.astype(str)[self.class_numbers])
        return np.asarray(self.values[:, 0] if self.flat else self.values)

    @property
    def scale(self) -> np.ndarray:
        """What turns coded values into numbers or indicators 0 and 1, of shape (r,)."""
        n_columns = self.values.shape[1]
        if self.classes is not None and n_columns > 1:
            return np.sqrt(self.counts)
        return np.ones(n_columns)

    @property
    def spread(self) -> np.ndarray:
        """Standard deviation of every column, of shape (r,)."""
        return np.asarray(self.values.std(axis=0))

    @cached_property
    def centred(self) -> Any:
        """Y minus its mean: an array, or what gives the values of a block."""
        if is_streamed(self.values):
            return centred_target(Sample(Linear(), self.values))
        return self.values - self.mean

    @property
    def shift(self) -> np.ndarray:
        """What losses of numbers need not see of Y, since a constant fits it: their mean."""
        is_number = self.kind in ("numbers", "multioutput")
        return self.mean if is_number else np.zeros(self.values.shape[1])

    @property
    def about_zero(self) -> Any:
        """Y as it is: an array, or what gives the values of a block."""
        if not is_streamed(self.values):
            return self.values
        mean, gram = self.mean, self.centred.gram
        whole = replace(self.centred.make, mean=np.zeros_like(mean))
        return replace(self.centred, make=whole, gram=gram + self.n_samples * np.outer(mean, mean))

    @property
    def mean(self) -> np.ndarray:
        """Mean of every column, of shape (r,)."""
        if is_streamed(self.values):
            mean: np.ndarray = self.centred.make.mean
            return mean
        return np.average(self.values, axis=0, weights=self.mass)

    @property
    def square(self) -> float:
        """‖Y‖², measured from the mean."""
        return square_of(self.centred, self.mass)

    @property
    def counts(self) -> np.ndarray:
        """How many rows each class has, of shape (n_classes,)."""
        if self.class_counts is not None:
            return self.class_counts
        return np.bincount(self.class_numbers, weights=self.mass)

    @property
    def signs(self) -> np.ndarray:
        """Every column as -1 and +1, for losses of margins: one column per class or label."""
        return np.where(self.values > 0, 1.0, -1.0)

    @property
    def class_numbers(self) -> np.ndarray:
        """Position of each row's label among the classes, of shape (m,)."""
        if self.values.shape[1] == 1:
            return (self.values[:, 0] > 0).astype(np.intp)
        return self.values.argmax(axis=1)


def coded_target(
    y: Any, *, whole_numbers_are_numbers: bool = False, mass: np.ndarray | None = None
) -> CodedTarget:
    """Read and code a target; one that is constant is refused.

    Parameters
    ----------
    y : target of any type
    whole_numbers_are_numbers : bool
        Whether numeric labels are numbers, however few they are, as regressors need.
    mass : ndarray of shape (m,), optional
        How many rows each stands for.
    """
    target = read_target(y)
    if target.n_samples < 2:
        raise ValueError("X and y have 1 sample: nothing can depend on a constant.")
    warn_of_outputs(target, Linear())
    if target.is_streamed:
        coded = _streamed_code(target, whole_numbers_are_numbers)
        return coded if coded.classes is not None else replace(coded, flat=is_flat(y))
    numeric = target.values.ndim == 2 or target.values.dtype.kind in "iuf"
    if target.kind == "classes" and not (whole_numbers_are_numbers and numeric):
        return coded_classes(target.labels, mass, like=y)
    values = np.asarray(target.vectors, dtype=np.float64)
    if np.ptp(values, axis=0).max() == 0:
        raise ValueError("y is constant: nothing can depend on it. At least two values are needed.")
    kind = "numbers" if target.kind == "classes" else target.kind
    return CodedTarget(kind, values, None, mass=mass, flat=is_flat(y))


def is_flat(y: Any) -> bool:
    """Whether y has one dimension."""
    shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    return len(shape) == 1


def _streamed_code(target: Any, whole_numbers_are_numbers: bool) -> CodedTarget:
    """The same for a target that is read a block at a time."""
    numeric = target.kind != "classes" or target.classes.dtype.kind in "iuf"
    if target.kind == "classes" and not (whole_numbers_are_numbers and numeric):
        return streamed_classes(target)
    kind: TargetKind = "numbers" if target.kind == "classes" else target.kind
    coded = CodedTarget(kind, target.vectors, None)
    if coded.square <= (1e-14 * float(target.largest.max())) ** 2 * target.n_samples:
        raise ValueError("y is constant: nothing can depend on it. At least two values are needed.")
    return coded


def streamed_classes(target: Any) -> CodedTarget:
    """Classes that are read a block at a time, coded like those in memory."""
    classes, counts = target.classes, target.counts
    if len(classes) == 2:
        values = target.view(Indicators(classes, signs=True), 1)
    else:
        values = target.view(Scaled(Indicators(classes), 1.0 / np.sqrt(counts)), len(classes))
    return CodedTarget("classes", values, classes, counts)


@dataclass(frozen=True)
class Scaled:
    """Indicators times a number per class."""

    indicators: Indicators
    factors: np.ndarray

    def __call__(self, y: np.ndarray) -> np.ndarray:
        return self.indicators(y) * self.factors


def label_type(classes: np.ndarray, like: Any) -> np.ndarray:
    """Classes as objects if y holds objects, as scikit-learn's classifiers return them.

    Examples
    --------
    >>> label_type(np.array(["a", "b"]), np.array(["b", "a"], dtype=object))
    array(['a', 'b'], dtype=object)
    """
    return classes.astype(object) if np.asarray(like).dtype.kind == "O" else classes


def coded_classes(
    labels: np.ndarray, mass: np.ndarray | None = None, like: Any = None
) -> CodedTarget:
    """Code labels of any type, of shape (m,); a single class is refused.

    ``like`` is y as it was passed: where it holds objects, so do the classes.
    """
    if len(labels) < 2:
        raise ValueError("X and y have 1 sample: nothing can depend on a constant.")
    classes, values = columns_of_classes(labels)
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only ({classes.tolist()[0]!r}): nothing can depend on a constant. At "
            "least two classes are needed."
        )
    if len(classes) > 2:
        counts = values.sum(axis=0) if mass is None else mass @ values
        values = values / np.sqrt(counts)
    classes = classes if like is None else label_type(classes, like)
    return CodedTarget("classes", values, classes, mass=mass)
