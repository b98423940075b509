"""A nonlinear dependence score of every column, with p-values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse

from depmax._frames import library_of, make_frame
from depmax._inputs import read_table
from depmax._text import html_table, short_pvalue
from depmax._threads import map_threads, one_blas_thread
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
from depmax.dependence.resolve import most_dependent
from depmax.kernels import Delta, KernelLike, Linear, as_kernel
from depmax.kernels.kernel import Kernel
from depmax.kernels.scales import warn_of_scales
from depmax.maps._pivots import factor_to
from depmax.samples import Sample, read_target_sample, require_equal_length, require_samples

#: Columns that a notebook shows.
SHOWN = 10


@dataclass(frozen=True)
class Screening:
    """Score and significance of every column."""

    names: tuple[str, ...]
    scores: np.ndarray  # HSIC of each column with the target
    pvalues: np.ndarray
    pvalues_adjusted: np.ndarray  # false discovery rate over all columns
    bandwidths: np.ndarray  # NaN where the column's kernel has none
    target_error: float  # part of the target kernel's trace that its coordinates leave out
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
            "pvalue": self.pvalues[order],
            "pvalue_adjusted": self.pvalues_adjusted[order],
        }
        return make_frame(columns, library or self._library)

    def plot(self, ax: Any = None, *, n_shown: int = 20) -> Any:
        """Draw the scores of the best columns with adjusted p-values; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        n_shown : int, default=20

        Returns
        -------
        RankingDisplay
        """
        from depmax.plotting import RankingDisplay

        display = RankingDisplay.from_predictions(
            np.maximum(self.scores, 0.0),  # an unbiased estimate may be negative
            names=self.names,
            pvalues_adjusted=self.pvalues_adjusted,
            label="HSIC with the target",
            n_shown=n_shown,
        )
        return display.plot(ax=ax)

    def _repr_html_(self) -> str:
        """The best columns as a table, for notebooks."""
        order = np.argsort(self.ranking)[:SHOWN]
        rows = [
            (
                str(rank),
                self.names[place],
                f"{max(0.0, self.scores[place]):.3g}",
                short_pvalue(self.pvalues_adjusted[place]),
            )
            for rank, place in enumerate(order, 1)
        ]
        found = int((self.pvalues_adjusted <= 0.05).sum())
        caption = (
            f"{found:,} of {len(self.names):,} columns depend on the target (false discovery rate "
            f"5 %); the best {len(rows)} are shown"
        )
        return html_table(("rank", "column", "score", "p (adjusted)"), rows, caption)


def screen(
    X: Any,
    y: Any,
    *,
    kernel: KernelLike = "laplace",
    target_kernel: KernelLike | Literal["auto"] = "auto",
    unbiased: bool = True,
    tol: float = 1e-6,
    n_jobs: int | None = None,
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
    n_jobs : int, optional
        Threads over columns.

    Returns
    -------
    Screening
        ``scores``, ``pvalues``, ``pvalues_adjusted`` (Benjamini-Hochberg), ``ranking``,
        ``to_frame()``.

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

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import screen
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> screen(X, X[:, 1] ** 2).ranking.tolist()
    [2, 1, 3]
    """
    table = read_table(X)
    target_side = read_target_sample(y, target_kernel)
    require_equal_length(table.n_samples, target_side.n_samples)
    require_samples(table.n_samples, unbiased=True)
    target = ScreeningTarget.of(target_side, tol)
    recipe = as_kernel(kernel)
    if not recipe.requires_vector_input:
        raise TypeError(f"screen compares columns of numbers; {recipe!r} compares objects.")
    warn_of_scales(recipe, table.values, table.names, table.categories, one_by_one=True)
    values = table.values.tocsc() if sparse.issparse(table.values) else table.values

    def scored(position: int) -> tuple[float, float, float]:
        column = values[:, [position]]
        column = column.toarray()[:, 0] if sparse.issparse(column) else column[:, 0]
        if position in table.categories:
            return target.score(Delta(), column, unbiased)
        return target.score(recipe, column, unbiased)

    with one_blas_thread(always=True):
        results = map_threads(scored, range(values.shape[1]), n_jobs)
    scores, pvalues, widths = np.array(results).T
    names = table.names or tuple(f"x{position}" for position in range(values.shape[1]))
    return Screening(
        names, scores, pvalues, _adjusted(pvalues), widths, target.error, library_of(X)
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

    @classmethod
    def of(cls, side: Sample, tol: float) -> ScreeningTarget:
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
        return cls(linear, coordinates, spread_of(linear, levels), levels, error)

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
        permuted = permutation_chunks(side, self.side)
        pvalue = self._pvalue(statistic, law, levels, permuted, slack_of(side, self.side))
        pvalue = min(1.0, choice.n_candidates * pvalue)
        value = statistic if unbiased else terms(side, self.side, unbiased=False).hsic()
        return value, pvalue, float(getattr(kernel, "bandwidth", np.nan))

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
        pvalue = self._pvalue(
            statistic,
            law,
            None if self.levels is None else prepared.levels(),
            prepared.permuted(self.coordinates, total),
        )
        return value, min(1.0, choice.n_candidates * pvalue), prepared.bandwidth


def _adjusted(pvalues: np.ndarray) -> np.ndarray:
    """Benjamini-Hochberg adjusted p-values."""
    from scipy.stats import false_discovery_control

    return false_discovery_control(pvalues)
