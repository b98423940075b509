"""Centred images of samples in a few coordinates, and sums over chunks of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from depmax._threads import blas_threads_for_parts, map_threads
from depmax.pencils.form import Form, Operator
from depmax.samples import slices

#: Columns of Ψ, as a share of those of Φ, up to which one product gives ΦᵀΦ and ΦᵀΨ.
JOINED = 0.125


class Sums:
    """Sums over chunks of samples, their coordinates φ measured from an origin.

    Parameters
    ----------
    form : Form
        Tells which sums are needed.
    origin : ndarray of shape (s,)
        Zero for sparse coordinates.
    dtype : dtype
        Precision of the products within a chunk; sums over chunks are float64.
    """

    def __init__(self, form: Form, origin: np.ndarray, dtype: Any = np.float64) -> None:
        size, width = len(origin), form.factor.shape[1]
        self._form, self._size = form, size
        self._origin = origin.astype(dtype)
        # Φ, a column of ones and, if it is narrow, Ψ: one symmetric product for all of them
        self._joined = width <= JOINED * size
        columns = size + 1 + (width if self._joined else 0)
        self._buffer = np.ones((0, columns), dtype)
        self._product = np.empty((columns, columns), dtype)
        self._joint = np.zeros((columns, columns))
        self._apart = np.zeros((size, width))
        #: Σwφφᵀ of shape (s, s), Σwφ and Σφ over labelled samples, of shape (s,).
        self.weighted = None if form.weights is None else np.zeros((size, size))
        self.pull, self.known = np.zeros(size), np.zeros(size)

    @property
    def total(self) -> np.ndarray:
        """Σφ of shape (s,)."""
        return self._joint[: self._size, self._size]

    @property
    def scatter(self) -> np.ndarray:
        """Σφφᵀ of shape (s, s)."""
        return self._joint[: self._size, : self._size]

    @property
    def cross(self) -> np.ndarray:
        """ΦᵀΨ of shape (s, r)."""
        return self._joint[: self._size, self._size + 1 :] if self._joined else self._apart

    def add(self, rows: slice, phi: Any) -> None:
        """One more chunk of coordinates, not centred."""
        if sparse.issparse(phi):
            self._add_sparse(phi, self._form.factor[rows])
        else:
            phi = self._add_dense(phi, self._form.factor[rows])
        weights = self._form.weights
        if weights is None or self.weighted is None:
            return
        product = phi.T @ _times(weights[rows], phi)
        self.weighted += product.toarray() if sparse.issparse(product) else product
        self.pull += phi.T @ weights[rows]
        if self._form.labelled is not None:
            self.known += phi.T @ self._form.labelled[rows].astype(np.float64)

    def without_buffers(self) -> Sums:
        """These sums, with no room for further chunks kept."""
        self._buffer = self._buffer[:0].copy()
        self._product = np.empty((0, 0))
        return self

    def merge(self, other: Sums) -> None:
        """Add the sums over other samples, about the same origin."""
        self._joint += other._joint
        self._apart += other._apart
        self.pull += other.pull
        self.known += other.known
        if self.weighted is not None and other.weighted is not None:
            self.weighted += other.weighted

    def _add_dense(self, phi: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Chunk in the buffer; what is returned is measured from the origin."""
        if len(self._buffer) < len(phi):
            self._buffer = np.ones((len(phi), self._buffer.shape[1]), self._buffer.dtype)
        joint = self._buffer[: len(phi)]
        moved = joint[:, : self._size]
        np.subtract(phi, self._origin, out=moved, casting="same_kind")
        if self._joined:
            joint[:, self._size + 1 :] = factor
        else:
            self._apart += moved.T @ factor
        self._joint += np.matmul(joint.T, joint, out=self._product)
        return moved

    def _add_sparse(self, phi: Any, factor: np.ndarray) -> None:
        self.scatter[:] += (phi.T @ phi).toarray()
        self.total[:] += phi.T @ np.ones(phi.shape[0])
        self.cross[:] += phi.T @ factor


def _times(weights: np.ndarray, phi: Any) -> Any:
    """diag(w)Φ."""
    return sparse.diags(weights) @ phi if sparse.issparse(phi) else phi * weights[:, np.newaxis]


#: Numbers of one dense chunk: few enough for the caches, enough for BLAS.
CHUNK = 2**18
#: Rows of a chunk per column, so that adding S costs little beside making it, ...
ROWS_PER_COLUMN = 2
#: ... in chunks of at most so many numbers.
LARGEST_CHUNK = 2**20
#: Sums over many chunks are taken in so many parts, whatever the number of threads, so that these
#: change no digit of the result.
PARTS = 8
#: Numbers of the matrices of all parts; where one takes more, the threads are those of BLAS.
HELD = 2**23
#: Samples whose mean is the origin of the sums.
FIRST = 256
#: A coordinate whose standard deviation is below so many roundings of its mean is constant.
CONSTANT = 64.0
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


