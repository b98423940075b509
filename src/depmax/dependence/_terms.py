"""Terms → numbers: the three sums behind HSIC, and the two estimators made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
from scipy import sparse

from depmax import _resources
from depmax._resources import map_threads, slices
from depmax.algebra.row_sums import (
    Aligned,
    BlockImages,
    RowSums,
    SumBlocks,
    chunks_of,
    sum_rows,
    target_factor,
)
from depmax.algebra.space import Form
from depmax.data.chunks import Chunk
from depmax.data.sample import Sample, require_finite_values
from depmax.maps.incomplete_cholesky import factor_to


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
            value = unbiased_hsic(m, self.inner, self.middle, self.outer)
        else:
            value = (self.inner - 2 * self.middle / m + self.outer / m**2) / (m - 1) ** 2
        return float(require_finite_values(value))


def unbiased_hsic(m: float, inner: Any, middle: Any, outer: Any) -> Any:
    """HSIC₁ from terms without diagonals, of one pair of matrices or of many."""
    return (inner + outer / ((m - 1) * (m - 2)) - 2 * middle / (m - 2)) / (m * (m - 3))


def centred_gram(gram: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Kernel values about their mean in feature space, of rows with weights."""
    means = np.average(gram, axis=0, weights=weight)
    centred = gram - means
    centred -= means[:, np.newaxis]
    centred += np.average(means, weights=weight)
    return np.asarray(centred)


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


def coordinates_to(
    side: Sample, tol: float, n_components: int | None = None
) -> tuple[np.ndarray, float]:
    """Coordinates about their mean, exact where the kernel has them, and what they leave out.

    That is at most ``tol`` of the trace of the kernel, unless ``n_components`` are reached first.
    """
    if side.is_narrow:
        return side.centred_coordinates(), 0.0
    partial = factor_to(side, tol, n_components)
    factor = np.asarray(partial.factor, dtype=np.float64)
    error = float(partial.residual.sum() / max(side.diag().sum(), np.finfo(float).tiny))
    return factor - side.mean_of(factor), error


def _dense(phi: Any) -> np.ndarray:
    return np.asarray(phi.toarray() if sparse.issparse(phi) else phi, dtype=np.float64)


#: Of one core, for two Gaussian kernels.
SECONDS_PER_PAIR = 7e-9
#: Up to so many rows a Gram matrix is kept between products, beyond its tiles are recomputed.
GRAM_ROWS = 2048
#: Rows and columns of a tile: two tiles of float64 stay in the second-level cache.
TILE = 256


def terms(x: Sample, y: Sample, *, unbiased: bool, n_jobs: int = 1) -> Terms:
    """Terms of two sides by the cheaper exact route; of one with itself if both are the same."""
    if x.is_streamed:
        return terms_from_sums(_streamed_sums(x, y), unbiased=unbiased)
    if x.is_narrow and y.is_narrow:
        return terms_from_sums(row_sums(x, y), unbiased=unbiased)
    # tiles of both Gram matrices, each computed once, never an m × m array
    sums = TileSums.of(x.near_origin(), y.near_origin(), zero_diagonal=unbiased, n_jobs=n_jobs)
    return sums.terms(0, 1)


def self_and_cross_terms(
    x: Sample, y: Sample, n_jobs: int = 1, *, unbiased: bool = True
) -> tuple[Terms, Terms, Terms]:
    """Terms of (x, x), (y, y) and (x, y), from one visit to the tiles."""
    if x.is_streamed or (x.is_narrow and y.is_narrow):
        of_x, of_y, cross = (
            terms(left, right, unbiased=unbiased) for left, right in ((x, x), (y, y), (x, y))
        )
        return of_x, of_y, cross
    sums = TileSums.of(x.near_origin(), y.near_origin(), zero_diagonal=unbiased, n_jobs=n_jobs)
    return sums.terms(0, 0), sums.terms(1, 1), sums.terms(0, 1)


# --- from coordinates -----------------------------------------------------------------------------
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


def _streamed_sums(x: Sample, y: Sample) -> RowSums:
    """Sums over rows that are read a block at a time, in one visit."""
    images: Any = BlockImages(x.kernel, x.rows.view)
    beside: Any = _with_itself
    inputs = getattr(x.rows, "of_inputs", True)
    if y is not x:
        beside, inputs = Form(target_factor(y)).beside, True
    elif not x.has_features:
        images = partial(_rows_of, target_factor(x))
    sums: RowSums = x.rows.stream.total(SumBlocks(images, beside, norms=True), inputs=inputs)
    return sums


