"""Changes by units that hold few distinct rows, such as the indicators of a category.

A kernel that factors over columns is K∘k_u^{±1} once a unit u has joined or left, and k_u depends
on the levels (the distinct rows of u) of two rows only. So a score is

    Σ_a Σ_l (WZ)_al k_u(l_a, l)^{±1}

with W = M∘K and Z the indicators of all levels of all units: one sparse product, whose effort does
not grow with the number of levels. K itself is the product of the same small tables k_u.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from depmax.kernels.kernel import Kernel
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


FORM = FastForm(declares("factors_over_features"), level_changes, takes_few_levels)
