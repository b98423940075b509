"""Independent units of rows: the rows themselves, or whole groups of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from depmax.dependence.exchange import as_exchange


@dataclass(frozen=True)
class RowUnits:
    """Units that are independent of each other; each is left out as a whole and has one sign."""

    n_rows: int
    codes: np.ndarray | None = None  # the group of every row, from 0 on; None: each row by itself

    @classmethod
    def of(cls, groups: Any, n_rows: int) -> RowUnits:
        """What ``groups=`` says: nothing, or labels of whole groups."""
        exchange = as_exchange(groups)
        if exchange is None:
            return cls(n_rows)
        if not exchange.has_independent_groups:
            raise ValueError(
                f"With given, groups must be labels of independent groups, got "
                f"{type(exchange).__name__}. For rows that are independent within their groups, "
                "make the group a column of given (text or a category); time series are not tested "
                "given confounders."
            )
        codes = exchange.units(n_rows)
        return cls(n_rows, codes if codes.max() + 1 < n_rows else None)

    @cached_property
    def count(self) -> int:
        """Number of units."""
        return self.n_rows if self.codes is None else int(self.codes.max()) + 1

    @cached_property
    def members(self) -> tuple[np.ndarray, ...]:
        """Positions of the rows of all units of one size, of shape (n_units, size), by size."""
        if self.codes is None:
            return (np.arange(self.n_rows)[:, np.newaxis],)
        order, sizes = np.argsort(self.codes, kind="stable"), np.bincount(self.codes)
        first = np.cumsum(sizes) - sizes
        found = []
        for size in np.unique(sizes):
            found.append(order[first[sizes == size][:, np.newaxis] + np.arange(size)])
        return tuple(found)

    def take(self, rows: np.ndarray) -> RowUnits:
        """The units of some rows."""
        codes = None if self.codes is None else np.unique(self.codes[rows], return_inverse=True)[1]
        return RowUnits(len(rows), codes)

    def some(self, n_rows: int) -> np.ndarray:
        """Positions of about this many rows, in whole random units drawn with a fixed seed."""
        rng = np.random.default_rng(0)
        if self.codes is None:
            return np.asarray(rng.choice(self.n_rows, n_rows, replace=False))
        order = rng.permutation(self.count)
        within = np.cumsum(np.bincount(self.codes)[order]) <= n_rows
        kept = order[: max(int(within.sum()), 1)]
        return np.flatnonzero(np.isin(self.codes, kept))

    def totals(self, values: np.ndarray) -> np.ndarray:
        """Sums over the rows of every unit, of shape (n_units, n_columns)."""
        if self.codes is None:
            return values
        shape = (self.count, self.n_rows)
        places = (self.codes, np.arange(self.n_rows))
        return np.asarray(sparse.csr_array((np.ones(self.n_rows), places), shape=shape) @ values)

    def squares(self, left: np.ndarray, right: np.ndarray) -> float:
        """The sum over units u of ‖Σ_{i in u} left_i ⊗ right_i‖²."""
        if self.codes is None:
            return float(np.sum(np.sum(left**2, axis=1) * np.sum(right**2, axis=1)))
        products = ((left[rows], right[rows]) for rows in self.members)
        return float(sum(np.sum((a @ a.mT) * (b @ b.mT)) for a, b in products))

    def likeness(self, residuals: np.ndarray) -> float:
        """Correlation between rows of the same unit, from 0 to 1."""
        squares = float(np.sum(residuals**2))
        if self.codes is None or not squares > 0.0:
            return 0.0
        pairs = float(np.sum(np.bincount(self.codes) ** 2) - self.n_rows)
        between = float(np.sum(self.totals(residuals) ** 2)) - squares
        return float(np.clip(between * self.n_rows / (pairs * squares), 0.0, 1.0))
