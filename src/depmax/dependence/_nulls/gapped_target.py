"""A target that columns with missing cells are screened against.

A missing cell says nothing: the mean embedding of its column stands in for it, which is zero once
images are centred. What is left of HSIC₀ is that of the n rows with a value, times
((n - 1)/(m - 1))², and the same for the unbiased estimate with n(n - 1)/(m(m - 1)), the unbiased
estimate of the squared share of rows with a value. The law under independence is that of
permutations among the rows with a value: exact wherever the column is independent of the target
*there*, also if cells are missing more often for some values of the target
(docs/mathematics/missing.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from depmax.dependence._nulls.rare import Levels, spread_of
from depmax.dependence._nulls.screening_target import (
    ExchangedTarget,
    ScreeningTarget,
    TargetCoordinates,
)
from depmax.dependence.exchange import Exchange, TooFewWays
from depmax.dependence.variance import NO_EFFECT, Effect
from depmax.kernels import Delta, Linear
from depmax.kernels.kernel import Kernel
from depmax.samples import MINIMUM, Sample

#: Patterns of missing cells whose rows of the target are kept.
PATTERNS = 64


@dataclass(frozen=True)
class GappedTarget:
    """A target and, for columns with missing cells, the part of it that has a value beside it."""

    whole: ScreeningTarget
    level: bool = False  # whether a missing number is a value of its own, besides
    exchange: Exchange | None = None  # of rows that are not independent
    rows: Any = None  # of the target, that an exchange looks at
    _parts: dict[bytes, ScreeningTarget | None] = field(default_factory=dict, repr=False)

    @property
    def error(self) -> float:
        """Part of the target kernel's trace that its coordinates leave out."""
        return self.whole.error

    def score(
        self, recipe: Kernel, column: np.ndarray, unbiased: bool
    ) -> tuple[float, float, float]:
        """HSIC of one column, its p-value and the bandwidth used."""
        missing = np.isnan(column)
        if not missing.any():
            return self.whole.score(recipe, column, unbiased)
        part = self.beside(~missing)
        score, pvalue, width = 0.0, 1.0, np.nan
        if part is not None:
            score, pvalue, width = part.score(recipe, column[~missing], unbiased)
            score *= shrinkage(len(column) - int(missing.sum()), len(column), unbiased)
        if not self.level:
            return score, pvalue, width
        of_gaps, other, _ = self.whole.score(Delta(), missing.astype(np.float64), unbiased)
        return score + of_gaps, _both(pvalue, other), width

    def score_and_effect(
        self, recipe: Kernel, column: np.ndarray, unbiased: bool
    ) -> tuple[float, ...]:
        """Score, p-value and bandwidth, then the effect with the ends of its interval."""
        score, pvalue, width = self.score(recipe, column, unbiased)
        found = self.effect(recipe, column, None if np.isnan(width) else width)
        return score, pvalue, width, found.share, found.low, found.high

    def effect(self, recipe: Any, column: np.ndarray, bandwidth: float | None = None) -> Effect:
        """Effect where there is a value, times the share of these rows.

        Where a gap is a value of its own: that of the values or of the gaps, whichever is larger.
        """
        missing = np.isnan(column)
        if not missing.any():
            return self.whole.effect(recipe, column, bandwidth)
        part = self.beside(~missing)
        found = NO_EFFECT
        if part is not None:
            found = part.effect(recipe, column[~missing], bandwidth)
            share = 1.0 - float(missing.mean())
            found = Effect(share * found.share, share * found.low, share * found.high)
        if not self.level:
            return found
        of_gaps = self.whole.effect(Delta(), missing.astype(np.float64))
        return max(found, of_gaps, key=lambda effect: effect.share)

    def beside(self, known: np.ndarray) -> ScreeningTarget | None:
        """The rows of the target beside a value; None if they can show nothing."""
        key = np.packbits(known).tobytes()
        if key not in self._parts:
            if len(self._parts) >= PATTERNS:
                self._parts.clear()
            self._parts[key] = self._take(np.flatnonzero(known))
        return self._parts.get(key)

    def _take(self, rows: np.ndarray) -> ScreeningTarget | None:
        if len(rows) < MINIMUM[True]:
            return None
        coordinates = TargetCoordinates.of(self.whole.coordinates.psi[rows])
        if not coordinates.psi.any():  # the target is constant there
            return None
        side = Sample(Linear(), coordinates.psi)
        levels = self.whole.levels
        levels = None if levels is None else Levels.of_values(levels.codes[rows])
        exchanged = None
        if self.exchange is not None:
            try:
                plan = self.exchange.take(rows).plan(len(rows), self.rows[rows])
            except TooFewWays:
                return None
            exchanged = ExchangedTarget.of(coordinates, plan)
        return replace(
            self.whole,
            side=side,
            coordinates=coordinates,
            spread=spread_of(side, levels),
            levels=levels,
            exchanged=exchanged,
        )


def shrinkage(n_known: int, n_rows: int, unbiased: bool) -> float:
    """HSIC of a column with gaps over that of its rows with a value."""
    if unbiased:
        return n_known * (n_known - 1) / (n_rows * (n_rows - 1))
    return ((n_known - 1) / (n_rows - 1)) ** 2


def _both(first: float, second: float) -> float:
    """P-value of two tests together (Fisher), of which one is valid whatever the other says."""
    product = first * second
    return float(min(1.0, product * (1.0 - np.log(product)))) if product > 0.0 else 0.0
