"""Columns: their scores with p-values, and the target by the values of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from depmax.plotting.style import (
    COLOURS,
    FAINT,
    Display,
    below_ticks,
    in_legend,
    last_step,
    names_of,
    require_fitted,
    short,
    short_labels,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass
class RankingDisplay(Display):
    """Bar chart of scores, best first, each with its adjusted p-value.

    Parameters
    ----------
    names : sequence of str
        Names of the columns, in the order of the table.
    scores : array of shape (n_features,)
    ranking : array of shape (n_features,)
        1 is best.
    pvalues_adjusted : array of shape (n_features,), optional
        P-value of each column alone, adjusted over all columns.
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
        """Ranking of a fitted selector, of the one in a pipeline, or of a screening.

        Parameters
        ----------
        selector : fitted selector with ``ranking_`` and ``scores_``, or a ``Screening``
        n_shown : int, default=20
        ax : matplotlib Axes, optional
            Draw at once.
        """
        if not hasattr(selector, "fit") and hasattr(selector, "pvalues_adjusted"):
            effects = np.asarray(selector.effects, dtype=float)
            known = not np.isnan(effects).all()
            screened = cls(
                tuple(map(str, selector.names)),
                effects if known else np.maximum(selector.scores, 0.0),  # may be negative
                np.asarray(selector.ranking),
                np.asarray(selector.pvalues_adjusted, dtype=float),
                n_shown=n_shown,
                label="effect on the target, from 0 to 1" if known else "HSIC with the target",
            )
            return screened._drawn_on(ax)
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
            np.arange(len(shown)),
            short_labels(self.names[column] for column in shown),
            fontsize="small",
        )
        ax.invert_yaxis()
        ax.set_xlabel(self.label)
        tidy(ax, grid="x")


def _pvalue(value: float) -> str:
    return "p < 0.001" if value < 1e-3 else f"p = {value:.2g}"


#: Classes with a colour each; the others are drawn together.
MOST_CLASSES = 5
#: Levels of a category that are drawn, most frequent first.
MOST_LEVELS = 8
#: Groups of equally many rows along a column of numbers.
GROUPS = 10
#: Points of a scatter plot.
MOST_POINTS = 600


