"""Outcomes of tests of independence, and of screening all columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from depmax._extras import make_frame
from depmax._text import ShownAsTable, counted, html_table, short_effect, short_pvalue
from depmax._warnings import warn_caller

#: Standard errors above which what both regressions may have missed is told.
DOUBTFUL = 1.5


@dataclass(frozen=True)
class GivenFit:
    """What the confounders explain, as shares of the variance of left-out rows."""

    explained_x: Any  # a number; for a screening an array, one per column
    explained_y: float
    #: What both regressions may have missed alike, in standard errors of a dependence: √(k_x k_y/m)
    #: with k parameters each. The best penalty balances squared bias and variance k/m, so that
    #: a part of about k/m of each residual is bias, in the worst case the same on both sides.
    doubt: float
    #: Whether residuals of both sides still depend on the confounders: waves that no regression
    #: has removed from X, and from y, each at the level 0.01.
    missed: bool = False

    @property
    def reliable(self) -> bool:
        """Whether there is no sign that the test rejects too often."""
        return self.doubt <= DOUBTFUL and not self.missed

    def warn(self) -> None:
        """Warn if the regressions missed so much that the test may reject too often."""
        if self.missed:
            warn_caller(
                "The residuals of X and of y still depend on given: no regression captured all "
                "that it explains, so the test may reject too often and the p-value may be too "
                "small. More rows, or confounders with a simpler relation to X and y, help.",
                UserWarning,
            )
        elif self.doubt > DOUBTFUL:
            warn_caller(
                "The regressions on given need many parameters for so few rows (doubt = "
                f"{self.doubt:.1f}, above {DOUBTFUL:g}): they may miss the same thing in X and in "
                "y, and the p-value may then be too small. More rows, fewer confounders or "
                "simpler ones (logarithms, merged levels) help.",
                UserWarning,
            )


@dataclass(frozen=True)
class IndependenceTest:
    """Outcome of a test of independence."""

    statistic: float  # HSIC₁ as observed; of many kernels, over all combinations, standardised
    pvalue: float
    method: str
    n_samples: int
    given: GivenFit | None = None  # what the confounders explain
    #: The statistic after random permutations, where there were any: what chance alone gives.
    permuted: np.ndarray | None = field(default=None, repr=False, compare=False)
    #: Whether rows are as exchangeable as ``groups`` says: not if a series is too short for shifts.
    exchangeable: bool = True
    #: What ``statistic`` is.
    statistic_name: ClassVar[str] = "HSIC"

    @property
    def reliable(self) -> bool:
        """Whether the level can be relied on; if it is False, the p-value may be too small.

        It is False if the regressions on confounders need too many parameters for the number of
        rows, if their residuals still depend on the confounders, or if a series that is shifted is
        short for what it remembers.
        """
        return self.exchangeable and (self.given is None or self.given.reliable)

    def plot(self, ax: Any = None) -> Any:
        """Draw the statistic against its values under permutations; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        NullDisplay

        Raises
        ------
        ValueError
            If the test made no permutations (``method="gamma"``).
        """
        from depmax.plotting import NullDisplay

        if self.permuted is None:
            raise ValueError(
                f"The p-value came from method={self.method!r}, which draws no permutations: use "
                'hsic_test(..., method="permutation").'
            )
        display = NullDisplay(self.statistic, self.permuted, self.pvalue, self.statistic_name)
        return display.plot(ax=ax)

    def _repr_html_(self) -> str:
        """The outcome as a table, for notebooks."""
        row = (
            f"{self.statistic:.3g}",
            short_pvalue(self.pvalue),
            self.method,
            f"{self.n_samples:,}",
        )
        return html_table(
            (self.statistic_name, "p", "method", "rows"), [row], "Test of independence"
        )


@dataclass(frozen=True, kw_only=True)
class AggregateTest(IndependenceTest):
    """Outcome of a test with many kernels, with the contribution of each.

    Attributes
    ----------
    kernels, target_kernels : tuple of str
        The kernels of X and of y.
    standardized : ndarray of shape (n_kernels, n_target_kernels)
        HSIC of every pair of kernels alone, in standard deviations over permutations.
    """

    kernels: tuple[str, ...]
    target_kernels: tuple[str, ...]
    standardized: np.ndarray = field(repr=False, compare=False)
    statistic_name: ClassVar[str] = "standardized HSIC"

    @property
    def contributions(self) -> np.ndarray:
        """Share of each pair of kernels in the result: the squares of positive ``standardized``.

        They add up to 1, or are all 0 if no pair detected anything.
        """
        squares = np.maximum(self.standardized, 0.0) ** 2
        total = float(squares.sum())
        return squares / total if total > 0 else squares


#: Columns, or pairs, that a printed screening shows, and what it says of each column.
SHOWN, HEAD = 10, ("rank", "column", "score", "effect", "p (adjusted)")


@dataclass(frozen=True, repr=False)
class Screening(ShownAsTable):
    """Score and significance of every column; printed, the best ones as a table."""

    names: tuple[str, ...]
    scores: np.ndarray  # HSIC of each column with the target
    pvalues: np.ndarray
    pvalues_adjusted: np.ndarray  # false discovery rate over all columns
    bandwidths: np.ndarray  # NaN where the column's kernel has none
    target_error: float  # part of the target kernel's trace that its coordinates leave out
    effects: np.ndarray  # unbiased HSIC over the root of both sides' own, from 0 to 1, or NaN
    effects_low: np.ndarray  # interval of 95%, NaN without rows in memory
    effects_high: np.ndarray
    #: What p-values are of: "omnibus", HSIC and the linear part together, or "hsic", HSIC alone.
    method: str = "hsic"
    given: GivenFit | None = None  # what the confounders explain, of every column and of y
    missing: np.ndarray | None = None  # rows without a value of each column; None if there are none
    _library: str | None = field(default=None, repr=False)

    @property
    def ranking(self) -> np.ndarray:
        """Rank of each column, 1 for the largest effect, all distinct.

        Effects can be compared between columns. Scores decide between equal effects, and where
        effects are not known: given confounders and with weights of rows.
        """
        effects = np.where(np.isnan(self.effects), 0.0, self.effects)
        order = np.lexsort((-self.scores, -effects))
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
        if not np.isnan(self.effects).all():
            columns["effect"] = self.effects[order]
        if not np.isnan(self.effects_low).all():
            columns["effect_low"] = self.effects_low[order]
            columns["effect_high"] = self.effects_high[order]
        columns |= {
            "pvalue": self.pvalues[order],
            "pvalue_adjusted": self.pvalues_adjusted[order],
        }
        if self.given is not None:
            columns["explained_by_given"] = self.given.explained_x[order]
        if self.missing is not None:
            columns["missing"] = self.missing[order]
        return make_frame(columns, library or self._library)

    def plot(self, ax: Any = None, *, n_shown: int = 20) -> Any:
        """Draw the effects of the best columns with adjusted p-values; needs matplotlib.

        Scores, where effects are not known.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        n_shown : int, default=20

        Returns
        -------
        RankingDisplay
        """
        from depmax.plotting import RankingDisplay

        return RankingDisplay.from_estimator(self, n_shown=n_shown, ax=ax)

    def _table(self) -> tuple[Sequence[str], Sequence[Sequence[str]], str]:
        rows = [
            (
                str(rank),
                str(self.names[place]),
                f"{max(0.0, self.scores[place]):.3g}",
                short_effect(
                    self.effects[place], self.effects_low[place], self.effects_high[place]
                ),
                short_pvalue(self.pvalues_adjusted[place]),
            )
            for rank, place in enumerate(np.argsort(self.ranking)[:SHOWN], 1)
        ]
        found = int((self.pvalues_adjusted <= 0.05).sum())
        depend = "depends" if found == 1 else "depend"
        best = f"; the best {SHOWN} are shown" if len(self.names) > SHOWN else ""
        caption = (
            f"{found:,} of {counted(len(self.names), 'column')} {depend} on the target (false "
            f"discovery rate 5%){best}"
        )
        return HEAD, rows, caption
