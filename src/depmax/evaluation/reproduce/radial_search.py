"""BAHSIC with the kernel "dis" on thousands of genes, by downdating squared distances.

The same rounds as ``BAHSIC(kernel=InverseDistance(...), interactions=None)``, whose general route
makes a kernel matrix anew for every column; a test holds the two together.
"""

from __future__ import annotations

import numpy as np

from depmax.dependence.sides import read_target_side
from depmax.selection.weights import TargetWeights

#: Numbers that one block of pairs and columns may hold: 16 MB.
BLOCK = 2_000_000


def eliminate(X: np.ndarray, y: np.ndarray, epsilon: float, step: float = 0.1) -> np.ndarray:
    """Columns, best first, by backward elimination under HSIC₁ with 1 / (‖x - x'‖ + ε)."""
    first, second = np.triu_indices(len(X), 1)
    whole = TargetWeights.of(read_target_side(y, "auto"), unbiased=True).strip(slice(0, len(X)))
    weights = 2 * whole[first, second]  # every pair once
    left = np.arange(X.shape[1])
    worst_first: list[int] = []
    while len(left) > 1:
        dependence = _without_each(X[:, left], first, second, weights, epsilon)
        count = min(max(1, int(step * len(left))), len(left) - 1)
        # most dependence left first; among equals the later column leaves
        leaving = np.lexsort((-left, -dependence))[:count]
        worst_first += left[leaving].tolist()
        left = np.delete(left, leaving)
    return np.array([*left, *worst_first[::-1]])


def _without_each(
    X: np.ndarray, first: np.ndarray, second: np.ndarray, weights: np.ndarray, epsilon: float
) -> np.ndarray:
    """HSIC₁ of all columns but one, for each."""
    per_block = max(1, BLOCK // len(weights))
    blocks = [X[:, start : start + per_block] for start in range(0, X.shape[1], per_block)]
    total = sum(_squares(block, first, second).sum(axis=1) for block in blocks)
    scores = []
    for block in blocks:
        distances = np.maximum(total[:, np.newaxis] - _squares(block, first, second), 0.0)
        np.sqrt(distances, out=distances)
        distances += epsilon
        scores.append(weights @ np.reciprocal(distances, out=distances))
    return np.concatenate(scores)


def _squares(X: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Squared differences of every pair of rows in each column."""
    differences = X[first] - X[second]
    return np.square(differences, out=differences)
