"""The target beside the inputs: values at the samples, and its factor Ψ with ΨΨᵀ = HLH."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg

from depmax._resources import blas_threads_for_parts, map_threads, slices
from depmax.algebra.row_sums import (
    PARTS,
    Aligned,
    Part,
    RowSums,
    SumBlocks,
    Summation,
    chunks_of,
    dense,
    sum_rows,
)
from depmax.data.chunks import Chunk, add_up
from depmax.data.sample import Sample, require_positive, require_semidefinite
from depmax.data.stream import View, sample_rows
from depmax.kernels.kernel import Kernel
from depmax.maps.incomplete_cholesky import factor_to

#: Trace of L - ΨΨᵀ, relative to that of L, at which pivots suffice: full precision for HSIC.
PRECISION = 1e-12
#: Pivots beyond which a target kernel has too many coordinates for sums over blocks.
MOST_PIVOTS = 1000
#: Rows that a visit adds to the candidates for pivots.
WORST_ROWS = 64
#: Columns of a target up to which the extremes of each are candidates too.
FEW_COLUMNS = 4
#: Rows in memory up to which a target without coordinates is factored as a whole, which takes less
#: time: about 100 MB for the Gaussian kernel of numbers.
FEW_ROWS = 2**18


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
        solved: np.ndarray = linalg.blas.dtrsm(1.0, self.triangle, values.T, lower=1).T
        return solved


@dataclass(frozen=True)
class Unexplained:
    """How much of the kernel some pivots leave unexplained, and where most of it is."""

    left: float  # Σ k(y, y) - ‖ψ‖²
    total: float  # Σ k(y, y)
    sizes: np.ndarray  # of the worst rows
    rows: np.ndarray
    sums: RowSums  # of ψ alone

    def __add__(self, other: Unexplained) -> Unexplained:
        sizes = np.concatenate([self.sizes, other.sizes])
        rows = np.concatenate([self.rows, other.rows])
        worst = np.argsort(-sizes, kind="stable")[:WORST_ROWS]
        left, total = self.left + other.left, self.total + other.total
        return Unexplained(left, total, sizes[worst], rows[worst], self.sums + other.sums)


@dataclass(frozen=True)
class MeasureUnexplained:
    """Visit the target, sum its coordinates and look for rows that the pivots explain badly."""

    view: Callable[[Any], Any]
    images: PivotImages
    weight: np.ndarray | None = None  # of rows in memory

    def __call__(self, parts: Iterable[Any]) -> Unexplained | None:
        """The residual of some parts."""
        found, origin = None, np.zeros(len(self.images.pivots))
        summation = Summation(origin, np.zeros(0), scatter=True)
        for part in parts:
            rows = self.view(part)
            diagonal = self.images.kernel.diag(rows)
            psi = self.images(rows)
            weight = None if self.weight is None else self.weight[part]
            summation.add(replace(alone(psi, part), weight=weight))
            left = np.maximum(diagonal - np.einsum("ij,ij->i", psi, psi), 0.0)
            size = min(WORST_ROWS, len(left))
            worst = np.argpartition(-left, size - 1)[:size]
            more = Unexplained(
                float(left.sum()), float(diagonal.sum()), left[worst], rows[worst], _NOTHING
            )
            found = more if found is None else found + more
        return None if found is None else replace(found, sums=summation.result())


#: Sums that are taken apart from a residual.
_NOTHING = Summation(np.zeros(0), np.zeros(0), scatter=False).result()


def _measured(target: Sample, images: PivotImages) -> Unexplained:
    """The residual of all rows, from one visit."""
    if target.is_streamed:
        work = MeasureUnexplained(target.rows.view, images)
        found: Unexplained = target.rows.stream.total(work, inputs=False)
        return found
    measure = MeasureUnexplained(target.rows.__getitem__, images, target.weight)
    chunks = chunks_of(target.n_samples, len(images.pivots))
    parts = [chunks[part] for part in slices(len(chunks), -(-len(chunks) // PARTS))]
    with blas_threads_for_parts() as threads:
        whole = add_up(map_threads(measure, parts, threads))
        assert whole is not None
        return whole


def _candidates(target: Sample) -> np.ndarray:
    """A sample of the rows; of those in memory also the extremes, which it may not reach."""
    rows = target.rows
    some: np.ndarray = sample_rows(rows)
    if target.is_streamed or rows.shape[1] > FEW_COLUMNS:
        return some
    order = np.argpartition(rows, [WORST_ROWS, -WORST_ROWS], axis=0)
    extremes = np.vstack([order[:WORST_ROWS], order[-WORST_ROWS:]])
    return np.vstack([some, rows[extremes.ravel()]])


def few_pivots(target: Sample) -> tuple[PivotImages, RowSums | None] | None:
    """Pivots among a sample of the target and its worst rows; None if they are too many.

    There are as many as it takes until nothing is left but rounding. The pivots that all rows at
    once would give are others, but span the same up to 1e-12 of the trace, so that HSIC and all
    directions agree. With them come the sums of ψ, where rows were visited.
    """
    kernel, rows = target.kernel, target.rows
    distinct = rows.distinct if target.is_streamed else None
    candidates = np.unique(_candidates(target) if distinct is None else distinct[0], axis=0)
    while True:
        partial = factor_to(Sample(kernel, candidates), 0.1 * PRECISION, MOST_PIVOTS + 1)
        if partial.rank > MOST_PIVOTS:
            return None
        triangle = partial.triangle.astype(np.float64)
        images = PivotImages(kernel, candidates[partial.pivots], triangle)
        if distinct is not None:
            return images, None  # of all values there are
        residual = _measured(target, images)
        more = np.unique(np.vstack([candidates, residual.rows]), axis=0)
        if residual.left <= PRECISION * residual.total or len(more) == len(candidates):
            return images, residual.sums
        candidates = more


def factor_of_matrix(matrix: np.ndarray) -> np.ndarray:
    """The factor of a kernel matrix that is at hand, by LAPACK."""
    diagonal = matrix.diagonal()
    total, largest = float(diagonal.sum()), float(diagonal.max())
    require_positive(largest)
    lower, order, rank, _ = linalg.lapack.dpstrf(matrix, lower=1)
    factor = np.empty((len(matrix), rank))
    factor[order - 1] = np.tril(lower)[:, :rank]
    require_semidefinite((diagonal - np.square(factor).sum(axis=1)).min(), largest)
    left = total - np.cumsum(np.square(factor).sum(axis=0))
    return factor[:, : 1 + int(np.argmax(np.append(left, 0.0) <= PRECISION * total))]


# --- the factor of a target ---------------------------------------------------------------------


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
    found = _of_pivots(target)
    if found is None:
        raise ValueError(
            f"The target kernel {target.kernel!r} needs more than {MOST_PIVOTS} coordinates, too "
            "many for a table that is read a chunk at a time: use target_kernel='linear' or a map, "
            "target_kernel=NystroemMap(…)."
        )
    return found


def _of_pivots(target: Sample) -> CentredValues | None:
    """Centred values by pivots; None if they are too many."""
    found = few_pivots(target)
    return None if found is None else _of_images(target, *found)


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
    if target.is_array and target.n_samples > FEW_ROWS:
        found = _of_pivots(target)
        if found is not None:
            return found
    sample = Sample(target.kernel, target.rows)
    if sample.is_small:
        factor = factor_of_matrix(sample.gram())
    else:
        factor = np.asarray(factor_to(sample, PRECISION).factor)
    centred: np.ndarray = factor - target.mean_of(factor)
    return centred
