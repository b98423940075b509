"""Weights: how many rows each row of a table stands for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, _num_samples

from depmax.data.sample import Sample
from depmax.data.table import is_streamed, refuse_unreadable, require_equal_length
from depmax.kernels.kernel import is_precomputed

#: What all rows together must at least stand for, and at most: sums of squares of more are rounded.
FEWEST, MOST = 2.0, 1e12


def read_weights(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Weights of so many rows, of shape (n_rows,): none negative or missing, not all zero.

    Examples
    --------
    >>> read_weights([1, 0, 2], 3)
    array([1., 0., 2.])
    """
    if hasattr(sample_weight, "to_numpy"):  # series of any library
        sample_weight = sample_weight.to_numpy()
    refuse_unreadable(sample_weight, "sample_weight")
    rows = np.empty(n_rows)
    weights: np.ndarray = _check_sample_weight(
        sample_weight, rows, dtype=np.float64, ensure_non_negative=True
    )
    total = float(weights.sum())
    if total == 0:
        raise ValueError("sample_weight is zero for every row: at least two rows must count.")
    if not FEWEST <= total <= MOST:
        wrong = (
            f"fewer than {FEWEST:.0f} cannot show a dependence"
            if total < FEWEST
            else f"depmax counts up to {MOST:.0e}"
        )
        raise ValueError(
            f"sample_weight adds up to {total:.3g}, but a weight says how many rows a row stands "
            f"for, and {wrong}. If only the ratios of the weights are meaningful, scale them to "
            "add up to the number of rows: pass w * len(w) / w.sum()."
        )
    return weights


def repeated_rows(weight: np.ndarray, most: int = 20_000) -> np.ndarray:
    """Each row as often as its weight says if all weights are whole numbers, else once.

    Masses that stand for more than ``most`` rows (and more than there are) become so many in the
    same proportions.

    Examples
    --------
    >>> repeated_rows(np.array([1.0, 0.0, 3.0]))
    array([0, 2, 2, 2])
    >>> repeated_rows(np.array([1.0, 0.5]))
    array([0, 1])
    >>> repeated_rows(np.array([3e6, 1e6]), most=4)
    array([0, 0, 0, 1])
    """
    if (weight != np.rint(weight)).any():
        return np.arange(len(weight))
    total = float(weight.sum())
    count = int(min(total, max(most, len(weight))))
    places = (np.arange(count) + 0.5) * (total / count)  # the middles of equal parts
    return np.searchsorted(np.cumsum(weight), places)


@dataclass(frozen=True)
class Weighed:
    """The rows of some tables that have a positive weight."""

    weight: np.ndarray  # their weights, shape (n,)
    rows: np.ndarray | None  # which they are, shape (n,); None: all

    def of(self, table: Any, kernel: Any = None) -> Any:
        """These rows of a table; of a kernel matrix their columns, too. None stays None."""
        if table is not None and not hasattr(table, "__getitem__"):
            table = np.asarray(table)
        return table if table is None or self.rows is None else take_rows(table, self.rows, kernel)

    def counted(self, sample: Sample) -> Sample:
        """A sample of these rows, or of a kernel matrix of all rows, with what each stands for."""
        if sample.precomputed and self.rows is not None:
            sample = sample.take(self.rows)
        return replace(sample, weight=self.weight)


def take_rows(table: Any, rows: np.ndarray, kernel: Any = None) -> Any:
    """Some rows of a table that the kernel compares; of a kernel matrix their columns, too.

    Examples
    --------
    >>> take_rows(np.arange(9).reshape(3, 3), np.array([0, 2]), "precomputed")
    array([[0, 2],
           [6, 8]])
    """
    some = _safe_indexing(table, rows)
    return _safe_indexing(some, rows, axis=1) if is_precomputed(kernel) else some


def weigh(sample_weight: Any, *tables: Any) -> Weighed:
    """Weights of the rows of tables, which must have as many rows each; None is no table."""
    known = [table for table in tables if table is not None]
    for table in known:
        if is_streamed(table):
            raise TypeError(
                "sample_weight needs rows in memory: a table that is read a chunk at a time does "
                "not take weights. Pass rows that fit, such as a random part of them."
            )
    first, *others = [_num_samples(table) for table in known]
    for count in others:
        require_equal_length(first, count)
    weights = read_weights(sample_weight, first)
    if weights.all():
        return Weighed(weights, None)
    rows = np.flatnonzero(weights)
    return Weighed(weights[rows], rows)
