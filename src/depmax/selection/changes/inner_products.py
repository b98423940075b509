"""Inner products of rows over a shrinking set of columns, carried from round to round."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from depmax.selection.changes.problem import KEPT, Problem

#: From so many columns on, taking some away is cheaper than starting anew.
FEWEST = 128


@dataclass
class InnerProducts:
    """G_ab = Σ_j x_aj x_bj of pairs of rows, over columns of which some leave in every round.

    Rounding errors of columns that have left stay, so the sums start anew whenever half of the
    columns of the last start have left.
    """

    problem: Problem
    columns: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    n_at_start: int = 0
    strips: dict[int, np.ndarray] = field(default_factory=dict)  # by first row
    norms: np.ndarray = field(default_factory=lambda: np.empty(0))  # G_aa, in double precision
    changed: np.ndarray = field(default_factory=lambda: np.empty(0))  # columns to add or take away

    @classmethod
    def of(cls, problem: Problem, columns: np.ndarray) -> InnerProducts:
        """Those that a problem carries, for a round with these columns."""
        kept: InnerProducts = problem.__dict__.setdefault("_inner_products", cls(problem))
        kept._begin(columns)
        return kept

    def _begin(self, columns: np.ndarray) -> None:
        left = np.setdiff1d(self.columns, columns, assume_unique=True)
        is_subset = len(self.columns) - len(left) == len(columns)
        goes_on = bool(self.strips) and is_subset and 2 * len(columns) > self.n_at_start
        if not goes_on:
            self.strips, self.n_at_start = {}, len(columns)
        self.columns = columns
        self.changed = self.problem.centred[left if goes_on else columns]
        norms = np.einsum("ji,ji->i", self.changed, self.changed, dtype=np.float64)
        self.norms = self.norms - norms if goes_on else norms

    def fill(self, rows: slice, later: slice, out: np.ndarray) -> None:
        """Write the products of a strip of rows with itself and all later rows; once a round."""
        np.matmul(self.changed[:, rows].T, self.changed[:, later], out=out)
        strip = self.strips.get(rows.start)
        if strip is not None:
            np.subtract(strip, out, out=strip)
            out[...] = strip
        elif self.problem.weights.n_samples**2 <= KEPT and len(self.columns) >= FEWEST:
            self.strips[rows.start] = out.copy()
