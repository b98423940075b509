"""What a search looks at: columns, weights of pairs of rows, and one change of the columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs

from depmax._threads import map_threads, slices
from depmax.kernels.bandwidth import with_far_values
from depmax.kernels.kernel import Kernel
from depmax.selection._search.changes.target_weights import TargetWeights

#: Pairs of rows up to which the weights are kept from round to round (a constant 64 MB at most).
KEPT = 2**24
#: Multiplications and additions that take longer than waking threads does.
WORTH_THREADS = 10**8
#: Rows that are turned into columns at a time.
ROWS = 256

Part = TypeVar("Part")
Result = TypeVar("Result")

#: Even powers whose means are known; those of higher powers are smaller.
POWERS = 6
#: Columns whose powers are made at a time.
COLUMNS = 64


@dataclass(frozen=True)
class Ranges:
    """Where the values of each column lie."""

    middle: np.ndarray  # half-way between the smallest and the largest value, if none is far
    half_width: np.ndarray  # largest distance from the middle
    variance: np.ndarray
    gap: np.ndarray  # between the values of a column that has two of them, 0 of all others


@dataclass(frozen=True)
class Problem:
    """Rows to search over and the weights that the target gives to pairs of them."""

    X: Any  # (n_samples, n_features), dense or sparse
    weights: TargetWeights
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))
    n_jobs: int | None = None
    cells: Sequence[np.ndarray] = ()  # columns that are missing together in some rows

    def columns(self, chosen: np.ndarray) -> np.ndarray:
        """Some columns as a dense contiguous matrix in the precision of the search."""
        return np.ascontiguousarray(self.X[:, chosen], dtype=self.dtype)

    @cached_property
    def ranges(self) -> Ranges:
        """Ranges of all columns, read once for all rounds of a search."""
        low, high = self.X.min(axis=0).astype(np.float64), self.X.max(axis=0).astype(np.float64)
        variance, middle = self.X.var(axis=0, dtype=np.float64), 0.5 * (low + high)
        median, is_far = with_far_values(self.X, 0.5 * (high - low))
        middle = np.where(is_far, median, middle)
        gap = np.where(_only(self.X, low, high), high - low, 0.0)
        return Ranges(middle, np.maximum(high - middle, middle - low), variance, gap)

    @cached_property
    def centred(self) -> np.ndarray:
        """Columns about the middles of their ranges, one per row: (n_features, n_samples)."""
        moved = np.empty(self.X.shape[::-1], dtype=self.dtype)
        for part in slices(self.X.shape[0], ROWS):
            moved[:, part] = (self.X[part] - self.ranges.middle).T
        return moved

    @cached_property
    def mean_powers(self) -> np.ndarray:
        """Means of (x/h)², (x/h)⁴, … of the centred columns, h half their range: (POWERS, d)."""
        widths = self.ranges.half_width
        factors = np.divide(1.0, widths, out=np.zeros_like(widths), where=widths > 0)
        means = np.empty((POWERS, len(widths)))

        def fill(part: slice) -> None:
            squares = self.centred[part] * factors[part, np.newaxis].astype(self.dtype)
            squares *= squares
            power = squares.copy()
            for mean in means:
                mean[part] = power.mean(axis=1)
                power *= squares

        self.over(fill, list(slices(len(widths), COLUMNS)), float(POWERS * self.centred.size))
        return means

    def strip(self, rows: slice) -> np.ndarray:
        """Strip of the weights, not to be written to; kept while there are few pairs."""
        kept: dict[int, np.ndarray] = self.__dict__.setdefault("_strips", {})
        strip = kept.get(rows.start)
        if strip is None:
            strip = self.weights.strip(rows)
            if self.weights.n_samples**2 <= KEPT:
                kept[rows.start] = strip
        return strip

    def weighted(self, kernel: Kernel, base: np.ndarray, rows: slice) -> np.ndarray:
        """Strip of W = M∘K for K of some columns; without any, K is 1."""
        strip = self.weights.strip(rows)
        if base.shape[1]:
            strip *= kernel(base[rows], base[rows.start :])
        return strip

    def space(self, n_rows: int, n_columns: int) -> np.ndarray:
        """An array to write into, the same one at every call: fresh memory costs page faults."""
        kept = self.__dict__.get("_space")
        if kept is None or kept.size < n_rows * n_columns:
            kept = self.__dict__["_space"] = np.empty(n_rows * n_columns, dtype=self.dtype)
        return kept[: n_rows * n_columns].reshape(n_rows, n_columns)

    @property
    def n_threads(self) -> int:
        """Threads that work at a time."""
        return int(effective_n_jobs(self.n_jobs))

    def forget(self) -> None:
        """Drop everything that was kept for later rounds."""
        kept = "ranges centred mean_powers _strips _space _inner_products _levels _gaps _filled"
        for name in kept.split():
            self.__dict__.pop(name, None)

    def over(
        self, work: Callable[[Part], Result], parts: Sequence[Part], effort: float = np.inf
    ) -> list[Result]:
        """Results of independent parts, in order; in threads where the ``effort`` is worth it.

        The effort is a number of multiplications and additions.
        """
        return map_threads(work, parts, self.n_jobs if effort >= WORTH_THREADS else 1)


def _only(X: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Which columns have these two values and no other."""
    few = X[:ROWS]
    only = ((few == low) | (few == high)).all(axis=0)
    some = np.flatnonzero(only)
    only[some] = [np.all((X[:, j] == low[j]) | (X[:, j] == high[j])) for j in some]
    return only