class Space:
    """The images Φ of m samples in s coordinates, measured from their mean.

    Parameters
    ----------
    block : callable
        Coordinates of a slice of samples, dense or sparse, not centred.
    n_samples, dimension : int
        m and s.
    eps : float
        Relative precision of the coordinates.
    dtype : dtype
        Precision in which products of a chunk of coordinates are summed.
    concurrent : bool
        Whether several threads may ask for coordinates at a time.

    Notes
    -----
    Samples are visited in chunks and nothing of size m is kept. Sums are taken about the mean of
    the first samples and corrected to the true mean, so that one visit is enough and no digits are
    lost to an offset; sparse coordinates are kept sparse and measured from zero.
    """

    def __init__(
        self,
        block: Callable[[slice], Any],
        n_samples: int,
        dimension: int,
        eps: float = float(np.finfo(np.float64).eps),
        *,
        dtype: Any = np.float64,
        concurrent: bool = False,
    ) -> None:
        self._block = block
        self.n_samples = n_samples
        self.dimension = dimension
        self.eps = eps
        self.dtype = np.dtype(dtype)
        self.concurrent = concurrent
        self._mean: np.ndarray | None = None
        self._scatter: np.ndarray | None = None
        self._rounding: np.ndarray | None = None

    @classmethod
    def of_array(cls, coordinates: Any, eps: float = float(np.finfo(np.float64).eps)) -> Space:
        """Space of coordinates that are in memory."""
        n_samples, dimension = coordinates.shape
        return cls(lambda rows: coordinates[rows], n_samples, dimension, eps, concurrent=True)

    @property
    def mean(self) -> np.ndarray:
        """Mean of the coordinates, of shape (s,)."""
        if self._mean is None:
            self.moments(Form(np.zeros((self.n_samples, 0))))
        assert self._mean is not None
        return self._mean

    @property
    def scatter(self) -> np.ndarray:
        """S = ΦᵀΦ of shape (s, s)."""
        if self._scatter is None:
            self.moments(Form(np.zeros((self.n_samples, 0))))
        assert self._scatter is not None
        return self._scatter

    @property
    def covariance(self) -> np.ndarray:
        """S/m of shape (s, s)."""
        return self.scatter / self.n_samples

    @property
    def rounding(self) -> np.ndarray:
        """Variance that a constant coordinate may seem to have, of shape (s,)."""
        if self._rounding is None:
            self.moments(Form(np.zeros((self.n_samples, 0))))
        assert self._rounding is not None
        return self._rounding

    @np.errstate(invalid="ignore")
    def moments(self, form: Form) -> Moments:
        """All sums that a form needs, and the mean, from one visit to the samples.

        A form with a penalty N takes two more visits. NaN and infinity among the coordinates show
        in the sums.
        """
        sums, origin = self._sums(form)
        shift = sums.total / self.n_samples
        self._mean = origin + shift
        self._scatter = sums.scatter - self.n_samples * np.outer(shift, shift)
        self._rounding = (CONSTANT * self.eps * self._mean) ** 2 + CONSTANT * self.eps * shift**2
        cross = sums.cross - np.outer(shift, form.factor.sum(axis=0))
        weighted = sums.weighted
        if weighted is not None and form.weights is not None:
            centre = shift if form.labelled is None else sums.known / form.labelled.sum()
            weighted -= np.outer(sums.pull, centre) + np.outer(centre, sums.pull)
            weighted += form.weights.sum() * np.outer(centre, centre)
        if form.penalty is not None:
            penalty = self.quadratic(form.penalty)
            weighted = penalty if weighted is None else weighted + penalty
        return Moments(cross, self._scatter, weighted, self.eps)

    def cross(self, factor: np.ndarray) -> np.ndarray:
        """ΦᵀΨ of shape (s, r) for another factor."""
        cross = np.zeros((self.dimension, factor.shape[1]))
        for rows, phi in self._chunks():
            cross += self._centred(phi).T @ factor[rows]
        return cross

    def weighted_scatter(self, weights: np.ndarray) -> np.ndarray:
        """Φᵀdiag(w)Φ of shape (s, s)."""
        moments = self.moments(Form(np.zeros((self.n_samples, 0)), weights))
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
        values = np.empty((self.n_samples, directions.shape[1]))
        offset = self.mean @ directions
        for rows, phi in self._chunks():
            values[rows] = phi @ directions - offset
        return values

    def centred(self) -> np.ndarray:
        """Φ itself, dense, of shape (m, s): for methods that are not sums over samples."""
        return np.concatenate([self._centred(phi) for _, phi in self._chunks()])

    def _centred(self, phi: Any) -> np.ndarray:
        return _dense(phi) - self.mean

    def _sums(self, form: Form) -> tuple[Sums, np.ndarray]:
        """Sums about the mean of the first samples, and that mean; zero for sparse ones."""
        chunks = self._slices()
        n_parts = min(PARTS, len(chunks), HELD // max(1, self.dimension) ** 2)
        in_threads = self.concurrent and n_parts > 1
        # all of it, since threads that BLAS has just used go on to keep a core busy for a while
        with blas_threads_for_parts() if in_threads else nullcontext(1) as threads:
            first = self._block(chunks[0])
            origin = self._origin(first)

            def add_up(part: slice) -> Sums:
                sums = Sums(form, origin, self.dtype)
                with np.errstate(invalid="ignore"):  # in this thread
                    for rows in chunks[part]:
                        sums.add(rows, first if rows == chunks[0] else self._block(rows))
                return sums.without_buffers()

            size = -(-len(chunks) // n_parts) if in_threads else len(chunks)
            parts = list(slices(len(chunks), size))
            sums, *others = map_threads(add_up, parts, threads)
        for other in others:
            sums.merge(other)
        return sums, origin

    def _origin(self, first: Any) -> np.ndarray:
        """Mean of some of the first samples, as precise as it is subtracted; zero if sparse."""
        if sparse.issparse(first):
            return np.zeros(self.dimension)
        mean = np.asarray(np.mean(first[:FIRST], axis=0, dtype=np.float64))
        return mean.astype(self.dtype).astype(np.float64)

    def _slices(self) -> list[slice]:
        size = max(1, self.dimension)
        rows = min(max(CHUNK // size, ROWS_PER_COLUMN * size), LARGEST_CHUNK // size)
        return list(slices(self.n_samples, max(64, rows)))

    def _chunks(self) -> Iterator[tuple[slice, Any]]:
        for rows in self._slices():
            phi = self._block(rows)
            yield rows, phi if sparse.issparse(phi) else np.asarray(phi, dtype=np.float64)


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else matrix
