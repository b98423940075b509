"""Confounders Z as columns in comparable units, also of new rows, kernels, and units of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy import linalg, sparse

from depmax._files import held_by_models
from depmax._resources import cached_property
from depmax.data import Table
from depmax.data.columns import Categories
from depmax.dependence.exchange import exchange_of
from depmax.kernels.distances import squared_distances

#: A column with values beyond so many standard deviations is compressed first.
LONG_TAIL = 6.0
#: Rows that a median distance is taken from.
ROWS_FOR_WIDTH = 300

#: Kernel values of rows against others.
Similarity = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Confounders:
    """Columns Z in comparable units: each confounder is one or, if categorical, several."""

    values: np.ndarray  # shape (n_samples, n_columns), columns of a confounder of total variance 1
    parts: tuple[np.ndarray, ...]  # columns of each confounder

    @classmethod
    def of(cls, table: Table) -> Confounders:
        """Standardised numbers, indicators of categories; constants are dropped."""
        return Scaling.of(table).apply(table.values)


@held_by_models
@dataclass(frozen=True)
class Scaling:
    """How columns become confounders in comparable units, the same for new rows.

    A column of numbers with a long tail is compressed first, to arsinh((z - middle)/spread).
    """

    categories: Categories
    #: Position, centre and scale of every column, and middle and spread if it is compressed.
    columns: tuple[tuple[int, float, float, tuple[float, float] | None], ...]

    @classmethod
    def of(cls, table: Table) -> Scaling:
        """Read off the rows of a table."""
        if hasattr(table.values, "toarray"):
            raise TypeError("given must be dense: pass given.toarray().")
        kept: list[tuple[int, float, float, tuple[float, float] | None]] = []
        for position in range(table.values.shape[1]):
            column = np.asarray(table.values[:, position], dtype=np.float64)
            if column.min() == column.max():
                continue
            if position in table.categories:
                shares = np.unique(column, return_counts=True)[1] / len(column)
                kept.append((position, 0.0, float(np.sqrt(1.0 - np.sum(shares**2))), None))
                continue
            middle, bend = float(np.median(column)), None
            if np.abs(column - middle).max() > LONG_TAIL * column.std():
                bend = middle, float(np.median(np.abs(column - middle)) or column.std())
            column = _compressed(column, bend)
            kept.append((position, float(column.mean()), float(column.std()), bend))
        if not kept:
            raise ValueError("given has no column that varies, so it explains nothing: omit given.")
        return cls(table.categories, tuple(kept))

    def apply(self, values: np.ndarray) -> Confounders:
        """The confounders of these rows."""
        columns: list[np.ndarray] = []
        parts = []
        for position, centre, scale, bend in self.columns:
            column, start = np.asarray(values[:, position], dtype=np.float64), len(columns)
            if position in self.categories:
                codes = range(len(self.categories[position]))
                columns += [(column == code) / scale for code in codes]
            else:
                columns.append((_compressed(column, bend) - centre) / scale)
            parts.append(np.arange(start, len(columns)))
        return Confounders(np.column_stack(columns).astype(np.float64), tuple(parts))


def _compressed(column: np.ndarray, bend: tuple[float, float] | None) -> np.ndarray:
    """A column without its long tail, if it has one."""
    return column if bend is None else np.arcsinh((column - bend[0]) / bend[1])


def positions_of(given: Any, names: Sequence[str] | None, n_columns: int) -> np.ndarray:
    """Positions of the columns of X that are confounders, from names or positions, no other left.

    Raises
    ------
    ValueError
        If a column is not there, is named twice, or none is named, or no other column remains.
    """
    requested = [given] if isinstance(given, str | Integral) else list(given)
    known = list(map(str, names)) if names is not None else []
    found = []
    for each in requested:
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
            f"given names all columns of X, so nothing is left: n_features = {n_columns}."
        )
    return np.array(found)


# --- kernels of confounders -----------------------------------------------------------------------
@held_by_models
@dataclass(frozen=True)
class Joint:
    """exp(-‖(z - z')T‖²/2w²): all confounders at once, in the directions T."""

    width: float
    metric: np.ndarray | None = None  # T, or None for the identity

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Kernel values of shape (len(A), len(B))."""
        if self.metric is not None:
            A, B = A @ self.metric, B @ self.metric
        return _gaussian(A, B, self.width)

    def steep_directions(self, rows: np.ndarray, L: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """T' with T'T'ᵀ ∝ Σ ∇f∇fᵀ, over rows and outputs, of f = Σ_l k(·, l) weights_l."""
        T = np.eye(rows.shape[1]) if self.metric is None else self.metric
        K = self(rows, L)
        values = K @ weights
        tilted = L @ T
        slopes = [
            (K @ (weights * tilted[:, [j]]) - (rows @ T)[:, [j]] * values).ravel()
            for j in range(T.shape[1])
        ]
        gradients = T @ np.array(slopes)  # up to the factor 1/w², shape (n_columns, rows · outputs)
        spectrum, directions = linalg.eigh(gradients @ gradients.T)
        spectrum = np.maximum(spectrum, 0.0)
        if not spectrum.sum() > 0.0:
            return T
        roots = np.sqrt(spectrum * (len(spectrum) / spectrum.sum()))
        kept = roots > 1e-6 * roots[-1]
        return directions[:, kept] * roots[kept]


@held_by_models
@dataclass(frozen=True)
class Additive:
    """The mean over confounders of Gaussians of each; with ``pairs`` also over pairs of them."""

    width: float
    parts: tuple[np.ndarray, ...]
    pairs: bool = False

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Kernel values of shape (len(A), len(B))."""
        total = np.zeros((len(A), len(B)))
        squares = np.zeros_like(total)
        for part in self.parts:
            values = _gaussian(A[:, part], B[:, part], self.width)
            total += values
            if self.pairs:
                squares += values * values
        count = len(self.parts)
        if not self.pairs:
            return total / count
        return total / count + (total * total - squares) / (count * (count - 1))


@held_by_models
@dataclass(frozen=True)
class MeanOfKernels:
    """The mean of several kernels: functions that are sums of one of each."""

    kernels: tuple[Joint, ...]

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Kernel values of shape (len(A), len(B))."""
        return np.asarray(sum(kernel(A, B) for kernel in self.kernels) / len(self.kernels))


def _gaussian(A: np.ndarray, B: np.ndarray, width: float) -> np.ndarray:
    values = squared_distances(A, B)
    values *= -0.5 / width**2
    return np.exp(values, out=values)


def some_of(rows: np.ndarray, count: int) -> np.ndarray:
    """At most so many rows, drawn from all of them with a fixed seed: their order is no sample."""
    if len(rows) <= count:
        return rows
    return rows[np.random.default_rng(0).choice(len(rows), count, replace=False)]


def median_distance(rows: np.ndarray) -> float:
    """Median distance of distinct rows, of some."""
    few = some_of(rows, ROWS_FOR_WIDTH)
    squares = squared_distances(few, few)[np.triu_indices(len(few), 1)]
    squares = squares[squares > 1e-12]
    return float(np.sqrt(np.median(squares))) if len(squares) else 1.0


@dataclass(frozen=True)
class RowUnits:
    """Units that are independent of each other; each is left out as a whole and has one sign."""

    n_rows: int
    codes: np.ndarray | None = None  # the group of every row, from 0 on; None: each row by itself

    @classmethod
    def of(cls, groups: Any, n_rows: int) -> RowUnits:
        """What ``groups=`` says: nothing, or labels of whole groups."""
        exchange = exchange_of(groups)
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
