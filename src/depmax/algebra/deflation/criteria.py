"""Criteria by name: how the next direction is chosen, and the losses that boosting fits."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol

import numpy as np
from scipy import linalg, optimize, special
from scipy.sparse.linalg import LinearOperator, eigsh

from depmax._threads import slices
from depmax.algebra import leading
from depmax.algebra.deflation.steps import EXHAUSTED, Criterion, OrthogonalFeatures, Residual

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

    def fit(self, target: np.ndarray, basis: np.ndarray) -> np.ndarray:
        """Coefficients of that fit, of shape (n_basis,)."""


class LeastSquares:
    """(y - f)²/2; the negative gradient is the residual."""

    margins: ClassVar[bool] = False

    def descent(self, target: np.ndarray, basis: np.ndarray) -> np.ndarray:
        """Y - Πy."""
        rest: np.ndarray = target - basis @ self.fit(target, basis)
        return rest

    def fit(self, target: np.ndarray, basis: np.ndarray) -> np.ndarray:
        """Qᵀy."""
        return basis.T @ target


class LeastAbsolute:
    """|y - f|; the negative gradient is the sign of the residual.

    Where a residual is zero any number between -1 and 1 is a subgradient. Taken are those of least
    norm that make the whole vector orthogonal to the basis, as the gradients of smooth losses are.
    """

    margins: ClassVar[bool] = False

    def descent(self, target: np.ndarray, basis: np.ndarray) -> np.ndarray:
        """Signs of the residuals, and what makes them orthogonal to the basis."""
        if basis.shape[1] == 0:
            return np.sign(target)
        size = float(np.abs(target).max()) or 1.0
        rest = (target - basis @ self.fit(target, basis)) / size
        signs = np.where(np.abs(rest) <= 1e-8, 0.0, np.sign(rest))
        zero = signs == 0
        if zero.any():
            missing = basis.T @ signs
            signs[zero] = -linalg.lstsq(basis[zero].T, missing)[0]
        return signs

    def fit(self, target: np.ndarray, basis: np.ndarray) -> np.ndarray:
        """From the dual linear programme max yᵀd, Qᵀd = 0, |d| ≤ 1."""
        size = float(np.abs(target).max()) or 1.0
        solved = optimize.linprog(
            -target / size,
            A_eq=basis.T * np.sqrt(len(target)),
            b_eq=np.zeros(basis.shape[1]),
            bounds=(-1.0, 1.0),
            method="highs",
        )
        coefficients: np.ndarray = -solved.eqlin.marginals * np.sqrt(len(target)) * size
        return coefficients


class _Margin:
    """A decreasing convex function of the margin yf, minimised by Newton's method."""

    margins: ClassVar[bool] = True

    def descent(self, target: np.ndarray, basis: np.ndarray) -> np.ndarray:
        """Negative gradient y w(yf) with w = -l'."""
        margin = target * (basis @ self.fit(target, basis))
        descent: np.ndarray = target * self._derivatives(margin)[0]
        return descent

    def fit(self, target: np.ndarray, basis: np.ndarray) -> np.ndarray:
        """By Newton's method."""
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
        return coefficients * np.sqrt(m)

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


#: Largest matrix whose leading eigenvector is found by a dense solver.
DENSE = 512
#: Kernel columns that are scored at once.
COLUMNS = 256
#: A kernel column that features span, up to this share of its square length, adds nothing.
SPANNED = 1e-20


def most_covariant(residual: Residual, values: np.ndarray) -> np.ndarray | None:
    """Leading left singular vector of X_jᵀV, up to its length; None if the product is zero."""
    directions = residual.pull(values)
    if not residual.covaries(values, directions):
        return None
    if directions.shape[1] == 1:
        return directions[:, 0]
    weights = leading(residual.images.inner(directions), 1)[1]
    return (directions @ weights)[:, 0]


def pls(residual: Residual) -> np.ndarray | None:
    """Largest covariance with the target: u_j is the first left singular vector of X_jᵀY_j."""
    left = residual.left_target
    if linalg.norm(left) <= EXHAUSTED * residual.target_size:
        return None
    return most_covariant(residual, left)


