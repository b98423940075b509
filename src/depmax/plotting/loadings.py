"""How linear features weigh the columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from depmax.plotting.style import (
    COLOURS,
    FAINT,
    LINES,
    Display,
    in_legend,
    last_step,
    names_of,
    short,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Attributes that hold directions, and whether one is a row (as in components_) or a column.
DIRECTIONS = (("components_", True), ("x_rotations_", False), ("scalings_", False))


@dataclass
class LoadingsDisplay(Display):
    """Weights of the columns: a curve where these are ordered, otherwise bars of the largest.

    Parameters
    ----------
    weights : array of shape (n_components, n_features)
    names : sequence of n_features str
    positions : array of shape (n_features,), optional
        Where the columns lie, e.g. wavelengths; then the weights are drawn as curves over them.
    component_names : sequence of n_components str
    n_shown : int, default=15
        Number of bars: the columns with the largest weights.
    position_label : str, default="column"
        Label of the axis of positions.

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

    @classmethod
    def from_predictions(
        cls,
        weights: Any,
        *,
        names: Sequence[str] | None = None,
        positions: Any = None,
        n_components: int = 2,
        ax: Axes | None = None,
    ) -> LoadingsDisplay:
        """Weights from an array.

        Parameters
        ----------
        weights : array-like of shape (n_components, n_features)
        names : sequence of str, optional
        positions : array-like of shape (n_features,), optional
        n_components : int, default=2
            How many of the first directions are shown.
        ax : matplotlib Axes, optional
            Draw at once.
        """
        matrix = np.atleast_2d(np.asarray(weights, dtype=float))[:n_components]
        n_features = matrix.shape[1]
        labels = names_of(None, n_features) if names is None else tuple(map(str, names))
        if len(labels) != n_features:
            raise ValueError(f"{len(labels)} names for {n_features} columns.")
        places = None if positions is None else np.asarray(positions, dtype=float)
        titles = [f"feature {number + 1}" for number in range(len(matrix))]
        display = cls(matrix, labels, places, titles)
        return display._drawn_on(ax)

    @classmethod
    def from_estimator(
        cls,
        extractor: Any,
        *,
        positions: Any = None,
        n_components: int = 2,
        ax: Axes | None = None,
    ) -> LoadingsDisplay:
        """Directions of a fitted linear extractor, or of the one in a pipeline.

        Parameters
        ----------
        extractor : fitted extractor
            With ``components_``, ``x_rotations_`` (PLS) or ``scalings_`` (LDA).
        positions : array-like of shape (n_features,), optional
        n_components : int, default=2
        ax : matplotlib Axes, optional
            Draw at once.
        """
        for attribute, by_row in DIRECTIONS:
            step = last_step(extractor, attribute)
            if hasattr(step, attribute):
                found = np.asarray(getattr(step, attribute))
                weights = found if by_row else found.T
                names = names_of(step, weights.shape[1])
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
        ax.axhline(0.0, color=FAINT, linewidth=0.8)
        ax.set_xlabel(self.position_label)
        ax.set_ylabel("weight")
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
        ax.set_yticks(places, [short(self.names[column]) for column in largest], fontsize="small")
        ax.invert_yaxis()
        ax.axvline(0.0, color=FAINT, linewidth=0.8)
        ax.set_xlabel("weight")
        tidy(ax, grid="x")
