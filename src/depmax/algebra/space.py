"""Samples in the feature space of a kernel: sums and forms over them, and new rows beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot

from depmax._files import held_by_models
from depmax._resources import chunk_rows, slices, small_problems
from depmax.algebra.row_sums import (
    Aligned,
    BlockImages,
    CentredValues,
    Factor,
    Norms,
    Part,
    RowSums,
    SumBlocks,
    as_array,
    chunks_of,
    dense,
    square_of,
    squared_lengths,
    sum_rows,
    values_at,
)
from depmax.data.chunks import add_up
from depmax.data.sample import Reference, Sample, in_double
from depmax.kernels.kernel import Kernel

#: A coordinate whose standard deviation is below so many roundings of its mean is constant.
CONSTANT = 64.0
#: Share of Σ‖φ‖² that is variance, below which the mean is subtracted from the samples themselves.
FAR = 1e-4
#: Columns that an operator on values at the samples is applied to at a time.
COLUMNS = 256
#: Up to this many coordinates, threads of BLAS cost an eigenproblem more than they gain.
FEW = 256
#: Relative precision of float64.
EPS = float(np.finfo(np.float64).eps)

#: A symmetric operator on columns of values at the samples.
Operator = Callable[[np.ndarray], np.ndarray]


# --- new rows -------------------------------------------------------------------------------------
@held_by_models
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

    def taken(self, order: np.ndarray) -> FeatureProjection:
        """Features in another order."""
        return replace(self, weights=self.weights[:, order], shift=self.shift[order])

    def times(self, factors: np.ndarray) -> FeatureProjection:
        """A projection with every feature multiplied by a number."""
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
        """A projection as a product with features."""
        return self

    def inner(self) -> np.ndarray:
        """WᵀW of shape (k, k)."""
        return self.weights.T @ self.weights


@held_by_models
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

    def taken(self, order: np.ndarray) -> SampleProjection:
        """Features in another order."""
        return replace(self, weights=self.weights[:, order], offset=self.offset[order])

    def of_rows(self, used: np.ndarray) -> SampleProjection:
        """A projection from some of the reference rows: the others have no weight."""
        reference = replace(self.reference, rows=self.reference.rows[used])
        return replace(self, reference=reference, weights=self.weights[used])

    def times(self, factors: np.ndarray) -> SampleProjection:
        """A projection with every feature multiplied by a number."""
        return replace(self, weights=self.weights * factors, offset=self.offset * factors)

    def __call__(self, rows: Any) -> np.ndarray:
        """Features of some rows, of shape (n_rows, k)."""
        return self.reference.against(rows) @ self.weights - self.offset

    def in_features(self) -> FeatureProjection:
        """A projection as a product with the features φ of the kernel: W = φ(reference)ᵀQ."""
        kernel = self.reference.kernel
        assert kernel is not None
        weights = kernel.features(self.reference.rows).T @ self.weights
        return FeatureProjection(kernel, np.asarray(weights, dtype=np.float64), self.offset)

    def inner(self) -> np.ndarray:
        """QᵀKQ of shape (k, k), the inner products of the directions in feature space."""
        kernel, rows, weights = self.reference.kernel, self.reference.rows, self.weights
        assert kernel is not None
        inner = np.zeros((weights.shape[1], weights.shape[1]))
        for block in slices(len(weights), chunk_rows(len(weights))):
            inner += weights[block].T @ (kernel(rows[block], rows) @ weights)
        return (inner + inner.T) / 2


Projection = FeatureProjection | SampleProjection


# --- forms ----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Form:
    """M = ΨΨᵀ - diag(w) - N, a quadratic form over centred samples.

    With the centred coordinates Φ of the samples the matrix of a criterion is
    A = ΦᵀMΦ = CCᵀ - Φᵀdiag(w)Φ - ΦᵀNΦ with C = ΦᵀΨ. If only some samples are labelled, Ψ and w are
    zero for the others, and diag(w) acts on the labelled samples measured from their own mean.

    Ψ need not be held: its rows are made beside those of Φ, a part of the samples at a time.
    """

    factor: Any  # Ψ, shape (m, r), columns of mean zero: an array or CentredValues
    diagonal: Any = None  # w, shape (m,): an array, CentredValues or OfLengths
    penalties: tuple[Operator, ...] = ()  # whose sum is N

    @property
    def n_samples(self) -> int:
        """Number of samples m."""
        return int(self.factor.shape[0])

    @property
    def width(self) -> int:
        """Number of columns r of Ψ."""
        return int(self.factor.shape[1])

    def beside(self, phi: Any, rows: Any) -> Aligned:
        """A chunk of coordinates with what this form knows of the same samples.

        ``rows`` is a slice of samples in memory, or a block of those that are read.
        """
        psi = values_at(self.factor, phi, rows)
        diagonal = self.diagonal
        if diagonal is not None:
            diagonal = diagonal(psi) if callable(diagonal) else values_at(diagonal, phi, rows)
        return Aligned(phi, psi, diagonal)

    def held(self) -> Form:
        """A form with Ψ and w in memory, for values at all samples at once."""
        factor, diagonal = as_array(self.factor), self.diagonal
        if diagonal is not None:
            diagonal = diagonal(factor) if callable(diagonal) else as_array(diagonal)
        return replace(self, factor=factor, diagonal=diagonal)

    def apply(self, values: np.ndarray) -> np.ndarray:
        """M times columns of values on the samples, of shape (m, k); of a form that is held."""
        images: np.ndarray = self.factor @ (self.factor.T @ values)
        if self.diagonal is not None:
            images -= self.diagonal[:, np.newaxis] * values
        for penalty in self.penalties:
            images -= penalty(values)
        return images

    def reached(self, features: np.ndarray) -> np.ndarray:
        """fᵀMf of each column of centred features, of shape (k,)."""
        return np.einsum("ij,ij->j", features, self.held().apply(features))

    def spread(self, labelled: np.ndarray) -> Form:
        """A form of the labelled samples as one of all samples."""
        held = self.held()
        factor = np.zeros((len(labelled), self.width))
        factor[labelled] = held.factor
        penalties = () if held.diagonal is None else (OfLabelled(labelled, held.diagonal),)
        return Form(factor, penalties=penalties)

    def times(self, rate: float) -> Form:
        """The form multiplied by a number; of a form that is held."""
        diagonal = None if self.diagonal is None else rate * self.diagonal
        penalties = tuple((lambda values, own=own: rate * own(values)) for own in self.penalties)
        return Form(np.sqrt(rate) * self.factor, diagonal, penalties)

    def less(self, penalty: Operator) -> Form:
        """The form less an operator."""
        return replace(self, penalties=(*self.penalties, penalty))

    @property
    def is_low_rank(self) -> bool:
        """Whether M = ΨΨᵀ."""
        return self.diagonal is None and not self.penalties


@dataclass(frozen=True)
class OfLabelled:
    """A diagonal times values at the labelled samples, measured from their mean; zero at others."""

    labelled: np.ndarray  # which samples are, shape (m,)
    diagonal: np.ndarray  # of these, shape (n_labelled,)

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Of shape (m, k)."""
        known = values[self.labelled]
        known = self.diagonal[:, np.newaxis] * (known - known.mean(axis=0))
        images = np.zeros_like(values)
        images[self.labelled] = known - known.mean(axis=0)
        return images


