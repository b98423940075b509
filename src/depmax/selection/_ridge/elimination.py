"""Backward elimination of the columns without which the target is predicted as well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from depmax._threads import map_threads
from depmax.selection._ridge.problem import RidgeProblem
from depmax.selection._search.rounds import SearchResult
from depmax.selection._search.units import Units, columns_of_units

#: From so many units on, every removal is judged by the penalised error of the others.
EXACT_FROM = 24
#: Interacting pairs that may come back before, and how many of the most significant are tried.
PAIRS_BACK, PAIRS_TRIED = 3, 20
#: Their return must lower the leave-one-out error by this share,
WORTHWHILE = 0.01
#: and they stay until so many units are left, few n_sufficient for the kernel to see what they do.
FAR_SIGHTED = 8

Report = Callable[[int, float], None]


@dataclass(frozen=True)
class Elimination:
    """A search: rows, units of columns, how fast these leave, and pairs that may interact."""

    problem: RidgeProblem
    units: Units
    step: float
    pairs: Sequence[tuple[int, int]]  # units that interact, the most significant first
    n_jobs: int | None
    report: Report

    def run(self, units: Sequence[int]) -> SearchResult:
        """Order the units from best to worst."""
        active = list(units)
        worst_first: list[int] = []
        scores = np.zeros(len(self.units.columns))
        path: list[tuple[int, float]] = []
        while len(active) > EXACT_FROM:
            self._tell(active, path)
            for unit, slope in self._by_slopes(active):
                scores[unit] = slope
                worst_first.append(unit)
            gone = set(worst_first)
            active = [unit for unit in active if unit not in gone]
        active, interacting = self._with_pairs(active)
        worst_first = [unit for unit in worst_first if unit not in set(active)]
        self._tell(active, path)
        error = self._error(active)
        while len(active) > 1:
            free = [u for u in active if len(active) <= FAR_SIGHTED or u not in interacting]
            errors = map_threads(
                self._error, [_without(active, unit) for unit in free], self.n_jobs
            )
            # the least error left; among equals the later column leaves
            least, _, leaving = min((e, -u, u) for e, u in zip(errors, free, strict=True))
            scores[leaving] = least - error
            error = least
            worst_first.append(leaving)
            active = _without(active, leaving)
            self._tell(active, path)
        scores[active[0]] = 1.0 - error
        return SearchResult(np.array([*active, *worst_first[::-1]]), scores, tuple(path))

    def _tell(self, active: list[int], path: list[tuple[int, float]]) -> None:
        path.append((self.units.n_inputs(active), self._left_out(active)))
        self.report(*path[-1])

    def _error(self, units: Sequence[int]) -> float:
        return self.problem.penalised_error(columns_of_units(self.units.columns, units))

    def _left_out(self, units: Sequence[int]) -> float:
        """Leave-one-out error, which unlike the penalised one may grow with the columns."""
        return self.problem.fit(columns_of_units(self.units.columns, units)).error

    def _by_slopes(self, active: list[int]) -> list[tuple[int, float]]:
        """Units that leave in a round, the worst first, and what their loss costs."""
        slopes = self.problem.slopes(columns_of_units(self.units.columns, active))
        each = {unit: float(slopes[self.units.columns[unit]].sum()) for unit in active}
        count = max(1, int(self.step * len(active))) if self.step < 1 else int(self.step)
        count = min(count, len(active) - EXACT_FROM)
        leaving = sorted(active, key=lambda unit: (each[unit], -unit))[:count]
        return [(unit, each[unit]) for unit in leaving]

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


def _without(units: Sequence[int], unit: int) -> list[int]:
    return [other for other in units if other != unit]
