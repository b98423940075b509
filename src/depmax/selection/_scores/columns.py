"""Columns of a matrix, dense or sparse: which are constant, one at a time, best first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.utils.sparsefuncs import min_max_axis


def constant_columns(X: Any) -> np.ndarray:
    """Whether all values of a column are equal, exactly.

    Examples
    --------
    >>> constant_columns(np.array([[0.1, 1.0], [0.1, 2.0]]))
    array([ True, False])
    """
    if sparse.issparse(X):
        low, high = min_max_axis(X, axis=0)
    else:
        low, high = X.min(axis=0), X.max(axis=0)
    return np.asarray(low == high)


def best_first(scores: np.ndarray, constant: np.ndarray) -> np.ndarray:
    """Columns by falling score; constant ones last, equal ones in the order they came.

    Examples
    --------
    >>> best_first(np.array([-1.0, 0.0, 2.0]), np.array([False, True, False]))
    array([2, 0, 1])
    """
    return np.lexsort((-scores, constant))


def each_column(
    X: Any, score: Callable[[np.ndarray, int], Any], n_jobs: int | None = None
) -> np.ndarray:
    """Results of ``score(column, position)`` for every column, by threads."""
    values = X.tocsc() if sparse.issparse(X) else X

    def scored(position: int) -> Any:
        column = values[:, [position]]
        column = column.toarray()[:, 0] if sparse.issparse(column) else column[:, 0]
        return score(np.asarray(column, dtype=np.float64), position)

    jobs = (delayed(scored)(position) for position in range(values.shape[1]))
    return np.array(Parallel(n_jobs=n_jobs, prefer="threads")(jobs))
