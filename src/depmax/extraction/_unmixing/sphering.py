"""Inputs and targets in coordinates whose second moments are diagonal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from depmax.maps.feature_map import signs
from depmax.pencils import Form, Space, complete_axes

#: Variances below this, relative to the largest, are rounding errors.
NO_VARIANCE = 1e-12


@dataclass(frozen=True)
class Sphering:
    """White inputs x and white targets t, with E[x_j t_j] = ρ_j and all other products zero."""

    inputs: np.ndarray  # x = inputsᵀφ, shape (s, N)
    targets: np.ndarray  # t = targetsᵀ(code of y), shape (n_codes, q)
    correlations: np.ndarray  # ρ, canonical correlations in falling order, shape (min(N, q),)

    @property
    def n_inputs(self) -> int:
        """N, the rank of the inputs."""
        return int(self.inputs.shape[1])

    @property
    def n_targets(self) -> int:
        """q, the rank of the coded targets."""
        return int(self.targets.shape[1])


def sphere(space: Space, codes: np.ndarray) -> Sphering:
    """Coordinates in which inputs and targets are white and correlated in pairs.

    Parameters
    ----------
    space : Space
        The inputs.
    codes : ndarray of shape (m, n_codes)
        The targets as numbers, columns of mean zero; not all zero.
    """
    moments = space.moments(Form(codes))
    inputs = _whitener(moments.scatter / space.n_samples)
    targets = _whitener(codes.T @ codes / len(codes))
    cross = inputs.T @ (moments.cross / space.n_samples) @ targets
    # numpy's, since older ones of scipy fail where X is constant and the matrix empty
    left, correlations, right = np.linalg.svd(cross, full_matrices=False)
    inputs = inputs @ complete_axes(left, inputs.shape[1])
    targets = targets @ complete_axes(right.T, targets.shape[1])
    return Sphering(inputs, targets, np.minimum(correlations, 1.0))


def _whitener(covariance: np.ndarray) -> np.ndarray:
    """B with BᵀΣB = I: the symmetric root of Σ⁻¹, or without null space its eigenvectors."""
    values, vectors = linalg.eigh(covariance)
    kept = values > NO_VARIANCE * max(values[-1], 0.0)
    values, vectors = values[kept][::-1], vectors[:, kept][:, ::-1]
    if kept.all():
        return (vectors / np.sqrt(values)) @ vectors.T
    return vectors * signs(vectors) / np.sqrt(values)
