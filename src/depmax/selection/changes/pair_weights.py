"""Strips of W = M∘K, every pair of rows counted once, ready for products with columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from depmax.selection.changes.problem import Problem

#: Entries of W held at a time, and rows of a strip at least: memory is linear in the rows.
ENTRIES, FEWEST = 2**24, 512

#: Writes K of some rows against others into an array.
FillKernel = Callable[[slice, slice, np.ndarray], None]


@dataclass(frozen=True)
class PairWeights:
    """W of some rows against themselves and all later rows."""

    values: np.ndarray  # shape (rows, later rows); what lies left of ``blocks`` is not set
    start: int  # first row
    blocks: Sequence[tuple[slice, slice]]  # rows and columns of W that cover its pairs
    ends: np.ndarray  # sum of the pairs that a row is an end of, shape (n_samples,)
    total: float  # Σ W

    def bilinear(self, columns: np.ndarray) -> np.ndarray:
        """Σ_ab W_ab v_a v_b for every row v of ``columns``."""
        sums = np.zeros(len(columns))
        widest = max(rows.stop - rows.start for rows, _ in self.blocks)
        space = np.empty((len(columns), widest), dtype=columns.dtype)  # one for all products
        for rows, later in self.blocks:
            block = self.values[_moved(rows, self.start), _moved(later, self.start)]
            products = space[:, : len(block)]
            np.matmul(columns[:, later], block.T, out=products)
            sums += np.einsum("ji,ji->j", columns[:, rows], products)
        return sums


def pair_weights(
    problem: Problem, fill_kernel: FillKernel, effort: float = np.inf
) -> Iterator[PairWeights]:
    """W strip by strip, each in the place of the one before; ``effort`` is that of all of K."""
    thin = problem.weights.strips()
    m = problem.weights.n_samples
    height = max(FEWEST, ENTRIES // max(m, 1))
    at_a_time = max(1, height // (thin[0].stop - thin[0].start))
    for first in range(0, len(thin), at_a_time):
        yield _strip(problem, fill_kernel, thin[first : first + at_a_time], effort)


def _strip(
    problem: Problem, fill_kernel: FillKernel, thin: Sequence[slice], effort: float
) -> PairWeights:
    m, start, stop = problem.weights.n_samples, thin[0].start, thin[-1].stop
    values = problem.space(stop - start, m - start)

    def fill(rows: slice) -> tuple[float, np.ndarray]:
        later = slice(rows.start, m)
        part = values[_moved(rows, start), _moved(later, start)]
        fill_kernel(rows, later, part)
        weights = problem.strip(rows)
        total = float(np.vdot(weights, part.astype(np.float64, copy=False)))
        np.multiply(part, weights, out=part, casting="same_kind")
        ends = np.zeros(m)
        ends[later] = part.sum(axis=0)
        ends[rows] += part.sum(axis=1)
        return total, ends

    parts = problem.over(fill, thin, effort)
    ends = np.sum([part for _, part in parts], axis=0).astype(problem.dtype)
    blocks = list(_triangle(thin))
    if stop < m:
        blocks.append((slice(start, stop), slice(stop, m)))
    return PairWeights(values, start, blocks, ends, sum(total for total, _ in parts))


def _triangle(thin: Sequence[slice]) -> Iterator[tuple[slice, slice]]:
    """Blocks that cover the pairs within some rows: halves against each other, then each half."""
    if len(thin) == 1:
        yield thin[0], thin[0]
        return
    half = len(thin) // 2
    first, second = thin[:half], thin[half:]
    yield slice(first[0].start, first[-1].stop), slice(second[0].start, second[-1].stop)
    yield from _triangle(first)
    yield from _triangle(second)


def _moved(rows: slice, start: int) -> slice:
    return slice(rows.start - start, rows.stop - start)
