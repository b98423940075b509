"""Which kept column can replace a dropped one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import betainc, gammaln
from scipy.stats import false_discovery_control, rankdata

from depmax._resources import map_threads, slices
from depmax.data.table import is_streamed, some_rows

#: Rows that are compared at most: correlations are then known to 0.01.
ROWS = 10_000
#: Columns that are compared at a time.
COLUMNS = 128
#: A number with at most so many values says what its values say; others are cut into so many bins.
VALUES, BINS = 20, 10
#: Part of a column's variation that its substitute shares at least: a correlation of one half.
LEAST_SHARE = 0.25
#: False discovery rate of the substitutes that are named, and of columns alone.
LEVEL = 0.05


def substitutes(
    X: Any,
    support: np.ndarray,
    n_jobs: int | None = None,
    categories: Mapping[int, Any] | None = None,
) -> np.ndarray:
    """Position of the kept column that shares most of a dropped column's variation, or -1.

    Whatever the two columns are, the share is the part of the dropped column's variance that the
    kept one explains by least squares, less what chance alone would give. The variance of numbers
    is that of their ranks, and that of a category the sum over indicators of its levels. So it is
    the squared rank correlation of two columns of numbers; the correlation ratio, if numbers are
    replaced by a category; Goodman and Kruskal's tau, if a category is replaced by another, or by
    numbers, which are then cut into bins. Missing cells are zero after centring: they agree with
    nothing. A substitute is named only if it shares at least a quarter of the variation, and
    significantly so: p-values over all pairs, with a false discovery rate of 5%.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Sparse columns are compared by plain correlation. Of long tables a seeded sample of rows
        is compared.
    support : array of bool of shape (n_features,)
        The columns that are kept.
    n_jobs : int, optional
        Threads over columns.
    categories : mapping, optional
        Levels of the columns that hold codes of levels, by position.

    Returns
    -------
    ndarray of int of shape (n_features,)
        -1 for kept columns, and for dropped ones that no kept column can replace.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> one, other, third = rng.normal(size=(3, 50))
    >>> X = np.column_stack([one, np.exp(one), other, third])  # one is kept, and other
    >>> substitutes(X, np.array([True, False, True, False]))
    array([-1,  0, -1, -1])
    """
    if not support.any():
        return np.full(len(support), -1)
    result = np.full(X.shape[1], -1)
    kept, dropped = np.flatnonzero(support), np.flatnonzero(~support)
    if not len(dropped):
        return result
    if X.shape[0] > ROWS or is_streamed(X):
        X = X[some_rows(X.shape[0], ROWS)]
    coded = np.isin(np.arange(X.shape[1]), list(categories or ()))
    all_at_once = sparse.issparse(X)  # taking columns of a sparse matrix reads all of it
    compare = _by_correlation(X[:, kept]) if all_at_once else _by_spaces(X[:, kept], coded[kept])
    best = np.empty(len(dropped), dtype=np.int64)
    shares, pvalues = np.empty(len(dropped)), np.empty(len(dropped))

    def fill(part: slice) -> None:
        columns = dropped[part]
        found = compare(X[:, columns], coded[columns])
        beyond_chance = found.shares()
        best[part] = np.argmax(beyond_chance, axis=1)
        chosen = np.arange(len(columns)), best[part]
        shares[part] = beyond_chance[chosen]
        pvalues[part] = np.minimum(1.0, len(kept) * found.pvalues(chosen))  # best of all kept

    widest = max((len(levels) for levels in (categories or {}).values()), default=1)
    at_a_time = len(dropped) if all_at_once else max(1, COLUMNS // max(1, widest))
    parts = slices(len(dropped), at_a_time)
    map_threads(fill, list(parts), n_jobs)
    related = (shares >= LEAST_SHARE) & (false_discovery_control(pvalues) <= LEVEL)
    result[dropped[related]] = kept[best[related]]
    return result


def shared(X: np.ndarray, y: np.ndarray, coded_x: np.ndarray, coded_y: np.ndarray) -> np.ndarray:
    """Part of the variation of each column of X (rows here) that each column of y shares.

    It is that of :func:`substitutes`, one for a column itself.

    Parameters
    ----------
    X, y : arrays of shapes (n_samples, n_features) and (n_samples, n_others)
    coded_x, coded_y : arrays of bool of shapes (n_features,) and (n_others,)
        Whether a column holds codes of levels.
    """
    if len(X) > ROWS:
        some = some_rows(len(X), ROWS)
        X, y = X[some], y[some]
    return _by_spaces(y, coded_y)(X, coded_x).shares()


@dataclass(frozen=True)
class _Shared:
    """What each of some columns (rows here) shares with each kept one."""

    explained: np.ndarray  # part of the column's variance, from 0 to 1
    trace: np.ndarray  # mean of the squared canonical correlations, the same for numbers
    own: np.ndarray  # coordinates of the column: 1 for numbers, 0 for constants
    other: np.ndarray  # coordinates of the kept one
    least: np.ndarray  # p-value of full agreement: few rows, or rare values, agree by chance
    n_samples: int

    def shares(self) -> np.ndarray:
        """The share beyond what chance gives, which is other / (n_samples - 1) on average."""
        left = self.n_samples - 1 - self.other
        known = (left > 0) & (self.own > 0) & (self.other > 0)
        scale = (self.n_samples - 1) / np.where(known, left, 1)
        return np.where(known, 1.0 - (1.0 - self.explained) * scale, -np.inf)

    def pvalues(self, chosen: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """Of independence, for some pairs: Pillai's trace, exactly an F-test if one is a number."""
        own, other = self.own[chosen], self.other[chosen]
        fewer, more = np.minimum(own, other), np.maximum(own, other)
        left = self.n_samples - 1 - more
        known = (left > 0) & (fewer > 0)
        found = np.ones(len(left))
        unexplained = np.clip(1.0 - self.trace[chosen][known], 0.0, 1.0)
        fewer, more, left = fewer[known], more[known], left[known]
        found[known] = betainc(fewer * left / 2, fewer * more / 2, unexplained)
        return np.maximum(found, self.least[chosen])


