"""What may be exchanged if rows are not independent, and rows that look as if they were not."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import fft, special, stats

from depmax._warnings import warn_caller
from depmax.data.columns import is_missing
from depmax.data.table import refuse_unreadable
from depmax.data.target import settle

#: Fewest groups of similar size that are exchanged with each other.
FEWEST_ALIKE = 5
#: With fewer ways to exchange, no p-value can be 0.05.
FEWEST_WAYS = 20


@dataclass(frozen=True)
class PermutationScheme:
    """How the target of one data set is permuted: which of its rows are used, in which orders."""

    rows: np.ndarray  # positions of the rows that take part
    units: np.ndarray  # of every row of the data: the number of the independent unit it is in
    draw: Callable[[np.random.Generator], np.ndarray]  # positions among ``rows``, one per row
    n_ways: float  # how many different orders there are
    reliable: bool = True  # whether rows are as exchangeable as this takes them to be
    is_free: bool = False  # whether any row may take the place of any other

    @property
    def is_whole(self) -> bool:
        """Whether all rows are used."""
        return len(self.rows) == len(self.units)

    def orders(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Random orders, of shape (count, n_rows)."""
        return np.array([self.draw(rng) for _ in range(count)], dtype=np.intp)

    def with_identity(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """The rows as they are, then random orders."""
        return np.concatenate([np.arange(len(self.rows))[np.newaxis], self.orders(count, rng)])


class Exchange(ABC):
    """Which rows of a target may change places if it is independent of the inputs.

    Wherever depmax takes ``groups=``, plain labels mean :class:`WholeGroups`; the others are passed
    as objects. An object has the length of its labels and is cut to the rows of a fold as they are.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The group of each row.
    """

    labels: Any
    #: Whether rows are independent once what their group has in common is taken off.
    is_free_within_groups = False
    #: Whether ``units`` are groups that the user calls independent of each other.
    has_independent_groups = False

    def __init__(self, labels: Any) -> None:
        self.labels = labels

    def __len__(self) -> int:
        """Number of labels, 0 if there are none."""
        return 0 if self.labels is None else len(self.labels)

    @property
    def shape(self) -> tuple[int]:
        """Shape, as for arrays."""
        return (len(self),)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The labels, for whoever splits rows by them."""
        return np.array(self.labels, dtype=dtype)

    def __getitem__(self, rows: Any) -> Exchange:
        """The exchange of some of the rows."""
        places = rows[0] if isinstance(rows, tuple) else rows
        return self.take(np.arange(len(self))[places])

    def take(self, rows: np.ndarray) -> Exchange:
        """The exchange of the rows at these positions."""
        part = copy(self)
        part.labels = None if self.labels is None else np.asarray(self.labels)[rows]
        return part

    def units(self, n_samples: int) -> np.ndarray:
        """The number of the independent unit, such as the group, that each row belongs to."""
        return codes_of(self.labels, n_samples)

    @abstractmethod
    def plan(self, n_samples: int, target: Any = None) -> PermutationScheme:
        """The exchange of ``n_samples`` rows; ``target`` has a value per row, if known."""

    def doubt(self, n_samples: int, target: Any, inputs: Any = None) -> str | None:
        """Why the rows may not be as exchangeable as the plan takes them to be; None if they are.

        ``target`` and ``inputs`` have a value, or a row, per row; inputs are perhaps unknown.
        """
        return None


class FreeRows(Exchange):
    """Rows that are independent of each other: what holds without ``groups``."""

    has_independent_groups = True

    def __init__(self) -> None:
        super().__init__(None)

    def units(self, n_samples: int) -> np.ndarray:
        """Every row by itself."""
        return np.arange(n_samples)

    def plan(self, n_samples: int, target: Any = None) -> PermutationScheme:
        """All rows in any order."""
        every = np.arange(n_samples)
        return PermutationScheme(
            every, every, lambda rng: np.argsort(rng.random(n_samples)), np.inf, is_free=True
        )


FREE: Exchange = FreeRows()


class TooFewWays(ValueError):  # noqa: N818  (what is wrong, not that it is an error)
    """Too few ways to exchange rows for any p-value to be small."""


class WholeGroups(Exchange):
    """Rows of a group stay together, and whole groups change places: ``groups=labels``.

    For rows that come in independent groups (patients with several samples each, animals of a
    litter, pupils of a class), if a column or the target may be similar within a group.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The group of every row; numbers or text.

    Notes
    -----
    A target that has one value per group is exchanged between all groups, whatever their sizes.
    Otherwise groups of equal size change places, row by row. If fewer than five have the same size,
    groups of similar size are combined and cut, at random with a fixed seed, to the smallest of
    them, or left out if a few would cut many; a warning says how many rows are not used.
    All of this is exact: given their sizes, independent groups are exchangeable.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import WholeGroups, hsic_test
    >>> rng = np.random.default_rng(0)
    >>> patient = np.repeat(np.arange(40), 5)
    >>> x, y = rng.normal(size=(2, 40))[:, patient]  # alike within patients, independent
    >>> hsic_test(x, y, random_state=0).pvalue < 0.001
    True
    >>> hsic_test(x, y, groups=WholeGroups(patient), random_state=0).pvalue > 0.05
    True
    """

    has_independent_groups = True

    def plan(self, n_samples: int, target: Any = None) -> PermutationScheme:
        """Whole groups in random order, between those of the same size."""
        codes = codes_of(self.labels, n_samples)
        sizes = np.bincount(codes)
        every = np.arange(n_samples)
        if np.array_equal(sizes, np.ones(n_samples)):  # every row is its own group
            return PermutationScheme(every, codes, lambda rng: rng.permutation(n_samples), np.inf)
        first = np.unique(codes, return_index=True)[1]
        values = _comparable(target, n_samples)
        if values is None or (values != values[first[codes]]).any():
            return _exchange_alike(codes, sizes)
        ways = _ways_of_values(values[first])
        require_ways(ways, f"{len(sizes)} groups of rows", "groups")
        return PermutationScheme(
            every, codes, lambda rng: first[rng.permutation(len(first))][codes], ways
        )


class WithinGroups(Exchange):
    """Rows change places only within their group: ``groups=WithinGroups(labels)``.

    For a factor that varies within groups (treatments of the same patient, plots of a block):
    differences between groups are kept and do not count as dependence.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The group of every row; numbers or text.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import WithinGroups, hsic_test
    >>> rng = np.random.default_rng(0)
    >>> block = np.repeat(np.arange(20), 5)
    >>> x, y = rng.normal(size=(2, 100)) + 3.0 * rng.normal(size=20)[block]  # blocks differ
    >>> hsic_test(x, y, random_state=0).pvalue < 0.01
    True
    >>> hsic_test(x, y, groups=WithinGroups(block), random_state=0).pvalue > 0.05
    True
    """

    is_free_within_groups = True

    def plan(self, n_samples: int, target: Any = None) -> PermutationScheme:
        """Rows of every group in random order."""
        codes = codes_of(self.labels, n_samples)
        ways = number_of(np.sum(special.gammaln(np.bincount(codes) + 1.0)))
        require_ways(ways, "The rows within groups", "rows in a group")
        inside = np.argsort(codes, kind="stable")

        def draw(rng: np.random.Generator) -> np.ndarray:
            order = np.empty(n_samples, dtype=np.intp)
            order[inside] = np.lexsort((rng.random(n_samples), codes))
            return order

        return PermutationScheme(np.arange(n_samples), codes, draw, ways)


def exchange_of(groups: Any) -> Exchange:
    """The meaning of ``groups=``: free rows, labels of whole groups, or an exchange object."""
    if groups is None:
        return FREE
    return groups if hasattr(groups, "plan") else WholeGroups(groups)


def scheme_of(
    groups: Any, n_samples: int, target: Any = None, inputs: Any = None
) -> PermutationScheme:
    """How ``groups=`` permutes a target; warns of unused rows and of doubts."""
    exchange = exchange_of(groups)
    plan = exchange.plan(n_samples, target)
    if not plan.is_whole:
        left = f"{n_samples - len(plan.rows)} of {n_samples} rows are not used for p-values"
        why = (
            "groups of similar size are exchanged after being cut to the smallest of them, and "
            "single groups of another size are left out"
        )
        warnings.warn(f"{left}: {why}.", stacklevel=3)
    return replace(plan, reliable=is_exchangeable(exchange, n_samples, target, inputs))


def is_exchangeable(exchange: Exchange, n_samples: int, target: Any, inputs: Any = None) -> bool:
    """Whether rows are as exchangeable as the user says, as far as can be seen; warns if not."""
    doubt = exchange.doubt(n_samples, target, inputs)
    if doubt is not None:
        warn_caller(doubt, UserWarning)
    return doubt is None


def codes_of(labels: Any, n_samples: int) -> np.ndarray:
    """Groups as numbers from 0, in the order of their labels; one label per row, none missing."""
    refuse_unreadable(labels, "groups")
    values = settle(np.asarray(labels))
    if values.shape != (n_samples,):
        raise ValueError(
            f"groups must hold one label per row of X ({n_samples}), got shape {values.shape}."
        )
    missing = np.array([is_missing(value) for value in values.tolist()], dtype=bool)
    if missing.any():
        raise ValueError(
            f"groups has no label in {missing.sum()} of {n_samples} rows, the first of them row "
            f"{int(np.argmax(missing))}: drop these rows, or give each its own group."
        )
    if values.dtype == object:  # of several types: 1 and "1" are two labels
        values = np.array([f"{type(value).__name__} {value}" for value in values.tolist()])
    codes = np.unique(values, return_inverse=True)[1].ravel()
    return np.asarray(codes, dtype=np.intp)


def _comparable(target: Any, n_samples: int) -> np.ndarray | None:
    """One row per value of a target, as numbers of its distinct values; None if unknown."""
    if not isinstance(target, np.ndarray) or target.dtype.kind not in "biufUS":
        return None
    flat = target.reshape(n_samples, -1)
    axis = None if flat.shape[1] == 1 else 0
    return np.asarray(np.unique(flat, axis=axis, return_inverse=True)[1]).ravel()


def _ways_of_values(values: np.ndarray) -> float:
    """Ways to give these values to groups; exchanging two values as such changes no HSIC."""
    counts = np.unique(values, return_counts=True)[1]
    ways = number_of(special.gammaln(len(values) + 1.0) - np.sum(special.gammaln(counts + 1.0)))
    return ways / (2.0 if len(counts) == 2 and counts[0] == counts[1] else 1.0)


def number_of(logarithm: float) -> float:
    """A number from its logarithm, without overflow."""
    return float(np.exp(min(float(logarithm), 700.0)))


def require_ways(ways: float, what: str, more: str) -> None:
    """Refuse an exchange with so few orders that no p-value can be small."""
    if ways < FEWEST_WAYS - 0.5:
        raise TooFewWays(
            f"{what} can be exchanged in {ways:.0f} way{'' if round(ways) == 1 else 's'} only, so "
            f"that no p-value can be below {1.0 / max(ways, 1.0):.2g}: at least {FEWEST_WAYS} ways "
            f"are needed for 0.05. More {more} are needed."
        )


def _exchange_alike(codes: np.ndarray, sizes: np.ndarray) -> PermutationScheme:
    """Groups change places with those of similar size, cut to the smallest of them."""
    strata = _strata(sizes)
    rng = np.random.default_rng(0)
    tables = []  # of every stratum: the rows of its groups, of shape (n_groups, smallest size)
    for members in strata:
        smallest = int(sizes[members].min())
        drawn = [rng.choice(np.flatnonzero(codes == g), smallest, replace=False) for g in members]
        tables.append(np.sort(drawn, axis=1))
    ways = number_of(np.sum(special.gammaln([len(members) + 1.0 for members in strata])))
    require_ways(ways, f"{len(sizes)} groups of rows", "groups")
    rows = np.sort(np.concatenate([table.ravel() for table in tables]))
    tables = [np.searchsorted(rows, table) for table in tables]  # places among these rows

    def draw(rng: np.random.Generator) -> np.ndarray:
        order = np.empty(len(rows), dtype=np.intp)
        for table in tables:
            order[table] = table[rng.permutation(len(table))]
        return order

    return PermutationScheme(rows, codes, draw, ways)


def _strata(sizes: np.ndarray) -> list[np.ndarray]:
    """Groups put together by size, at least ``FEWEST_ALIKE`` each, so that fewest rows are lost.

    Rows are lost where groups are cut. A group of a rare size may be left out instead, which counts
    as the loss of ``FEWEST_ALIKE`` mean groups: a group is worth more than the rows in it.
    """
    order = np.argsort(sizes, kind="stable")
    levels, starts = np.unique(sizes[order], return_index=True)
    ends = np.append(starts, len(sizes))  # levels a to b - 1 are groups ends[a]:ends[b]
    totals = np.append(0, np.cumsum(sizes[order]))
    fewest = min(FEWEST_ALIKE, len(sizes))
    cost, before = np.full(len(levels) + 1, np.inf), np.zeros(len(levels) + 1, dtype=np.intp)
    cost[0] = 0.0
    for b in range(1, len(levels) + 1):
        a = np.arange(b)
        count = ends[b] - ends[a]
        lost = totals[ends[b]] - totals[ends[a]] - count * levels[a]
        options = cost[a] + np.where(count >= fewest, lost, FEWEST_ALIKE * sizes.mean() * count)
        before[b], cost[b] = int(np.argmin(options)), float(options.min())
    strata, b = [], len(levels)
    while b > 0:
        if ends[b] - ends[before[b]] >= fewest:
            strata.append(order[ends[before[b]] : ends[b]])
        b = int(before[b])
    return strata[::-1]


#: Part of the rows of a series that a shift moves at least, unless the user says how many.
SHORTEST_SHIFT = 0.05
#: Classes whose indicators are looked at, at most.
MOST_CLASSES = 20
#: Lags are added up until so many times the memory that they have come to (Sokal's window).
WINDOW = 5.0


class Shifts(Exchange):
    """Rows in order of time are shifted in a circle: ``groups=Shifts()``.

    For time series, whose neighbouring rows are similar. A shift preserves both series and breaks
    only what happens at the same time.

    Parameters
    ----------
    labels : array-like of shape (n_samples,), optional
        The series of every row, each shifted by itself; by default all rows are one series.
    shortest : int, optional
        Smallest number of rows that a shift moves, so that lasting effects are broken as well; by
        default a twentieth of the series.

    Notes
    -----
    Exact for stationary series that close in a circle; the seam of a long series changes little.
    A single series has as many shifts as rows, which limits how small a p-value can be. It is no
    remedy for a series without a level to return to, such as a random walk or a trend: of
    independent random walks of 50 to 400 rows, 20% had p ≤ 0.05. If X and y both remember (in the
    sum of their autocorrelations) more than a twentieth of the series, a warning says so, and
    ``reliable`` of the test is False: take differences, or take out the trend.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from depmax import Shifts, hsic_test
    >>> from scipy.signal import lfilter
    >>> noise = np.random.default_rng(1).normal(size=(2, 300))
    >>> x, y = lfilter([1.0], [1.0, -0.9], noise)  # rows are 0.9 of the one before, plus noise
    >>> with warnings.catch_warnings(record=True) as caught:  # that rows resemble their neighbours
    ...     warnings.simplefilter("always")
    ...     wrong = hsic_test(x, y, random_state=0)
    >>> wrong.pvalue < 0.001, str(caught[0].message)[:40]
    (True, 'DM002: Rows next to each other are alike')
    >>> hsic_test(x, y, groups=Shifts(), random_state=0).pvalue > 0.05
    True
    """

    def __init__(self, labels: Any = None, *, shortest: int | None = None) -> None:
        super().__init__(labels)
        self.shortest = shortest

    def units(self, n_samples: int) -> np.ndarray:
        """Stretches as long as the shortest shift, taken as independent of each other."""
        units, done = np.empty(n_samples, dtype=np.intp), 0
        series = self._series(n_samples)
        short = self._shortest(np.array([len(rows) for rows in series]))
        for rows, length in zip(series, short, strict=True):
            for stretch in np.array_split(rows, max(1, len(rows) // int(length))):
                units[stretch] = done
                done += 1
        return units

    def _series(self, n_samples: int) -> list[np.ndarray]:
        """Rows of every series, in the order of time."""
        labels = np.zeros(n_samples) if self.labels is None else self.labels
        codes = codes_of(labels, n_samples)
        return [np.flatnonzero(codes == code) for code in range(codes.max() + 1)]

    def plan(self, n_samples: int, target: Any = None) -> PermutationScheme:
        """A random shift of every series."""
        series = self._series(n_samples)
        lengths = np.array([len(rows) for rows in series])
        short = self._shortest(lengths)
        choices = np.maximum(lengths - 2 * short + 1, 0) + 1  # with the series as it is
        ways = number_of(np.sum(np.log(choices)))
        require_ways(
            ways, f"Series of {lengths.max()} rows, shifted by {short[0]} or more,", "rows"
        )

        def draw(rng: np.random.Generator) -> np.ndarray:
            order = np.arange(n_samples)
            for rows, low, count in zip(series, short, choices, strict=True):
                shift = rng.integers(count)  # 0 is one of few, and has to be drawn as often
                shift = low + shift - 1 if shift else 0
                order[rows] = np.roll(rows, -shift)
            return order

        return PermutationScheme(np.arange(n_samples), self.units(n_samples), draw, ways)

    def doubt(self, n_samples: int, target: Any, inputs: Any = None) -> str | None:
        """Whether both sides remember so much that a shift is far from another draw."""
        series = self._series(n_samples)
        memory = memory_of(target, series)
        if inputs is not None:
            memory = min(memory, memory_of(inputs, series))
        length = n_samples / len(series)
        if memory * FEWEST_WAYS <= length:
            return None
        return (
            f"A series of {length:.0f} rows in which each resembles the {memory:.0f} around it is "
            f"too short for Shifts, which need {FEWEST_WAYS} times as many rows: p-values may be "
            "too small. Take differences of rows, take out a trend, or use more rows."
        )

    def _shortest(self, lengths: np.ndarray) -> np.ndarray:
        if self.shortest is None:
            return np.maximum(1, (SHORTEST_SHIFT * lengths).astype(int))
        if self.shortest < 1:
            raise ValueError(f"shortest must be at least 1 row, got {self.shortest}.")
        return np.full(len(lengths), self.shortest)


def memory_of(values: Any, series: list[np.ndarray]) -> float:
    """1 + 2 Σ of autocorrelations of ranks, for the column with the longest memory.

    n rows of a series tell as much as n over this many independent ones. 1 if nothing is known of
    the values (objects, sparse rows).

    Parameters
    ----------
    values : ndarray of shape (n_samples,) or (n_samples, n_columns)
    series : list of ndarray
        Rows of each series in order of time.
    """
    columns = _columns(values)
    if columns is None:
        return 1.0
    n_rows = np.array([len(rows) for rows in series])
    memories = [_memories(columns[rows]) for rows in series]
    return float(np.max(np.average(memories, axis=0, weights=n_rows), initial=1.0))


def _columns(values: Any) -> np.ndarray | None:
    """Numbers, or indicators of classes; None for what is neither."""
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "biufUS":
        return None
    if values.dtype.kind in "US":
        levels, codes = np.unique(values, return_inverse=True)
        return np.asarray(codes.reshape(-1, 1) == np.arange(min(len(levels), MOST_CLASSES)), float)
    return values.reshape(len(values), -1).astype(np.float64)


def _memories(columns: np.ndarray) -> np.ndarray:
    """The memory of every column of one series."""
    n_rows = len(columns)
    ranks = stats.rankdata(columns, axis=0, nan_policy="omit")
    ranks = np.nan_to_num(ranks - np.nanmean(ranks, axis=0))
    spectrum = np.abs(fft.rfft(ranks, 2 * n_rows, axis=0)) ** 2
    products = fft.irfft(spectrum, axis=0)[:n_rows]  # Σ_i r_i r_{i+k} of every lag k
    sums = 2.0 * np.cumsum(products / np.maximum(products[0], np.finfo(float).tiny), axis=0) - 1.0
    enough = np.arange(n_rows)[:, np.newaxis] >= WINDOW * sums
    enough[-1] = True
    return np.asarray(np.take_along_axis(sums, enough.argmax(axis=0)[np.newaxis], axis=0)[0])


#: Rows below which neighbours are not compared, columns that are looked at, and what counts as
#: alike: standard errors and correlation of the target, and the differences of the columns as a
#: share of the usual ones.
FEWEST_ROWS = 100
MOST_COLUMNS = 200
ERRORS = 5.0
CORRELATION = 0.3
ALIKE = 0.8
#: Code of the caution, under which it can be silenced; see ``depmax cautions``.
NEIGHBOURS_CODE = "DM002"
ALIKE_IN_ORDER = (
    "Rows next to each other are alike, in the target and in the columns. If rows follow each "
    "other in time, or several belong to one person or place, p-values are too small and scores on "
    "random splits too good: pass groups=depmax.Shifts() for a time series, or name what belongs "
    "together (groups= or --groups), such as the patient or the month."
)
#: Cells that are looked at; of a larger table, the first rows.
MOST_CELLS = 20_000_000


def warn_of_neighbours(x: Any, y: Any, categories: Collection[int] = ()) -> None:
    """Warn of rows in memory that resemble their neighbours, for tests that take them as free.

    Parameters
    ----------
    x : ndarray of shape (m, d) of numbers, codes in categorical columns; others are not looked at
    y : ndarray of shape (m,) of labels, or of shape (m, q) of numbers; others are not looked at
    categories : positions of the categorical columns
    """
    tables = all(isinstance(part, np.ndarray) and part.ndim in (1, 2) for part in (x, y))
    if not tables or len(x) < FEWEST_ROWS or len(x) != len(y) or x.dtype.kind != "f":
        return
    is_labels = y.ndim == 1
    if is_labels and y.dtype.kind == "O" and any(not isinstance(one, str) for one in y):
        return  # objects such as graphs
    values = x[:, np.newaxis] if x.ndim == 1 else x
    n_rows = min(len(values), max(1, MOST_CELLS // max(1, values.shape[1])))
    answers = np.unique(y, return_inverse=True)[1].astype(float) if is_labels else y[:, 0]
    if neighbours_alike(values[:n_rows], answers[:n_rows], is_labels, categories):
        warn_caller(f"{NEIGHBOURS_CODE}: {ALIKE_IN_ORDER}", UserWarning)


@contextmanager
def neighbours_mentioned() -> Iterator[None]:
    """For callers who have said it, or will, where it belongs."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=NEIGHBOURS_CODE)
        yield


def neighbours_alike(
    values: np.ndarray, answers: np.ndarray, classes: bool, categories: Collection[int]
) -> bool:
    """Whether rows next to each other are alike in the target, and in X beyond what that explains.

    A table that is sorted by its target, or by one of its columns, is not meant.

    Parameters
    ----------
    values : ndarray of shape (m, d)
    answers : ndarray of shape (m,)
        The target as numbers, or as codes of classes.
    classes : whether it is classes
    categories : positions of categorical columns
    """
    if not _follow_each_other(answers, classes):
        return False
    ties = np.random.default_rng(0).random(len(values))
    by_target = np.lexsort((ties, answers))
    here, sorted_by_target = [], []
    for place in range(0, values.shape[1], 1 + (values.shape[1] - 1) // MOST_COLUMNS):
        column = values[:, place]
        steps = np.diff(column[np.isfinite(column)])
        if not steps.size or (steps >= 0).all() or (steps <= 0).all():
            continue  # constant, or what the table is sorted by
        here.append(_difference(column, place in categories))
        sorted_by_target.append(_difference(column[by_target], place in categories))
    return bool(here) and bool(np.nanmean(here) < ALIKE * np.nanmean(sorted_by_target))


def coincidence(column: np.ndarray) -> float:
    """Probability that two rows have the same value."""
    shares = np.unique(column, return_counts=True)[1] / len(column)
    return float((shares**2).sum())


def _follow_each_other(answers: np.ndarray, classes: bool) -> bool:
    """Whether the target of a row tells something about that of the next."""
    n_rows = len(answers)
    if classes:
        chance = coincidence(answers)
        if chance == 1.0:
            return False
        agreement = (float((answers[1:] == answers[:-1]).mean()) - chance) / (1.0 - chance)
        error = np.sqrt(chance / (1.0 - chance) / n_rows)
    else:
        ranks = stats.rankdata(answers)
        if np.ptp(ranks[1:]) == 0 or np.ptp(ranks[:-1]) == 0:
            return False
        agreement, error = float(np.corrcoef(ranks[1:], ranks[:-1])[0, 1]), n_rows**-0.5
    return agreement > max(CORRELATION, ERRORS * error)


def _difference(column: np.ndarray, category: bool) -> float:
    """How much rows next to each other differ, about 1 for rows in random order."""
    known = column[np.isfinite(column)]
    if category:
        return float((known[1:] != known[:-1]).mean() / max(1e-12, 1.0 - coincidence(known)))
    ranks = stats.rankdata(known)
    return float((np.diff(ranks) ** 2).mean() / max(1e-12, 2.0 * ranks.var()))
