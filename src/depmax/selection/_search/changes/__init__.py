"""How dependence changes when a column leaves a set or joins it, for every column at once."""

from collections.abc import Callable
from typing import Any

import numpy as np

from depmax.selection._search.changes.explicit import explicit_scores
from depmax.selection._search.changes.gaussian import gaussian_changes
from depmax.selection._search.changes.laplace import laplace_changes
from depmax.selection._search.changes.linear import linear_changes
from depmax.selection._search.changes.polynomial import polynomial_changes
from depmax.selection._search.changes.problem import Change, Outcome, Problem, plain_changes

#: Fast forms, by the name that a kernel declares in ``changes_by``.
FORMS: dict[str, Callable[[Problem, Any, Change], Outcome]] = {
    "squares": gaussian_changes,
    "ratios": laplace_changes,
    "distances": explicit_scores,
    "powers": polynomial_changes,
    "shares": linear_changes,
    "definition": plain_changes,
}


def changes(problem: Problem, kernel: Any, change: Change) -> Outcome:
    """Dependence after each change, by the fastest exact form that the kernel declares.

    Most forms are fast for single columns only, so these are not held up by a few groups.
    """
    form = FORMS[kernel.capabilities.changes_by if len(change.units) else "definition"]
    single = np.array([len(unit) == 1 for unit in change.units], dtype=bool)
    if single.all() or not single.any():
        return form(problem, kernel, change)
    scores, error = np.empty(len(single)), 0.0
    for part in (single, ~single):
        units = [unit for unit, chosen in zip(change.units, part, strict=True) if chosen]
        outcome = form(problem, kernel, Change(change.base, units, change.joins))
        scores[part] = outcome.scores
        error = max(error, outcome.error)
    return Outcome(outcome.value, scores, error)


__all__ = ["FORMS", "Change", "Outcome", "Problem", "changes"]
