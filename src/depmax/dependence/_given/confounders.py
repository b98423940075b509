"""Confounders Z as columns in comparable units, of the rows at hand and of new ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from depmax._inputs import Table
from depmax._inputs.table import Categories

#: A column with values beyond so many standard deviations is compressed first.
LONG_TAIL = 6.0


@dataclass(frozen=True)
class Confounders:
    """Columns Z in comparable units: each confounder is one or, if categorical, several."""

    values: np.ndarray  # shape (n_samples, n_columns), columns of a confounder of total variance 1
    parts: tuple[np.ndarray, ...]  # columns of each confounder

    @classmethod
    def of(cls, table: Table) -> Confounders:
        """Standardised numbers, indicators of categories; constants are dropped."""
        return Scaling.of(table).apply(table.values)

    def take(self, rows: np.ndarray) -> Confounders:
        """The same confounders of some rows."""
        return Confounders(self.values[rows], self.parts)


@dataclass(frozen=True)
class Bend:
    """arsinh((z - middle)/spread): a long-tailed column, compressed to its logarithm."""

    middle: float
    spread: float

    @classmethod
    def of(cls, column: np.ndarray) -> Bend | None:
        """None for a column without a long tail."""
        middle = float(np.median(column))
        if np.abs(column - middle).max() <= LONG_TAIL * column.std():
            return None
        spread = float(np.median(np.abs(column - middle)))
        return cls(middle, spread if spread > 0.0 else float(column.std()))

    def __call__(self, column: np.ndarray) -> np.ndarray:
        """The column, compressed."""
        return np.arcsinh((column - self.middle) / self.spread)


@dataclass(frozen=True)
class Scaling:
    """How columns become confounders in comparable units, the same for new rows."""

    categories: Categories
    columns: tuple[tuple[int, float, float, Bend | None], ...]  # position, centre, scale, bend

    @classmethod
    def of(cls, table: Table) -> Scaling:
        """Read off the rows of a table."""
        if hasattr(table.values, "toarray"):
            raise TypeError("given must be dense: pass given.toarray().")
        kept: list[tuple[int, float, float, Bend | None]] = []
        for position in range(table.values.shape[1]):
            column = np.asarray(table.values[:, position], dtype=np.float64)
            if column.min() == column.max():
                continue
            if position in table.categories:
                shares = np.unique(column, return_counts=True)[1] / len(column)
                kept.append((position, 0.0, float(np.sqrt(1.0 - np.sum(shares**2))), None))
                continue
            bend = Bend.of(column)
            column = column if bend is None else bend(column)
            kept.append((position, float(column.mean()), float(column.std()), bend))
        if not kept:
            raise ValueError("given has no column that varies, so it explains nothing: omit given.")
        return cls(table.categories, tuple(kept))

    def apply(self, values: np.ndarray) -> Confounders:
        """The confounders of these rows."""
        columns: list[np.ndarray] = []
        parts = []
        for position, centre, scale, bend in self.columns:
            column = np.asarray(values[:, position], dtype=np.float64)
            start = len(columns)
            if position in self.categories:
                codes = range(len(self.categories[position]))
                columns += [(column == code) / scale for code in codes]
            else:
                column = column if bend is None else bend(column)
                columns.append((column - centre) / scale)
            parts.append(np.arange(start, len(columns)))
        return Confounders(np.column_stack(columns).astype(np.float64), tuple(parts))


def positions_of(given: Any, names: Sequence[str] | None, n_columns: int) -> np.ndarray:
    """Positions of the columns of X that are confounders, from names or positions, no other left.

    Raises
    ------
    ValueError
        If a column is not there, is named twice, or none is named, or no other column remains.
    """
    asked = [given] if isinstance(given, str | Integral) else list(given)
    known = list(map(str, names)) if names is not None else []
    found = []
    for each in asked:
        if isinstance(each, str) and each in known:
            found.append(known.index(each))
        elif isinstance(each, Integral) and not isinstance(each, bool) and each < n_columns:
            found.append(int(each))
        else:
            have = f"names {', '.join(map(repr, known[:10]))}" if known else "no names"
            raise ValueError(
                f"given names the column {each!r}, which X does not have: it has {n_columns} "
                f"columns and {have}. Pass names, or positions from 0."
            )
    if not found or min(found) < 0 or len(set(found)) < len(found):
        raise ValueError(
            f"given must name at least one column, each once, from 0 on, got {given!r}."
        )
    if len(found) == n_columns:
        raise ValueError(
            f"given names all columns of X, so that nothing is left: n_features = {n_columns}."
        )
    return np.array(found)
