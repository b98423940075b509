"""Effects of columns as counted levels: what every row contributes to them.

The counterpart of ``LaplaceColumn.shares`` for a table that is read a chunk at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from depmax.algebra.form import CentredValues
from depmax.data.chunks import Chunk
from depmax.dependence._nulls.counted_columns import Grid, LevelGram, dense_columns

if TYPE_CHECKING:
    from depmax.dependence._nulls.counted_screening import CountedTarget


def cross_shares(levels: LevelGram, total: float, m: int) -> np.ndarray:
    """(Ã ∘ B̃)1 of a row as a function of its level: factors of 1, ‖ψ‖² and ψ, (n_levels, r + 2).

    ``total`` is Σ‖ψ‖²; the terms are those of ``LaplaceColumn.shares``.
    """
    column, gram = levels.column, levels.gram
    counts, diagonal = column.counts, np.diag(gram)
    r = gram @ counts - diagonal  # K̃1
    u = r / (m - 2)
    b1 = -1.0 / (m - 2)  # v_i = b1‖ψ_i‖², b_i = b0 + v_i
    sum_u, sum_v = float(counts @ u), b1 * total
    b0 = -sum_v / (m - 1)
    a = u - sum_u / (m - 1)
    k_v = b1 * (gram @ column.squares)
    u_v = b1 * float(u @ column.squares)
    constant = -b0 * r - k_v + (m - 1) * a * b0 + a * sum_v + b0 * (sum_u - u) + u_v
    of_squares = (
        -diagonal
        - b1 * r
        + diagonal * b1
        + a
        + u
        + (m - 1) * a * b1
        - a * b1
        + b1 * (sum_u - 2 * u)
    )
    return np.column_stack([constant, of_squares, gram @ column.psi - u @ column.psi])


@dataclass(frozen=True)
class OwnShares:
    """(B̃ ∘ B̃)1 of every row of the target."""

    gram: np.ndarray
    weighted: np.ndarray  # Σ v ψ
    total: float
    fourth: float
    n_samples: int

    @classmethod
    def of(cls, target: CountedTarget, third: np.ndarray, fourth: float) -> OwnShares:
        """From sums over all rows."""
        assert target.psi.gram is not None
        m = target.n_samples
        return cls(target.psi.gram, -third / (m - 2), target.psi.total, fourth, m)

    def __call__(self, psi: np.ndarray, squares: np.ndarray) -> np.ndarray:
        """Of shape (n,)."""
        m = self.n_samples
        b1 = -1.0 / (m - 2)
        v, sum_v = b1 * squares, b1 * self.total
        b = v - sum_v / (m - 1)
        products = np.einsum("ij,ij->i", psi @ self.gram, psi) - squares**2
        k_v = psi @ self.weighted - squares * v
        found: np.ndarray = (
            products
            + 2.0 * (b * squares - k_v + b * (sum_v - v))
            + (m - 1) * b**2
            + (b1**2 * self.fourth - v**2)
        )
        return found


@dataclass(frozen=True)
class Influence:
    """What a row does to the effect of one column."""

    position: int
    grid: Grid
    table: np.ndarray  # factors of 1, ‖ψ‖² and ψ for every level of the grid
    slope: float  # of what the row contributes to the target's own HSIC, less its mean
    mean: float


@dataclass(frozen=True)
class InfluenceSums:
    """Σ influence² of every column."""

    sums: np.ndarray

    def __add__(self, other: InfluenceSums) -> InfluenceSums:
        return InfluenceSums(self.sums + other.sums)


@dataclass(frozen=True)
class SumInfluences:
    """Sum the squares of what every row does to the effects of all columns."""

    columns: tuple[Influence, ...]
    psi: CentredValues
    own: OwnShares

    def __call__(self, blocks: Iterator[Chunk]) -> InfluenceSums:
        """Sums of one piece."""
        sums = np.zeros(len(self.columns))
        for block in blocks:
            psi = self.psi.beside(None, block)
            squares = np.einsum("ij,ij->i", psi, psi)
            own = self.own(psi, squares)
            beside = np.column_stack([np.ones(len(psi)), squares, psi])
            values = dense_columns(block.x, [each.position for each in self.columns])
            for place, (each, column) in enumerate(zip(self.columns, values, strict=True)):
                influence = np.einsum("ij,ij->i", each.table[each.grid.codes(column)], beside)
                influence += each.slope * (own - each.mean)
                sums[place] += float(influence @ influence)
        return InfluenceSums(sums)
