"""Support vector regression to its optimum, where decomposition methods stop far from it.

Few polynomial features, many rows and a large C leave the usual solver with hundreds of thousands
of steps, each of two rows. An interior point method needs some thirty, each of the cost of a least
squares fit on the features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

#: Relative size of what the Cholesky factor of the kernel matrix leaves out.
NEGLIGIBLE = 1e-10
#: Gap between bound and value, relative to the value, at which it is found; and most steps.
GAP, STEPS = 1e-6, 100
#: How far a step goes towards the nearest bound.
SHORT = 0.995


@dataclass(frozen=True)
class Machine:
    """f(x) = Σ β_i k(x, x_i) + b, at the minimum of ½‖f‖² + C Σ max(0, |y_i - f(x_i)| - ε)."""

    weights: np.ndarray  # β, shape (m,), each from -C to C
    offset: float  # b

    def __call__(self, kernel_values: np.ndarray) -> np.ndarray:
        """Predictions from k(new rows, training rows)."""
        predicted: np.ndarray = kernel_values @ self.weights + self.offset
        return predicted


def fit_machine(K: np.ndarray, y: np.ndarray, C: float, epsilon: float) -> Machine:
    """The machine of a kernel matrix.

    The dual has a variable per row and side, 0 ≤ a ≤ C with β = a₁ - a₂ and Σβ = 0, and minimises
    ½βᵀKβ - yᵀβ + εΣ(a₁ + a₂). Mehrotra's predictor and corrector steps solve its conditions
    with K = FFᵀ, in as many unknowns as F has columns.
    """
    F = _factor(K)
    m = len(y)
    sides = np.repeat([1.0, -1.0], m)  # of a₁ and a₂ in β
    cost = np.concatenate([epsilon - y, epsilon + y])
    a = np.full(2 * m, C / 2.0)
    low = np.full(2 * m, max(1.0, float(np.abs(cost).max())))  # multipliers of 0 ≤ a
    high = low.copy()  # of a ≤ C
    offset = 0.0
    for _ in range(STEPS):
        room = C - a
        beta = a[:m] - a[m:]
        pull = F @ (F.T @ beta)
        stationary = sides * np.tile(pull, 2) + cost + offset * sides - low + high
        balance = float(beta.sum())
        gap = float(low @ a + high @ room)
        value = abs(0.5 * float(beta @ pull) + float(cost @ a))
        if gap <= GAP * (1.0 + value) and np.abs(stationary).max() <= GAP:
            break
        system = _System(F, sides, low / a + high / room)
        target = 0.0
        products = np.zeros((2, 2 * m))  # of the steps that the predictor would make together
        for corrector in (False, True):
            by_low = (target - products[0]) / a - low
            by_high = (target - products[1]) / room - high
            d_a, d_offset = system.solve(-stationary + by_low - by_high, -balance)
            d_low = by_low - low / a * d_a
            d_high = by_high + high / room * d_a
            reach = min(
                _reach(a, d_a), _reach(room, -d_a), _reach(low, d_low), _reach(high, d_high)
            )
            if not corrector:
                ahead = (low + reach * d_low) @ (a + reach * d_a)
                ahead += (high + reach * d_high) @ (room - reach * d_a)
                target = (float(ahead) / gap) ** 3 * gap / (4 * m)
                products = np.stack([d_low * d_a, -d_high * d_a])
        reach = min(1.0, SHORT * reach)
        a, offset = a + reach * d_a, offset + reach * d_offset
        low, high = low + reach * d_low, high + reach * d_high
    else:
        raise ArithmeticError(f"The machine was not found in {STEPS} steps: gap {gap:.1e}.")
    return Machine(a[:m] - a[m:], offset)


class _System:
    """(SᵀFFᵀS + diag θ)x + λs = r and sᵀx = t, by a matrix of the size of F's columns."""

    def __init__(self, F: np.ndarray, sides: np.ndarray, theta: np.ndarray) -> None:
        self._F, self._sides, self._theta = F, sides, theta
        m = len(F)
        inner = (F * (1.0 / theta[:m] + 1.0 / theta[m:])[:, np.newaxis]).T @ F
        inner[np.diag_indices(len(inner))] += 1.0
        self._inner = linalg.cho_factor(inner)
        self._of_sides = self._without_balance(sides)

    def solve(self, wanted: np.ndarray, balance: float) -> tuple[np.ndarray, float]:
        """The unknowns x and λ."""
        free = self._without_balance(wanted)
        multiplier = (self._sides @ free - balance) / (self._sides @ self._of_sides)
        return free - multiplier * self._of_sides, float(multiplier)

    def _without_balance(self, wanted: np.ndarray) -> np.ndarray:
        m = len(self._F)
        scaled = wanted / self._theta
        inner = linalg.cho_solve(self._inner, self._F.T @ (scaled[:m] - scaled[m:]))
        found: np.ndarray = scaled - self._sides * np.tile(self._F @ inner, 2) / self._theta
        return found


def _reach(values: np.ndarray, steps: np.ndarray) -> float:
    """The largest part of the steps, up to 1, that leaves all values positive."""
    falling = steps < 0
    return min(1.0, float(np.min(-values[falling] / steps[falling], initial=1.0)))


def _factor(K: np.ndarray) -> np.ndarray:
    """F with FFᵀ = K, as narrow as K has rank."""
    tol = NEGLIGIBLE * float(np.trace(K)) / len(K)
    lower, pivots, rank, _ = linalg.lapack.dpstrf(K, tol=tol, lower=1)
    F = np.zeros((len(K), rank))
    F[pivots - 1] = np.tril(lower)[:, :rank]
    return F