@dataclass(frozen=True)
class OfLengths:
    """Weights slope·‖ψ‖² + shift."""

    slope: float
    shift: float

    def __call__(self, psi: np.ndarray) -> np.ndarray:
        """Of the samples whose ψ are given, of shape (n,)."""
        return self.slope * np.einsum("ij,ij->i", psi, psi) + self.shift


def hsic_form(factor: Factor, *, unbiased: bool, weight: np.ndarray | None = None) -> Form:
    """Form whose A has pᵀAp = HSIC between the feature Φp (linear kernel) and the target.

    Parameters
    ----------
    factor : ndarray of shape (m, r), or values that are made block by block
        Ψ with the target's kernel matrix L = ΨΨᵀ, columns of mean zero.
    unbiased : bool
        HSIC₁, or HSIC₀, which has no diagonal.
    weight : ndarray of shape (m,), optional
        How many samples each stands for; the space of Φ must have the same.

    Examples
    --------
    >>> hsic_form(np.array([[1.0], [-1.0]]), unbiased=False).factor.ravel()
    array([ 1., -1.])
    """
    m = factor.shape[0] if weight is None else float(weight.sum())
    if not unbiased:
        return Form(factor / (m - 1))
    scale = m * (m - 3)
    rest = square_of(factor, weight) / ((m - 1) * (m - 2) * scale)
    return Form(factor / np.sqrt(scale), OfLengths(m / (m - 2), -rest))


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


