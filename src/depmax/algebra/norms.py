"""Sums of the squared lengths of rows, which HSIC without bias needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse


@dataclass(frozen=True)
class Norms:
    """Sums of the squared lengths of rows."""

    x: float  # Σ ‖φ‖²
    y: float  # Σ ‖ψ‖²
    xy: float  # Σ ‖φ‖²‖ψ‖²
    x_y: np.ndarray  # Σ ‖φ‖²ψ, shape (E,)
    y_x: np.ndarray  # Σ ‖ψ‖²φ, shape (D,)

    def __add__(self, other: Norms) -> Norms:
        scalars = self.x + other.x, self.y + other.y, self.xy + other.xy
        return Norms(*scalars, self.x_y + other.x_y, self.y_x + other.y_x)


def norms_of(phi: Any, psi: Any, mass: np.ndarray | None = None) -> Norms:
    """Those of some rows, dense or sparse, of shape (n, D) and (n, E), with a mass each."""
    if psi.shape[1] == 0 and mass is None:
        square = phi.multiply(phi).sum() if sparse.issparse(phi) else np.vdot(phi, phi)
        return Norms(float(square), 0.0, 0.0, np.zeros(0), np.zeros(phi.shape[1]))
    squares_x, squares_y = squared_lengths(phi), squared_lengths(psi)
    counted_x, counted_y = squares_x, squares_y
    if mass is not None:
        counted_x, counted_y = mass * squares_x, mass * squares_y
    return Norms(
        x=float(counted_x.sum()),
        y=float(counted_y.sum()),
        xy=float(counted_x @ squares_y),
        x_y=psi.T @ counted_x,
        y_x=phi.T @ counted_y,
    )


def norms_about(phi: np.ndarray, mean: np.ndarray) -> Norms:
    """Those of φ alone about its mean, without a copy of φ unless digits would be lost."""
    square, of_mean = float(np.vdot(phi, phi)), len(phi) * float(mean @ mean)
    if 2.0 * of_mean > square:
        centred = phi - mean
        square, of_mean = float(np.vdot(centred, centred)), 0.0
    return Norms(square - of_mean, 0.0, 0.0, np.zeros(0), np.zeros(len(mean)))


def squared_lengths(rows: Any) -> np.ndarray:
    """Squared length of each row."""
    if sparse.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", rows, rows)
