"""Columns that a search must not lose early because they matter only in pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Adjusted p-value below which a pair counts.
LEVEL = 0.05


def interacting_columns(X: Any, y: Any, target_kernel: Any, n_jobs: int | None) -> np.ndarray:
    """Columns in a pair whose interaction with the target is significant over all pairs."""
    from depmax.dependence.screen_pairs import screen_pairs

    if X.shape[1] < 2:
        return np.empty(0, dtype=np.intp)
    found = screen_pairs(X, y, target_kernel=target_kernel, n_jobs=n_jobs)
    return np.unique(found.pairs[found.pvalues_adjusted < LEVEL])
