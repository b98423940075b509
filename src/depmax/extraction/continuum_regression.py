"""Continuum regression: directions between covariance and variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import linalg, optimize

from depmax._parameters import check_parameters, number
from depmax.algebra.deflation import Residual, Scale
from depmax.extraction.deflation_features import pca, pls
from depmax.maps.feature_map import leading

#: Values of the ridge at which the criterion of continuum regression is looked at before the best
#: one is refined: it can have several maxima.
RIDGES = np.linspace(-30.0, 30.0, 241)  # logarithms, relative to the largest eigenvalue
#: Least covariance with the first axis, relative to all, so that it can be leant on.
LEAST = 1e-12


@dataclass(frozen=True)
class ContinuumRegression:
    """Between least squares, partial least squares and principal components.

    The direction of length 1 with the largest ‖YᵀXu‖²(uᵀXᵀXu)^(α/(1-α) - 1): covariance with the
    target against variance.

    Parameters
    ----------
    alpha : float
        From 0 to 1: 0 is least squares, whose one direction explains all; 1/2 partial least
        squares; 1 principal components.

    Notes
    -----
    Each direction costs an eigenproblem as large as the columns (with a kernel, the rows).

    References
    ----------
    M. Stone, R. Brooks (1990), Continuum regression: cross-validated sequentially constructed
    prediction embracing ordinary least squares, partial least squares and principal components
    regression. For several targets: R. Brooks, M. Stone (1994), Joint continuum regression for
    multiple predictands.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import DeflationFeatures
    >>> from depmax.extraction import ContinuumRegression
    >>> X = np.random.default_rng(0).normal(size=(100, 3)) * [5.0, 1.0, 0.2]
    >>> y = X[:, 0] / 5 + X[:, 1] + 5 * X[:, 2]
    >>> for alpha in (0.0, 0.5, 1.0):
    ...     model = DeflationFeatures(1, criterion=ContinuumRegression(alpha)).fit(X, y)
    ...     print(abs(model.components_[0]).round(1))
    [0.  0.2 1. ]
    [1.  0.2 0. ]
    [1. 0. 0.]
    """

    alpha: float

    supervised: ClassVar[bool] = True
    scale: ClassVar[Scale] = "direction"
    _declared: ClassVar = {"alpha": number(0, 1)}

    def __post_init__(self) -> None:
        check_parameters(self)

    def __call__(self, residual: Residual) -> np.ndarray | None:
        """Weights u of shape (D,), in the dual β of shape (m,)."""
        if self.alpha == 1.0:
            return pca(residual)
        if pls(residual) is None:  # nothing left to explain
            return None
        values, vectors, cross = _principal_axes(residual)  # S = XᵀY in the axes
        return vectors @ self._best(values / values[0], cross / linalg.norm(cross))

    def _best(self, values: np.ndarray, cross: np.ndarray) -> np.ndarray:
        """Weights u of the principal axes, with variances ``values``, the largest 1.

        Where the gradient is zero, SSᵀu = (μ + νC)u. As in ridge regression u is D⁻¹Sw for a
        diagonal D that depends on one number, and w is the first eigenvector of SᵀD⁻¹S: D = C + κ
        for α < 1/2, where variance is avoided, and D = κ + c₁ - C above, where it is sought.
        """
        gamma = self.alpha / (1.0 - self.alpha)
        if gamma > 1.0 and linalg.norm(cross[0]) < LEAST:
            cross = cross.copy()
            cross[0, 0] = LEAST

        def direction(log_ridge: float) -> np.ndarray:
            ridge = np.exp(log_ridge)
            scale = values + ridge if gamma < 1.0 else ridge + (1.0 - values)
            solved = cross / scale[:, np.newaxis]
            u = solved @ leading(cross.T @ solved, 1)[1][:, 0]
            return u / linalg.norm(u)

        def loss(log_ridge: float) -> float:
            u = direction(log_ridge)
            covariance = float(np.sum((cross.T @ u) ** 2))
            return -np.log(covariance) - (gamma - 1.0) * np.log(float(u**2 @ values))

        if gamma in (0.0, 1.0):
            return direction(-np.inf if gamma == 0.0 else RIDGES[-1])
        best = int(np.argmin([loss(ridge) for ridge in RIDGES]))
        bounds = RIDGES[max(best - 1, 0)], RIDGES[min(best + 1, len(RIDGES) - 1)]
        refined = optimize.minimize_scalar(loss, bounds=bounds, options={"xatol": 1e-10})
        return direction(float(refined.x))


def _principal_axes(residual: Residual) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvectors of X_jᵀX_j that have variance.

    Returns
    -------
    values : ndarray of shape (n,)
        Eigenvalues in falling order.
    vectors : ndarray of shape (width, n)
        From axes to weights of a direction.
    cross : ndarray of shape (n, r)
        Covariance of each axis with what is left of the target.
    """
    square, left = residual.square(np.eye(residual.images.width)), residual.left_target
    values, vectors = linalg.eigh((square + square.T) / 2)
    kept = values > len(values) * np.finfo(np.float64).eps * values[-1]
    values, vectors = values[kept][::-1], vectors[:, kept][:, ::-1]
    if residual.dual:  # (I - Π)K(I - Π) = QΛQᵀ: axes are Φᵀ(I - Π)QΛ^(-½)
        roots = np.sqrt(values)
        return values, vectors / roots, roots[:, np.newaxis] * (vectors.T @ left)
    return values, vectors, vectors.T @ residual.pull(left)
