"""Changes of the L1 Laplace kernel: no low-rank form, but no exponentials either."""

from __future__ import annotations

import numpy as np

from depmax.kernels.laplace import Laplace
from depmax.selection._search.changes.problem import (
    Change,
    FastForm,
    Outcome,
    Problem,
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
    return float(kernel.bandwidth)


FORM = FastForm(is_exactly(Laplace), laplace_changes, takes_near_values)
