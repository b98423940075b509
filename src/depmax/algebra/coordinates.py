"""The coordinates in which directions are sought: those of the kernel's map, or of the samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import linalg, sparse
from sklearn.utils.extmath import safe_sparse_dot

from depmax._threads import blas_threads_for_parts, thread_pool
from depmax.algebra import Basis, Gram, Space, complete_axes
from depmax.algebra.gram import Tiles, kernel_tile, matrix_tile, radial_tile
from depmax.algebra.images import FeatureImages
from depmax.algebra.projection import Projection, SampleProjection
from depmax.data.sample import Sample, in_double, require_semidefinite

#: Up to so many samples their whole span is used, by an eigenproblem of that size.
EXACT_ROWS = 400
#: From so many samples in float32 on a stationary kernel's values are stored in single precision.
SINGLE_ROWS = 10_000
#: Up to so many columns their principal components are a cheap guess.
COMPONENT_COLUMNS = 200
#: Arrays of all pairs of samples that the whole span takes at its peak: the centred kernel matrix,
#: its eigenvectors, coordinates, weights of the samples, and a copy of one of these.
WHOLE_SPAN = 6.0

#: A basis of the part of the samples' span that a method needs; None if it needs all.
Grow = Callable[[Gram], Basis | None]


class Coordinates(Protocol):
    """A space of s coordinates, and the way back from its directions to the inputs."""

    @property
    def space(self) -> Space:
        """The samples in these coordinates."""

    @property
    def lean(self) -> np.ndarray:
        """Σ ‖φ‖²φ of the samples about their mean, of shape (s,), ‖φ‖ in the whole feature space.

        Its product with a direction is positive where samples far from the mean have large
        features.
        """

    def project(self, vectors: np.ndarray) -> Projection:
        """Features of new rows along these directions."""


class FeatureCoordinates(Coordinates, Protocol):
    """Coordinates of a kernel that has features."""

    @property
    def mean(self) -> np.ndarray:
        """Mean of the features, of shape (D,)."""

    def covariances(self, directions: np.ndarray) -> np.ndarray:
        """ΦᵀF for the features F along these directions, of shape (D, k)."""


@dataclass(frozen=True)
class WideCoordinates:
    """Coordinates in the span of the samples, for features that outnumber them.

    There are as many as samples, or more where a method asks for directions beyond the span. The
    last ones are zero for all samples. They stand for directions of no variance, of which there are
    D - rank, and are made only when used.
    """

    images: FeatureImages
    space: Space
    dual: np.ndarray  # UΛ^(-1/2), shape (m, rank)
    squares: np.ndarray  # ‖φ‖² of the samples about their mean, shape (m,)

    @classmethod
    def of(cls, side: Sample, grow: Grow | None, n_beyond: int = 0) -> WideCoordinates:
        """Coordinates of a grown basis, or the eigenvectors of the centred K̄ = UΛUᵀ."""
        images, scale = FeatureImages(side, hold=True), 0.0
        phi, mass = side.coordinates(slice(None)), side.mass
        if sparse.issparse(phi):
            gram = safe_sparse_dot(phi.astype(np.float64), phi.T, dense_output=True)
            scale = float(gram.diagonal().max())
            gram, _ = centred_gram(gram, mass)
        else:
            phi = images.space.centred()
            gram = phi @ phi.T
        basis = grown(len(gram), lambda: Tiles(matrix_tile(gram), np.float64), grow)
        if basis is not None:
            return cls(images, basis.space, basis.dual, gram.diagonal())
        coordinates, dual = span(gram, scale, mass)
        rank = coordinates.shape[1]
        # as many as the rows that these stand for
        padded = np.zeros((len(gram), min(phi.shape[1], max(int(side.total), rank + n_beyond))))
        padded[:, :rank] = coordinates
        if mass is not None:
            dual = dual / mass[:, np.newaxis]  # ``pull`` multiplies by it
        return cls(images, Space.of_array(padded, mass=mass), dual, gram.diagonal())

    @property
    def lean(self) -> np.ndarray:
        """Of shape (s,)."""
        return self.space.cross(self.squares[:, np.newaxis])[:, 0]

    @property
    def mean(self) -> np.ndarray:
        """Mean of the features, of shape (D,)."""
        return self.images.mean

    def project(self, vectors: np.ndarray) -> Projection:
        """Product with the features."""
        rank = self.dual.shape[1]
        weights = self.images.pull(self.dual @ vectors[:rank])
        used = np.flatnonzero(vectors[rank:].any(axis=1))
        if len(used):
            last = rank + int(used[-1]) + 1
            basis = complete_axes(self.images.pull(self.dual), last)
            weights += basis[:, rank:] @ vectors[rank:last]
        return self.images.project(weights)

    def covariances(self, directions: np.ndarray) -> np.ndarray:
        """ΦᵀF."""
        return self.images.pull(self.space.features(directions))


@dataclass(frozen=True)
class GramCoordinates:
    """Coordinates in the span of the samples, for kernels without features.

    Where a method asks for it, the last coordinate is zero for all samples: it stands for the part
    of their mean that the centred samples do not span.
    """

    side: Sample
    space: Space
    mean: np.ndarray  # mean of each column of K, shape (m,)
    dual: np.ndarray  # weights of the samples of each direction, columns of mean zero, shape (m, s)
    squares: np.ndarray  # ‖φ‖² of the samples about their mean, up to a constant, shape (m,)

    @classmethod
    def of(cls, side: Sample, grow: Grow | None, *, with_mean: bool = False) -> GramCoordinates:
        """Coordinates of a grown basis, or the eigenvectors of the centred kernel matrix."""
        basis = grown(side.n_samples, lambda: tiles_of(side), grow)
        if basis is not None:
            squares = side.diag() - 2.0 * basis.gram.mean
            return cls(side, basis.space, basis.gram.mean, _centred(basis.dual), squares)
        gram = side.gram()
        scale = float(gram.diagonal().max())
        gram, means = centred_gram(gram, side.mass)
        coordinates, dual = span(gram, scale, side.mass, side.eps)
        dual = _centred(dual, side.mass)
        beyond = mean_beyond(dual, means, scale, side.mass) if with_mean else None
        if beyond is not None:
            coordinates = np.column_stack([coordinates, np.zeros(len(dual))])
            dual = np.column_stack([dual, beyond])
        space = Space.of_array(coordinates, side.eps, mass=side.mass)
        return cls(side, space, means, dual, gram.diagonal())

    @property
    def lean(self) -> np.ndarray:
        """Of shape (s,)."""
        return self.space.cross(self.squares[:, np.newaxis])[:, 0]

    def project(self, vectors: np.ndarray) -> Projection:
        """Product with the kernel values of the training rows."""
        weights = self.dual @ vectors
        return SampleProjection(self.side.reference(), weights, self.mean @ weights)


def coordinates_of(side: Sample, grow: Grow | None = None, *, n_beyond: int = 0) -> Coordinates:
    """Coordinates of the smaller dimension: features where they are few, else samples.

    Beyond ``EXACT_ROWS`` samples without features, a method that can (``grow``) says which part of
    their span it needs; all others get all of it, at the cost of a full eigenproblem. ``n_beyond``
    is the number of directions orthogonal to the span that a method may use. Samples with masses
    get all of their span.
    """
    grow = grow if side.mass is None else None
    if not side.has_features:
        return GramCoordinates.of(side, grow, with_mean=n_beyond > 0)
    if (side.n_coordinates or 0) > side.n_samples:
        return WideCoordinates.of(side, grow, n_beyond)
    return FeatureImages(side)


def pairs_held(side: Sample, *, whole_span: bool) -> float:
    """Values of pairs of samples that ``coordinates_of`` holds at its peak, counted in float64.

    None where features are fewer than samples, or where the user gave the kernel matrix. Without
    ``whole_span`` the part is grown that a method asks for.
    """
    m = side.n_samples
    if side.precomputed or (side.n_coordinates or m + 1) <= m:
        return 0.0
    if whole_span or m <= EXACT_ROWS or side.mass is not None:
        return WHOLE_SPAN * m**2
    if side.has_features:
        return 1.5 * m**2  # the products of features, and half of them in strips
    return (0.25 if stays_single(side) else 0.5) * m**2  # strips from the diagonal on


def grown(n_samples: int, tiles: Callable[[], Tiles], grow: Grow | None) -> Basis | None:
    """The part of the samples' span that a method asks for, if it does and they are many.

    BLAS keeps to one thread: its own would wait busily between the parts that ours compute.
    """
    if grow is None or n_samples <= EXACT_ROWS:
        return None
    with blas_threads_for_parts() as threads, thread_pool(threads) as run:
        found = tiles()
        return grow(Gram(found.tile, n_samples, found.dtype, found.likely, run))


def tiles_of(side: Sample) -> Tiles:
    """Kernel values in slices, in the precision of the rows, and a guess.

    The rows of stationary kernels are measured from the mean, so that an offset costs no digits.
    Their directions of largest variance are much like the principal components of the rows.
    """
    kernel, rows = side.kernel, side.rows
    if not kernel.capabilities.stationary or not isinstance(rows, np.ndarray) or rows.ndim != 2:
        return Tiles(kernel_tile(kernel, rows), np.float64)
    centred = in_double(rows) - rows.mean(axis=0, dtype=np.float64)
    make = radial_tile if kernel.capabilities.radial else kernel_tile
    return Tiles(make(kernel, centred.astype(rows.dtype)), rows.dtype, components_of(centred))


def stays_single(side: Sample) -> bool:
    """Whether kernel values are stored in single precision: those of many rows in float32.

    Values of a stationary kernel are of one size. Their rounding errors change features that
    depend least on the target by a few per cent, but take half the memory.
    """
    many = side.is_array and side.n_samples >= SINGLE_ROWS
    return bool(many and side.dtype == np.float32 and side.kernel.capabilities.stationary)


def components_of(rows: np.ndarray) -> np.ndarray | None:
    """Principal components of centred rows that are not wide, the largest first; else None."""
    if rows.shape[1] > min(COMPONENT_COLUMNS, rows.shape[0]):
        return None
    vectors = linalg.eigh(rows.T @ rows)[1]
    components: np.ndarray = rows @ vectors[:, ::-1]
    return components


def centred_gram(gram: np.ndarray, mass: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """HKH, and the column means of K, over all samples that the given ones stand for."""
    means = np.average(gram, axis=0, weights=mass)
    centred = gram - means
    centred -= np.average(centred, axis=1, weights=mass)[:, np.newaxis]
    return centred, means


def _centred(dual: np.ndarray, mass: np.ndarray | None = None) -> np.ndarray:
    """Weights of the samples that add up to zero."""
    shares = np.full(len(dual), 1.0 / len(dual)) if mass is None else mass / mass.sum()
    centred: np.ndarray = dual - np.outer(shares, dual.sum(axis=0))
    return centred


def mean_beyond(
    dual: np.ndarray, means: np.ndarray, scale: float, mass: np.ndarray | None = None
) -> np.ndarray | None:
    """Weights of the samples that give the part of their mean orthogonal to the centred samples.

    Of shape (m,), for a direction of unit length; None where the centred samples span the mean.

    Parameters
    ----------
    dual : ndarray of shape (m, s)
        Orthonormal directions of the centred samples, columns of mean zero.
    means : ndarray of shape (m,)
        Inner products of the mean with the samples, the column means of K.
    scale : float
        Largest entry of K.
    mass : ndarray of shape (m,), optional
        How many samples each stands for.
    """
    shares = np.full(len(dual), 1.0 / len(dual)) if mass is None else mass / mass.sum()
    inside = dual.T @ means
    size = float(shares @ means - inside @ inside)  # squared length of what is beyond
    if size <= len(dual) * np.finfo(np.float64).eps ** 0.5 * scale:
        return None
    weights: np.ndarray = (shares - dual @ inside) / np.sqrt(size)
    return weights


def span(
    gram: np.ndarray, scale: float, mass: np.ndarray | None = None, eps: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """UΛ^(1/2) and UΛ^(-1/2) of a Gram matrix UΛUᵀ, without its numerical null space.

    ``scale`` is the size of the entries that the matrix was computed from, if larger than its own,
    and ``eps`` their relative precision, if it is less than that of float64.
    With masses w the eigenproblem is that of W^½GW^½ = UΛUᵀ, whose eigenvalues are those of the
    samples repeated; the coordinates are W^(-½)UΛ^½, the weights of the samples W^½UΛ^(-½).
    """
    if mass is not None:
        roots = np.sqrt(mass)[:, np.newaxis]
        coordinates, dual = span(roots * gram * roots.T, scale, eps=eps)
        return coordinates / roots, roots * dual
    values, vectors = linalg.eigh(gram)
    values, vectors = values[::-1], vectors[:, ::-1]
    require_semidefinite(values[-1], max(values[0], scale))
    precision = max(len(values) * float(np.finfo(np.float64).eps), 10 * eps)
    kept = values > precision * max(values[0], scale)
    roots = np.sqrt(values[kept])
    return vectors[:, kept] * roots, vectors[:, kept] / roots
