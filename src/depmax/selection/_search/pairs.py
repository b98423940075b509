"""Pairs of columns that matter together, which searches keep in sight."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from depmax._inputs import read_target
from depmax._inputs.table import Categories, Table, has_missing
from depmax.dependence.exchange import Exchange, TooFewWays
from depmax.dependence.screen_pairs import screen_table
from depmax.kernels.neutral import drawn

#: Adjusted p-value below which a pair of columns interacts.
LEVEL = 0.05
#: Rows, drawn with a fixed seed, that pairs are looked for in: an interaction that explains a few
#: thousandths of the target is found in so many, and memory stays bounded.
ROWS = 10_000


def interacting_pairs(
    X: np.ndarray,
    y: Any,
    categories: Categories,
    target_kernel: Any = "auto",
    n_jobs: int | None = None,
    exchange: Exchange | None = None,
) -> np.ndarray:
    """Pairs of columns with a significant interaction over all pairs, best first: (n_pairs, 2)."""
    nothing = np.empty((0, 2), dtype=np.intp)
    if X.shape[1] < 2:
        return nothing
    if has_missing(X):  # values that have nothing to do with the target cannot interact
        X = drawn(X)
    if X.shape[0] > ROWS:
        rows = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:ROWS])
        X, y = X[rows], _safe_indexing(y, rows)
        exchange = None if exchange is None else exchange.take(rows)
    automatic = isinstance(target_kernel, str) and target_kernel == "auto"
    if automatic and _is_constant(y):  # a rare class may not be among these rows
        return nothing
    try:
        found = screen_table(
            Table(X, categories=categories),
            y,
            target_kernel=target_kernel,
            groups=exchange,
            random_state=0,
            n_jobs=n_jobs,
        )
    except TooFewWays:  # a part of the rows that shows nothing by itself
        return nothing
    return found.pairs[found.pvalues_adjusted < LEVEL]


def _is_constant(y: Any) -> bool:
    values = read_target(y).values
    return bool((values == values[:1]).all())
