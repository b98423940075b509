"""Two extracted features, coloured by the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from depmax.plotting.style import COLOURS, FAINT, MARKERS, axes_for, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: More points than this are drawn as an image inside the picture.
MANY = 1500
#: Up to so many distinct values a target that is no float is drawn as classes.
CLASSES = 20


@dataclass
class FeatureScatterDisplay:
    """The first two features of every row; with one feature, this against the target's order.

    Parameters
    ----------
    features : array of shape (n_samples, n_features)
    target : array of shape (n_samples,)
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
        return display if ax is None else display.plot(ax=ax)

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

    def plot(self, ax: Axes | None = None) -> FeatureScatterDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        self
        """
        ax = axes_for(ax, 5.6, 4.2)
        across = self.features[:, 0]
        single = self.features.shape[1] == 1
        up = np.random.default_rng(0).uniform(size=len(across)) if single else self.features[:, 1]
        seen = np.zeros(len(across), dtype=bool) if self.held_out is None else ~self.held_out
        many = len(across) > MANY
        style: dict[str, Any] = {"s": 20, "linewidths": 0, "rasterized": many}
        if self._is_nominal():
            for number, label in enumerate(np.unique(self.target)):
                colour = COLOURS[number % len(COLOURS)]
                style["marker"] = MARKERS[number % len(MARKERS)]
                rows = self.target == label
                ax.scatter(across[rows & seen], up[rows & seen], color=colour, alpha=0.22, **style)
                shown = rows & ~seen
                ax.scatter(across[shown], up[shown], color=colour, label=str(label), **style)
            ax.legend(title=self.target_name, frameon=False, fontsize="small")
        else:
            ax.scatter(across[seen], up[seen], color=FAINT, alpha=0.35, **style)
            points = ax.scatter(
                across[~seen], up[~seen], c=self.target[~seen], cmap="viridis", **style
            )
            bar = ax.figure.colorbar(points, ax=ax, label=self.target_name)
            bar.outline.set_visible(False)
        ax.set_xlabel(self.names[0])
        if single:
            ax.set_yticks([])
            ax.set_ylabel("spread at random")
        else:
            ax.set_ylabel(self.names[1])
        tidy(ax, grid=None)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _is_nominal(self) -> bool:
        return self.target.dtype.kind != "f" and len(np.unique(self.target)) <= CLASSES
