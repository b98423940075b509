"""Changes of kernels that factor over columns: units of few distinct rows, and missing cells.

A kernel that factors over columns is K∘k_u^{±1} once a unit u has joined or left.

Of a unit with few distinct rows, such as the indicators of a category, k_u depends on the levels
(the distinct rows of u) of two rows only. So a score is

    Σ_a Σ_l (WZ)_al k_u(l_a, l)^{±1}

with W = M∘K and Z the indicators of all levels of all units: one sparse product, whose effort does
not grow with the number of levels. K itself is the product of the same small tables k_u.

A missing cell is the mean embedding of its column. The kernel is then exp(-S/c) with S a sum over
units of columns, in which a missing cell is t away from a value and u away from another missing
cell (``kernels/neutral.py``). A unit that leaves or joins multiplies K by exp(±S_u/c). For a single
column with missing cells filled by the middle of its range, from which the forms of complete
columns measure it, only the pairs with a missing cell are wrong: with n the rows that lack a value,

    Σ W (e^{±S_u/c} - e^{±filled/c}) = 2 nᵀWq + (e^{±u/c} - 1) nᵀWn,

q_b = e^{±t_b/c} - e^{±filled_b/c}. So columns with missing cells cost two more products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from depmax.kernels.kernel import Kernel
from depmax.kernels.neutral import GappedRows, Gaps
from depmax.selection._search.changes.entries import takes_near_values
from depmax.selection._search.changes.powers import (
    Series,
    pair_weights,
    takes_short_series,
)
from depmax.selection._search.changes.problem import Change, FastForm, Outcome, Problem, declares

#: Levels of a unit at most: the kernel of all pairs of them is formed.
MOST_LEVELS = 256
#: Smallest k_u that a kernel matrix is divided by.
SMALLEST = np.exp(-50.0)


@dataclass(frozen=True)
class Levels:
    """Distinct rows of a unit of several columns."""

    codes: np.ndarray  # the level of every row of the problem
    rows: np.ndarray  # shape (n_levels, n_columns)

    @classmethod
    def of(cls, problem: Problem, unit: np.ndarray) -> Levels:
        """Levels of a unit, found once for all rounds of a search."""
        kept: dict[bytes, Levels] = problem.__dict__.setdefault("_levels", {})
        key = unit.tobytes()
        if key not in kept:
            values = np.ascontiguousarray(problem.X[:, unit], dtype=np.float64)
            whole_rows = values.view(np.dtype((np.void, values.itemsize * values.shape[1])))
            _, first, codes = np.unique(whole_rows, return_index=True, return_inverse=True)
            kept[key] = cls(codes.ravel(), values[first])
        return kept[key]


def takes_few_levels(problem: Problem, kernel: Kernel, change: Change) -> np.ndarray:
    """Which units have few levels, none of them so far apart that K was lost."""

    def takes(unit: np.ndarray) -> bool:
        if len(unit) == 1:
            return False
        levels = Levels.of(problem, unit).rows
        return len(levels) <= MOST_LEVELS and bool(kernel(levels).min() >= SMALLEST)

    return np.array([takes(unit) for unit in change.units], dtype=bool)


def level_changes(problem: Problem, kernel: Kernel, change: Change) -> Outcome:
    """Scores of units with few levels for a kernel that factors over columns."""
    units = [Levels.of(problem, unit) for unit in change.units]
    tables = [kernel(unit.rows) for unit in units]
    ratios = [table ** float(-change.sign) for table in tables]
    starts = np.cumsum([0, *(len(unit.rows) for unit in units)])
    indicators = _indicators(units, starts)
    own = np.isin(change.base, np.concatenate(change.units))  # columns of units that may leave
    rest = problem.X[:, change.base[~own]]

    def work(rows: slice) -> tuple[float, np.ndarray]:
        strip = problem.weighted(kernel, rest, rows)
        if own.any():
            for unit, table in zip(units, tables, strict=True):
                strip *= np.take(table[unit.codes[rows]], unit.codes[rows.start :], axis=1)
        sums = indicators[rows.start :].T @ np.ascontiguousarray(strip.T)  # (levels, rows)
        parts = zip(units, ratios, starts[:-1], starts[1:], strict=True)
        scores = [
            np.vdot(ratio[:, unit.codes[rows]], sums[start:stop])
            for unit, ratio, start, stop in parts
        ]
        return float(strip.sum()), np.array(scores)

    results = problem.over(work, problem.weights.strips())
    value = sum(part for part, _ in results)
    return Outcome(value, np.sum([scores for _, scores in results], axis=0))


def _indicators(units: Sequence[Levels], starts: np.ndarray) -> sparse.csr_array:
    """Z, with a column for every level of every unit."""
    places = np.stack([unit.codes for unit in units], axis=1) + starts[:-1]
    ends = np.arange(0, places.size + 1, len(units))
    values = np.ones(places.size)
    return sparse.csr_array((values, places.ravel(), ends), (len(places), starts[-1]))


LEVELS = FastForm(declares("factors_over_features"), level_changes, takes_few_levels)


#: Largest S_u/c by which a kernel matrix is divided.
REACH = 50.0


def gapped_changes(problem: Problem, kernel: Any, change: Change) -> Outcome:
    """Scores of every unit, for a resolved kernel exp(-sum/decay) of rows with missing cells."""
    setting = _Setting.of(problem, kernel, change)
    by_columns, takes = _FORMS[kernel.norm_]
    taken = takes(setting.filled, kernel, change)
    scores, value = np.empty(len(change.units)), None
    if taken.any():
        value, scores[taken] = by_columns(setting, change.of(np.flatnonzero(taken)))
    if not taken.all() or value is None:
        value, scores[~taken] = _one_by_one(setting, change.of(np.flatnonzero(~taken)))
    return Outcome(value, scores)


@dataclass(frozen=True)
class _Setting:
    """Rows of a problem, ready to be compared, and with missing cells filled."""

    problem: Problem
    kernel: Any
    involved: np.ndarray  # columns
    seen: GappedRows  # these columns of all rows
    filled: Problem  # missing cells in the middle of the columns' ranges
    base: GappedRows

    @classmethod
    def of(cls, problem: Problem, kernel: Any, change: Change) -> _Setting:
        involved = np.unique(np.concatenate([change.base, *change.units]))
        kept: dict[str, Any] = problem.__dict__
        if "_gaps" not in kept:
            kept["_gaps"] = Gaps.of(problem.X, problem.cells)
        gaps = kept["_gaps"].among(involved)
        seen = gaps.see(problem.X[:, involved], kernel.norm_, kernel.decay)
        base = seen.among(np.searchsorted(involved, change.base))
        return cls(problem, kernel, involved, seen, _filled(problem), base)

    def rows_of(self, columns: np.ndarray) -> GappedRows:
        return self.seen.among(np.searchsorted(self.involved, columns))

    def sums(self, rows: GappedRows, strip: slice) -> np.ndarray:
        """Differences of a strip of rows with themselves and all later ones."""
        part, later = rows.take(strip), rows.take(slice(strip.start, None))
        sums = part.sums(later, self.kernel.difference_sums)
        np.fill_diagonal(sums, part.absent @ rows.apart)  # free of rounding
        return sums

    def weighted(self, strip: slice) -> np.ndarray:
        """Strip of W = M∘K."""
        values: np.ndarray = self.kernel.of_squares(self.sums(self.base, strip))
        return self.problem.weights.strip(strip) * values


def _filled(problem: Problem) -> Problem:
    """The same problem with the middle of its range in every missing cell, kept for all rounds."""
    kept: Problem | None = problem.__dict__.get("_filled")
    if kept is None:
        X = np.array(problem.X, dtype=np.float64)
        low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
        middles = np.nan_to_num(0.5 * (low + high))
        X = np.where(np.isnan(X), middles, X)
        kept = Problem(X, problem.weights, n_jobs=problem.n_jobs)
        problem.__dict__["_filled"] = kept
    return kept


@dataclass(frozen=True)
class _Corrections:
    """n and q + ½(e^{±u/c} - 1)n of the columns that have missing cells."""

    places: np.ndarray  # among the units
    absent: np.ndarray  # n, shape (n_columns, n_samples)
    other: np.ndarray

    @classmethod
    def of(cls, setting: _Setting, change: Change) -> _Corrections:
        """For units of one column each."""
        kernel, seen = setting.kernel, setting.seen
        factor = change.sign / kernel.decay
        columns = np.concatenate(change.units)
        cell_of = {int(setting.involved[first]): cell for cell, first in enumerate(seen.first)}
        places = np.array([p for p, c in enumerate(columns) if int(c) in cell_of], dtype=np.intp)
        cells = [cell_of[int(columns[place])] for place in places]
        absent, apart = seen.absent[:, cells].T, seen.apart[cells, np.newaxis]
        filled = setting.filled.centred[columns[places]]
        filled = np.abs(filled) if kernel.norm_ == 1 else filled**2
        at = seen.first[cells]
        means = np.array(
            [seen.filled[n > 0, column][0] for n, column in zip(absent, at, strict=True)]
        )
        means = means[:, np.newaxis] if len(means) else np.empty((0, 1))
        from_mean = np.abs(seen.filled[:, at].T - means) ** kernel.norm_
        away = seen.beyond[:, cells].T + from_mean  # t
        q = (np.exp(factor * away) - np.exp(factor * filled)) * (1.0 - absent)
        return cls(places, absent, q + 0.5 * np.expm1(factor * apart) * absent)

    def add(self, sums: np.ndarray, bilinear: Callable[[np.ndarray], np.ndarray]) -> None:
        """Add the corrections, given vᵀWv for every row v of a matrix."""
        if len(self.places):
            plus, minus = bilinear(self.other + self.absent), bilinear(self.other - self.absent)
            sums[self.places] += 0.5 * (plus - minus)


def _by_series(setting: _Setting, change: Change) -> tuple[float, np.ndarray]:
    """The Gaussian kernel and columns with a short power series (``gaussian.py``)."""
    problem, kernel = setting.filled, setting.kernel
    series = Series.of(problem, np.concatenate(change.units), change.sign / kernel.decay)
    corrections = _Corrections.of(setting, change)
    chunks = series.chunks(problem.n_threads)
    changes, total = np.zeros(len(change.units)), 0.0

    def fill(rows: slice, columns: slice, out: np.ndarray) -> None:
        out[...] = kernel.of_squares(setting.sums(setting.base, rows))

    for pairs in pair_weights(problem, fill):
        total += pairs.total
        for chunk in chunks:
            changes[chunk] += series.factors(problem, chunk).changes(pairs, len(chunk))
        corrections.add(changes, pairs.bilinear)
    return total, total + changes


def _by_ratios(setting: _Setting, change: Change) -> tuple[float, np.ndarray]:
    """The Laplace kernel and single columns (``laplace.py``)."""
    from depmax.selection._search.changes._ratio_loop import ratio_sums

    problem, kernel = setting.filled, setting.kernel
    grown = np.ascontiguousarray(
        np.exp(problem.centred[np.concatenate(change.units)] / kernel.decay)
    )
    shrunk = 1.0 / grown
    corrections = _Corrections.of(setting, change)

    def work(strip: slice) -> tuple[float, np.ndarray]:
        W = setting.weighted(strip)
        sums = np.zeros(len(grown))
        ratio_sums(np.ascontiguousarray(W), strip.start, grown, shrunk, change.joins, sums)
        later = slice(strip.start, None)
        corrections.add(sums, lambda rows: np.sum((rows[:, strip] @ W) * rows[:, later], axis=1))
        return float(W.sum()), sums

    parts = problem.over(work, problem.weights.strips())
    return sum(part for part, _ in parts), np.sum([sums for _, sums in parts], axis=0)


def _one_by_one(setting: _Setting, change: Change) -> tuple[float, np.ndarray]:
    """Any units: one exponential per pair of rows and unit."""
    kernel, problem = setting.kernel, setting.problem
    units = [setting.rows_of(unit) for unit in change.units]

    def work(strip: slice) -> np.ndarray:
        W = setting.weighted(strip)
        parts = [float(W.sum())]
        for columns, unit in zip(change.units, units, strict=True):
            sums = setting.sums(unit, strip)
            if not change.joins and sums.max() > REACH * kernel.decay:  # K was lost
                left = setting.rows_of(change.after(columns))
                values = kernel.of_squares(setting.sums(left, strip))
                parts.append(float(np.vdot(problem.weights.strip(strip), values)))
            else:
                sums *= change.sign / kernel.decay
                parts.append(float(np.vdot(W, np.exp(sums, out=sums))))
        return np.array(parts)

    total = np.sum(problem.over(work, problem.weights.strips()), axis=0)
    return float(total[0]), total[1:]


#: By the norm of the kernel's differences: how single columns are scored, and which.
_FORMS: dict[int, tuple[Any, Callable[[Problem, Any, Change], np.ndarray]]] = {
    1: (_by_ratios, takes_near_values),
    2: (_by_series, takes_short_series),
}
