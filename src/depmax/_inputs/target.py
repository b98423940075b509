"""Targets y: what type they are, which rows are labelled, and how kernels see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from depmax._inputs.objects import object_array
from depmax._inputs.table import refuse_lazy, require_finite

TargetKind = Literal["classes", "numbers", "multilabel", "multioutput"]

#: Whole numbers with more distinct values than this are numbers, with fewer they are classes.
MAX_INTEGER_CLASSES = 20


@dataclass(frozen=True)
class Target:
    """A target, its type, and which rows are labelled."""

    kind: TargetKind
    #: Labels of shape (n_samples,) for classes, else floats of shape (n_samples, n_outputs).
    values: np.ndarray
    #: Whether each row has a label.
    labelled: np.ndarray

    @property
    def n_samples(self) -> int:
        """Number of rows, labelled or not."""
        return int(self.values.shape[0])

    @property
    def n_unlabeled(self) -> int:
        """Number of rows without a label."""
        return int(self.n_samples - self.labelled.sum())

    @property
    def classes(self) -> np.ndarray:
        """Distinct labels of the labelled rows, sorted."""
        return np.unique(self.values[self.labelled])

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
        classes, codes = np.unique(self.values, return_inverse=True)
        if len(classes) == 2:
            return np.where(codes == 1, 1.0, -1.0)[:, np.newaxis]
        return np.eye(len(classes))[codes]


def read_target(y: Any, *, unlabeled: Literal["auto"] | None = None, semi: bool = False) -> Target:
    """Target from an array, a series, a frame or a sparse indicator matrix.

    Text, booleans and categories are classes; floats with more than two values are numbers, even
    when whole; integers are classes up to 20 distinct values; a 2-D target of zeros and ones is
    multi-label, any other 2-D target multi-output.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
    unlabeled : {"auto", None}
        With ``semi``: whether -1 marks an unlabelled row ("auto": unless the only values are -1
        and +1) or is a class (None).
    semi : bool
        Whether rows may be unlabelled at all. If not, a missing value is refused and -1 is a
        class.
    """
    refuse_lazy(y, "y")
    array = _as_array(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim not in (1, 2):
        raise ValueError(f"y must have one or two dimensions, got shape {array.shape}.")
    if array.shape[0] == 0:
        raise ValueError("y is empty: found 0 sample(s), at least 1 is needed.")
    missing = _missing(array)
    if semi:
        if unlabeled == "auto" and array.ndim == 1 and array.dtype.kind in "iuf":
            known = np.unique(array[~missing])
            if -1 in known and not set(known.tolist()) <= {-1, 1}:
                missing = missing | (array == -1)
    elif missing.any():
        if array.dtype.kind in "fc":
            require_finite(np.atleast_2d(array.T).T, None, "y")
        raise ValueError(
            f"y is missing (NaN or None) in {int(missing.sum())} of {len(array)} rows: drop these "
            "rows, or use an estimator with a beta parameter, which learns from unlabelled rows."
        )
    kind = _kind(array[~missing])
    if array.ndim == 2 or kind == "numbers":
        numbers = _numbers(array)
        require_finite(numbers[~missing], None, "y")
        return Target(kind, numbers, ~missing)
    return Target(kind, array, ~missing)


def _as_array(y: Any) -> np.ndarray:
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: these methods are supervised."
        )
    if sparse.issparse(y):
        return y.toarray()
    native = nw.from_native(y, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(native, nw.Series):
        return _as_array(object_array(native.to_list())) if _is_text(native) else native.to_numpy()
    if isinstance(native, nw.DataFrame):
        if len(native.columns) == 1:
            return _as_array(native[native.columns[0]].to_native())
        return native.to_numpy()
    array = y if isinstance(y, np.ndarray) else np.asarray(y)
    if array.dtype.kind == "O" and array.ndim == 1:
        return _settle(array)
    return array


def _is_text(series: nw.Series[Any]) -> bool:
    return not series.dtype.is_numeric()


def _settle(array: np.ndarray) -> np.ndarray:
    """Objects that are all numbers (or missing) as floats, all text as text."""
    present = [item for item in array if item is not None and item == item]
    if present and all(isinstance(item, bool | np.bool_) for item in present):
        settled = array if len(present) < len(array) else array.astype(bool)
    elif present and all(isinstance(item, int | float | np.number) for item in present):
        whole = len(present) == len(array) and all(
            isinstance(item, int | np.integer) for item in present
        )
        settled = array.astype(np.int64 if whole else np.float64)
    elif len(present) == len(array) and all(isinstance(item, str) for item in present):
        settled = array.astype(str)
    else:
        settled = array
    return settled


def _missing(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "f":
        absent = ~np.isfinite(array)
    elif array.dtype.kind == "O":
        absent = np.array([[item is None or item != item for item in np.ravel(array)]]).reshape(
            array.shape
        )
    else:
        absent = np.zeros(array.shape, dtype=bool)
    return absent.any(axis=1) if absent.ndim == 2 else absent


def _kind(present: np.ndarray) -> TargetKind:
    if present.ndim == 2:
        values = _numbers(present)
        return "multilabel" if np.isin(values, (0.0, 1.0)).all() else "multioutput"
    if present.dtype.kind == "f":
        return "classes" if len(np.unique(present)) <= 2 else "numbers"
    if present.dtype.kind in "iu":
        return "classes" if len(np.unique(present)) <= MAX_INTEGER_CLASSES else "numbers"
    return "classes"


def _numbers(array: np.ndarray) -> np.ndarray:
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            "A target with several columns must be numeric: encode its text columns first."
        ) from error
    return numbers[:, np.newaxis] if numbers.ndim == 1 else numbers
