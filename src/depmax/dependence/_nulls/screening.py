"""Columns against a target: scores, p-values, effects, wherever the rows come from.

``screening_of`` gives an object that answers what is ``Asked`` of every column. Rows in memory are
compared here; those with weights in ``weighted``, those read a chunk at a time in ``counted``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from scipy.stats import false_discovery_control

from depmax._resources import cached_property, map_threads, one_blas_thread, slices
from depmax.data.columns import Missing
from depmax.data.sample import MINIMUM, Sample, require_finite_values
from depmax.data.table import Table, constant_columns, has_missing, is_streamed
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
    gamma_sf,
    is_out_of_range,
    n_rare,
    permutation_law,
    pvalue_of_counts,
    sequential_pvalue,
    spread,
    spread_of,
    third_moment,
)
from depmax.dependence._nulls.linear_part import LinearPart, combined, permuted_pvalue
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

if TYPE_CHECKING:
    from depmax.dependence._nulls.counted import CountedScreening

#: Part of the trace of the target kernel that may be left out where rows are exchanged: the test
#: is exact for what is left, and every permutation costs as much as there are coordinates.
EXCHANGED_TOL = 1e-3
#: Patterns of missing cells whose rows of the target are kept.
PATTERNS = 64
#: Permutations of a column before it is known whether its p-value matters.
FIRST_PERMUTATIONS = 333

#: What is found out about a column, in this order: after the interval of its effect HSIC₀ of the
#: column with itself, and what confounders explain of it, may hide, and whether they do.
FOUND = (
    *("score", "pvalue", "bandwidth", "effect", "effect_low", "effect_high"),
    *("own", "explained", "doubt", "missed"),
)
#: Of a column that says nothing.
NOTHING = np.array([0.0, 1.0, np.nan, *[0.0] * 7])


@dataclass(frozen=True)
class Asked:
    """What is asked of columns."""

    recipe: Any  # kernel of a column
    unbiased: bool = True  # HSIC₁ as the score, else HSIC₀
    test: bool = True  # for p-values and effects
    own: bool = False  # for HSIC₀ of a column with itself
    level: bool = False  # whether missing cells are a value of their own
    full: bool = False  # whether every p-value is computed in full, however many there are


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
    #: Whether columns with the Laplace kernel are looked at in blocks.
    sorts: ClassVar[bool] = True

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

        def gram(rows: np.ndarray) -> np.ndarray:
            some = self.coordinates.psi[rows]
            return np.asarray(some @ some.T)

        squares = partial(float, self.own_shares.sum())
        return spread_of(gram, self.n_samples, squares, self.levels)

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

    @property
    def is_free(self) -> bool:
        """Whether any row may take the place of any other."""
        return self.scheme.is_free

    def prepare(self) -> None:
        """What threads would ask for at once."""
        _ = self.spread

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

    def of_sorted(self, asked: Asked, blocks: Iterable[np.ndarray]) -> np.ndarray:
        """Lines of ``FOUND``, then the least that the p-value can be, NaN where it is computed.

        Of blocks of columns, given one per line.
        """
        room = np.empty_like(self.coordinates.psi)  # taken once: it may be large
        return np.concatenate([self._of_block(asked, columns, room) for columns in blocks])

    def _of_block(self, asked: Asked, columns: np.ndarray, room: np.ndarray) -> np.ndarray:
        m, y = self.n_samples, self.levels
        block, n_candidates = self.sorted(asked.recipe, columns)
        units = None if self.is_free else self.scheme.units
        codes = y.codes if y is not None and len(y.counts) == 2 else None
        own_y = self.own_shares if asked.test else None
        sums = block.sums(self.coordinates, own_y, codes, units, room)
        trace, varies = float(self.coordinates.squares.sum()), sums["constant"] == 0.0
        statistic = self.coordinates.hsic(sums["inner"], sums["middle"], sums["total"] * trace)
        scores = statistic if asked.unbiased else (sums["inner"] + trace) / (m - 1) ** 2
        found = np.full((len(columns), len(FOUND) + 1), np.nan)
        found[:, 0], found[:, 2] = np.where(varies, scores, 0.0), block.widths
        found[:, 6] = sums["own_biased"] / (m - 1) ** 2
        if own_y is None:
            return found
        pvalues, hints, by_law = self._pvalues(block, sums, statistic, columns, asked.full)
        own_x = np.where(sums["n_rare"] > 1, sums["squares"], 0.0)  # Ã = 0 if one row alone differs
        effects = effects_of(
            sums["cross"], own_x, float(own_y.sum()), sums["influence"], m, self.n_units
        )
        pvalues = np.minimum(1.0, n_candidates * pvalues)
        hints = np.minimum(1.0, n_candidates * hints)
        if self.linear is not None and by_law.any():
            of_linear = self._linear_pvalues(self.linear, block)
            hints = np.where(by_law, combined(hints, of_linear), hints)
            pvalues = np.where(by_law, combined(pvalues, of_linear), pvalues)
        found[:, 1], found[:, -1] = pvalues, hints
        found[:, 3:6] = np.where(varies, effects, 0.0).T
        return found

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
        if not self.is_free:
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
        linear, share = self.linear, 0.0
        if self.is_free:
            permuted = one.permuted(self.coordinates, linear)
            if linear is not None:
                share = float(linear.shares(one.scores(), one.orders)[0])
        else:
            (target, orders), rows = self.exchanged, self.scheme.rows
            one = SortedColumns.of(column[np.newaxis, rows], one.widths)
            if one.values[0, 0] == one.values[0, -1]:
                return 1.0
            linear = None if linear is None else replace(linear, axes=linear.axes[rows])
            as_observed = np.arange(len(rows))[np.newaxis]
            (statistic,), (share,) = next(one.in_orders(target.psi, [as_observed], linear))
            permuted = one.in_orders(target.psi, orders, linear)
        rank = None if linear is None else linear.axes.shape[1]
        observed, least = (float(statistic), float(share)), scale if self.is_free else 0.0
        return permuted_pvalue(observed, permuted, SLACK * scale, rank=rank, scale=least, most=most)

    # --- one column -------------------------------------------------------------------------------
    def alone(self, asked: Asked, column: np.ndarray) -> np.ndarray:
        """What is found out about a column with any kernel (``FOUND``)."""
        recipe = asked.recipe
        if recipe.capabilities.telescopes:
            return self.of_sorted(replace(asked, full=True), [column[np.newaxis]])[0, :-1]
        rows, choice = column[:, np.newaxis], Choice(self.side)
        kernel = recipe.resolve(rows, choice)
        side, found = Sample(kernel, rows), np.full(len(FOUND), np.nan)
        found[0] = terms(side, self.side, unbiased=asked.unbiased).hsic()
        found[2] = getattr(kernel, "bandwidth", np.nan)
        if asked.own:
            found[6] = terms(side, side, unbiased=False).hsic()
        if asked.test:
            found[1] = min(1.0, choice.n_candidates * self._pvalue(side, found[0], asked.unbiased))
            shares = shares_of_rows(side, self.side), shares_of_rows(side, side), self.own_shares
            cross, own_x, own_y = (each.sum() for each in shares)
            influence = influence_of(*shares, None if self.is_free else self.scheme.units)
            found[3:6] = effects_of(cross, own_x, own_y, influence, len(rows), self.n_units)
        return found

    def _pvalue(self, side: Sample, score: float, unbiased: bool) -> float:
        """P-value of HSIC of a column with any kernel."""
        levels = Levels.of(side)
        law = permutation_law(spread(side, levels=levels), self.spread, side.n_samples)
        if not self.is_free:
            linear, part = Sample(Linear(), self.exchanged[0].psi), side.take(self.scheme.rows)
            observed = terms(part, linear, unbiased=True).hsic()
            chunks = permutation_chunks(part, linear, self.scheme)
            return sequential_pvalue(observed, chunks, SLACK * law.scale)
        counted = counted_pvalue(levels, self.levels)
        if counted is not None:
            return counted
        statistic = score if unbiased else terms(side, self.side, unbiased=True).hsic()
        counts = [None if each is None else each.counts for each in (levels, self.levels)]
        if is_out_of_range(law, side.n_samples, *counts):
            slack = slack_of(side, self.side) * law.scale
            return sequential_pvalue(statistic, permutation_chunks(side, self.side), slack)
        return law.sf(statistic)

    def of_gapped(self, asked: Asked, column: np.ndarray) -> np.ndarray:
        """Score of the rows with a value, and of the gaps where these are values of their own.

        Images of values and of gaps are orthogonal: their scores add up. The effect is that of the
        values, times their share, or of the gaps, whichever is larger.
        """
        gaps = np.isnan(column)
        n_known, part, found = int(np.sum(~gaps)), self.beside(~gaps), NOTHING.copy()
        if part is not None:
            found = part.alone(asked, column[~gaps])
            found[0] *= shrinkage(n_known, len(column), asked.unbiased)
            found[3:6] *= n_known / len(column)
            found[6] *= shrinkage(n_known, len(column), unbiased=False)
        if asked.level:
            of_gaps = self.alone(replace(asked, recipe=Delta()), gaps.astype(np.float64))
            found[[0, 6]] += of_gaps[[0, 6]]
            found[1] = _both(found[1], of_gaps[1])
            found[3:6] = max(found[3:6], of_gaps[3:6], key=lambda effect: effect[0])
        return found

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
        if not self.is_free:
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


def screening_of(
    table: Table,
    target: Sample,
    tol: float,
    plain: Callable[[], Sample] | None = None,
    *,
    exchange: Exchange = FREE,
    scheme: PermutationScheme | None = None,
    omnibus: bool = False,
    missing: Missing = "neutral",
) -> RowScreening | CountedScreening:
    """The screening that suits the rows: in memory, with weights, or read a chunk at a time.

    Parameters
    ----------
    table : rows of X
    target : rows of y with a kernel, and weights if rows have these
    tol : part of the trace of the target's kernel that its coordinates may leave out
    plain : the target without weights; p-values of rows with weights need it
    exchange, scheme : how rows of the target are permuted
    omnibus : whether p-values see the linear part of a dependence too, if there is one
    missing : what a missing cell means
    """
    if is_streamed(table.values):
        from depmax.dependence._nulls.counted import CountedScreening, CountedTarget

        counted = CountedTarget.of(target, tol, omnibus=omnibus)
        return CountedScreening(table, counted)
    if target.weight is None:
        found: Any = ScreeningTarget.of(target, tol, exchange, scheme, omnibus=omnibus)
    else:
        from depmax.dependence._nulls.weighted import WeighedTarget

        found = WeighedTarget.of(target, plain and plain(), tol, omnibus=omnibus)
    return RowScreening(table, found, missing)


@dataclass(frozen=True)
class RowScreening:
    """Columns of rows in memory; many columns with the Laplace kernel are looked at in blocks."""

    table: Table
    target: Any  # ScreeningTarget, WeighedTarget, or GivenTarget
    missing: Missing

    @property
    def has_linear(self) -> bool:
        """Whether p-values see the linear part of a dependence, too."""
        return self.target.linear is not None

    @cached_property
    def constant(self) -> np.ndarray:
        """Which columns have one value only."""
        return constant_columns(self.table.values, self.missing)

    @property
    def own_biased(self) -> float:
        """HSIC₀ of the target with itself."""
        psi = self.target.coordinates.psi
        return float(np.sum((psi.T @ psi) ** 2)) / (len(psi) - 1) ** 2

    @cached_property
    def values(self) -> Any:
        """Columns that are cheap to take."""
        values = self.table.values
        return values.tocsc() if sparse.issparse(values) else values

    def found(self, asked: Asked, n_jobs: int | None = None) -> np.ndarray:
        """What is found out about every column (``FOUND``), NaN where it is not asked for."""
        values, target = self.values, self.target
        d = values.shape[1]
        full = asked.full or d <= MANY_COLUMNS or not target.is_free
        asked = replace(asked, level=self.missing == "level", full=full)
        gapped = np.zeros(d, dtype=bool)
        if has_missing(values):
            gapped = np.isnan(values).any(axis=0)
        in_blocks = (target.sorts and asked.recipe.capabilities.telescopes) & ~gapped
        in_blocks[list(self.table.categories)] = False
        if asked.test:
            target.prepare()

        def work(part: np.ndarray) -> np.ndarray:
            if in_blocks[part[0]]:
                blocks = (_columns(values, part[some]) for some in slices(len(part), size))
                return np.asarray(target.of_sorted(asked, blocks))
            (column,), place = _columns(values, part), int(part[0])
            mine = replace(asked, recipe=Delta()) if place in self.table.categories else asked
            alone = target.of_gapped if gapped[place] else target.alone
            return np.array([[*alone(mine, column), np.nan]])

        together, size = np.flatnonzero(in_blocks), max(1, BLOCK // target.n_samples)
        share = max(size, min(8, -(-len(together) // effective_n_jobs(n_jobs))))
        parts = [together[some] for some in slices(len(together), share)]
        parts += [np.array([position]) for position in np.flatnonzero(~in_blocks)]
        found = np.empty((d, len(FOUND) + 1))
        with one_blas_thread(always=True):
            for part, lines in zip(parts, map_threads(work, parts, n_jobs), strict=True):
                found[part] = lines
            hints = found[:, -1]  # the least that a p-value can be, NaN where it is known
            if not np.isnan(hints).all():
                optimistic = np.where(np.isnan(hints), found[:, 1], hints)
                adjusted = false_discovery_control(optimistic)
                some_matter = np.flatnonzero(~np.isnan(hints) & (adjusted <= MATTERS))
                matter = [some_matter[some] for some in slices(len(some_matter), size)]
                found_again = map_threads(
                    lambda part: target.of_sorted(
                        replace(asked, full=True), [_columns(values, part)]
                    ),
                    matter,
                    n_jobs,
                )
                for part, lines in zip(matter, found_again, strict=True):
                    found[part] = lines
        if not target.is_free:
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
