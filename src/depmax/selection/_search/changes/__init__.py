"""How dependence changes when a column leaves a set or joins it, for every column at once."""

import numpy as np

from depmax.kernels.kernel import Kernel
from depmax.selection._search.changes import explicit, gaussian, laplace, levels, linear, polynomial
from depmax.selection._search.changes.problem import (
    Change,
    FastForm,
    Outcome,
    Problem,
    plain_changes,
)

#: Fast forms, the first that takes a unit scores it.
_FORMS: list[FastForm] = [
    module.FORM for module in (linear, polynomial, gaussian, laplace, levels, explicit)
]


def register_fast_form(form: FastForm) -> None:
    """Let BAHSIC and FOHSIC score units of columns by ``form``, before all forms known so far.

    Examples
    --------
    A kernel that adds over columns, and its form: without a column it loses this column's share.

    >>> import numpy as np
    >>> from depmax import BAHSIC
    >>> from depmax.kernels import Kernel
    >>> from depmax.selection import FastForm, Outcome, register_fast_form
    >>> class Signs(Kernel):
    ...     def _gram(self, X, Z):
    ...         return np.sign(X) @ np.sign(Z).T
    ...     def _diag(self, X):
    ...         return np.square(np.sign(X)).sum(axis=1)
    >>> def sign_changes(problem, kernel, change):
    ...     signs = np.sign(problem.X)
    ...     shares = np.zeros(signs.shape[1])
    ...     for rows in problem.weights.strips():
    ...         products = problem.weights.strip(rows) @ signs[rows.start :]
    ...         shares += np.einsum("ij,ij->j", products, signs[rows])
    ...     value = shares[change.base].sum()
    ...     parts = np.array([shares[unit].sum() for unit in change.units])
    ...     return Outcome(value, value - change.sign * parts)
    >>> register_fast_form(FastForm(lambda kernel: type(kernel) is Signs, sign_changes))
    >>> X = np.random.default_rng(0).normal(size=(100, 5))
    >>> BAHSIC(1, kernel=Signs()).fit(X, X[:, 3] > 0).get_support(indices=True)
    array([3])
    """
    _FORMS.insert(0, form)


def has_fast_form(kernel: Kernel) -> bool:
    """Whether some units are scored without a kernel matrix of their own."""
    return any(form.suits(kernel) for form in _FORMS)


def changes(problem: Problem, kernel: Kernel, change: Change) -> Outcome:
    """Dependence after each change, every unit by the first form that takes it."""
    scores, error, value = np.empty(len(change.units)), 0.0, None
    left = np.arange(len(change.units))
    for form in [form for form in _FORMS if form.suits(kernel)]:
        taken = form.takes(problem, kernel, change.of(left))
        if taken.any():
            outcome = form.outcome(problem, kernel, change.of(left[taken]))
            scores[left[taken]] = outcome.scores
            error = max(error, outcome.error)
            value = outcome.value if value is None else value
            left = left[~taken]
    if len(left) or value is None:
        outcome = plain_changes(problem, kernel, change.of(left))
        scores[left] = outcome.scores
        value = outcome.value if value is None else value
    return Outcome(value, scores, error)


__all__ = ["Change", "FastForm", "Outcome", "Problem", "changes", "register_fast_form"]
