"""Kernel ridge regression on sets of columns, some cells of which are missing.

The mean embedding of its column stands in for a missing cell (``kernels/neutral.py``). It has a
distance of its own from every value, which depends on the width of the kernel: what the regression
does with distances, also to first order, it does with these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from depmax.kernels.bandwidth import squared_distances
from depmax.kernels.neutral import GappedRows, Gaps
from depmax.selection._ridge.problem import RidgeProblem, Rows, moved


@dataclass(frozen=True)
class GappedRidgeProblem(RidgeProblem):
    """Rows with missing cells whose target is predicted from sets of their columns."""

    cells: Sequence[np.ndarray] = ()  # columns that are missing together in some rows

    def _variances(self) -> np.ndarray:
        known = [column[~np.isnan(column)] for column in self.X.T]
        return np.array([column.var() if len(column) else 0.0 for column in known])

    def tile(self, rows: Rows, others: Rows, columns: np.ndarray) -> np.ndarray:
        """Kernel values of some rows with others, by the columns of a set."""
        seen = self.seen(columns)
        left = seen.take(rows)
        right = left if rows is others else seen.take(others)
        return self._of_squares(left.sums(right, squared_distances), columns)

    def against(self, new: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Kernel values of new rows, with all columns, with the landmarks."""
        left = self._gaps.among(columns).see(new[:, columns], 2, 2.0 * self.total(columns))
        right = self.seen(columns).take(self.places)
        return self._of_squares(left.sums(right, squared_distances), columns)

    def moved(self, M: np.ndarray, rows: Rows, others: Rows, columns: np.ndarray) -> np.ndarray:
        """Σ_il M_il s_j(x_i, z_l) for every column j, with s = (x - z)² where there are values."""
        seen = self.seen(columns)
        left, right = seen.take(rows), seen.take(others)
        result = moved(M, left.filled, right.filled)
        result[seen.first] += left.weighted_corrections(M, right)
        return result

    @cached_property
    def _gaps(self) -> Gaps:
        return Gaps.of(self.X, self.cells)

    def seen(self, columns: np.ndarray) -> GappedRows:
        """Some columns of all rows, ready to be compared by the kernel of these columns.

        What was made ready is kept for the last width of the kernel: the sets of a round, which
        differ by a column, have the same one.
        """
        width = float(f"{2.0 * self.total(columns):.12g}")
        kept: tuple[float, np.ndarray, GappedRows] | None = self.__dict__.get("_seen")
        if kept is not None and kept[0] == width:
            covered = np.union1d(kept[1], columns)
        else:
            kept, covered = None, np.sort(columns)
        if kept is None or len(kept[1]) < len(covered):
            ready = self._gaps.among(covered).see(self.X[:, covered], 2, width)
            kept = (width, covered, ready)
            self.__dict__["_seen"] = kept
        return kept[2].among(np.searchsorted(kept[1], columns))
