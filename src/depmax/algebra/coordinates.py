"""The coordinates in which directions are sought, and the projection of new rows onto these."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.utils.extmath import safe_sparse_dot

from depmax._threads import blas_threads_for_parts, small_problems, thread_pool
from depmax.algebra import Basis, Gram, Space
from depmax.algebra.gram import (
    FeatureProducts,
    Products,
    Tiles,
    kernel_tile,
    matrix_tile,
    radial_tile,
)
from depmax.data.sample import Reference, Sample, in_double, require_semidefinite
from depmax.kernels.kernel import Kernel

#: Up to so many samples their whole span is used, by an eigenproblem of that size.
EXACT_ROWS = 400
#: Up to this many coordinates, threads of BLAS cost an eigenproblem more than they gain.
FEW = 256
#: Up to so many columns their principal components are a cheap guess.
COMPONENT_COLUMNS = 200
#: Arrays of all pairs of samples that the whole span takes at its peak: the centred kernel matrix,
#: its eigenvectors, coordinates, weights of the samples, and a copy of one of these.
WHOLE_SPAN = 6.0


# --- new rows -------------------------------------------------------------------------------------
@dataclass(frozen=True)
class FeatureProjection:
    """f(x) = (φ(x) - μ)W - shift, from the exact features φ of a kernel.

    The centre μ is taken away first, where features are dense: far from zero, a product would round
    off what tells one row from another.
    """

    kernel: Kernel
    weights: np.ndarray  # W, shape (D, k)
    shift: np.ndarray  # shape (k,)
    centre: np.ndarray | None = None  # μ of the training rows, shape (D,)

    @property
    def offset(self) -> np.ndarray:
        """μW + shift, so that f(x) = φ(x)W - offset."""
        return self.shift if self.centre is None else self.centre @ self.weights + self.shift

    @property
    def width(self) -> int:
        """Columns of the widest matrix on the way."""
        mixing = self.kernel.mixing
        return int(self.weights.shape[0] if mixing is None else mixing.shape[0])

    def first(self, count: int) -> FeatureProjection:
        """The first features only."""
        return replace(self, weights=self.weights[:, :count], shift=self.shift[:count])

    def times(self, factors: np.ndarray) -> FeatureProjection:
        """The same with every feature multiplied by a number."""
        return replace(self, weights=self.weights * factors, shift=self.shift * factors)

    def __call__(self, rows: Any) -> np.ndarray:
        """Features of some rows, of shape (n_rows, k)."""
        mixing, rows = self.kernel.mixing, in_double(rows)
        if mixing is not None:  # two small products instead of a large one
            return self.kernel.unmixed(rows) @ (mixing @ self.weights) - self.offset
        phi = self.kernel.features(rows)
        if self.centre is not None and isinstance(phi, np.ndarray):
            return (phi - self.centre) @ self.weights - self.shift
        return safe_sparse_dot(phi, self.weights, dense_output=True) - self.offset

    def in_features(self) -> FeatureProjection:
        """The same as a product with features."""
        return self

    def inner(self) -> np.ndarray:
        """WᵀW of shape (k, k)."""
        return self.weights.T @ self.weights


@dataclass(frozen=True)
class SampleProjection:
    """f(x) = k(x, reference)Q - offset, from kernel values with reference rows."""

    reference: Reference
    weights: np.ndarray  # Q, shape (n_reference, k)
    offset: np.ndarray  # shape (k,)

    @property
    def width(self) -> int:
        """Columns of the widest matrix on the way."""
        return int(self.weights.shape[0])

    def first(self, count: int) -> SampleProjection:
        """The first features only."""
        return replace(self, weights=self.weights[:, :count], offset=self.offset[:count])

    def of_rows(self, used: np.ndarray) -> SampleProjection:
        """The same from some of the reference rows: the others have no weight."""
        reference = replace(self.reference, rows=self.reference.rows[used])
        return replace(self, reference=reference, weights=self.weights[used])

    def times(self, factors: np.ndarray) -> SampleProjection:
        """The same with every feature multiplied by a number."""
        return replace(self, weights=self.weights * factors, offset=self.offset * factors)

    def __call__(self, rows: Any) -> np.ndarray:
        """Features of some rows, of shape (n_rows, k)."""
        return self.reference.against(rows) @ self.weights - self.offset

    def in_features(self) -> FeatureProjection:
        """The same as a product with the features φ of the kernel: W = φ(reference)ᵀQ."""
        kernel = self.reference.kernel
        assert kernel is not None
        weights = kernel.features(self.reference.rows).T @ self.weights
        return FeatureProjection(kernel, np.asarray(weights, dtype=np.float64), self.offset)

    def inner(self) -> np.ndarray:
        """QᵀKQ of shape (k, k), the inner products of the directions in feature space."""
        kernel = self.reference.kernel
        assert kernel is not None
        return self.weights.T @ kernel(self.reference.rows) @ self.weights


Projection = FeatureProjection | SampleProjection


# --- the samples ----------------------------------------------------------------------------------
#: A basis of the part of the samples' span that a method needs; None if it needs all.
Grow = Callable[[Products], Basis | None]


@dataclass(frozen=True)
class Coordinates:
    """Samples in s coordinates, and the way back from directions to rows.

    Coordinates are those of the kernel where they are few; else those of the samples' span.
    """

    data: Sample
    space: Space  # the samples in these coordinates
    #: Weights of the samples in each direction, columns of mean zero, of shape (m, s); None: the
    #: coordinates are the kernel's own.
    dual: np.ndarray | None = None
    squares: np.ndarray | None = None  # ‖φ‖² of the samples about their mean, up to a constant
    means: np.ndarray | None = None  # mean of each column of K, of kernels without coordinates

    @property
    def lean(self) -> np.ndarray:
        """Σ ‖φ‖²φ of the samples about their mean, of shape (s,), ‖φ‖ in the whole feature space.

        Its product with a direction is positive where samples far from the mean have large
        features.
        """
        if self.squares is None:
            return self.space.lean
        return self.space.cross(self.squares[:, np.newaxis])[:, 0]

    def solving(self) -> AbstractContextManager[Any]:
        """Threads of BLAS as suits problems of so many coordinates."""
        return small_problems(self.space.dimension <= FEW)

    def project(self, vectors: np.ndarray) -> Projection:
        """Features of new rows along directions."""
        weights = vectors if self.dual is None else self.dual @ vectors
        if self.means is not None:
            return SampleProjection(self.data.reference(), weights, self.means @ weights)
        space = self.space
        if self.dual is not None:
            space = Space.held(self.data)
            weights = space.cross(weights, weighted=False)
        return FeatureProjection(self.data.kernel, weights, np.zeros(weights.shape[1]), space.mean)

    def pull(self, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """ΦᵀF for the features F along these directions, of shape (D, k), and the mean of Φ."""
        if self.dual is None:
            return self.space.scatter @ vectors, self.space.mean
        space = Space.held(self.data)
        return space.cross(self.space.features(vectors)), space.mean


def coordinates_of(data: Sample, grow: Grow | None = None, *, few: bool = False) -> Coordinates:
    """Coordinates of the smaller dimension: features where they are few, else samples.

    Beyond ``EXACT_ROWS`` samples without features, a method that can (``grow``) says which part of
    their span it needs; all others get all of it, at the cost of a full eigenproblem. With ``few``
    it does so in few products, and features, if there are any, take the place of their matrix.
    """
    if (data.n_coordinates or np.inf) <= data.n_samples:
        return Coordinates(data, Space.of_sample(data))
    if grow is not None and data.n_samples > EXACT_ROWS:
        part = part_of_span(data, grow, few=few)
        if part is not None:
            return part
    gram, scale, means = _centred_gram(data)
    eps = float(np.finfo(np.float64).eps) if data.has_features else data.eps
    coordinates, dual = span(gram, scale, data.weight, eps)
    space = Space.of_array(coordinates, eps, weight=data.weight)
    return Coordinates(data, space, _centred(dual, data.weight), gram.diagonal(), means)


def part_of_span(data: Sample, grow: Grow, *, few: bool = False) -> Coordinates | None:
    """Coordinates of the part of the samples' span that a method asks for; None: of all of it.

    BLAS keeps to one thread: its own would wait busily between the parts that ours compute.
    """
    if data.has_features and few:
        features = Space.held(data)
        basis = grow(FeatureProducts(features))
        if basis is None:
            return None
        return Coordinates(data, basis.space, basis.sample_weights, features.squares)
    with blas_threads_for_parts() as threads, thread_pool(threads) as run:
        found = tiles_of(data)
        gram = Gram(found.tile, data.n_samples, found.dtype, found.likely, run, data.weight)
        basis = grow(gram)
    if basis is None:
        return None
    means = None if data.has_features else gram.mean
    return Coordinates(data, basis.space, basis.sample_weights, gram.squares, means)


def _centred_gram(data: Sample) -> tuple[np.ndarray, float, np.ndarray | None]:
    """HKH, the size of what it was computed from, and without features the column means of K."""
    if data.has_features:
        phi = data.coordinates(slice(None))
        if not sparse.issparse(phi):
            phi = Space.of_array(phi, weight=data.weight).centred()
            return phi @ phi.T, 0.0, None
        gram = safe_sparse_dot(phi.astype(np.float64), phi.T, dense_output=True)
    else:
        gram = data.gram()
    scale = float(gram.diagonal().max())
    means = np.average(gram, axis=0, weights=data.weight)
    gram = gram - means
    gram -= np.average(gram, axis=1, weights=data.weight)[:, np.newaxis]
    return gram, scale, None if data.has_features else means


def pairs_held(data: Sample, *, whole_span: bool) -> float:
    """Values of pairs of samples that ``coordinates_of`` holds at its peak, counted in float64.

    None where features are fewer than samples, or where the user gave the kernel matrix. Without
    ``whole_span`` the part is grown that a method asks for.
    """
    m = data.n_samples
    if data.precomputed or (data.n_coordinates or m + 1) <= m:
        return 0.0
    if whole_span or m <= EXACT_ROWS:
        return WHOLE_SPAN * m**2
    if data.has_features:
        return 1.5 * m**2  # the products of features, and half of them in strips
    return 0.5 * m**2  # strips from the diagonal on


def tiles_of(data: Sample) -> Tiles:
    """Kernel values in slices, and a guess.

    The rows of stationary kernels are measured from the mean, so that an offset costs no digits.
    Their directions of largest variance are much like the principal components of the rows.
    """
    kernel, rows = data.kernel, data.rows
    if data.has_features:
        return Tiles(matrix_tile(_centred_gram(data)[0]), np.float64)
    if not kernel.capabilities.stationary or not isinstance(rows, np.ndarray) or rows.ndim != 2:
        return Tiles(kernel_tile(kernel, rows), np.float64)
    centred = in_double(rows) - rows.mean(axis=0, dtype=np.float64)
    make = radial_tile if kernel.capabilities.radial else kernel_tile
    return Tiles(make(kernel, centred), np.float64, components_of(centred))


def components_of(rows: np.ndarray) -> np.ndarray | None:
    """Principal components of centred rows that are not wide, the largest first; else None."""
    if rows.shape[1] > min(COMPONENT_COLUMNS, rows.shape[0]):
        return None
    vectors = linalg.eigh(rows.T @ rows)[1]
    components: np.ndarray = rows @ vectors[:, ::-1]
    return components


def _centred(dual: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Weights of the samples that add up to zero."""
    shares = np.full(len(dual), 1.0 / len(dual)) if weight is None else weight / weight.sum()
    centred: np.ndarray = dual - np.outer(shares, dual.sum(axis=0))
    return centred


def span(
    gram: np.ndarray, scale: float, weight: np.ndarray | None = None, eps: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """UΛ^(1/2) and UΛ^(-1/2) of a Gram matrix UΛUᵀ, without its numerical null space.

    ``scale`` is the size of the entries that the matrix was computed from, if larger than its own,
    and ``eps`` their relative precision, if it is less than that of float64.

    With weights w the eigenproblem is that of W^½GW^½ = UΛUᵀ, whose eigenvalues are those of the
    samples repeated; the coordinates are W^(-½)UΛ^½, the weights of the samples W^½UΛ^(-½).
    """
    if weight is not None:
        roots = np.sqrt(weight)[:, np.newaxis]
        coordinates, dual = span(roots * gram * roots.T, scale, eps=eps)
        return coordinates / roots, roots * dual
    values, vectors = linalg.eigh(gram)
    values, vectors = values[::-1], vectors[:, ::-1]
    require_semidefinite(values[-1], max(values[0], scale))
    precision = max(len(values) * float(np.finfo(np.float64).eps), 10 * eps)
    kept = values > precision * max(values[0], scale)
    roots = np.sqrt(values[kept])
    return vectors[:, kept] * roots, vectors[:, kept] / roots
