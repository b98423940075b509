"""Removes from a target what single columns explain, so that it cannot pass for an interaction."""

from __future__ import annotations

import numpy as np
from scipy import optimize, special

from depmax.dependence.pair_columns import ColumnBases

#: Most columns whose main effects are removed, and never more than a tenth of the rows.
MAX_MAIN_EFFECTS = 30
#: A main effect is removed while its p-value times the number of columns is at most this.
LEVEL = 0.05
#: Directions with a smaller root mean square have nothing left.
NOTHING = 1e-6
#: Ridge penalty of the logistic model, whose columns have mean square 1.
PENALTY = 1.0


def find_main_effects(
    directions: np.ndarray, bases: ColumnBases, start: tuple[int, ...] = ()
) -> tuple[int, ...]:
    """Columns whose linear and quadratic functions explain the target, found one by one.

    Each step takes the column that explains most of what the earlier ones left, while that is
    significant over all columns.

    Parameters
    ----------
    directions : ndarray of shape (n_directions, n_samples)
        With mean 0.
    bases : ColumnBases
    start : tuple of int
        Columns to begin with.
    """
    chosen = list(start)
    while len(chosen) < min(MAX_MAIN_EFFECTS, bases.n_samples // 10):
        left = residuals(directions, bases, tuple(chosen))
        scale = root_mean_square(left)
        alive = scale > NOTHING
        if not alive.any():
            break
        unit = (left[alive] / scale[alive, np.newaxis]).T / np.sqrt(bases.n_samples)
        gains = ((bases.linear @ unit) ** 2 + (bases.square @ unit) ** 2).sum(axis=1)
        best = int(np.argmax(gains))
        pvalue = special.chdtrc(2 * unit.shape[1], gains[best])
        if best in chosen or pvalue * bases.n_features > LEVEL:
            break
        chosen.append(best)
    return tuple(chosen)


def residuals(directions: np.ndarray, bases: ColumnBases, columns: tuple[int, ...]) -> np.ndarray:
    """What least squares on the bases of some columns leaves of each direction."""
    if not columns:
        return directions
    span, _ = np.linalg.qr(bases.of_columns(columns).T)
    return directions - (directions @ span) @ span.T


def class_residuals(
    indicators: np.ndarray, bases: ColumnBases, columns: tuple[int, ...]
) -> np.ndarray:
    """Indicators minus the probabilities of an additive logistic model, then ``residuals``.

    Two main effects behind a threshold make probabilities that are not additive although nothing
    interacts; the logistic link takes this out.

    Parameters
    ----------
    indicators : ndarray of shape (n_classes, n_samples)
    bases : ColumnBases
    columns : tuple of int
    """
    left = indicators - indicators.mean(axis=1, keepdims=True)
    if not columns:
        return left
    inputs = np.concatenate([np.ones((1, bases.n_samples)), bases.of_columns(columns)])
    shape = (len(indicators), len(inputs))
    penalties = np.full(shape[1], PENALTY)
    penalties[0] = 0.0

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(shape)
        scores = weights @ inputs
        logs = special.log_softmax(scores, axis=0)
        gradient = (np.exp(logs) - indicators) @ inputs.T + penalties * weights
        value = -np.sum(indicators * logs) + 0.5 * np.sum(penalties * weights**2)
        return float(value), gradient.ravel()

    start = np.zeros(shape)
    start[:, 0] = np.log(indicators.mean(axis=1))
    found = optimize.minimize(loss, start.ravel(), jac=True, method="L-BFGS-B")
    left = indicators - special.softmax(found.x.reshape(shape) @ inputs, axis=0)
    left -= left.mean(axis=1, keepdims=True)
    return residuals(left, bases, columns)


def root_mean_square(rows: np.ndarray) -> np.ndarray:
    """Root mean square of each row."""
    return np.sqrt(np.einsum("ij,ij->i", rows, rows) / rows.shape[1])