@dataclass(frozen=True)
class Change:
    """Units (single columns or groups) that leave a set of columns, or join it, one at a time."""

    base: np.ndarray  # columns of the set before the change
    units: Sequence[np.ndarray]  # columns of each candidate, none in two of them
    joins: bool  # whether a unit joins the set (forward) or leaves it (backward)

    @property
    def sign(self) -> int:
        """Sign of a unit's squared distances in the exponent of a kernel that factors."""
        return -1 if self.joins else 1

    @property
    def is_single(self) -> bool:
        """Whether every unit is one column."""
        return all(len(unit) == 1 for unit in self.units)

    def of(self, places: np.ndarray) -> Change:
        """The same change of some of the units."""
        return Change(self.base, [self.units[place] for place in places], self.joins)

    def among(self, columns: np.ndarray) -> Change:
        """The same change where columns are numbered by their places among some, in order."""
        units = [np.searchsorted(columns, unit) for unit in self.units]
        return Change(np.searchsorted(columns, self.base), units, self.joins)

    def after(self, unit: np.ndarray) -> np.ndarray:
        """The set after the change."""
        if self.joins:
            return np.concatenate([self.base, unit])
        return self.base[~np.isin(self.base, unit)]


@dataclass(frozen=True)
class Outcome:
    """Dependence before any change and after each one, and how exact the kernel after it is."""

    value: float
    scores: np.ndarray
    error: float = 0.0  # bound on the root mean square, over pairs, of what a kernel value lacks


def takes_every_unit(problem: Problem, kernel: Kernel, change: Change) -> np.ndarray:
    """All units of a change."""
    return np.ones(len(change.units), dtype=bool)


def takes_single_columns(problem: Problem, kernel: Kernel, change: Change) -> np.ndarray:
    """The units of one column each."""
    return np.array([len(unit) == 1 for unit in change.units], dtype=bool)


@dataclass(frozen=True)
class FastForm:
    """A way to score every change that some kernels allow, without a kernel matrix for each.

    Parameters
    ----------
    suits : callable
        ``suits(kernel)``: whether the form is that of a kernel, resolved or not.
    outcome : callable
        ``outcome(problem, kernel, change)``: the ``Outcome`` of a change of ``problem.X`` with a
        resolved kernel. HSIC is the sum over strips of ``problem.weights.strip(rows)`` times the
        kernel of ``X[rows]`` and ``X[rows.start:]``.
    takes : callable, optional
        ``takes(problem, kernel, change)``: a mask of the units that it can score, by default all.
    """

    suits: Callable[[Kernel], bool]
    outcome: Callable[[Problem, Any, Change], Outcome]
    takes: Callable[[Problem, Any, Change], np.ndarray] = takes_every_unit


def is_exactly(kind: type[Kernel]) -> Callable[[Kernel], bool]:
    """Whether a kernel is of a class, and not of one derived from it, whose values may differ."""
    return lambda kernel: type(kernel) is kind


def declares(ability: str) -> Callable[[Kernel], bool]:
    """Whether a kernel declares an ability, by its name among the ``Capabilities``."""
    return lambda kernel: bool(getattr(kernel.capabilities, ability))


def plain_changes(problem: Problem, kernel: Kernel, change: Change) -> Outcome:
    """Scores of every unit from a kernel matrix of its own, in strips."""

    def dependence(columns: np.ndarray) -> float:
        if not len(columns):
            return 0.0
        rows_of, total = problem.X[:, columns], 0.0
        for rows in problem.weights.strips():
            block = kernel(rows_of[rows], rows_of[rows.start :])
            np.fill_diagonal(block, kernel.diag(rows_of[rows]))  # free of rounding in distances
            total += problem.weights.dot(block, rows)
        return total

    scores = problem.over(lambda unit: dependence(change.after(unit)), list(change.units))
    return Outcome(dependence(change.base), np.array(scores))


#: Fast forms; the first that takes a unit scores it.
_FORMS: list[FastForm] = []


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
    >>> is_signs = lambda kernel, kind=Signs: type(kernel) is kind
    >>> register_fast_form(FastForm(is_signs, sign_changes))
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
    if len(problem.cells):
        from depmax.selection._search.changes.factors import gapped_changes

        return gapped_changes(problem, kernel, change)
    scores, error, value = np.empty(len(change.units)), 0.0, None
    left = np.arange(len(change.units))
    for form in [form for form in _FORMS if form.suits(kernel)]:
        if not len(left):
            break
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
