"""Directions of most dependence on the target and least on the directions before them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from depmax.pencils.directions import Directions, leading
from depmax.pencils.space import Moments

#: What is left of C outside the space of earlier features, relative to C, to go on.
EXHAUSTED = 1e-10

#: Positive eigenvalues of B, and their eigenvectors, for directions so far of shape (s, n).
Redundancy = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def least_redundant(
    moments: Moments,
    features_cross: Callable[[np.ndarray], np.ndarray],
    n_directions: int,
    alpha: float,
    earlier: np.ndarray | None = None,
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
    earlier : ndarray of shape (s, k), optional
        The first directions, if they are known already.

    Returns
    -------
    Directions
        Fewer than requested where C lies in the space of a G with one column per direction: then
        every direction that depends on the target repeats earlier features.

    Notes
    -----
    CCᵀ has low rank, so that a step needs no eigenproblem of size s: with G = UDWᵀ,
    R = α(GGᵀ + αI)⁻¹C = C - U diag(d²/(d² + α)) UᵀC and v the leading eigenvector of CᵀR, the
    maximiser is Rv.
    """
    cross = _compressed(moments.cross)
    found = np.empty((cross.shape[0], 0)) if earlier is None else earlier
    size = linalg.norm(cross)
    while found.shape[1] < n_directions:
        rest = cross
        if found.shape[1]:
            factor = features_cross(found)
            squares, basis = squared_part(factor)  # d², U
            penalty = alpha * squares.sum() / found.shape[1]
            inside = basis.T @ cross
            outside = cross - basis @ inside
            linear = factor.shape[1] <= found.shape[1]  # other kernels fill the space, by degrees
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


def least_redundant_weighted(
    moments: Moments, redundancy: Redundancy, n_directions: int, alpha: float
) -> Directions:
    """Unit directions p that maximise pᵀAp / pᵀ(B⁺ + αI)p, one after another, for any A.

    B⁺ is the positive part of B: the B of HSIC₁ has negative eigenvalues, which say that a
    direction depends on the features less than chance would have it, and count as zero.

    Parameters
    ----------
    moments : Moments
    redundancy : callable
        Positive eigenvalues of B and their eigenvectors for the directions so far.
    n_directions : int
    alpha : float
        Relative to tr(B⁺)/n.

    Returns
    -------
    Directions
        Fewer than requested where no direction has pᵀAp > 0.
    """
    target = moments.criterion  # A
    found = np.empty((target.shape[0], 0))
    reached: list[float] = []
    while len(reached) < n_directions:
        roots, basis = np.empty(0), np.empty((target.shape[0], 0))
        if reached:
            values, basis = redundancy(found)
            penalty = alpha * values.sum() / len(reached)
            roots = 1.0 - np.sqrt(penalty / (values + penalty))
        # √α(B⁺ + αI)^(-½) = I - U diag(roots) Uᵀ on both sides of A
        left = target - (basis * roots) @ (basis.T @ target)
        both = left - (left @ basis * roots) @ basis.T
        vector = leading((both + both.T) / 2, 1)[1][:, 0]
        vector = vector - (basis * roots) @ (basis.T @ vector)
        vector /= linalg.norm(vector)
        value = float(vector @ target @ vector)
        if value <= 0:
            break
        found = np.column_stack([found, vector])
        reached.append(value)
    return Directions(found, np.array(reached))


def positive_part(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positive eigenvalues of a symmetric matrix and their eigenvectors.

    Examples
    --------
    >>> positive_part(np.diag([-1.0, 2.0]))[0]
    array([2.])
    """
    values, vectors = linalg.eigh(matrix)
    return values[values > 0], vectors[:, values > 0]


def squared_part(factor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positive eigenvalues of GGᵀ and their eigenvectors, for G with few columns.

    Examples
    --------
    >>> squared_part(np.array([[2.0], [0.0]]))[0]
    array([4.])
    """
    vectors, roots, _ = linalg.svd(factor, full_matrices=False)
    return roots[roots > 0] ** 2, vectors[:, roots > 0]


def _compressed(cross: np.ndarray) -> np.ndarray:
    """Matrix with the same CCᵀ and no more columns than rows."""
    if cross.shape[1] <= cross.shape[0]:
        return cross
    vectors, roots, _ = linalg.svd(cross, full_matrices=False)
    return vectors * roots
