"""A target that columns are screened against, some cells missing: scores, p-values, effects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from depmax.data.checks import MINIMUM
from depmax.data.sample import Sample
from depmax.dependence._nulls.laplace_column import LaplaceColumn, TargetCoordinates
from depmax.dependence._nulls.law import PermutationLaw, Spread, permutation_law
from depmax.dependence._nulls.permutation import SLACK, permutation_chunks, slack_of
from depmax.dependence._nulls.rare import (
    Levels,
    counted_pvalue,
    is_out_of_range,
    sequential_pvalue,
    spread_of,
)
from depmax.dependence._terms import terms
from depmax.dependence.exchange import Exchange, Plan, TooFewWays
from depmax.dependence.resolve import most_dependent, refuse_to_choose
from depmax.dependence.variance import (
    NO_EFFECT,
    Effect,
    effect_of,
    shares_of_coordinates,
    shares_of_rows,
)
from depmax.kernels import Delta, Linear
from depmax.kernels.kernel import Kernel
from depmax.maps.incomplete_cholesky import factor_to

#: Part of the trace of the target kernel that may be left out where rows are exchanged: the test
#: is exact for what is left, and every permutation costs as much as there are coordinates.
EXCHANGED_TOL = 1e-3


@dataclass
class Choice:
    """What ``bandwidth="maximize"`` chooses by, with an account of how many it chose from.

    The p-value of the most dependent of n kernels, times n, is valid whatever their dependence.
    """

    target: Sample
    n_candidates: int = 1

    def __call__(self, candidates: Sequence[Kernel], X: Any) -> Kernel:
        """The candidate of largest HSIC with the target."""
        if candidates[0].capabilities.learns_weights:  # no number of kernels to correct for
            return refuse_to_choose("screen", candidates, X)
        self.n_candidates *= len(candidates)
        return most_dependent(self.target, candidates, X, warn=False)


@dataclass(frozen=True)
class ScreeningTarget:
    """A target prepared once for all columns."""

    coordinates: TargetCoordinates
    levels: Levels | None  # which rows of y are equal, if known
    error: float
    exchanged: ExchangedTarget | None = None  # where rows are not independent

    @classmethod
    def of(cls, side: Sample, tol: float, plan: Plan | None = None) -> ScreeningTarget:
        """Coordinates of the target kernel, exact where it has them, else to ``tol``."""
        error = 0.0
        if side.is_narrow:
            exact = side.centred_coordinates()
        else:
            partial = factor_to(side, tol)
            exact = np.asarray(partial.factor)
            error = float(partial.residual.sum() / max(side.diag().sum(), np.finfo(float).tiny))
        coordinates = TargetCoordinates.of(exact, tol=0.01 * tol)
        exchanged = None if plan is None else ExchangedTarget.of(coordinates, plan)
        found = cls(coordinates, Levels.of(side), error, exchanged)
        _ = found.spread  # once, before threads ask for it
        return found

    def score(
        self, recipe: Kernel, column: np.ndarray, unbiased: bool
    ) -> tuple[float, float, float]:
        """HSIC of one column, its p-value and the bandwidth used."""
        if recipe.capabilities.telescopes:
            return self._score_sorted(self._sorted(recipe, column), column, unbiased)
        rows = column[:, np.newaxis]
        choice = Choice(self.side)
        kernel = recipe.resolve(rows, choice)
        side = Sample(kernel, rows)
        statistic = terms(side, self.side, unbiased=True).hsic()
        levels = Levels.of(side)
        law = permutation_law(spread_of(side, levels), self.spread, len(rows))
        if self.exchanged is not None:
            pvalue = self.exchanged.pvalue(side, law.scale)
        else:
            permuted = permutation_chunks(side, self.side)
            pvalue = self._pvalue(statistic, law, levels, permuted, slack_of(side, self.side))
        pvalue = min(1.0, choice.n_candidates * pvalue)
        value = statistic if unbiased else terms(side, self.side, unbiased=False).hsic()
        return value, pvalue, float(getattr(kernel, "bandwidth", np.nan))

    def score_and_effect(
        self, recipe: Kernel, column: np.ndarray, unbiased: bool
    ) -> tuple[float, ...]:
        """Score, p-value and bandwidth, then the effect with the ends of its interval."""
        if recipe.capabilities.telescopes:
            ordered = self._sorted(recipe, column)
            score = self._score_sorted(ordered, column, unbiased)
            found = self._effect_sorted(ordered)
        else:
            score, found = self.score(recipe, column, unbiased), self.effect(recipe, column)
        low = found.low if self.exchanged is None else _low_with(found.low, score[1])
        return (*score, found.share, low, found.high)

    def effect(self, recipe: Any, column: np.ndarray, bandwidth: float | None = None) -> Effect:
        """Normalised HSIC of a column; a Laplace kernel has this bandwidth, or the median."""
        if recipe.capabilities.telescopes:
            return self._effect_sorted(_Sorted.of(column, bandwidth, self.coordinates))
        rows = column[:, np.newaxis]
        side = Sample(recipe.resolve(rows, Choice(self.side)), rows)
        cross, own = shares_of_rows(side, self.side), shares_of_rows(side, side)
        return effect_of(cross, own, self.own_shares, self._units)

    @property
    def _units(self) -> np.ndarray | None:
        """The independent unit of every row, if rows are not independent."""
        return None if self.exchanged is None else self.exchanged.plan.units

    @cached_property
    def side(self) -> Sample:
        """Coordinates of the target with the linear kernel."""
        return Sample(Linear(), self.coordinates.psi)

    @cached_property
    def spread(self) -> Spread:
        """That of the target's U-centred kernel matrix."""
        squares = float(self.own_shares.sum()) if self.levels is None else None
        return spread_of(self.side, self.levels, squares)

    @cached_property
    def own_shares(self) -> np.ndarray:
        """(B̃ ∘ B̃)1 of the target."""
        return shares_of_coordinates(self.coordinates.psi, self.coordinates.psi)

    def _pvalue(
        self,
        statistic: float,
        law: PermutationLaw,
        levels: Levels | None,
        permuted: Iterator[np.ndarray],
        slack: float = SLACK,
    ) -> float:
        """From counts if both sides have two levels, from permutations if the law is off."""
        counted = counted_pvalue(levels, self.levels)
        if counted is not None:
            return counted
        if is_out_of_range(law, levels, self.levels, self.side.n_samples):
            return sequential_pvalue(statistic, permuted, slack * law.scale)
        return law.sf(statistic)

    def _sorted(self, recipe: Any, column: np.ndarray) -> _Sorted:
        """A column with the bandwidth of its Laplace kernel, and the target in its order."""
        if recipe.policy == "median":
            return _Sorted.of(column, None, self.coordinates)
        choice = Choice(self.side)
        width = recipe.resolve(column[:, np.newaxis], choice).bandwidth
        return _Sorted.of(column, width, self.coordinates, choice.n_candidates)

    def _effect_sorted(self, ordered: _Sorted) -> Effect:
        if ordered.column.is_constant:
            return NO_EFFECT
        cross, own = ordered.column.shares(ordered.target)
        order = ordered.column.order
        units = None if self._units is None else self._units[order]
        return effect_of(cross, own, self.own_shares[order], units)

    def _score_sorted(
        self, ordered: _Sorted, column: np.ndarray, unbiased: bool
    ) -> tuple[float, float, float]:
        prepared, y = ordered.column, self.coordinates
        if prepared.is_constant:
            return 0.0, 1.0, prepared.bandwidth
        of_column, total = prepared.spread()
        statistic = prepared.terms(y, total, True, ordered.target).hsic()
        law = permutation_law(of_column, self.spread, len(column))
        if statistic > law.scale:  # only a tail needs the spectrum
            of_column = replace(of_column, leading=prepared.leading())
            law = permutation_law(of_column, self.spread, len(column))
        value = statistic
        if not unbiased:
            value = prepared.terms(y, total, False, ordered.target).hsic()
        if self.exchanged is not None:
            pvalue = self.exchanged.pvalue_sorted(column, prepared.bandwidth, law.scale)
        else:
            pvalue = self._pvalue(
                statistic,
                law,
                None if self.levels is None else prepared.levels(),
                prepared.permuted(y, total),
            )
        return value, min(1.0, ordered.n_candidates * pvalue), prepared.bandwidth


