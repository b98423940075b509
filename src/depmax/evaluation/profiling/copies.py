"""Rows and columns that repeat others exactly, found by sums over scrambled cells."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from depmax.evaluation.comparison.cautions import COPIES, MEASURED, MORE_THAN_CHANCE
from depmax.evaluation.profiling.columns import ColumnRead


@dataclass
class CopiesFound:
    """What repeats among the columns added so far.

    Rows and columns are equal if sums of 64 bits over their scrambled cells are: unequal ones of a
    million agree with a probability of 3e-8.
    """

    n_rows: int
    columns: dict[str, str] = field(default_factory=dict)  # copy -> the first
    gaps: dict[bytes, list[str]] = field(default_factory=dict)  # names by which cells are missing

    def __post_init__(self) -> None:
        rng = np.random.default_rng(0)
        self._rng, self._keys = rng, _words(rng, self.n_rows)
        self._sums = np.zeros(self.n_rows, dtype=np.uint64)
        self._firsts: dict[tuple[int, int], str] = {}
        self._log_chance = 0.0  # of the probability that two rows agree
        self._measured, self._n_added = False, 0

    def add(self, column: ColumnRead) -> None:
        """Look at a further column; identifiers do not make rows different."""
        name, kind = column.about.name, column.about.kind
        bits = column.cells.view(np.uint64)
        if kind not in ("constant", "empty"):
            key = int(_scrambled(bits ^ self._keys).sum()), hash(column.levels)
            first = self._firsts.setdefault(key, name)
            if first != name:
                self.columns[name] = first
        if column.about.missing and kind != "empty":
            pattern = np.packbits(np.isnan(column.cells)).tobytes()
            self.gaps.setdefault(pattern, []).append(name)
        if kind == "identifier" or name in self.columns:
            return
        self._sums += _scrambled(bits ^ _words(self._rng, 1))
        self._n_added += 1
        self._log_chance += np.log(max(column.coincidence, 1e-300))
        self._measured |= column.about.distinct >= max(10.0, MEASURED * self.n_rows)

    def rows(self) -> tuple[np.ndarray, bool]:
        """Rows that repeat an earlier one beside it, (n, 2), and whether by more than chance."""
        if self._n_added < 2:  # equal values of a column are not copied rows
            return np.empty((0, 2), dtype=np.int64), False
        _, first, place, counts = np.unique(
            self._sums, return_index=True, return_inverse=True, return_counts=True
        )
        firsts = first[place.ravel()]
        again = np.flatnonzero(firsts != np.arange(self.n_rows))
        pairs = float((counts * (counts - 1.0)).sum() / 2.0)
        expected = self.n_rows * (self.n_rows - 1.0) / 2.0 * np.exp(self._log_chance)
        many = len(again) >= max(3.0, COPIES * self.n_rows)
        beyond = many and (self._measured or pairs >= MORE_THAN_CHANCE * expected)
        return np.column_stack([again, firsts[again]]), bool(beyond)


def _words(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.integers(0, 2**64, count, dtype=np.uint64, endpoint=False)


def _scrambled(bits: np.ndarray) -> np.ndarray:
    """Every bit of the result depends on every bit (the end of SplitMix64)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
