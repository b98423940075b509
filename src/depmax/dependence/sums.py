"""Terms of two sides: from moments where both have coordinates, else from Gram tiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from operator import add

import numpy as np

from depmax._threads import map_threads
from depmax.dependence.pilot import steady
from depmax.dependence.sides import Side
from depmax.dependence.terms import Terms
from depmax.rows import CrossMoments, slices

#: Rows and columns of a tile: two tiles of float64 stay in the second-level cache.
TILE = 256


def terms(x: Side, y: Side, *, unbiased: bool, n_jobs: int = 1) -> Terms:
    """Terms of two sides by the cheaper exact route."""
    if x.is_narrow and y.is_narrow:
        return terms_from_moments(cross_moments(x, y), unbiased=unbiased)
    return terms_from_tiles(x, y, unbiased=unbiased, n_jobs=n_jobs)


def cross_moments(x: Side, y: Side) -> CrossMoments:
    """Moments of both sides' coordinates, summed over chunks of rows."""
    blocks = x.blocks() if (x.n_coordinates or 0) >= (y.n_coordinates or 0) else y.blocks()
    chunks = (CrossMoments.of(x.coordinates(rows), y.coordinates(rows)) for rows in blocks)
    return reduce(add, chunks)


def terms_from_moments(moments: CrossMoments, *, unbiased: bool) -> Terms:
    """Terms of centred coordinates, for which K1 = 0 and hence K̃1 = -diag K."""
    centred = moments.centred()
    squared = float(np.sum(centred.cross**2))  # tr KL = ‖ΦᵀΨ‖²
    n_samples = round(centred.weight)
    if not unbiased:
        return Terms(n_samples, squared, 0.0, 0.0, zero_diagonal=False)
    return Terms(
        n_samples,
        inner=squared - centred.norm_xy,
        middle=centred.norm_xy,
        outer=centred.norm_x * centred.norm_y,
        zero_diagonal=True,
    )


def self_and_cross_terms(x: Side, y: Side, n_jobs: int = 1) -> tuple[Terms, Terms, Terms]:
    """Zero-diagonal terms of (x, x), (y, y) and (x, y), from one visit to the tiles."""
    if x.is_narrow and y.is_narrow:
        pairs = ((x, x), (y, y), (x, y))
        of_x, of_y, cross = (terms(left, right, unbiased=True) for left, right in pairs)
        return of_x, of_y, cross
    sums = TileSums.of(steady(x), steady(y), zero_diagonal=True, n_jobs=n_jobs)
    return sums.terms(0, 0), sums.terms(1, 1), sums.terms(0, 1)


def terms_from_tiles(x: Side, y: Side, *, unbiased: bool, n_jobs: int = 1) -> Terms:
    """Terms from tiles of both Gram matrices, each computed once, never an m × m array."""
    sums = TileSums.of(steady(x), steady(y), zero_diagonal=unbiased, n_jobs=n_jobs)
    return sums.terms(0, 1)


@dataclass(frozen=True)
class TileSums:
    """Inner products and row sums of two Gram matrices, gathered tile by tile."""

    products: np.ndarray  # [[tr KK, tr KL], [tr KL, tr LL]]
    row_sums: np.ndarray  # K1 and L1, shape (2, n_samples)
    zero_diagonal: bool

    @classmethod
    def of(cls, x: Side, y: Side, *, zero_diagonal: bool, n_jobs: int = 1) -> TileSums:
        """Visit the tiles on and above the diagonal, each once."""
        by_rows = groupby(tile_pairs(x.n_samples), key=lambda tile: tile[0].start)
        parts = [list(tiles) for _, tiles in by_rows]
        shares = map_threads(lambda tiles: cls._of_rows(x, y, tiles, zero_diagonal), parts, n_jobs)
        products = np.sum([part for part, _ in shares], axis=0)
        row_sums = np.sum([part for _, part in shares], axis=0)
        return cls(products, row_sums, zero_diagonal)

    @staticmethod
    def _of_rows(
        x: Side, y: Side, tiles: list[tuple[slice, slice]], zero_diagonal: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Products and row sums from the tiles of one block of rows."""
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

    def terms(self, left: int, right: int) -> Terms:
        """Terms of two of the matrices (0 is K, 1 is L)."""
        sums_left, sums_right = self.row_sums[left], self.row_sums[right]
        return Terms(
            self.row_sums.shape[1],
            inner=float(self.products[left, right]),
            middle=float(sums_left @ sums_right),
            outer=float(sums_left.sum() * sums_right.sum()),
            zero_diagonal=self.zero_diagonal,
        )


def tile_pairs(n_samples: int, size: int | None = None) -> Iterator[tuple[slice, slice]]:
    """Tiles on and above the diagonal; on the diagonal both slices are the same object."""
    parts = list(slices(n_samples, size or TILE))
    for position, rows in enumerate(parts):
        for columns in parts[position:]:
            yield rows, columns
