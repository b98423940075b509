"""The coordinates in which the regression sees the columns of a table.

With many columns a Gaussian kernel is almost linear: it would not see that the target depends on
how far a column is from its middle. So a column of numbers enters twice: as it is, and folded, by
its squared rank, of which only what is not linear in the column counts. Both are kept or dropped
together.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.stats import rankdata

from depmax.selection._search.units import Units

#: Share of a column's variance that its folded form has.
FOLDED = 0.2
#: A folded form that deviates so little from a line, in units of the spread of squared ranks
#: without ties (0.3), says nothing of its own.
STRAIGHT = 0.05


def coordinates(units: Units, scale: bool, weight: np.ndarray | None = None) -> Units:
    """The same units with centred coordinates for their columns.

    With ``scale`` every input column has the total variance 1, whether it is a number or the
    indicators of a category.
    """
    X = np.ascontiguousarray(units.X, dtype=np.float64)  # rounding depends on the layout
    X = X - _means(X, weight)
    if scale:
        X = _scaled(X, units.owners, weight)
    folds, spreads = _folded(X, weight)
    told = spreads > 0.0  # columns with a folded form
    X *= np.where(told, np.sqrt(1.0 - FOLDED), 1.0)
    folds = folds[:, told] * (np.sqrt(FOLDED) * spreads[told])
    place = np.full(X.shape[1], -1)
    place[told] = X.shape[1] + np.arange(folds.shape[1])
    columns = [_with_folds(each, place) for each in units.columns]
    cells = [cell for each in units.cells for cell in (each, place[each]) if cell[0] >= 0]
    owners = np.concatenate([units.owners, units.owners[told]])
    return replace(units, X=np.hstack([X, folds]), owners=owners, columns=columns, cells=cells)


def all_columns(units: Units, weight: np.ndarray | None = None) -> np.ndarray:
    """What predicts all columns predicts these: every input column of total variance 1.

    Missing cells are the means of their columns.
    """
    X = np.asarray(units.X, dtype=np.float64)
    return np.nan_to_num(_scaled(X - _means(X, weight), units.owners, weight))


def _with_folds(columns: np.ndarray, place: np.ndarray) -> np.ndarray:
    folds = place[columns]
    return np.concatenate([columns, folds[folds >= 0]])


def _scaled(X: np.ndarray, owners: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Centred columns, those of one input column of total variance 1."""
    largest = np.fmax.reduce(np.abs(X), axis=0)  # squares of very large numbers would overflow
    widths = np.bincount(owners)
    starts = np.cumsum(widths) - widths
    largest = np.repeat(np.fmax.reduceat(largest, starts), widths)
    X = X / np.where(largest > 0.0, largest, 1.0)
    variances = np.add.reduceat(_means(X**2, weight), starts)
    return np.asarray(X / np.repeat(np.sqrt(np.where(variances > 0.0, variances, 1.0)), widths))


def _folded(X: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Squared ranks less what is linear in the column, of variance 1, and the columns' spreads.

    The spread is 0 where there is no such form: columns of two values, or almost straight.
    """
    spreads = np.sqrt(_means(X**2, weight))
    known = spreads > 0.0
    lines = X / np.where(known, spreads, 1.0)
    folds = _middle_ranks(X, weight) ** 2
    folds -= _means(folds, weight)
    folds -= lines * _means(folds * lines, weight)
    own = np.sqrt(_means(folds**2, weight))
    bent = known & (own > STRAIGHT * 0.3)
    return folds / np.where(bent, own, 1.0), np.where(bent, spreads, 0.0)


def _middle_ranks(X: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Ranks from -1 to 1, those of equal values averaged; missing cells have none."""
    if weight is None:
        ranks = rankdata(X, axis=0, nan_policy="omit")
        return np.asarray((2.0 * ranks - 1.0) / np.sum(~np.isnan(X), axis=0) - 1.0)
    ranks = np.empty_like(X)
    for column, values in enumerate(X.T):
        _, codes = np.unique(values, return_inverse=True)
        counts = np.bincount(codes, weight)
        ranks[:, column] = (np.cumsum(counts) - 0.5 * counts)[codes]
    return 2.0 * ranks / weight.sum() - 1.0


def _means(X: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Of the columns, over the rows that have a value; 0 for those without any."""
    absent = np.isnan(X)
    if not absent.any():
        return np.asarray(np.average(X, axis=0, weights=weight))
    present = np.maximum(len(X) - absent.sum(axis=0), 1)  # no weights beside missing cells
    return np.asarray(np.where(absent, 0.0, X).sum(axis=0) / present)
