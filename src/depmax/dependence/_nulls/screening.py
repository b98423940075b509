"""A target that columns are screened against, some cells missing: scores, p-values, effects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from scipy.stats import false_discovery_control

from depmax._resources import cached_property, map_threads, one_blas_thread, slices
from depmax.data.columns import Categories, Missing
from depmax.data.sample import MINIMUM, Sample, require_finite_values
from depmax.data.table import has_missing
from depmax.dependence._nulls.law import (
    ENOUGH,
    EXPECTED,
    FEWEST_ROWS,
    MOST_PERMUTATIONS,
    SHARED,
    SKEWEST,
    TAIL,
    TINY,
    Levels,
    Spread,
    counted_pvalue,
    counts_of,
    gamma_sf,
    n_rare,
    permutation_law,
    pvalue_of,
    pvalue_of_counts,
    sequential_pvalue,
    spread,
    third_moment,
)
from depmax.dependence._nulls.linear_part import TIE, LinearPart, Strength, combined
from depmax.dependence._nulls.permutation import SLACK, permutation_chunks, slack_of
from depmax.dependence._nulls.sorted_columns import (
    Drawn,
    SortedColumns,
    TargetCoordinates,
    heaviest_sf,
)
from depmax.dependence._terms import coordinates_to, terms
from depmax.dependence.exchange import FREE, Exchange, PermutationScheme, TooFewWays
from depmax.dependence.resolve import most_dependent, refuse_to_choose
from depmax.dependence.variance import effects_of, influence_of, shares_of_rows
from depmax.kernels import Delta, Linear
from depmax.kernels.kernel import Kernel

#: Part of the trace of the target kernel that may be left out where rows are exchanged: the test
#: is exact for what is left, and every permutation costs as much as there are coordinates.
EXCHANGED_TOL = 1e-3
#: Patterns of missing cells whose rows of the target are kept.
PATTERNS = 64
#: Permutations of a column before it is known whether its p-value matters.
FIRST_PERMUTATIONS = 333

#: What is found out about a column, in this order.
FOUND = ("score", "pvalue", "bandwidth", "effect", "effect_low", "effect_high")
#: Of a column that says nothing.
NOTHING = (0.0, 1.0, np.nan, 0.0, 0.0, 0.0)


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
    error: float  # part of the kernel's trace that the coordinates leave out
    scheme: PermutationScheme  # how its rows are permuted
    rows: Any = None  # of the target, that an exchange looks at
    exchange: Exchange = FREE
    linear: LinearPart | None = None  # if p-values are those of HSIC and of this together
    _parts: dict[bytes, ScreeningTarget | None] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        side: Sample,
        tol: float,
        exchange: Exchange = FREE,
        scheme: PermutationScheme | None = None,
        *,
        omnibus: bool = False,
    ) -> ScreeningTarget:
        """Coordinates of the target kernel, exact where it has them, else to ``tol``.

        ``omnibus``: whether p-values see the linear part of a dependence too, if there is one.
        """
        exact, error = coordinates_to(side, tol)
        coordinates = TargetCoordinates.of(exact, tol=0.01 * tol)
        linear = LinearPart.of(side, coordinates.psi) if omnibus else None
        scheme = scheme or exchange.plan(side.n_samples, side.rows)
        return cls(coordinates, Levels.of(side), error, scheme, side.rows, exchange, linear)

    @cached_property
    def side(self) -> Sample:
        """Coordinates of the target with the linear kernel."""
        return Sample(Linear(), self.coordinates.psi)

    @cached_property
    def spread(self) -> Spread:
        """Spread of the target's U-centred kernel matrix."""
        squares = float(self.own_shares.sum()) if self.levels is None else None
        return spread(self.side, squares, self.levels)

    @property
    def own_shares(self) -> np.ndarray:
        """(B̃ ∘ B̃)1 of the target."""
        return self.coordinates.own_shares

    @cached_property
    def exchanged(self) -> tuple[TargetCoordinates, Drawn]:
        """Leading coordinates of the rows that take part in an exchange, and their orders."""
        taking_part = self.coordinates.psi[self.scheme.rows]
        drawn = Drawn(self.scheme.draw, len(taking_part))
        return TargetCoordinates.of(taking_part, tol=EXCHANGED_TOL), drawn

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.coordinates.squares)

    @cached_property
    def n_units(self) -> int:
        """Number of independent units of rows."""
        return int(self.scheme.units.max()) + 1

    # --- a block of columns with the Laplace kernel -----------------------------------------------
    def sorted(self, recipe: Any, columns: np.ndarray) -> tuple[SortedColumns, np.ndarray]:
        """Sorted columns, given one per line, and how many kernels each one's was chosen from."""
        n_candidates = np.ones(len(columns))
        if recipe.policy == "median":
            return SortedColumns.of(columns), n_candidates
        widths = np.empty(len(columns))
        for place, column in enumerate(columns):
            choice = Choice(self.side)
            widths[place] = recipe.resolve(column[:, np.newaxis], choice).bandwidth
            n_candidates[place] = choice.n_candidates
        return SortedColumns.of(columns, widths), n_candidates

    def of_sorted(
        self,
        recipe: Any,
        columns: np.ndarray,
        unbiased: bool,
        full: bool,
        room: np.ndarray | None = None,
    ) -> np.ndarray:
        """Lines of ``FOUND``, then the least that the p-value can be, NaN where it is computed."""
        m, y = self.n_samples, self.levels
        block, n_candidates = self.sorted(recipe, columns)
        units = None if self.scheme.is_free else self.scheme.units
        codes = y.codes if y is not None and len(y.counts) == 2 else None
        sums = block.sums(self.coordinates, self.own_shares, codes, units, room)
        constant = sums["constant"] > 0.0
        trace = float(self.coordinates.squares.sum())
        statistic = self.coordinates.hsic(sums["inner"], sums["middle"], sums["total"] * trace)
        scores = statistic if unbiased else (sums["inner"] + trace) / (m - 1) ** 2
        pvalues, hints, by_law = self._pvalues(block, sums, statistic, columns, full)
        own_x = np.where(sums["n_rare"] > 1, sums["squares"], 0.0)  # Ã = 0 if one row alone differs
        effects = effects_of(
            sums["cross"], own_x, float(self.own_shares.sum()), sums["influence"], m, self.n_units
        )
        pvalues = np.minimum(1.0, n_candidates * pvalues)
        hints = np.minimum(1.0, n_candidates * hints)
        if self.linear is not None and by_law.any():
            found = self._linear_pvalues(self.linear, block)
            hints = np.where(by_law, combined(hints, found), hints)
            pvalues = np.where(by_law, combined(pvalues, found), pvalues)
        return np.column_stack(
            [
                np.where(constant, 0.0, scores),
                pvalues,
                block.widths,
                *np.where(constant, 0.0, effects),
                hints,
            ]
        )

    def _linear_pvalues(self, linear: LinearPart, block: SortedColumns) -> np.ndarray:
        """P-values of the linear part of sorted columns."""
        squares, third, fourth, explained = block.score_sums(linear.axes).T
        squares = np.where(squares > 0.0, squares, 1.0)
        return linear.law.sf(explained / squares, third / squares**1.5, fourth / squares**2)

    def _pvalues(
        self,
        block: SortedColumns,
        sums: dict[str, np.ndarray],
        statistic: np.ndarray,
        columns: np.ndarray,
        full: bool,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """P-values of sorted columns, and the least they can be where they are not in full.

        From counts if both sides have two levels, from permutations (with the linear part) if the
        law is off; the third array says where they are those of the law of HSIC alone.
        """
        m, of_y, y = self.n_samples, self.spread, self.levels
        pairs = m * (m - 3)
        deviation = np.sqrt(2.0 * np.maximum(sums["squares"], 0.0) * max(of_y.squares, 0.0) / pairs)
        varies = (deviation > 0.0) & (sums["constant"] == 0.0) & (sums["n_rare"] > 1)
        scale, skewness = deviation / pairs, np.zeros(len(deviation))
        if m >= 6:  # the third moment needs six distinct rows
            third = third_moment(sums["cubes"], sums["triangles"], of_y, m)
            np.divide(require_finite_values(third), deviation**3, out=skewness, where=varies)
        z = np.divide(statistic, scale, out=np.zeros(len(scale)), where=varies)
        least = max(math.exp(-math.lgamma(m + 1.0)), TINY)
        pvalues = np.where(varies, np.maximum(gamma_sf(z, skewness), least), 1.0)
        hints = np.full(len(pvalues), np.nan)
        counted = varies & (y is not None and len(y.counts) == 2) & (sums["n_levels"] == 2)
        permute = (skewness > SKEWEST) | (m < FEWEST_ROWS) | (min(of_y.n_carrying, m) < SHARED)
        if y is not None:
            rare_y = n_rare(y.counts)
            rare = (np.maximum(sums["n_rare"], rare_y) <= m / 2) & varies
            permute |= rare & (sums["n_rare"] * rare_y < EXPECTED * m)
        permute &= varies & ~counted
        if not self.scheme.is_free:
            counted, permute = np.zeros_like(varies), varies
        for j in np.flatnonzero(counted).tolist():
            ones = int(sums["n_last"][j]), int(y.counts[1]), int(sums["n_both"][j])  # type: ignore[union-attr]  # counted where y has two levels
            pvalues[j] = pvalue_of_counts(m, *ones)
        most = MOST_PERMUTATIONS if full else FIRST_PERMUTATIONS
        for j in np.flatnonzero(permute).tolist():
            one, value = block.column(j), float(statistic[j])
            pvalues[j] = self._permuted_pvalue(one, columns[j], value, float(scale[j]), most)
            if not full and pvalues[j] < ENOUGH / most:  # three standard errors below it
                reached = pvalues[j] * (1 + most) - 1.0
                hints[j] = max(0.0, reached - 3.0 * math.sqrt(reached + 1.0)) / most
        by_law = varies & ~counted & ~permute
        tail = by_law & (z > TAIL)
        if not full:  # the law of the far tail is at least half that of the body, and bounded
            hints[tail] = pvalues[tail] / 2.0
            bound = heaviest_sf(z[tail], np.maximum(skewness[tail], 0.0))
            pvalues[tail] = np.maximum(pvalues[tail], bound)
            return pvalues, hints, by_law
        for j in np.flatnonzero(tail).tolist():
            squares, cubes, triangles = (
                float(sums[name][j]) for name in ("squares", "cubes", "triangles")
            )
            of_x = Spread(squares, cubes, triangles, block.column(j).leading())
            pvalues[j] = permutation_law(of_x, of_y, m).sf(float(statistic[j]))
        return pvalues, hints, by_law

    def _permuted_pvalue(
        self, one: SortedColumns, column: np.ndarray, statistic: float, scale: float, most: int
    ) -> float:
        """P-value from permutations of the rows, or of those that take part in an exchange."""
        linear = self.linear
        if self.scheme.is_free:
            permuted = one.permuted(self.coordinates, linear)
        else:
            (target, orders), rows = self.exchanged, self.scheme.rows
            one = SortedColumns.of(column[np.newaxis, rows], one.widths)
            if one.values[0, 0] == one.values[0, -1]:
                return 1.0
            linear = None if linear is None else replace(linear, axes=linear.axes[rows])
            sums, trace = one.sums(target), float(target.squares.sum())
            statistic = float(target.hsic(sums["inner"], sums["middle"], sums["total"] * trace)[0])
            permuted = one.in_orders(target, orders, linear)
        if linear is None:
            return sequential_pvalue(statistic, (hsic for hsic, _ in permuted), SLACK * scale, most)
        share = float(linear.shares(one.scores(), one.orders)[0])
        strength = Strength(linear.axes.shape[1], scale if self.scheme.is_free else 0.0)
        observed, chunks = strength.against((statistic, share), permuted)
        return sequential_pvalue(observed, chunks, TIE, most)

    # --- one column -------------------------------------------------------------------------------
    def alone(
        self, recipe: Kernel, column: np.ndarray, unbiased: bool, level: bool = False
    ) -> tuple[float, ...]:
        """What is found out about a column with any kernel (``FOUND``)."""
        if recipe.capabilities.telescopes:
            return tuple(self.of_sorted(recipe, column[np.newaxis], unbiased, full=True)[0, :-1])
        rows, choice = column[:, np.newaxis], Choice(self.side)
        kernel = recipe.resolve(rows, choice)
        side = Sample(kernel, rows)
        statistic = terms(side, self.side, unbiased=True).hsic()
        score = statistic if unbiased else terms(side, self.side, unbiased=False).hsic()
        levels = Levels.of(side)
        law = permutation_law(spread(side, levels=levels), self.spread, len(rows))
        if not self.scheme.is_free:
            linear, part = Sample(Linear(), self.exchanged[0].psi), side.take(self.scheme.rows)
            observed = terms(part, linear, unbiased=True).hsic()
            chunks = permutation_chunks(part, linear, self.scheme)
            pvalue = sequential_pvalue(observed, chunks, SLACK * law.scale)
        else:
            counts = counts_of(levels, self.levels)
            counted = counted_pvalue(levels, self.levels)
            permuted = partial(permutation_chunks, side, self.side)
            slack = slack_of(side, self.side)
            pvalue, _ = pvalue_of(statistic, law, counts, len(rows), counted, permuted, slack)
        pvalue = min(1.0, choice.n_candidates * pvalue)
        shares = shares_of_rows(side, self.side), shares_of_rows(side, side), self.own_shares
        cross, own_x, own_y = (each.sum() for each in shares)
        influence = influence_of(*shares, None if self.scheme.is_free else self.scheme.units)
        effect = effects_of(cross, own_x, own_y, influence, len(rows), self.n_units)
        return score, pvalue, float(getattr(kernel, "bandwidth", np.nan)), *effect.tolist()

    def of_gapped(
        self, recipe: Kernel, column: np.ndarray, unbiased: bool, level: bool
    ) -> tuple[float, ...]:
        """Score of the rows with a value, and of the gaps where these are values of their own.

        Its effect is that of the values, times their share, or of the gaps, whichever is larger.
        """
        gaps = np.isnan(column)
        n_known, part = int(np.sum(~gaps)), self.beside(~gaps)
        found: tuple[float, ...] = NOTHING
        if part is not None:
            score, pvalue, width, *effect = part.alone(recipe, column[~gaps], unbiased)
            score *= shrinkage(n_known, len(column), unbiased)
            share = 1.0 - float(gaps.mean())
            found = (score, pvalue, width, *(share * each for each in effect))
        if not level:
            return found
        of_gaps = self.alone(Delta(), gaps.astype(np.float64), unbiased)
        pvalue = _both(found[1], of_gaps[1])
        return (
            found[0] + of_gaps[0],
            pvalue,
            found[2],
            *max(found[3:], of_gaps[3:], key=lambda e: e[0]),
        )

    def biased(
        self, recipe: Any, column: np.ndarray, level: bool = False, *, with_own: bool = False
    ) -> tuple[float, float]:
        """HSIC₀ of a column, perhaps with gaps, with the target, and with itself (or 0)."""
        gaps = np.isnan(column)
        if gaps.any():
            part, less = self.beside(~gaps), shrinkage(int(np.sum(~gaps)), len(column), False)
            found, more = (0.0, 0.0), (0.0, 0.0)
            if part is not None:
                found = part.biased(recipe, column[~gaps], with_own=with_own)
            if level:
                more = self.biased(Delta(), gaps.astype(np.float64), with_own=with_own)
            # images of values and of gaps are orthogonal: what they share with the target adds up
            return less * found[0] + more[0], less * found[1] + more[1]
        rows, choose = column[:, np.newaxis], partial(most_dependent, self.side, warn=False)
        if recipe.capabilities.telescopes:
            width = None
            if recipe.policy != "median":
                width = np.array([recipe.resolve(rows, choose).bandwidth])
            sums = SortedColumns.of(column[np.newaxis], width).sums(self.coordinates)
            trace, pairs = float(self.coordinates.squares.sum()), (len(column) - 1) ** 2
            return (sums["inner"][0] + trace) / pairs, sums["own_biased"][0] / pairs
        side = Sample(recipe.resolve(rows, choose), rows)
        own = terms(side, side, unbiased=False).hsic() if with_own else 0.0
        return terms(side, self.side, unbiased=False).hsic(), own

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
        coordinates = TargetCoordinates.of(self.coordinates.psi[rows])
        if not coordinates.psi.any():  # the target is constant there
            return None
        levels = self.levels
        levels = None if levels is None else Levels.of_values(levels.codes[rows])
        exchange, scheme = FREE, FREE.plan(len(rows))
        if not self.scheme.is_free:
            try:
                exchange = self.exchange.take(rows)
                scheme = exchange.plan(len(rows), self.rows[rows])
            except TooFewWays:
                return None
        linear = None if self.linear is None else self.linear.take(rows)
        return ScreeningTarget(coordinates, levels, self.error, scheme, None, exchange, linear)


def shrinkage(n_known: int, n_rows: int, unbiased: bool) -> float:
    """HSIC of a column with gaps over that of its rows with a value."""
    if unbiased:
        return n_known * (n_known - 1) / (n_rows * (n_rows - 1))
    return ((n_known - 1) / (n_rows - 1)) ** 2


def _both(first: float, second: float) -> float:
    """P-value of two tests together (Fisher), of which one is valid whatever the other says."""
    product = first * second
    return float(min(1.0, product * (1.0 - np.log(product)))) if product > 0.0 else 0.0


#: Numbers of a block of columns: it stays in the second-level cache.
BLOCK = 2**15
#: Level of the test that the lower end of an interval of 95% stands for.
EXCLUDES_ZERO = 0.025
#: Of more columns than this, p-values are computed in full only where they matter: where the
#: adjusted p-value can be at most this.
MANY_COLUMNS, MATTERS = 1000, 0.25


def screen_columns(
    target: ScreeningTarget,
    values: Any,
    recipe: Kernel,
    categories: Categories,
    *,
    unbiased: bool = True,
    missing: Missing = "neutral",
    full: bool = False,
    n_jobs: int | None = None,
) -> np.ndarray:
    """What is found out about every column (``FOUND``), of shape (n_features, 6).

    Parameters
    ----------
    target : ScreeningTarget
    values : ndarray or sparse matrix of shape (n_samples, n_features)
    recipe : kernel of a column of numbers
    categories : categorical columns, compared by equality
    unbiased : whether scores are unbiased HSIC
    missing : what a missing cell means
    full : whether all p-values are computed in full, however many columns there are
    n_jobs : threads
    """
    values = values.tocsc() if sparse.issparse(values) else values
    d = values.shape[1]
    full = full or d <= MANY_COLUMNS or not target.scheme.is_free
    gapped = np.zeros(d, dtype=bool)
    if has_missing(values):
        gapped = np.isnan(values).any(axis=0)
    in_blocks = recipe.capabilities.telescopes & ~gapped
    in_blocks[list(categories)] = False
    _ = target.spread, target.own_shares, target.side  # once, before threads ask for them

    def work(part: np.ndarray) -> np.ndarray:
        if in_blocks[part[0]]:
            room = np.empty_like(target.coordinates.psi)  # taken once: it may be large
            blocks = (_columns(values, part[some]) for some in slices(len(part), size))
            found = [target.of_sorted(recipe, one, unbiased, full, room) for one in blocks]
            return np.concatenate(found)
        (column,) = _columns(values, part)
        kernel = Delta() if part[0] in categories else recipe
        alone = target.of_gapped if gapped[part[0]] else target.alone
        return np.array([[*alone(kernel, column, unbiased, missing == "level"), np.nan]])

    together, size = np.flatnonzero(in_blocks), max(1, BLOCK // target.n_samples)
    share = max(size, min(8, -(-len(together) // effective_n_jobs(n_jobs))))
    parts = [together[some] for some in slices(len(together), share)]
    parts += [np.array([position]) for position in np.flatnonzero(~in_blocks)]
    found = np.empty((d, len(FOUND) + 1))
    with one_blas_thread(always=True):
        for part, lines in zip(parts, map_threads(work, parts, n_jobs), strict=True):
            found[part] = lines
        hints = found[:, -1]  # the least that a p-value can be, NaN where it is known
        optimistic = np.where(np.isnan(hints), found[:, 1], hints)
        adjusted = false_discovery_control(optimistic)
        some_matter = np.flatnonzero(~np.isnan(hints) & (adjusted <= MATTERS))
        matter = [some_matter[some] for some in slices(len(some_matter), size)]
        found_again = map_threads(
            lambda part: target.of_sorted(recipe, _columns(values, part), unbiased, full=True),
            matter,
            n_jobs,
        )
        for part, lines in zip(matter, found_again, strict=True):
            found[part] = lines
    if not target.scheme.is_free:
        # pairs of rows of one group make HSIC larger than it is; exchanging whole groups allows
        # for it: no interval excludes 0 unless the p-value does
        found[found[:, 1] > EXCLUDES_ZERO, 4] = 0.0
    return found[:, : len(FOUND)]


def _columns(values: Any, positions: np.ndarray) -> np.ndarray:
    """Some columns, one per line, in float64."""
    if sparse.issparse(values):
        return np.ascontiguousarray(values[:, positions].toarray().T, dtype=np.float64)
    if positions[-1] - positions[0] == len(positions) - 1:
        values = values[:, positions[0] : positions[-1] + 1]
    else:
        values = values[:, positions]
    return np.ascontiguousarray(values.T, dtype=np.float64)
