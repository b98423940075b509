"""A linear support vector machine with squared hinge loss, solved exactly."""

from __future__ import annotations

import numpy as np
from scipy import linalg

#: Newton steps; some ten are usual.
MOST_STEPS = 200
#: Smallest part of a Newton step: below, rounding decides what decreases.
SMALLEST_PART = 1e-6


def hinge_weights(rows: np.ndarray, signs: np.ndarray, C: float) -> np.ndarray:
    """Weights w that minimise ½(‖w‖² + b²) + C Σ max(0, 1 - s_i(x_iᵀw + b))², without b.

    The objective is quadratic as long as the same rows are within the margin. Newton's step goes
    to the minimum of that quadratic; when the rows within the margin are those it assumed, it is
    the minimum of all. The optimum is that of scikit-learn's ``LinearSVC``, whose coordinate steps
    take long where columns have very different scales.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_columns)
    signs : ndarray of shape (n_samples,)
        Labels -1 and +1.
    C : float

    Examples
    --------
    >>> hinge_weights(np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), C=100.0).round(2)
    array([1.])
    """
    inputs = np.column_stack([rows, np.ones(len(rows))])  # the last weight is b
    weights = np.zeros(inputs.shape[1])
    loss, within = _objective(inputs, signs, C, weights)
    for _ in range(MOST_STEPS):
        target = _quadratic_minimum(inputs[within], signs[within], C)
        part = 1.0
        moved_loss, now_within = _objective(inputs, signs, C, target)
        while moved_loss > loss and part > SMALLEST_PART:
            part /= 2.0
            moved_loss, now_within = _objective(
                inputs, signs, C, weights + part * (target - weights)
            )
        if moved_loss > loss:
            break
        weights = weights + part * (target - weights)
        settled = part == 1.0 and np.array_equal(within, now_within)
        loss, within = moved_loss, now_within
        if settled:
            break
    return weights[:-1]


def _objective(
    inputs: np.ndarray, signs: np.ndarray, C: float, weights: np.ndarray
) -> tuple[float, np.ndarray]:
    """The objective, and which rows are within the margin."""
    short = 1.0 - signs * (inputs @ weights)
    within = short > 0
    return float(0.5 * weights @ weights + C * np.square(short[within]).sum()), within


def _quadratic_minimum(inputs: np.ndarray, signs: np.ndarray, C: float) -> np.ndarray:
    """Minimum of ½‖w‖² + C‖s - Xw‖²."""
    matrix = 2.0 * C * (inputs.T @ inputs)
    matrix[np.diag_indices_from(matrix)] += 1.0
    found: np.ndarray = linalg.solve(matrix, 2.0 * C * (inputs.T @ signs), assume_a="pos")
    return found
