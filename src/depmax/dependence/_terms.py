"""Terms → numbers: the three sums behind HSIC, and the two estimators made of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from scipy import sparse

from depmax import _limits
from depmax._threads import map_threads, slices
from depmax.algebra.form import CentredValues, Form
from depmax.algebra.row_sums import Aligned, RowSums, chunks_of, sum_rows
from depmax.algebra.targets import BlockImages, SumBlocks, target_factor
from depmax.data.checks import require_finite_values
from depmax.data.sample import Sample


@dataclass(frozen=True)
class Terms:
    """The sums over two kernel matrices from which HSIC follows.

    A measure does not depend on whether they come from Gram matrices, from tiles of them or from
    moments of maps.
    """

    n_samples: float  # m, or how many rows the given ones stand for
    inner: float  # tr KL
    middle: float  # 1ᵀKL1
    outer: float  # 1ᵀK1 · 1ᵀL1
    zero_diagonal: bool  # whether the diagonals of K and L count as zero (K̃, L̃)

    def hsic(self) -> float:
        """HSIC₁ from terms without diagonals, HSIC₀ from terms with them."""
        m = self.n_samples
        if self.zero_diagonal:
            total = self.inner + self.outer / ((m - 1) * (m - 2)) - 2 * self.middle / (m - 2)
            value = total / (m * (m - 3))
        else:
            value = (self.inner - 2 * self.middle / m + self.outer / m**2) / (m - 1) ** 2
        return float(require_finite_values(value))


def is_constant(side: Sample) -> bool:
    """Whether all rows have the same image under the kernel, up to rounding."""
    first, rounding = slice(0, 1), 8 * np.finfo(np.float64).eps
    if side.is_narrow:
        start = _dense(side.coordinates(first))[0]
        return all(
            (np.abs(_dense(side.coordinates(rows)) - start) <= rounding * np.abs(start)).all()
            for rows in side.chunks()
        )
    diagonal = side.diag()
    # ‖φ(x) - φ(x₀)‖² for every row x
    squares = diagonal + diagonal[0] - 2.0 * side.tile(slice(None), first)[:, 0]
    return bool((squares <= rounding * np.abs(diagonal).max()).all())


def _dense(phi: Any) -> np.ndarray:
    return np.asarray(phi.toarray() if sparse.issparse(phi) else phi, dtype=np.float64)


#: Of one core, for two Gaussian kernels.
SECONDS_PER_PAIR = 7e-9
#: Rows and columns of a tile: two tiles of float64 stay in the second-level cache.
TILE = 256


def terms(x: Sample, y: Sample, *, unbiased: bool, n_jobs: int = 1) -> Terms:
    """Terms of two sides by the cheaper exact route."""
    if x.is_streamed:
        return terms_from_sums(streamed_sums(x, target_factor(y)), unbiased=unbiased)
    if x.is_narrow and y.is_narrow:
        return terms_from_sums(row_sums(x, y), unbiased=unbiased)
    return terms_from_tiles(x, y, unbiased=unbiased, n_jobs=n_jobs)


def row_sums(x: Sample, y: Sample) -> RowSums:
    """Sums over the rows of both sides' coordinates, a chunk of each beside the other."""
    shape = int(x.n_coordinates or 0), int(y.n_coordinates or 0)
    return sum_rows(
        lambda rows: Aligned(
            x.coordinates(rows),
            y.coordinates(rows),
            weight=None if x.weight is None else x.weight[rows],
        ),
        chunks_of(x.n_samples, max(shape)),
        shape,
        norms=True,
        concurrent=x.is_in_memory and y.is_in_memory,
    )


def streamed_sums(x: Sample, psi: CentredValues) -> RowSums:
    """Sums over rows that are read a block at a time, in one visit."""
    work = SumBlocks(BlockImages(x.kernel, x.rows.view), Form(psi).beside, norms=True)
    sums: RowSums = x.rows.stream.total(work)
    return sums


def terms_from_sums(sums: RowSums, *, unbiased: bool) -> Terms:
    """Terms of centred coordinates, for which K1 = 0 and hence K̃1 = -diag K."""
    centred = sums.centred()
    squared = float(np.sum(centred.cross**2))  # tr KL = ‖ΦᵀΨ‖²
    n_samples = centred.weight
    if not unbiased:
        return Terms(n_samples, squared, 0.0, 0.0, zero_diagonal=False)
    assert centred.norms is not None
    return Terms(
        n_samples,
        inner=squared - centred.norms.xy,
        middle=centred.norms.xy,
        outer=centred.norms.x * centred.norms.y,
        zero_diagonal=True,
    )


def self_and_cross_terms(x: Sample, y: Sample, n_jobs: int = 1) -> tuple[Terms, Terms, Terms]:
    """Zero-diagonal terms of (x, x), (y, y) and (x, y), from one visit to the tiles."""
    if x.is_narrow and y.is_narrow:
        pairs = ((x, x), (y, y), (x, y))
        of_x, of_y, cross = (terms(left, right, unbiased=True) for left, right in pairs)
        return of_x, of_y, cross
    sums = TileSums.of(x.near_origin(), y.near_origin(), zero_diagonal=True, n_jobs=n_jobs)
    return sums.terms(0, 0), sums.terms(1, 1), sums.terms(0, 1)


