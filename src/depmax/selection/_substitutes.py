"""What a selector reports about its columns, and which kept column can replace a dropped one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import betainc, gammaln
from scipy.stats import false_discovery_control, rankdata
from sklearn.utils.validation import check_is_fitted

from depmax._extras import make_frame
from depmax._inputs.table import numbered_columns
from depmax._threads import map_threads
from depmax.samples import is_streamed, slices, some_rows

#: Rows that are compared at most: correlations are then known to 0.01.
ROWS = 10_000
#: Columns that are compared at a time.
COLUMNS = 128
#: Part of a column's variation that its substitute shares at least: a correlation of one half.
LEAST_SHARE = 0.25
#: False discovery rate of the substitutes that are named, and of columns alone.
LEVEL = 0.05


class RankedColumns:
    """What a fitted selector reports about columns: their ranks, and which can replace which."""

    ranking_: np.ndarray
    scores_: np.ndarray
    support_: np.ndarray
    substitutes_: np.ndarray
    effects_: Any  # None without effects
    pvalues_adjusted_: Any  # None without p-values
    n_features_: int

    def to_frame(self, library: str | None = None) -> Any:
        """Data frame of all columns, best first: rank, score, kept, substitute, effect, p-value.

        The substitute of a dropped column is a kept one that shares at least a quarter of its
        variation, significantly; the cell is empty (None) where no kept column does.

        The effect (where the selector has it: with ``pvalues=True``, or as a filter by HSIC) is
        normalised HSIC of each column alone, from 0 to 1, with an interval of 95%: that of
        :func:`depmax.screen`.

        The p-value (where the selector has them) is that of the screening of each column alone,
        adjusted over all columns: it says nothing about the selected set as a whole.
        """
        check_is_fitted(self)
        order = np.argsort(self.ranking_)
        names = self._column_names()
        replaced = [None if p < 0 else names[p] for p in self.substitutes_[order]]
        columns: dict[str, Any] = {
            "column": names[order].tolist(),
            "rank": self.ranking_[order],
            "score": self.scores_[order],
            "kept": self.support_[order],
            "substitute": replaced,
        }
        if getattr(self, "effects_", None) is not None:
            for place, name in enumerate(("effect", "effect_low", "effect_high")):
                columns[name] = self.effects_[order, place]
        if getattr(self, "pvalues_adjusted_", None) is not None:
            columns["pvalue_adjusted"] = self.pvalues_adjusted_[order]
        return make_frame(columns, library)

    def redundant_columns(self) -> dict[str, list[str]]:
        """The kept columns, best first, each with the dropped columns that it can replace.

        A dropped column is listed with its substitute, the kept column that shares most of its
        variation. Dropped columns that appear nowhere share little with any kept one.

        Examples
        --------
        >>> from depmax import KernelRidgeElimination
        >>> X = np.random.default_rng(0).normal(size=(100, 4))
        >>> X[:, 2] = X[:, 0] + 0.1 * X[:, 2]
        >>> selector = KernelRidgeElimination(2).fit(X, 2 * X[:, 0] + X[:, 1])
        >>> selector.redundant_columns()
        {'x0': ['x2'], 'x1': []}
        """
        check_is_fitted(self)
        names = self._column_names()
        order = np.argsort(self.ranking_)
        return {
            str(names[kept]): [str(names[p]) for p in order if self.substitutes_[p] == kept]
            for kept in order[: self.n_features_]
        }

    def _why_only(self, best: int) -> str:
        """What to say where a number of columns was asked for and none is worth keeping."""
        names = getattr(self, "feature_names_in_", None)
        name = f"x{best}" if names is None else names[best]
        maker = f"{type(self).__name__} with n_features_to_select='auto'"
        alone = n_dependent(self)
        if alone:
            depend = "column depends" if alone == 1 else "columns depend"
            return (
                f"{maker} could not show on held-out rows that columns predict the target, "
                f"although {alone:,} {depend} on it (adjusted p-values of each alone). The best "
                f"one, {name!r}, is kept."
            )
        return (
            f"{maker} found no column that depends on the target. The best one, {name!r}, is kept "
            "only so that a pipeline can continue: do not read anything into it."
        )

    def _column_names(self) -> np.ndarray:
        """Those of the frame that was fitted, else x0, x1 and so on."""
        names = getattr(self, "feature_names_in_", None)
        names = numbered_columns(len(self.ranking_)) if names is None else names
        return np.asarray(names, dtype=object)


def n_dependent(selector: Any) -> int:
    """Number of columns that each depend on the target; 0 where the selector has no p-values."""
    pvalues = getattr(selector, "pvalues_adjusted_", None)
    return 0 if pvalues is None else int((pvalues <= LEVEL).sum())


def substitutes(
    X: Any,
    support: np.ndarray,
    n_jobs: int | None = None,
    categories: Mapping[int, Any] | None = None,
) -> np.ndarray:
    """Position of the kept column that shares most of a dropped column's variation, or -1.

    Numbers are compared by their ranks and categories by indicators of their levels. What two
    columns share, from 0 to 1, is then the squared rank correlation of two columns of numbers, the
    correlation ratio of numbers and a category, Cramér's V squared of two categories, each less
    what chance alone would give. Missing cells are zero after centring: they agree with nothing. A
    substitute is named only if it shares at least a quarter of the variation, and significantly so:
    p-values over all pairs, with a false discovery rate of 5%.

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
    compare = _by_correlation(X[:, kept]) if all_at_once else _by_ranks(X[:, kept], coded[kept])
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


