"""Sums over rows of two maps φ and ψ, and the one way to visit chunks of rows for them.

Also here: values beside the rows, which need not be held, and the target's factor Ψ.

What travels to a block (in a thread, or on a worker of a cluster) is a small object that can be
pickled: a kernel, a view of the block, a form. What comes back are ``RowSums``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from scipy import sparse

from depmax._files import held_by_models
from depmax._resources import blas_threads_for_parts, map_threads, slices
from depmax.data.chunks import Chunk
from depmax.data.sample import Sample, in_double
from depmax.data.stream import View
from depmax.kernels.kernel import Kernel

#: Columns of Ψ, as a share of those of Φ, up to which one product gives ΦᵀΦ and ΦᵀΨ.
JOINED = 0.125
#: Numbers of one dense chunk: few enough for the caches, enough for BLAS.
CHUNK = 2**18
#: Rows of a chunk per column, so that adding ΦᵀΦ costs little beside making it, ...
ROWS_PER_COLUMN = 2
#: ... in chunks of at most so many numbers.
LARGEST_CHUNK = 2**20
#: Sums over many chunks are taken in so many parts, whatever the number of threads, so that these
#: change no digit of the result.
PARTS = 8
#: Numbers of the matrices of all parts; where one takes more, the threads are those of BLAS.
HELD = 2**23
#: Rows whose mean is the origin of the sums.
FIRST = 256

#: Some of the samples: a slice of those in memory, or a block of those that are read.
Part = slice | Chunk


@dataclass(frozen=True)
class Norms:
    """Sums of the squared lengths of rows."""

    x: float  # Σ ‖φ‖²
    y: float  # Σ ‖ψ‖²
    xy: float  # Σ ‖φ‖²‖ψ‖²
    x_y: np.ndarray  # Σ ‖φ‖²ψ, shape (E,)
    y_x: np.ndarray  # Σ ‖ψ‖²φ, shape (D,)

    def __add__(self, other: Norms) -> Norms:
        scalars = self.x + other.x, self.y + other.y, self.xy + other.xy
        return Norms(*scalars, self.x_y + other.x_y, self.y_x + other.y_x)


def norms_of(phi: Any, psi: Any, weight: np.ndarray | None = None) -> Norms:
    """Norms of some rows, dense or sparse, of shape (n, D) and (n, E), with a weight each."""
    if psi.shape[1] == 0 and weight is None:
        square = phi.multiply(phi).sum() if sparse.issparse(phi) else np.vdot(phi, phi)
        return Norms(float(square), 0.0, 0.0, np.zeros(0), np.zeros(phi.shape[1]))
    squares_x, squares_y = squared_lengths(phi), squared_lengths(psi)
    counted_x, counted_y = squares_x, squares_y
    if weight is not None:
        counted_x, counted_y = weight * squares_x, weight * squares_y
    return Norms(
        x=float(counted_x.sum()),
        y=float(counted_y.sum()),
        xy=float(counted_x @ squares_y),
        x_y=psi.T @ counted_x,
        y_x=phi.T @ counted_y,
    )


def squared_lengths(rows: Any) -> np.ndarray:
    """Squared length of each row."""
    if sparse.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", rows, rows)


@held_by_models
@dataclass(frozen=True)
class RowSums:
    """Sums over rows of φ and ψ, about an origin of each.

    Additive over rows and closed under a change of origin: chunks may be summed in any order, about
    different origins, on different machines, and added afterwards. The last five are there where
    they are asked for.
    """

    weight: float  # number of rows, or Σ w
    sum_x: np.ndarray  # Σ φ, shape (D,)
    sum_y: np.ndarray  # Σ ψ, shape (E,)
    cross: np.ndarray  # Σ φψᵀ, shape (D, E)
    origin_x: np.ndarray  # what φ is measured from, shape (D,)
    origin_y: np.ndarray  # what ψ is measured from, shape (E,)
    scatter: np.ndarray | None = None  # Σ φφᵀ, shape (D, D)
    cubes: np.ndarray | None = None  # Σ ‖φ‖²φ, shape (D,); with the scatter
    norms: Norms | None = None
    weighted: RowSums | None = None  # of φ alone, every row times its weight, with scatter

    @classmethod
    def of(
        cls,
        phi: Any,
        psi: Any,
        origin_x: np.ndarray | None = None,
        origin_y: np.ndarray | None = None,
        *,
        scatter: bool = False,
    ) -> RowSums:
        """Sums over some rows, about the given origins (by default the rows' own means)."""
        origin_x = origin_of(phi) if origin_x is None else origin_x
        origin_y = origin_of(psi) if origin_y is None else origin_y
        summation = Summation(origin_x, origin_y, scatter=scatter, norms=True)
        summation.add(Aligned(phi, psi))
        return summation.result()

    @property
    def mean_x(self) -> np.ndarray:
        """Mean of φ, of shape (D,)."""
        return self.origin_x + self.sum_x / self.weight

    @property
    def mean_y(self) -> np.ndarray:
        """Mean of ψ, of shape (E,)."""
        return self.origin_y + self.sum_y / self.weight

    def centred(self) -> RowSums:
        """Sums of these rows measured from their own means."""
        return self.about(self.mean_x, self.mean_y)

    def about(self, origin_x: np.ndarray, origin_y: np.ndarray) -> RowSums:
        """Sums of these rows measured from other origins."""
        a, b = origin_x - self.origin_x, origin_y - self.origin_y  # φ' = φ - a, ψ' = ψ - b
        if not (a.any() or b.any()):
            return self
        sum_x = self.sum_x - self.weight * a
        scatter, cubes, weighted = self.scatter, self.cubes, self.weighted
        if scatter is not None:
            half = np.outer(a, (self.sum_x + sum_x) / 2)
            moved = scatter - half - half.T
            if cubes is not None:  # Σ (‖φ‖² - 2aᵀφ + ‖a‖²)(φ - a)
                cubes = cubes - 2 * scatter @ a + (a @ a) * self.sum_x - np.trace(moved) * a
            scatter = moved
        return RowSums(
            weight=self.weight,
            sum_x=sum_x,
            sum_y=self.sum_y - self.weight * b,
            cross=self.cross - np.outer(a, self.sum_y) - np.outer(sum_x, b),
            origin_x=origin_x,
            origin_y=origin_y,
            scatter=scatter,
            cubes=cubes,
            norms=None if self.norms is None else self._norms_about(self.norms, a, b),
            weighted=None if weighted is None else weighted.about(origin_x, weighted.origin_y),
        )

    def _norms_about(self, norms: Norms, a: np.ndarray, b: np.ndarray) -> Norms:
        aa, bb = a @ a, b @ b
        squares_x = norms.x - 2 * a @ self.sum_x + self.weight * aa
        squares_y = norms.y - 2 * b @ self.sum_y + self.weight * bb
        both = (
            norms.xy
            - 2 * a @ norms.y_x
            - 2 * b @ norms.x_y
            + 4 * a @ self.cross @ b
            + aa * squares_y
            + bb * (norms.x - 2 * a @ self.sum_x)
        )
        # Σ (‖φ‖² - 2aᵀφ + ‖a‖²)(ψ - b) and its mirror image
        x_y = norms.x_y - 2 * self.cross.T @ a + aa * self.sum_y - b * squares_x
        y_x = norms.y_x - 2 * self.cross @ b + bb * self.sum_x - a * squares_y
        return Norms(float(squares_x), float(squares_y), float(both), x_y, y_x)

    def __add__(self, other: RowSums) -> RowSums:
        """Sums over the rows of both, about the origins of the left one."""
        other = other.about(self.origin_x, self.origin_y)
        return replace(
            self,
            weight=self.weight + other.weight,
            sum_x=self.sum_x + other.sum_x,
            sum_y=self.sum_y + other.sum_y,
            cross=self.cross + other.cross,
            scatter=_both(self.scatter, other.scatter),
            cubes=_both(self.cubes, other.cubes),
            norms=_both(self.norms, other.norms),
            weighted=_both(self.weighted, other.weighted),
        )


def _both(left: Any, right: Any) -> Any:
    """The sum of two pieces that are both there."""
    return None if left is None or right is None else left + right


@dataclass(frozen=True)
class Aligned:
    """A chunk of rows: φ, and beside it what is known of the same rows."""

    phi: Any  # shape (n, D), dense or sparse
    psi: Any  # shape (n, E), dense or sparse
    diagonal: np.ndarray | None = None  # of the form that is asked for, shape (n,)
    weight: np.ndarray | None = None  # how many rows each stands for, shape (n,); None: one

    def part(self, rows: slice) -> Aligned:
        """Some of the rows."""
        beside = (self.diagonal, self.weight)
        own = (None if values is None else values[rows] for values in beside)
        return Aligned(self.phi[rows], self.psi[rows], *own)


class Summation:
    """Sums in the making: chunks are added in place, in buffers that are used again.

    Sparse rows are kept sparse and measured from zero. NaN and infinity show in the sums.

    Parameters
    ----------
    origin_x, origin_y : ndarray of shape (D,) and (E,)
        Zero for sparse rows.
    scatter, norms : bool
        Whether these pieces are asked for; weighted ones are there where chunks bring a diagonal.
    """

    def __init__(
        self,
        origin_x: np.ndarray,
        origin_y: np.ndarray,
        *,
        scatter: bool,
        norms: bool = False,
    ) -> None:
        size, width = len(origin_x), len(origin_y)
        self._size = size
        self._origins = origin_x, origin_y
        self._weight, self._sum_y = 0.0, np.zeros(width)
        self._sum_x, self._cross = np.zeros(size), np.zeros((size, width))
        self._norms = Norms(0.0, 0.0, 0.0, np.zeros(width), np.zeros(size)) if norms else None
        self._weighted: RowSums | None = None
        self._scatter = None
        self._cubes = np.zeros(size) if scatter else None
        self._joined = scatter and width <= JOINED * size
        columns = size
        if scatter:
            # Φ, a column of ones and, if it is narrow, Ψ: one symmetric product for all of them
            columns = size + 1 + (width if self._joined else 0)
            self._product = np.empty((columns, columns))
            self._joint = np.zeros((columns, columns))
            self._scatter = self._joint[:size, :size]
            self._sum_x = self._joint[:size, size]
            if self._joined:
                self._cross = self._joint[:size, size + 1 :]
        self._buffers = {"C": np.ones((0, columns)), "F": np.ones((0, columns))}
        self._buffer = self._buffers["C"]

    def add(self, rows: Aligned) -> None:
        """One more chunk of rows."""
        phi, psi = self._moved(rows.phi), _about(rows.psi, self._origins[1])
        weight = np.ones(phi.shape[0]) if rows.weight is None else rows.weight
        self._weight += float(weight.sum())
        self._sum_y += psi.T @ weight
        if self._cubes is not None:
            self._cubes += phi.T @ (weight * squared_lengths(phi))
        if self._norms is not None:
            self._norms += norms_of(phi, psi, rows.weight)
        if rows.diagonal is not None:
            self._weighted = self._of_phi(self._weighted, phi, weight * rows.diagonal)
        self._add_products(phi, psi, rows.weight)

    def result(self) -> RowSums:
        """The sums, none of the buffers."""
        return RowSums(
            self._weight,
            self._sum_x,
            self._sum_y,
            self._cross,
            *self._origins,
            self._scatter,
            self._cubes,
            self._norms,
            self._weighted,
        )

    def _moved(self, phi: Any) -> Any:
        """Φ measured from its origin: dense rows in a buffer, column after column if they are."""
        if sparse.issparse(phi):
            return phi.astype(np.float64, copy=False)
        order: Any = "F" if phi.strides[0] < phi.strides[1] else "C"
        known = self._buffers[order]
        if len(known) < len(phi):
            known = self._buffers[order] = np.ones((len(phi), known.shape[1]), order=order)
        self._buffer = known[: len(phi)]
        return np.subtract(phi, self._origins[0], out=self._buffer[:, : self._size])

    def _add_products(self, phi: Any, psi: Any, weight: np.ndarray | None) -> None:
        """Add Σφ, Σφψᵀ and, if it is asked for, Σφφᵀ.

        Rows are multiplied by their weights and not by roots of these: sums that cancel, as those
        of a balanced design do, are then exactly zero.
        """
        if self._scatter is not None and weight is None and not sparse.issparse(phi):
            joint = self._buffer  # [Φ, 1] and, if it is narrow, Ψ
            if self._joined:
                joint[:, self._size + 1 :] = dense(psi)
            else:
                self._cross += phi.T @ psi
            self._joint += np.matmul(joint.T, joint, out=self._product)
            return
        own = phi
        if weight is not None:
            own = (
                sparse.diags(weight) @ phi if sparse.issparse(phi) else phi * weight[:, np.newaxis]
            )
        self._sum_x += own.T @ np.ones(own.shape[0])
        self._cross += dense(own.T @ psi)
        if self._scatter is not None:
            self._scatter += dense(own.T @ phi)

    def _of_phi(self, sums: RowSums | None, phi: Any, weights: np.ndarray) -> RowSums:
        """Sums with weighted rows of φ alone, and one more chunk of them."""
        size = self._size
        weighted = sparse.diags(weights) @ phi if sparse.issparse(phi) else phi * weights[:, None]
        more = RowSums(
            weight=float(weights.sum()),
            sum_x=phi.T @ weights,
            sum_y=np.zeros(0),
            cross=np.zeros((size, 0)),
            origin_x=self._origins[0],
            origin_y=np.zeros(0),
            scatter=np.asarray(dense(phi.T @ weighted), dtype=np.float64),
        )
        return more if sums is None else sums + more


def sum_rows(
    read: Callable[[slice], Aligned],
    chunks: list[slice],
    shape: tuple[int, int],
    *,
    scatter: bool = False,
    norms: bool = False,
    centred_y: bool = False,
    concurrent: bool = False,
) -> RowSums:
    """Sums over all rows, from one visit to every chunk, in threads where that is possible.

    They are taken about the mean of the first rows, so that no digits are lost to an offset.

    Parameters
    ----------
    read : callable
        Gives a chunk of aligned rows.
    chunks : list of slice
    shape : tuple of int
        Numbers of columns of φ and of ψ.
    scatter, norms
        As in :class:`Summation`.
    centred_y : bool
        Whether ψ is measured from its mean already.
    concurrent : bool
        Whether several threads may read at a time.
    """
    held = max(1, shape[0]) * max(1, shape[1], shape[0] if scatter else 1)
    n_parts = min(PARTS, len(chunks), HELD // held) if concurrent else 1
    # all of it, since threads that BLAS has just used go on to keep a core busy for a while
    with blas_threads_for_parts() if n_parts > 1 else nullcontext(1) as threads:
        first = read(chunks[0])
        origin_x = origin_of(first.phi)
        origin_y = np.zeros(shape[1]) if centred_y else origin_of(first.psi)

        def add_up(part: slice) -> RowSums:
            summation = Summation(origin_x, origin_y, scatter=scatter, norms=norms)
            with np.errstate(invalid="ignore"):  # in this thread
                for rows in chunks[part]:
                    summation.add(first if rows == chunks[0] else read(rows))
            return summation.result()

        parts = list(slices(len(chunks), -(-len(chunks) // max(1, n_parts))))
        return reduce(add, map_threads(add_up, parts, threads))


def chunks_of(n_rows: int, n_columns: int) -> list[slice]:
    """Slices of rows that suit sums over so many columns."""
    size = max(1, n_columns)
    rows = min(max(CHUNK // size, ROWS_PER_COLUMN * size), LARGEST_CHUNK // size)
    return list(slices(n_rows, max(64, rows)))


def origin_of(rows: Any) -> np.ndarray:
    """Mean of the first of some rows; zero if they are sparse."""
    if sparse.issparse(rows):
        return np.zeros(rows.shape[1])
    return np.asarray(np.mean(rows[:FIRST], axis=0, dtype=np.float64))


def dense(matrix: Any) -> np.ndarray:
    """The matrix as an array."""
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def _about(rows: Any, origin: np.ndarray) -> Any:
    """Rows measured from an origin, in float64."""
    if sparse.issparse(rows):
        return rows.astype(np.float64, copy=False)
    rows = np.asarray(rows, dtype=np.float64)
    return rows - origin if origin.any() else rows


# --- rows that are read a block at a time ---------------------------------------------------------
@dataclass(frozen=True)
class BlockImages:
    """Coordinates φ of the rows of a block."""

    kernel: Kernel
    view: View
    unmixed: bool = False  # before their last product

    def __call__(self, block: Chunk) -> Any:
        """Of shape (n, D), dense or sparse."""
        rows = in_double(self.view(block))
        return self.kernel.unmixed(rows) if self.unmixed else self.kernel.features(rows)


@dataclass(frozen=True)
class SumBlocks:
    """Sums over the blocks of a piece, about the mean of its first rows.

    ``beside`` gives what stands beside φ: ψ, weights. The piece's own origin keeps the digits of
    rows far from zero; sums with different origins can be added.
    """

    images: Callable[[Chunk], Any]
    beside: Callable[[Any, Chunk], Aligned]
    scatter: bool = False
    norms: bool = False

    @np.errstate(invalid="ignore")
    def __call__(self, blocks: Iterator[Chunk]) -> RowSums | None:
        """Sums of one piece; None if it has no rows."""
        summation = None
        for block in blocks:
            rows = self.beside(self.images(block), block)
            if summation is None:
                origins = origin_of(rows.phi), origin_of(rows.psi)
                summation = Summation(*origins, scatter=self.scatter, norms=self.norms)
            for part in chunks_of(block.n_rows, rows.phi.shape[1]):
                summation.add(rows.part(part))
        return None if summation is None else summation.result()


# --- values at the samples ------------------------------------------------------------------------
@dataclass(frozen=True)
class CentredValues:
    """Values at all rows with columns of mean zero, made a part of the rows at a time.

    Stands where an array of the values would: it can be scaled, subtracted and split into columns,
    and ``beside`` gives the values of a part.
    """

    make: Callable[[Any, Any], np.ndarray]  # from φ and the part
    shape: tuple[int, ...]
    slope: float = 1.0
    gram: np.ndarray | None = None  # ΨᵀΨ, shape (r, r), where it is asked for
    #: Ask numpy's numbers to leave products with them to this class.
    __array_ufunc__ = None

    @property
    def total(self) -> float:
        """Σ‖ψ‖²."""
        return float(np.trace(gram_of(self)))

    def beside(self, phi: Any, part: Part) -> np.ndarray:
        """Values at the rows of a part."""
        values = self.make(phi, part)
        return values if self.slope == 1.0 else self.slope * values

    def array(self) -> np.ndarray:
        """All values that do not depend on φ, of rows in memory."""
        return self.beside(None, slice(0, self.shape[0]))

    def column(self, number: int) -> CentredValues:
        """One column, of shape (m,)."""
        return CentredValues(partial(_column, self, number), self.shape[:1])

    def __mul__(self, factor: float) -> CentredValues:
        gram = None if self.gram is None else self.gram * float(factor) ** 2
        return replace(self, slope=self.slope * float(factor), gram=gram)

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> CentredValues:
        return self * (1.0 / float(divisor))

    def __sub__(self, other: CentredValues) -> CentredValues:
        return CentredValues(partial(_difference, self, other), self.shape)


def _column(values: CentredValues, number: int, phi: Any, part: Part) -> np.ndarray:
    return values.beside(phi, part)[:, number]


def _difference(left: CentredValues, right: CentredValues, phi: Any, part: Part) -> np.ndarray:
    return left.beside(phi, part) - right.beside(phi, part)


#: Values at the samples: an array, or what makes those of a part of the samples.
Factor = np.ndarray | CentredValues


def values_at(values: Factor, phi: Any, rows: Any) -> np.ndarray:
    """Values at some samples."""
    return values[rows] if isinstance(values, np.ndarray) else values.beside(phi, rows)


def as_array(values: Factor) -> np.ndarray:
    """Values at all samples, in memory."""
    return values if isinstance(values, np.ndarray) else values.array()


def square_of(factor: Factor, weight: np.ndarray | None = None) -> float:
    """Σ‖ψ‖² over all samples that the given ones stand for."""
    if not isinstance(factor, np.ndarray):
        return factor.total
    squares = np.einsum("ij,ij->i", factor, factor)
    return float(squares.sum() if weight is None else weight @ squares)


def columns_of(values: Factor) -> list[Factor]:
    """The columns of values at the samples."""
    if isinstance(values, np.ndarray):
        return list(values.T)
    return [values.column(number) for number in range(values.shape[1])]


def rank_of_factor(factor: Factor) -> int:
    """Number of directions that a factor spans."""
    if isinstance(factor, np.ndarray):
        return int(np.linalg.matrix_rank(factor - factor.mean(axis=0)))
    return int(np.linalg.matrix_rank(gram_of(factor), hermitian=True))


def gram_of(factor: Factor) -> np.ndarray:
    """ΨᵀΨ of shape (r, r)."""
    if isinstance(factor, np.ndarray):
        return factor.T @ factor
    assert factor.gram is not None
    return factor.gram


# --- sums over the target alone -------------------------------------------------------------------
def target_sums(rows: Any, images: Callable[[Any], Any]) -> RowSums:
    """Sums over rows of the target that are read a block at a time, ψ in the place of φ."""
    work = SumBlocks(_OfTarget(rows.view, images), alone, scatter=True)
    sums: RowSums = rows.stream.total(work, inputs=rows.of_inputs)
    return sums


@dataclass(frozen=True)
class _OfTarget:
    view: View
    images: Callable[[Any], Any]

    def __call__(self, block: Chunk) -> Any:
        return dense(self.images(self.view(block)))


def alone(phi: Any, part: Part) -> Aligned:
    """A part of rows with nothing beside them."""
    return Aligned(phi, np.zeros((phi.shape[0], 0)))


@dataclass(frozen=True)
class TargetOfPart:
    """ψ - mean of some rows."""

    view: Callable[[Any], Any]  # from a part to rows of the target
    images: Callable[[Any], Any]  # from rows of the target to ψ
    mean: np.ndarray

    def __call__(self, phi: Any, part: Part) -> np.ndarray:
        """Of shape (n, r)."""
        return np.asarray(dense(self.images(self.view(part))), dtype=np.float64) - self.mean


def centred_target(target: Sample) -> CentredValues:
    """Ψ with ΨΨᵀ = HLH of a target that has coordinates, or few pivots, made part by part.

    Nothing of its length is held. A target with more pivots than ``MOST_PIVOTS`` is refused.
    """
    if target.has_features:
        return _of_images(target, target.kernel.features)
    from depmax.algebra.pivots import MOST_PIVOTS, few_pivots  # which stands on this module

    found = few_pivots(target)
    if found is None:
        raise ValueError(
            f"The target kernel {target.kernel!r} needs more than {MOST_PIVOTS} coordinates, too "
            "many for a table that is read a chunk at a time: use target_kernel='linear' or a map, "
            "target_kernel=NystroemMap(…)."
        )
    return _of_images(target, *found)


def _of_images(
    target: Sample, images: Callable[[Any], Any], sums: RowSums | None = None
) -> CentredValues:
    """Centred coordinates and their inner products, from their sums or from what a survey knows."""
    rows, n_samples, streamed = target.rows, target.n_samples, target.is_streamed
    values, counts = (rows.distinct if streamed else None) or (None, None)
    if sums is None and streamed and rows.moments and target.kernel.capabilities.is_linear:
        mean, gram = rows.moments
    elif sums is None and counts is not None:
        psi = np.asarray(dense(images(values)), dtype=np.float64)
        mean = counts @ psi / n_samples
        gram = (psi - mean).T @ ((psi - mean) * counts[:, np.newaxis])
    else:
        sums = _sums_of(target, images) if sums is None else sums
        mean = sums.mean_x
        gram = sums.about(mean, sums.origin_y).scatter
    view: Callable[[Any], Any] = rows.view if streamed else rows.__getitem__
    return CentredValues(TargetOfPart(view, images, mean), (n_samples, len(mean)), gram=gram)


def _sums_of(target: Sample, images: Callable[[Any], Any]) -> RowSums:
    """Sums over the target alone, ψ in the place of φ."""
    if target.is_streamed:
        return target_sums(target.rows, images)

    def read(part: slice) -> Aligned:
        psi = dense(images(target.rows[part]))
        weight = None if target.weight is None else target.weight[part]
        return Aligned(psi, np.zeros((psi.shape[0], 0)), weight=weight)

    width = images(target.rows[:1]).shape[1]
    chunks = chunks_of(target.n_samples, width)
    return sum_rows(read, chunks, (width, 0), scatter=True, concurrent=target.is_in_memory)


#: Rows in memory up to which a target without coordinates is factored as a whole, which takes less
#: time: about 100 MB for the Gaussian kernel of numbers.
FEW_ROWS = 2**18


def target_factor(target: Sample) -> Any:
    """Ψ of shape (m, r) with ΨΨᵀ = HLH, up to rounding.

    The kernel's exact coordinates where it has them, no more than samples; otherwise a Cholesky
    factor with as many pivots as full precision takes: about twenty for a Gaussian kernel of
    numbers, all samples for a kernel matrix of full rank. Only the factor of few rows, or one of
    many pivots, is held as an array; otherwise rows of Ψ are made where they are asked for.
    """
    width = target.n_coordinates
    if target.is_streamed or (width is not None and width <= target.n_samples):
        return centred_target(target)
    from depmax.algebra.pivots import factor_of_rows, few_pivots  # which stands on this module

    found = few_pivots(target) if target.is_array and target.n_samples > FEW_ROWS else None
    if found is not None:
        return _of_images(target, *found)
    factor = factor_of_rows(Sample(target.kernel, target.rows))
    centred: np.ndarray = factor - target.mean_of(factor)
    return centred
