"""Coordinates of the weights in which the likelihood curves alike in all directions.

For independent sources the second derivative of the loss by the relative change E of discarded
rows of W, W ← W + EW, is nearly block diagonal: E_ij and E_ji have the block [[h_ij, 1], [1, h_ji]]
with h_ij = E[φ'(u_i)] E[f_j²] and f = Wx, and E_ii has h_ii + 1. Rows of features, which also weigh
targets, are kept in absolute coordinates, where inputs and residuals are white and the curvature is
E[φ'(u_i)].
"""

from __future__ import annotations

import numpy as np

from depmax.extraction._unmixing.likelihood import Likelihood, Unmixing
from depmax.extraction._unmixing.sources import Evidence

#: Curvatures below this are taken for it: those of sources that are nearly Gaussian are near zero.
FLAT = 0.05


class Preconditioner:
    """weights(z) = weights(0) + P z with P Pᵀ close to the inverse of the second derivatives."""

    def __init__(
        self, likelihood: Likelihood, unmixing: Unmixing, states: np.ndarray, evidence: Evidence
    ) -> None:
        self._likelihood = likelihood
        self._centre = likelihood.pack(unmixing)
        self._count = likelihood.n_components
        count = self._count
        bend = np.maximum(1.0 + states * evidence.curvature, FLAT)  # E[φ'(u)], shape (N,)
        self._row_scale = 1.0 / np.sqrt(bend[:count, np.newaxis])
        self._basis, _ = likelihood.published(unmixing)  # W, shape (N, N)
        power = np.einsum("ij,ij->i", self._basis, self._basis)  # E[f²] of f = Wx
        self._other_scale = 1.0 / np.sqrt(np.maximum(np.outer(bend[count:], power[:count]), FLAT))
        own = np.outer(bend[count:], power[count:])  # h_ij
        # Inverse root of [[a, 1], [1, b]]: (M + √det I)/√(trace + 2√det), inverted.
        trace, product = own + own.T, own * own.T
        root = np.sqrt(np.maximum(product - 1.0, FLAT * np.maximum(trace, 1.0) / 2.0))
        norm = np.sqrt(trace + 2.0 * root) * root
        self._same = (own.T + root) / norm
        self._cross = -1.0 / norm
        np.fill_diagonal(self._same, 1.0 / np.sqrt(np.diag(own) + 1.0))
        np.fill_diagonal(self._cross, 0.0)

    def weights(self, z: np.ndarray) -> np.ndarray:
        """Free weights at z."""
        rows, targets, others, own = self._parts(z)
        change = np.empty((len(self._basis),) * 2)
        change[: self._count] = rows * self._row_scale
        relative = np.hstack([others * self._other_scale, self._pairs(own)])
        change[self._count :] = relative @ self._basis
        moved = np.concatenate([change.ravel(), (targets * self._row_scale).ravel()])
        return self._centre + moved

    def slopes(self, gradient: np.ndarray) -> np.ndarray:
        """Gradient by z from the gradient by weights."""
        size, count = len(self._basis), self._count
        by_inputs = gradient[: size**2].reshape(size, size)
        by_targets = gradient[size**2 :].reshape(count, -1)
        relative = by_inputs[count:] @ self._basis.T
        return np.concatenate(
            [
                (by_inputs[:count] * self._row_scale).ravel(),
                (by_targets * self._row_scale).ravel(),
                (relative[:, :count] * self._other_scale).ravel(),
                self._pairs(relative[:, count:]).ravel(),
            ]
        )

    def _pairs(self, own: np.ndarray) -> np.ndarray:
        """The symmetric root on every pair (E_ij, E_ji)."""
        return self._same * own + self._cross * own.T

    def _parts(self, z: np.ndarray) -> list[np.ndarray]:
        size, count = len(self._basis), self._count
        rest = size - count
        shapes = [
            (count, size),
            (count, self._likelihood.n_targets),
            (rest, count),
            (rest, rest),
        ]
        ends = np.cumsum([rows * columns for rows, columns in shapes])
        pieces = np.split(z, ends[:-1])
        return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]
