"""Two extracted features, coloured by the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from depmax.plotting.style import COLOURS, FAINT, MARKERS, Display, in_legend, short, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: More points than this are drawn as an image inside the picture.
MANY = 1500
#: Up to so many distinct values whole numbers are drawn as classes.
CLASSES = 20
#: Of more classes the most frequent have their own colours, and the others are drawn as one.
SEPARATE = 12


@dataclass
class FeatureScatterDisplay(Display):
    """The first two features of every row; with one feature, this against the target's order.

    Parameters
    ----------
    features : array of shape (n_samples, n_features)
    target : array of shape (n_samples,)
        Text and booleans are classes, whole numbers up to 20 values too. Of more than 20 classes
        the twelve most frequent have a colour of their own.
    held_out : array of bool of shape (n_samples,), optional
        Rows that the extractor did not see: drawn in full, the others faint. Features fitted to
        the rows they are drawn for look better than they are.
    names : sequence of str, default=("feature 1", "feature 2")
    target_name : str, default="target"

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

    @classmethod
    def from_predictions(
        cls,
        features: Any,
        y: Any,
        *,
        held_out: Any = None,
        target_name: str = "target",
        ax: Axes | None = None,
    ) -> FeatureScatterDisplay:
        """Scatter of given features.

        Parameters
        ----------
        features : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        held_out : array-like of bool, optional
        target_name : str
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
        display = cls(values, target, mask, target_name=target_name)
        return display._drawn_on(ax)

    @classmethod
    def from_estimator(
        cls, extractor: Any, X: Any, y: Any, *, held_out: Any = None, ax: Axes | None = None
    ) -> FeatureScatterDisplay:
        """Scatter of a fitted transformer's features of X.

        Parameters
        ----------
        extractor : fitted transformer
        X : rows, preferably not those it was fitted on
        y : array-like of shape (n_samples,)
        held_out : array-like of bool, optional
        ax : matplotlib Axes, optional
            Draw at once.
        """
        return cls.from_predictions(extractor.transform(X), y, held_out=held_out, ax=ax)

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
        ax.set_xlabel(short(self.names[0], 60))
        if single:
            ax.set_yticks([])
            ax.set_ylabel("random jitter")
        else:
            ax.set_ylabel(short(self.names[1], 60))
        tidy(ax, grid=None)

    @property
    def n_merged(self) -> int:
        """Number of classes that are drawn as one, since there are too many to tell apart."""
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
