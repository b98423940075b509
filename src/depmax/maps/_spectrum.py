"""Eigenvectors of a kernel matrix as coordinates."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from depmax._threads import small_problems
from depmax.samples import require_positive, require_semidefinite

#: Rows of a matrix whose eigenvectors one thread finds about as fast as two.
SMALL = 600


def leading_eigenpairs(
    matrix: np.ndarray, n_components: int | None, cutoff: float
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues above ``cutoff`` times the largest, in falling order, and their eigenvectors.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Symmetric and positive semidefinite.
    n_components : int or None
        At most so many.
    cutoff : float
        What smaller eigenvalues hold, relative to the largest, is rounding noise.

    Returns
    -------
    values : ndarray of shape (r,)
    vectors : ndarray of shape (n, r)

    Examples
    --------
    >>> leading_eigenpairs(np.diag([1.0, 0.0, 4.0]), None, 1e-12)[0]
    array([4., 1.])
    """
    size = matrix.shape[0]
    # threads gain little here, and those of BLAS stay busy for a while after their work
    with small_problems(size <= SMALL):
        if n_components is None or n_components >= size:
            values, vectors = linalg.eigh(matrix, driver="evd")  # the fastest for all of them
        else:
            values, vectors = linalg.eigh(matrix, subset_by_index=[size - n_components, size - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    require_positive(values[0])
    unseen = np.trace(matrix) - values.sum()  # sum of the eigenvalues that were not computed
    require_semidefinite(min(values[-1], unseen), values[0])
    kept = values > cutoff * values[0]
    return values[kept], vectors[:, kept]


def signs(coordinates: np.ndarray) -> np.ndarray:
    """+1 or -1 for each column, so that its largest entry becomes positive.

    Examples
    --------
    >>> signs(np.array([[1.0, 2.0], [-3.0, 1.0]]))
    array([-1.,  1.])
    """
    largest = np.abs(coordinates).argmax(axis=0)
    return np.where(coordinates[largest, np.arange(coordinates.shape[1])] < 0, -1.0, 1.0)
