"""Losses of boosted latent features: their best fit on given features, and where it falls short."""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np
from scipy import linalg, optimize, special

#: Penalty on the coefficients of a fit, relative to the samples: keeps them finite when features
#: separate the classes.
RIDGE = 1e-8
#: Largest Newton step left at which a fit is done.
CONVERGED = 1e-10


class Loss(Protocol):
    """A loss Σ l(y_i, f_i) of fitted values f."""

    margins: ClassVar[bool]  # whether y is -1 or +1

    def descent(self, target: np.ndarray, basis: np.ndarray) -> np.ndarray:
        """Negative gradient, of shape (m,), at the best fit f in the span of an orthonormal basis.

        It is orthogonal to the basis.
        """


class LeastSquares:
    """(y - f)²/2; the negative gradient is the residual."""

    margins: ClassVar[bool] = False

    def descent(self, target: np.ndarray, basis: np.ndarray) -> np.ndarray:
        """Y - Πy."""
        rest: np.ndarray = target - basis @ (basis.T @ target)
        return rest


class LeastAbsolute:
    """|y - f|; the negative gradient is the sign of the residual.

    Where a residual is zero any number between -1 and 1 is a subgradient. Taken are those of least
    norm that make the whole vector orthogonal to the basis, as the gradients of smooth losses are.
    """

    margins: ClassVar[bool] = False

    def descent(self, target: np.ndarray, basis: np.ndarray) -> np.ndarray:
        """Signs of the residuals, from the dual linear programme max yᵀd, Qᵀd = 0, |d| ≤ 1."""
        if basis.shape[1] == 0:
            return np.sign(target)
        size = float(np.abs(target).max()) or 1.0
        solved = optimize.linprog(
            -target / size,
            A_eq=basis.T * np.sqrt(len(target)),
            b_eq=np.zeros(basis.shape[1]),
            bounds=(-1.0, 1.0),
            method="highs",
        )
        coefficients = -solved.eqlin.marginals * np.sqrt(len(target))
        rest = target / size - basis @ coefficients
        signs = np.where(np.abs(rest) <= 1e-8, 0.0, np.sign(rest))
        zero = signs == 0
        if zero.any():
            missing = basis.T @ signs
            signs[zero] = -linalg.lstsq(basis[zero].T, missing)[0]
        return signs


class _Margin:
    """A decreasing convex function of the margin yf, minimised by Newton's method."""

    margins: ClassVar[bool] = True

    def descent(self, target: np.ndarray, basis: np.ndarray) -> np.ndarray:
        """Negative gradient y w(yf) with w = -l'."""
        m = len(target)
        signed = basis * (target * np.sqrt(m))[:, np.newaxis]  # yq, scaled to length √m
        coefficients = np.zeros(basis.shape[1])
        margin = np.zeros(m)
        value = self._value(margin).sum()
        for _ in range(200 if basis.shape[1] else 0):
            slope, curvature = self._derivatives(margin)
            gradient = signed.T @ slope - RIDGE * m * coefficients
            hessian = signed.T @ (signed * curvature[:, np.newaxis])
            hessian[np.diag_indices_from(hessian)] += RIDGE * m
            step = linalg.solve(hessian, gradient, assume_a="pos")
            length, value = self._search(signed, coefficients, step, value, float(gradient @ step))
            coefficients = coefficients + length * step
            margin = signed @ coefficients
            if length * np.abs(step).max() <= CONVERGED * (1 + np.abs(coefficients).max()):
                break
        descent: np.ndarray = target * self._derivatives(margin)[0]
        return descent

    def _search(
        self,
        signed: np.ndarray,
        coefficients: np.ndarray,
        step: np.ndarray,
        value: float,
        slope: float,
    ) -> tuple[float, float]:
        """Length of a step that lowers the loss, and the value there."""
        m = len(signed)
        length = 1.0
        while length > 1e-10:
            trial = coefficients + length * step
            with np.errstate(over="ignore"):
                reached = self._value(signed @ trial).sum() + RIDGE * m / 2 * trial @ trial
            if reached <= value - 1e-4 * length * slope:
                return length, float(reached)
            length /= 2
        return 0.0, value

    def _value(self, margin: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _derivatives(self, margin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """-l' and l''."""
        raise NotImplementedError


class Exponential(_Margin):
    """exp(-yf)."""

    def _value(self, margin: np.ndarray) -> np.ndarray:
        return np.exp(-margin)

    def _derivatives(self, margin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        weight = np.exp(-margin)
        return weight, weight


class Logistic(_Margin):
    """log(1 + exp(-yf))."""

    def _value(self, margin: np.ndarray) -> np.ndarray:
        return np.logaddexp(0.0, -margin)

    def _derivatives(self, margin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        weight = special.expit(-margin)
        return weight, weight * (1 - weight)


LOSSES: dict[str, Loss] = {
    "least_squares": LeastSquares(),
    "absolute": LeastAbsolute(),
    "exponential": Exponential(),
    "logistic": Logistic(),
}
