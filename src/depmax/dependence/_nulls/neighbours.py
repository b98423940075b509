"""Rows that resemble their neighbours: p-values that count them as independent are too small."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from depmax._warnings import warn_caller

#: Rows below which neighbours are not compared, columns that are looked at, and what counts as
#: alike: standard errors and correlation of the target, and the differences of the columns as a
#: share of the usual ones.
FEWEST_ROWS = 100
MOST_COLUMNS = 200
ERRORS = 5.0
CORRELATION = 0.3
ALIKE = 0.8
ALIKE_IN_ORDER = (
    "Rows next to each other are alike, in the target and in the columns. If rows follow each "
    "other in time, or several belong to one person or place, p-values are too small and scores on "
    "random splits too good: pass groups=depmax.Shifts() for a time series, or name what belongs "
    "together (groups= or --groups), such as the patient or the month."
)
#: Cells that are looked at; of a larger table, the first rows.
MOST_CELLS = 20_000_000


def warn_of_neighbours(x: Any, y: Any, categories: Collection[int] = ()) -> None:
    """Warn of rows in memory that resemble their neighbours, for tests that take them as free.

    Parameters
    ----------
    x : ndarray of shape (m, d) of numbers, codes in categorical columns; others are not looked at
    y : ndarray of shape (m,) of labels, or of shape (m, q) of numbers; others are not looked at
    categories : positions of the categorical columns
    """
    tables = all(isinstance(part, np.ndarray) and part.ndim in (1, 2) for part in (x, y))
    if not tables or len(x) < FEWEST_ROWS or len(x) != len(y) or x.dtype.kind != "f":
        return
    is_labels = y.ndim == 1
    if is_labels and y.dtype.kind == "O" and any(not isinstance(one, str) for one in y):
        return  # objects such as graphs
    values = x[:, np.newaxis] if x.ndim == 1 else x
    n_rows = min(len(values), max(1, MOST_CELLS // max(1, values.shape[1])))
    answers = np.unique(y, return_inverse=True)[1].astype(float) if is_labels else y[:, 0]
    if neighbours_alike(values[:n_rows], answers[:n_rows], is_labels, categories):
        warn_caller(ALIKE_IN_ORDER, UserWarning)


@contextmanager
def neighbours_mentioned() -> Iterator[None]:
    """For callers who have said it, or will, where it belongs."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=ALIKE_IN_ORDER[:40])
        yield


def neighbours_alike(
    values: np.ndarray, answers: np.ndarray, classes: bool, categories: Collection[int]
) -> bool:
    """Whether rows next to each other are alike in the target, and in X beyond what that explains.

    A table that is sorted by its target, or by one of its columns, is not meant.

    Parameters
    ----------
    values : ndarray of shape (m, d)
    answers : ndarray of shape (m,)
        The target as numbers, or as codes of classes.
    classes : whether it is classes
    categories : positions of categorical columns
    """
    if not _follow_each_other(answers, classes):
        return False
    ties = np.random.default_rng(0).random(len(values))
    by_target = np.lexsort((ties, answers))
    here, sorted_by_target = [], []
    for place in range(0, values.shape[1], 1 + (values.shape[1] - 1) // MOST_COLUMNS):
        column = values[:, place]
        steps = np.diff(column[np.isfinite(column)])
        if not steps.size or (steps >= 0).all() or (steps <= 0).all():
            continue  # constant, or what the table is sorted by
        here.append(_difference(column, place in categories))
        sorted_by_target.append(_difference(column[by_target], place in categories))
    return bool(here) and bool(np.nanmean(here) < ALIKE * np.nanmean(sorted_by_target))


def coincidence(column: np.ndarray) -> float:
    """Probability that two rows have the same value."""
    shares = np.unique(column, return_counts=True)[1] / len(column)
    return float((shares**2).sum())


def _follow_each_other(answers: np.ndarray, classes: bool) -> bool:
    """Whether the target of a row tells something about that of the next."""
    n_rows = len(answers)
    if classes:
        chance = coincidence(answers)
        if chance == 1.0:
            return False
        agreement = (float((answers[1:] == answers[:-1]).mean()) - chance) / (1.0 - chance)
        error = np.sqrt(chance / (1.0 - chance) / n_rows)
    else:
        ranks = _ranks(answers)
        if np.ptp(ranks[1:]) == 0 or np.ptp(ranks[:-1]) == 0:
            return False
        agreement, error = float(np.corrcoef(ranks[1:], ranks[:-1])[0, 1]), n_rows**-0.5
    return agreement > max(CORRELATION, ERRORS * error)


def _difference(column: np.ndarray, category: bool) -> float:
    """How much rows next to each other differ, about 1 for rows in random order."""
    known = column[np.isfinite(column)]
    if category:
        return float((known[1:] != known[:-1]).mean() / max(1e-12, 1.0 - coincidence(known)))
    ranks = _ranks(known)
    return float((np.diff(ranks) ** 2).mean() / max(1e-12, 2.0 * ranks.var()))


def _ranks(values: np.ndarray) -> np.ndarray:
    from scipy.stats import rankdata  # takes longer to import than most calls take

    return np.asarray(rankdata(values), dtype=np.float64)