_Compare = Callable[[Any, np.ndarray], _Shared]


@dataclass(frozen=True)
class _Coordinates:
    """Columns as orthonormal centred vectors below each other."""

    vectors: np.ndarray  # (coordinates of all columns, n_samples)
    weights: np.ndarray  # part of its column's variance that each has
    widths: np.ndarray  # coordinates of each column, 0 for constants
    orders: np.ndarray  # logarithm of the number of different orders of each column's values


def _by_spaces(kept: np.ndarray, coded: np.ndarray) -> _Compare:
    """Compare columns by the spaces that their ranks, or indicators of their levels, span.

    Kept numbers are the ranks for a column of numbers, and bins for a category: what ranks explain
    of many levels on a line is little, although they are known from them.
    """
    as_ranks = _coordinates(kept, coded)

    def compare(columns: np.ndarray, is_code: np.ndarray) -> _Shared:
        shape = columns.shape[1], kept.shape[1]
        found = _Shared(
            explained=np.zeros(shape),
            trace=np.zeros(shape),
            own=np.zeros(shape, dtype=np.int64),
            other=np.zeros(shape, dtype=np.int64),
            least=np.ones(shape),
            n_samples=len(columns),
        )
        numbers, codes = np.flatnonzero(~is_code), np.flatnonzero(is_code)
        if len(numbers):
            every = np.arange(shape[1])
            _fill(
                found, numbers, every, _coordinates(columns[:, numbers], is_code[numbers]), as_ranks
            )
        if len(codes):
            left = _coordinates(columns[:, codes], is_code[codes])
            for part in slices(shape[1], COLUMNS // 4):  # bins take more space than ranks
                some = np.arange(shape[1])[part]
                levels = np.column_stack(
                    [kept[:, k] if coded[k] else _bins(kept[:, k]) for k in some]
                )
                _fill(found, codes, some, left, _coordinates(levels, np.ones(len(some), bool)))
        return found

    return compare


def _fill(
    found: _Shared, rows: np.ndarray, columns: np.ndarray, left: _Coordinates, right: _Coordinates
) -> None:
    """Write what some columns share with some kept ones."""
    squares = (left.vectors @ right.vectors.T) ** 2
    fewer = np.minimum.outer(left.widths, right.widths)
    trace = _sums(_sums(squares, left.widths, 0), right.widths, 1)
    explained = _sums(_sums(left.weights[:, np.newaxis] * squares, left.widths, 0), right.widths, 1)
    place = np.ix_(rows, columns)
    found.explained[place], found.trace[place] = explained, trace / np.maximum(fewer, 1)
    found.own[place], found.other[place] = left.widths[:, np.newaxis], right.widths
    found.least[place] = _least_pvalues(left.orders, right.orders)


def _bins(values: np.ndarray) -> np.ndarray:
    """Numbers as codes of levels: their values if these are few, else bins of as many rows each."""
    known = ~np.isnan(values)
    if len(np.unique(values[known])) <= VALUES:
        return values
    codes = np.full(len(values), np.nan)
    codes[known] = np.floor((rankdata(values[known]) - 0.5) * (BINS / known.sum()))
    return codes


def _least_pvalues(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Two orders of a column, there and back, agree fully with another one."""
    return np.minimum(1.0, 2.0 * np.exp(-np.minimum.outer(left, right)))


def _sums(values: np.ndarray, widths: np.ndarray, axis: int) -> np.ndarray:
    """Sums over the coordinates of each column, zero where a column has none."""
    if (widths == 1).all():
        return values
    shape = list(values.shape)
    shape[axis] = len(widths)
    result = np.zeros(shape)
    some = np.flatnonzero(widths)
    if len(some):
        starts = (np.cumsum(widths) - widths)[some]
        index = some if axis == 0 else (slice(None), some)
        result[index] = np.add.reduceat(values, starts, axis=axis)
    return result


def _coordinates(X: np.ndarray, coded: np.ndarray) -> _Coordinates:
    """Ranks of columns of numbers, and contrasts of levels for codes."""
    increasing, _, all_orders = _unit_ranks(np.arange(len(X), dtype=np.float64))
    read = []
    for values, is_code in zip(np.ascontiguousarray(X.T), coded, strict=True):
        order = np.argsort(values)
        ordered = values[order]
        if is_code or len(X) < 2 or not (ordered[1:] > ordered[:-1]).all():
            read.append(_of_known(unit_levels if is_code else _unit_ranks, values))
        else:  # all differ: every such column has the same ranks in another order
            vector = np.empty_like(increasing)
            vector[0, order] = increasing[0]
            read.append((vector, np.ones(1), all_orders))
    vectors, weights, orders = zip(*read, strict=True)
    widths = np.array([len(each) for each in vectors])
    return _Coordinates(np.concatenate(vectors), np.concatenate(weights), widths, np.array(orders))


#: Coordinates of one column, the part of its variance that each has, and the logarithm of the
#: number of different orders of its values.
_Read = tuple[np.ndarray, np.ndarray, float]


def _of_known(make: Callable[[np.ndarray], _Read], values: np.ndarray) -> _Read:
    """Coordinates of the rows with a value, and zero for missing cells: those say nothing."""
    if not np.isnan(values.sum()):
        return make(values)
    known = ~np.isnan(values)
    if not known.any():
        return np.empty((0, len(values))), np.empty(0), 0.0
    vectors, weights, orders = make(values[known])
    whole = np.zeros((len(vectors), len(values)))
    whole[:, known] = vectors
    return whole, weights, orders


def _unit_ranks(values: np.ndarray) -> _Read:
    """Centred ranks of length 1, (1, n_samples) or (0, n_samples) if constant."""
    counts = np.unique(values, return_counts=True)[1]
    if len(counts) < 2:
        return np.empty((0, len(values))), np.empty(0), 0.0
    ranks = rankdata(values)
    ranks -= ranks.mean()
    unit = (ranks / np.linalg.norm(ranks))[np.newaxis]
    return unit, np.ones(1), log_orders(len(values), counts)


def unit_levels(codes: np.ndarray) -> _Read:
    """Principal axes of the centred indicators, (n_levels - 1, n_samples)."""
    levels, places, counts = np.unique(codes, return_inverse=True, return_counts=True)
    shares = counts / counts.sum()
    variances, axes = np.linalg.eigh(np.diag(counts) - np.outer(counts, shares))
    variances, axes = variances[1:], axes[:, 1:].T  # the sum of all indicators is constant
    centred = (axes - axes @ shares[:, np.newaxis]) / np.sqrt(variances)[:, np.newaxis]
    weights = variances / variances.sum() if len(levels) > 1 else variances
    return centred[:, places.ravel()], weights, log_orders(len(codes), counts)


def log_orders(n_samples: int, counts: np.ndarray) -> float:
    """Logarithm of the number of different orders of values that occur so often."""
    return float(gammaln(n_samples + 1) - gammaln(counts + 1.0).sum())


def _by_correlation(kept: Any) -> _Compare:
    """Compare sparse columns by plain correlation; constants share nothing."""
    m = kept.shape[0]
    right_mean, right_squares, right_orders = _moments(kept)

    def compare(columns: Any, coded: np.ndarray) -> _Shared:
        mean, squares, orders = _moments(columns)
        cross = np.asarray((columns.T @ kept).todense()) - m * np.outer(mean, right_mean)
        scale = np.sqrt(np.maximum(np.outer(squares, right_squares), 0.0))
        known = scale > 1e-12
        correlation = np.divide(cross, scale, out=np.zeros_like(cross), where=known)
        widths = known.astype(np.int64)
        least = _least_pvalues(orders, right_orders)
        squares = np.minimum(correlation**2, 1.0)
        return _Shared(squares, squares, widths, widths, least, m)

    return compare


def _moments(columns: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means of sparse columns, sums of squares about them, log of the orders of their values.

    Values other than zero count as all equal or all different.
    """
    m = columns.shape[0]
    sums = np.asarray(columns.sum(axis=0)).ravel()
    squares = np.asarray(columns.multiply(columns).sum(axis=0)).ravel()
    stored = np.asarray((columns != 0).sum(axis=0)).ravel()
    differ = stored * squares - sums**2 > 1e-9 * stored * squares
    orders = gammaln(m + 1) - gammaln(m - stored + 1) - np.where(differ, 0, gammaln(stored + 1))
    return sums / m, squares - sums**2 / m, orders
