"""The distance-induced kernel, which turns HSIC into distance covariance."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from depmax.kernels.kernel import Capabilities, Kernel


class Distance(Kernel):
    """Distance kernel, k(x, z) = (||x||^p + ||z||^p - ||x - z||^p) / 2 with p = ``exponent``.

    Four times the HSIC of two distance kernels is the squared distance covariance.

    Parameters
    ----------
    exponent : float, default=1.0
        Above 0 and at most 2; 2 gives the linear kernel.

    Examples
    --------
    >>> from depmax.kernels import Distance
    >>> Distance()([[1.0], [3.0], [-2.0]])
    array([[1., 1., 0.],
           [1., 3., 0.],
           [0., 0., 2.]])
    """

    _capabilities: ClassVar[Capabilities] = Capabilities(sparse=True)

    def __init__(self, exponent: float = 1.0) -> None:
        self.exponent = exponent

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        values = self._power(squared_distances(X, Z))
        values *= -0.5
        values += 0.5 * self._power(row_norms(X, squared=True))[:, np.newaxis]
        values += 0.5 * self._power(row_norms(Z, squared=True))[np.newaxis, :]
        return values

    def _diag(self, X: Any) -> np.ndarray:
        return self._power(row_norms(X, squared=True))

    def _power(self, squares: np.ndarray) -> np.ndarray:
        """||.||^p from ||.||²."""
        if not 0 < self.exponent <= 2:
            raise ValueError(
                f"exponent of Distance must lie in (0, 2], got {self.exponent}: "
                "beyond 2 the kernel is not positive semidefinite."
            )
        return squares ** (0.5 * self.exponent)


#: Rows among which the middle of a table is looked for.
CENTRE_ROWS = 32


def squared_distances(X: Any, Z: Any) -> np.ndarray:
    """Squared Euclidean distances by one matrix product, about the middle of Z for accuracy.

    By differences if rows are so far away that their squares cost the others their digits, and for
    single columns, as a few prices and incomes are far from the others.
    """
    same = X is Z
    dense = not sparse.issparse(Z) and not sparse.issparse(X)
    if dense and Z.shape[1] == 1:
        apart: np.ndarray = X - Z.T
        return np.square(apart, out=apart)
    if dense and not same and len(Z) == 1:
        return _squares(X - Z)[:, np.newaxis]
    if dense:
        centre = np.median(Z[:: 1 + len(Z) // CENTRE_ROWS], axis=0).astype(Z.dtype)
        Z = Z - centre
        X = Z if same else X - centre
    of_z = _squares(Z)
    of_x = of_z if same else _squares(X)
    if dense and (_has_far(of_z) or (not same and _has_far(of_x))):
        distances = _differences(X, Z, "sqeuclidean")
    elif dense and not same:
        distances = _joint_product(X, Z, of_x, of_z)
    else:
        distances = safe_sparse_dot(X, Z.T, dense_output=True)
        distances *= -2.0
        distances += of_x[:, np.newaxis]
        distances += of_z[np.newaxis, :]
    np.maximum(distances, 0.0, out=distances)
    if same:
        np.fill_diagonal(distances, 0.0)
    return distances


def with_far_values(X: np.ndarray, reach: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A median of each column, and in which columns a value is out of all proportion to the others.

    ``reach`` is the largest distance from the middle of each column. About such a middle, the other
    values of a column would lose their digits.
    """
    some = X[:: 1 + len(X) // CENTRE_ROWS]
    median = np.median(some, axis=0)
    typical = np.median(np.abs(some - median), axis=0)
    for column in np.flatnonzero((typical == 0) & (reach > 0)):  # most values are equal
        apart = np.abs(X[:, column] - median[column])
        typical[column] = np.median(apart[apart > 0])
    return median, reach > typical * float(np.finfo(X.dtype).eps) ** -0.3


def _squares(rows: Any) -> np.ndarray:
    """Squared length of each row."""
    if sparse.issparse(rows):
        return row_norms(rows, squared=True)
    return np.einsum("ij,ij->i", rows, rows)


def _has_far(squares: np.ndarray) -> bool:
    """Whether the square of the longest row leaves few digits to those of others."""
    if not len(squares):
        return False
    longest = float(squares.max()) * float(np.finfo(squares.dtype).eps) ** 0.6
    some = squares[:: 1 + len(squares) // CENTRE_ROWS]
    if longest <= float(np.median(some)):
        return False
    positive = squares[squares > 0]
    return len(positive) > 1 and longest > float(np.median(positive))


def _differences(X: np.ndarray, Z: np.ndarray, metric: str) -> np.ndarray:
    """Sums over the differences of columns, in the precision of X."""
    from scipy.spatial.distance import cdist

    return cdist(X, Z, metric).astype(np.result_type(X, Z), copy=False)


def _joint_product(X: np.ndarray, Z: np.ndarray, of_x: np.ndarray, of_z: np.ndarray) -> np.ndarray:
    """‖x‖² - 2xᵀz + ‖z‖² as one product of longer rows, instead of four visits to the matrix."""
    left = np.empty((len(X), X.shape[1] + 2), X.dtype)
    right = np.empty((len(Z), Z.shape[1] + 2), Z.dtype)
    left[:, :-2], left[:, -2], left[:, -1] = X, of_x, 1.0
    right[:, -2], right[:, -1] = 1.0, of_z
    np.multiply(Z, -2.0, out=right[:, :-2])
    product: np.ndarray = left @ right.T
    return product


def city_block(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Sums of absolute differences, in the precision of X."""
    return _differences(X, Z, "cityblock")
