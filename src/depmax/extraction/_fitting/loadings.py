"""Loadings of the columns of X on features, and the names of these columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg


def loadings_of(pulled: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Regression coefficients of the columns on the features, of shape (width, k).

    Parameters
    ----------
    pulled : ndarray of shape (width, k)
        ΦᵀF, with F = ΦW the features.
    weights : ndarray of shape (width, k)
        W, so that FᵀF = WᵀΦᵀF.
    """
    inner = weights.T @ pulled
    return pulled @ linalg.pinvh((inner + inner.T) / 2)


def coordinate_names(estimator: Any) -> np.ndarray:
    """Names of the columns of ``components_``: numeric columns, then a column per level.

    Columns keep their names (x0, x1, … without names); a level is named "colour=red".
    """
    unnamed = [f"x{column}" for column in range(estimator.n_features_in_)]
    names = np.array(getattr(estimator, "feature_names_in_", unnamed), dtype=object)
    categories = estimator.categories_
    levels = [
        f"{names[column]}={level}" for column in sorted(categories) for level in categories[column]
    ]
    return np.append(np.delete(names, list(categories)), np.array(levels, dtype=object))
