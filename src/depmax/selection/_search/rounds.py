"""Greedy searches over units of columns under HSIC."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from depmax._inputs.levels import Missing
from depmax._inputs.table import Categories, constant_columns, has_missing
from depmax._threads import map_threads
from depmax.dependence._terms import cosine, self_and_cross_terms, terms
from depmax.kernels.kernel import Choose, Kernel, resolved_on
from depmax.kernels.mixed import indicator_scales
from depmax.kernels.neutral import Gaps, Neutral, drawn
from depmax.samples import Sample
from depmax.selection._search.changes import Change, Outcome, Problem, changes
from depmax.selection._search.changes.problem import TargetWeights

#: Rows that two columns must share before they are compared as a whole.
BEGINNING = 16


@dataclass(frozen=True)
class Units:
    """Columns of the expanded matrix that belong together, and the input columns they stand for."""

    X: Any  # input columns, categorical ones replaced by scaled indicators of their levels
    owners: np.ndarray  # per column of X: the column of the input that it stands for
    columns: Sequence[np.ndarray]  # per unit: columns of X
    members: Sequence[np.ndarray]  # per unit: columns of the input
    categories: Categories  # levels of the categorical columns of the input
    cells: Sequence[np.ndarray] = ()  # columns of X that are missing together in some rows

    def unit_of_inputs(self) -> np.ndarray:
        """The unit that each input column belongs to."""
        result = np.empty(sum(len(members) for members in self.members), dtype=np.intp)
        for unit, members in enumerate(self.members):
            result[members] = unit
        return result

    def uninformative(self) -> np.ndarray:
        """Units that say nothing new: constant, or an exact copy of an earlier one."""
        if sparse.issparse(self.X):
            return np.zeros(len(self.columns), dtype=bool)
        constant = constant_columns(self.X)
        result = np.array([bool(constant[columns].all()) for columns in self.columns])
        beginnings = [self.X[:BEGINNING, columns].tobytes() for columns in self.columns]
        alike = Counter(beginnings)  # missing cells are alike, too
        seen: set[bytes] = set()
        for number, columns in enumerate(self.columns):
            if alike[beginnings[number]] > 1:
                key = blake2b(self.X[:, columns].tobytes(), digest_size=16).digest()
                result[number] |= key in seen
                seen.add(key)
        return result


def make_units(
    X: Any,
    column_groups: Any,
    categories: Categories,
    kernel: Kernel,
    missing: Missing = "refuse",
    mass: np.ndarray | None = None,
) -> Units:
    """Units of a matrix with optional groups (one label per column) and categorical columns.

    With kernels of distances the indicators of categories are scaled as ``Mixed`` scales them, so
    that the kernel of the expanded matrix is the kernel of the table. A column of numbers whose
    missing cells are a level of their own has one more column, which tells where they are.
    """
    n_features = X.shape[1]
    scaled = kernel.capabilities.joins_categories == "distance"
    tells_gaps = missing == "level" and has_missing(X)
    expanded, places = _expand(X, categories, scaled, tells_gaps, mass)
    if column_groups is None:
        members = [np.array([column]) for column in range(n_features)]
    else:
        labels = np.asarray(column_groups)
        if labels.shape != (n_features,):
            raise ValueError(
                f"column_groups must hold one label per column of X ({n_features}), got shape "
                f"{labels.shape}."
            )
        _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
        in_order = np.argsort(first)  # groups in the order of their first column
        members = [np.flatnonzero(codes == code) for code in in_order]
    columns = [np.concatenate([places[member] for member in unit]) for unit in members]
    owners = np.repeat(np.arange(n_features), [len(place) for place in places])
    cells: list[np.ndarray] = []
    if has_missing(expanded):
        incomplete = np.isnan(expanded).any(axis=0)
        cells = [place[incomplete[place]] for place in places if incomplete[place].any()]
        if kernel.capabilities.is_linear:  # the mean embedding is the mean
            expanded, cells = Gaps.of(expanded, cells).filled(expanded), []
    return Units(expanded, owners, columns, members, categories, cells)


def _expand(
    X: Any, categories: Categories, scaled: bool, tells_gaps: bool, mass: np.ndarray | None
) -> tuple[Any, list[np.ndarray]]:
    """Replace categorical columns by indicators, and say where each input column went."""
    if not categories and not tells_gaps:
        return X, [np.array([column]) for column in range(X.shape[1])]
    scales = dict.fromkeys(categories, 1.0)
    numeric = [column for column in range(X.shape[1]) if column not in categories]
    if scaled:
        found = indicator_scales(X, numeric, list(categories), mass)
        scales = dict(zip(categories, found.tolist(), strict=True))
    blocks, places, start = [], [], 0
    for column in range(X.shape[1]):
        values = X[:, [column]]
        absent = np.isnan(values)
        if column in categories:
            indicators = values == np.arange(len(categories[column]))
            values = indicators.astype(X.dtype) * X.dtype.type(scales[column])
            values[absent[:, 0]] = np.nan
        elif tells_gaps and absent.any() and not absent.all():
            codes = np.column_stack([X, absent]) if scaled else None
            scale = 1.0 if codes is None else indicator_scales(codes, numeric, [X.shape[1]])[0]
            # as the two indicators of a category with two levels
            values = np.hstack([values, absent * X.dtype.type(np.sqrt(2.0) * scale)])
        blocks.append(values)
        places.append(np.arange(start, start + values.shape[1]))
        start += values.shape[1]
    return np.hstack(blocks), places


Result = TypeVar("Result")


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

    def visit(self, work: Callable[[Problem], Result]) -> list[Result]:
        """Results of every block, in order; several blocks are shared out among threads."""
        if len(self.rows) == 1:
            return [work(self._whole)]
        return map_threads(lambda rows: self._visit(work, rows), self.rows, self.n_jobs)

    def _visit(self, work: Callable[[Problem], Result], rows: Any) -> Result:
        problem = self._problem(rows)
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
        mass = self.target.mass
        every = np.ones(self.target.n_samples) if mass is None else mass
        sizes = np.array([every[rows].sum() for rows in self.rows])
        return sizes / sizes.sum()

    @cached_property
    def _whole(self) -> Problem:
        weights = TargetWeights.of(self.target, self.unbiased)
        return Problem(self.X, weights, self.dtype, self.n_jobs, self.cells)

    def _problem(self, rows: Any) -> Problem:
        weights = TargetWeights.of(self.target.take(rows), self.unbiased)
        return Problem(self.X[rows], weights, self.dtype, 1, self.cells)


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
        recipe = self.recipe.counting(len(np.unique(self.owners[columns])))
        mass = self.blocks.target.mass
        return resolved_on(recipe, sample[:, columns], choose, None if mass is None else mass[rows])

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

    def side(self, columns: np.ndarray, rows: np.ndarray, mass: np.ndarray | None = None) -> Sample:
        """Some columns of rows with the kernel that is resolved for these columns."""
        kernel = self.resolve(columns)
        if len(self.blocks.cells):
            kernel = Neutral(kernel, Gaps.of(self.X, self.blocks.cells).among(columns))
        return Sample(kernel, rows[:, columns], mass=mass)

    def outcome(self, change: Change) -> Outcome:
        """Dependence after every change, averaged over the blocks of rows."""
        if self.recipe.capabilities.fits_columns:
            return self._outcome_set_by_set(change)
        kernel = self._kernel_of_candidates(change) if change.joins else self.resolve(change.base)
        parts = self.blocks.visit(lambda problem: changes(problem, kernel, change))
        weights = self.blocks.weights
        return Outcome(
            float(weights @ [part.value for part in parts]),
            weights @ np.array([part.scores for part in parts]),
            float(weights @ [part.error for part in parts]),
        )

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
            Sample(self.resolve(columns), rows, mass=self.blocks.target.mass)
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
        side = self.side(columns, self.X[numbers], target.mass)
        own, of_target, cross = self_and_cross_terms(side, target)
        return cosine(cross.hsic(), own.hsic(), of_target.hsic())

    def count(self, remaining: int) -> int:
        """How many units one round decides: a share of those left, or a fixed number."""
        return max(1, int(self.step * remaining)) if self.step < 1 else int(self.step)


def columns_of_units(
    columns: Sequence[np.ndarray], units: Sequence[int] | np.ndarray
) -> np.ndarray:
    """All columns of some units."""
    if not len(units):
        return np.empty(0, dtype=np.intp)
    return np.concatenate([columns[unit] for unit in units])


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
            only = changes_of_last(setting, base)
            path.append((1, only))
            scores[active[0]] = only
            worst_first.append(active.pop())
            break
        outcome = setting.outcome(change)
        setting.report(len(active), outcome.value)
        path.append((len(active), outcome.value))
        after = dict(zip(active, outcome.scores, strict=True))
        free = may_leave(active)
        count = min(setting.count(len(active)), len(free), len(active) - 1)
        # most dependence left first; among equals the later column leaves
        for unit in sorted(free, key=lambda unit: (-after[unit], -unit))[:count]:
            scores[unit] = outcome.value - after[unit]
            worst_first.append(unit)
            active.remove(unit)
    return SearchResult(np.array(worst_first[::-1]), scores, tuple(path))


def changes_of_last(setting: Setting, base: np.ndarray) -> float:
    """Dependence of a last unit on its own."""
    nothing = Change(base, [], joins=False)
    return setting.outcome(nothing).value


def forward(setting: Setting, units: Sequence[int], n_requested: int) -> SearchResult:
    """Add the units that make most dependence, ``n_requested`` in all; rank the rest as left."""
    chosen: list[int] = []
    rest = list(units)
    as_left = rest  # the rest, best first by the last round
    scores = np.zeros(len(setting.columns))
    path = []
    while rest and len(chosen) < n_requested:
        base = columns_of_units(setting.columns, chosen)
        candidates = [setting.columns[unit] for unit in rest]
        outcome = setting.outcome(Change(base, candidates, joins=True))
        ranked = sorted(range(len(rest)), key=lambda place: (-outcome.scores[place], rest[place]))
        entering = ranked[: min(setting.count(len(rest)), n_requested - len(chosen))]
        for place, unit in enumerate(rest):
            scores[unit] = outcome.scores[place]
        in_order = [rest[place] for place in ranked]
        chosen += in_order[: len(entering)]
        as_left = in_order[len(entering) :]
        rest = sorted(as_left)
        path.append((len(chosen), float(outcome.scores[entering[-1]])))
        setting.report(len(chosen), path[-1][1])
    return SearchResult(np.array(chosen + as_left), scores, tuple(path))
