"""Weights per class, read off the labels once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np

ClassWeights = Mapping[Hashable, float]


def frequencies(labels: np.ndarray) -> dict[Hashable, float]:
    """Share of each label, in sorted order of the labels.

    Examples
    --------
    >>> frequencies(np.array(["b", "a", "b", "b"]))
    {'a': 0.25, 'b': 0.75}
    """
    values, counts = np.unique(labels, return_counts=True)
    return dict(zip(values.tolist(), (counts / labels.size).tolist(), strict=True))


def lookup(labels: np.ndarray, weights: ClassWeights) -> np.ndarray:
    """Weight of each label; a label without a weight gets zero."""
    values, positions = np.unique(labels, return_inverse=True)
    return np.array([weights.get(value, 0.0) for value in values.tolist()])[positions]
