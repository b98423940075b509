"""Curves: dependence and scores against the number of columns or features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from depmax.plotting.style import (
    COLOURS,
    FAINT,
    LINES,
    MARKERS,
    Display,
    in_legend,
    last_step,
    require_fitted,
    tidy,
    whole_ticks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(repr=False)
class DependencePathDisplay(Display):
    """Dependence of the remaining columns over the rounds of BAHSIC or FOHSIC.

    Parameters
    ----------
    counts : array of shape (n_rounds,)
        Columns left.
    values : array of shape (n_rounds,)
        Their dependence on the target.
    kept : int, optional
        Number of columns that the selector keeps, marked by a line.
    name : str, default="HSIC with the target"
        Label of the vertical axis.

    Attributes
    ----------
    ax_, figure_ : where it was drawn

    Examples
    --------
    >>> from depmax.plotting import DependencePathDisplay
    >>> DependencePathDisplay.from_predictions([(4, 0.1), (2, 0.3), (1, 0.2)]).counts
    array([1, 2, 4])
    """

    counts: np.ndarray
    values: np.ndarray
    kept: int | None = None
    name: str = "HSIC with the target"

    @classmethod
    def from_predictions(
        cls,
        path: Any,
        *,
        kept: int | None = None,
        name: str = "HSIC with the target",
        ax: Axes | None = None,
    ) -> DependencePathDisplay:
        """Path from pairs (number of columns, dependence).

        Parameters
        ----------
        path : sequence of pairs
        kept : int, optional
        name : str
        ax : matplotlib Axes, optional
            Draw at once.
        """
        if not len(path):
            raise ValueError("The path is empty: this selector made no search in rounds.")
        counts, values = np.asarray(list(path), dtype=float).T
        order = np.argsort(counts, kind="stable")
        display = cls(counts[order].astype(np.int64), values[order], kept, name)
        return display._drawn_on(ax)

    @classmethod
    def from_estimator(cls, selector: Any, *, ax: Axes | None = None) -> DependencePathDisplay:
        """Path of a fitted selector, or of the one in a pipeline.

        Parameters
        ----------
        selector : fitted selector with ``path_``
        ax : matplotlib Axes, optional
            Draw at once.
        """
        selector = last_step(selector, "path_")
        path = require_fitted(selector, "path_")
        kept = getattr(selector, "n_features_", None)
        name = getattr(selector, "path_quantity", cls.name)
        return cls.from_predictions(path, kept=kept, name=name, ax=ax)

    def _draw(self, ax: Axes) -> None:
        marker = "o" if len(self.counts) <= 60 else ""
        ax.plot(self.counts, self.values, marker=marker, markersize=4, color=COLOURS[0])
        if self.kept is not None:
            ax.axvline(self.kept, linestyle="--", linewidth=1.1, color=FAINT)
            ax.annotate(
                f"{self.kept} kept",
                (self.kept, 0.04),
                xycoords=("data", "axes fraction"),
                xytext=(5, 0),
                textcoords="offset points",
                fontsize="small",
            )
        whole_ticks(ax, self.counts)
        ax.set_xlabel("columns left")
        ax.set_ylabel(self.name)
        tidy(ax)


@dataclass(frozen=True)
class Curve:
    """Scores of one method."""

    dimensions: np.ndarray
    scores: np.ndarray
    low: np.ndarray | None = None  # ends of the band
    high: np.ndarray | None = None


@dataclass(repr=False)
class DimensionCurveDisplay(Display):
    """Score against the number of features, with bands, one curve per method.

    Parameters
    ----------
    curves : dict from name to Curve
        Drawn in this order.
    metric : str, default="score"
        Label of the vertical axis.
    levels : dict from name to float, optional
        Scores without a dimension, drawn as horizontal lines.
    bands : sequence of str, optional
        Curves whose bands are drawn; by default all if there are at most two, otherwise the first.
    marks : dict from name to int, optional
        Numbers of features that are drawn as vertical lines.

    Attributes
    ----------
    ax_, figure_ : where it was drawn

    Examples
    --------
    >>> from depmax.plotting import DimensionCurveDisplay
    >>> display = DimensionCurveDisplay.from_predictions([1, 2, 4], [0.6, 0.8, 0.82], name="PCA")
    >>> list(display.curves)
    ['PCA']
    """

    curves: Mapping[str, Curve]
    metric: str = "score"
    levels: Mapping[str, float] = field(default_factory=dict)
    bands: Sequence[str] | None = None
    marks: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def from_predictions(
        cls,
        dimensions: Any,
        scores: Any,
        *,
        low: Any = None,
        high: Any = None,
        name: str = "score",
        metric: str = "score",
        ax: Axes | None = None,
    ) -> DimensionCurveDisplay:
        """One curve from arrays.

        Parameters
        ----------
        dimensions, scores : array-like of the same length
        low, high : array-like, optional
            Ends of the band.
        name : str
            Of the curve.
        metric : str
        ax : matplotlib Axes, optional
            Draw at once.
        """
        sizes = np.asarray(dimensions)
        ends = [None if end is None else np.asarray(end) for end in (low, high)]
        display = cls({name: Curve(sizes, np.asarray(scores), *ends)}, metric)
        return display._drawn_on(ax)

    @classmethod
    def from_estimator(
        cls, search: Any, *, name: str | None = None, ax: Axes | None = None
    ) -> DimensionCurveDisplay:
        """The curve of a fitted grid search over one number of features, or of an extractor.

        Parameters
        ----------
        search : fitted GridSearchCV, anything with ``cv_results_``, or with ``cv_errors_``
            A search has one parameter; the band is one standard deviation over splits. An extractor
            or the last one of a pipeline was fitted with ``n_components="auto"``; the numbers that
            ``cv_choices_`` names are marked.
        name : str, optional
            Name of the curve; by default that of the parameter, or of the class.
        ax : matplotlib Axes, optional
            Draw at once.
        """
        extractor = last_step(search, "cv_errors_")
        if hasattr(extractor, "cv_errors_"):
            errors = np.asarray(extractor.cv_errors_)
            curve = Curve(np.arange(1, len(errors) + 1), errors)
            marks = dict(extractor.cv_choices_)
            own = name or type(extractor).__name__
            display = cls({own: curve}, "error of held-out rows", marks=marks)
            return display._drawn_on(ax)
        if not hasattr(search, "cv_results_"):
            raise ValueError(
                f"{type(search).__name__} has no cv_results_: fit a grid search over the number of "
                "features, or pass arrays to from_predictions."
            )
        results = search.cv_results_
        parameters = [key for key in results if key.startswith("param_")]
        if len(parameters) != 1:
            raise ValueError(f"The search must vary one parameter, it varies {len(parameters)}.")
        sizes = np.asarray(results[parameters[0]], dtype=float)
        order = np.argsort(sizes)
        mean = np.asarray(results["mean_test_score"])[order]
        spread = np.asarray(results["std_test_score"])[order]
        return cls.from_predictions(
            sizes[order],
            mean,
            low=mean - spread,
            high=mean + spread,
            name=name or parameters[0].removeprefix("param_").rpartition("__")[2],
            ax=ax,
        )

    def _draw(self, ax: Axes) -> None:
        names = list(self.curves)
        banded = self.bands
        if banded is None:
            banded = names if len(names) <= 2 else names[:1]
        for position, (name, curve) in enumerate(self.curves.items()):
            colour = COLOURS[position % len(COLOURS)]
            ax.plot(
                curve.dimensions,
                curve.scores,
                LINES[position // len(COLOURS) % len(LINES)],
                marker=MARKERS[position % len(MARKERS)],
                color=colour,
                markersize=4.5,
                linewidth=2.2 if position == 0 else 1.4,
                label=in_legend(name),
            )
            if name in banded and curve.low is not None and curve.high is not None:
                ax.fill_between(
                    curve.dimensions, curve.low, curve.high, color=colour, alpha=0.16, linewidth=0
                )
        for position, (name, value) in enumerate(self.levels.items()):
            style = LINES[(position + 1) % len(LINES)]
            ax.axhline(
                value, linestyle=style, linewidth=1.1, color="#7a7f87", label=in_legend(name)
            )
        for position, (name, count) in enumerate(self.marks.items()):
            style = LINES[(position + 1) % len(LINES)]
            ax.axvline(
                count, linestyle=style, linewidth=1.1, color="#7a7f87", label=f"{name}: {count}"
            )
        if self.marks:  # a path of all numbers
            ax.locator_params(axis="x", integer=True)
        elif self.curves:
            whole_ticks(ax, np.concatenate([curve.dimensions for curve in self.curves.values()]))
        ax.set_xlabel("number of features")
        ax.set_ylabel(self.metric)
        tidy(ax)
        count = len(self.curves) + len(self.levels) + len(self.marks)
        if count > 6:  # beside the curves there is no room left
            ax.legend(
                loc="upper center",
                bbox_to_anchor=(0.5, -0.16),
                ncols=3,
                frameon=False,
                fontsize="small",
            )
        elif count > 1:
            ax.legend(frameon=False, fontsize="small")
