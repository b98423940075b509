"""What the kernel of a table with categories is defined by: numbers beside scaled indicators."""

from __future__ import annotations

from typing import Any

import numpy as np


def one_hot(numbers: np.ndarray, *categories: Any) -> np.ndarray:
    """Numbers beside the indicators of every level, divided by the deviation of all of a column.

    The indicators are in the unit of the numbers, the median of their standard deviations.
    """
    numbers = np.asarray(numbers, dtype=np.float64)
    unit = float(np.median(numbers.std(axis=0))) if numbers.shape[1] else 1.0
    blocks = [numbers]
    for column in categories:
        labels = np.asarray(column)
        indicators = np.array([labels == level for level in np.unique(labels)], dtype=float).T
        blocks.append(unit * indicators / np.sqrt(indicators.var(axis=0).sum()))
    return np.hstack(blocks)
