"""Kernels of the target without coordinates: pivots that span it, among samples of its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

from depmax._resources import blas_threads_for_parts, map_threads, slices
from depmax.algebra.row_sums import PARTS, RowSums, Summation, alone, chunks_of
from depmax.data.chunks import add_up
from depmax.data.sample import Sample, require_positive, require_semidefinite
from depmax.data.stream import sample_rows
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


def factor_of_rows(sample: Sample) -> np.ndarray:
    """Ψ of few rows, or of many pivots, not centred."""
    if sample.is_small:
        return factor_of_matrix(sample.gram())
    return np.asarray(factor_to(sample, PRECISION).factor)


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
