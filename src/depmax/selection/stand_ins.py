"""For every dropped column the kept one that replaces it best."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import rankdata

from depmax._threads import map_threads
from depmax.samples import slices

#: Rows that are compared at most: correlations are then known to 0.01.
ROWS = 10_000
#: Columns that are compared at a time.
COLUMNS = 128


def stand_ins(X: Any, support: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
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
    together = sparse.issparse(X)  # taking columns of a sparse matrix reads all of it
    compare = (_plain if together else _by_ranks)(X[:, kept])

    def fill(part: slice) -> None:
        columns = dropped[part]
        correlation = compare(X[:, columns])
        best = np.argmax(correlation, axis=1)
        related = correlation[np.arange(len(columns)), best] > 0.0
        result[columns[related]] = kept[best[related]]

    parts = slices(len(dropped), len(dropped) if together else COLUMNS)
    map_threads(fill, list(parts), n_jobs)
    return result


def _by_ranks(kept: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Absolute rank correlations of other columns with the kept ones, zero for constants."""
    right = _unit_ranks(kept)
    return lambda columns: np.abs(_unit_ranks(columns) @ right.T)


def _plain(kept: Any) -> Callable[[Any], np.ndarray]:
    """Absolute correlations of other sparse columns with the kept ones, zero for constants."""
    m = kept.shape[0]
    right_mean, right_squares = _moments(kept)

    def compare(columns: Any) -> np.ndarray:
        mean, squares = _moments(columns)
        cross = np.asarray((columns.T @ kept).todense()) - m * np.outer(mean, right_mean)
        scale = np.sqrt(np.maximum(np.outer(squares, right_squares), 0.0))
        return np.abs(np.divide(cross, scale, out=np.zeros_like(cross), where=scale > 1e-12))

    return compare


def _moments(columns: Any) -> tuple[np.ndarray, np.ndarray]:
    """Means of sparse columns, and the sums of squares about them."""
    mean = np.asarray(columns.mean(axis=0)).ravel()
    squares = np.asarray(columns.multiply(columns).sum(axis=0)).ravel()
    return mean, squares - columns.shape[0] * mean**2


def _unit_ranks(X: np.ndarray) -> np.ndarray:
    """Centred ranks of every column, of length 1 (0 if constant): (n_columns, n_samples)."""
    ranks = np.empty(X.shape[::-1])
    for row, values in zip(ranks, np.ascontiguousarray(X.T), strict=True):
        order = np.argsort(values)
        row[order] = np.arange(len(values), dtype=np.float64)
        ordered = values[order]
        if (ordered[1:] == ordered[:-1]).any():
            row[:] = rankdata(values)
    ranks -= ranks.mean(axis=1, keepdims=True)
    norms = np.sqrt(np.einsum("ij,ij->i", ranks, ranks))[:, np.newaxis]
    return np.divide(ranks, norms, out=np.zeros_like(ranks), where=norms > 0)
