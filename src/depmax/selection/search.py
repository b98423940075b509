"""Greedy searches over units of columns under HSIC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from depmax.kernels.base import Choose, Kernel
from depmax.selection.blocks import Blocks
from depmax.selection.changes import Change, Outcome, changes

#: Rows that a bandwidth is read off in every round, seeded.
RESOLVE_ROWS = 500
#: Up to so many units a kernel sees what two columns do together, or a column by its square; with
#: more it is so wide that it is almost linear.
FAR_SIGHTED = 10
#: Candidates whose bandwidths are averaged in a forward round.
FORWARD_WIDTHS = 9

Report = Callable[[int, float], None]


@dataclass(frozen=True)
class Searched:
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
        return recipe.resolve(sample[:, columns], choose)

    @cached_property
    def _sample(self) -> tuple[np.ndarray, Any]:
        """Numbers and values of the rows that bandwidths are read off."""
        m = self.X.shape[0]
        if m <= RESOLVE_ROWS:
            return np.arange(m), self.X
        rows = np.random.default_rng(0).choice(m, RESOLVE_ROWS, replace=False)
        return rows, self.X[rows]

    def outcome(self, kernel: Kernel, change: Change) -> Outcome:
        """Dependence after every change, averaged over the blocks of rows."""
        parts = self.blocks.visit(lambda problem: changes(problem, kernel, change))
        weights = self.blocks.weights
        return Outcome(
            float(weights @ [part.value for part in parts]),
            weights @ np.array([part.scores for part in parts]),
            float(weights @ [part.error for part in parts]),
        )

    def count(self, remaining: int) -> int:
        """How many units one round decides: a share of those left, or a fixed number."""
        return max(1, int(self.step * remaining)) if self.step < 1 else int(self.step)


def together(columns: Sequence[np.ndarray], units: Sequence[int] | np.ndarray) -> np.ndarray:
    """All columns of some units."""
    if not len(units):
        return np.empty(0, dtype=np.intp)
    return np.concatenate([columns[unit] for unit in units])


def backward(
    setting: Setting, units: Sequence[int], protected: np.ndarray, at_first: np.ndarray
) -> Searched:
    """Drop the units whose loss leaves most dependence, protected ones only at the end.

    Those protected ``at_first`` stay while the kernel is too wide to see what they do.
    """
    active = list(units)
    worst_first: list[int] = []
    scores = np.zeros(len(setting.columns))
    path = []
    while active:
        base = together(setting.columns, active)
        change = Change(base, [setting.columns[unit] for unit in active], joins=False)
        if len(active) == 1:
            only = changes_of_last(setting, base)
            path.append((1, only))
            scores[active[0]] = only
            worst_first.append(active.pop())
            break
        outcome = setting.outcome(setting.resolve(base), change)
        setting.report(len(active), outcome.value)
        path.append((len(active), outcome.value))
        may_leave = _free(active, [protected | at_first, protected], len(active) > FAR_SIGHTED)
        count = min(setting.count(len(active)), len(may_leave), len(active) - 1)
        # most dependence left first; among equals the later column leaves
        ranked = sorted(may_leave, key=lambda place: (-outcome.scores[place], -active[place]))
        leaving = ranked[:count]
        for place in leaving:
            scores[active[place]] = outcome.value - outcome.scores[place]
            worst_first.append(active[place])
        gone = {active[place] for place in leaving}
        active = [unit for unit in active if unit not in gone]
    return Searched(np.array(worst_first[::-1]), scores, tuple(path))


def _free(active: list[int], guards: Sequence[np.ndarray], strict: bool) -> list[int]:
    """Places of the units that may leave: those outside the first guard that leaves any."""
    for guard in guards if strict else guards[1:]:
        free = [place for place, unit in enumerate(active) if not guard[unit]]
        if free:
            return free
    return list(range(len(active)))


def changes_of_last(setting: Setting, base: np.ndarray) -> float:
    """Dependence of a last unit on its own."""
    nothing = Change(base, [], joins=False)
    return setting.outcome(setting.resolve(base), nothing).value


def forward(setting: Setting, units: Sequence[int], wanted: int) -> Searched:
    """Add the units that make most dependence until ``wanted`` are in; rank the rest as left."""
    chosen: list[int] = []
    rest = list(units)
    as_left = rest  # the rest, best first by the last round
    scores = np.zeros(len(setting.columns))
    path = []
    while rest and len(chosen) < wanted:
        base = together(setting.columns, chosen)
        kernel = _forward_kernel(setting, base, rest)
        candidates = [setting.columns[unit] for unit in rest]
        outcome = setting.outcome(kernel, Change(base, candidates, joins=True))
        ranked = sorted(range(len(rest)), key=lambda place: (-outcome.scores[place], rest[place]))
        entering = ranked[: min(setting.count(len(rest)), wanted - len(chosen))]
        for place, unit in enumerate(rest):
            scores[unit] = outcome.scores[place]
        in_order = [rest[place] for place in ranked]
        chosen += in_order[: len(entering)]
        as_left = in_order[len(entering) :]
        rest = sorted(as_left)
        path.append((len(chosen), float(outcome.scores[entering[-1]])))
        setting.report(len(chosen), path[-1][1])
    return Searched(np.array(chosen + as_left), scores, tuple(path))


def _forward_kernel(setting: Setting, base: np.ndarray, rest: Sequence[int]) -> Kernel:
    """One kernel for all candidates: the middle one of those resolved with a few of them."""
    if setting.recipe.is_resolved:
        return setting.recipe
    places = np.linspace(0, len(rest) - 1, min(len(rest), FORWARD_WIDTHS)).astype(int)
    kernels = [
        setting.resolve(np.concatenate([base, setting.columns[rest[place]]])) for place in places
    ]
    widths = [getattr(kernel, "bandwidth", 0.0) for kernel in kernels]
    return kernels[int(np.argsort(widths)[len(widths) // 2])]
