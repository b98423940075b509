"""Extracted features: two of them coloured by the target, and their weights for the columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import stats

from depmax._text import counted
from depmax.plotting.style import (
    COLOURS,
    FAINT,
    LINES,
    MARKERS,
    Display,
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


#: More points than this are drawn as an image inside the picture.
MANY = 1500
#: Up to this many distinct values whole numbers are drawn as classes.
CLASSES = 20
#: Of more classes the most frequent have their own colours, and the others are drawn as one.
SEPARATE = 12


@dataclass(repr=False)
class FeatureScatterDisplay(Display):
    """The first two features of every row, or the only one against the order of the target.

    Parameters
    ----------
    features : array of shape (n_samples, n_features)
    target : array of shape (n_samples,)
        Text and booleans are classes, and so are whole numbers with at most 20 distinct values. If
        there are more than 20 classes, only the twelve most frequent have their own colour.
    held_out : array of bool of shape (n_samples,), optional
        Rows that the extractor did not see: drawn in full colour, the others faintly. Features look
        better than they are on the rows they were fitted to.
    names : sequence of str, default=("feature 1", "feature 2")
    target_name : str, default="target"
    confidence : float, optional
        Draw the ellipse that holds this share of normal rows like these (Hotelling's T²): one per
        class, of at least four rows, or one of all rows for numbers.

    Attributes
    ----------
    ax_, figure_ : where it was drawn

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.plotting import FeatureScatterDisplay
    >>> X = np.random.default_rng(0).normal(size=(10, 2))
    >>> FeatureScatterDisplay.from_predictions(X, X[:, 0] > 0).features.shape
    (10, 2)
    """

    features: np.ndarray
    target: np.ndarray
    held_out: np.ndarray | None = None
    names: Sequence[str] = ("feature 1", "feature 2")
    target_name: str = "target"
    confidence: float | None = None

    @classmethod
    def from_predictions(
        cls,
        features: Any,
        y: Any,
        *,
        held_out: Any = None,
        target_name: str = "target",
        confidence: float | None = None,
        ax: Axes | None = None,
    ) -> FeatureScatterDisplay:
        """Scatter plot of given features.

        Parameters
        ----------
        features : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        held_out : array-like of bool, optional
        target_name : str
        confidence : float, optional
        ax : matplotlib Axes, optional
            Draw at once.
        """
        values = np.asarray(features, dtype=float)
        if values.ndim == 1:
            values = values[:, np.newaxis]
        target = np.asarray(y)
        if len(values) != len(target):
            raise ValueError(f"{len(values)} rows of features and {len(target)} of y.")
        mask = None if held_out is None else np.asarray(held_out, dtype=bool)
        display = cls(values, target, mask, target_name=target_name, confidence=confidence)
        return display._drawn_on(ax)

    @classmethod
    def from_estimator(
        cls,
        extractor: Any,
        X: Any,
        y: Any,
        *,
        held_out: Any = None,
        confidence: float | None = None,
        ax: Axes | None = None,
    ) -> FeatureScatterDisplay:
        """Scatter plot of a fitted transformer's features of X.

        Parameters
        ----------
        extractor : fitted transformer
        X : rows, preferably not those it was fitted on
        y : array-like of shape (n_samples,)
        held_out : array-like of bool, optional
        confidence : float, optional
        ax : matplotlib Axes, optional
            Draw at once.
        """
        features = extractor.transform(X)
        return cls.from_predictions(features, y, held_out=held_out, confidence=confidence, ax=ax)

    def _size(self) -> tuple[float, float]:
        return 5.6, 4.2

    def _draw(self, ax: Axes) -> None:
        across = self.features[:, 0]
        single = self.features.shape[1] == 1
        up = np.random.default_rng(0).uniform(size=len(across)) if single else self.features[:, 1]
        seen = np.zeros(len(across), dtype=bool) if self.held_out is None else ~self.held_out
        many = len(across) > MANY
        style: dict[str, Any] = {"s": 20, "linewidths": 0, "rasterized": many}
        if self._is_nominal():
            separate, other = self._groups()
            for rows, label, look in (*separate, *other):
                ax.scatter(across[rows & seen], up[rows & seen], alpha=0.22, **look, **style)
                shown = rows & ~seen
                ax.scatter(across[shown], up[shown], label=label, **look, **style)
                self._ellipse(ax, rows, look["color"])
            columns = 2 if len(separate) > len(COLOURS) else 1
            ax.legend(
                title=short(self.target_name, 40), frameon=False, fontsize="small", ncols=columns
            )
        else:
            ax.scatter(across[seen], up[seen], color=FAINT, alpha=0.35, **style)
            points = ax.scatter(
                across[~seen], up[~seen], c=self.target[~seen], cmap="viridis", **style
            )
            bar = ax.figure.colorbar(points, ax=ax, label=short(self.target_name, 60))
            bar.outline.set_visible(False)
            self._ellipse(ax, np.ones(len(across), dtype=bool), FAINT)
        ax.set_xlabel(short(self.names[0], 60))
        if single:
            ax.set_yticks([])
            ax.set_ylabel("random jitter")
        else:
            ax.set_ylabel(short(self.names[1], 60))
        tidy(ax, grid=None)

    def _ellipse(self, ax: Axes, rows: np.ndarray, colour: str) -> None:
        """Where T² of a new row of the same normal law is at its limit."""
        points = self.features[rows][:, :2]
        n = len(points)
        if self.confidence is None or points.shape[1] < 2 or n < 4:
            return
        limit = 2 * (n**2 - 1) / (n * (n - 2)) * stats.f.ppf(self.confidence, 2, n - 2)
        values, vectors = np.linalg.eigh(np.cov(points.T))
        angle = np.linspace(0, 2 * np.pi, 200)
        circle = np.vstack([np.cos(angle), np.sin(angle)])
        line = vectors * np.sqrt(np.maximum(values, 0.0) * limit) @ circle
        ax.plot(*(line + points.mean(axis=0)[:, np.newaxis]), color=colour, linewidth=1.1)

    @property
    def n_merged(self) -> int:
        """Number of classes that are drawn as one because there are too many to tell apart."""
        if not self._is_nominal():
            return 0
        classes = len(np.unique(self.target))
        return classes - SEPARATE if classes > CLASSES else 0

    def _groups(self) -> tuple[list[Any], list[Any]]:
        """Rows, label and look of every class with its own colour, and of all the others."""
        labels, counts = np.unique(self.target, return_counts=True)
        kept = np.sort(np.argsort(-counts, kind="stable")[: len(labels) - self.n_merged])
        separate = [
            (self.target == labels[place], in_legend(labels[place]), _look(number))
            for number, place in enumerate(kept)
        ]
        if not self.n_merged:
            return separate, []
        rest = ~np.isin(self.target, labels[kept])
        look = {"color": FAINT, "marker": "."}
        return separate, [(rest, f"{self.n_merged} other classes", look)]

    def _is_nominal(self) -> bool:
        if self.target.dtype.kind in "iu":
            return len(np.unique(self.target)) <= CLASSES
        return self.target.dtype.kind != "f"


def _look(number: int) -> dict[str, str]:
    """Colour and marker: no two alike among the first 64."""
    shift = number // len(COLOURS)
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[(number + shift) % len(MARKERS)],
    }


#: Attributes that hold directions, and whether one is a row (as in components_) or a column.
DIRECTIONS = (("components_", True), ("x_rotations_", False), ("scalings_", False))

#: Attributes that hold other values of every column.
FITTED = {"loading": "loadings_", "coefficient": "coef_", "VIP": "vip_"}
#: Numbers after these words count columns and say nothing about an order.
COUNTERS = frozenset(
    {"a", "att", "attr", "attribute", "c", "col", "column", "f", "feat", "feature", "field"}
    | {"ic", "n", "p", "pc", "pca", "v", "var", "variable", "x", "z"}
)
#: Fewer columns are clearer as bars.
FEWEST = 10


@dataclass(repr=False)
class LoadingsDisplay(Display):
    """Weights of the columns: a curve if the columns are ordered, otherwise bars of the largest.

    Parameters
    ----------
    weights : array of shape (n_components, n_features)
    names : sequence of n_features str
    positions : array of shape (n_features,), optional
        Positions of the columns, e.g. wavelengths; the weights are then drawn as curves over them.
        ``from_estimator`` and ``from_predictions`` read them from names such as "1208", "nm1208" or
        "1208 nm" of ten or more columns that rise or fall in one number. None draws bars.
    component_names : sequence of n_components str
    n_shown : int, default=15
        Number of bars: the columns with the largest weights.
    position_label : str, default="column"
        Label of the axis of positions.
    quantity : str, default="weight"
        Label of the axis of values, such as "loading", "coefficient" or "VIP".
    low, high : arrays like weights, optional
        Ends of intervals, drawn as bands over positions.

    Attributes
    ----------
    ax_, figure_ : where it was drawn

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from depmax.plotting import LoadingsDisplay
    >>> pca = PCA(2).fit(np.random.default_rng(0).normal(size=(30, 4)))
    >>> LoadingsDisplay.from_estimator(pca).names
    ('x0', 'x1', 'x2', 'x3')
    """

    weights: np.ndarray
    names: Sequence[str]
    positions: np.ndarray | None = None
    component_names: Sequence[str] = ()
    n_shown: int = 15
    position_label: str = "column"
    quantity: str = "weight"
    low: np.ndarray | None = None
    high: np.ndarray | None = None

    @classmethod
    def from_predictions(
        cls,
        weights: Any,
        *,
        names: Sequence[str] | None = None,
        positions: Any = None,
        n_components: int = 2,
        quantity: str = "weight",
        low: Any = None,
        high: Any = None,
        ax: Axes | None = None,
    ) -> LoadingsDisplay:
        """Weights from an array.

        Parameters
        ----------
        weights : array-like of shape (n_components, n_features)
        names : sequence of str, optional
        positions : array-like of shape (n_features,), optional
        n_components : int, default=2
            How many of the leading directions to show.
        quantity : str, default="weight"
        low, high : array-like of the shape of weights, optional
        ax : matplotlib Axes, optional
            Draw at once.
        """
        matrix = np.atleast_2d(np.asarray(weights, dtype=float))[:n_components]
        n_features = matrix.shape[1]
        labels = names_of(None, n_features) if names is None else tuple(map(str, names))
        if len(labels) != n_features:
            raise ValueError(f"{counted(len(labels), 'name')} for {counted(n_features, 'column')}.")
        if positions is None:
            places, unit = positions_of(labels), unit_of(labels)
        else:
            places, unit = np.asarray(positions, dtype=float), ""
        titles = [f"feature {number + 1}" for number in range(len(matrix))]
        ends = [None if end is None else np.atleast_2d(end)[:n_components] for end in (low, high)]
        display = cls(matrix, labels, places, titles, quantity=quantity, low=ends[0], high=ends[1])
        if places is not None and unit:
            display.position_label = unit
        return display._drawn_on(ax)

    @classmethod
    def from_estimator(
        cls,
        extractor: Any,
        *,
        positions: Any = None,
        n_components: int = 2,
        quantity: Literal["weight", "loading", "coefficient", "VIP"] = "weight",
        ax: Axes | None = None,
    ) -> LoadingsDisplay:
        """Directions of a fitted linear extractor, or of the one in a pipeline.

        Parameters
        ----------
        extractor : fitted extractor
            With ``components_``, ``x_rotations_`` (PLS) or ``scalings_`` (LDA).
        positions : array-like of shape (n_features,), optional
        n_components : int, default=2
        quantity : {"weight", "loading", "coefficient", "VIP"}, default="weight"
            What is drawn: ``loadings_``, ``coef_`` and ``vip_`` are those of :class:`KernelPLS`.
        ax : matplotlib Axes, optional
            Draw at once.
        """
        if quantity != "weight":
            step = last_step(extractor, FITTED[quantity])
            values = np.atleast_2d(require_fitted(step, FITTED[quantity]))
            return cls.from_predictions(
                values,
                names=names_of(step, values.shape[1], extractor),
                positions=positions,
                n_components=n_components,
                quantity=quantity,
                ax=ax,
            )
        for attribute, by_row in DIRECTIONS:
            step = last_step(extractor, attribute)
            if hasattr(step, attribute):
                found = np.asarray(getattr(step, attribute))
                weights = found if by_row else found.T
                names = names_of(step, weights.shape[1], extractor)
                return cls.from_predictions(
                    weights, names=names, positions=positions, n_components=n_components, ax=ax
                )
        raise ValueError(
            f"{type(extractor).__name__} has none of "
            f"{', '.join(name for name, _ in DIRECTIONS)}: fit it first, or use a linear one."
        )

    def _size(self) -> tuple[float, float]:
        if self.positions is not None:
            return 6.4, 3.6
        return 6.0, 1.2 + 0.3 * min(self.n_shown, len(self.names))

    def _draw(self, ax: Axes) -> None:
        if self.positions is not None:
            self._curves(ax, self.positions)
        else:
            self._bars(ax, min(self.n_shown, len(self.names)))
        if len(self.weights) > 1:
            ax.legend(frameon=False, fontsize="small")

    def _curves(self, ax: Axes, positions: np.ndarray) -> None:
        order = np.argsort(positions)
        for number, row in enumerate(self.weights):
            ax.plot(
                positions[order],
                row[order],
                LINES[number % len(LINES)],
                color=COLOURS[number % len(COLOURS)],
                linewidth=1.5,
                label=in_legend(self.component_names[number]),
            )
            if self.low is not None and self.high is not None:
                ends = self.low[number][order], self.high[number][order]
                colour = COLOURS[number % len(COLOURS)]
                ax.fill_between(positions[order], *ends, color=colour, alpha=0.18, linewidth=0)
        middle = 1.0 if self.quantity == "VIP" else 0.0  # VIP of an average column
        ax.axhline(middle, color=FAINT, linewidth=0.8)
        ax.set_xlabel(self.position_label)
        ax.set_ylabel(self.quantity)
        tidy(ax)

    def _bars(self, ax: Axes, shown: int) -> None:
        largest = np.argsort(-np.abs(self.weights).max(axis=0), kind="stable")[:shown]
        places = np.arange(shown)
        height = 0.8 / len(self.weights)
        for number, row in enumerate(self.weights):
            offset = (number - (len(self.weights) - 1) / 2) * height
            ax.barh(
                places + offset,
                row[largest],
                height,
                color=COLOURS[number % len(COLOURS)],
                label=in_legend(self.component_names[number]),
            )
        ax.set_yticks(
            places, short_labels(self.names[column] for column in largest), fontsize="small"
        )
        ax.invert_yaxis()
        ax.axvline(0.0, color=FAINT, linewidth=0.8)
        ax.set_xlabel(self.quantity)
        tidy(ax, grid="x")


def positions_of(names: Sequence[str]) -> np.ndarray | None:
    """Positions of columns whose names differ in one number that rises or falls, else None.

    >>> positions_of([f"{nm} nm" for nm in range(400, 500, 10)])[:3]
    array([400., 410., 420.])
    >>> positions_of([f"x{j}" for j in range(20)]) is None
    True
    """
    if len(names) < FEWEST:
        return None
    parts = [re.fullmatch(r"(\D*?)(-?\d+(?:[.]\d+)?)(\D*)", name) for name in names]
    found = [part for part in parts if part is not None]
    if len(found) < len(names) or len({(part[1], part[3]) for part in found}) != 1:
        return None
    word = re.sub(r"[^a-z]", "", found[0][1].lower())
    if word in COUNTERS and not found[0][3].strip():
        return None
    values = np.array([float(part[2]) for part in found])
    steps = np.diff(values)
    falls = bool((steps < 0).all()) and values[-1] >= 0  # wavenumbers; below zero "-" is a hyphen
    return values if falls or bool((steps > 0).all()) else None


def unit_of(names: Sequence[str]) -> str:
    """The words around the numbers of such names.

    >>> unit_of(["band_1", "band_2"]), unit_of(["400 nm", "410 nm"])
    ('band', 'nm')
    """
    return re.sub(r"[-_\d.\s]+", " ", names[0]).strip()
