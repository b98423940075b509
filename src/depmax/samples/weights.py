"""Weights of rows: how many rows each row of a table stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, _num_samples

from depmax.samples.stream import reads_chunks

#: What all rows together must at least stand for.
FEWEST = 2.0


def read_weights(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Weights of so many rows, of shape (n_rows,): none negative or missing, not all zero.

    Examples
    --------
    >>> read_weights([1, 0, 2], 3)
    array([1., 0., 2.])
    """
    if hasattr(sample_weight, "to_numpy"):  # series of any library
        sample_weight = sample_weight.to_numpy()
    rows = np.empty(n_rows)
    weights: np.ndarray = _check_sample_weight(
        sample_weight, rows, dtype=np.float64, ensure_non_negative=True
    )
    total = float(weights.sum())
    if total == 0:
        raise ValueError("sample_weight is zero for every row: at least two rows must count.")
    if total < FEWEST:
        raise ValueError(
            f"sample_weight adds up to {total:.3g}, but a weight says how many rows a row stands "
            f"for, and fewer than {FEWEST:.0f} show no dependence. Weights whose scale means "
            "nothing should add up to the number of rows: pass w * len(w) / w.sum()."
        )
    return weights


def weighed(
    sample_weight: Any, tables: Sequence[Any], square: Sequence[bool] = ()
) -> tuple[Any, ...]:
    """Positive weights, and of every table the rows that have one.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,)
    tables : sequence of array-like, frame or sequence of objects
        With as many rows each; None stays None.
    square : sequence of bool, optional
        Which of the tables are kernel matrices, of which columns go with the rows.
    """
    known = [table for table in tables if table is not None]
    for table in known:
        if reads_chunks(table):
            raise TypeError(
                "sample_weight needs rows in memory: a table that is read a chunk at a time does "
                "not take weights. Pass rows that fit, such as a random part of them."
            )
    counts = [_num_samples(table) for table in known]
    if len(set(counts)) > 1:
        raise ValueError(
            f"X and y have inconsistent numbers of samples: {counts[0]} rows against {counts[1]}."
        )
    weights = read_weights(sample_weight, counts[0])
    if weights.all():
        return weights, *tables
    rows = np.flatnonzero(weights)
    are_square = list(square) + [False] * (len(tables) - len(square))
    return weights[rows], *(
        None if table is None else _taken(table, rows, is_square)
        for table, is_square in zip(tables, are_square, strict=True)
    )


def _taken(table: Any, rows: np.ndarray, is_square: bool) -> Any:
    taken = _safe_indexing(table, rows)
    return _safe_indexing(taken, rows, axis=1) if is_square else taken