def pca(residual: Residual) -> np.ndarray | None:
    """Largest variance: u_j is the first eigenvector of X_jᵀX_j."""
    size = residual.images.width

    def product(vector: np.ndarray) -> np.ndarray:
        column = vector.reshape(-1, 1)
        if residual.dual:  # (I - Π)K(I - Π): its eigenvectors are those of K_j
            return residual.push(residual.pull(column)).ravel()
        return residual.pull(residual.push(column)).ravel()

    if size <= DENSE:
        eye = np.eye(size)
        square = residual.push(residual.pull(eye)) if residual.dual else None
        square = residual.pull(residual.push(eye)) if square is None else square
        values, vectors = leading((square + square.T) / 2, 1)
    else:
        start = np.random.default_rng(0).normal(size=size)
        operator = LinearOperator((size, size), matvec=product, dtype=np.float64)
        values, vectors = eigsh(operator, k=1, which="LA", v0=start)
    if values[0] <= EXHAUSTED * residual.images.variance:
        return None
    return vectors[:, 0]


def smc(residual: Residual) -> np.ndarray | None:
    """One sample: the largest covariance, Σ(k_iᵀY_j)²/k_ii."""
    return _best_example(residual, _left(residual), lambda diagonal, rest: diagonal)


def sma(residual: Residual) -> np.ndarray | None:
    """One sample: the largest alignment, Σ(k_iᵀY_j)²/‖(I - Π)k_i‖²."""
    return _best_example(residual, _left(residual), lambda diagonal, rest: rest)


def skfa(residual: Residual) -> np.ndarray | None:
    """One sample: the largest variance, ‖(I - Π)k_i‖²/k_ii, without a target."""
    return _best_example(residual, None, lambda diagonal, rest: diagonal)


def boosted(loss: Loss) -> Criterion:
    """Largest covariance with the negative gradient of a loss at its best fit on the features."""

    def criterion(residual: Residual) -> np.ndarray | None:
        values = _descent(residual, loss)
        return most_covariant(residual, values) if values.any() else None

    return criterion


def sparse_boosted(loss: Loss) -> Criterion:
    """One sample: the largest covariance with the negative gradient of a loss."""

    def criterion(residual: Residual) -> np.ndarray | None:
        values = _descent(residual, loss)
        return _best_example(residual, values, lambda diagonal, rest: diagonal)

    return criterion


def _descent(residual: Residual, loss: Loss) -> np.ndarray:
    assert residual.target is not None
    return descent(residual.found, residual.target, loss)


def descent(found: OrthogonalFeatures, target: np.ndarray, loss: Loss) -> np.ndarray:
    """Negative gradients at the best fit on the features, of shape (m, r); zero at the optimum."""
    basis = found.basis
    gradients = [loss.descent(column, basis) for column in target.T]
    values = found.residual(np.column_stack(gradients))
    start = loss.descent(target[:, 0], basis[:, :0])
    exhausted = linalg.norm(values) <= EXHAUSTED * linalg.norm(start)
    return np.zeros_like(values) if exhausted else values


def _left(residual: Residual) -> np.ndarray:
    """What is left of the target, of shape (m, r); zero where that is nothing but rounding."""
    left = residual.left_target
    exhausted = linalg.norm(left) <= EXHAUSTED * residual.target_size
    return np.zeros_like(left) if exhausted else left


def _best_example(
    residual: Residual,
    values: np.ndarray | None,
    sizes: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray | None:
    """Sample with the largest score among those outside the span of earlier features.

    The score is the squared covariance of its kernel column with values of shape (m, r), without
    values its squared length, over a size of the column.
    """
    if values is not None and not values.any():
        return None
    scores = np.full(residual.n_samples, -np.inf)
    everything = np.arange(residual.n_samples)
    for block in slices(residual.n_samples, COLUMNS):
        columns = residual.images.columns(everything[block])
        diagonal = columns[everything[block], np.arange(columns.shape[1])]
        outside = residual.found.residual(columns)  # (I - Π)k_i
        rest = np.square(outside).sum(axis=0)
        fresh = rest > SPANNED * np.square(columns).sum(axis=0)
        covariances = rest if values is None else np.square(values.T @ outside).sum(axis=0)
        size = sizes(diagonal, rest)
        np.divide(covariances, size, out=scores[block], where=fresh & (size > 0))
    best = int(scores.argmax())
    return residual.images.example(best) if scores[best] > 0 else None
