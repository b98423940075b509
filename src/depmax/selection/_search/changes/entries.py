"""Changes of kernels without a low-rank form, entry by entry.

Laplace kernels with the L1 norm change by ratios of exponentials, made once per column. Of other
kernels of the distance, the squared distances of a set of columns are made once, a tile of pairs at
a time; those of every changed set are found by taking a unit's squares away, or adding them. Where
the difference of two nearly equal numbers would lose digits, the few pairs concerned are summed
anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from depmax._threads import slices
from depmax.kernels.distances import Laplace
from depmax.selection._search.changes.problem import (
    Change,
    FastForm,
    Outcome,
    Problem,
    declares,
    is_exactly,
    takes_single_columns,
)

#: Largest |x|/bandwidth of a centred column whose exponentials are formed.
REACH = 300.0


def takes_near_values(problem: Problem, kernel: Laplace, change: Change) -> np.ndarray:
    """Which units are one column whose exponentials do not overflow; L1 norm only."""
    if kernel.norm != 1:
        return np.zeros(len(change.units), dtype=bool)
    takes = takes_single_columns(problem, kernel, change)
    columns = [int(unit[0]) for unit in change.of(np.flatnonzero(takes)).units]
    takes[takes] = problem.ranges.half_width[columns] / _bandwidth(kernel) <= REACH
    return takes


def laplace_changes(problem: Problem, kernel: Laplace, change: Change) -> Outcome:
    """Scores of single columns for a resolved Laplace kernel with the L1 norm."""
    from depmax.selection._search.changes._ratio_loop import ratio_sums

    columns = np.asarray(problem.X[:, np.concatenate(change.units)], dtype=np.float64)
    columns = columns - 0.5 * (columns.max(axis=0) + columns.min(axis=0))
    columns /= _bandwidth(kernel)
    grown = np.ascontiguousarray(np.exp(columns.T))
    shrunk = 1.0 / grown
    base = problem.X[:, change.base]

    def work(rows: slice) -> tuple[float, np.ndarray]:
        strip = problem.weighted(kernel, base, rows)
        sums = np.zeros(len(grown))
        ratio_sums(np.ascontiguousarray(strip), rows.start, grown, shrunk, change.joins, sums)
        return float(strip.sum()), sums

    parts = problem.over(work, problem.weights.strips())
    value = sum(part for part, _ in parts)
    return Outcome(value, np.sum([sums for _, sums in parts], axis=0))


def _bandwidth(kernel: Laplace) -> float:
    return kernel._width()


LAPLACE = FastForm(is_exactly(Laplace), laplace_changes, takes_near_values)


#: Columns of a tile of pairs, and pairs times units that are handled at once (half a megabyte).
TILE, BATCH = 512, 2**16
#: Squares below this share of the rows' squared lengths have lost too many digits.
CANCELLED = 1e-6
#: Numbers that a recomputation may gather at once.
GATHERED = 10**6


def explicit_scores(problem: Problem, kernel: Any, change: Change) -> Outcome:
    """Σ M k(D ∓ D_unit) for every unit, with k the kernel as a function of squared distances."""
    X = np.asarray(problem.X, dtype=np.float64)
    base = _Columns.of(X[:, change.base])
    units = _Singles.of(X, change) if change.is_single else _Groups.of(X, change)

    def work(rows: slice) -> np.ndarray:
        weights = problem.weights.strip(rows)
        sums = np.zeros(1 + len(change.units))
        for part in slices(weights.shape[1], TILE):
            tile = _Tile(rows, slice(rows.start + part.start, rows.start + part.stop))
            flat = np.ascontiguousarray(weights[:, part]).ravel()
            squares = base.squares(tile)
            # equal rows stay equal without a unit, and a sum of squares loses no digits
            careful = (squares > 0) & (not change.joins)
            floor = np.where(careful, CANCELLED * base.lengths(tile), 0.0)
            sums[0] += flat @ kernel.of_squares(squares.copy()).ravel()
            for batch in slices(len(change.units), units.at_once(squares.size)):
                changed = units.squares(batch, tile)
                changed *= -change.sign
                changed += squares
                for place in np.flatnonzero((changed < floor).any(axis=(1, 2))):
                    columns = change.after(change.units[batch.start + place])
                    tile.renew(changed[place], changed[place] < floor, X[:, columns])
                values = kernel.of_squares(changed)
                sums[1 + batch.start : 1 + batch.stop] += values.reshape(len(values), -1) @ flat
        return sums

    total = np.sum(problem.over(work, problem.weights.strips()), axis=0)
    return Outcome(float(total[0]), total[1:])


@dataclass(frozen=True)
class _Tile:
    """Some rows against some others."""

    rows: slice
    others: slice

    def renew(self, squares: np.ndarray, doubtful: np.ndarray, values: np.ndarray) -> None:
        """Replace the squared distances of doubtful pairs by sums of squared differences."""
        first, second = np.nonzero(doubtful)
        for part in slices(len(first), max(1, GATHERED // max(1, values.shape[1]))):
            here, there = first[part], second[part]
            differences = values[here + self.rows.start] - values[there + self.others.start]
            squares[here, there] = np.einsum("ij,ij->i", differences, differences)


@dataclass(frozen=True)
class _Columns:
    """Columns about their medians, and the squared lengths of their rows."""

    values: np.ndarray  # shape (n_samples, n_columns)
    norms: np.ndarray  # shape (n_samples,)

    @classmethod
    def of(cls, values: np.ndarray) -> _Columns:
        """Centred by medians, so that one far row leaves the others' lengths alone."""
        if values.shape[1]:
            values = values - np.median(values, axis=0)
        return cls(values, np.einsum("ij,ij->i", values, values))

    def squares(self, tile: _Tile) -> np.ndarray:
        """Squared distances of a tile by a matrix product; zero for equal rows."""
        squares = self.values[tile.rows] @ self.values[tile.others].T
        squares *= -2.0
        lengths = self.lengths(tile)
        squares += lengths
        tile.renew(squares, squares <= CANCELLED * lengths, self.values)
        return squares

    def lengths(self, tile: _Tile) -> np.ndarray:
        """Squared lengths of both rows of every pair, added."""
        return self.norms[tile.rows, np.newaxis] + self.norms[np.newaxis, tile.others]


