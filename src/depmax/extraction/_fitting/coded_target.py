"""The target of methods that see groups, or numbers: slices, classes, and coded classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from depmax._resources import cached_property
from depmax.algebra.targets import centred_target, square_of, target_sums
from depmax.data import TargetKind, read_target
from depmax.data.sample import Labels, Sample, warn_of_outputs
from depmax.data.stream import beside
from depmax.data.table import is_streamed
from depmax.data.target import MAX_INTEGER_CLASSES, as_columns
from depmax.extraction._fitting.search import Answer
from depmax.kernels import Columns, Delta, Linear

#: A ``Target``, or a ``StreamedTarget``, which answers the same questions.
AnyTarget = Any


# --- groups ---------------------------------------------------------------------------------------


def sliced(values: np.ndarray, n_slices: int, weight: np.ndarray | None = None) -> np.ndarray:
    """Number of the slice of each value, for slices of nearly equal counts.

    Equal values share a slice, that of the middle one of them, so that the order of the samples
    does not matter; there may be fewer slices then. A value counts as often as its weight says.

    Examples
    --------
    >>> sliced(np.array([3.0, 1.0, 2.0, 2.0, 5.0]), 2)
    array([1, 0, 0, 0, 1])
    """
    _, inverse = np.unique(values, return_inverse=True)
    counts = np.bincount(inverse, weights=weight)
    reached = np.cumsum(counts)
    middle = reached - (counts + 1) // 2  # rank of the middle one of equal values
    size, larger = divmod(float(reached[-1]), n_slices)  # the first slices have one more
    ends = np.arange(1, n_slices) * size + np.minimum(np.arange(1, n_slices), larger)
    slices_of_values = np.searchsorted(ends, middle, side="right")
    return np.unique(slices_of_values[inverse], return_inverse=True)[1]


def grouped(target: AnyTarget, n_slices: int, name: str, weight: np.ndarray | None) -> Sample:
    """One grouping of the samples per output: its classes, or slices of its numbers.

    Under the balanced delta kernel, that of the scatter between groups; those of several outputs
    are added. A target that is the same for all rows is refused.
    """
    if target.is_streamed:
        groups = list(target.groups(n_slices))
        numbers = [len(group.distinct[0]) for group in groups]
    else:
        groups = [target.values] if target.kind == "classes" else list(target.values.T)
        if target.kind not in ("classes", "multilabel"):
            groups = [sliced(column, n_slices, weight) for column in groups]
        numbers = [len(np.unique(group)) for group in groups]
    if max(numbers) < 2:
        _refuse_one_class(name)
    kernel = Delta(weights="balanced")
    if len(groups) == 1:
        return Sample(kernel, groups[0], weight=weight).resolved()
    kernels = [Sample(kernel, group, weight=weight).resolved().kernel for group in groups]
    parts = [(f"y{column}", own, column) for column, own in enumerate(kernels)]
    rows = beside(groups) if target.is_streamed else np.column_stack(groups).astype(np.float64)
    return Sample(Columns(parts, combine="add"), rows, weight=weight)


class LabelledRows(NamedTuple):
    """The labelled rows of a target, all of whose rows a stream has."""

    target: AnyTarget
    weight: np.ndarray | None  # how many rows each stands for; None: one
    labelled: np.ndarray | None = None  # which of all rows they are; None: all
    n_skipped: int = 0  # rows without a label that a stream does not visit

    @classmethod
    def of(cls, target: AnyTarget, name: str, weight: np.ndarray | None) -> LabelledRows:
        """Those of a target; one that is missing in all rows is refused."""
        if target.is_streamed:
            return cls(target, None, n_skipped=target.n_unlabeled)
        known = target.labelled
        if not known.any():
            raise ValueError(
                f"y of {name} has no labelled rows: all {target.n_samples} are missing. Label some "
                "rows, or use an unsupervised method such as LPP."
            )
        if known.all():
            return cls(target, weight)
        return cls(target.take(known), None if weight is None else weight[known], known)

    def labels(self, sample: Sample) -> Labels:
        """A sample of these rows, and which they are."""
        return Labels(sample, self.labelled, self.n_skipped)


def class_labels(target: AnyTarget, name: str, weight: np.ndarray | None = None) -> Labels:
    """Classes of the labelled rows, under the balanced delta kernel."""
    known = LabelledRows.of(target, name, weight)
    if target.kind != "classes":
        found = {"numbers": "numbers", "multilabel": "several labels per row"}
        found["censored"] = "survival times"
        raise ValueError(
            f"{name} separates classes, but y holds {found.get(target.kind, 'several outputs')} "
            "(Unknown label type): use SIR or HBFE, or turn y into classes, as text or whole "
            f"numbers of at most {MAX_INTEGER_CLASSES} different values."
        )
    rows = known.target.labels if target.is_streamed else known.target.values
    sample = Sample(Delta(weights="balanced"), rows, weight=known.weight).resolved()
    if not target.is_streamed and sample.n_coordinates == 1:  # one indicator per class
        _refuse_one_class(name)
    return known.labels(sample)


# --- numbers --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Coding:
    """How numbers are made of a target: (columns - shift)·factor, of values or of indicators."""

    shift: np.ndarray | float  # shape (r,)
    factor: np.ndarray | float  # shape (r,)
    classes: np.ndarray | None = None  # labels, sorted, whose indicators are meant; None: numbers

    def __call__(self, y: np.ndarray) -> np.ndarray:
        """Of shape (n, r); two classes are one indicator, that of the second."""
        columns = as_columns(y) if self.classes is None else self._indicators(y)
        return (columns - self.shift) * self.factor

    def _indicators(self, y: np.ndarray) -> np.ndarray:
        indicators = np.eye(len(self.classes))[np.searchsorted(self.classes, y)]  # type: ignore[arg-type]  # not None here
        return indicators[:, 1:] if indicators.shape[1] == 2 else indicators

    def of(self, target: AnyTarget) -> Any:
        """Numbers of all rows: an array, or rows that are read a chunk at a time."""
        if not target.is_streamed:
            return self(target.values)
        n_classes = 0 if self.classes is None else len(self.classes)
        width = target.n_columns if self.classes is None else 1 if n_classes == 2 else n_classes
        return target.view(self, width)


def output_scale(target: AnyTarget, weight: np.ndarray | None = None) -> tuple[np.ndarray, Coding]:
    """Spread of outputs, infinite where they do not vary, and how they are put in units of it.

    The shift is the mean. Classes are indicators, one for two of them, which are not scaled.
    """
    if target.kind == "classes":
        if target.is_streamed:
            classes, counts = target.classes, np.asarray(target.counts, dtype=np.float64)
        else:
            classes, codes = np.unique(target.values, return_inverse=True)
            counts = np.bincount(codes, weights=weight).astype(np.float64)
        shares = counts / counts.sum()
        shares = shares[1:] if len(classes) == 2 else shares
        return np.ones(len(shares)), Coding(shares, 1.0, classes)
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
        mean = np.average(values, axis=0, weights=weight)
        spread = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=weight))
        rounding = 10 * np.finfo(np.float64).eps * np.abs(values).max(axis=0, initial=0.0)
    spread = np.where(spread <= rounding, np.inf, spread)
    return spread, Coding(mean, 1.0 / spread)


class Outputs(NamedTuple):
    """Outputs under the linear kernel, in units of their spread."""

    sample: Sample
    spread: np.ndarray  # infinite where they do not vary, shape (r,)
    coding: Coding


def outputs(target: AnyTarget, name: str, weight: np.ndarray | None = None) -> Outputs:
    """Outputs of all rows; a constant target is refused."""
    spread, coding = output_scale(target, weight)
    one_class = coding.classes is not None and len(coding.classes) < 2
    if one_class or np.isinf(spread).all():
        raise ValueError(
            f"y of {name} is constant (one class or value in all {target.n_samples} rows): nothing "
            "can depend on it."
        )
    return Outputs(Sample(Linear(), coding.of(target), weight=weight), spread, coding)


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
    weight: np.ndarray | None = None  # how many rows each stands for, shape (m,); None: one
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

    def seen(self, center: bool) -> Any:
        """Y as features see it: less its mean if they have mean zero."""
        return self.centred if center else self.about_zero

    @property
    def mean(self) -> np.ndarray:
        """Mean of every column, of shape (r,)."""
        if is_streamed(self.values):
            mean: np.ndarray = self.centred.make.mean
            return mean
        return np.average(self.values, axis=0, weights=self.weight)

    @property
    def square(self) -> float:
        """‖Y‖², measured from the mean."""
        return square_of(self.centred, self.weight)

    @property
    def counts(self) -> np.ndarray:
        """How many rows each class has, of shape (n_classes,)."""
        if self.class_counts is not None:
            return self.class_counts
        return np.bincount(self.class_numbers, weights=self.weight)

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
    y: Any, *, whole_numbers_are_numbers: bool = False, weight: np.ndarray | None = None
) -> CodedTarget:
    """Read and code a target; one that is constant is refused.

    Parameters
    ----------
    y : target of any type
    whole_numbers_are_numbers : bool
        Whether numeric labels are numbers, however few they are, as regressors need.
    weight : ndarray of shape (m,), optional
        How many rows each stands for.
    """
    target: AnyTarget = read_target(y).weighed(weight)
    if target.n_samples < 2:
        raise ValueError("X and y have 1 sample: nothing can depend on a constant.")
    warn_of_outputs(target, Linear())
    if target.kind == "classes":
        values = target.classes if target.is_streamed else target.values
        if not (whole_numbers_are_numbers and values.dtype.kind in "iuf"):
            return coded_classes(target if target.is_streamed else target.labels, weight, like=y)
    kind: TargetKind = "numbers" if target.kind == "classes" else target.kind
    if target.is_streamed:
        coded = CodedTarget(kind, target.vectors, None, flat=is_flat(y))
        constant = coded.square <= (1e-14 * float(target.largest.max())) ** 2 * target.n_samples
    else:
        values = np.asarray(target.vectors, dtype=np.float64)
        coded = CodedTarget(kind, values, None, weight=weight, flat=is_flat(y))
        constant = np.ptp(values, axis=0).max() == 0
    if constant:
        raise ValueError("y is constant: nothing can depend on it. At least two values are needed.")
    return coded


def coded_classes(labels: Any, weight: np.ndarray | None = None, like: Any = None) -> CodedTarget:
    """Code labels of any type, of shape (m,) or of a stream; a single class is refused.

    ``like`` is y as it was passed: where it holds objects, so do the classes.
    """
    streamed = getattr(labels, "is_streamed", False)
    if streamed:
        classes, counts = labels.classes, labels.counts
    else:
        if len(labels) < 2:
            raise ValueError("X and y have 1 sample: nothing can depend on a constant.")
        classes, codes = np.unique(labels, return_inverse=True)
        counts = np.bincount(codes, weights=weight)
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only ({classes.tolist()[0]!r}): nothing can depend on a constant. At "
            "least two classes are needed."
        )
    coding = Coding(0.0, 1.0 / np.sqrt(counts), classes)
    if len(classes) == 2:
        coding = Coding(0.5, 2.0, classes)
    if streamed:
        return CodedTarget("classes", coding.of(labels), classes, counts)
    named = classes if like is None else label_type(classes, like)
    return CodedTarget("classes", coding(labels), named, weight=weight)


def coded_answer(coded: CodedTarget) -> Answer:
    """A target as numbers, under the linear kernel."""
    return Answer(Sample(Linear(), coded.values, weight=coded.weight), coded=coded)


def is_flat(y: Any) -> bool:
    """Whether y has one dimension."""
    shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    return len(shape) == 1


def label_type(classes: np.ndarray, like: Any) -> np.ndarray:
    """Classes as objects if y holds objects, as scikit-learn's classifiers return them.

    Examples
    --------
    >>> label_type(np.array(["a", "b"]), np.array(["b", "a"], dtype=object))
    array(['a', 'b'], dtype=object)
    """
    return classes.astype(object) if np.asarray(like).dtype.kind == "O" else classes


def _refuse_one_class(name: str) -> None:
    raise ValueError(
        f"y of {name} has one class or value only: nothing can depend on a constant. At least two "
        "classes are needed."
    )
