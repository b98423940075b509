"""Centred images of samples in a few coordinates, and sums over chunks of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from depmax._threads import slices
from depmax.algebra.form import CentredValues, Factor, FeaturesOfPart, Form, Operator, values_at
from depmax.algebra.row_sums import (
    Aligned,
    Norms,
    RowSums,
    chunks_of,
    dense,
    squared_lengths,
    sum_rows,
)
from depmax.algebra.targets import BlockImages, SumBlocks
from depmax.data.chunks import add_up
from depmax.data.sample import Sample, in_double
from depmax.data.stream import Stream

#: A coordinate whose standard deviation is below so many roundings of its mean is constant.
CONSTANT = 64.0
#: Share of Σ‖φ‖² that is variance, below which the mean is subtracted from the samples themselves.
FAR = 1e-4
#: Columns that an operator on values at the samples is applied to at a time.
COLUMNS = 256


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


def _no_values(phi: Any, part: Any) -> np.ndarray:
    return np.zeros((phi.shape[0], 0))


def _of_parts(images: Callable[[Any], Any], work: Callable[..., Any], parts: Iterator[Any]) -> Any:
    """Work on the coordinates of parts of the samples, added up."""
    return add_up(work(images(part), part) for part in parts)


class Space:
    """The images Φ of m samples in s coordinates, measured from their mean.

    Parameters
    ----------
    block : callable
        Coordinates of a slice (or a block) of samples, dense or sparse, not centred.
    n_samples, dimension : int
        m and s.
    eps : float
        Relative precision of the coordinates.
    concurrent : bool
        Whether several threads may ask for coordinates at a time.
    center : bool
        Without centring samples are measured from zero, which then stands for their mean.
    whole : bool
        Whether all samples are one chunk.
    weight : ndarray of shape (m,), optional
        How many samples each stands for: mean and sums are those of the samples repeated, values
        at the samples have one row for each that is given.
    stream : Stream, optional
        Where samples are read from; ``block`` then gives the coordinates of a block of it, and
        values at the samples are not arrays but what gives those of a block.

    Notes
    -----
    Samples are visited in chunks and nothing of size m is kept. The mean is subtracted from sums,
    or from dense samples far from the origin, where sums would lose digits. Sparse ones stay so.
    """

    def __init__(
        self,
        block: Callable[[Any], Any],
        n_samples: int,
        dimension: int,
        eps: float = float(np.finfo(np.float64).eps),
        *,
        concurrent: bool = False,
        center: bool = True,
        whole: bool = False,
        weight: np.ndarray | None = None,
        stream: Stream | None = None,
    ) -> None:
        self._block = block
        self._stream = stream
        self.weight = weight
        self.n_samples = n_samples
        self.total = n_samples if weight is None else float(weight.sum())
        self.dimension = dimension
        self.eps = eps
        self.concurrent = concurrent
        self._center = center
        whole = whole or stream is not None
        self._slices = [slice(0, n_samples)] if whole else chunks_of(n_samples, dimension)
        self._is_ready = False  # whether coordinates can be multiplied as they are, all at once
        self._sums: RowSums | None = None  # about the mean, from the last visit
        self._shift = np.zeros(dimension)  # of the mean from the origin of that visit
        self._is_sparse = False  # as that visit has found

    @classmethod
    def of_array(
        cls,
        coordinates: Any,
        eps: float = float(np.finfo(np.float64).eps),
        *,
        center: bool = True,
        weight: np.ndarray | None = None,
    ) -> Space:
        """Space of coordinates that are in memory; sparse ones are not sliced, which takes time."""
        n_samples, dimension = coordinates.shape
        whole = sparse.issparse(coordinates)
        space = cls(
            (lambda rows: coordinates) if whole else (lambda rows: coordinates[rows]),
            n_samples,
            dimension,
            eps,
            concurrent=True,
            center=center,
            whole=whole,
            weight=weight,
        )
        space._is_ready, space._is_sparse = coordinates.dtype == np.float64, whole
        return space

    @classmethod
    def of_sample(cls, sample: Sample, *, center: bool = True, unmixed: bool = False) -> Space:
        """Space of the exact coordinates of a sample, made anew at every visit.

        With ``unmixed`` those of a map are meant before their last product, that with ``mixing``.
        """
        kernel, rows = sample.kernel, sample.rows
        mixing = kernel.mixing if unmixed else None
        width = int(sample.n_coordinates or 0) if mixing is None else len(mixing)
        if sample.is_streamed:
            images = BlockImages(kernel, rows.view, unmixed=unmixed)
            return cls.of_blocks(images, sample, width, center=center)
        return cls(
            (lambda part: kernel.unmixed(in_double(rows[part]))) if unmixed else sample.coordinates,
            sample.n_samples,
            width,
            float(np.finfo(np.float64).eps) if unmixed else precision_of(sample),
            concurrent=sample.is_array,
            center=center,
            weight=sample.weight,
        )

    @classmethod
    def held(cls, sample: Sample, *, center: bool = True) -> Space:
        """The same, with coordinates of rows in memory made once."""
        if not sample.is_in_memory:
            return cls.of_sample(sample, center=center)
        phi = sample.coordinates(slice(None))
        return cls.of_array(phi, precision_of(sample), center=center, weight=sample.weight)

    @classmethod
    def of_blocks(
        cls, images: Callable[[Any], Any], sample: Sample, width: int, *, center: bool = True
    ) -> Space:
        """Space of the coordinates of rows that are read a block at a time."""
        return cls(images, sample.n_samples, width, center=center, stream=sample.rows.stream)

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
        """Σ ‖φ‖²φ, of shape (s,): where samples lie that are far from their mean."""
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
        """The same, but made a part of the samples at a time."""
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
                concurrent=self.concurrent,
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


def precision_of(sample: Sample) -> float:
    """Relative precision of coordinates: the last product of a map blows rounding errors up."""
    mixing = None if sample.is_streamed else sample.kernel.mixing
    gain = 1.0 if mixing is None else max(1.0, float(np.linalg.norm(mixing)))
    return float(np.finfo(np.float64).eps) * gain