def _with_itself(phi: Any, block: Chunk) -> Aligned:
    return Aligned(_dense(phi), _dense(phi))


def _rows_of(psi: Any, block: Chunk) -> np.ndarray:
    values: np.ndarray = psi.beside(None, block)
    return values


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


# --- from tiles -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class TileSums:
    """Inner products and row sums of two Gram matrices, gathered tile by tile.

    A row that stands for several counts as often. Without diagonals it is not compared with itself,
    but with its other copies.
    """

    products: np.ndarray  # [[tr KK, tr KL], [tr KL, tr LL]]
    row_sums: np.ndarray  # K1 and L1, shape (2, n_samples)
    zero_diagonal: bool
    weight: np.ndarray  # how many rows each stands for, shape (n_samples,)

    @classmethod
    def of(cls, x: Sample, y: Sample, *, zero_diagonal: bool, n_jobs: int = 1) -> TileSums:
        """Visit the tiles on and above the diagonal, each once."""
        tell_pairs(x.n_samples)
        weight = np.ones(x.n_samples) if x.weight is None else x.weight
        is_weighted = x.weight is not None

        def visit(tiles: list[tuple[slice, slice]]) -> tuple[np.ndarray, np.ndarray]:
            """Products and row sums from the tiles of one block of rows."""
            products, row_sums = np.zeros((2, 2)), np.zeros((2, x.n_samples))
            for rows, columns in tiles:
                pair = x.tile(rows, columns), y.tile(rows, columns)
                for matrix, sums in zip(pair, row_sums, strict=True):
                    sums[rows] += matrix @ weight[columns]
                    if rows is not columns:
                        sums[columns] += weight[rows] @ matrix
                if rows is columns and zero_diagonal:
                    own = np.array([np.diag(matrix) for matrix in pair])
                    row_sums[:, rows] -= own
                    products -= (weight[rows] * own) @ own.T
                counted: Any = pair
                if is_weighted:
                    counted = np.stack(pair) * np.outer(weight[rows], weight[columns])
                found = np.array([[np.vdot(left, right) for right in pair] for left in counted])
                products += found if rows is columns else 2.0 * found
            return products, row_sums

        by_rows = groupby(tile_pairs(x.n_samples), key=lambda tile: tile[0].start)
        shares = map_threads(visit, [list(tiles) for _, tiles in by_rows], n_jobs)
        products, row_sums = (np.sum(parts, axis=0) for parts in zip(*shares, strict=True))
        return cls(products, row_sums, zero_diagonal, weight)

    def terms(self, left: int, right: int) -> Terms:
        """Terms of two of the matrices (0 is K, 1 is L)."""
        sums_left, sums_right = self.row_sums[left], self.row_sums[right]
        return Terms(
            float(self.weight.sum()),
            inner=float(self.products[left, right]),
            middle=float((self.weight * sums_left) @ sums_right),
            outer=float((self.weight @ sums_left) * (self.weight @ sums_right)),
            zero_diagonal=self.zero_diagonal,
        )


#: K times a vector, or times the columns of a matrix.
Product = Callable[[np.ndarray], np.ndarray]


def product_with(side: Sample, *, once: bool = False) -> Product:
    """The function v → Kv of a side, by the cheapest exact route, for one product or for many."""
    if side.is_narrow and side.origin is None:
        phi = side.coordinates(slice(None))
        if not sparse.issparse(phi):
            phi = np.asarray(phi, dtype=np.float64)
        return lambda vectors: phi @ (phi.T @ vectors)
    if side.n_samples <= GRAM_ROWS and not once:
        gram = side.gram()
        return lambda vectors: gram @ vectors

    def over_tiles(vectors: np.ndarray) -> np.ndarray:
        product = np.zeros_like(vectors)
        for rows, columns in tile_pairs(side.n_samples):
            values = side.tile(rows, columns)
            product[rows] += values @ vectors[columns]
            if rows is not columns:
                product[columns] += values.T @ vectors[rows]
        return product

    return over_tiles


def tell_pairs(n_samples: int, visits: int = 1) -> None:
    """Warn how long visits to all pairs of rows take, if that is long."""
    seconds = SECONDS_PER_PAIR * visits * n_samples**2
    _resources.warn_if_long(f"Visiting all pairs of {n_samples:,} rows", seconds)


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
