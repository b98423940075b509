"""Sums over rows that are read a block at a time, and values at rows that are made block by block.

What travels to a block (in a thread, or on a worker of a cluster) is a small object that can be
pickled: a kernel, a view of the block, a form. What comes back are ``RowSums``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

from depmax.kernels.kernel import Kernel
from depmax.maps.incomplete_cholesky import factor_to
from depmax.pencils.row_sums import Aligned, RowSums, Summation, chunks_of, dense, origin_of
from depmax.samples import Block, Sample, View

#: Trace of L - ΨΨᵀ, relative to that of L, at which pivots suffice: full precision for HSIC.
PRECISION = 1e-12
#: Pivots beyond which a target kernel has too many coordinates for sums over blocks.
MOST_PIVOTS = 1000
#: Rows that a visit adds to the candidates for pivots.
WORST_ROWS = 64


@dataclass(frozen=True)
class BlockImages:
    """Coordinates φ of the rows of a block."""

    kernel: Kernel
    view: View
    unmixed: bool = False  # before their last product

    def __call__(self, block: Block) -> Any:
        """Of shape (n, D), dense or sparse."""
        rows = self.view(block)
        return self.kernel.unmixed(rows) if self.unmixed else self.kernel.features(rows)


@dataclass(frozen=True)
class SumBlocks:
    """Sums over the blocks of a piece, about the mean of its first rows.

    ``beside`` gives what stands beside φ: ψ, weights. The piece's own origin keeps the digits of
    rows far from zero; sums with different origins can be added.
    """

    images: Callable[[Block], Any]
    beside: Callable[[Any, Block], Aligned]
    scatter: bool = False
    norms: bool = False

    @np.errstate(invalid="ignore")
    def __call__(self, blocks: Iterator[Block]) -> RowSums | None:
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


# --- values at the rows ---------------------------------------------------------------------------
@dataclass(frozen=True)
class RowValues:
    """Values at the rows of a stream, a function of a block and its coordinates.

    Stands where an array of the values at all rows would: it can be scaled, shifted, subtracted and
    split into columns, and ``beside`` gives the values of a block.
    """

    make: Callable[[Any, Block], np.ndarray]  # from φ and the block
    shape: tuple[int, ...]
    slope: float = 1.0
    shift: float = 0.0
    #: Ask numpy's numbers to leave products with them to this class.
    __array_ufunc__ = None

    def beside(self, phi: Any, block: Block) -> np.ndarray:
        """Values at the rows of a block."""
        values = self.slope * self.make(phi, block)
        return values if self.shift == 0.0 else values + self.shift

    def column(self, number: int) -> RowValues:
        """One column, of shape (m,)."""
        return RowValues(_Column(self, number), self.shape[:1])

    def squares(self) -> RowValues:
        """‖ψ‖² of every row, of shape (m,)."""
        return RowValues(_Squares(self), self.shape[:1])

    def __mul__(self, factor: float) -> RowValues:
        return replace(self, slope=self.slope * float(factor), shift=self.shift * float(factor))

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> RowValues:
        return self * (1.0 / float(divisor))

    def __sub__(self, other: Any) -> RowValues:
        if isinstance(other, RowValues):
            return RowValues(_Difference(self, other), self.shape)
        return replace(self, shift=self.shift - float(other))


@dataclass(frozen=True)
class _Column:
    values: RowValues
    number: int

    def __call__(self, phi: Any, block: Block) -> np.ndarray:
        return self.values.beside(phi, block)[:, self.number]


@dataclass(frozen=True)
class _Squares:
    values: RowValues

    def __call__(self, phi: Any, block: Block) -> np.ndarray:
        values = self.values.beside(phi, block)
        return np.einsum("ij,ij->i", values, values)


@dataclass(frozen=True)
class _Difference:
    left: RowValues
    right: RowValues

    def __call__(self, phi: Any, block: Block) -> np.ndarray:
        return self.left.beside(phi, block) - self.right.beside(phi, block)


@dataclass(frozen=True)
class CentredValues(RowValues):
    """Values with columns of mean zero, and their inner products."""

    gram: np.ndarray | None = None  # ΨᵀΨ, shape (r, r)

    @property
    def total(self) -> float:
        """Σ‖ψ‖²."""
        assert self.gram is not None
        return float(np.trace(self.gram))

    def __mul__(self, factor: float) -> CentredValues:
        assert self.gram is not None
        return replace(self, slope=self.slope * float(factor), gram=self.gram * float(factor) ** 2)

    __rmul__ = __mul__


@dataclass(frozen=True)
class FeaturesOfBlock:
    """(φ - mean)P of the rows of a block."""

    mean: np.ndarray
    directions: np.ndarray

    def __call__(self, phi: Any, block: Block) -> np.ndarray:
        """Of shape (n, k)."""
        values: np.ndarray = phi @ self.directions - self.mean @ self.directions
        return values


@dataclass(frozen=True)
class TargetOfBlock:
    """ψ - mean of the rows of a block."""

    view: View
    images: Callable[[Any], Any]  # from rows of the target to ψ
    mean: np.ndarray

    def __call__(self, phi: Any, block: Block) -> np.ndarray:
        """Of shape (n, r)."""
        return np.asarray(dense(self.images(self.view(block))), dtype=np.float64) - self.mean


def centred_target(side: Sample) -> CentredValues:
    """Ψ with ΨΨᵀ = HLH of a streamed target, up to rounding, from visits to the target alone."""
    if side.has_features:
        return _of_images(side, side.kernel.features)
    return _of_images(side, _pivots(side))


def _of_images(side: Sample, images: Callable[[Any], Any]) -> CentredValues:
    """Centred coordinates, and their inner products."""
    rows, m = side.rows, side.n_samples
    if rows.distinct is not None and rows.distinct[1] is not None:
        values, counts = rows.distinct
        psi = np.asarray(dense(images(values)), dtype=np.float64)
        mean = counts @ psi / m
        gram = (psi - mean).T @ ((psi - mean) * counts[:, np.newaxis])
    else:
        sums = target_sums(rows, images)
        mean = sums.mean_x
        scatter = sums.about(mean, sums.origin_y).scatter
        assert scatter is not None
        gram = scatter
    return CentredValues(TargetOfBlock(rows.view, images, mean), (m, len(mean)), gram=gram)


def target_sums(rows: Any, images: Callable[[Any], Any]) -> RowSums:
    """Sums over the target alone, ψ in the place of φ."""
    work = SumBlocks(_OfTarget(rows.view, images), _alone, scatter=True)
    sums: RowSums = rows.stream.total(work, inputs=rows.of_inputs)
    return sums


@dataclass(frozen=True)
class _OfTarget:
    view: View
    images: Callable[[Any], Any]

    def __call__(self, block: Block) -> Any:
        return dense(self.images(self.view(block)))


def _alone(phi: Any, block: Block) -> Aligned:
    return Aligned(phi, np.zeros((phi.shape[0], 0)))


# --- kernels of the target without coordinates ----------------------------------------------------
@dataclass(frozen=True)
class PivotImages:
    """k(y, pivots)R⁻ᵀ with RRᵀ the kernel matrix of the pivots."""

    kernel: Kernel
    pivots: np.ndarray  # rows
    triangle: np.ndarray  # R

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """ψ of rows of the target, of shape (n, r)."""
        values = self.kernel(rows, self.pivots)
        solved: np.ndarray = linalg.solve_triangular(self.triangle, values.T, lower=True).T
        return solved


@dataclass(frozen=True)
class Residual:
    """How much of the kernel some pivots leave unexplained, and where most of it is."""

    left: float  # Σ k(y, y) - ‖ψ‖²
    total: float  # Σ k(y, y)
    sizes: np.ndarray  # of the worst rows
    rows: np.ndarray

    def __add__(self, other: Residual) -> Residual:
        sizes = np.concatenate([self.sizes, other.sizes])
        rows = np.concatenate([self.rows, other.rows])
        worst = np.argsort(-sizes, kind="stable")[:WORST_ROWS]
        return Residual(self.left + other.left, self.total + other.total, sizes[worst], rows[worst])


@dataclass(frozen=True)
class MeasureResidual:
    """Visit the target and look for rows that the pivots explain badly."""

    view: View
    images: PivotImages

    def __call__(self, blocks: Iterator[Block]) -> Residual | None:
        """The residual of one piece."""
        found = None
        for block in blocks:
            rows = self.view(block)
            diagonal = self.images.kernel.diag(rows)
            psi = self.images(rows)
            left = np.maximum(diagonal - np.einsum("ij,ij->i", psi, psi), 0.0)
            worst = np.unique(np.argsort(-left, kind="stable")[:WORST_ROWS])
            more = Residual(float(left.sum()), float(diagonal.sum()), left[worst], rows[worst])
            found = more if found is None else found + more
        return found


def _pivots(side: Sample) -> PivotImages:
    """Pivots among a sample of the target and its worst rows, until nothing is left but rounding.

    The pivots that all rows in memory would give are others, but span the same up to 1e-12 of the
    trace, so that HSIC and all directions agree.
    """
    kernel, rows = side.kernel, side.rows
    candidates = np.unique(rows.sample() if rows.distinct is None else rows.distinct[0], axis=0)
    while True:
        partial = factor_to(Sample(kernel, candidates), 0.1 * PRECISION, MOST_PIVOTS + 1)
        if partial.rank > MOST_PIVOTS:
            raise ValueError(
                f"The target kernel {kernel!r} needs more than {MOST_PIVOTS} coordinates, too many "
                "for a table that is read a chunk at a time: use target_kernel='linear' or a map, "
                "target_kernel=NystroemMap(…)."
            )
        triangle = partial.triangle.astype(np.float64)
        images = PivotImages(kernel, candidates[partial.pivots], triangle)
        if rows.distinct is not None:
            return images  # of all values there are
        residual = rows.stream.total(MeasureResidual(rows.view, images), inputs=False)
        if residual.left <= PRECISION * residual.total:
            return images
        more = np.unique(np.vstack([candidates, residual.rows]), axis=0)
        if len(more) == len(candidates):
            return images
        candidates = more
