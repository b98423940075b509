"""Arrays of objects and of whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Whole numbers that lie within this are counted without sorting.
NEAR = 1000


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


def count_integers(values: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Distinct whole numbers, sorted, and the rows of each, in one pass; None if far apart."""
    if values.dtype.kind != "i" or not values.size:
        return None
    low, high = int(values.min()), int(values.max())
    if high - low >= NEAR:
        return None
    found = np.flatnonzero(counts := np.bincount(np.subtract(values, low, dtype=np.intp)))
    return (found + low).astype(values.dtype), counts[found]
