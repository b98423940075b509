"""Tiles of large kernel matrices, in the precision that suits the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from depmax.kernels.base import Kernel
from depmax.pencils.gram import Tile


@dataclass(frozen=True)
class Tiles:
    """How the tiles of a kernel matrix are computed."""

    tile: Tile
    dtype: Any  # precision that suits them
    likely: np.ndarray | None = None  # values that directions of large variance are likely to have


def radial_tile(kernel: Kernel, rows: np.ndarray) -> Tile:
    """Values of a function of ‖x - z‖², which one product gives: (x, ‖x‖², 1)·(-2z, 1, ‖z‖²).

    Rows should be measured from their mean, so that an offset costs no digits.
    """
    squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)[:, np.newaxis]
    ones = np.ones_like(squares)
    left = np.concatenate([rows, squares, ones], axis=1, dtype=rows.dtype, casting="same_kind")
    right = np.concatenate(
        [-2 * rows, ones, squares], axis=1, dtype=rows.dtype, casting="same_kind"
    )

    def tile(first: slice, second: slice, out: np.ndarray) -> None:
        np.matmul(left[first], right[second].T, out=out)
        np.maximum(out, 0.0, out=out)
        if first.start == second.start:
            np.fill_diagonal(out, 0.0)
        values = kernel.of_squares(out)
        if values is not out:
            out[...] = values

    return tile


def kernel_tile(kernel: Kernel, rows: Any) -> Tile:
    """Values of any kernel."""

    def tile(first: slice, second: slice, out: np.ndarray) -> None:
        count = out.shape[0]
        if first.start == second.start and count <= out.shape[1]:
            out[:, :count] = kernel(rows[first])  # many kernels compute half of it
            second, out = slice(first.stop, second.stop), out[:, count:]
        if out.shape[1]:
            out[...] = kernel(rows[first], rows[second])

    return tile


def matrix_tile(matrix: np.ndarray) -> Tile:
    """Entries of a matrix."""

    def tile(first: slice, second: slice, out: np.ndarray) -> None:
        out[...] = matrix[first, second]

    return tile