@dataclass(frozen=True)
class _Singles:
    """Units of one column each."""

    columns: np.ndarray  # shape (n_units, n_samples)

    @classmethod
    def of(cls, X: np.ndarray, change: Change) -> _Singles:
        places = [int(unit[0]) for unit in change.units]
        return cls(np.ascontiguousarray(X[:, places].T))

    def at_once(self, n_pairs: int) -> int:
        """How many units to handle together."""
        return max(1, BATCH // n_pairs)

    def squares(self, units: slice, tile: _Tile) -> np.ndarray:
        """Squared differences of pairs, of shape (n_units, n_rows, n_others)."""
        first = self.columns[units, tile.rows]
        second = self.columns[units, tile.others]
        differences = first[:, :, np.newaxis] - second[:, np.newaxis, :]
        return np.square(differences, out=differences)


@dataclass(frozen=True)
class _Groups:
    """Units of several columns, one after the other."""

    units: list[_Columns]

    @classmethod
    def of(cls, X: np.ndarray, change: Change) -> _Groups:
        return cls([_Columns.of(X[:, unit]) for unit in change.units])

    def at_once(self, n_pairs: int) -> int:
        """How many units to handle together."""
        return 1

    def squares(self, units: slice, tile: _Tile) -> np.ndarray:
        """Squared distances of pairs, of shape (1, n_rows, n_others)."""
        return self.units[units.start].squares(tile)[np.newaxis]


DISTANCES = FastForm(declares("radial"), explicit_scores)