@dataclass
class TargetByColumnDisplay(Display):
    """How a target depends on one column: shares of the classes, or values, along the column.

    Parameters
    ----------
    values : array of shape (n_samples,)
        Numbers, or levels of a category.
    target : array of shape (n_samples,)
        Classes, or numbers.
    name : str
        Of the column.
    target_name : str, default="target"
    classes : bool, default=True
        Whether the target is classes.
    categorical : bool, default=False
        Whether the column is a category.

    Attributes
    ----------
    ax_, figure_ : where it was drawn

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.plotting import TargetByColumnDisplay
    >>> x = np.arange(40.0)
    >>> TargetByColumnDisplay(x, x > 20, "dose").groups()[1].tolist()
    [3.5, 7.5, 11.5, 15.5, 19.5, 23.5, 27.5, 31.5, 35.5]
    """

    values: Any
    target: Any
    name: str
    target_name: str = "target"
    classes: bool = True
    categorical: bool = False

    def groups(self) -> tuple[np.ndarray, np.ndarray]:
        """Group of each row, and the edges between groups (or the levels of a category)."""
        if self.categorical:
            texts = np.array([str(value) for value in self.values], dtype=object)
            levels, codes, counts = np.unique(texts, return_inverse=True, return_counts=True)
            order = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
            order = np.sort(order)
            place = np.full(len(levels), -1)
            place[order] = np.arange(len(order))
            return place[codes.ravel()], levels[order]
        numbers = np.asarray(self.values, dtype=float)
        distinct = np.unique(numbers)
        if len(distinct) <= GROUPS:
            edges = (distinct[:-1] + distinct[1:]) / 2.0
        else:
            count = max(2, min(GROUPS, len(numbers) // 4))
            ordered = np.sort(numbers)
            cuts = (np.arange(1, count) * len(numbers)) // count
            edges = np.unique((ordered[cuts - 1] + ordered[cuts]) / 2.0)
        return np.searchsorted(edges, numbers, side="left"), edges

    def _size(self) -> tuple[float, float]:
        return 3.6, 2.6

    def _draw(self, ax: Axes) -> None:
        if self.classes:
            self._draw_shares(ax)
        elif self.categorical:
            self._draw_levels(ax)
        else:
            self._draw_points(ax)
        ax.set_xlabel(short(self.name))
        tidy(ax)

    def _draw_shares(self, ax: Axes) -> None:
        """Share of each class in every group, one on top of the other."""
        codes, edges = self.groups()
        labels, rows = self._shown_classes()
        n_groups = len(edges) if self.categorical else len(edges) + 1
        sizes = np.array([max(1, int((codes == group).sum())) for group in range(n_groups)])
        lefts, widths, ticks = self._bars(edges, codes, n_groups)
        bottom = np.zeros(n_groups)
        for place, label in enumerate(labels):
            counts = np.array([(rows[codes == group] == place).sum() for group in range(n_groups)])
            colour = FAINT if label is None else COLOURS[place % len(COLOURS)]
            text = "other classes" if label is None else in_legend(label, 18)
            ax.bar(lefts, counts / sizes, widths, bottom, align="edge", color=colour, label=text)
            bottom += counts / sizes
        if ticks is not None:
            levels = edges if self.categorical else [f"{place:g}" for place in ticks]
            ax.set_xticks(ticks, below_ticks(levels), fontsize="small")
        ax.set_ylim(0.0, 1.0)
        ax.set_ylabel("share of the rows")
        ax.legend(
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=min(3, len(labels)),
            frameon=False,
            fontsize="small",
            handlelength=1.0,
            columnspacing=1.0,
        )

    def _shown_classes(self) -> tuple[Sequence[Any], np.ndarray]:
        """Classes that have a colour, the others as None, and the place of every row's class."""
        target = np.asarray(self.target)
        names, codes, counts = np.unique(target, return_inverse=True, return_counts=True)
        codes = codes.ravel()
        if len(names) <= MOST_CLASSES + 1:
            return list(names), codes
        largest = np.sort(np.argsort(-counts, kind="stable")[:MOST_CLASSES])
        place = np.full(len(names), MOST_CLASSES)
        place[largest] = np.arange(MOST_CLASSES)
        return [*names[largest], None], place[codes]

    def _bars(
        self, edges: np.ndarray, codes: np.ndarray, n_groups: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Left ends and widths of the bars, and where levels are named."""
        distinct = np.unique(np.asarray(self.values)) if not self.categorical else np.empty(0)
        if self.categorical or len(distinct) <= GROUPS:
            places = np.arange(n_groups) if self.categorical else distinct.astype(float)
            step = 1.0 if len(places) < 2 else float(np.diff(places).min())
            ticks = places
            return places - 0.4 * step, np.full(n_groups, 0.8 * step), ticks
        numbers = np.asarray(self.values, dtype=float)
        low, high = np.quantile(numbers, [0.005, 0.995])  # a far value would hide the rest
        ends = np.array([min(low, edges[0]), *edges, max(high, edges[-1])])
        return ends[:-1], np.diff(ends), None

    def _draw_levels(self, ax: Axes) -> None:
        """Median and middle half of the target for every level."""
        codes, levels = self.groups()
        target = np.asarray(self.target, dtype=float)
        for place in range(len(levels)):
            low, middle, high = np.quantile(target[codes == place], [0.25, 0.5, 0.75])
            ax.plot([place, place], [low, high], color=COLOURS[0], linewidth=5, alpha=0.45)
            ax.plot(place, middle, "o", color=COLOURS[0], markersize=5)
        ax.set_xticks(np.arange(len(levels)), below_ticks(levels), fontsize="small")
        ax.set_ylabel(short(self.target_name))

    def _draw_points(self, ax: Axes) -> None:
        """Rows as points, and the median of every group as a line."""
        values = np.asarray(self.values, dtype=float)
        target = np.asarray(self.target, dtype=float)
        step = max(1, len(values) // MOST_POINTS)
        ax.plot(values[::step], target[::step], ".", color=FAINT, markersize=3, alpha=0.7)
        codes, _ = self.groups()
        groups = [group for group in np.unique(codes) if (codes == group).any()]
        middles = [
            (np.median(values[codes == group]), np.median(target[codes == group]))
            for group in groups
        ]
        ax.plot(*zip(*middles, strict=True), color=COLOURS[0], linewidth=2)
        ax.set_ylabel(short(self.target_name))