@dataclass(frozen=True)
class Moments:
    """Sums over samples from which the matrices of a criterion follow."""

    cross: np.ndarray  # C = ΦᵀΨ, shape (s, r)
    scatter: np.ndarray  # S = ΦᵀΦ, shape (s, s)
    weighted: np.ndarray | None  # what is taken off CCᵀ: Φᵀdiag(w)Φ + ΦᵀNΦ, shape (s, s)
    eps: float = float(np.finfo(np.float64).eps)  # relative precision of the coordinates

    @property
    def criterion(self) -> np.ndarray:
        """A = CCᵀ - Φᵀdiag(w)Φ - ΦᵀNΦ, of shape (s, s)."""
        product = self.cross @ self.cross.T
        return product if self.weighted is None else product - self.weighted


# --- the samples ----------------------------------------------------------------------------------
@dataclass(frozen=True)
class FeaturesOfPart:
    """(φ - mean)P of some rows."""

    mean: np.ndarray
    directions: np.ndarray

    def __call__(self, phi: Any, part: Part) -> np.ndarray:
        """Of shape (n, k)."""
        values: np.ndarray = phi @ self.directions - self.mean @ self.directions
        return values


def _no_values(phi: Any, part: Any) -> np.ndarray:
    return np.zeros((phi.shape[0], 0))


def _of_parts(images: Callable[[Any], Any], work: Callable[..., Any], parts: Iterator[Any]) -> Any:
    """Work on the coordinates of parts of the samples, added up."""
    return add_up(work(images(part), part) for part in parts)


