"""One direction after another, each taken out of the samples before the next is sought."""

from __future__ import annotations

import numpy as np

from depmax.pencils.directions import Directions, leading, negligible


def principal(
    scatter: np.ndarray, n_directions: int, eps: float = float(np.finfo(np.float64).eps)
) -> Directions:
    """Directions of largest variance by deflation, with their eigenvalues of S.

    After each direction p the samples keep what is orthogonal to it, Φ(I - ppᵀ), so that S becomes
    (I - ppᵀ)S(I - ppᵀ).

    Parameters
    ----------
    scatter : ndarray of shape (s, s)
        S.
    n_directions : int
    eps : float
        Relative precision of S.

    Returns
    -------
    Directions
        Fewer than asked for where no variance is left.

    Examples
    --------
    >>> principal(np.diag([1.0, 3.0, 0.0]), 3).dependence
    array([3., 1.])
    """
    rest = scatter.copy()
    found = np.empty((scatter.shape[0], 0))
    values: list[float] = []
    smallest = negligible(eps) * max(float(np.trace(scatter)), 0.0)
    while len(values) < n_directions:
        largest, vectors = leading(rest, 1)
        if not len(largest) or largest[0] <= smallest:
            break
        vector = vectors[:, 0]
        vector = vector - found @ (found.T @ vector)  # what rounding left of earlier directions
        vector /= np.sqrt(vector @ vector)
        found = np.column_stack([found, vector])
        values.append(float(vector @ scatter @ vector))
        image = rest @ vector
        rest -= np.outer(image, vector) + np.outer(vector, image)
        rest += (vector @ image) * np.outer(vector, vector)
    return Directions(found, np.array(values))