@dataclass(frozen=True)
class _Sorted:
    """A column with the Laplace kernel and a target, both in the order of the column."""

    column: LaplaceColumn
    target: TargetCoordinates
    n_candidates: int = 1  # kernels that this one was chosen from

    @classmethod
    def of(
        cls,
        column: np.ndarray,
        bandwidth: float | None,
        target: TargetCoordinates,
        n_candidates: int = 1,
    ) -> _Sorted:
        prepared = LaplaceColumn.of(column, bandwidth)
        return cls(prepared, target.take(prepared.order), n_candidates)


@dataclass(frozen=True)
class ExchangedTarget:
    """A target whose rows are exchanged by a plan, since they are not independent."""

    plan: Plan
    coordinates: TargetCoordinates  # of the rows that take part

    @classmethod
    def of(cls, coordinates: TargetCoordinates, plan: Plan) -> ExchangedTarget:
        """The leading coordinates of the rows that take part."""
        return cls(plan, TargetCoordinates.of(coordinates.psi[plan.rows], tol=EXCHANGED_TOL))

    def pvalue(self, side: Sample, scale: float) -> float:
        """P-value of a column with any kernel; ``scale`` is the size of its chance values."""
        linear, taking_part = Sample(Linear(), self.coordinates.psi), side.take(self.plan.rows)
        observed = terms(taking_part, linear, unbiased=True).hsic()
        chunks = permutation_chunks(taking_part, linear, self.plan)
        return sequential_pvalue(observed, chunks, SLACK * scale)

    def pvalue_sorted(self, column: np.ndarray, bandwidth: float, scale: float) -> float:
        """P-value of a column with the Laplace kernel."""
        ordered = LaplaceColumn.of(column[self.plan.rows], bandwidth)
        if ordered.is_constant:
            return 1.0
        total = ordered.spread()[1]
        observed = ordered.terms(self.coordinates, total, unbiased=True).hsic()
        chunks = ordered.exchanged(self.coordinates, total, self.plan)
        return sequential_pvalue(observed, chunks, SLACK * scale)


