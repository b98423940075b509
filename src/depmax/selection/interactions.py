"""Columns that a search must not lose early because they matter only in pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from depmax._inputs import read_target
from depmax._inputs.table import Categories, Table

#: Adjusted p-value below which a pair counts.
LEVEL = 0.05


def interacting_columns(
    X: np.ndarray, y: Any, categories: Categories, target_kernel: Any, n_jobs: int | None
) -> np.ndarray:
    """Columns in a pair whose interaction with the target is significant over all pairs."""
    from depmax.dependence.screen_pairs import screen_table

    automatic = isinstance(target_kernel, str) and target_kernel == "auto"
    if X.shape[1] < 2 or (automatic and _is_constant(y)):
        return np.empty(0, dtype=np.intp)
    table = Table(X, categories=categories)
    found = screen_table(table, y, target_kernel=target_kernel, random_state=0, n_jobs=n_jobs)
    return np.unique(found.pairs[found.pvalues_adjusted < LEVEL])


def _is_constant(y: Any) -> bool:
    """Whether a target, such as that of some of the rows, has one value only."""
    values = read_target(y).values
    return bool((values == values[:1]).all())
