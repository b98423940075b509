"""A statistic beside what chance alone gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from depmax._text import short_pvalue
from depmax.plotting.style import COLOURS, FAINT, Display, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass
class NullDisplay(Display):
    """Histogram of a statistic after permutations, with a line at the value observed.

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
