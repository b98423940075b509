"""What screening of all columns found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from depmax._extras import make_frame
from depmax._text import html_table, short_effect, short_pvalue
from depmax.dependence.independence_test import GivenFit

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
    effects: np.ndarray  # unbiased HSIC over the root of both sides' own, from 0 to 1, or NaN
    effects_low: np.ndarray  # interval of 95 %
    effects_high: np.ndarray
    given: GivenFit | None = None  # what the confounders explain, of every column and of y
    missing: np.ndarray | None = None  # rows without a value of each column; None if there are none
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
        if not np.isnan(self.effects).all():
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
        if self.missing is not None:
            columns["missing"] = self.missing[order]
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
                short_effect(
                    self.effects[place], self.effects_low[place], self.effects_high[place]
                ),
                short_pvalue(self.pvalues_adjusted[place]),
            )
            for rank, place in enumerate(order, 1)
        ]
        found = int((self.pvalues_adjusted <= 0.05).sum())
        caption = (
            f"{found:,} of {len(self.names):,} columns depend on the target (false discovery rate "
            f"5 %); the best {len(rows)} are shown"
        )
        return html_table(("rank", "column", "score", "effect", "p (adjusted)"), rows, caption)
