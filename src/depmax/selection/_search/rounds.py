"""Greedy searches over units of columns under HSIC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from depmax._threads import map_threads
from depmax.data.sample import Sample
from depmax.dependence._terms import cosine, self_and_cross_terms, terms
from depmax.kernels import Linear
from depmax.kernels._parts import Choose
from depmax.kernels.kernel import Kernel
from depmax.kernels.neutral import Gaps, Neutral, drawn
from depmax.maps.incomplete_cholesky import factor_to
from depmax.selection._search.changes import Change, Outcome, Problem, changes
from depmax.selection._search.changes.target_weights import TargetWeights
from depmax.selection._search.units import columns_of_units

Result = TypeVar("Result")

#: Share of its trace that a factor of the target's kernel may lack, and its columns at most.
FACTOR_TOL, FACTOR_RANK = 1e-9, 64


@dataclass(frozen=True)
class Blocks:
    """Problems of a search, one per block of rows, made when they are visited.

    One block is kept with all it has read off its rows; several are made anew at each visit, so
    that memory does not grow with the number of rows.
    """

    X: Any
    target: Sample
    rows: Sequence[Any]  # row numbers of every block; of a single one slice(None)
    unbiased: bool
    dtype: np.dtype[Any]
    n_jobs: int | None
    cells: Sequence[np.ndarray] = ()  # columns that are missing together in some rows

    @classmethod
    def of(
        cls,
        X: Any,
        target: Sample,
        block_size: int | None,
        unbiased: bool,
        precision: Callable[[int], np.dtype[Any]],
        n_jobs: int | None,
        cells: Sequence[np.ndarray] = (),
    ) -> Blocks:
        """Seeded random blocks of about ``block_size`` rows; None is one block of all rows."""
        m = target.n_samples
        rows: Sequence[Any] = [slice(None)]
        if block_size is not None and block_size < m:
            order = np.random.default_rng(0).permutation(m)
            rows = np.array_split(order, m // block_size)
        entries = m * min(m, block_size or m)
        return cls(X, target, rows, unbiased, precision(entries), n_jobs, cells)

    def visit(
        self, work: Callable[[Problem], Result], columns: np.ndarray | None = None
    ) -> list[Result]:
        """Results of every block, in order; several blocks are shared out among threads.

        Several blocks are made of some ``columns`` only.
        """
        if len(self.rows) == 1:
            return [work(self._whole)]
        _ = self._factored  # once, not in every thread
        return map_threads(lambda rows: self._visit(work, rows, columns), self.rows, self.n_jobs)

    def outcomes(self, kernel: Kernel, change: Change) -> list[Outcome]:
        """Outcome of a change in every block."""
        columns = None
        if len(self.rows) > 1:
            columns = np.unique(np.concatenate([change.base, *change.units]))
            change = change.among(columns)
        return self.visit(lambda problem: changes(problem, kernel, change), columns)

    def _visit(
        self, work: Callable[[Problem], Result], rows: Any, columns: np.ndarray | None
    ) -> Result:
        problem = self._problem(rows, columns)
        try:
            return work(problem)
        finally:
            problem.forget()

    def dependence(self, side: Sample) -> float:
        """HSIC of a side of its own with the target, averaged over the blocks."""
        if len(self.rows) == 1:
            return terms(side, self.target, unbiased=self.unbiased).hsic()
        values = [
            terms(side.take(rows), self.target.take(rows), unbiased=self.unbiased).hsic()
            for rows in self.rows
        ]
        return float(self.weights @ values)

    @property
    def weights(self) -> np.ndarray:
        """Share of every block in an average over rows."""
        weight = self.target.weight
        every = np.ones(self.target.n_samples) if weight is None else weight
        sizes = np.array([every[rows].sum() for rows in self.rows])
        return sizes / sizes.sum()

    @cached_property
    def _whole(self) -> Problem:
        weights = TargetWeights.of(self.target, self.unbiased)
        return Problem(self.X, weights, self.dtype, self.n_jobs, self.cells)

    @cached_property
    def _factored(self) -> Sample:
        """The target through few coordinates if there are any, exact ones or a factor.

        Weights of pairs of rows are then products, made anew at each visit.
        """
        target = self.target
        if target.is_narrow or not (target.is_array and target.kernel.capabilities.radial):
            return target
        partial = factor_to(target, FACTOR_TOL, FACTOR_RANK)
        if partial.residual.sum() > FACTOR_TOL * partial.diagonal.sum():
            return target
        return Sample(Linear(), np.ascontiguousarray(partial.factor), weight=target.weight)

    def _problem(self, rows: Any, columns: np.ndarray | None) -> Problem:
        weights = TargetWeights.of(self._factored.take(rows), self.unbiased)
        if columns is None:
            columns = np.arange(self.X.shape[1])
        whole = len(columns) == self.X.shape[1]
        X = self.X[rows] if whole else self.X[np.ix_(rows, columns)]
        kept = [np.searchsorted(columns, c) for c in self.cells if np.isin(c, columns).all()]
        cells = [cell for cell in kept if np.isnan(X[:, cell[0]]).any()]  # here, not in some row
        return Problem(X, weights, self.dtype, 1, cells)


#: Rows that a bandwidth is read off in every round, seeded.
RESOLVE_ROWS = 500
#: Candidates whose bandwidths are averaged in a forward round.
FORWARD_WIDTHS = 9

Report = Callable[[int, float], None]


@dataclass(frozen=True)
class SearchResult:
    """Units from best to worst, their scores when decided, and the dependence along the way."""

    order: np.ndarray
    scores: np.ndarray
    path: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Setting:
    """Everything a search needs: blocks of rows, units, the kernel's recipe, the step."""

    blocks: Blocks  # of rows
    X: Any
    columns: Sequence[np.ndarray]  # columns of every unit
    owners: np.ndarray  # per column of X: the column of the table that it is made of
    recipe: Kernel
    step: float
    choose: Callable[[np.ndarray], Choose] | None  # the target of some rows, for "maximize"
    report: Report

    def resolve(self, columns: np.ndarray) -> Kernel:
        """The kernel for a set of columns, its bandwidth read off at most 500 rows."""
        if self.recipe.is_resolved:
            return self.recipe.resolve(self.X[:1, columns])
        rows, sample = self._sample
        choose = None if self.choose is None else self.choose(rows)
        n_inputs = self.n_inputs(columns)
        return self.recipe.resolve(sample[:, columns], choose, self._mass_of(rows), n_inputs)

    def _mass_of(self, rows: np.ndarray) -> np.ndarray | None:
        """What rows that a kernel is resolved on stand for: all rows, if it is fitted to them."""
        weight = self.blocks.target.weight
        some = None if weight is None else weight[rows]
        if len(rows) == self.X.shape[0] or not self.recipe.capabilities.fits_columns:
            return some
        some = np.ones(len(rows)) if some is None else some
        return some * (self.blocks.target.total / some.sum())

    def n_inputs(self, columns: np.ndarray) -> int:
        """How many columns of the table some columns are made of."""
        return len(np.unique(self.owners[columns]))

    @cached_property
    def _sample(self) -> tuple[np.ndarray, Any]:
        """Numbers and values of the rows that bandwidths are read off."""
        m = self.X.shape[0]
        X = drawn(self.X) if len(self.blocks.cells) else self.X
        if m <= RESOLVE_ROWS:
            return np.arange(m), X
        rows = np.random.default_rng(0).choice(m, RESOLVE_ROWS, replace=False)
        return rows, X[rows]

    def try_kernel(self, columns: np.ndarray) -> None:
        """Compare a few rows over these columns, so that what does not work fails at once."""
        self.resolve(columns)(self.X[:2][:, columns])

    def side(
        self, columns: np.ndarray, rows: np.ndarray, weight: np.ndarray | None = None
    ) -> Sample:
        """Some columns of rows with the kernel that is resolved for these columns."""
        kernel = self.resolve(columns)
        if len(self.blocks.cells):
            kernel = Neutral(kernel, Gaps.of(self.X, self.blocks.cells).among(columns))
        return Sample(kernel, rows[:, columns], weight=weight)

    def outcome(self, change: Change) -> Outcome:
        """Dependence after every change, averaged over the blocks of rows."""
        if self.recipe.capabilities.fits_columns:
            return self._outcome_set_by_set(change)
        kernel = self._kernel_of_candidates(change) if change.joins else self.resolve(change.base)
        parts = self.blocks.outcomes(kernel, change)
        weights = self.blocks.weights
        return Outcome(
            float(weights @ [part.value for part in parts]),
            weights @ np.array([part.scores for part in parts]),
            max(part.error for part in parts),
        )

    def value(self, columns: np.ndarray) -> float:
        """Dependence of a set of columns."""
        return self.outcome(Change(columns, [], joins=False)).value

    def _outcome_set_by_set(self, change: Change) -> Outcome:
        """The same with a kernel fitted to each set of columns."""
        sets = [change.base, *(change.after(unit) for unit in change.units)]
        values = map_threads(self._dependence, sets, self.blocks.n_jobs)
        return Outcome(values[0], np.array(values[1:]))

    def _dependence(self, columns: np.ndarray) -> float:
        """Dependence of a set of columns, 0 of none."""
        if not len(columns):
            return 0.0
        rows = self.X[:, columns]
        return self.blocks.dependence(
            Sample(self.resolve(columns), rows, weight=self.blocks.target.weight)
        )

    def _kernel_of_candidates(self, change: Change) -> Kernel:
        """One kernel for all units that may join: the middle one of those that a few give."""
        if self.recipe.is_resolved:
            return self.recipe
        count = len(change.units)
        places = np.linspace(0, count - 1, min(count, FORWARD_WIDTHS)).astype(int)
        kernels = [self.resolve(change.after(change.units[place])) for place in places]
        widths = [getattr(kernel, "bandwidth", 0.0) for kernel in kernels]
        return kernels[int(np.argsort(widths)[len(widths) // 2])]

    def alignment(self, columns: np.ndarray) -> float:
        """Centred alignment of some columns with the target: unbiased HSIC, at most 1.

        By at most 500 rows, which is enough to compare amounts.
        """
        numbers, _ = self._sample
        target = self.blocks.target.take(numbers)
        side = self.side(columns, self.X[numbers], target.weight)
        own, of_target, cross = self_and_cross_terms(side, target)
        return cosine(cross.hsic(), own.hsic(), of_target.hsic())

    def count(self, remaining: int) -> int:
        """How many units one round decides: a share of those left, or a fixed number."""
        return max(1, int(self.step * remaining)) if self.step < 1 else int(self.step)


def backward(
    setting: Setting,
    units: Sequence[int],
    may_leave: Callable[[Sequence[int]], Sequence[int]] = list,
) -> SearchResult:
    """Drop the units whose loss leaves most dependence, of those that may leave."""
    active = list(units)
    worst_first: list[int] = []
    scores = np.zeros(len(setting.columns))
    path = []
    while active:
        base = columns_of_units(setting.columns, active)
        change = Change(base, [setting.columns[unit] for unit in active], joins=False)
        if len(active) == 1:
            only = setting.value(base)
            path.append((setting.n_inputs(base), only))
            scores[active[0]] = only
            worst_first.append(active.pop())
            break
        outcome = setting.outcome(change)
        path.append((setting.n_inputs(base), outcome.value))
        setting.report(*path[-1])
        after = dict(zip(active, outcome.scores, strict=True))
        free = may_leave(active)
        count = min(setting.count(len(active)), len(free), len(active) - 1)
        # most dependence left first; among equals the later column leaves
        for unit in sorted(free, key=lambda unit: (-after[unit], -unit))[:count]:
            scores[unit] = outcome.value - after[unit]
            worst_first.append(unit)
            active.remove(unit)
    return SearchResult(np.array(worst_first[::-1]), scores, tuple(path))


def forward(setting: Setting, units: Sequence[int], n_requested: int) -> SearchResult:
    """Add the units that make most dependence while at most ``n_requested`` columns are chosen.

    The best unit is chosen even if it alone has more columns. The rest is ranked as it was left.
    """
    chosen: list[int] = []
    rest = list(units)
    as_left = rest  # the rest, best first by the last round
    scores = np.zeros(len(setting.columns))
    path = []
    sizes = [setting.n_inputs(columns) for columns in setting.columns]
    base, n_chosen = columns_of_units(setting.columns, []), 0
    while rest and n_chosen < n_requested:
        candidates = [setting.columns[unit] for unit in rest]
        outcome = setting.outcome(Change(base, candidates, joins=True))
        ranked = sorted(range(len(rest)), key=lambda place: (-outcome.scores[place], rest[place]))
        for place, unit in enumerate(rest):
            scores[unit] = outcome.scores[place]
        as_left = [rest[place] for place in ranked]
        entering: list[int] = []
        while as_left and len(entering) < setting.count(len(rest)):
            fits = n_chosen + sizes[as_left[0]] <= n_requested
            if not fits and (chosen or entering):
                break
            n_chosen += sizes[as_left[0]]
            entering.append(as_left.pop(0))
        if not entering:  # the next best unit is too large
            break
        chosen += entering
        rest = sorted(as_left)
        base = columns_of_units(setting.columns, chosen)
        path.append((n_chosen, setting.value(base)))
        setting.report(*path[-1])
    return SearchResult(np.array(chosen + as_left), scores, tuple(path))
