"""What selectors find of columns that are known to matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from depmax.plotting.style import COLOURS, FAINT, Display, in_legend, short_labels, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(repr=False)
class RecoveryDisplay(Display):
    """Columns that selectors keep: those that matter, from the left, and others, from the right.

    Parameters
    ----------
    methods : sequence of str
    shapes : sequence of str
        Kinds of targets, each with a bar per method.
    found, low, high : arrays of shape (n_methods, n_shapes)
        Share of the columns that matter that were kept, with the ends of its interval.
    others : array of shape (n_methods, n_shapes)
        Share of the kept columns that do not matter.
    chance : float
        Share that as many columns drawn at random would find.

    Attributes
    ----------
    ax_, figure_ : where it was drawn

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.plotting import RecoveryDisplay
    >>> found = np.array([[0.9, 0.6]])
    >>> display = RecoveryDisplay(
    ...     ["BAHSIC"], ["linear", "curved"], found, found - 0.1, found + 0.1, 1 - found
    ... )
    >>> display.others.round(1).tolist()
    [[0.1, 0.4]]
    """

    methods: Sequence[str]
    shapes: Sequence[str]
    found: np.ndarray
    low: np.ndarray
    high: np.ndarray
    others: np.ndarray
    chance: float = float("nan")

    def _size(self) -> tuple[float, float]:
        return 5.0, 0.9 + 0.22 * (len(self.shapes) + 1) * len(self.methods)

    def _draw(self, ax: Axes) -> None:
        n_shapes = len(self.shapes)
        starts = np.arange(len(self.methods)) * (n_shapes + 1.0)
        for number, shape in enumerate(self.shapes):
            places, found = starts + number, self.found[:, number]
            ax.barh(places, found, 0.82, color=COLOURS[number], label=in_legend(shape))
            others = self.others[:, number]
            label = "kept, but others" if number == n_shapes - 1 else None
            ax.barh(places, others, 0.82, left=1.0 - others, color=FAINT, alpha=0.45, label=label)
            ends = self.low[:, number], self.high[:, number]
            # page text has the page's colour, which the edge of axes has, too
            ax.hlines(places, *ends, color=ax.spines["left"].get_edgecolor(), linewidth=1.1)
        if np.isfinite(self.chance):
            line = ax.axvline(self.chance, color=FAINT, linestyle="--", linewidth=1.0)
            line.set_label("at random")
        ax.set_yticks(starts + (n_shapes - 1) / 2, short_labels(self.methods, 22), fontsize="small")
        ax.invert_yaxis()
        ax.set_xlim(0.0, 1.0)
        ax.set_xlabel("share of planted columns kept")
        tidy(ax, grid="x", legend=2)
