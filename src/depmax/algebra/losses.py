"""Losses of a target: their best fit on some features, and the gradient there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize, special

from depmax.algebra.deflation import OrthogonalFeatures, unless_exhausted

#: Penalty on the coefficients of a fit, relative to the samples: keeps them finite when features
#: separate the classes.
RIDGE = 1e-8
#: Largest Newton step left at which a fit is done.
CONVERGED = 1e-10


@dataclass(frozen=True)
class Loss:
    """A loss Σ l(y_i, f_i) of fitted values f in the span of an orthonormal basis.

    Attributes
    ----------
    fit : callable
        Coefficients of the best fit, of shape (n_basis,), for a target of shape (m,) and a basis of
        shape (m, n_basis).
    gradient : callable
        The negative gradient at fitted values, of shape (m,), for the target, these and the basis.
    margins : bool
        Whether y is -1 or +1.
    """

    fit: Callable[[np.ndarray, np.ndarray], np.ndarray]
    gradient: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    margins: bool = False

    def descent(self, target: np.ndarray, basis: np.ndarray) -> np.ndarray:
        """Negative gradient, of shape (m,), at the best fit; it is orthogonal to the basis."""
        return self.gradient(target, basis @ self.fit(target, basis), basis)


def _fit_absolute(target: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """From the dual linear programme max yᵀd, Qᵀd = 0, |d| ≤ 1."""
    if basis.shape[1] == 0:
        return np.empty(0)
    size, root = float(np.abs(target).max()) or 1.0, np.sqrt(len(target))
    solved = optimize.linprog(
        -target / size,
        A_eq=basis.T * root,
        b_eq=np.zeros(basis.shape[1]),
        bounds=(-1.0, 1.0),
        method="highs",
    )
    coefficients: np.ndarray = -solved.eqlin.marginals * root * size
    return coefficients


def _signs(target: np.ndarray, fitted: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Signs of the residuals, and what makes them orthogonal to the basis.

    Where a residual is zero any number between -1 and 1 is a subgradient. Taken are those of least
    norm that make the whole vector orthogonal to the basis, as the gradients of smooth losses are.
    """
    if basis.shape[1] == 0:
        return np.sign(target)
    rest = (target - fitted) / (float(np.abs(target).max()) or 1.0)
    signs = np.where(np.abs(rest) <= 1e-8, 0.0, np.sign(rest))
    zero = signs == 0
    if zero.any():
        signs[zero] = -linalg.lstsq(basis[zero].T, basis.T @ signs)[0]
    return signs


#: Of a decreasing convex function l of the margin yf, its values, or -l' and l''.
Values = Callable[[np.ndarray], np.ndarray]
Slopes = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def _exponential(margin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of exp(-yf)."""
    weight = np.exp(-margin)
    return weight, weight


def _logistic(margin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of log(1 + exp(-yf))."""
    weight = special.expit(-margin)
    return weight, weight * (1 - weight)


def _of_margins(values: Values, slopes: Slopes) -> Loss:
    """The loss of a function of margins, minimised by Newton's method with shorter steps."""

    def fit(target: np.ndarray, basis: np.ndarray) -> np.ndarray:
        m = len(target)
        signed = basis * (target * np.sqrt(m))[:, np.newaxis]  # yq, scaled to length √m
        found, margin = np.zeros(basis.shape[1]), np.zeros(m)
        value = float(values(margin).sum())
        for _ in range(200 if basis.shape[1] else 0):
            slope, curvature = slopes(margin)
            gradient = signed.T @ slope - RIDGE * m * found
            hessian = signed.T @ (signed * curvature[:, np.newaxis])
            hessian[np.diag_indices_from(hessian)] += RIDGE * m
            step = linalg.solve(hessian, gradient, assume_a="pos")
            length, gain = 2.0, float(gradient @ step)
            reached = np.inf
            while not reached <= value - 1e-4 * length * gain:
                length /= 2
                if length <= 1e-10:
                    return found * np.sqrt(m)
                trial = found + length * step
                margin = signed @ trial
                with np.errstate(over="ignore"):
                    reached = float(values(margin).sum() + RIDGE * m / 2 * trial @ trial)
            found, value = trial, reached
            if length * np.abs(step).max() <= CONVERGED * (1 + np.abs(found).max()):
                break
        return found * np.sqrt(m)

    def gradient(target: np.ndarray, fitted: np.ndarray, basis: np.ndarray) -> np.ndarray:
        descent: np.ndarray = target * slopes(target * fitted)[0]
        return descent

    return Loss(fit, gradient, margins=True)


LOSSES = {
    "least_squares": Loss(
        lambda target, basis: basis.T @ target, lambda target, fitted, basis: target - fitted
    ),
    "absolute": Loss(_fit_absolute, _signs),
    "exponential": _of_margins(lambda margin: np.exp(-margin), _exponential),
    "logistic": _of_margins(lambda margin: np.logaddexp(0.0, -margin), _logistic),
}


def descent(found: OrthogonalFeatures, target: np.ndarray, loss: Loss) -> np.ndarray:
    """Negative gradients at the best fit on the features, of shape (m, r); zero at the optimum."""
    basis = found.basis
    gradients = [loss.descent(column, basis) for column in target.T]
    values = found.residual(np.column_stack(gradients))
    start = loss.descent(target[:, 0], basis[:, :0])
    return unless_exhausted(values, float(linalg.norm(start)))