@dataclass(frozen=True)
class _Shared:
    """What each of some columns (rows here) shares with each kept one."""

    raw: np.ndarray  # share of variation, from 0 to 1
    fewer: np.ndarray  # the smaller number of coordinates of the two columns: 1 for numbers
    more: np.ndarray  # the larger number
    least: np.ndarray  # p-value of full agreement: few rows, or rare values, agree by chance
    n_samples: int

    def shares(self) -> np.ndarray:
        """The share beyond what chance gives, which is more / (n_samples - 1) on average."""
        left = self.n_samples - 1 - self.more
        known = (left > 0) & (self.more > 0)
        scale = (self.n_samples - 1) / np.where(known, left, 1)
        return np.where(known, 1.0 - (1.0 - self.raw) * scale, -np.inf)

    def pvalues(self, chosen: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """Of independence, for some pairs: Pillai's trace, exactly an F-test if one is a number."""
        fewer, more = self.fewer[chosen], self.more[chosen]
        left = self.n_samples - 1 - more
        known = (left > 0) & (more > 0)
        found = np.ones(len(left))
        unexplained = np.clip(1.0 - self.raw[chosen][known], 0.0, 1.0)
        fewer, more, left = fewer[known], more[known], left[known]
        found[known] = betainc(fewer * left / 2, fewer * more / 2, unexplained)
        return np.maximum(found, self.least[chosen])


_Compare = Callable[[Any, np.ndarray], _Shared]


@dataclass(frozen=True)
class _Coordinates:
    """Columns as orthonormal centred vectors below each other."""

    vectors: np.ndarray  # (coordinates of all columns, n_samples)
    widths: np.ndarray  # coordinates of each column, 0 for constants
    orders: np.ndarray  # logarithm of the number of different orders of each column's values


def _by_ranks(kept: np.ndarray, coded: np.ndarray) -> _Compare:
    """Compare columns by the spaces that their ranks, or indicators of their levels, span."""
    right = _coordinates(kept, coded)

    def compare(columns: np.ndarray, coded: np.ndarray) -> _Shared:
        left = _coordinates(columns, coded)
        squares = (left.vectors @ right.vectors.T) ** 2
        trace = _sums(_sums(squares, left.widths, 0), right.widths, 1)
        fewer = np.minimum.outer(left.widths, right.widths)
        more = np.where(fewer > 0, np.maximum.outer(left.widths, right.widths), 0)
        least = _least_pvalues(left.orders, right.orders)
        return _Shared(trace / np.maximum(fewer, 1), fewer, more, least, len(columns))

    return compare


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
    increasing, all_orders = _unit_ranks(np.arange(len(X), dtype=np.float64))
    read = []
    for values, is_code in zip(np.ascontiguousarray(X.T), coded, strict=True):
        order = np.argsort(values)
        ordered = values[order]
        if is_code or len(X) < 2 or not (ordered[1:] > ordered[:-1]).all():
            read.append(_of_known(_unit_levels if is_code else _unit_ranks, values))
        else:  # all differ: every such column has the same ranks in another order
            vector = np.empty_like(increasing)
            vector[0, order] = increasing[0]
            read.append((vector, all_orders))
    return _Coordinates(
        np.concatenate([vectors for vectors, _ in read]),
        np.array([len(vectors) for vectors, _ in read]),
        np.array([orders for _, orders in read]),
    )


def _of_known(
    make: Callable[[np.ndarray], tuple[np.ndarray, float]], values: np.ndarray
) -> tuple[np.ndarray, float]:
    """Coordinates of the rows with a value, and zero for missing cells: those say nothing."""
    if not np.isnan(values.sum()):
        return make(values)
    known = ~np.isnan(values)
    if not known.any():
        return np.empty((0, len(values))), 0.0
    vectors, orders = make(values[known])
    whole = np.zeros((len(vectors), len(values)))
    whole[:, known] = vectors
    return whole, orders


def _unit_ranks(values: np.ndarray) -> tuple[np.ndarray, float]:
    """Centred ranks of length 1, (1, n_samples) or (0, n_samples) if constant; log of orders."""
    counts = np.unique(values, return_counts=True)[1]
    if len(counts) < 2:
        return np.empty((0, len(values))), 0.0
    ranks = rankdata(values)
    ranks -= ranks.mean()
    return (ranks / np.linalg.norm(ranks))[np.newaxis], _log_orders(len(values), counts)


def _unit_levels(codes: np.ndarray) -> tuple[np.ndarray, float]:
    """Orthonormal basis of the centred indicators, (n_levels - 1, n_samples); log of orders.

    Helmert's contrasts: each level against all that come before it.
    """
    levels, places, counts = np.unique(codes, return_inverse=True, return_counts=True)
    before = np.cumsum(counts) - counts
    weights = np.zeros((len(levels) - 1, len(levels)))
    for row in range(len(levels) - 1):
        level = row + 1
        weights[row, :level] = -1.0 / before[level]
        weights[row, level] = 1.0 / counts[level]
        weights[row] /= np.sqrt(1.0 / before[level] + 1.0 / counts[level])
    return weights[:, places.ravel()], _log_orders(len(codes), counts)


def _log_orders(n_samples: int, counts: np.ndarray) -> float:
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
        return _Shared(np.minimum(correlation**2, 1.0), widths, widths, least, m)

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
