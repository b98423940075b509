"""For every dropped column the kept one that replaces it best."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import rankdata

#: Rows that are compared at most: correlations are then known to 0.01.
ROWS = 10_000


def stand_ins(X: Any, support: np.ndarray) -> np.ndarray:
    """Position of the kept column with the largest absolute rank correlation, per column.

    Kept columns, and dropped ones that no kept column is related to (constants), get -1. Sparse
    columns are compared by plain correlation. Of long tables a seeded sample of rows is compared.

    Examples
    --------
    >>> X = np.array([[1.0, 10.0, 5.0], [2.0, 20.0, 1.0], [3.0, 35.0, 4.0], [4.0, 40.0, 2.0]])
    >>> stand_ins(X, np.array([True, False, True]))
    array([-1,  0, -1])
    """
    result = np.full(X.shape[1], -1)
    kept, dropped = np.flatnonzero(support), np.flatnonzero(~support)
    if not len(dropped):
        return result
    if X.shape[0] > ROWS:
        X = X[np.sort(np.random.default_rng(0).choice(X.shape[0], ROWS, replace=False))]
    correlation = _correlation(X[:, dropped], X[:, kept])
    best = np.argmax(correlation, axis=1)
    related = correlation[np.arange(len(dropped)), best] > 0.0
    result[dropped[related]] = kept[best[related]]
    return result


def _correlation(left: Any, right: Any) -> np.ndarray:
    """Absolute correlations between the columns of two matrices, zero for constants."""
    if sparse.issparse(left):
        m = left.shape[0]
        means = [np.asarray(part.mean(axis=0)).ravel() for part in (left, right)]
        cross = np.asarray((left.T @ right).todense()) - m * np.outer(*means)
        squares = [
            np.asarray(part.multiply(part).sum(axis=0)).ravel() - m * mean**2
            for part, mean in zip((left, right), means, strict=True)
        ]
        scale = np.sqrt(np.maximum(np.outer(*squares), 0.0))
        return np.abs(np.divide(cross, scale, out=np.zeros_like(cross), where=scale > 1e-12))
    unit = []
    for part in (left, right):
        ranks = _ranks(part)
        ranks -= ranks.mean(axis=1, keepdims=True)
        norms = np.sqrt(np.einsum("ij,ij->i", ranks, ranks))[:, np.newaxis]
        unit.append(np.divide(ranks, norms, out=np.zeros_like(ranks), where=norms > 0))
    return np.abs(unit[0] @ unit[1].T)


def _ranks(X: np.ndarray) -> np.ndarray:
    """Ranks of the values of every column, means for equal ones: shape (n_columns, n_samples)."""
    columns = np.ascontiguousarray(X.T)
    order = np.argsort(columns, axis=1)
    ranks = np.empty(columns.shape)
    np.put_along_axis(ranks, order, np.arange(columns.shape[1], dtype=np.float64), axis=1)
    values = np.take_along_axis(columns, order, axis=1)
    tied = (values[:, 1:] == values[:, :-1]).any(axis=1)
    if tied.any():
        ranks[tied] = rankdata(columns[tied], axis=1)
    return ranks
