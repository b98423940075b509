"""The local dimension of data, whatever the number of columns."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse

from depmax._resources import chunk_rows, slices
from depmax.data import read_table
from depmax.data.table import warn_of_scales
from depmax.dependence.resolve import require_numbers
from depmax.kernels import Distance

#: Rows whose neighbours the likelihood uses; of more, a sample with a fixed seed.
LIKELIHOOD_ROWS = 20_000
#: Rows that the correlation dimension compares; more are sampled with a fixed seed.
CORRELATION_ROWS = 3000
#: Shares of closest pairs between which the slope is taken.
CORRELATION_RANGE = (0.001, 0.01)
#: Fewest pairs at the lower end of that range; with few rows the range moves up.
CORRELATION_PAIRS = 50
#: Fewest distinct rows of which the correlation dimension is estimated.
CORRELATION_MINIMUM = 20


def intrinsic_dimension(
    X: Any,
    method: Literal["mle", "correlation"] = "mle",
    *,
    n_neighbors: int | tuple[int, int] = (10, 20),
) -> float:
    """Intrinsic dimension of the rows of X.

    Parameters
    ----------
    X : array-like or data frame of numbers
        Distances are Euclidean: put the columns on a common scale first.
    method : {"mle", "correlation"}, default="mle"
        ``"mle"``: the maximum likelihood of Levina and Bickel (2004) for the distances T_1 <= ...
        <= T_k to the k nearest rows, averaged over the rows as MacKay and Ghahramani (2005)
        corrected it: the *inverse* estimates, mean_j log(T_k / T_j), are averaged, then inverted.
        The result is averaged over k. With more than 20,000 rows the average is over a random
        subset with a fixed seed, whose neighbours are still searched for among all rows.
        ``"correlation"``: the slope of log C(r) against log r (Grassberger and Procaccia, 1983),
        where C(r) is the share of pairs closer than r, by least squares over 20 radii between the
        0.1% and the 1% quantile of all distances. With fewer than about 320 rows this range moves
        up so that its lower end has 50 pairs. With more than 3,000 rows, a random subset with a
        fixed seed is used.
    n_neighbors : int or (int, int), default=(10, 20)
        Number of neighbours k, or the smallest and the largest, at least 2. Only for ``"mle"``.

    Returns
    -------
    float
        Not a whole number in general. Both methods underestimate the dimension by an amount that
        grows with it, since neighbours are missing near the boundary of the data: 3,000 points in a
        cube of 5 dimensions give about 4.5.

    Notes
    -----
    Equal rows count once: their distance of zero carries no information about the dimension of a
    continuous distribution. Rounded data, in which many rows coincide, have dimension zero at the
    scale of the rounding, which is not what this function estimates.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import intrinsic_dimension
    >>> angle = np.random.default_rng(0).uniform(0, 2 * np.pi, size=500)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(500)])
    >>> round(intrinsic_dimension(circle), 1)
    1.0
    >>> round(intrinsic_dimension(circle, "correlation"), 1)
    1.0
    """
    if method not in ("mle", "correlation"):
        raise ValueError(f"method must be 'mle' or 'correlation', got {method!r}.")
    rows = _distinct_rows(X)
    if method == "correlation":
        return _correlation_dimension(rows)
    return _likelihood_dimension(rows, *_neighbours(n_neighbors))


def _likelihood_dimension(rows: np.ndarray, fewest: int, most: int) -> float:
    if len(rows) <= most:
        raise ValueError(
            f"n_neighbors up to {most} needs at least {most + 1} distinct rows, but X has "
            f"{len(rows)}: lower n_neighbors, or remove duplicates and get more data."
        )
    dimension = dimension_of_distances(_neighbour_distances(rows, most), fewest)
    if dimension is None:
        raise ValueError(
            "The nearest rows are all equally far, as in a regular grid, so their distances do not "
            "reveal a dimension: raise n_neighbors."
        )
    return dimension


def dimension_of_distances(distances: np.ndarray, fewest: int) -> float | None:
    """Most likely dimension given distances to nearest neighbours; None if they are all equal.

    Parameters
    ----------
    distances : ndarray of shape (n_rows, most)
        Positive, each row in increasing order.
    fewest : int
        The estimates from ``fewest`` to ``most`` neighbours are averaged.
    """
    logs = np.log(distances)  # log T_j
    sums = np.cumsum(logs, axis=1)
    counts = np.arange(fewest, distances.shape[1] + 1)  # k
    inverses = logs[:, counts - 1] - sums[:, counts - 2] / (counts - 1)
    means = inverses.mean(axis=0)
    return None if (means <= 1e-12).any() else float(np.mean(1.0 / means))


def _correlation_dimension(rows: np.ndarray) -> float:
    from scipy.spatial.distance import pdist

    if len(rows) < CORRELATION_MINIMUM:
        raise ValueError(
            f"The correlation dimension needs at least {CORRELATION_MINIMUM} distinct rows, but X "
            f"has {len(rows)}."
        )
    if len(rows) > CORRELATION_ROWS:
        rows = rows[np.random.default_rng(0).choice(len(rows), CORRELATION_ROWS, replace=False)]
    distances = pdist(rows)
    lowest = max(CORRELATION_RANGE[0], CORRELATION_PAIRS / len(distances))
    highest = min(lowest * CORRELATION_RANGE[1] / CORRELATION_RANGE[0], 0.5)
    shares = np.geomspace(lowest, highest, 20)  # C(r)
    radii = np.log(np.quantile(distances, shares))
    spread = radii - radii.mean()
    square = float(spread @ spread)
    if square <= 1e-12:
        raise ValueError(
            "The closest pairs of rows are all equally far, as in a regular grid, so their "
            "distances do not reveal a dimension: use method='mle' with more neighbours."
        )
    return float(spread @ np.log(shares)) / square


def _neighbour_distances(rows: np.ndarray, n_neighbors: int) -> np.ndarray:
    """Distances of rows to their nearest others, rising, from differences and so exact."""
    from sklearn.neighbors import NearestNeighbors

    sampled = np.arange(len(rows))
    if len(rows) > LIKELIHOOD_ROWS:
        sampled = np.random.default_rng(0).choice(len(rows), LIKELIHOOD_ROWS, replace=False)
    search = NearestNeighbors(n_neighbors=n_neighbors + 1).fit(rows)
    found = search.kneighbors(rows[sampled], return_distance=False)
    distances = np.empty(found.shape)
    for block in slices(len(sampled), chunk_rows(found.shape[1] * rows.shape[1])):
        differences = rows[found[block]] - rows[sampled[block], np.newaxis]
        distances[block] = np.sqrt(np.einsum("ijk,ijk->ij", differences, differences))
    distances.sort(axis=1)
    return distances[:, 1:]  # without the row itself


def _distinct_rows(X: Any) -> np.ndarray:
    table = read_table(X)
    require_numbers(table, "intrinsic_dimension")
    if sparse.issparse(table.values):
        raise TypeError(
            "The intrinsic dimension needs dense rows: pass X.toarray(), or the output of "
            "sklearn.decomposition.TruncatedSVD."
        )
    warn_of_scales(Distance(), table.values, table.names)
    rows: np.ndarray = np.unique(np.asarray(table.values, dtype=np.float64), axis=0)
    rows -= rows.mean(axis=0)  # keeps the search for neighbours accurate
    return rows


def _neighbours(n_neighbors: int | tuple[int, int]) -> tuple[int, int]:
    """Fewest and most neighbours, checked."""
    pair = (n_neighbors, n_neighbors) if isinstance(n_neighbors, int | np.integer) else n_neighbors
    whole = len(pair) == 2 and all(isinstance(count, int | np.integer) for count in pair)
    if not whole or not 2 <= pair[0] <= pair[1]:
        raise ValueError(
            "n_neighbors must be a whole number of at least 2, or a pair (from, up to) of them, "
            f"got {n_neighbors!r}."
        )
    return int(pair[0]), int(pair[1])
