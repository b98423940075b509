"""Pairs of samples i ≤ j of a block, in tiles that stay in the cache."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import sparse

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

    def centre(self, values: np.ndarray, means: np.ndarray) -> np.ndarray:
        """Entries of HKH from those of K and its row means."""
        first = means[self.left][self.template.first]
        second = means[self.right][self.template.second]
        return values - first - second + means.mean(axis=0)


def tiles(size: int) -> list[Tile]:
    """All pairs i ≤ j of a block of this size, each once.

    Examples
    --------
    >>> [int(tile.template.weights.sum()) for tile in tiles(40)]  # 40² in all
    [1600]
    """
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
