"""Sums over rows of two maps φ and ψ, and the one way to visit chunks of rows for them.

What travels to a block (in a thread, or on a worker of a cluster) is a small object that can be
pickled: a kernel, a view of the block, a form. What comes back are ``RowSums``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy import sparse

from depmax._files import held_by_models
from depmax._resources import blas_threads_for_parts, map_threads, slices
from depmax.data.chunks import Chunk
from depmax.data.sample import in_double
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
