"""How dependence changes when a column leaves a set or joins it, for every column at once."""

from depmax.selection._search.changes import entries, factors, linear, powers
from depmax.selection._search.changes.problem import (
    Change,
    FastForm,
    Outcome,
    Problem,
    changes,
    has_fast_form,
    register_fast_form,
)

# What is registered last is asked first.
for _form in (
    entries.DISTANCES,
    factors.LEVELS,
    entries.LAPLACE,
    powers.GAUSSIAN,
    powers.POLYNOMIAL,
    linear.LINEAR,
):
    register_fast_form(_form)

__all__ = [
    "Change",
    "FastForm",
    "Outcome",
    "Problem",
    "changes",
    "has_fast_form",
    "register_fast_form",
]
