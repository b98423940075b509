"""Changes of the L1 Laplace kernel: no low-rank form, but no exponentials either."""

from __future__ import annotations

from typing import Any

import numpy as np

from depmax.selection._search.changes.problem import Change, Outcome, Problem, plain_changes

#: Largest |x|/bandwidth of a centred column whose exponentials are formed.
REACH = 300.0


def laplace_changes(problem: Problem, kernel: Any, change: Change) -> Outcome:
    """Scores of every unit for a resolved Laplace kernel with the L1 norm."""
    if not change.is_single:
        return plain_changes(problem, kernel, change)
    from depmax.selection._search.changes._ratio_loop import ratio_sums

    columns = np.asarray(problem.X[:, np.concatenate(change.units)], dtype=np.float64)
    columns = columns - 0.5 * (columns.max(axis=0) + columns.min(axis=0))
    columns /= kernel.bandwidth
    near = np.abs(columns).max(axis=0) <= REACH
    grown = np.ascontiguousarray(np.exp(columns[:, near].T))
    shrunk = 1.0 / grown
    base = problem.X[:, change.base]

    def work(rows: slice) -> tuple[float, np.ndarray]:
        strip = problem.weights.strip(rows)
        if len(change.base):
            strip *= kernel(base[rows], base[rows.start :])
        sums = np.zeros(int(near.sum()))
        ratio_sums(np.ascontiguousarray(strip), rows.start, grown, shrunk, change.joins, sums)
        return float(strip.sum()), sums

    parts = problem.over(work, problem.weights.strips())
    value = sum(part for part, _ in parts)
    scores = np.empty(len(change.units))
    scores[near] = np.sum([sums for _, sums in parts], axis=0)
    if not near.all():
        rest = [unit for unit, easy in zip(change.units, near, strict=True) if not easy]
        far = plain_changes(problem, kernel, Change(change.base, rest, change.joins))
        scores[~near] = far.scores
    return Outcome(value, scores)
