"""Kernel matrices of single columns entry by entry, over blocks of samples, none of them stored.

A pass over the data computes the kernel values of a tile of pairs and a chunk of columns, and
multiplies them at once with those of the columns that are asked for: memory is that of a tile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy import sparse

from depmax._threads import map_threads
from depmax.data.sample import Sample
from depmax.selection._lasso.column_kernels import ColumnKernels, KernelColumns

#: Rows of a tile's sides, for blocks that are larger than one triangle.
SIDE = 32


@dataclass(frozen=True)
class Template:
    """Positions of the pairs in a tile's sides, and sums over them."""

    first: np.ndarray  # position in the left side
    second: np.ndarray  # position in the right side
    weights: np.ndarray  # 2 off the diagonal, 1 on it
    to_left: sparse.csr_array  # sums of the pairs of each left row
    to_right: sparse.csr_array  # and of each right row, the diagonal not again

    def counted(self, left: np.ndarray, right: np.ndarray) -> Template:
        """The same where rows of both sides stand for several each."""
        of_left, of_right = left[self.first], right[self.second]
        return Template(
            self.first,
            self.second,
            self.weights * of_left * of_right,
            self.to_left @ sparse.diags_array(of_right),
            self.to_right @ sparse.diags_array(of_left),
        )


@dataclass(frozen=True)
class Tile:
    """Pairs between two runs of positions in a block, or within one."""

    template: Template
    left: slice
    right: slice

    def add_sums(self, values: np.ndarray, sums: np.ndarray) -> None:
        """Add what this tile contributes to the row sums of the block's matrix."""
        sums[self.left] += self.template.to_left @ values
        sums[self.right] += self.template.to_right @ values

    def centre(self, values: np.ndarray, means: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """Entries of HKH from those of K, its row means and their mean."""
        first = means[self.left][self.template.first]
        second = means[self.right][self.template.second]
        return values - first - second + mean


def tiles(size: int, weight: np.ndarray | None = None) -> list[Tile]:
    """All pairs i ≤ j of a block of this size, each once; rows may stand for several.

    Examples
    --------
    >>> [int(tile.template.weights.sum()) for tile in tiles(40)]  # 40² in all
    [1600]
    """
    if weight is not None:
        plain = tiles(size)
        return [
            replace(each, template=each.template.counted(weight[each.left], weight[each.right]))
            for each in plain
        ]
    if size <= 2 * SIDE:
        return [Tile(triangle(size), slice(0, size), slice(0, size))]
    runs = [slice(start, min(start + SIDE, size)) for start in range(0, size, SIDE)]
    found = []
    for i, left in enumerate(runs):
        found.append(Tile(triangle(left.stop - left.start), left, left))
        for right in runs[i + 1 :]:
            shape = (left.stop - left.start, right.stop - right.start)
            found.append(Tile(rectangle(*shape), left, right))
    return found


@lru_cache(maxsize=64)
def triangle(size: int) -> Template:
    """Pairs i ≤ j within one run of rows."""
    first, second = np.triu_indices(size)
    return _template(first, second, size, size, off=first != second)


@lru_cache(maxsize=64)
def rectangle(n_left: int, n_right: int) -> Template:
    """All pairs between two runs of rows."""
    first, second = np.divmod(np.arange(n_left * n_right), n_right)
    return _template(first, second, n_left, n_right, off=np.ones(len(first), dtype=bool))


def _template(
    first: np.ndarray, second: np.ndarray, n_left: int, n_right: int, off: np.ndarray
) -> Template:
    pairs = np.arange(len(first))
    ones = np.ones(len(first))
    to_left = sparse.csr_array((ones, (first, pairs)), shape=(n_left, len(first)))
    to_right = sparse.csr_array((ones[off], (second[off], pairs[off])), shape=(n_right, len(first)))
    return Template(first, second, np.where(off, 2.0, 1.0), to_left, to_right)


#: Kernel values of one tile and one chunk of columns: they stay in the cache.
CACHE = 2**16
#: Columns that a pass asks for at least: a pass costs hardly more for several than for one.
AHEAD = 24
#: A centred matrix this small, relative to the kernel itself, is a constant with rounding errors.
CONSTANT = 1e-13


class TileDesign:
    """Inner products of centred, normalised kernel matrices, as means over blocks of samples.

    Parameters
    ----------
    columns : ColumnKernels
    target : Sample
    blocks : sequence of ndarray
        The samples of each block.
    n_jobs : int, optional
        Threads, each of which takes chunks of columns.
    """

    def __init__(
        self,
        columns: ColumnKernels,
        target: Sample,
        blocks: Sequence[np.ndarray],
        n_jobs: int | None = None,
    ) -> None:
        self._columns = columns
        self._blocks = blocks
        self._weight = columns.weight  # of all samples, in one block
        self._n_jobs = n_jobs
        n_pairs = max(len(tiles(len(block))[0].template.first) for block in blocks)
        size = max(1, CACHE // n_pairs)
        self._chunks = [chunk for part in columns.parts for chunk in part.chunks(size)]
        entries = [_target_entries(target.take(block)) for block in blocks]
        self.target_square = float(np.mean([any(e.any() for e in block) for block in entries]))
        if self.target_square == 0.0:
            raise ValueError(
                "y is constant as its kernel sees it, in every block: nothing can depend on it. "
                "Check y, pass another target_kernel, or raise block_size."
            )
        self.correlations = np.empty(columns.n_features)
        self._scales = np.empty((len(blocks), columns.n_features))  # 1/‖HKH‖, 0 for constants
        found = map_threads(
            lambda chunk: _norms(chunk, blocks, entries, columns.weight), self._chunks, n_jobs
        )
        for chunk, (scales, correlations) in zip(self._chunks, found, strict=True):
            self._scales[:, chunk.columns] = scales
            self.correlations[chunk.columns] = correlations
        self.squares = (self._scales > 0.0).mean(axis=0)

    def ahead(self, n_known: int) -> int:
        """As many as are known already, so that there are few passes over the data."""
        return max(AHEAD, n_known)

    def products(self, columns: np.ndarray) -> np.ndarray:
        """Inner products of these columns' matrices with all, of shape (len(columns), d)."""
        requested = self._columns.take(columns)

        def one_chunk(chunk: KernelColumns) -> np.ndarray:
            total = np.zeros((len(columns), len(chunk.columns)))
            for block, scales in zip(self._blocks, self._scales, strict=True):
                cross = np.zeros_like(total)
                for tile, left in _centred(requested, len(columns), block, self._weight):
                    cross += left.T @ _values(chunk, tile, block)
                total += cross * scales[columns, np.newaxis] * scales[chunk.columns]
            return total / len(self._blocks)

        products = np.empty((len(columns), self._columns.n_features))
        found = map_threads(one_chunk, self._chunks, self._n_jobs)
        for chunk, values in zip(self._chunks, found, strict=True):
            products[:, chunk.columns] = values
        return products


def _target_entries(target: Sample) -> list[np.ndarray]:
    """Centred, normalised target matrix of one block, by tiles, times the weights of the pairs."""
    gram = target.gram()
    size, weight = len(gram), target.weight
    root = np.ones(size) if weight is None else np.sqrt(weight)
    raw = np.linalg.norm(gram * np.outer(root, root))
    gram = gram - np.average(gram, axis=0, weights=weight)
    gram -= np.average(gram, axis=1, weights=weight)[:, np.newaxis]
    norm = np.linalg.norm(gram * np.outer(root, root))
    gram = gram / norm if norm > CONSTANT * raw else np.zeros_like(gram)
    return [
        gram[tile.left, tile.right][tile.template.first, tile.template.second]
        * tile.template.weights
        for tile in tiles(size, weight)
    ]


def _norms(
    chunk: KernelColumns,
    blocks: Sequence[np.ndarray],
    entries: list[list[np.ndarray]],
    weight: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """1/‖HKH‖ of each column in each block, and the mean inner products with the target."""
    count = len(chunk.columns)
    scales, correlations = np.empty((len(blocks), count)), np.zeros(count)
    for number, block in enumerate(blocks):
        size = len(block)
        counts = np.ones(size) if weight is None else weight
        total = float(counts.sum())
        sums, squares, cross = np.zeros((size, count)), np.zeros(count), np.zeros(count)
        for tile, target in zip(tiles(size, weight), entries[number], strict=True):
            values = _values(chunk, tile, block)
            tile.add_sums(values, sums)
            cross += target @ values
            squares += np.einsum("i,ij,ij->j", tile.template.weights, values, values)
        # ‖HKH‖² from ‖K‖², the row sums and their total
        norms = squares - 2.0 / total * (counts @ sums**2) + (counts @ sums / total) ** 2
        least = (CONSTANT * total * chunk.diag(block[0])) ** 2
        varies = norms > np.maximum(least, CONSTANT * squares)
        scales[number] = np.where(varies, 1.0 / np.sqrt(np.where(varies, norms, 1.0)), 0.0)
        correlations += cross * scales[number]
    return scales, correlations / len(blocks)


def _centred(
    parts: Sequence[KernelColumns], count: int, block: np.ndarray, weight: np.ndarray | None
) -> Iterator[tuple[Tile, np.ndarray]]:
    """Entries of HKH of these columns times the weights of the pairs, tile by tile."""

    def values_of(tile: Tile) -> np.ndarray:
        values = np.empty((len(tile.template.first), count))
        for part in parts:
            values[:, part.columns] = _values(part, tile, block)
        return values

    pieces = tiles(len(block), weight)
    sums = np.zeros((len(block), count))
    for tile in pieces:
        values = values_of(tile)
        tile.add_sums(values, sums)
    means = sums / (len(block) if weight is None else weight.sum())
    mean = np.average(means, axis=0, weights=weight)
    for tile in pieces:
        values = values if len(pieces) == 1 else values_of(tile)
        yield tile, tile.centre(values, means, mean) * tile.template.weights[:, np.newaxis]


def _values(part: KernelColumns, tile: Tile, block: np.ndarray) -> np.ndarray:
    """Kernel values of the pairs of a tile, of shape (n_pairs, n_columns), up to a constant.

    k(x, x) of the block's first sample is subtracted, which centring ignores: where a column
    hardly varies in a block, no digits are lost.
    """
    left, right = block[tile.left], block[tile.right]
    first, second = tile.template.first, tile.template.second
    if part.invariant:
        values = part.of_differences(part.values[left][first] - part.values[right][second])
    else:
        gram = part.kernel(part.values[left], part.values[right])
        values = gram[first, second][:, np.newaxis].astype(np.float64, copy=False)
    values -= part.diag(block[0])
    return values
