"""Views of linear features: which columns make them, and which columns they tell about."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg


def loadings(scatter: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """SP(PᵀSP)⁺ of shape (s, k): regression coefficients of the coordinates on the features."""
    image = scatter @ directions
    return image @ linalg.pinvh(directions.T @ image)


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