def terms_from_tiles(x: Sample, y: Sample, *, unbiased: bool, n_jobs: int = 1) -> Terms:
    """Terms from tiles of both Gram matrices, each computed once, never an m × m array."""
    sums = TileSums.of(x.near_origin(), y.near_origin(), zero_diagonal=unbiased, n_jobs=n_jobs)
    return sums.terms(0, 1)


@dataclass(frozen=True)
class TileSums:
    """Inner products and row sums of two Gram matrices, gathered tile by tile.

    A row that stands for several counts as often. Without diagonals it is not compared with itself,
    but with its other copies.
    """

    products: np.ndarray  # [[tr KK, tr KL], [tr KL, tr LL]]
    row_sums: np.ndarray  # K1 and L1, shape (2, n_samples)
    zero_diagonal: bool
    weight: np.ndarray | None = None  # how many rows each stands for, shape (n_samples,)

    @classmethod
    def of(cls, x: Sample, y: Sample, *, zero_diagonal: bool, n_jobs: int = 1) -> TileSums:
        """Visit the tiles on and above the diagonal, each once."""
        tell_pairs(x.n_samples)
        by_rows = groupby(tile_pairs(x.n_samples), key=lambda tile: tile[0].start)
        parts = [list(tiles) for _, tiles in by_rows]
        shares = map_threads(lambda tiles: cls._of_rows(x, y, tiles, zero_diagonal), parts, n_jobs)
        products = np.sum([part for part, _ in shares], axis=0)
        row_sums = np.sum([part for _, part in shares], axis=0)
        return cls(products, row_sums, zero_diagonal, x.weight)

    @staticmethod
    def _of_rows(
        x: Sample, y: Sample, tiles: list[tuple[slice, slice]], zero_diagonal: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Products and row sums from the tiles of one block of rows."""
        if x.weight is not None:
            return TileSums._of_counted_rows(x, y, tiles, zero_diagonal, x.weight)
        products = np.zeros((2, 2))
        row_sums = np.zeros((2, x.n_samples))
        for rows, columns in tiles:
            pair = (x.tile(rows, columns), y.tile(rows, columns))
            on_diagonal = rows is columns
            for matrix, sums in zip(pair, row_sums, strict=True):
                if on_diagonal and zero_diagonal:
                    np.fill_diagonal(matrix, 0.0)
                sums[rows] += matrix.sum(axis=1)
                if not on_diagonal:
                    sums[columns] += matrix.sum(axis=0)
            flat = np.stack([matrix.ravel() for matrix in pair])
            products += (1.0 if on_diagonal else 2.0) * (flat @ flat.T)
        return products, row_sums

    @staticmethod
    def _of_counted_rows(
        x: Sample,
        y: Sample,
        tiles: list[tuple[slice, slice]],
        zero_diagonal: bool,
        weight: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same where a row stands for several."""
        products = np.zeros((2, 2))
        row_sums = np.zeros((2, x.n_samples))
        for rows, columns in tiles:
            pair = np.stack([x.tile(rows, columns), y.tile(rows, columns)])
            on_diagonal = rows is columns
            row_sums[:, rows] += pair @ weight[columns]
            if not on_diagonal:
                row_sums[:, columns] += weight[rows] @ pair
            counts = np.outer(weight[rows], weight[columns]).ravel()
            flat = pair.reshape(2, -1)
            products += (1.0 if on_diagonal else 2.0) * ((counts * flat) @ flat.T)
            if on_diagonal and zero_diagonal:
                own = np.diagonal(pair, axis1=1, axis2=2)
                row_sums[:, rows] -= own
                products -= (weight[rows] * own) @ own.T
        return products, row_sums

    def terms(self, left: int, right: int) -> Terms:
        """Terms of two of the matrices (0 is K, 1 is L)."""
        sums_left, sums_right = self.row_sums[left], self.row_sums[right]
        weight = np.ones(self.row_sums.shape[1]) if self.weight is None else self.weight
        return Terms(
            float(weight.sum()),
            inner=float(self.products[left, right]),
            middle=float((weight * sums_left) @ sums_right),
            outer=float((weight @ sums_left) * (weight @ sums_right)),
            zero_diagonal=self.zero_diagonal,
        )


def tell_pairs(n_samples: int, visits: int = 1) -> None:
    """Warn how long visits to all pairs of rows take, if that is long."""
    seconds = SECONDS_PER_PAIR * visits * n_samples**2
    if seconds > _limits.LONG:
        _limits.warn_if_long(f"Visiting all pairs of {n_samples:,} rows", seconds)


def tile_pairs(n_samples: int, size: int | None = None) -> Iterator[tuple[slice, slice]]:
    """Tiles on and above the diagonal; on the diagonal both slices are the same object."""
    parts = list(slices(n_samples, size or TILE))
    for position, rows in enumerate(parts):
        for columns in parts[position:]:
            yield rows, columns


def cosine(cross: float, square_x: float, square_y: float) -> float:
    """⟨K, L⟩ / √(⟨K, K⟩ ⟨L, L⟩) without rounding beyond ±1; zero if a norm is."""
    if square_x <= 0 or square_y <= 0:
        return 0.0
    return min(1.0, max(-1.0, cross / (math.sqrt(square_x) * math.sqrt(square_y))))
