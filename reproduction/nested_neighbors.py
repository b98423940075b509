"""Nearest neighbours in the first one, two, three, … columns, from one growing distance matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np


def nested_neighbors(
    rows: np.ndarray,
    queries: np.ndarray | None,
    n_neighbors: int,
    dimensions: Sequence[int],
) -> Iterator[np.ndarray]:
    """Nearest rows of every query in the first d columns, for each d of ``dimensions``.

    The squared distances in d columns are those in fewer plus the rest, so that all dimensions
    together cost little more than the largest.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        Where neighbours are looked for.
    queries : ndarray of shape (n_queries, n_columns) or None
        None means the rows themselves, each without itself.
    n_neighbors : int
        At most n_rows, or n_rows - 1 without queries.
    dimensions : sequence of int
        Growing numbers of columns.

    Yields
    ------
    ndarray of shape (n_queries, n_neighbors)
        Row numbers, the nearest first.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.nested_neighbors import nested_neighbors
    >>> rows = np.array([[0.0, 9.0], [1.0, 0.0], [3.0, 0.0]])
    >>> [found[0, 0].item() for found in nested_neighbors(rows, np.zeros((1, 2)), 1, (1, 2))]
    [0, 1]
    """
    others = rows if queries is None else queries
    squared = np.zeros((len(others), len(rows)))
    if queries is None:
        np.fill_diagonal(squared, np.inf)
    done = 0
    for dimension in dimensions:
        _add_squared_distances(squared, others[:, done:dimension], rows[:, done:dimension])
        done = dimension
        yield _smallest(squared, n_neighbors)


def _add_squared_distances(squared: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    if left.shape[1] == 1:
        difference = left - right.T
        squared += np.square(difference, out=difference)
    elif left.shape[1]:
        squared += np.square(left).sum(axis=1)[:, np.newaxis]
        squared += np.square(right).sum(axis=1)
        squared -= 2.0 * (left @ right.T)


def _smallest(values: np.ndarray, count: int) -> np.ndarray:
    """Places of the smallest values of every line, in order."""
    if count < values.shape[1]:
        places = np.argpartition(values, count - 1, axis=1)[:, :count]
    else:
        places = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    order = np.argsort(np.take_along_axis(values, places, axis=1), axis=1, kind="stable")
    return np.take_along_axis(places, order, axis=1)
