"""A nonlinear dependence score of every column, with p-values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from scipy import sparse

from depmax._frames import library_of, make_frame
from depmax._inputs import read_table
from depmax._threads import map_threads, one_blas_thread
from depmax.dependence._given.conditional import GivenFit, GivenTarget, read_dense, refuse_groups
from depmax.dependence._nulls.effect import NO_EFFECT, Effect, effect_of
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
from depmax.dependence.exchange import Plan, plan_of
from depmax.dependence.resolve import most_dependent, refuse_to_choose
from depmax.dependence.variance import shares_of_rows
from depmax.kernels import Delta, KernelLike, Linear, as_kernel
from depmax.kernels.kernel import Kernel
from depmax.kernels.scales import warn_of_scales
from depmax.maps._pivots import factor_to
from depmax.samples import Sample, read_target_sample, require_equal_length, require_samples


@dataclass(frozen=True)
class Screening:
    """Score and significance of every column."""

    names: tuple[str, ...]
    scores: np.ndarray  # HSIC of each column with the target
    pvalues: np.ndarray
    pvalues_adjusted: np.ndarray  # false discovery rate over all columns
    bandwidths: np.ndarray  # NaN where the column's kernel has none
    target_error: float  # part of the target kernel's trace that its coordinates leave out
    effects: np.ndarray  # unbiased HSIC over the root of both sides' own, from 0 to 1; NaN if given
    effects_low: np.ndarray  # interval of 95 %
    effects_high: np.ndarray
    given: GivenFit | None = None  # what the confounders explain, of every column and of y
    _library: str | None = field(default=None, repr=False)

    @property
    def ranking(self) -> np.ndarray:
        """Rank of each column, 1 for the largest score, all distinct."""
        order = np.argsort(-self.scores, kind="stable")
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.arange(1, len(order) + 1)
        return ranks

    def to_frame(self, library: str | None = None) -> Any:
        """Data frame of all columns, best first, in the library of X (or the one named)."""
        order = np.argsort(self.ranking)
        columns = {
            "column": [self.names[position] for position in order],
            "rank": np.arange(1, len(order) + 1),
            "score": self.scores[order],
        }
        if self.given is None:
            columns |= {
                "effect": self.effects[order],
                "effect_low": self.effects_low[order],
                "effect_high": self.effects_high[order],
            }
        columns |= {
            "pvalue": self.pvalues[order],
            "pvalue_adjusted": self.pvalues_adjusted[order],
        }
        if self.given is not None:
            columns["explained_by_given"] = self.given.explained_x[order]
        return make_frame(columns, library or self._library)


def screen(
    X: Any,
    y: Any,
    *,
    kernel: KernelLike = "laplace",
    target_kernel: KernelLike | Literal["auto"] = "auto",
    unbiased: bool = True,
    tol: float = 1e-6,
    groups: Any = None,
    n_jobs: int | None = None,
    given: Any = None,
) -> Screening:
    """Score every column of X by its nonlinear dependence on y, with p-values.

    With the Laplace kernel each column costs O(m log m) time, exactly, the null moments behind
    its p-value included; a million rows take about a second per column.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Categorical columns are compared by equality.
    y : target of any type
    kernel : kernel or name, default="laplace"
        Kernel of a single column; its bandwidth is resolved per column. Other kernels than Laplace
        and linear cost O(m²) per column.
    target_kernel : kernel, name or "auto", default="auto"
    unbiased : bool, default=True
        Which HSIC the scores are. The p-values always belong to the unbiased one.
    tol : float, default=1e-6
        Part of the trace of the target kernel that its low-rank coordinates may leave out; zero
        cost for classes and linear kernels, whose coordinates are exact.
    groups : array-like of shape (n_samples,), WholeGroups, WithinGroups or Shifts, optional
        For rows that are not independent, as in :func:`depmax.hsic_test`: labels exchange whole
        groups. All p-values then come from permutations, at most 9,999 of them.
    n_jobs : int, optional
        Threads over columns.
    given : array-like, series or data frame, optional
        Confounders Z, numbers and categories: score each column by what it shares with y beyond
        what Z explains of both, as ``hsic_test(..., given=Z)`` does. A column then costs some
        hundred regressions in closed form, about 0.1 s, linear in the rows; every kernel does.

    Returns
    -------
    Screening
        ``scores``, ``pvalues``, ``pvalues_adjusted`` (Benjamini-Hochberg), ``ranking``,
        ``effects`` with ``effects_low`` and ``effects_high``, ``to_frame()``.

    Notes
    -----
    A p-value comes from the law of unbiased HSIC under permutations of the target: its exact mean
    and variance, its skewness (the target's part from 768 rows if there are more with as many
    values), a gamma law for the body and a chi-square mixture for the tail. Where column and
    target have two values each it is exact, from counts. Where rare values of the column meet
    rare values of the target, or the law is more skewed than any such mixture, the target is
    permuted, with a fixed seed, until 30 permuted scores have reached the observed one, at most
    9,999 times: no p-value below 0.0001 is reported then. A constant column scores 0 with p-value
    1. With ``bandwidth="maximize"`` the p-value is that of the chosen bandwidth times the number of
    candidates (Bonferroni).

    An effect is HSIC(x, y) / √(HSIC(x, x) HSIC(y, y)), all unbiased, cut to [0, 1]: a squared
    correlation of kernels, which does not depend on the units of a column or on its type. It is 0
    under independence and 1 where both kernels tell the same rows apart to the same degree, the
    squared correlation itself for linear kernels. Its interval (95 %) holds one column at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import screen
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> screen(X, X[:, 1] ** 2).ranking.tolist()
    [2, 1, 3]
    """
    if given is not None:
        refuse_groups(groups)
        return _screen_given(X, y, given, kernel, target_kernel, unbiased, n_jobs)
    table = read_table(X)
    target_side = read_target_sample(y, target_kernel)
    require_equal_length(table.n_samples, target_side.n_samples)
    require_samples(table.n_samples, unbiased=True)
    plan = plan_of(groups, table.n_samples, target_side.rows)
    target = ScreeningTarget.of(target_side, tol, plan)
    recipe = _kernel_of_columns(kernel)
    warn_of_scales(recipe, table.values, table.names, table.categories, one_by_one=True)
    values = table.values.tocsc() if sparse.issparse(table.values) else table.values

    def scored(position: int) -> tuple[float, ...]:
        column = values[:, [position]]
        column = column.toarray()[:, 0] if sparse.issparse(column) else column[:, 0]
        if position in table.categories:
            return target.score_and_effect(Delta(), column, unbiased)
        return target.score_and_effect(recipe, column, unbiased)

    with one_blas_thread(always=True):
        results = map_threads(scored, range(values.shape[1]), n_jobs)
    scores, pvalues, widths, shares, low, high = np.array(results).T
    names = table.names or tuple(f"x{position}" for position in range(values.shape[1]))
    return Screening(
        names=names,
        scores=scores,
        pvalues=pvalues,
        pvalues_adjusted=_adjusted(pvalues),
        bandwidths=widths,
        target_error=target.error,
        effects=shares,
        effects_low=low,
        effects_high=high,
        _library=library_of(X),
    )


def _kernel_of_columns(kernel: KernelLike) -> Kernel:
    recipe = as_kernel(kernel)
    if not recipe.requires_vector_input:
        raise TypeError(f"screen compares columns of numbers; {recipe!r} compares objects.")
    return recipe


def _screen_given(
    X: Any,
    y: Any,
    given: Any,
    kernel: KernelLike,
    target_kernel: KernelLike | Literal["auto"],
    unbiased: bool,
    n_jobs: int | None,
) -> Screening:
    """Every column alone, against a target that lost once what the confounders explain."""
    recipe = _kernel_of_columns(kernel)
    target = GivenTarget.of(y, given, target_kernel)
    table = read_dense(X, target.regressions)
    names = table.names or tuple(f"x{position}" for position in range(table.values.shape[1]))
    choose = partial(refuse_to_choose, "screen with given")

    def scored(position: int) -> tuple[float, float, float, float, float]:
        column = table.values[:, position]
        if column.min() == column.max():
            return 0.0, 1.0, np.nan, 0.0, 0.0
        kernel = Delta() if position in table.categories else recipe
        found = target.against(column, kernel, choose)
        return (
            found.conditional.hsic(unbiased),
            found.conditional.law_pvalue(),
            found.bandwidth,
            found.explained,
            found.doubt,
        )

    with one_blas_thread(always=True):
        results = map_threads(scored, range(table.values.shape[1]), n_jobs)
    scores, pvalues, widths, explained, doubts = np.array(results).T
    fit = GivenFit(explained, target.side.explained, float(doubts.max()))
    fit.warn()
    unknown = np.full(len(scores), np.nan)
    return Screening(
        names=names,
        scores=scores,
        pvalues=pvalues,
        pvalues_adjusted=_adjusted(pvalues),
        bandwidths=widths,
        target_error=0.0,
        effects=unknown,
        effects_low=unknown,
        effects_high=unknown,
        given=fit,
        _library=library_of(X),
    )


@dataclass
class Choice:
    """What ``bandwidth="maximize"`` chooses by, with an account of how many it chose from.

    The p-value of the most dependent of n kernels, times n, is valid whatever their dependence.
    """

    target: Sample
    n_candidates: int = 1

    def __call__(self, candidates: Sequence[Kernel], X: Any) -> Kernel:
        """The candidate of largest HSIC with the target."""
        self.n_candidates *= len(candidates)
        return most_dependent(self.target, candidates, X)


@dataclass(frozen=True)
class ScreeningTarget:
    """A target prepared once for all columns."""

    side: Sample  # coordinates of the target with the linear kernel
    coordinates: TargetCoordinates
    spread: Spread
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
        linear = Sample(Linear(), coordinates.psi)
        levels = Levels.of(side)
        exchanged = None if plan is None else ExchangedTarget.of(coordinates, plan)
        return cls(linear, coordinates, spread_of(linear, levels), levels, error, exchanged)

    def score(
        self, recipe: Kernel, column: np.ndarray, unbiased: bool
    ) -> tuple[float, float, float]:
        """HSIC of one column, its p-value and the bandwidth used."""
        if recipe.capabilities.telescopes:
            return self._score_sorted(recipe, column, unbiased)
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
        score, pvalue, width = self.score(recipe, column, unbiased)
        found = self.effect(recipe, column, width)
        return score, pvalue, width, found.share, found.low, found.high

    def effect(self, recipe: Any, column: np.ndarray, bandwidth: float | None = None) -> Effect:
        """Normalised HSIC of a column; a Laplace kernel has this bandwidth, or the median."""
        if recipe.capabilities.telescopes:
            prepared = LaplaceColumn.of(column, bandwidth)
            if prepared.is_constant:
                return NO_EFFECT
            cross, own = prepared.shares(self.coordinates)
            return effect_of(cross, own, self.own_shares[prepared.order])
        rows = column[:, np.newaxis]
        side = Sample(recipe.resolve(rows, Choice(self.side)), rows)
        cross, own = shares_of_rows(side, self.side), shares_of_rows(side, side)
        return effect_of(cross, own, self.own_shares)

    @cached_property
    def own_shares(self) -> np.ndarray:
        """(B̃ ∘ B̃)1 of the target."""
        return shares_of_rows(self.side, self.side)

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
        if is_out_of_range(law, levels, self.levels):
            return sequential_pvalue(statistic, permuted, slack * law.scale)
        return law.sf(statistic)

    def _score_sorted(
        self, recipe: Any, column: np.ndarray, unbiased: bool
    ) -> tuple[float, float, float]:
        choice = Choice(self.side)
        if recipe.bandwidth == "median":
            width = None
        else:
            width = recipe.resolve(column[:, np.newaxis], choice).bandwidth
        prepared = LaplaceColumn.of(column, width)
        if prepared.is_constant:
            return 0.0, 1.0, prepared.bandwidth
        of_column, total = prepared.spread()
        statistic = prepared.terms(self.coordinates, total, unbiased=True).hsic()
        law = permutation_law(of_column, self.spread, len(column))
        if statistic > law.scale:  # only a tail needs the spectrum
            of_column = replace(of_column, leading=prepared.leading())
            law = permutation_law(of_column, self.spread, len(column))
        value = statistic
        if not unbiased:
            value = prepared.terms(self.coordinates, total, unbiased=False).hsic()
        if self.exchanged is not None:
            pvalue = self.exchanged.pvalue_sorted(column, prepared.bandwidth, law.scale)
        else:
            pvalue = self._pvalue(
                statistic,
                law,
                None if self.levels is None else prepared.levels(),
                prepared.permuted(self.coordinates, total),
            )
        return value, min(1.0, choice.n_candidates * pvalue), prepared.bandwidth


#: Part of the trace of the target kernel that may be left out where rows are exchanged: the test
#: is exact for what is left, and every permutation costs as much as there are coordinates.
EXCHANGED_TOL = 1e-3


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


def _adjusted(pvalues: np.ndarray) -> np.ndarray:
    """Benjamini-Hochberg adjusted p-values."""
    from scipy.stats import false_discovery_control

    return false_discovery_control(pvalues)
