"""The target of a deflation method as a matrix with one column per output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from depmax._inputs import TargetKind, read_target


@dataclass(frozen=True)
class CodedTarget:
    """A target as numbers.

    Numbers, outputs and multi-labels stay as they are. Two classes are one column of -1 and +1;
    more are indicators e_y/√m_y, so that YᵀY = I.
    """

    kind: TargetKind
    values: np.ndarray  # Y, shape (m, r)
    classes: np.ndarray | None  # labels, sorted; None for numbers

    @property
    def n_samples(self) -> int:
        """Number of rows m."""
        return int(self.values.shape[0])

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


def coded_target(y: Any, *, whole_numbers_are_numbers: bool = False) -> CodedTarget:
    """Read and code a target; one that is constant is refused.

    Parameters
    ----------
    y : target of any type
    whole_numbers_are_numbers : bool
        Whether numeric labels are numbers, however few they are: regressors have it so.
    """
    target = read_target(y)
    if target.n_samples < 2:
        raise ValueError("X and y have 1 sample: nothing can depend on a constant.")
    numeric = target.values.ndim == 2 or target.values.dtype.kind in "iuf"
    if target.kind == "classes" and not (whole_numbers_are_numbers and numeric):
        return coded_classes(target.labels)
    values = np.asarray(target.vectors, dtype=np.float64)
    if np.ptp(values, axis=0).max() == 0:
        raise ValueError("y is constant: nothing can depend on it. At least two values are needed.")
    kind = "numbers" if target.kind == "classes" else target.kind
    return CodedTarget(kind, values, None)


def coded_classes(labels: np.ndarray) -> CodedTarget:
    """Code labels of any type, of shape (m,); a single class is refused."""
    if len(labels) < 2:
        raise ValueError("X and y have 1 sample: nothing can depend on a constant.")
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only ({classes[0]!r}): nothing can depend on a constant. At least "
            "two classes are needed."
        )
    if len(classes) == 2:
        values = np.where(codes == 1, 1.0, -1.0)[:, np.newaxis]
    else:
        values = np.eye(len(classes))[codes] / np.sqrt(np.bincount(codes))
    return CodedTarget("classes", values, classes)
