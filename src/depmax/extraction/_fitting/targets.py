"""Targets as groups and slices of samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from depmax._inputs import Target, read_target
from depmax._inputs.target import MAX_INTEGER_CLASSES
from depmax.kernels import Columns, Delta, Linear
from depmax.samples import Labels, Sample

_ONE_CLASS = (
    "y of {} has one class or value only: nothing can depend on a constant. At least two classes "
    "are needed."
)


def sliced(values: np.ndarray, n_slices: int) -> np.ndarray:
    """Number of the slice of each value, for slices of nearly equal counts.

    Equal values share a slice, that of the middle one of them, so that the order of the samples
    does not matter; there may be fewer slices then.

    Examples
    --------
    >>> sliced(np.array([3.0, 1.0, 2.0, 2.0, 5.0]), 2)
    array([1, 0, 0, 0, 1])
    """
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts + 1) // 2  # rank of the middle one of equal values
    sizes = [len(part) for part in np.array_split(np.arange(len(values)), n_slices)]
    slice_of_rank = np.repeat(np.arange(n_slices), sizes)
    return np.unique(slice_of_rank[middle][inverse], return_inverse=True)[1]


def groups_of(target: Target, n_slices: int) -> list[np.ndarray]:
    """One grouping of the samples per output: its classes, or slices of its numbers."""
    if target.kind == "classes":
        return [target.values]
    columns = target.values.T
    if target.kind == "multilabel":
        return list(columns)
    return [sliced(column, n_slices) for column in columns]


def side_of_groups(groups: list[np.ndarray]) -> Sample:
    """Groupings under the balanced delta kernel, that of the scatter between groups.

    Several groupings are added.
    """
    if len(groups) == 1:
        labels = groups[0]
        return Sample(Delta(weights="balanced").resolve(labels), labels)
    codes = np.column_stack(groups).astype(np.float64)
    parts = [(f"y{column}", Delta(weights="balanced"), column) for column in range(len(groups))]
    kernel = Columns(parts, combine="add")
    return Sample(kernel.resolve(codes), codes)


def outputs_of(target: Target) -> np.ndarray:
    """Numbers to regress on: outputs in units of their standard deviation, classes as indicators.

    Of shape (m, q); an output that does not vary is zero.
    """
    values = target.values
    if target.kind == "classes":
        classes, codes = np.unique(values, return_inverse=True)
        values = np.eye(len(classes))[codes]
        values = values[:, 1:] if len(classes) == 2 else values
        return values - values.mean(axis=0)
    centred = values - values.mean(axis=0)
    spread = centred.std(axis=0)
    spread[spread <= 1e-12 * np.abs(values).max(axis=0, initial=0.0)] = np.inf
    return centred / spread


def side_of_outputs(target: Target, name: str) -> Sample:
    """Outputs under the linear kernel."""
    outputs = outputs_of(target)
    if not outputs.any():
        raise ValueError(
            f"y of {name} is constant (one class or value in all {len(outputs)} rows): nothing can "
            "depend on it."
        )
    return Sample(Linear(), outputs)


def require_groups(groups: list[np.ndarray], name: str) -> None:
    """Refuse a target that is the same for all rows."""
    if all(len(np.unique(group)) < 2 for group in groups):
        raise ValueError(_ONE_CLASS.format(name))


def read_classes(y: Any, *, minus_one: bool) -> Target:
    """Classes, of which some may be unknown; whole numbers are classes here, even as floats."""
    return read_target(y, semi=True, minus_one=minus_one, whole_classes=True)


def class_labels(target: Target, name: str) -> Labels:
    """Classes of the labelled rows."""
    if not target.labelled.any():
        raise ValueError(
            f"y of {name} has no labelled rows: all {target.n_samples} are missing. Label some "
            "rows, or use an unsupervised method such as LPP."
        )
    if target.kind != "classes":
        found = {"numbers": "numbers", "multilabel": "several labels per row"}
        raise ValueError(
            f"{name} separates classes, but y holds {found.get(target.kind, 'several outputs')} "
            "(Unknown label type): use SIR or HBFE, or turn y into classes, as text or whole "
            f"numbers of at most {MAX_INTEGER_CLASSES} different values."
        )
    values = target.values[target.labelled]
    side = side_of_groups([values])
    if side.n_coordinates == 1:  # one indicator per class
        raise ValueError(_ONE_CLASS.format(name))
    return Labels(side, None if target.n_unlabeled == 0 else target.labelled)
