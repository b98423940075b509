"""Whether a second reading of a table gives the rows of the first: sums of a part of them.

A lazy table whose graph draws, shuffles or queries without a fixed order gives other rows every
time it is read, and sums over several readings would belong to no table. Every 64th row of a
piece is summed, with a weight by its place; the sums of two readings differ by rounding at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from depmax.data.chunks import Chunk, add_up

#: Of so many rows one is summed, ...
STEP = 64
#: ... with weights between 1 and 2, which two places hardly share.
GOLDEN = 0.6180339887498949
#: Difference between the sums of two readings, as a share of their size, that rounding may make.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Mark:
    """Weighted sum of some rows, and the sum of their absolute values."""

    weighted: float
    size: float

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")  # sums that are not finite are not compared
    def of(cls, rows: Any, start: int) -> Mark:
        """Of consecutive rows, the first of which is at ``start`` in its piece."""
        first = -start % STEP
        some = rows[first::STEP]
        if some.dtype.kind not in "biuf":  # labels
            labels = [crc32(str(value).encode()) for value in some.ravel().tolist()]
            some = np.reshape(labels, some.shape)
        some = some.astype(np.float64)
        places = start + first + STEP * np.arange(some.shape[0])
        weights = 1.0 + places * GOLDEN % 1.0
        of_rows = np.asarray(some if some.ndim == 1 else some.sum(axis=1)).ravel()
        return cls(float(weights @ of_rows), float(abs(some).sum()))

    def __add__(self, other: Mark) -> Mark:
        return Mark(self.weighted + other.weighted, self.size + other.size)

    def contradicts(self, other: Mark) -> bool:
        """Whether this is the mark of other rows."""
        most = ROUNDING * max(self.size, other.size)
        return abs(self.weighted - other.weighted) > most


@dataclass(frozen=True)
class Marked:
    """What a visit made of some pieces, and the marks of X and of y in each."""

    result: Any
    x: Mapping[int, Mark]
    y: Mapping[int, Mark]

    def __add__(self, other: Marked) -> Marked:
        result = add_up((self.result, other.result))
        return Marked(result, {**self.x, **other.x}, {**self.y, **other.y})


def marked(work: Callable[[Iterator[Chunk]], Any], number: int, chunks: Iterator[Chunk]) -> Marked:
    """What ``work`` makes of the chunks of a piece, with the marks of all of its rows."""
    of_x: list[Mark] = []
    of_y: list[Mark] = []

    def read() -> Iterator[Chunk]:
        n_read = 0
        for chunk in chunks:
            if chunk.x is not None:
                of_x.append(Mark.of(chunk.x, n_read))
            if chunk.y is not None:
                of_y.append(Mark.of(chunk.y, n_read))
            n_read += chunk.n_rows
            yield chunk

    reading = read()
    result = work(reading)
    for _ in reading:  # rows that the work did not need
        pass
    x, y = add_up(of_x), add_up(of_y)
    return Marked(result, {} if x is None else {number: x}, {} if y is None else {number: y})
