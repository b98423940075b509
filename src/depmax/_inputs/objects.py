"""Arrays of Python objects that numpy must not unpack."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np


def object_array(items: list[Any]) -> np.ndarray:
    """One-dimensional array whose entries are the items, even if these are sequences.

    Examples
    --------
    >>> object_array([[1, 2], [3, 4]]).shape
    (2,)
    """
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def is_missing(item: Any) -> bool:
    """Whether an item is None, NaN, not a time, or the NA of pandas.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    return item is None or type(item).__name__ == "NAType" or bool(item != item)


def require_numbers(X: np.ndarray, name: str) -> None:
    """Refuse arrays of text before anything tries to parse them."""
    text = X.dtype.kind in "US"
    if text or (X.dtype.kind == "O" and any(isinstance(item, str) for item in X.flat)):
        raise TypeError(
            f"{name} holds text where numbers are needed: pass a data frame, whose text columns "
            "with few levels are categories, encode it, or use a kernel for strings "
            "(depmax.kernels.Subsequence, Spectrum) or labels (Delta)."
        )
    if X.dtype.kind in "mM":
        raise TypeError(f"{name} holds dates or durations where numbers are needed.")
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} holds complex numbers.")


def as_nan(X: np.ndarray) -> np.ndarray:
    """The same with NaN for None and pandas' NA, of which an array of objects may hold some."""
    if X.dtype.kind != "O" or not any(is_missing(item) for item in X.flat):
        return X
    return np.array([np.nan if is_missing(item) else item for item in X.flat]).reshape(X.shape)


#: Packages whose frames are passed over: a pipeline calls us through scikit-learn.
_INNER = ("depmax", "sklearn", "joblib")


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line that belongs neither to depmax nor to scikit-learn."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _package_of(frame.f_globals) in _INNER:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _package_of(names: dict[str, object]) -> str:
    return str(names.get("__name__", "")).partition(".")[0]
