"""How well every column predicts every other, and the groups and pairs that follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import betainc
from scipy.stats import rankdata

from depmax._resources import cached_property, slices
from depmax.evaluation.profiling.columns import ColumnRead
from depmax.selection._substitutes import log_orders, unit_levels

#: Rows that are compared at most and at least, where there are as many, and columns.
MOST_ROWS, FEWEST_ROWS, MOST_COLUMNS = 2000, 200, 12_000
#: Multiplications that all pairs may take.
MOST_PRODUCTS = 4e11
#: A curve is a polynomial of the ranks of this degree, with so many rows for each.
DEGREE, ROWS_PER_TERM = 6, 10
#: Levels of a category that are kept apart (the rest are one), and rows that it takes.
LEVELS, FEWEST_OF_CATEGORY = 100, 30
#: Rows that are expected in two parts of two categories, for a test.
ROWS_PER_CELL = 25
#: Significance over all pairs together, and share from which on a column says what another says:
#: that of a correlation of ranks of 0.9.
LEVEL, SAME = 0.05, 0.8
#: Logarithm of how many times Chernoff's bound may be too large, and cells of a block of products.
SLACK, BLOCK = 7.0, 2**22


@dataclass(frozen=True)
class ColumnGroup:
    """Columns that one of them predicts.

    Parameters
    ----------
    first : str
        The column that predicts the others.
    others : tuple of str
    shares : tuple of float
        Part of the variation of each that ``first`` predicts.
    """

    first: str
    others: tuple[str, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True)
class ColumnPair:
    """Two columns, of which one predicts a part of the other.

    Parameters
    ----------
    predictor, column : str
    share : float
        Part of the variation of ``column`` that ``predictor`` predicts.
    pvalue_adjusted : float
        Of independence, times the number of pairs that were compared, in both directions.
    """

    predictor: str
    column: str
    share: float
    pvalue_adjusted: float


_Views = tuple[tuple[np.ndarray, np.ndarray], ...]


@dataclass(frozen=True)
class Curves:
    """A column as vectors over the rows, zero where it has no value.

    ``views`` are what it is compared by: its own variation, and the orthonormal vectors by which it
    predicts. Tests take the first view, shares the last. Numbers have one: ranks, and polynomials
    of these; categories two: large parts of the levels, and all levels.
    """

    views: _Views  # each (n_vectors, n_rows)
    differs: np.ndarray  # (n_rows,), from the most frequent value, or part
    n_known: int
    orders: float  # logarithm of the number of different orders of the values that are tested

    @classmethod
    def of(cls, cells: np.ndarray, is_category: bool) -> Curves | None:
        """Vectors of a column; None if it says nothing in these rows."""
        known = np.flatnonzero(~np.isnan(cells))
        levels, codes, counts = np.unique(cells[known], return_inverse=True, return_counts=True)
        n, codes = len(known), codes.ravel()
        if len(levels) < 2 or n < (FEWEST_OF_CATEGORY if is_category else ROWS_PER_TERM):
            return None

        def placed(values: np.ndarray) -> np.ndarray:
            whole = np.zeros((len(values), len(cells)), dtype=np.float32)
            whole[:, known] = values
            return whole

        if is_category:
            rank = np.argsort(np.argsort(-counts, kind="stable"))
            parts = _parts(np.sort(counts)[::-1], np.sqrt(ROWS_PER_CELL * n))
            codes = rank[codes]
            axes, weights, _ = unit_levels(np.minimum(codes, LEVELS).astype(float))
            codes = (parts if parts.max() else np.minimum(np.arange(len(parts)), 1))[codes]
            tests, _, orders = unit_levels(codes.astype(float))
            tested, shown = placed(tests), placed(axes)
            own = shown * np.sqrt(weights, dtype=np.float32)[:, np.newaxis]
            views: _Views = ((tested, tested), (own, shown))
        else:
            degree = min(DEGREE, max(1, _parts(counts, ROWS_PER_TERM).max()), len(levels) - 1)
            curves = placed(
                _polynomials(n, degree)[:, codes]  # all differ: such columns have the same curves
                if len(levels) == n
                else _curves(rankdata(cells[known]), degree)
            )
            views, orders = ((curves[:1], curves),), log_orders(n, counts)
        differs = placed((codes != np.argmax(np.bincount(codes)))[np.newaxis])[0]
        return cls(views, differs, n, orders)


def _parts(counts: np.ndarray, least: float) -> np.ndarray:
    """Part that each value falls into, in their order, of parts with at least so many rows."""
    found, room = np.zeros(len(counts), dtype=np.int64), 0
    part = 0
    for place, count in enumerate(counts.tolist()):
        found[place] = part
        room += count
        if room >= least:
            part, room = part + 1, 0
    return np.minimum(found, max(0, part - 1))


@lru_cache(maxsize=8)
def _polynomials(count: int, degree: int) -> np.ndarray:
    return _curves(np.arange(1.0, count + 1.0), degree)


def _curves(ranks: np.ndarray, degree: int) -> np.ndarray:
    """Orthonormal polynomials of ranks about their mean, (degree, n_rows); the first is linear."""
    places = 2.0 * (ranks - ranks.mean()) / len(ranks)
    powers = np.polynomial.legendre.legvander(places, degree)[:, 1:]
    return np.asarray(np.linalg.qr(powers - powers.mean(axis=0))[0].T)


@dataclass(frozen=True)
class Ties:
    """What every column predicts of every other one.

    The share of a column's variation that another predicts is adjusted for chance, as in a
    regression: of numbers that of their ranks, by a polynomial of ranks; of a category that of the
    indicators of its levels (Goodman and Kruskal's tau). It is kept where it is significant, times
    all pairs. P-values are Chernoff's bounds: of the Beta law of Pillai's trace where ten rows for
    each term are expected to differ from the most frequent value in both columns, of that of the
    linear term where ten are, and of the number of such rows where values are rarer.
    """

    names: tuple[str, ...]
    curves: tuple[Curves, ...]
    shares: np.ndarray  # (predictors, columns), float16, 0 where not significant

    @classmethod
    def of(
        cls,
        columns: Sequence[ColumnRead],
        listener: Callable[[int, int], None],
    ) -> Ties:
        """Compare all columns that vary with each other, a block of them at a time."""
        kept = [
            (each.about.name, Curves.of(each.cells, each.levels is not None)) for each in columns
        ]
        names = tuple(name for name, curves in kept if curves is not None)
        d = len(names)
        ties = cls(
            names,
            tuple(curves for _, curves in kept if curves is not None),
            np.zeros((d, d), dtype=np.float16),
        )
        for part in slices(d, max(1, BLOCK // max(1, DEGREE * len(ties._own)))) if d > 1 else ():
            least = float(np.log(LEVEL / (d * (d - 1))))
            shares, logs = ties._compared(part, least, least + SLACK)
            shares[logs > least] = 0.0
            shares[np.arange(len(shares)), np.arange(d)[part]] = 0.0
            ties.shares[part] = np.clip(shares, 0.0, 1.0)
            listener(part.stop, d)
        return ties

    @cached_property
    def _own(self) -> np.ndarray:
        return np.concatenate([own for each in self.curves for own, _ in each.views])

    @cached_property
    def _sizes(self) -> _Sizes:
        return _Sizes(self.curves)

    def _compared(self, part: slice, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
        """Shares that some columns predict of all, and logarithms of their p-values.

        Those between low and high are exact, others bounds.
        """
        all_, mine = self._sizes, _Sizes(self.curves[part])
        by = np.concatenate([by for each in self.curves[part] for _, by in each.views])
        squares = np.add.reduceat((by @ self._own.T) ** 2, _starts(all_.own), axis=1)
        sums = np.add.reduceat(squares, _starts(mine.by), axis=0)
        known = np.minimum.outer(mine.known, all_.known)
        left = np.maximum(known - 1 - mine.by[mine.shown, np.newaxis], 1)
        explained = sums[np.ix_(mine.shown, all_.shown)]
        shares = 1.0 - (1.0 - explained) * ((known - 1) / left)

        differs, n_rows = all_.differs, all_.differs.shape[1]
        expected = np.outer(mine.differs.sum(axis=1), differs.sum(axis=1)) / n_rows
        together = mine.differs @ differs.T
        terms, own = mine.by[mine.tested, np.newaxis], all_.own[all_.tested]
        whole = expected >= ROWS_PER_TERM * terms
        linear = squares[np.ix_(_starts(mine.by)[mine.tested], all_.tested)]
        trace = np.where(whole, sums[np.ix_(mine.tested, all_.tested)], linear)
        terms = np.where(whole, terms, 1)
        fewer, more = np.minimum(terms, own), np.maximum(terms, own)
        often = expected >= ROWS_PER_TERM
        law = trace / fewer, fewer * more / 2.0, np.maximum(fewer * (known - 1 - more), 1e-9) / 2.0
        logs = np.where(often, _beta_tail(*law), _count_tail(together, expected))
        close = often & (low < logs) & (logs < high)
        share, a, b = (part[close] for part in law)
        tail = betainc(b, a, np.clip(1.0 - share, 0.0, 1.0).astype(np.float64))
        logs[close] = np.log(np.maximum(tail, 1e-300))
        return shares, np.maximum(logs, np.log(2.0) - np.minimum.outer(mine.orders, all_.orders))

    @property
    def n_pairs(self) -> int:
        """Pairs of columns."""
        return len(self.names) * (len(self.names) - 1) // 2

    @cached_property
    def n_dependent(self) -> int:
        """Pairs that depend on each other significantly, in one direction at least."""
        rows = enumerate(self.shares)
        return sum(int(np.count_nonzero((row + self.shares[:, k])[:k])) for k, row in rows)

    @cached_property
    def _grouped(self) -> list[tuple[int, np.ndarray]]:
        """Groups: a column that predicts others, and these; whoever predicts most is first."""
        counts = [int((row >= SAME).sum()) for row in self.shares]
        near = [float(row.sum(dtype=np.float64)) for row in self.shares]
        groups: list[tuple[int, np.ndarray]] = []
        free = np.ones(len(counts), dtype=bool)
        for k in np.lexsort((-np.array(near), -np.array(counts))).tolist():
            members = np.flatnonzero((self.shares[k] >= SAME) & free)
            if free[k] and len(members):
                free[k] = free[members] = False
                groups.append((k, members[np.argsort(-self.shares[k, members], kind="stable")]))
        return sorted(groups, key=lambda group: -len(group[1]))

    def groups(self) -> tuple[ColumnGroup, ...]:
        """Columns that one of them predicts, largest group first."""
        found = []
        for k, members in self._grouped:
            others = tuple(self.names[j] for j in members)
            found.append(
                ColumnGroup(self.names[k], others, tuple(map(float, self.shares[k, members])))
            )
        return tuple(found)

    def pairs(self, most: int) -> tuple[ColumnPair, ...]:
        """The strongest pairs in their better direction, one for two groups.

        A column of no group may meet any of a group; two groups are their first columns.
        """
        places = np.arange(len(self.names))
        owner, alone = places.copy(), np.ones(len(places), dtype=bool)
        for k, members in self._grouped:
            owner[members] = k
            alone[[k, *members]] = False
        found: list[tuple[float, int, int]] = []
        for k in np.flatnonzero(owner == places).tolist():
            reached = (places > k) & (alone | (owner == places))
            others = np.flatnonzero((reached | ~alone) if alone[k] else reached & ~alone)
            there, back = self.shares[k, others], self.shares[others, k]
            better = np.maximum(there, back)
            some = np.flatnonzero(better > (found[-1][0] if len(found) == most else 0.0))
            some = some[np.argsort(-better[some], kind="stable")]
            firsts = np.unique(owner[others[some]], return_index=True)[1]  # the best of each group
            for j in some[firsts]:
                other = int(others[j])
                found.append(
                    (float(better[j]), *((k, other) if there[j] >= back[j] else (other, k)))
                )
            found = sorted(found, key=lambda pair: -pair[0])[:most]
        return tuple(self._pair(*pair) for pair in found)

    def _pair(self, share: float, predictor: int, column: int) -> ColumnPair:
        """One pair with its p-value."""
        logs = self._compared(slice(predictor, predictor + 1), -np.inf, np.inf)[1]
        adjusted = min(1.0, float(np.exp(logs[0, column])) * 2 * self.n_pairs)
        return ColumnPair(self.names[predictor], self.names[column], share, adjusted)


class _Sizes:
    """Of all views their vectors; of all columns the first view and the last, rows and orders."""

    def __init__(self, curves: Sequence[Curves]) -> None:
        views = [view for each in curves for view in each.views]
        self.own, self.by = np.array([[len(own), len(by)] for own, by in views]).T
        ends = np.cumsum([len(each.views) for each in curves])
        self.tested, self.shown = np.append(0, ends[:-1]), ends - 1
        self.known = np.array([each.n_known for each in curves])
        self.orders = np.array([each.orders for each in curves])
        self.differs = np.stack([each.differs for each in curves])


def _starts(sizes: np.ndarray) -> np.ndarray:
    return np.cumsum(sizes) - sizes


def _beta_tail(share: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Logarithm of Chernoff's bound on the chance of so large a share by the Beta law."""
    mean = a / (a + b)
    share = np.clip(share, mean, 1.0 - 1e-7)
    return np.asarray(a * np.log(share / mean) + b * np.log((1.0 - share) / (1.0 - mean)))


def _count_tail(together: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Logarithm of a bound on the chance of so many rows, or so few, of a Poisson law."""
    times = np.maximum(together / expected, 1e-9)
    return np.asarray(np.log(2.0) - expected * (times * np.log(times) - times + 1.0))


def rows_compared(n_rows: int, n_columns: int) -> int:
    """Rows that so many columns are compared on.

    >>> rows_compared(300_000, 50), rows_compared(60, 7000), rows_compared(5000, 12_000)
    (2000, 60, 462)
    """
    d = max(1, min(n_columns, MOST_COLUMNS))
    return min(n_rows, MOST_ROWS, max(FEWEST_ROWS, int(MOST_PRODUCTS / (DEGREE * d * d))))
