"""Dependence: a statistic compared with chance, and matrices over bands or pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from depmax._text import counted, short_pvalue
from depmax.plotting.style import COLOURS, FAINT, Display, short_labels, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(repr=False)
class NullDisplay(Display):
    """Histogram of a statistic under permutations, with a line at the observed value.

    Parameters
    ----------
    statistic : float
    permuted : array of shape (n_permutations,)
    pvalue : float
    label : str, default="HSIC"

    Attributes
    ----------
    ax_, figure_ : where it was drawn

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.plotting import NullDisplay
    >>> NullDisplay(0.3, np.linspace(-0.1, 0.1, 50), 0.02).label
    'HSIC'
    """

    statistic: float
    permuted: np.ndarray
    pvalue: float
    label: str = "HSIC"

    def _size(self) -> tuple[float, float]:
        return 5.0, 3.2

    def _draw(self, ax: Axes) -> None:
        ax.hist(self.permuted, bins=30, color=FAINT, label="permuted target")
        text = short_pvalue(self.pvalue)
        text = f"observed, p {text}" if text.startswith("<") else f"observed, p = {text}"
        ax.axvline(self.statistic, color=COLOURS[0], linewidth=2, label=text)
        ax.set_xlabel(self.label)
        ax.set_ylabel("permutations")
        ax.legend(frameon=False, fontsize="small")
        tidy(ax)


#: Up to this many rows each has its name, and cells have room for numbers up to the second.
NAMED = 40
NUMBERED = 8


@dataclass(repr=False)
class HeatMapDisplay(Display):
    """A matrix drawn in colours; cells that are NaN stay empty.

    Parameters
    ----------
    values : array of shape (n_rows, n_columns)
    row_names, column_names : sequence of str
    label : str, default="HSIC"
        Meaning of the colours.
    row_label, column_label : str, default=""
        Labels of the axes.
    upward : bool, default=False
        Whether the first row is at the bottom, as on an axis of frequencies.

    Attributes
    ----------
    ax_, figure_, colorbar_ : where it was drawn

    Examples
    --------
    Dependence of every band between two edges, as in Figure 4 of the BAHSIC paper; here a band is
    the better the closer its middle is to 10.

    >>> from depmax.plotting import HeatMapDisplay
    >>> display = HeatMapDisplay.from_bands(lambda low, high: -abs(low + high - 20), [5, 9, 12])
    >>> display.values
    array([[-6., nan],
           [-3., -1.]])
    """

    values: np.ndarray
    row_names: Sequence[str]
    column_names: Sequence[str]
    label: str = "HSIC"
    row_label: str = ""
    column_label: str = ""
    upward: bool = False

    @classmethod
    def from_predictions(
        cls,
        values: Any,
        *,
        names: Sequence[str] | None = None,
        label: str = "HSIC",
        ax: Axes | None = None,
    ) -> HeatMapDisplay:
        """A square matrix over columns, such as their redundancy.

        Parameters
        ----------
        values : array-like of shape (n_columns, n_columns)
        names : sequence of str, optional
        label : str
        ax : matplotlib Axes, optional
            Draw at once.
        """
        matrix = np.asarray(values, dtype=float)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"values must be a square matrix, got shape {matrix.shape}.")
        labels = [f"x{j}" for j in range(len(matrix))] if names is None else list(names)
        if len(labels) != len(matrix):
            raise ValueError(
                f"{counted(len(labels), 'name')} for {counted(len(matrix), 'column')}."
            )
        display = cls(matrix, labels, labels, label)
        return display._drawn_on(ax)

    @classmethod
    def from_bands(
        cls,
        measure: Callable[[Any, Any], float],
        edges: Sequence[float],
        *,
        label: str = "HSIC",
        unit: str = "",
        ax: Axes | None = None,
    ) -> HeatMapDisplay:
        """Dependence of every band from one edge to a higher one.

        Parameters
        ----------
        measure : callable
            ``measure(low, high)`` is the dependence of the band, e.g. ``depmax.hsic`` of the
            columns in it and the target.
        edges : sequence of increasing numbers
        label : str
        unit : str
            Unit of the edges, e.g. "Hz".
        ax : matplotlib Axes, optional
            Draw at once.
        """
        edges = list(edges)
        if len(edges) < 2 or any(b <= a for a, b in pairwise(edges)):
            raise ValueError("edges must be at least two increasing numbers.")
        values = np.full((len(edges) - 1, len(edges) - 1), np.nan)
        for upper in range(1, len(edges)):
            for lower in range(upper):
                values[upper - 1, lower] = measure(edges[lower], edges[upper])
        suffix = f" ({unit})" if unit else ""
        display = cls(
            values,
            [f"{edge:g}" for edge in edges[1:]],
            [f"{edge:g}" for edge in edges[:-1]],
            label,
            f"upper edge{suffix}",
            f"lower edge{suffix}",
            upward=True,
        )
        return display._drawn_on(ax)

    def _size(self) -> tuple[float, float]:
        return 5.6, 4.6

    def _draw(self, ax: Axes) -> None:
        image = ax.imshow(
            np.ma.masked_invalid(self.values),
            cmap="viridis",
            interpolation="nearest",
            origin="lower" if self.upward else "upper",
            aspect="equal",
        )
        _name_ticks(ax.xaxis, self.column_names)
        _name_ticks(ax.yaxis, self.row_names)
        if max(len(name) for name in self.column_names) > 4:
            ax.tick_params(axis="x", labelrotation=60)
            for tick in ax.get_xticklabels():
                tick.set(horizontalalignment="right", rotation_mode="anchor")
        if max(self.values.shape) <= NUMBERED:
            self._write_numbers(ax)
        ax.set_xlabel(self.column_label)
        ax.set_ylabel(self.row_label)
        ax.spines[:].set_visible(False)
        self.colorbar_ = ax.figure.colorbar(image, ax=ax, label=self.label, shrink=0.85)
        self.colorbar_.outline.set_visible(False)

    def _write_numbers(self, ax: Axes) -> None:
        low, high = np.nanmin(self.values), np.nanmax(self.values)
        for (row, column), value in np.ndenumerate(self.values):
            if np.isfinite(value):
                dark = value < low + 0.6 * (high - low)
                ax.text(
                    column,
                    row,
                    f"{value:.2g}",
                    ha="center",
                    va="center",
                    fontsize="x-small",
                    color="#ffffff" if dark else "#111111",
                )


def _name_ticks(axis: Any, names: Sequence[str]) -> None:
    step = 1 if len(names) <= NAMED else -(-len(names) // 20)
    places = range(0, len(names), step)
    size = "small" if len(names) <= 16 else "x-small"
    axis.set_ticks(list(places), short_labels((names[j] for j in places), 16), fontsize=size)
    axis.set_tick_params(length=0)
