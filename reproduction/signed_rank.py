"""Wilcoxon's signed-rank test of paired scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import wilcoxon


def signed_rank_pvalue(first: Any, second: Any) -> float:
    """Two-sided p-value that paired scores differ; 1 if all pairs are equal.

    Pairs that are equal are left out, as Wilcoxon does. The p-value is exact for a few pairs, from
    the normal law otherwise. Scores of repeated splits of the same rows
    are not independent, so that a small p-value is about these rows, not about new data.

    Parameters
    ----------
    first, second : array-like of shape (n_pairs,)

    Returns
    -------
    float

    Examples
    --------
    >>> from reproduction.signed_rank import signed_rank_pvalue
    >>> signed_rank_pvalue([0.9, 0.8, 0.7, 0.9, 0.8], [0.8, 0.7, 0.5, 0.6, 0.7])
    0.0625
    """
    # differences that are equal but for rounding are ties
    differences = np.round(np.asarray(first, dtype=float) - np.asarray(second, dtype=float), 12)
    differences = differences[differences != 0]
    if not len(differences):
        return 1.0
    return float(wilcoxon(differences).pvalue)
