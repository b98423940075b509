"""Backward elimination of the columns without which the target is predicted as well.

Two paths are compared. On the free one every unit may leave at any time. With many columns the
kernel is almost linear, so this path may lose units that matter in another way, or only together.
The other path begins with the units whose dependence is significant, alone or in a pair. Which one
is taken is decided by the leave-one-out errors of their sets of equal size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from depmax._threads import map_threads
from depmax.selection._ridge.problem import Regression, RidgeProblem
from depmax.selection._search.rounds import SearchResult
from depmax.selection._search.units import Units, columns_of_units

#: From so many units on, one leaves at a time,
EXACT_FROM = 24
#: the best of so many whose loss costs least to first order, by the penalised error without each.
CANDIDATES = 4

#: Told of every set that is reached: its units, its regression and the leave-one-out errors.
Watch = Callable[[Sequence[int], Regression, np.ndarray], None]


@dataclass(frozen=True)
class UnitsInOrder:
    """Units in the order of an elimination."""

    order: list[int]  # from best to worst
    scores: dict[int, float]  # what the loss of each cost
    errors: dict[int, float]  # leave-one-out error of the sets reached, by their number of units


@dataclass(frozen=True)
class Elimination:
    """A search: rows, units of columns, and how fast these leave."""

    problem: RidgeProblem
    units: Units
    step: float
    n_jobs: int | None
    watch: Watch
    reached: dict[frozenset[int], float] = field(default_factory=dict)  # sets and their errors

    def run(self, units: Sequence[int], significant: Sequence[int]) -> SearchResult:
        """Order the units from best to worst; some of them are significant."""
        path = self._path(units)
        if 0 < len(significant) < len(units):
            path = self._better(path, self._path(significant))
        scores = np.zeros(len(self.units.columns))
        scores[list(path.scores)] = list(path.scores.values())
        errors = [
            (self.units.n_inputs(path.order[:count]), error)
            for count, error in sorted(path.errors.items(), reverse=True)
        ]
        return SearchResult(np.array(path.order), scores, tuple(errors))

    def _better(self, free: UnitsInOrder, first: UnitsInOrder) -> UnitsInOrder:
        """The free path, or the one on which significant units leave last."""
        sizes = range(1, min(len(first.order), EXACT_FROM) + 1)
        if sum(first.errors[n] for n in sizes) >= sum(free.errors[n] for n in sizes):
            return free
        order = [*first.order, *_without(free.order, first.order)]
        errors = dict(first.errors)
        for count in (count for count in free.errors if count > len(first.order)):
            error = self.reached.get(frozenset(order[:count]))
            if error is None and count <= EXACT_FROM:  # of larger sets, those that were reached
                error = self._reach(order[:count])[1]
            if error is not None:
                errors[count] = error
        return UnitsInOrder(order, free.scores | first.scores, errors)

    def _path(self, units: Sequence[int]) -> UnitsInOrder:
        active = list(units)
        worst_first: list[int] = []
        scores: dict[int, float] = {}
        errors: dict[int, float] = {}
        while len(active) > 1:
            regression, errors[len(active)] = self._reach(active)
            slopes = self._slopes(active, regression)
            if len(active) > EXACT_FROM:
                leaving = self._by_slopes(slopes)
            else:
                leaving = [self._by_error(active, slopes, regression.penalised_error())]
            scores.update((unit, cost) for cost, unit in leaving)
            worst_first += [unit for _, unit in leaving]
            active = _without(active, worst_first)
        regression, errors[1] = self._reach(active)
        scores[active[0]] = 1.0 - regression.penalised_error()
        return UnitsInOrder([*active, *worst_first[::-1]], scores, errors)

    def _reach(self, active: Sequence[int]) -> tuple[Regression, float]:
        """The regression of a set on a path, and its leave-one-out error."""
        regression = self.problem.regression(columns_of_units(self.units.columns, active))
        errors = regression.left_out()
        self.watch(active, regression, errors)
        self.reached[frozenset(active)] = float(errors.min())
        return regression, float(errors.min())

    def _slopes(self, active: list[int], regression: Regression) -> list[tuple[float, int]]:
        """What the loss of each unit costs to first order, and the unit, the least cost first."""
        widths = np.array([len(self.units.columns[unit]) for unit in active], dtype=np.intp)
        slopes = np.add.reduceat(regression.slopes(), np.cumsum(widths) - widths)
        costs = zip(slopes.tolist(), active, strict=True)
        return sorted(costs, key=lambda at: (at[0], -at[1]))  # among equals the later column

    def _by_slopes(self, slopes: list[tuple[float, int]]) -> list[tuple[float, int]]:
        """Costs and units that leave in a round, the worst first."""
        count = max(1, int(self.step * len(slopes))) if self.step < 1 else int(self.step)
        return slopes[: min(count, len(slopes) - EXACT_FROM)]

    def _by_error(
        self, active: list[int], slopes: list[tuple[float, int]], error: float
    ) -> tuple[float, int]:
        """What the loss of the unit costs that leaves, and the unit."""
        candidates = [unit for _, unit in slopes[:CANDIDATES]]
        sets = [_without(active, [unit]) for unit in candidates]
        errors = map_threads(self._error, sets, self.n_jobs)
        least, _, unit = min((e, -u, u) for e, u in zip(errors, candidates, strict=True))
        return least - error, unit

    def _error(self, units: Sequence[int]) -> float:
        return self.problem.penalised_error(columns_of_units(self.units.columns, units))


def _without(units: Sequence[int], others: Sequence[int]) -> list[int]:
    gone = set(others)
    return [unit for unit in units if unit not in gone]
