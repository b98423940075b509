"""The centred kernel matrix as an operator: made once, multiplied with blocks of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from depmax._resources import slices
from depmax.algebra.space import Space
from depmax.data.sample import Sample, in_double
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
#: Landmarks, at most, and how many samples there are for each.
LANDMARKS, ROWS_PER_LANDMARK = 256, 20

#: Writes the kernel values of one slice of samples against another into an array.
Tile = Callable[[slice, slice, np.ndarray], None]
#: Applies a function to every part of a computation, as ``map`` does, perhaps in threads.
Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


class Products:
    """HKH of m samples as an operator: a subclass implements ``times``.

    With weights w it is R(I - 1pᵀ)K(I - p1ᵀ)R with p = w/Σw and the roots R = diag(√w): products of
    samples that are measured from their mean and multiplied by √w. Its eigenvalues are those of the
    samples repeated.
    """

    #: Relative rounding error of one value.
    eps: float
    #: tr HKH.
    trace: float
    #: How many columns of HKH cost less than a product: ``columns`` gives these.
    n_landmarks = 0

    def __init__(self, n_samples: int, weight: np.ndarray | None) -> None:
        self.n_samples, self.weight = n_samples, weight
        total = n_samples if weight is None else weight.sum()
        #: Of each sample among all that these stand for, shape (m,).
        self.shares = np.full(n_samples, 1.0 / n_samples) if weight is None else weight / total
        self._roots = None if weight is None else np.sqrt(weight)[:, np.newaxis]

    def times(self, columns: np.ndarray) -> np.ndarray:
        """HKH times columns that ``centred`` gives, of shape (m, k), in float64."""
        raise NotImplementedError

    def columns(self, places: np.ndarray) -> np.ndarray:
        """Some columns of HKH, of shape (m, len(places)), where they cost little."""
        raise NotImplementedError

    def rooted(self, values: np.ndarray) -> np.ndarray:
        """Values at the samples, of shape (m, k), times √w."""
        return values if self._roots is None else self._roots * values

    def plain(self, values: np.ndarray) -> np.ndarray:
        """The inverse of ``rooted``."""
        return values if self._roots is None else values / self._roots

    def centred(self, columns: np.ndarray) -> np.ndarray:
        """Rooted columns less their means: orthogonal to √w."""
        if self._roots is None:
            return columns - self.shares @ columns
        return columns - self._roots * (self.shares @ (columns / self._roots))


class FeatureProducts(Products):
    """Products by features: K is not made, and each product visits the features twice."""

    def __init__(self, space: Space) -> None:
        super().__init__(space.n_samples, space.weight)
        self.space = space
        self.eps, self.trace = space.eps, space.variance

    def times(self, columns: np.ndarray) -> np.ndarray:
        """ΦΦᵀ times columns."""
        directions = self.space.cross(self.rooted(columns), weighted=False)
        return self.rooted(self.space.features(directions))


class Gram(Products):
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
    run : callable, default=map
        What computes the tiles and the parts of a product: the ``map`` of a pool of threads.
    weight : ndarray of shape (m,), optional
        How many samples each stands for.

    Attributes
    ----------
    mean : ndarray of shape (m,)
        Mean of each column of K.
    squares : ndarray of shape (m,)
        ‖φ‖² of every sample about the mean, but for a constant.
    """

    def __init__(
        self,
        tile: Tile,
        n_samples: int,
        dtype: Any,
        run: Run = map,
        weight: np.ndarray | None = None,
    ) -> None:
        super().__init__(n_samples, weight)
        self._dtype = np.dtype(dtype)
        self.eps = float(np.finfo(self._dtype).eps)
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
        means = self._product(self.shares.astype(self._dtype)[:, np.newaxis])[:, 0]
        self._means, self.mean = means, means + float(constant)
        diagonal = np.concatenate([strip.diagonal() for _, strip in self._strips])
        total = n_samples if weight is None else float(weight.sum())
        self.n_landmarks = min(LANDMARKS, n_samples // ROWS_PER_LANDMARK)
        self.squares = diagonal - 2.0 * means
        self.trace = float(total * (self.shares @ diagonal - self.shares @ means))

    def times(self, columns: np.ndarray) -> np.ndarray:
        """HKH times columns, by products with strips of K."""
        product = self._product(np.ascontiguousarray(self.rooted(columns), dtype=self._dtype))
        product -= self.shares @ product
        return self.rooted(product)

    def columns(self, places: np.ndarray) -> np.ndarray:
        """Some columns of HKH, from the strips."""
        found = np.empty((self.n_samples, len(places)))
        for rows, strip in self._strips:
            later = places >= rows.start
            found[rows, later] = strip[:, places[later] - rows.start]
            own = later & (places < rows.stop)
            found[rows.start :, own] = strip[places[own] - rows.start].T
        found -= self._means[:, np.newaxis]
        found -= self._means[places] - self.shares @ self._means
        return found if self._roots is None else self._roots * found * self._roots[places].T

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


def tile_of(data: Sample) -> Tile:
    """Kernel values in slices; rows of stationary kernels are measured from the mean.

    So an offset costs no digits.
    """
    kernel, rows = data.kernel, data.rows
    if not kernel.capabilities.stationary or not isinstance(rows, np.ndarray) or rows.ndim != 2:
        return kernel_tile(kernel, rows)
    centred = in_double(rows) - rows.mean(axis=0, dtype=np.float64)
    return (radial_tile if kernel.capabilities.radial else kernel_tile)(kernel, centred)


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
