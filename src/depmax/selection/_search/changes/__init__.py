"""How dependence changes when a column leaves a set or joins it, for every column at once."""

from depmax.selection._search.changes import explicit, gaussian, laplace, levels, linear, polynomial
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
for _module in (explicit, levels, laplace, gaussian, polynomial, linear):
    register_fast_form(_module.FORM)

__all__ = [
    "Change",
    "FastForm",
    "Outcome",
    "Problem",
    "changes",
    "has_fast_form",
    "register_fast_form",
]
