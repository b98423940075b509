"""Arrays of Python objects that numpy must not unpack."""

from __future__ import annotations

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
