"""Columns: their scores with p-values, and the target by the values of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils import _safe_indexing

from depmax._intervals import group_means
from depmax.plotting.style import (
    COLOURS,
    FAINT,
    MARKERS,
    Display,
    in_legend,
    last_step,
    names_of,
    require_fitted,
    short,
    short_labels,
    steps_before,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(repr=False)
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
                label="effect on the target, 0 to 1" if known else "HSIC with the target",
            )
            return screened._drawn_on(ax)
        step = last_step(selector, "ranking_")
        ranking = np.asarray(require_fitted(step, "ranking_"))
        scores = np.asarray(require_fitted(step, "scores_"), dtype=float)
        display = cls(
            names_of(step, len(ranking), selector),
            scores,
            ranking,
            getattr(step, "pvalues_adjusted_", None),
            getattr(step, "support_", None),
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


#: Classes, labels or outputs that are drawn: the most frequent classes and labels.
MOST_SERIES = 5
#: Levels of a category that are drawn, most frequent first; others, and those of fewer rows than
#: these, are drawn as one.
MOST_LEVELS, RARE = 8, 5
#: Groups of equally many rows along a column of numbers at most, and rows in each at least.
GROUPS, FEWEST = 10, 20
#: Up to this many values whole numbers are classes.
MOST_CLASSES = 20


@dataclass(repr=False)
class TargetByColumnDisplay(Display):
    """What a column does, in units of the target: its mean, or the share of each class, along it.

    Rows are put into up to ten groups of as many rows each, with similar values of the column (one
    group per value where there are few, or per level of a category, and one for missing cells).
    Drawn is the mean of the target in every group with its 95% t interval, or the share of each
    class or label with Wilson's; the dashed line is the mean or share of all rows.

    Parameters
    ----------
    name : str
        Of the column.
    places : array of shape (n_groups,)
        Where a group is drawn: the median of its values, or the position of the level.
    levels : sequence of str
        Names of the last groups: all those of a category, and "missing" if cells are.
    series : sequence of str
        Names of the classes, labels or outputs that are drawn.
    means, low, high : arrays of shape (n_series, n_groups)
        With the ends of their intervals.
    counts : array of int of shape (n_groups,)
        Rows in every group.
    overall : array of shape (n_series,)
        Mean or share among all rows.
    label : str
        Of the axis.
    shares : bool
        Whether the means are shares of rows.

    Attributes
    ----------
    ax_, figure_ : where it was drawn

    Notes
    -----
    An interval is for the mean of rows like those of its group, whatever the curve between groups.
    It holds for a column that was fixed beforehand: one that was chosen because it looks strong on
    these rows looks a little less strong on others.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.plotting import TargetByColumnDisplay
    >>> dose = np.repeat([0.0, 1.0, 2.0], 20)
    >>> cured = np.tile([0, 0, 1, 1, 1], 12) * (dose > 0)
    >>> display = TargetByColumnDisplay.from_predictions(dose, cured, name="dose")
    >>> display.means.round(2).tolist(), display.label
    ([[0.0, 0.6, 0.6]], 'share of 1')
    """

    name: str
    places: np.ndarray
    levels: Sequence[str]
    series: Sequence[str]
    means: np.ndarray
    low: np.ndarray
    high: np.ndarray
    counts: np.ndarray
    overall: np.ndarray
    label: str
    shares: bool

    @classmethod
    def from_predictions(
        cls,
        values: Any,
        y: Any,
        *,
        name: str | None = None,
        target_name: str | None = None,
        categorical: bool | None = None,
        classes: bool | None = None,
        sample_weight: Any = None,
        groups: Any = None,
        ax: Axes | None = None,
    ) -> TargetByColumnDisplay:
        """Means of the target by the values of a column.

        Parameters
        ----------
        values : array-like or series of shape (n_samples,)
            The column: numbers or levels, with gaps.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes, numbers, labels as a matrix of zeros and ones, or several numbers, which are
            drawn in standard deviations from their means.
        name, target_name : str, optional
            By default those of a series.
        categorical : bool, optional
            Whether the column is a category; by default text, booleans and declared ones are.
        classes : bool, optional
            Whether the target is classes; by default text, booleans and whole numbers of up to 20
            values are.
        sample_weight : array-like of shape (n_samples,), optional
            What each row counts; rows of weight zero are left out.
        groups : array-like of shape (n_samples,), optional
            Which rows belong together, such as those of a patient: intervals then come from whole
            groups.
        ax : matplotlib Axes, optional
            Draw at once.
        """
        if len(values) != len(y):
            raise ValueError(f"values has {len(values)} rows and y has {len(y)}.")
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        if weight is not None and not (weight.shape == (len(y),) and (weight >= 0.0).all()):
            raise ValueError("sample_weight must hold one number of at least 0 per row.")
        units = None if groups is None else np.unique(groups, return_inverse=True)[1].ravel()
        if weight is not None and not (weight > 0.0).all():
            rows = np.flatnonzero(weight > 0.0)
            values, y, weight = (_safe_indexing(part, rows) for part in (values, y, weight))
            units = None if units is None else units[rows]
        column = _column_of(values, categorical)
        called = target_name or str(getattr(y, "name", None) or "target")
        read, label, shares = _series_of(y, called, classes)
        numbers = np.column_stack(list(read.values())).astype(float)
        found = group_means(numbers, column.codes, shares=shares, sample_weight=weight, units=units)
        overall = np.average(numbers, axis=0, weights=weight)
        display = cls(
            name or str(getattr(values, "name", None) or "column"),
            column.places,
            column.levels,
            tuple(read),
            found.means,
            found.low,
            found.high,
            found.counts,
            overall,
            label,
            shares,
        )
        return display._drawn_on(ax)

    @classmethod
    def from_estimator(
        cls,
        selector: Any,
        X: Any,
        y: Any,
        *,
        place: int = 0,
        ax: Axes | None = None,
        **options: Any,
    ) -> TargetByColumnDisplay:
        """A column that a fitted selector, or the one in a pipeline, keeps.

        Parameters
        ----------
        selector : fitted selector with ``ranking_``
        X, y : rows, as they were given to the selector or to its pipeline
            A column is drawn in the units that it has in X, or if a step of the pipeline made it,
            such as the month of a date, in those that this step gave it.
        place : int, default=0
            0 is its best column.
        ax : matplotlib Axes, optional
            Draw at once.
        **options : of ``from_predictions``
        """
        step = last_step(selector, "ranking_")
        ranking = np.asarray(require_fitted(step, "ranking_"))
        if not 0 <= place < len(ranking):
            raise ValueError(
                f"place must be from 0, the best column, to {len(ranking) - 1}, got {place}."
            )
        column = int(np.argsort(ranking, kind="stable")[place])
        name = names_of(step, len(ranking), selector)[column]
        name, values = _column_named(name, column, X, steps_before(selector, step))
        options.setdefault("name", name)
        return cls.from_predictions(values, y, ax=ax, **options)

    def place(self, group: int) -> str:
        """Where a group lies, in words: the middle of its values, or its level."""
        level = group - len(self.places)
        return self.levels[level] if -level <= len(self.levels) else f"{self.places[group]:.4g}"

    def _size(self) -> tuple[float, float]:
        return 3.6, 2.6

    def _draw(self, ax: Axes) -> None:
        """Curves over numbers, and points with their intervals for groups that stand alone."""
        n_numbers = len(self.places) - len(self.levels)  # groups of numbers come first
        across = n_numbers > 0  # levels of a category are below each other, to be read
        alone = np.arange(len(self.places)) >= (n_numbers if n_numbers > 1 else 0)
        step = np.ptp(self.places[-2:]) if self.levels else 0.0
        shifts = np.linspace(-0.2, 0.2, len(self.series)) if len(self.series) > 1 else (0.0,)
        for number, (series, mean, low, high, shift) in enumerate(
            zip(self.series, self.means, self.low, self.high, shifts, strict=True)
        ):
            look: dict[str, Any] = {"color": COLOURS[number], "marker": MARKERS[number]}
            x, y = self.places[:n_numbers], mean[:n_numbers]
            ax.plot(x, y, markersize=3.5, linewidth=1.6, label=in_legend(series, 18), **look)
            ends = low[:n_numbers], high[:n_numbers]
            ax.fill_between(x, *ends, color=COLOURS[number], alpha=0.22, linewidth=0)
            x, y = self.places[alone] + shift * step, mean[alone]
            ax.plot(*((x, y) if across else (y, x)), linestyle="", markersize=4.5, **look)
            bars, line = (ax.vlines, ax.axhline) if across else (ax.hlines, ax.axvline)
            bars(x, low[alone], high[alone], color=COLOURS[number], linewidth=1.6)
            level = self.overall[number]
            line(level, color=COLOURS[number], linestyle="--", linewidth=0.8, alpha=0.7)
        if self.shares:
            limits = ax.set_ylim if across else ax.set_xlim
            bottom, top = ax.get_ylim() if across else ax.get_xlim()
            limits(max(bottom, -0.02), min(top, 1.02))
        if across:
            self._label(ax, n_numbers)
        else:
            ax.set_yticks(self.places, short_labels(self.levels, 16), fontsize="small")
            ax.set_ylim(self.places[-1] + 0.5, self.places[0] - 0.5)
            ax.set_ylabel(short(self.name))
            ax.set_xlabel(short(self.label, 30))
        tidy(ax, grid="y" if across else "x", legend=3 * (len(self.series) > 1))

    def _label(self, ax: Axes, n_numbers: int) -> None:
        """Numbers below the curve, and what stands apart from it."""
        from matplotlib.ticker import MaxNLocator

        first, last = self.places[0], self.places[n_numbers - 1]
        ticks = [t for t in MaxNLocator(4).tick_values(first, last) if first <= t <= last]
        ticks = ticks if n_numbers > 4 else self.places[:n_numbers].tolist()
        texts = [*(f"{tick:g}" for tick in ticks), *self.levels]
        ax.set_xticks([*ticks, *self.places[n_numbers:]], texts, fontsize="small")
        ax.set_xlabel(short(self.name))
        ax.set_ylabel(short(self.label, 30))


@dataclass(frozen=True)
class _Grouped:
    """The rows of a column in groups."""

    codes: np.ndarray  # group of every row
    places: np.ndarray  # where each group is drawn
    levels: tuple[str, ...] = ()  # names of the last groups


def _column_named(name: str, position: int, X: Any, steps: list[Any]) -> tuple[str, Any]:
    """A column of X, or of the first step that makes it, with its name."""
    for step in [*steps, None]:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        named = isinstance(frame, nw.DataFrame)
        if named and name in frame.columns:
            return name, frame[name].to_native()
        if step is not None and step != "passthrough":
            X = step.transform(X)
    if named:  # names that are not text
        return str(frame.columns[position]), frame[:, position].to_native()
    return name, np.asarray(X)[:, position]


def _missing(values: Any) -> np.ndarray:
    """Cells of a column, or of a target, without a value."""
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        gaps = series.is_null()
        return np.asarray(gaps | series.is_nan() if series.dtype.is_float() else gaps)
    read = np.asarray(values).ravel()
    if read.dtype == object:
        return np.array([value is None or value != value for value in read], dtype=bool)
    return np.isnan(read) if read.dtype.kind == "f" else np.zeros(len(read), dtype=bool)


def _column_of(values: Any, categorical: bool | None) -> _Grouped:
    """Groups of rows with similar values, one per level, and one for missing cells."""
    missing = _missing(values)
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        numeric, dates = series.dtype.is_numeric() and not categorical, series.dtype.is_temporal()
        cells: Any = series.cast(nw.Float64).to_numpy() if numeric else series.to_list()
    else:
        cells = np.asarray(values).ravel()
        numeric, dates = cells.dtype.kind in "iuf" and not categorical, cells.dtype.kind in "mM"
    if dates:
        raise TypeError("values holds dates: draw a part of them, as depmax.Expand() makes them.")
    read = np.asarray(cells, dtype=float) if numeric else np.array([str(v) for v in cells], object)
    known = read[~missing]
    found = _numbers(known) if numeric and len(known) else _levels(known)
    if not missing.any():
        return found
    places, every = found.places, np.full(len(read), len(found.places))
    every[~missing] = found.codes
    apart = (0.15 * float(np.ptp(places)) if numeric and len(places) else 1.0) or 1.0
    after = float(places[-1]) + apart if len(places) else 0.0
    return _Grouped(every, np.append(places, after), (*found.levels, "missing"))


def _numbers(values: np.ndarray) -> _Grouped:
    distinct = np.unique(values)
    if len(distinct) <= GROUPS:
        return _Grouped(np.searchsorted(distinct, values), distinct)
    ordered = np.sort(values)
    least = int((values == distinct[0]).sum())
    # zeros of counts and amounts, say, which would leave few groups to the others
    start = least if least > len(values) // GROUPS else 0
    count = int(np.clip((len(values) - start) // FEWEST, 2, GROUPS))
    cuts = start + (np.arange(1, count) * (len(values) - start)) // count
    ends = ordered[cuts - 1] if not start else np.append(ordered[cuts - 1], distinct[0])
    # equal values share a group, which may then hold more than its part of the rows
    codes = np.searchsorted(np.unique(ends), values, side="left")
    codes = np.unique(codes, return_inverse=True)[1].ravel()
    middles = [np.median(values[codes == group]) for group in range(codes.max() + 1)]
    return _Grouped(codes, np.array(middles))


def _levels(values: np.ndarray) -> _Grouped:
    levels, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    names = [str(level) for level in levels]
    frequent = np.argsort(-counts, kind="stable")[: MOST_LEVELS - 1]
    kept = np.sort(frequent[counts[frequent] >= RARE])
    if len(levels) > MOST_LEVELS or 1 < len(levels) - len(kept) < len(levels):
        place = np.full(len(levels), len(kept))
        place[kept] = np.arange(len(kept))
        names = [*(names[level] for level in kept), f"{len(levels) - len(kept)} others"]
        codes = place[codes.ravel()]
    return _Grouped(codes.ravel(), np.arange(len(names), dtype=float), tuple(names))


def _series_of(
    target: Any, name: str, classes: bool | None
) -> tuple[dict[str, np.ndarray], str, bool]:
    """What is averaged, with its label, and whether these are shares."""
    frame = nw.from_native(target, eager_only=True, pass_through=True)
    columns = list(frame.columns) if isinstance(frame, nw.DataFrame) else []
    y = np.asarray(target)
    if y.dtype.names or set(columns) == {"event", "time"}:
        raise TypeError(
            "y holds survival times, of which no mean is known: draw the curves of a survival "
            "library for the groups of rows."
        )
    several = y.astype(float) if y.ndim == 2 and y.shape[1] > 1 else None
    missing = _missing(target) if several is None else np.isnan(several).any(axis=1)
    if missing.any():
        raise ValueError(
            f"y is missing in {missing.sum():,} of {len(y):,} rows: pass the rows that have one."
        )
    if several is not None:
        shares = bool(np.isin(several, (0.0, 1.0)).all())
        order = np.argsort(-several.sum(axis=0), kind="stable") if shares else np.arange(y.shape[1])
        kept = np.sort(order[:MOST_SERIES])
        if not shares:
            scale = several.std(axis=0)
            several = (several - several.mean(axis=0)) / np.where(scale > 0.0, scale, 1.0)
        label = "share with the label" if shares else "mean, in standard deviations"
        names = columns or range(y.shape[1])
        return {str(names[column]): several[:, column] for column in kept}, label, shares
    y = y.ravel()
    if classes is None:
        whole = y.dtype.kind in "iu" and len(np.unique(y)) <= MOST_CLASSES
        classes = whole or y.dtype.kind not in "iuf"
    if not classes:
        return {name: y.astype(float)}, f"mean of {name}", False
    labels, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if len(labels) == 2:  # one says all
        return {str(labels[1]): codes.ravel() == 1}, f"share of {labels[1]}", True
    kept = np.sort(np.argsort(-counts, kind="stable")[:MOST_SERIES])
    return {str(labels[k]): codes.ravel() == k for k in kept}, "share of the rows", True
