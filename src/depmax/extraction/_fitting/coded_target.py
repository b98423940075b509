"""A target as the deflation methods see it: columns of numbers, classes coded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from depmax._inputs import TargetKind, read_target
from depmax._inputs.target import columns_of_classes
from depmax.kernels import Linear
from depmax.pencils.form import square_of
from depmax.pencils.streamed import centred_target
from depmax.samples import Sample, is_streamed
from depmax.samples.streamed_target import Indicators


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

    @property
    def n_samples(self) -> int:
        """Number of rows m."""
        return int(self.values.shape[0])

    @cached_property
    def centred(self) -> Any:
        """Y minus its mean: an array, or what gives the values of a block."""
        if is_streamed(self.values):
            return centred_target(Sample(Linear(), self.values))
        return self.values - self.mean

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
        Whether numeric labels are numbers, however few they are: regressors have it so.
    mass : ndarray of shape (m,), optional
        How many rows each stands for.
    """
    target = read_target(y)
    if target.n_samples < 2:
        raise ValueError("X and y have 1 sample: nothing can depend on a constant.")
    if target.is_streamed:
        return _streamed_code(target, whole_numbers_are_numbers)
    numeric = target.values.ndim == 2 or target.values.dtype.kind in "iuf"
    if target.kind == "classes" and not (whole_numbers_are_numbers and numeric):
        return coded_classes(target.labels, mass)
    values = np.asarray(target.vectors, dtype=np.float64)
    if np.ptp(values, axis=0).max() == 0:
        raise ValueError("y is constant: nothing can depend on it. At least two values are needed.")
    kind = "numbers" if target.kind == "classes" else target.kind
    return CodedTarget(kind, values, None, mass=mass)


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


def coded_classes(labels: np.ndarray, mass: np.ndarray | None = None) -> CodedTarget:
    """Code labels of any type, of shape (m,); a single class is refused."""
    if len(labels) < 2:
        raise ValueError("X and y have 1 sample: nothing can depend on a constant.")
    classes, values = columns_of_classes(labels)
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only ({classes[0]!r}): nothing can depend on a constant. At least "
            "two classes are needed."
        )
    if len(classes) > 2:
        counts = values.sum(axis=0) if mass is None else mass @ values
        values = values / np.sqrt(counts)
    return CodedTarget("classes", values, classes, mass=mass)
