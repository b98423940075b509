"""Changes of any kernel by its definition: the kernel of the columns after each change."""

from __future__ import annotations

from typing import Any

import numpy as np

from depmax.selection.changes.problem import Change, Outcome, Problem


def plain_changes(problem: Problem, kernel: Any, change: Change) -> Outcome:
    """Scores of every unit from a kernel matrix of its own, in strips."""
    X = problem.X

    def dependence(columns: np.ndarray) -> float:
        if not len(columns):
            return 0.0
        rows_of = X[:, columns]
        total = 0.0
        for rows in problem.weights.strips():
            block = kernel(rows_of[rows], rows_of[rows.start :])
            np.fill_diagonal(block, kernel.diag(rows_of[rows]))  # free of rounding in distances
            total += problem.weights.dot(block, rows)
        return total

    scores = problem.over(lambda unit: dependence(change.after(unit)), list(change.units))
    return Outcome(dependence(change.base), np.array(scores))
