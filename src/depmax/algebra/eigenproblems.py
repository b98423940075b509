"""Eigenproblems: Ap = λp for most dependence, and (A, B) where B is the identity on its range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from depmax.algebra.directions import (
    NONE,
    TIE,
    Directions,
    leading,
    negligible,
    rank_of,
    settle_ties,
)
from depmax.algebra.space import Moments, Space

#: Entries beside the diagonal below this, relative to the largest on it, are rounding errors.
ROUNDING = 1e-13


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


@dataclass(frozen=True)
class Sphere:
    """A basis W of the range of B with Wᵀ(B + αI)W = I.

    Directions are p = Wv with v orthonormal: pᵀAp / pᵀ(B + αI)p is then vᵀ(WᵀAW)v. Where B has no
    range nothing is divided by α: a direction of no variance is not made to look like one of much.
    """

    whiten: np.ndarray  # W, shape (s, r)
    matrix: np.ndarray  # B, shape (s, s)
    eps: float

    @classmethod
    def of(
        cls,
        matrix: np.ndarray,
        alpha: float = 0.0,
        *,
        eps: float = float(np.finfo(np.float64).eps),
        noise: np.ndarray | float = 0.0,
    ) -> Sphere:
        """Sphere of a positive semidefinite matrix.

        Parameters
        ----------
        matrix : ndarray of shape (s, s)
            B.
        alpha : float
            α relative to the mean of the eigenvalues on the range of B.
        eps : float
            Relative precision of the matrix.
        noise : float or ndarray of shape (s,)
            Diagonal entries up to this are rounding errors.

        Notes
        -----
        Without α the answer does not depend on the units of the coordinates, and neither does the
        range: it is that of the matrix with a diagonal of ones.

        Examples
        --------
        >>> Sphere.of(np.diag([4.0, 0.0, 1e-14])).whiten
        array([[0.e+00, 5.e-01],
               [0.e+00, 0.e+00],
               [1.e+07, 0.e+00]])
        """
        sizes = np.diag(matrix).copy()
        varies = sizes > noise
        scale = np.ones(len(sizes))
        if alpha == 0:
            scale[varies] = 1.0 / np.sqrt(sizes[varies])
        scale[~varies] = 0.0
        scaled = matrix * np.outer(scale, scale)
        values = np.diag(scaled)
        beside = np.abs(scaled - np.diag(values)).max(initial=0.0)
        if beside > ROUNDING * values.max(initial=0.0):
            values, axes = linalg.eigh(scaled)
        else:  # the coordinates are principal components, as those of a kernel matrix are
            order = np.argsort(values, kind="stable")
            values, axes = values[order], np.eye(len(values))[:, order]
        kept = values > negligible(eps) * values.max(initial=0.0)
        values, axes = values[kept][::-1], axes[:, kept][:, ::-1]
        penalty = alpha * values.mean() if len(values) else 0.0
        whiten = scale[:, np.newaxis] * axes / np.sqrt(values + penalty)
        return cls(whiten, matrix, eps)

    @classmethod
    def of_space(cls, space: Space, alpha: float = 0.0) -> Sphere:
        """Sphere of the covariance S/m of samples; a constant coordinate varies by rounding."""
        return cls.of(space.covariance, alpha, eps=space.eps, noise=space.rounding)

    @property
    def rank(self) -> int:
        """Number r of directions that vary."""
        return int(self.whiten.shape[1])

    def most_correlated(self, cross: np.ndarray, n_directions: int) -> Directions:
        """Directions with the largest pᵀCCᵀp / pᵀ(B + αI)p, for C of shape (s, r).

        Then directions of largest variance for their length, since no more depend on the target.
        """
        image = self.whiten.T @ cross  # of low rank: its singular vectors, no s × s eigenproblem
        vectors, roots, _ = linalg.svd(image, full_matrices=False)
        tolerance = TIE * roots.max(initial=0.0) ** 2
        vectors = settle_ties(roots**2, vectors, tolerance)[:, : rank_of(image)]
        directions = self.directions(vectors, n_directions)
        return Directions(directions, np.sum((cross.T @ directions) ** 2, axis=0))

    def image(self, matrix: np.ndarray) -> np.ndarray:
        """WᵀAW of a symmetric A of shape (s, s)."""
        image = self.whiten.T @ matrix @ self.whiten
        return (image + image.T) / 2

    def most_curved(self, images: list[np.ndarray], n_directions: int) -> Directions:
        """Directions of the eigenvectors of ΣH² for matrices H in sphered coordinates.

        For one H these are its own eigenvectors, by the size of the eigenvalue.
        """
        if len(images) == 1:
            values, vectors = linalg.eigh(images[0])
            order = np.argsort(-np.abs(values), kind="stable")
            values, vectors = np.abs(values[order]), vectors[:, order]
            vectors = settle_ties(values, vectors, TIE * values.max(initial=0.0))
        else:
            squares = sum(image @ image for image in images)
            values, vectors = leading(squares, self.rank)
            values = np.sqrt(np.maximum(values, 0.0))
        found = self.directions(vectors[:, :n_directions], n_directions)
        return Directions(found, values[: found.shape[1]])

    def least_changing(self, matrix: np.ndarray, n_directions: int) -> Directions:
        """Directions with the largest pᵀ(B - A)p / pᵀ(B + αI)p, and their pᵀAp / pᵀBp.

        A is symmetric, of shape (s, s), and at most of the size of B. Without α these have the
        smallest pᵀAp / pᵀBp. With it, a direction of no variance wins nothing: the smallest
        pᵀAp / pᵀ(B + αI)p would be its.
        """
        kept = self.image(self.matrix - matrix)
        vectors = leading(kept, min(n_directions, self.rank))[1]
        directions = self.directions(vectors, n_directions)
        reached = np.einsum("ij,ij->j", directions, matrix @ directions)
        return Directions(directions, reached)

    def directions(self, vectors: np.ndarray, n_directions: int) -> np.ndarray:
        """Wv of orthonormal vectors v, with pᵀBp = 1, ``n_directions`` of them or the rank.

        The first ones are completed by those of largest variance for their length that are left.
        """
        count = min(n_directions, self.rank)
        if vectors.shape[1] < count:
            triangle = linalg.qr(self.whiten, mode="r")[0][: self.rank]
            root = linalg.solve_triangular(triangle, np.eye(self.rank))
            vectors = complete(vectors, root @ root.T, count, self.eps)  # (WᵀW)⁻¹: variances
        found = self.whiten @ vectors[:, :count]
        return found / np.sqrt(np.einsum("ij,ij->j", found, self.matrix @ found))
