"""Categorical columns among pairs: every level against the rest, and back to pairs of columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from depmax._inputs.table import Categories
from depmax.dependence._pairs.ranking import Law


@dataclass(frozen=True)
class Levels:
    """A matrix in which a categorical column is replaced by an indicator of each of its levels.

    A column with two levels is a single indicator. The others are a contrast each; a pair of
    columns then has several contrasts, of which the largest score counts.
    """

    values: np.ndarray  # shape (n_samples, n_contrasts)
    starts: np.ndarray  # first contrast of every column and, at the end, n_contrasts

    @classmethod
    def of(cls, values: np.ndarray, categories: Categories) -> Levels:
        """Contrasts of a matrix whose categorical columns hold positions of levels."""
        counts = np.ones(values.shape[1], dtype=np.intp)
        for position, levels in categories.items():
            counts[position] = len(levels) if len(levels) > 2 else 1
        starts = np.concatenate([[0], np.cumsum(counts)])
        if counts.max() == 1:
            return cls(values, starts)
        expanded = np.repeat(values, counts, axis=1)
        for column in np.flatnonzero(counts > 1):
            part = slice(starts[column], starts[column + 1])
            expanded[:, part] = expanded[:, part] == np.arange(counts[column])
        return cls(expanded, starts)

    @property
    def n_columns(self) -> int:
        """Number of columns before the replacement."""
        return len(self.starts) - 1

    def blocks(self, size: int) -> Iterator[slice]:
        """Consecutive columns with at most ``size`` contrasts together, or one with more."""
        start = 0
        while start < self.n_columns:
            fits = np.searchsorted(self.starts, self.starts[start] + size, side="right") - 1
            stop = max(start + 1, int(fits))
            yield slice(start, stop)
            start = stop

    def contrasts(self, columns: slice) -> slice:
        """Contrasts of consecutive columns."""
        return slice(int(self.starts[columns.start]), int(self.starts[columns.stop]))

    def owners(self, contrasts: Sequence[int]) -> tuple[int, ...]:
        """Columns of some contrasts, each once, in order."""
        columns = np.searchsorted(self.starts, contrasts, side="right") - 1
        return tuple(dict.fromkeys(columns.tolist()))

    def n_choices(self, first: np.ndarray | slice, second: np.ndarray | slice) -> np.ndarray:
        """Number of contrasts of pairs of columns (all pairs of two blocks for slices)."""
        counts = np.diff(self.starts)
        if isinstance(first, slice):
            return np.multiply.outer(counts[first], counts[second])
        return counts[first] * counts[second]

    def best(self, tile: np.ndarray, rows: slice, columns: slice, law: Law) -> np.ndarray:
        """Scores of pairs of columns: the largest contrast's, lowered for having been chosen.

        The p-value of the result is that of the contrast times the number of contrasts
        (Bonferroni), so that pairs of columns with few and with many levels are comparable.
        """
        counts = self.n_choices(rows, columns)
        if counts.max() == 1:
            return tile
        for axis, part in enumerate((rows, columns)):
            tile = np.maximum.reduceat(tile, self.starts[part] - self.starts[part.start], axis=axis)
        return law.after_choice(tile, counts)
