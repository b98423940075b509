"""Views of linear features: which columns make them, and which columns they tell about."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg


def loadings(pulled: np.ndarray, weights: np.ndarray) -> np.ndarray:
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
    count = estimator.n_features_in_
    names = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
    names = names or [f"x{column}" for column in range(count)]
    categories = estimator.categories_
    encoded = [names[column] for column in range(count) if column not in categories]
    for column in sorted(categories):
        encoded += [f"{names[column]}={level}" for level in categories[column]]
    return np.array(encoded, dtype=object)
