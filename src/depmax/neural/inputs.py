"""Rows as a network reads them: numbers of unit variance, categories one-hot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from depmax._inputs import read_fit, read_new


@dataclass(frozen=True)
class Encoding:
    """What ``fit`` learnt about the columns."""

    n_levels: Mapping[int, int]  # of categorical columns, by position
    mean: np.ndarray  # of the encoded columns, shape (D,)
    scale: np.ndarray  # standard deviations, 1 where there is none

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Encoded rows of shape (m, D), in float64."""
        standard: np.ndarray = (one_hot(rows, self.n_levels) - self.mean) / self.scale
        return standard


def one_hot(rows: np.ndarray, n_levels: Mapping[int, int]) -> np.ndarray:
    """Numeric columns, then one column per level of every categorical one."""
    numeric = [column for column in range(rows.shape[1]) if column not in n_levels]
    parts = [np.asarray(rows[:, numeric], dtype=np.float64)]
    for column in sorted(n_levels):
        parts.append(rows[:, column, np.newaxis] == np.arange(n_levels[column]))
    return np.hstack(parts).astype(np.float64)


def fit_encoding(estimator: Any, X: Any) -> tuple[np.ndarray, Encoding, np.dtype]:
    """Encoded training rows, the encoding and the precision of X."""
    rows, estimator.categories_ = read_fit(estimator, X)
    n_levels = {column: len(levels) for column, levels in estimator.categories_.items()}
    values = one_hot(rows, n_levels)
    mean, scale = values.mean(axis=0), values.std(axis=0)
    # What rounding leaves of a constant column is no variance.
    scale[scale <= 1e-12 * np.abs(mean)] = 1.0
    encoding = Encoding(n_levels, mean, np.where(scale == 0.0, 1.0, scale))
    return encoding(rows), encoding, _precision(rows)


def read_encoded(estimator: Any, X: Any, encoding: Encoding) -> tuple[np.ndarray, np.dtype]:
    """Encoded new rows and their precision."""
    rows = read_new(estimator, X, categories=estimator.categories_)
    return encoding(rows), _precision(rows)


def _precision(rows: np.ndarray) -> np.dtype:
    return np.dtype(np.float32 if rows.dtype == np.float32 else np.float64)
