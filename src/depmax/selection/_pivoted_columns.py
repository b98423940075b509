"""Incomplete Cholesky factors of the kernel matrices of many single columns at once."""

from __future__ import annotations

import numpy as np

from depmax.maps._spectrum import require_semidefinite
from depmax.selection._column_kernels import Part

#: Trace of K - GGᵀ, relative to that of K, at which pivots suffice.
PIVOT_TOLERANCE = 1e-11


def pivoted_factors(part: Part, limit: int) -> list[np.ndarray] | None:
    """Factors G of shape (r, m) with GᵀG ≈ K, for every column of a part.

    Each step takes, in every column that needs one, the sample that the pivots so far explain
    worst. Steps of all columns are made together.

    Parameters
    ----------
    part : Part
    limit : int
        Largest rank r.

    Returns
    -------
    list of ndarray, or None
        None if a column needs a larger rank.
    """
    residual = part.diagonals()  # diagonal of K - GᵀG, of shape (n_columns, m)
    enough = PIVOT_TOLERANCE * residual.sum(axis=1)
    largest = float(residual.max())
    count, m = residual.shape
    store = np.empty((count, min(8, limit), m))
    ranks = np.zeros(count, dtype=np.intp)
    live = np.arange(count)
    for rank in range(limit + 1):
        live = live[residual[live].sum(axis=1) > enough[live]]
        if not len(live):
            return [store[j, : ranks[j]] for j in range(count)]
        if rank == limit:
            break
        if rank == store.shape[1]:
            store = np.concatenate([store, np.empty_like(store)], axis=1)
        some = part if len(live) == count else part.take(live)
        pivots = residual[live].argmax(axis=1)
        rows = some.against(pivots)
        if rank:
            before = store[:, :rank] if len(live) == count else store[live, :rank]
            at = before[np.arange(len(live)), :, pivots]
            rows = rows - np.matmul(at[:, np.newaxis], before)[:, 0]
        rows /= np.sqrt(residual[live, pivots])[:, np.newaxis]
        left = residual[live] - rows**2
        left[np.arange(len(live)), pivots] = 0.0
        require_semidefinite(left.min(), largest)
        residual[live] = np.maximum(left, 0.0)
        store[live, rank] = rows
        ranks[live] += 1
    return None
