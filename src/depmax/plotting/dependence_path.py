"""Dependence against the number of columns left in a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from depmax.plotting.style import (
    COLOURS,
    FAINT,
    Display,
    last_step,
    require_fitted,
    tidy,
    whole_ticks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass
class DependencePathDisplay(Display):
    """Dependence of the columns left, over the rounds of BAHSIC or FOHSIC.

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
