"""Criteria → directions: of most dependence, most variance, and unit variance (``Sphere``)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import linalg

from depmax._parameters import number
from depmax.algebra.graphs import Laplacian
from depmax.algebra.space import Directions, Moments, Space
from depmax.data.sample import Sample
from depmax.kernels.kernel import Kernel
from depmax.maps.feature_map import EQUAL, TIE, leading, settle_ties

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


def positive_part(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positive eigenvalues of a symmetric matrix and their eigenvectors.

    Examples
    --------
    >>> positive_part(np.diag([-1.0, 2.0]))[0]
    array([2.])
    """
    values, vectors = linalg.eigh(matrix)
    return values[values > 0], vectors[:, values > 0]


# --- of unit variance -----------------------------------------------------------------------------
#: Entries beside the diagonal below this, relative to the largest on it, are rounding errors.
ROUNDING = 1e-13
#: Regularisation, or the choice of it.
Alpha = float | Literal["auto"]
#: What ``alpha`` may be.
ALPHA = number(0, also=["auto"])
#: What ``alpha="auto"`` adds where there are as many coordinates as samples, or more.
SINGULAR = 0.1
#: Smallest eigenvalue of a kernel matrix, relative to rounding errors, that ends in a gap.
GAP = 1e3


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


# --- how much is added ----------------------------------------------------------------------------
def chosen_alpha(
    alpha: Alpha, space: Space, n_groups: int, kernel: Kernel, width: int | None
) -> float:
    """The number that ``alpha`` stands for, however the same kernel is given.

    ``"auto"`` is nothing where samples span so few dimensions that the covariance within
    ``n_groups`` groups of them is known, and 0.1 where a direction could fit any target. Without
    few features they do so if the eigenvalues of the kernel matrix end in a gap, as those of a
    linear kernel that is passed as a matrix do; those of a Gaussian kernel, or of its landmarks,
    fade out, or are as many as the samples that differ.
    """
    if alpha != "auto":
        return float(alpha)
    exact = kernel.has_features and kernel.mixing is None
    if exact and width is not None and min(width, space.total) + n_groups <= space.total:
        return 0.0
    scatter = space.scatter  # diagonal without features: coordinates are principal components
    values = linalg.eigvalsh(scatter) if kernel.has_features else np.diag(scatter)
    noise = negligible(space.eps) * values.max(initial=0.0)
    size = int((values > noise).sum()) + n_groups
    few = size < space.n_samples and bool((values[values > noise] > GAP * noise).all())
    return 0.0 if few and _more_differ(space, size) else SINGULAR


def alpha_of(model: Any, data: Sample, space: Space, n_groups: int = 1) -> float:
    """``alpha`` of an extractor as a number; ``n_groups`` means take so many parameters."""
    return chosen_alpha(model.alpha, space, n_groups, data.kernel, data.n_coordinates)


def units_cancel(model: Any, data: Sample, n_groups: int = 1) -> bool:
    """Whether sphering undoes any scaling of columns: linear features, no variance added."""
    width = data.n_coordinates
    if not data.kernel.capabilities.is_linear or width is None:
        return False
    if model.alpha == "auto":
        return width + n_groups <= data.total
    return float(model.alpha) == 0.0


def unit_variance(space: Space, vectors: np.ndarray) -> np.ndarray:
    """Directions at which features have variance 1; directions of no variance stay as they are."""
    variances = np.einsum("ij,ij->j", vectors, space.covariance @ vectors)
    squares = np.einsum("ij,ij->j", vectors, vectors)
    still = variances <= 1e-14 * squares * max(float(np.trace(space.covariance)), 0.0)
    return vectors / np.sqrt(np.where(still, 1.0, variances))


def sphere_of_graph(space: Space, laplacian: Laplacian, alpha: float) -> Sphere:
    """Sphere of B = ΦᵀDΦ about the mean weighted by D; for a normalised Laplacian of ΦᵀΦ."""
    if laplacian.normalized:
        size, total = space.scatter, float(space.n_samples)
    else:
        degrees = laplacian.degrees

        def weighted(values: np.ndarray) -> np.ndarray:
            images: np.ndarray = degrees[:, np.newaxis] * values
            return images - np.outer(degrees, images.sum(axis=0) / degrees.sum())

        size, total = space.quadratic(weighted), float(degrees.sum())
    return Sphere.of(size, alpha, eps=space.eps, noise=total * space.rounding)


@dataclass(frozen=True)
class _Places:
    """Different places on a line, at most so many, gathered from parts of the samples."""

    direction: np.ndarray
    gap: float
    most: int
    found: np.ndarray

    def __call__(self, phi: Any, part: Any) -> _Places:
        return self._distinct(np.asarray(phi @ self.direction).ravel())

    def __add__(self, other: _Places) -> _Places:
        return self._distinct(np.append(self.found, other.found))

    def _distinct(self, places: np.ndarray) -> _Places:
        places = np.sort(places)
        apart = np.append(True, np.diff(places) > self.gap)[: len(places)]
        return replace(self, found=places[apart][: self.most])


def _more_differ(space: Space, count: int) -> bool:
    """Whether more samples than these differ, by their place on a line of any direction."""
    direction = np.random.default_rng(0).standard_normal(space.dimension)
    width = np.sqrt(max(float(direction @ space.covariance @ direction), 0.0))
    gap = GAP * negligible(space.eps) * width
    places = space.summed(_Places(direction, gap, count + 1, np.empty(0)))
    return len(places.found) > count
