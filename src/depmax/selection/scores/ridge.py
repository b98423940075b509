"""Score of a column by ridge regression on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from depmax._inputs import Target
from depmax.selection.scores.moments import products
from depmax.selection.scores.outputs import centred_outputs


def ridge(X: Any, target: Target, alpha: float = 1.0) -> np.ndarray:
    """What ridge regression on a column alone lowers the regularised risk by.

    With column and outputs centred, the smallest ‖y - wx‖² + αw² is ‖y‖² - (xᵀy)²/(xᵀx + α). The
    last term, summed over the outputs, is (m-1)² times HSIC₀ of ``RidgeKernel("linear", alpha)``
    and the linear kernel of y. ``BAHSIC`` with the ridge kernel weighs all columns together.

    Examples
    --------
    >>> from depmax._inputs import read_target
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]])
    >>> ridge(X, read_target([0.0, 1.0, 6.0, 7.0]), alpha=1.0)
    array([32.4,  0.5])
    """
    if not (np.isfinite(alpha) and alpha > 0):
        raise ValueError(f"alpha must be a positive number, got {alpha!r}.")
    cross, squares = products(X, centred_outputs(target))
    return np.sum(cross**2, axis=1) / (squares + alpha)
