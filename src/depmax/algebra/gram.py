"""The centred kernel matrix as an operator: made once, multiplied with blocks of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from depmax._threads import slices
from depmax.kernels.kernel import Kernel

#: Rows of a strip.
STRIP = 512
#: Kernel values computed at a time, few enough for the second-level cache.
TILE = 2**17
#: Columns of a strip that a product visits at a time: twice, the second time in the cache.
PANEL = 2048
#: Samples of which the kernel values tell the constant to take off.
SOME = 64
#: Fewer columns than this are multiplied one by one.
BLOCK = 4
#: Products of fewer numbers with numbers than this are over before a thread wakes up.
WORK = 2**24
#: Products are summed in so many parts, whatever the number of threads, so that these change no
#: digit of the result.
PARTS = 8

#: Writes the kernel values of one slice of samples against another into an array.
Tile = Callable[[slice, slice, np.ndarray], None]
#: Applies a function to every part of a computation, as ``map`` does, perhaps in threads.
Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


class Gram:
    """HKH for the kernel matrix K of m samples.

    K is symmetric: it is computed and stored as strips of rows, each from the diagonal on. Its
    values are stored less a constant, which centring removes, so that in single precision the
    digits of products go to what differs between samples.

    Parameters
    ----------
    tile : callable
        Writes the kernel values of two slices of samples into an array of ``dtype``.
    n_samples : int
    dtype : dtype
        Precision of storage and of products.
    likely : ndarray of shape (m, k), optional
        Values on the samples that directions of large variance are likely to have.
    run : callable, default=map
        What computes the tiles and the parts of a product: the ``map`` of a pool of threads.

    Attributes
    ----------
    mean : ndarray of shape (m,)
        Mean of each column of K.
    trace : float
        tr HKH.
    """

    def __init__(
        self,
        tile: Tile,
        n_samples: int,
        dtype: Any,
        likely: np.ndarray | None = None,
        run: Run = map,
    ) -> None:
        self.n_samples = n_samples
        self.likely = np.empty((n_samples, 0)) if likely is None else likely
        self._dtype = np.dtype(dtype)
        self._run = run
        some = min(SOME, n_samples)
        values = np.empty((some, some), dtype=self._dtype)
        tile(slice(0, some), slice(n_samples - some, n_samples), values)
        constant = self._dtype.type(values.mean())
        self._strips = _strips(n_samples, self._dtype)

        def fill(place: tuple[int, slice]) -> None:
            (rows, strip), own = self._strips[place[0]], place[1]
            part = strip[own, own.start :]
            first = slice(rows.start + own.start, rows.start + own.stop)
            tile(first, slice(first.start, n_samples), part)
            part -= constant

        places = [
            (number, own)
            for number, (_, strip) in enumerate(self._strips)
            for own in slices(strip.shape[0], max(1, TILE // strip.shape[1]))
        ]
        for _ in run(fill, places):
            pass
        for number, own in places:  # what is left of the diagonal in a strip is known by now
            strip = self._strips[number][1]
            strip[own, : own.start] = strip[: own.start, own].T
        sums = self._product(np.ones((n_samples, 1), dtype=self._dtype))[:, 0]
        self.mean = sums / n_samples + float(constant)
        diagonals = [strip.diagonal().sum(dtype=np.float64) for _, strip in self._strips]
        self.trace = float(sum(diagonals) - sums.sum() / n_samples)

    @property
    def eps(self) -> float:
        """Relative rounding error of one value."""
        return float(np.finfo(self._dtype).eps)

    def times(self, columns: np.ndarray) -> np.ndarray:
        """HKH times columns of mean zero, of shape (m, k), in float64."""
        product = self._product(np.ascontiguousarray(columns, dtype=self._dtype))
        product -= np.full(len(product), 1.0 / len(product)) @ product
        return product

    def _product(self, columns: np.ndarray) -> np.ndarray:
        """The stored matrix times columns."""
        width = columns.shape[1]
        # One after another a few columns take less time than a block
        blocks = range(width) if width < BLOCK else [slice(None)]

        def of_part(number: int) -> np.ndarray:
            # Strips get shorter: each part has as many that come early as that come late
            turn = 2 * PARTS
            own = self._strips[number::turn] + self._strips[turn - 1 - number :: turn]
            product = np.zeros(columns.shape)
            for rows, strip in own:
                for panel in slices(strip.shape[1], PANEL):
                    first = slice(rows.start + panel.start, rows.start + panel.stop)
                    beyond = slice(max(first.start, rows.stop), first.stop)
                    above = strip[:, beyond.start - rows.start : beyond.stop - rows.start].T
                    for some in blocks:
                        product[rows, some] += strip[:, panel] @ columns[first, some]
                        product[beyond, some] += above @ columns[rows, some]
            return product

        run = self._run if self.n_samples * columns.size >= WORK else map
        products = iter(run(of_part, range(min(PARTS, len(self._strips)))))
        total: np.ndarray = next(products)
        for product in products:
            total += product
        return total


def _strips(n_samples: int, dtype: np.dtype) -> list[tuple[slice, np.ndarray]]:
    """Slices of rows, each with room for its values against its own and all later columns.

    All of it is one piece of memory, which systems hand out faster than many small ones.
    """
    parts = list(slices(n_samples, STRIP))
    shapes = [(rows.stop - rows.start, n_samples - rows.start) for rows in parts]
    stops = np.cumsum([height * width for height, width in shapes])
    pieces = np.split(np.empty(stops[-1], dtype=dtype), stops[:-1])
    return [
        (rows, piece.reshape(shape))
        for rows, piece, shape in zip(parts, pieces, shapes, strict=True)
    ]


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
