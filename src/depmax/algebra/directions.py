"""Directions of a feature space, with ties decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import linalg

from depmax.algebra.space import Moments
from depmax.maps.feature_map import EQUAL

#: Eigenvalues that differ by less, relative to the largest, are equal.
TIE = 1e-9
#: Eigenvalues below this, relative to the largest, are rounding errors in double precision.
ZERO = 1e-12
#: A dependence below this, relative to the largest, counts as none.
NONE = 1e-6


def negligible(eps: float) -> float:
    """Eigenvalues below this, relative to the largest, are rounding errors at a precision."""
    return max(ZERO, 10 * eps)


def rank_of(cross: np.ndarray) -> int:
    """Number of directions that carry dependence in CCᵀ.

    Examples
    --------
    >>> rank_of(np.array([[1.0, 0.0], [0.0, 1e-4]]))
    1
    """
    values = linalg.svdvals(cross) ** 2 if cross.size else np.empty(0)
    return int((values > NONE * values.max(initial=0.0)).sum())


@dataclass(frozen=True)
class Directions:
    """Directions in s coordinates, and the dependence that each reaches."""

    vectors: np.ndarray  # P, shape (s, k)
    dependence: np.ndarray  # pᵀAp of each, shape (k,)

    @property
    def count(self) -> int:
        """Number of directions k."""
        return int(self.vectors.shape[1])

    def first(self, count: int) -> Self:
        """The first directions."""
        vectors, dependence = self.vectors[:, :count], self.dependence[:count]
        return replace(self, vectors=vectors, dependence=dependence)


def leading(matrix: np.ndarray, n_vectors: int) -> tuple[np.ndarray, np.ndarray]:
    """Largest eigenvalues of a symmetric matrix, in falling order, and their eigenvectors.

    Equal eigenvalues have no eigenvectors of their own, only a common space; its basis is chosen
    by the order of the coordinates, so that rounding errors do not choose it.

    Examples
    --------
    >>> leading(np.diag([1.0, 3.0, 2.0]), 2)[0]
    array([3., 2.])
    """
    size = matrix.shape[0]
    count = min(n_vectors, size)
    if count == 0:
        return np.empty(0), np.empty((size, 0))
    extra = min(count + 1, size)  # shows whether the last one wanted is one of equals
    values, vectors = linalg.eigh(matrix, subset_by_index=[size - extra, size - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    scale = max(abs(values[0]), abs(values[-1]))
    if extra > count and values[count - 1] - values[count] <= TIE * scale:
        values, vectors = linalg.eigh(matrix)
        values, vectors = values[::-1], vectors[:, ::-1]
        scale = max(abs(values[0]), abs(values[-1]))
    vectors = settle_ties(values, vectors, TIE * scale)
    return values[:count], vectors[:, :count]


def settle_ties(values: np.ndarray, vectors: np.ndarray, tolerance: float) -> np.ndarray:
    """Eigenvectors with the basis of every space of equal eigenvalues chosen by a fixed rule.

    Within such a space the basis is that of the eigenvectors of diag(s, …, 2, 1)/s, which gives
    earlier coordinates to earlier vectors.

    Parameters
    ----------
    values : ndarray of shape (n,)
        In falling order.
    vectors : ndarray of shape (s, n)
    tolerance : float
        Neighbours that differ by at most this are equal.
    """
    starts = np.flatnonzero(np.append(True, -np.diff(values) > tolerance))
    stops = np.append(starts[1:], len(values))
    if len(starts) == len(values):
        return vectors
    settled = vectors.copy()
    order = np.linspace(1.0, 0.0, vectors.shape[0], endpoint=False)[:, np.newaxis]
    for start, stop in zip(starts, stops, strict=True):
        if stop - start > 1:
            basis = vectors[:, start:stop]
            _, rotation = linalg.eigh(basis.T @ (order * basis))
            settled[:, start:stop] = basis @ rotation[:, ::-1]
    return settled


def complete_axes(vectors: np.ndarray, n_vectors: int) -> np.ndarray:
    """Orthonormal columns continued to ``n_vectors`` along the coordinate axes they miss most.

    Examples
    --------
    >>> abs(complete_axes(np.array([[1.0], [0.0], [0.0]]), 2)[:, 1])
    array([0., 1., 0.])
    """
    while vectors.shape[1] < n_vectors:
        missing = 1.0 - np.einsum("ij,ij->i", vectors, vectors)
        axis = int((missing >= (1.0 - EQUAL) * missing.max()).argmax())
        rest = -(vectors @ vectors[axis])
        rest[axis] += 1.0
        rest -= vectors @ (vectors.T @ rest)
        vectors = np.column_stack([vectors, rest / linalg.norm(rest)])
    return vectors


def most_dependent(moments: Moments, n_directions: int, *, by_variance: bool = True) -> Directions:
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
    """Criterion pᵀAp of each direction, of shape (k,)."""
    values = np.sum((moments.cross.T @ vectors) ** 2, axis=0)
    if moments.weighted is not None:
        values = values - np.einsum("ij,ij->j", vectors, moments.weighted @ vectors)
    return values


def _positive(moments: Moments, n_directions: int) -> np.ndarray:
    """Eigenvectors of A with λ > 0: at most this many, and no more than the rank of C.

    The weighted part of A does not depend on which sample has which target: an eigenvalue beyond
    the rank of C is positive only because of this part.
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

    Fewer than ``n_vectors`` where no variance is left.
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
    return np.column_stack([vectors, more])


def principal(
    scatter: np.ndarray, n_directions: int, eps: float = float(np.finfo(np.float64).eps)
) -> Directions:
    """Directions of largest variance by deflation, with their eigenvalues of S.

    After each direction p the samples keep what is orthogonal to it, Φ(I - ppᵀ), so that S becomes
    (I - ppᵀ)S(I - ppᵀ).

    Parameters
    ----------
    scatter : ndarray of shape (s, s)
        S.
    n_directions : int
    eps : float
        Relative precision of S.

    Returns
    -------
    Directions
        Fewer than requested where no variance is left.

    Examples
    --------
    >>> principal(np.diag([1.0, 3.0, 0.0]), 3).dependence
    array([3., 1.])
    """
    rest = scatter.copy()
    found = np.empty((scatter.shape[0], 0))
    values: list[float] = []
    smallest = negligible(eps) * max(float(np.trace(scatter)), 0.0)
    while len(values) < n_directions:
        largest, vectors = leading(rest, 1)
        if not len(largest) or largest[0] <= smallest:
            break
        vector = vectors[:, 0]
        vector = vector - found @ (found.T @ vector)  # what rounding left of earlier directions
        vector /= np.sqrt(vector @ vector)
        found = np.column_stack([found, vector])
        values.append(float(vector @ scatter @ vector))
        image = rest @ vector
        rest -= np.outer(image, vector) + np.outer(vector, image)
        rest += (vector @ image) * np.outer(vector, vector)
    return Directions(found, np.array(values))


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
    *,
    relative: bool = True,
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
    relative : bool
        False takes α as it is.

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
            penalty = alpha * (squares.sum() / found.shape[1] if relative else 1.0)
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
    moments: Moments,
    redundancy: Redundancy,
    n_directions: int,
    alpha: float,
    *,
    relative: bool = True,
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
    relative : bool
        False takes α as it is.

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
            penalty = alpha * (values.sum() / len(reached) if relative else 1.0)
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
