"""Means and shares of groups of rows, with 95% intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

#: Of the normal law, for intervals of 95%.
NORMAL = 1.959964


@dataclass(frozen=True)
class GroupMeans:
    """Means of some quantities (rows here) in some groups (columns), and how many rows these have.

    The ends are NaN where a single row, or a single unit of rows, tells nothing.
    """

    means: np.ndarray
    low: np.ndarray
    high: np.ndarray
    counts: np.ndarray


def wilson(share: Any, count: Any, quantile: Any = NORMAL) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's interval of a share of so many independent rows.

    Examples
    --------
    >>> low, high = wilson(0.9, 10)
    >>> round(float(low), 3), round(float(high), 3)
    (0.596, 0.982)
    """
    square = quantile**2 / count
    centre = (share + square / 2.0) / (1.0 + square)
    spread = share * (1.0 - share) / count + square / (4.0 * count)
    half = quantile / (1.0 + square) * np.sqrt(spread)
    low, high = np.clip([centre - half, centre + half], 0.0, 1.0)  # zero is no -1e-17
    return np.minimum(low, share), np.maximum(high, share)


def group_means(
    values: np.ndarray,
    codes: np.ndarray,
    *,
    shares: bool = False,
    sample_weight: np.ndarray | None = None,
    units: np.ndarray | None = None,
) -> GroupMeans:
    """Means by group: t intervals, or Wilson's where the values are zeros and ones.

    Parameters
    ----------
    values : array of shape (n_samples, n_quantities)
    codes : array of int of shape (n_samples,)
        The group of every row; all from 0 to the largest have some.
    shares : bool, default=False
        Whether the values are zeros and ones.
    sample_weight : array of shape (n_samples,), optional
        What each row counts; the rows, not what they count, are independent.
    units : array of int of shape (n_samples,), optional
        Which rows belong together, such as those of a patient; by default all are independent.
    """
    weight = np.ones(len(codes)) if sample_weight is None else sample_weight
    counts, total = np.bincount(codes), np.bincount(codes, weight)
    pairs = np.arange(len(codes)) if units is None else codes * (1 + units.max()) + units
    _, firsts, pairs = np.unique(pairs, return_index=True, return_inverse=True)
    of_pair = codes[firsts]  # the group of each unit in a group
    n_units = np.bincount(of_pair)

    def squares(parts: np.ndarray) -> np.ndarray:
        return np.bincount(of_pair, np.bincount(pairs, parts) ** 2) / total**2

    effective = 1.0 / squares(weight)  # Kish's number of units
    free = np.maximum(effective - 1.0, 0.5)
    quantile = np.where(n_units > 1, stats.t.ppf(0.975, np.maximum(1.0, free)), np.nan)
    means, low, high = np.empty((3, values.shape[1], len(total)))
    for place, column in enumerate(values.T):
        mean = np.bincount(codes, weight * column) / total
        variance = squares(weight * (column - mean[codes]))
        if not shares:
            half = quantile * np.sqrt(variance * (1.0 + 1.0 / free))
            means[place], low[place], high[place] = mean, mean - half, mean + half
            continue
        mean = np.clip(mean, 0.0, 1.0)
        count, ends = effective, np.full(len(total), NORMAL)
        if units is not None:  # as many rows as would be as uncertain, but no more than there are
            most = total**2 / np.bincount(codes, weight**2)
            known = variance > 1e-12
            alike = mean * (1.0 - mean) / np.where(known, variance, 1.0)
            count, ends = np.where(known, np.minimum(most, alike), effective), quantile
        means[place], (low[place], high[place]) = mean, wilson(mean, count, ends)
    return GroupMeans(means, low, high, counts)
