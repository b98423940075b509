"""Orthonormal directions of most dependence: the eigenproblem Ap = λp."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from depmax.pencils.directions import (
    NONE,
    TIE,
    Directions,
    complete_axes,
    leading,
    negligible,
    rank_of,
    settle_ties,
)
from depmax.pencils.space import Moments


def most_dependent(moments: Moments, n_directions: int, *, by_variance: bool) -> Directions:
    """Orthonormal directions with the largest Σ pᵀAp, A = CCᵀ - Φᵀdiag(w)Φ - ΦᵀNΦ.

    Parameters
    ----------
    moments : Moments
    n_directions : int
        At most the number of coordinates s.
    by_variance : bool
        What follows the directions with λ > 0. True: those of largest variance pᵀSp orthogonal to
        them, since λ ≤ 0 carries no dependence. False: the next eigenvectors of A whatever their
        eigenvalues.
    """
    if not by_variance:
        vectors = leading(moments.criterion, n_directions)[1]
    else:
        vectors = _positive(moments, n_directions)
        vectors = complete(vectors, moments.scatter, n_directions, moments.eps)
    return Directions(vectors, attained(moments, vectors))


def attained(moments: Moments, vectors: np.ndarray) -> np.ndarray:
    """pᵀAp of each direction, of shape (k,)."""
    values = np.sum((moments.cross.T @ vectors) ** 2, axis=0)
    if moments.weighted is not None:
        values = values - np.einsum("ij,ij->j", vectors, moments.weighted @ vectors)
    return values


def _positive(moments: Moments, n_directions: int) -> np.ndarray:
    """Eigenvectors of A with λ > 0, at most so many, and no more than the rank of C.

    The weighted part of A knows nothing of how samples and targets go together: an eigenvalue
    beyond the rank of C is positive only by what it adds.
    """
    rank = min(n_directions, rank_of(moments.cross))
    if moments.weighted is None:  # A = CCᵀ, and its eigenvectors are singular vectors of C
        vectors, roots, _ = linalg.svd(moments.cross, full_matrices=False)
        tolerance = TIE * roots.max(initial=0.0) ** 2
        return settle_ties(roots**2, vectors, tolerance)[:, :rank]
    values, vectors = leading(moments.criterion, rank)
    return vectors[:, values > NONE * np.abs(values).max(initial=0.0)]


def complete(
    vectors: np.ndarray, scatter: np.ndarray, n_vectors: int, eps: float = 0.0
) -> np.ndarray:
    """Orthonormal columns continued by the directions of largest variance orthogonal to them.

    Where no variance is left, by coordinate axes.
    """
    missing = n_vectors - vectors.shape[1]
    if missing <= 0:
        return vectors[:, :n_vectors]
    image = scatter @ vectors  # SV
    middle = vectors @ (vectors.T @ image) @ vectors.T
    rest = scatter - image @ vectors.T - vectors @ image.T + middle  # (I-VVᵀ)S(I-VVᵀ)
    values, more = leading(rest, min(missing, scatter.shape[0] - vectors.shape[1]))
    more = more[:, values > negligible(eps) * max(np.trace(scatter), 0.0)]
    more -= vectors @ (vectors.T @ more)
    if more.shape[1]:
        basis, triangle = linalg.qr(more, mode="economic")
        more = basis * np.sign(np.diag(triangle))  # as before, but orthonormal to rounding
    return complete_axes(np.column_stack([vectors, more]), n_vectors)