class Space:
    """The images Φ of m samples in s coordinates, measured from their mean.

    Parameters
    ----------
    coordinates : array or sparse matrix of shape (m, s), or callable
        Coordinates of all samples, not centred; or what gives those of a slice (or a block).
    shape : (int, int), optional
        m and s, for a callable.
    eps : float
        Relative precision of the coordinates.
    data : Sample, optional
        What the samples are. If it is read a block at a time, values at the samples are not arrays
        but what gives those of a block.
    center : bool
        Without centring samples are measured from zero, which then stands for their mean.
    weight : ndarray of shape (m,), optional
        How many samples each stands for, by default that of the data: mean and sums are those of
        the samples repeated, values at the samples have one row for each that is given.
    concurrent : bool
        Whether several threads may ask a callable at a time.

    Notes
    -----
    Samples are visited in chunks and nothing of size m is kept. The mean is subtracted from sums,
    or from dense samples far from the origin, where sums would lose digits. Sparse ones stay so.
    """

    def __init__(
        self,
        coordinates: Any,
        shape: tuple[int, int] = (0, 0),
        eps: float = EPS,
        *,
        data: Sample | None = None,
        center: bool = True,
        weight: np.ndarray | None = None,
        concurrent: bool = False,
    ) -> None:
        held = not callable(coordinates)
        #: m and s
        self.n_samples, self.dimension = map(int, coordinates.shape if held else shape)
        self.data, self.eps = data, eps
        self.weight = weight if data is None else data.weight
        self.total = self.n_samples if self.weight is None else float(self.weight.sum())
        self._concurrent, self._center = held or concurrent, center
        self._stream = data.rows.stream if data is not None and data.is_streamed else None
        self._is_sparse = held and sparse.issparse(coordinates)  # else the last visit finds out
        self._block = coordinates
        if held:  # sparse matrices are not sliced, which takes time
            self._block = (lambda rows: coordinates) if self._is_sparse else coordinates.__getitem__
        whole = self._is_sparse or self._stream is not None
        everything = [slice(0, self.n_samples)]
        self._slices = everything if whole else chunks_of(self.n_samples, self.dimension)
        # whether coordinates can be multiplied as they are, all at once
        self._is_ready = held and coordinates.dtype == np.float64
        self._sums: RowSums | None = None  # about the mean, from the last visit
        self._shift = np.zeros(self.dimension)  # of the mean from the origin of that visit

    @classmethod
    def of_sample(cls, sample: Sample, *, center: bool = True, unmixed: bool = False) -> Space:
        """Space of the exact coordinates of a sample, made anew at every visit.

        With ``unmixed`` those of a map are meant before their last product, that with ``mixing``.
        """
        kernel, rows, streamed = sample.kernel, sample.rows, sample.is_streamed
        images: Callable[[Any], Any] = sample.coordinates
        mixing = kernel.mixing if unmixed else None
        width = int(sample.n_coordinates or 0) if mixing is None else len(mixing)
        if streamed:
            images = BlockImages(kernel, rows.view, unmixed=unmixed)
        elif unmixed:
            images = lambda part: kernel.unmixed(in_double(rows[part]))  # noqa: E731  # one of three ways
        eps = EPS if unmixed else precision_of(sample)
        concurrent = sample.is_array and not streamed
        shape = sample.n_samples, width
        return cls(images, shape, eps, data=sample, center=center, concurrent=concurrent)

    @classmethod
    def held(cls, sample: Sample, *, center: bool = True) -> Space:
        """The space of a sample whose coordinates are made once and kept in memory."""
        if not sample.is_in_memory:
            return cls.of_sample(sample, center=center)
        phi = sample.coordinates(slice(None))
        return cls(phi, eps=precision_of(sample), data=sample, center=center)

    @property
    def is_streamed(self) -> bool:
        """Whether samples are read a block at a time."""
        return self._stream is not None

    @property
    def mean(self) -> np.ndarray:
        """What coordinates are measured from: their mean, of shape (s,)."""
        return self._visited().origin_x

    @property
    def variance(self) -> float:
        """Σ‖φ‖² of the samples, measured from their mean."""
        sums = self._visited()
        if sums.scatter is not None:
            return float(np.trace(sums.scatter))
        assert sums.norms is not None
        return sums.norms.x

    @property
    def scatter(self) -> np.ndarray:
        """S = ΦᵀΦ of shape (s, s)."""
        sums = self._sums
        if sums is None or sums.scatter is None:
            sums = self._visit(self._no_form)
        assert sums.scatter is not None
        return sums.scatter

    @property
    def lean(self) -> np.ndarray:
        """Σ ‖φ‖²φ of the samples about their mean, of shape (s,), ‖φ‖ in the whole feature space.

        Its product with a direction is positive where samples far from the mean have large
        features.
        """
        if self._sums is None or self._sums.cubes is None:
            self._visit(self._no_form)
        assert self._sums is not None
        assert self._sums.cubes is not None
        return self._sums.cubes

    @property
    def squares(self) -> np.ndarray:
        """‖φ‖² of every sample, of shape (m,)."""
        from_samples, from_sums = self._subtracted()
        values = np.empty(self.n_samples)
        for rows, phi in self._chunks(from_samples):
            values[rows] = squared_lengths(phi) - 2.0 * (phi @ from_sums) + from_sums @ from_sums
        return values

    @property
    def covariance(self) -> np.ndarray:
        """S/m of shape (s, s), m being the number of samples that these stand for."""
        return self.scatter / self.total

    @property
    def rounding(self) -> np.ndarray:
        """Variance that a constant coordinate may seem to have, of shape (s,)."""
        self._visited()
        return (CONSTANT * self.eps * self.mean) ** 2 + CONSTANT * self.eps * self._shift**2

    @np.errstate(invalid="ignore")
    def moments(self, form: Form) -> Moments:
        """All sums that a form needs, and the mean, from one visit to the samples.

        A form with a penalty N takes two more visits. NaN and infinity among the coordinates show
        in the sums.
        """
        sums = self._visit(form)
        assert sums.scatter is not None
        weighted = None
        if sums.weighted is not None:
            weighted = sums.weighted.about(sums.origin_x, sums.weighted.origin_y).scatter
        for penalty in form.penalties:
            more = self.quadratic(penalty)
            weighted = more if weighted is None else weighted + more
        return Moments(sums.cross, sums.scatter, weighted, self.eps)

    def cross(self, factor: Factor, *, weighted: bool = True) -> np.ndarray:
        """ΦᵀΨ of shape (s, r) for another factor; without weights each sample counts once."""
        from_samples, from_sums = self._subtracted()
        cross, total = np.zeros((self.dimension, factor.shape[1])), np.zeros(factor.shape[1])
        for rows, phi in self._chunks(from_samples):
            psi = values_at(factor, phi, rows)
            if self.weight is not None and weighted:
                psi = psi * self.weight[rows, np.newaxis]
            cross += phi.T @ psi
            total += psi.sum(axis=0)
        cross -= np.outer(from_sums, total)
        return cross

    def weighted_scatter(self, weights: Any) -> np.ndarray:
        """Φᵀdiag(w)Φ of shape (s, s)."""
        moments = self.moments(replace(self._no_form, diagonal=weights))
        assert moments.weighted is not None
        return moments.weighted

    def quadratic(self, operator: Operator) -> np.ndarray:
        """ΦᵀNΦ of shape (s, s) for a symmetric operator N on values at the samples."""
        product = np.empty((self.dimension, self.dimension))
        for columns in slices(self.dimension, COLUMNS):
            axes = np.zeros((self.dimension, columns.stop - columns.start))
            axes[columns] = np.eye(axes.shape[1])
            product[:, columns] = self.cross(operator(self.features(axes)))
        return (product + product.T) / 2.0

    def features(self, directions: np.ndarray) -> np.ndarray:
        """Features ΦP of all samples, of shape (m, k), for directions P of shape (s, k)."""
        if self._stream is not None:
            return self.values(directions)  # type: ignore[return-value]  # they have the array's interface
        from_samples, from_sums = self._subtracted()
        values = np.empty((self.n_samples, directions.shape[1]))
        offset = from_sums @ directions
        for rows, phi in self._chunks(from_samples):
            values[rows] = phi @ directions - offset
        return values

    def values(self, directions: np.ndarray) -> CentredValues:
        """Values of the directions at all samples, made a part of these at a time."""
        return CentredValues(
            FeaturesOfPart(self.mean, directions),
            (self.n_samples, directions.shape[1]),
            gram=directions.T @ self.scatter @ directions,
        )

    def summed(self, work: Callable[[Any, Any], Any]) -> Any:
        """Sum of what ``work`` makes of the coordinates of every part of the samples, and it."""
        visit = partial(_of_parts, self._block, work)
        return visit(iter(self._slices)) if self._stream is None else self._stream.total(visit)

    def taken(self, indices: np.ndarray) -> tuple[Any, Any]:
        """Coordinates of the samples of a stream at some positions, and the block of these."""
        assert self._stream is not None
        block = self._stream.take(indices)
        return self._block(block), block

    def centred(self) -> np.ndarray:
        """Φ itself, dense, of shape (m, s): for methods that are not sums over samples."""
        values = np.empty((self.n_samples, self.dimension))
        for rows, phi in self._chunks():
            np.subtract(dense(phi), self.mean, out=values[rows])
        return values

    # --- directions ------------------------------------------------------------------------------
    def solving(self) -> AbstractContextManager[Any]:
        """Threads of BLAS as suits problems of so many coordinates."""
        return small_problems(self.dimension <= FEW)

    def project(self, vectors: np.ndarray, shift: np.ndarray | None = None) -> Projection:
        """Features of new rows along directions, less a shift."""
        assert self.data is not None
        shift = np.zeros(vectors.shape[1]) if shift is None else shift
        return FeatureProjection(self.data.kernel, vectors, shift, self.mean)

    def pull(self, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """ΦᵀF of features F along directions, of shape (D, k), and the mean, in kernel features."""
        return self.scatter @ vectors, self.mean

    @property
    def _no_form(self) -> Form:
        """The form for sums over the samples alone."""
        return Form(CentredValues(_no_values, (self.n_samples, 0), gram=np.zeros((0, 0))))

    def _visited(self) -> RowSums:
        if self._sums is None and self._is_ready and self.weight is None and not self._is_sparse:
            self._sums = self._sums_of_array()
        return self._visit(self._no_form, scatter=False) if self._sums is None else self._sums

    @np.errstate(invalid="ignore", over="ignore")
    def _sums_of_array(self) -> RowSums:
        """Mean and squared lengths of coordinates in memory, without a copy where that is safe."""
        phi, zero = self._block(slice(0, self.n_samples)), np.zeros(self.dimension)
        mean = phi.mean(axis=0) if self._center else zero
        square, of_mean = float(np.vdot(phi, phi)), len(phi) * float(mean @ mean)
        if 2.0 * of_mean > square:  # digits would be lost
            centred = phi - mean
            square, of_mean = float(np.vdot(centred, centred)), 0.0
        norms = Norms(square - of_mean, 0.0, 0.0, np.zeros(0), zero)
        known = zero, np.zeros(0), np.zeros((self.dimension, 0)), mean, np.zeros(0)
        return RowSums(float(self.n_samples), *known, norms=norms)

    @np.errstate(invalid="ignore")
    def _visit(self, form: Form, *, scatter: bool = True) -> RowSums:
        """The sums of a form about the mean; those of the samples alone are remembered."""

        def read(rows: slice) -> Aligned:
            phi = self._block(rows)
            self._is_sparse = sparse.issparse(phi)
            found = form.beside(phi, rows)
            return found if self.weight is None else replace(found, weight=self.weight[rows])

        if self._stream is not None:
            work = SumBlocks(self._block, form.beside, scatter=scatter, norms=not scatter)
            sums = self._stream.total(work)
            sums = sums.about(sums.origin_x, np.zeros(form.width))
        else:
            sums = sum_rows(
                read,
                self._slices,
                (self.dimension, form.width),
                scatter=scatter,
                norms=not scatter,
                centred_y=True,
                concurrent=self._concurrent,
            )
        self._shift = sums.mean_x - sums.origin_x if self._center else -sums.origin_x
        sums = sums.about(sums.origin_x + self._shift, sums.origin_y)
        self._sums = replace(sums, weighted=None)
        return sums

    def _subtracted(self) -> tuple[np.ndarray | None, np.ndarray]:
        """What is subtracted from samples, if anything, and from sums over them, of shape (s,)."""
        mean, variance = self.mean, self.variance
        square = variance + self.total * float(mean @ mean)
        if self._is_sparse or variance >= FAR * square:
            return None, mean
        return mean, np.zeros_like(mean)

    def _chunks(self, origin: np.ndarray | None = None) -> Iterator[tuple[slice, Any]]:
        at_once = self._is_ready and origin is None
        for rows in [slice(0, self.n_samples)] if at_once else self._slices:
            phi = self._block(rows)
            if not sparse.issparse(phi):
                phi = np.asarray(phi, dtype=np.float64)
                phi = phi if origin is None else phi - origin
            yield rows, phi


class Span(Space):
    """Samples in orthonormal coordinates of a part of their own span, or of all of it.

    Parameters
    ----------
    data : Sample
    coordinates : ndarray of shape (m, s)
    dual : ndarray of shape (m, s)
        Weights of the samples in each coordinate direction; columns of mean zero.
    squares : ndarray of shape (m,)
        ‖φ‖² of the samples about their mean, up to a constant.
    means : ndarray of shape (m,) or None
        Mean of each column of K, of kernels without coordinates.
    eps : float
    """

    def __init__(
        self,
        data: Sample,
        coordinates: np.ndarray,
        dual: np.ndarray,
        squares: np.ndarray,
        means: np.ndarray | None,
        eps: float,
    ) -> None:
        super().__init__(coordinates, eps=eps, data=data)
        self._dual, self._squares, self._means = dual, squares, means

    @property
    def lean(self) -> np.ndarray:
        """Σ ‖φ‖²φ, of shape (s,)."""
        return self.cross(self._squares[:, np.newaxis])[:, 0]

    def project(self, vectors: np.ndarray, shift: np.ndarray | None = None) -> Projection:
        """Features of new rows along directions, less a shift."""
        assert self.data is not None
        weights = self._dual @ vectors
        if self._means is None:
            features = Space.held(self.data)
            return features.project(features.cross(weights, weighted=False), shift)
        offset = self._means @ weights + (0.0 if shift is None else shift)
        return SampleProjection(self.data.reference(), weights, offset)

    def pull(self, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of vectors in feature space, and its mean: D is not s here."""
        assert self.data is not None
        features = Space.held(self.data)
        return features.cross(self.features(vectors)), features.mean


def space_of(data: Sample, grow: Any = None, *, few: bool = False) -> Space:
    """Samples in the smaller dimension: features where they are few, else their span.

    Beyond ``EXACT_ROWS`` samples without features, a method that can (``grow``) says which part of
    their span it needs; all others get all of it, at the cost of a full eigenproblem. With ``few``
    it does so in few products, and features, if there are any, take the place of their matrix.
    """
    if (data.n_coordinates or np.inf) <= data.n_samples:
        return Space.of_sample(data)
    from depmax.algebra.span import span_of  # which stands on this module

    return span_of(data, grow, few=few)


def precision_of(sample: Sample) -> float:
    """Relative precision of coordinates: the last product of a map blows rounding errors up."""
    mixing = None if sample.is_streamed else sample.kernel.mixing
    gain = 1.0 if mixing is None else max(1.0, float(np.linalg.norm(mixing)))
    return float(np.finfo(np.float64).eps) * gain
