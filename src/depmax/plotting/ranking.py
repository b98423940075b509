"""Columns by their scores, with p-values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from depmax.plotting.style import (
    COLOURS,
    FAINT,
    Display,
    last_step,
    names_of,
    require_fitted,
    short,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass
class RankingDisplay(Display):
    """Bars of scores, best first, each with its adjusted p-value.

    Parameters
    ----------
    names : sequence of str
        Of the columns, in the order of the table.
    scores : array of shape (n_features,)
    ranking : array of shape (n_features,)
        1 is best.
    pvalues_adjusted : array of shape (n_features,), optional
        Of each column alone, adjusted over all columns.
    kept : array of bool of shape (n_features,), optional
        Columns that were kept are drawn in colour.
    n_shown : int, default=20
    label : str, default="score"
        Of the axis.

    Attributes
    ----------
    ax_, figure_ : where it was drawn

    Examples
    --------
    >>> from depmax.plotting import RankingDisplay
    >>> RankingDisplay.from_predictions([0.1, 0.5, 0.3]).ranking
    array([3, 1, 2])
    """

    names: Sequence[str]
    scores: np.ndarray
    ranking: np.ndarray
    pvalues_adjusted: np.ndarray | None = None
    kept: np.ndarray | None = None
    n_shown: int = 20
    label: str = "score"

    @classmethod
    def from_predictions(
        cls,
        scores: Any,
        *,
        names: Sequence[str] | None = None,
        pvalues_adjusted: Any = None,
        kept: Any = None,
        label: str = "score",
        n_shown: int = 20,
        ax: Axes | None = None,
    ) -> RankingDisplay:
        """Ranking by scores, such as those of ``depmax.screen``.

        Parameters
        ----------
        scores : array-like of shape (n_features,)
        names : sequence of str, optional
        pvalues_adjusted, kept : array-like of shape (n_features,), optional
        label : str
        n_shown : int, default=20
        ax : matplotlib Axes, optional
            Draw at once.
        """
        values = np.asarray(scores, dtype=float)
        ranking = np.empty(len(values), dtype=np.int64)
        ranking[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
        display = cls(
            names_of(None, len(values)) if names is None else tuple(map(str, names)),
            values,
            ranking,
            None if pvalues_adjusted is None else np.asarray(pvalues_adjusted, dtype=float),
            None if kept is None else np.asarray(kept, dtype=bool),
            n_shown,
            label,
        )
        return display._drawn_on(ax)

    @classmethod
    def from_estimator(
        cls, selector: Any, *, n_shown: int = 20, ax: Axes | None = None
    ) -> RankingDisplay:
        """Ranking of a fitted selector, or of the one in a pipeline.

        Parameters
        ----------
        selector : fitted selector with ``ranking_`` and ``scores_``
        n_shown : int, default=20
        ax : matplotlib Axes, optional
            Draw at once.
        """
        selector = last_step(selector, "ranking_")
        ranking = np.asarray(require_fitted(selector, "ranking_"))
        scores = np.asarray(require_fitted(selector, "scores_"), dtype=float)
        display = cls(
            names_of(selector, len(ranking)),
            scores,
            ranking,
            getattr(selector, "pvalues_adjusted_", None),
            getattr(selector, "support_", None),
            n_shown,
        )
        return display._drawn_on(ax)

    def _size(self) -> tuple[float, float]:
        return 6.0, 1.2 + 0.26 * min(self.n_shown, len(self.names))

    def _draw(self, ax: Axes) -> None:
        shown = np.argsort(self.ranking, kind="stable")[: self.n_shown]
        kept = np.ones(len(self.names), dtype=bool) if self.kept is None else self.kept
        colours = [COLOURS[0] if kept[column] else FAINT for column in shown]
        bars = ax.barh(np.arange(len(shown)), self.scores[shown], 0.72, color=colours)
        if self.pvalues_adjusted is not None:
            texts = [_pvalue(self.pvalues_adjusted[column]) for column in shown]
            ax.bar_label(bars, texts, padding=4, fontsize="x-small")
            ax.margins(x=0.16)
        ax.set_yticks(
            np.arange(len(shown)), [short(self.names[column]) for column in shown], fontsize="small"
        )
        ax.invert_yaxis()
        ax.set_xlabel(self.label)
        tidy(ax, grid="x")


def _pvalue(value: float) -> str:
    return "p < 0.0001" if value < 1e-4 else f"p = {value:.2g}"