#: Level of the test that the lower end of an interval of 95% stands for.
EXCLUDES_ZERO = 0.025
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
        if not np.isnan(column).any():
            return self.whole.score_and_effect(recipe, column, unbiased)
        score, pvalue, width = self.score(recipe, column, unbiased)
        found = self.effect(recipe, column, None if np.isnan(width) else width)
        low = found.low if self.exchange is None else _low_with(found.low, pvalue)
        return score, pvalue, width, found.share, low, found.high

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
        levels = self.whole.levels
        levels = None if levels is None else Levels.of_values(levels.codes[rows])
        exchanged = None
        if self.exchange is not None:
            try:
                plan = self.exchange.take(rows).plan(len(rows), self.rows[rows])
            except TooFewWays:
                return None
            exchanged = ExchangedTarget.of(coordinates, plan)
        return ScreeningTarget(coordinates, levels, self.whole.error, exchanged)


def shrinkage(n_known: int, n_rows: int, unbiased: bool) -> float:
    """HSIC of a column with gaps over that of its rows with a value."""
    if unbiased:
        return n_known * (n_known - 1) / (n_rows * (n_rows - 1))
    return ((n_known - 1) / (n_rows - 1)) ** 2


def _low_with(low: float, pvalue: float) -> float:
    """The lower end of an effect where rows belong together: 0 unless the p-value excludes it.

    Pairs of rows of one group make HSIC larger than it is; exchanging whole groups allows for it.
    """
    return low if pvalue <= EXCLUDES_ZERO else 0.0


def _both(first: float, second: float) -> float:
    """P-value of two tests together (Fisher), of which one is valid whatever the other says."""
    product = first * second
    return float(min(1.0, product * (1.0 - np.log(product)))) if product > 0.0 else 0.0
