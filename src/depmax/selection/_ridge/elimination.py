"""Backward elimination of the columns without which the target is predicted as well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from depmax._threads import map_threads
from depmax.selection._ridge.problem import Regression, RidgeProblem
from depmax.selection._search.rounds import SearchResult
from depmax.selection._search.units import Units, columns_of_units

#: From so many units on, one leaves at a time,
EXACT_FROM = 24
#: the best of so many whose loss costs least to first order, by the penalised error without each.
CANDIDATES = 4
#: Interacting pairs that may come back before, and how many of the most significant are tried.
PAIRS_BACK, PAIRS_TRIED = 3, 20
#: Their return must lower the leave-one-out error by this share,
WORTHWHILE = 0.01
#: and they stay until so many units are left, few enough for the kernel to see what they do.
FAR_SIGHTED = 8

#: Told of every set that is reached: its units, its regression and the leave-one-out errors.
Watch = Callable[[Sequence[int], Regression, np.ndarray], None]


@dataclass(frozen=True)
class Elimination:
    """A search: rows, units of columns, how fast these leave, and pairs that may interact."""

    problem: RidgeProblem
    units: Units
    step: float
    pairs: Sequence[tuple[int, int]]  # units that interact, the most significant first
    n_jobs: int | None
    watch: Watch

    def run(self, units: Sequence[int]) -> SearchResult:
        """Order the units from best to worst."""
        active = list(units)
        worst_first: list[int] = []
        scores = np.zeros(len(self.units.columns))
        path: list[tuple[int, float]] = []
        while len(active) > EXACT_FROM:
            leaving = self._by_slopes(active, self._reach(active, path))
            scores[[unit for _, unit in leaving]] = [slope for slope, _ in leaving]
            worst_first += [unit for _, unit in leaving]
            active = _without(active, worst_first)
        active, interacting = self._with_pairs(active)
        worst_first = _without(worst_first, active)
        error = self._error(active)
        while len(active) > 1:
            each = self._slopes(active, self._reach(active, path))
            free = [u for u in active if len(active) <= FAR_SIGHTED or u not in interacting]
            candidates = sorted(free, key=lambda unit: (each[unit], -unit))[:CANDIDATES]
            sets = [_without(active, [unit]) for unit in candidates]
            errors = map_threads(self._error, sets, self.n_jobs)
            # the least error left; among equals the later column leaves
            least, _, leaves = min((e, -u, u) for e, u in zip(errors, candidates, strict=True))
            scores[leaves] = least - error
            error = least
            worst_first.append(leaves)
            active = _without(active, [leaves])
        self._reach(active, path)
        scores[active[0]] = 1.0 - error
        return SearchResult(np.array([*active, *worst_first[::-1]]), scores, tuple(path))

    def _reach(self, active: list[int], path: list[tuple[int, float]]) -> Regression:
        """The regression of a set on the path, of which the leave-one-out error is kept."""
        regression = self._regression(active)
        errors = regression.left_out()
        path.append((self.units.n_inputs(active), float(errors.min())))
        self.watch(active, regression, errors)
        return regression

    def _regression(self, units: Sequence[int]) -> Regression:
        return self.problem.regression(columns_of_units(self.units.columns, units))

    def _error(self, units: Sequence[int]) -> float:
        return self.problem.penalised_error(columns_of_units(self.units.columns, units))

    def _slopes(self, active: list[int], regression: Regression) -> dict[int, float]:
        """What the loss of each unit costs, to first order."""
        widths = [len(self.units.columns[unit]) for unit in active]
        slopes = np.add.reduceat(regression.slopes(), np.cumsum(widths) - widths)
        return dict(zip(active, slopes.tolist(), strict=True))

    def _by_slopes(self, active: list[int], regression: Regression) -> list[tuple[float, int]]:
        """What the loss of each unit costs that leaves in a round, the worst first."""
        each = self._slopes(active, regression)
        count = max(1, int(self.step * len(active))) if self.step < 1 else int(self.step)
        count = min(count, len(active) - EXACT_FROM)
        return sorted(((each[unit], unit) for unit in active), key=lambda at: (at[0], -at[1]))[:count]

    def _with_pairs(self, active: list[int]) -> tuple[list[int], set[int]]:
        """The set with those interacting pairs back that help to predict, and their units.

        A kernel of hundreds of columns is almost linear, so it does not see pairs that matter only
        together.
        """
        back: set[int] = set()
        error = self._left_out(active) if self.pairs else 0.0
        for _ in range(PAIRS_BACK):
            pairs = [pair for pair in self.pairs[:PAIRS_TRIED] if not set(pair) <= set(active)]
            sets = [[*active, *(unit for unit in pair if unit not in active)] for pair in pairs]
            if not sets:
                break
            errors = map_threads(self._left_out, sets, self.n_jobs)
            best = int(np.argmin(errors))
            if errors[best] >= (1.0 - WORTHWHILE) * error:
                break
            active, error = sets[best], errors[best]
            back.update(pairs[best])
        return active, back

    def _left_out(self, units: Sequence[int]) -> float:
        """Leave-one-out error, which unlike the penalised one may grow with the columns."""
        return float(self._regression(units).left_out().min())


def _without(units: Sequence[int], others: Sequence[int]) -> list[int]:
    gone = set(others)
    return [unit for unit in units if unit not in gone]
