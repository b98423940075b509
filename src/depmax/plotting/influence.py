"""Rows that are unlike the training rows: far within the model, or far from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from depmax.plotting.style import COLOURS, FAINT, Display, last_step, require_fitted, short, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Rows whose names are written: those that exceed their limits the most.
NAMED = 8


@dataclass(repr=False)
class InfluenceDisplay(Display):
    """T² of every row against Q, with the limits that a share of normal rows exceeds.

    Rows far to the right are extreme in what the model describes, those far up hold something that
    it does not describe.

    Parameters
    ----------
    t2, q : array of shape (n_samples,)
    t2_limit, q_limit : float
    names : sequence of n_samples str
    alpha : float, default=0.05
        Share of normal rows beyond each limit.
    is_new : array of bool of shape (n_samples,), optional
        Rows that the model was not fitted to, which have their own colour.

    Attributes
    ----------
    ax_, figure_ : where it was drawn

    Examples
    --------
    >>> from depmax import KernelPLS
    >>> from depmax.datasets import load
    >>> from depmax.plotting import InfluenceDisplay
    >>> meat = load("tecator")
    >>> model = KernelPLS(6).fit(meat.X, meat.y)
    >>> display = InfluenceDisplay.from_estimator(model, meat.X, alpha=0.01)
    >>> display.outside[:3]
    array([ 34, 139,  33])
    """

    t2: np.ndarray
    q: np.ndarray
    t2_limit: float
    q_limit: float
    names: Sequence[str]
    alpha: float = 0.05
    is_new: np.ndarray | None = None

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        new: Any = None,
        alpha: float = 0.05,
        names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> InfluenceDisplay:
        """Picture of a fitted linear model, or of the one that ends a pipeline.

        Parameters
        ----------
        model : fitted KernelPLS, KernelPLSClassifier or pipeline
            With ``t2`` and ``q``.
        X : array, sparse matrix or frame, the rows of ``fit``
        new : other rows, optional
            The limits are then those of new rows.
        alpha : float, default=0.05
        names : sequence of str, optional
            Of the rows of X, then of the new ones; by default their positions.
        ax : matplotlib Axes, optional
            Draw at once.
        """
        last = last_step(model, "t2")
        require_fitted(last, "q_limit")
        before = model[:-1] if last is not model and len(model) > 1 else None
        parts = [
            part if before is None else before.transform(part)
            for part in (X, new)
            if part is not None
        ]
        distances = [last.t2(part) for part in parts]
        sizes = [len(found) for found in distances]
        t2, q = np.concatenate(distances), np.concatenate([last.q(part) for part in parts])
        labels = [str(place) for size in sizes for place in range(size)]
        training = new is None
        display = cls(
            t2,
            q,
            last.t2_limit(alpha, training=training),
            last.q_limit(alpha, training=training),
            labels if names is None else names,
            alpha,
            None if training else np.arange(len(t2)) >= sizes[0],
        )
        return display._drawn_on(ax)

    @property
    def outside(self) -> np.ndarray:
        """Rows beyond one of the limits, those that exceed them the most first."""
        excess = np.maximum(self.t2 / self.t2_limit, self.q / max(self.q_limit, 1e-300))
        order = np.argsort(-excess, kind="stable")
        return order[excess[order] > 1]

    def _size(self) -> tuple[float, float]:
        return 5.6, 4.2

    def _draw(self, ax: Axes) -> None:
        new = np.zeros(len(self.t2), dtype=bool) if self.is_new is None else self.is_new
        for rows, colour, label in (
            (~new, COLOURS[0], "training rows"),
            (new, COLOURS[1], "new rows"),
        ):
            if rows.any():
                ax.scatter(
                    self.t2[rows],
                    self.q[rows],
                    s=18,
                    linewidths=0,
                    alpha=0.75,
                    color=colour,
                    label=label,
                    rasterized=len(self.t2) > 1500,
                )
        ax.axvline(self.t2_limit, linestyle="--", linewidth=1.1, color=FAINT)
        ax.axhline(self.q_limit, linestyle="--", linewidth=1.1, color=FAINT)
        for row in self.outside[:NAMED].tolist():
            ax.annotate(
                short(self.names[row], 16),
                (self.t2[row], self.q[row]),
                xytext=(4, 2),
                textcoords="offset points",
                fontsize="x-small",
            )
        ax.set_xlim(left=0)
        ax.set_ylim(bottom=0)
        ax.set_xlabel(f"T² within the model (dashed: {1 - self.alpha:.0%} limits)")
        ax.set_ylabel("Q, distance from the model")
        if self.is_new is not None:
            ax.legend(frameon=False, fontsize="small")
        tidy(ax, grid=None)
