"""Directions of most dependence on the target and least on the directions before them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from depmax.pencils.directions import Directions, leading
from depmax.pencils.form import hsic_form
from depmax.pencils.space import Moments, Space

#: What is left of C outside the space of earlier features, relative to C, to go on.
EXHAUSTED = 1e-10

#: Factor Ψ_f of the kernel matrix of the features so far, L_f = Ψ_fΨ_fᵀ, columns of mean zero.
FeatureFactor = Callable[[np.ndarray], np.ndarray]


def least_redundant(
    moments: Moments,
    features_cross: Callable[[np.ndarray], np.ndarray],
    n_directions: int,
    alpha: float,
) -> Directions:
    """Unit directions p that maximise pᵀCCᵀp / pᵀ(GGᵀ + αI)p, one after another.

    Parameters
    ----------
    moments : Moments
        Without weights: C is all that is used.
    features_cross : callable
        G = ΦᵀΨ_f of shape (s, t) for the directions so far, of shape (s, n).
    n_directions : int
    alpha : float
        Relative to tr(GGᵀ)/n.

    Returns
    -------
    Directions
        Fewer than asked for where C lies in the space of a G with one column per direction: then
        every direction that depends on the target repeats earlier features.

    Notes
    -----
    CCᵀ has low rank, so that a step needs no eigenproblem of size s: with G = UDWᵀ,
    R = α(GGᵀ + αI)⁻¹C = C - U diag(d²/(d² + α)) UᵀC and v the leading eigenvector of CᵀR, the
    maximiser is Rv.
    """
    cross = _compressed(moments.cross)
    found = np.empty((cross.shape[0], 0))
    size = linalg.norm(cross)
    while found.shape[1] < n_directions:
        rest = cross
        if found.shape[1]:
            basis, roots, _ = linalg.svd(features_cross(found), full_matrices=False)  # U, d
            basis, squares = basis[:, roots > 0], roots[roots > 0] ** 2
            penalty = alpha * squares.sum() / found.shape[1]
            inside = basis.T @ cross
            outside = cross - basis @ inside
            linear = len(roots) <= found.shape[1]  # other kernels fill the space, by degrees
            if linear and linalg.norm(outside) <= max(EXHAUSTED, 10 * moments.eps) * size:
                break
            shrunk = penalty / (squares + penalty)
            rest = outside + basis @ (shrunk[:, np.newaxis] * inside)
        elif size == 0:
            break
        product = cross.T @ rest
        weights = leading((product + product.T) / 2, 1)[1]
        vector = rest @ weights
        found = np.column_stack([found, vector / linalg.norm(vector)])
    return Directions(found, np.sum((moments.cross.T @ found) ** 2, axis=0))


def least_redundant_unbiased(
    moments: Moments,
    space: Space,
    factor: FeatureFactor,
    n_directions: int,
    alpha: float,
) -> Directions:
    """Unit directions p that maximise pᵀAp / pᵀ(B⁺ + αI)p, one after another.

    A and B are those of HSIC₁ with the target and with the features so far. B is indefinite: its
    negative eigenvalues, which say that a direction depends on the features less than chance
    would have it, count as zero.

    Parameters
    ----------
    moments : Moments
        Of the unbiased form.
    space : Space
    factor : callable
        Ψ_f for features of shape (m, n), columns of mean zero.
    n_directions : int
    alpha : float
        Relative to tr(B⁺)/n.

    Returns
    -------
    Directions
        Fewer than asked for where no direction has pᵀAp > 0.
    """
    target = moments.criterion  # A
    found = np.empty((target.shape[0], 0))
    dependence: list[float] = []
    while len(dependence) < n_directions:
        whiten = np.eye(target.shape[0])
        if dependence:
            form = hsic_form(factor(space.features(found)), unbiased=True)
            values, basis = linalg.eigh(space.moments(form).criterion)
            values = np.maximum(values, 0.0)
            penalty = alpha * values.sum() / len(dependence)
            whiten = basis / np.sqrt(values + penalty)  # (B⁺ + αI)^(-1/2) up to a rotation
        vector = whiten @ leading(whiten.T @ target @ whiten, 1)[1][:, 0]
        vector /= linalg.norm(vector)
        reached = float(vector @ target @ vector)
        if reached <= 0:
            break
        found = np.column_stack([found, vector])
        dependence.append(reached)
    return Directions(found, np.array(dependence))


def _compressed(cross: np.ndarray) -> np.ndarray:
    """Matrix with the same CCᵀ and no more columns than rows."""
    if cross.shape[1] <= cross.shape[0]:
        return cross
    vectors, roots, _ = linalg.svd(cross, full_matrices=False)
    return vectors * roots
