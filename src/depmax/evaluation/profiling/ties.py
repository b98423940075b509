"""How well every column predicts every other, and the groups and pairs that follow."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import betainc, betaincinv
from scipy.stats import rankdata

from depmax._resources import cached_property, slices
from depmax.selection._substitutes import log_orders, unit_levels

#: Rows that are compared at most and at least, where there are as many, and columns.
MOST_ROWS, FEWEST_ROWS, MOST_COLUMNS = 2000, 200, 12_000
#: Multiplications that all pairs may take, and those of one core in a second.
MOST_PRODUCTS, PER_SECOND = 4e11, 3e10
#: A curve is a polynomial of the ranks of this degree, with so many rows for each.
DEGREE, ROWS_PER_TERM = 6, 10
#: Levels of a category that are kept apart (the rest are one), and rows that it takes.
LEVELS, FEWEST_OF_CATEGORY = 100, 30
#: Rows that are expected to have rare values of two columns, from which on a test may rely on it;
#: where both are the same in so many rows, that is more.
EXPECTED, EXPECTED_OF_RARE, MOSTLY = 5.0, 25.0, 0.75
#: Significance over all pairs together, and share from which on a column says what another says:
#: that of a correlation of ranks of 0.9.
LEVEL, SAME = 0.05, 0.8
#: Cells of a block of shares.
BLOCK = 2**21


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


@dataclass(frozen=True)
class Curves:
    """A column as orthonormal vectors over the rows, zero where it has no value."""

    #: Of numbers the ranks, then curves; of categories contrasts of parts of the levels, for tests,
    #: then those of all levels. Shape (n_vectors, n_rows).
    vectors: np.ndarray
    weights: np.ndarray  # part of the column's own variation that each vector has
    n_tested: int  # vectors that no few rows decide on
    allowed: int  # terms of a polynomial that may predict it: where few rows differ, few
    others: np.ndarray  # (n_rows,), whether it differs from the most frequent value
    n_known: int
    orders: float  # logarithm of the number of different orders of the values
    is_category: bool

    @classmethod
    def of(cls, cells: np.ndarray, is_category: bool) -> Curves | None:
        """Vectors of a column; None if it says nothing in these rows."""
        known = np.flatnonzero(~np.isnan(cells))
        levels, codes, counts = np.unique(cells[known], return_inverse=True, return_counts=True)
        n, codes = len(known), codes.ravel()
        if len(levels) < 2 or n < (FEWEST_OF_CATEGORY if is_category else ROWS_PER_TERM):
            return None
        others = np.zeros(len(cells), dtype=np.float32)
        others[known] = codes != np.argmax(counts)
        if is_category:
            allowed = max(1, min(DEGREE, int(others.sum()) // ROWS_PER_TERM))
            rank = np.argsort(np.argsort(-counts, kind="stable"))
            axes, weights, _ = unit_levels(np.minimum(rank, LEVELS)[codes].astype(float))
            parts = _parts(np.sort(counts)[::-1])[rank][codes]
            tests, _, orders = unit_levels(parts.astype(float))
            few, n_tested = np.concatenate([tests, axes]), len(tests)
            weights = np.concatenate([np.zeros(n_tested), weights])
        else:
            allowed, orders = max(1, _bins(counts) - 1), log_orders(n, counts)
            n_tested = min(allowed, len(levels) - 1)
            weights = np.eye(1, n_tested)[0]
            few = (
                _polynomials(n, n_tested)[:, codes]  # all differ: such columns have the same curves
                if len(levels) == n
                else _curves(rankdata(cells[known]), n_tested)
            )
        vectors = np.zeros((len(few), len(cells)), dtype=np.float32)
        vectors[:, known] = few
        return cls(vectors, weights, n_tested, allowed, others, n, orders, is_category)

    @property
    def n_own(self) -> int:
        """Vectors that hold its own variation."""
        return len(self.weights) if self.is_category else 1

    @property
    def is_rare(self) -> bool:
        """Whether most rows have the same value."""
        return bool(self.others.mean() <= 1.0 - MOSTLY)

    @property
    def n_for_tests(self) -> int:
        """Vectors that are for tests only."""
        return self.n_tested if self.is_category else 0

    @property
    def n_shown(self) -> int:
        """Vectors of its own variation that are tested."""
        return self.n_tested if self.is_category else 1


def _parts(counts: np.ndarray) -> np.ndarray:
    """Part of the rows of each level, most frequent first: those of two columns meet often."""
    n = int(counts.sum())
    least = np.sqrt(EXPECTED_OF_RARE * n)
    n_large = int((counts >= least).sum())
    n_rest = int(counts[n_large:].sum() / least)
    if n_large + n_rest < 2:
        n_large, n_rest = min(n_large, 1), 2 - min(n_large, 1)
    places = np.arange(len(counts))
    rest = n_large + (places - n_large) % n_rest if n_rest else n_large - 1
    return np.where(places < n_large, places, rest)


def _bins(counts: np.ndarray) -> int:
    """How many parts with enough rows the values fall into, in their order."""
    found = room = 0
    for count in counts.tolist():
        room += count
        if room >= ROWS_PER_TERM:
            found, room = found + 1, 0
        if found > DEGREE:
            break
    return found


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
    indicators of its levels (Goodman and Kruskal's tau). It is kept where it is significant: by
    Pillai's trace, and not below what full agreement of so rare values shows, times all pairs.
    """

    names: tuple[str, ...]
    curves: tuple[Curves, ...]
    shares: np.ndarray  # (predictors, columns), float16, 0 where not significant

    @classmethod
    def of(
        cls,
        names: tuple[str, ...],
        curves: tuple[Curves, ...],
        listener: Callable[[int, int], None],
    ) -> Ties:
        """Compare all columns with each other, a block of them at a time."""
        d = len(names)
        found = np.zeros((d, d), dtype=np.float16)
        order = np.lexsort(
            ([-len(each.vectors) for each in curves], [each.is_category for each in curves])
        )
        sides = tuple(curves[place] for place in order)
        layers, sizes = list(_layers(sides)), _Sizes(sides, LEVEL / max(1, d * (d - 1)))
        others = np.stack([each.others for each in sides])
        for part in slices(d, max(1, BLOCK // max(1, d))):
            left = sides[part]
            explained = np.zeros((len(left), d), dtype=np.float32)
            trace = np.zeros_like(explained)
            for term in range(max(each.n_own for each in left)):
                for columns, vectors, limit, tested, explains in layers:
                    some = np.array(
                        [k for k, e in enumerate(left) if e.n_own > term and e.allowed > limit],
                        dtype=np.int64,
                    )
                    if len(some):
                        own = np.stack([left[k].vectors[term] for k in some])
                        weights = np.array([left[k].weights[term] for k in some], np.float32)
                        squares = (own @ vectors.T) ** 2
                        explained[some, columns] += weights[:, np.newaxis] * explains * squares
                        shown = np.array([left[k].n_shown > term for k in some])
                        trace[some, columns] += shown[:, np.newaxis] * tested * squares
            share = sizes.adjusted(part, explained)
            share[~sizes.reached(part, trace, others[part] @ others.T)] = 0.0
            share[np.arange(len(left)), np.arange(d)[part]] = 0.0
            found[np.ix_(order, order[part])] = np.clip(share, 0.0, 1.0).T
            listener(part.stop, d)
        return cls(names, curves, found)

    @property
    def n_pairs(self) -> int:
        """Pairs of columns."""
        return len(self.names) * (len(self.names) - 1) // 2

    @cached_property
    def n_dependent(self) -> int:
        """Pairs that depend on each other significantly, in one direction at least."""
        rows = enumerate(self.shares > 0)
        return sum(int((row[:k] | (self.shares[:k, k] > 0)).sum()) for k, row in rows)

    @cached_property
    def _grouped(self) -> list[tuple[int, np.ndarray]]:
        """Groups: the column that predicts most others, and these.

        Whoever predicts most of the columns left takes them; counts only fall, so a queue will do.
        """
        links = self.shares >= SAME
        groups: list[tuple[int, np.ndarray]] = []
        near = np.array([float(row.sum(dtype=np.float64)) for row in self.shares])
        queue = [(-int(row.sum()), -near[k], k) for k, row in enumerate(links) if row.any()]
        heapq.heapify(queue)
        free = np.ones(len(self.names), dtype=bool)
        while queue:
            count, _, k = heapq.heappop(queue)
            members = np.flatnonzero(links[k] & free)
            if not free[k] or not len(members):
                continue
            if -len(members) > count:
                heapq.heappush(queue, (-len(members), -near[k], k))
                continue
            free[k] = free[members] = False
            groups.append((k, members[np.argsort(-self.shares[k, members], kind="stable")]))
        return groups

    def groups(self) -> tuple[ColumnGroup, ...]:
        """Columns that one of them predicts, largest group first."""
        return tuple(
            ColumnGroup(
                self.names[k],
                tuple(self.names[j] for j in members),
                tuple(float(self.shares[k, j]) for j in members),
            )
            for k, members in self._grouped
        )

    def pairs(self, most: int) -> tuple[ColumnPair, ...]:
        """The strongest pairs in their better direction, one for two groups.

        A column of no group may meet any of a group; two groups are their first columns.
        """
        owner = np.arange(len(self.names))
        for k, members in self._grouped:
            owner[members] = k
        order = np.argsort(owner, kind="stable")
        heads, starts = np.unique(owner[order], return_index=True)
        either = np.maximum(self.shares, self.shares.T)
        best = either[np.ix_(order, order)]
        for axis in (0, 1):
            best = np.maximum.reduceat(best, starts, axis) if len(starts) else best
        led = np.isin(heads, [k for k, _ in self._grouped])
        best[np.ix_(led, led)] = either[np.ix_(heads[led], heads[led])]
        best = np.triu(best, 1)
        count = min(most, int((best > 0).sum()))
        if not count:
            return ()
        flat = best.ravel()
        chosen = np.argpartition(flat, -count)[-count:]
        found = []
        for place in chosen[np.lexsort((chosen, -flat[chosen]))]:
            a, b = np.unravel_index(place, best.shape)
            sides = [heads[[g]] if led[a] and led[b] else np.flatnonzero(owner == heads[g])
                     for g in (a, b)]  # fmt: skip
            block = either[np.ix_(*sides)]
            i, j = np.unravel_index(np.argmax(block), block.shape)
            one, other = int(sides[0][i]), int(sides[1][j])
            better = self.shares[one, other] >= self.shares[other, one]
            found.append(self.pair(one, other) if better else self.pair(other, one))
        return tuple(found)

    def pair(self, predictor: int, column: int) -> ColumnPair:
        """One pair with its p-value."""
        of, by = self.curves[column], self.curves[predictor]
        n_terms = by.n_tested if by.is_category else min(by.n_tested, of.allowed)
        squares = (of.vectors[: of.n_shown] @ by.vectors[:n_terms].T).astype(np.float64) ** 2
        fewer, more = sorted((of.n_shown, n_terms))
        left = min(of.n_known, by.n_known) - 1 - more
        unexplained = np.clip(1.0 - squares.sum() / fewer, 0.0, 1.0)
        pvalue = max(
            float(betainc(fewer * left / 2.0, fewer * more / 2.0, unexplained)),
            2.0 * float(np.exp(-min(of.orders, by.orders))),
        )
        expected = of.others.sum() * by.others.sum() / len(of.others)
        if expected < (EXPECTED_OF_RARE if of.is_rare and by.is_rare else EXPECTED):
            pvalue = max(pvalue, float(np.exp(-_surprise(of.others @ by.others, expected))))
        share = float(self.shares[predictor, column])
        adjusted = min(1.0, pvalue * 2 * self.n_pairs)
        return ColumnPair(self.names[predictor], self.names[column], share, adjusted)


_Layer = tuple[slice, np.ndarray, int, np.ndarray, np.ndarray]


def _layers(sides: tuple[Curves, ...]) -> Iterator[_Layer]:
    """The first vectors of all numbers, the second of those that have two, …; then of categories.

    With each the columns, the place of the term in a polynomial, which some may not use, for which
    columns it is tested, and for which it explains.
    """
    n_numbers = sum(not each.is_category for each in sides)
    for start, family in ((0, sides[:n_numbers]), (n_numbers, sides[n_numbers:])):
        for term in range(max((len(each.vectors) for each in family), default=0)):
            some = [each for each in family if len(each.vectors) > term]
            limit = 0 if family[0].is_category else term
            tested = np.array([each.n_tested > term for each in some], dtype=np.float32)
            explains = np.array([each.n_for_tests <= term for each in some], dtype=np.float32)
            vectors = np.stack([each.vectors[term] for each in some])
            yield slice(start, start + len(some)), vectors, limit, tested, explains


def _surprise(together: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Logarithm of 1 over a bound on the chance of so many rows, or so few (Chernoff)."""
    times = np.maximum(together / expected, 1e-9)
    return np.asarray(expected * (times * np.log(times) - times + 1.0))


class _Sizes:
    """Rows and terms of all columns: the adjustment for chance, and what is significant."""

    def __init__(self, sides: tuple[Curves, ...], level: float) -> None:
        whole = len(sides[0].others)
        self.known = np.array([each.n_known for each in sides], dtype=np.float32)
        self.terms = np.array([len(e.vectors) - e.n_for_tests for e in sides], dtype=np.float32)
        tested = np.array([each.n_tested for each in sides], dtype=np.float32)
        self.most = np.array([np.inf if each.is_category else 0.0 for each in sides], np.float32)
        self.allowed = np.array([each.allowed for each in sides], dtype=np.float32)
        self.differ = np.array([each.others.sum() for each in sides]) / np.sqrt(whole)
        self.shown = np.array([each.orders for each in sides]) >= np.log(2.0 / level)
        self.rare = np.array([each.is_rare for each in sides])
        self.enough = -np.log(level)
        # rows with a value are rounded down to a twentieth of all: few sorts of columns
        unit = max(1.0, whole / 20.0)
        counts = np.where(self.known == whole, whole, np.floor(self.known / unit) * unit)
        own = np.array([each.n_shown for each in sides])
        described = np.column_stack([own, tested, counts, self.allowed, self.most > 0])
        sorts, first, self.sort = np.unique(
            described, axis=0, return_index=True, return_inverse=True
        )
        self.sort = self.sort.ravel()
        terms = self._terms(tested, first, first)
        fewer = np.minimum(sorts[:, [0]], terms)
        more = np.maximum(sorts[:, [0]], terms)
        left = np.minimum.outer(sorts[:, 2], sorts[:, 2]) - 1.0 - more
        safe = np.maximum(left, 1.0)
        least = fewer * (1.0 - betaincinv(fewer * safe / 2.0, fewer * more / 2.0, level))
        self.table = np.where(left >= 1.0, least, np.inf).astype(np.float32)

    def _terms(self, terms: np.ndarray, of: Any, by: Any) -> np.ndarray:
        """Terms of the predictors: of a polynomial those that the column allows."""
        allowed = np.maximum.outer(self.allowed[of], self.most[by])
        return np.asarray(np.minimum(terms[by], allowed))

    def adjusted(self, part: slice, explained: np.ndarray) -> np.ndarray:
        """Shares less what chance alone gives."""
        n = np.minimum.outer(self.known[part], self.known)
        left = np.maximum(n - 1.0 - self._terms(self.terms, part, slice(None)), 1.0)
        return np.asarray(1.0 - (1.0 - explained) * ((n - 1.0) / left))

    def reached(self, part: slice, trace: np.ndarray, together: np.ndarray) -> np.ndarray:
        """Which pairs depend on each other significantly, also by rows with rare values."""
        found = trace >= self.table[self.sort[part]][:, self.sort]
        found &= np.logical_and.outer(self.shown[part], self.shown)
        expected = np.multiply.outer(self.differ[part], self.differ)
        both = np.logical_and.outer(self.rare[part], self.rare)
        rare = found & (expected < np.where(both, EXPECTED_OF_RARE, EXPECTED))
        found[rare] = _surprise(together[rare], expected[rare]) >= self.enough
        return np.asarray(found)
