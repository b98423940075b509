"""The interaction of every pair of columns, with p-values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Literal

import numpy as np
from scipy import sparse, special
from sklearn.utils import check_random_state

from depmax import _resources
from depmax._extras import make_frame
from depmax._resources import blas_threads_for_parts, cached_property, map_threads
from depmax._text import ShownAsTable, counted, short_pvalue
from depmax.data import Table, read_table, read_target
from depmax.data.columns import Categories
from depmax.data.sample import require_samples
from depmax.data.table import library_of, numbered_columns, without_groups
from depmax.dependence._main_effects import (
    ColumnBases,
    MainEffects,
    PairTarget,
    chance_pvalues,
)
from depmax.dependence._nulls.law import TINY
from depmax.dependence.exchange import (
    FREE,
    Exchange,
    TooFewWays,
    exchange_of,
    is_exchangeable,
    warn_of_neighbours,
)
from depmax.dependence.independence_test import SHOWN
from depmax.kernels import KernelLike

#: Columns on each side of a tile.
TILE = 256
#: From so many pairs on, those with a p-value above this are counted, but not scored.
MANY, LESSER = 1_000_000, 0.01
#: Pairs are confirmed by permutations if their adjusted p-value is below the level, but at most
#: the first so many.
LEVEL, MAX_CONFIRMED = 0.05, 1000
#: What to do about many columns.
FEWER = "Pass fewer columns, such as the best of depmax.screen(X, y)."


@dataclass(frozen=True, repr=False)
class PairScreening(ShownAsTable):
    """The pairs of columns that interact most, best first; printed, the first of them."""

    names: tuple[str, ...]  # of all columns
    pairs: np.ndarray  # positions of both columns, shape (n_pairs, 2), the smaller first
    scores: np.ndarray  # squared partial correlation, summed over the target's directions
    pvalues: np.ndarray
    pvalues_adjusted: np.ndarray  # false discovery rate over all pairs, not only these
    pvalues_permutation: np.ndarray  # NaN where no permutation was needed
    n_tested: int  # number of all pairs
    n_directions: int  # directions of the target
    main_effects: tuple[int, ...]  # columns with significant effects of their own
    _library: str | None = field(default=None, repr=False)

    def to_frame(self, library: str | None = None) -> Any:
        """Data frame of the pairs, best first, in the library of X (or the one named)."""
        columns = {
            "first": [self.names[position] for position in self.pairs[:, 0]],
            "second": [self.names[position] for position in self.pairs[:, 1]],
            "rank": np.arange(1, len(self.pairs) + 1),
            "score": self.scores,
            "pvalue": self.pvalues,
            "pvalue_adjusted": self.pvalues_adjusted,
        }
        return make_frame(columns, library or self._library)

    def _table(self) -> tuple[Sequence[str], Sequence[Sequence[str]], str]:
        rows = [
            (
                str(place + 1),
                *(str(self.names[position]) for position in self.pairs[place]),
                f"{self.scores[place]:.3g}",
                short_pvalue(self.pvalues_adjusted[place]),
            )
            for place in range(min(SHOWN, len(self.pairs)))
        ]
        found = int((self.pvalues_adjusted <= 0.05).sum())
        more = f"; the best {SHOWN} are shown" if self.n_tested > SHOWN else ""
        act = "interacts" if found == 1 else "interact"
        caption = (
            f"{found:,} of {counted(self.n_tested, 'pair')} {act} (false discovery rate 5%){more}"
        )
        return ("rank", "first", "second", "score", "p (adjusted)"), rows, caption


def screen_pairs(
    X: Any,
    y: Any,
    *,
    n_pairs: int = 1000,
    target_kernel: KernelLike | Literal["auto"] = "auto",
    n_permutations: int = 999,
    groups: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> PairScreening:
    """Find the pairs of columns that matter together, beyond the effect of each alone.

    The score of a pair is the partial correlation of the target with the product of both columns,
    given both columns and their squares. All pairs are scored, a tile at a time, and the best are
    kept: 1,000 columns with 1,000 rows take about half a second, 20,000 columns with 100 rows about
    five, and memory grows with the data, not with the number of pairs. A warning says beforehand if
    it takes more than a minute.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
        A categorical column is represented by its levels, each against the rest.
    y : target of any type
    n_pairs : int, default=1000
        How many pairs to return.
    target_kernel : kernel, name or "auto", default="auto"
        "auto" depends on the type of y: see Notes. A kernel is represented by its nine leading
        directions.
    n_permutations : int, default=999
        Permutations that confirm the significant pairs; 0 for none.
    groups : array-like of shape (n_samples,), str, WholeGroups, WithinGroups or Shifts, optional
        For rows that are not independent, as in :func:`depmax.hsic_test`: see Notes.
    random_state : int, RandomState or None
        Seed of the permutations.
    n_jobs : int, optional
        Number of threads; by default as many as BLAS would use.

    Returns
    -------
    PairScreening
        ``pairs``, ``scores``, ``pvalues``, ``pvalues_adjusted`` (Benjamini-Hochberg over all
        pairs), ``to_frame()``.

    See Also
    --------
    screen : The effect of each column alone.

    Notes
    -----
    *Score.* With p the normal scores of the ranks of a column (products of heavy tails would make
    p-values worthless), standardised, z = p_i p_j, and z̃ the residual of z after regression
    on 1, p_i, p_i², p_j, p_j², the score is (Σ z̃t)² / max(Σ z̃²t², Σ z̃² Σ t²/m) / m for each
    direction t of the target, summed over the directions. The first variance allows the spread of t
    to depend on the columns; the second, the classical one, keeps a few rows that agree by chance
    from looking certain. With normal scores, two columns with a Gaussian copula leave no main
    effect of any shape in z̃. Interactions that contain no product, such as x₁x₂², are not
    detected.

    *Target.* The main effects (linear and quadratic) of all columns are first removed jointly: if
    they were removed column by column, correlated columns would leave some effect behind, which the
    product of two others could explain. If these functions are at most a quarter as many as the
    rows, they are projected out. If there are more, those of the columns with significant effects
    (at most 30) are projected out, and all others are removed by ridge regression with the penalty
    chosen by generalised cross-validation; correlated columns with many weak effects may then leave
    some. Classes are indicators minus their probabilities in an additive logistic model of the
    columns with significant effects; a number gives two directions, the normal scores of what a
    robust (Huber) additive fit leaves and their square; several numbers and labels are represented
    by their leading directions. At most nine directions are used. An interaction is thus a
    departure from additive log-odds or numbers; two main effects that are far from quadratic may
    appear as a weak one.

    *Categories.* With a column of more than two levels, a pair has a score for every level (or pair
    of levels). The largest counts, lowered so that its p-value is multiplied by their number.

    *P-values* are approximate, from the chi-squared distribution with as many degrees of freedom as
    there are directions. In simulations without interactions (independent, correlated, skewed
    columns; 200 and 1,000 rows) they were conservative, also at 1e-5: 0.02 to 0.05 where 0.05 is
    nominal, less for rare binary columns. A pair with an adjusted p-value below 0.05 (of at most
    1,000) is then scored for permutations of the target: if any of them reaches the score of the
    data, the p-value of the pair is raised to that of the permutations. Permutations are exact for
    exchangeable rows, up to the estimated main effects; they can refute a pair, but cannot show a
    p-value below 1 / (n_permutations + 1). Of more than a million pairs, those whose p-value must
    exceed 0.01 are counted, but not scored: adjusted p-values may then be larger, never smaller.

    *Groups.* With labels of groups, the variance of a score is at least that of its sums over whole
    groups, and significant pairs are confirmed by random signs of whole groups (the wild bootstrap)
    instead of permutations; with :class:`depmax.Shifts`, of stretches of time. With
    :class:`depmax.WithinGroups`, the mean of each group is subtracted from the target, and rows
    count individually.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import screen_pairs
    >>> X = np.random.default_rng(0).normal(size=(300, 20))
    >>> y = X[:, 3] * X[:, 8] > 0
    >>> found = screen_pairs(X, y, n_pairs=5, random_state=0)
    >>> found.pairs[0].tolist(), bool(found.pvalues_adjusted[0] < 1e-6)
    ([3, 8], True)
    """
    for name, value, fewest in (("n_pairs", n_pairs, 1), ("n_permutations", n_permutations, 0)):
        if value < fewest:
            raise ValueError(f"{name} must be at least {fewest}, got {value}.")
    X, groups = without_groups(X, groups)
    table = _read(X)
    if groups is None and isinstance(target_kernel, str) and target_kernel == "auto":
        target = read_target(y)
        warn_of_neighbours(table.values, target.values, table.categories)
    found = screen_table(
        table, y, n_pairs, target_kernel, n_permutations, groups, random_state, n_jobs
    )
    return replace(found, _library=library_of(X))


def screen_table(
    table: Table,
    y: Any,
    n_pairs: int = 1000,
    target_kernel: KernelLike | Literal["auto"] = "auto",
    n_permutations: int = 999,
    groups: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> PairScreening:
    """``screen_pairs`` of a table that is already read."""
    m, d = table.values.shape
    contrasts = Contrasts.of(table.values, table.categories)
    bases = ColumnBases.of(contrasts.values)
    effects = MainEffects.of(bases)
    target = PairTarget.of(y, target_kernel, effects)
    exchange = exchange_of(groups)
    units = _independent_units(exchange, m)
    if exchange is not FREE:
        is_exchangeable(exchange, m, np.asarray(y), table.values)
    if exchange.is_free_within_groups:
        target = target.within(exchange.units(m))
    pair_scores = PairScores(bases, contrasts, target, units)
    law = pair_scores.law
    best = BestPairs(min(n_pairs, d * (d - 1) // 2), law)
    is_plain = not len(units) and contrasts.n_columns == bases.n_features
    limit = law.least(LESSER) if is_plain and d * (d - 1) // 2 >= MANY else None
    seconds = _seconds(bases, law.n_directions, limit is not None)
    _resources.warn_if_long(f"Scoring all pairs of {d:,} columns", seconds, FEWER)
    _score_all(pair_scores, best, n_jobs, limit)
    if limit is not None and len(best.kept()[0]) < n_pairs:  # asked for pairs of lesser scores
        best = BestPairs(n_pairs, law)
        _score_all(pair_scores, best, n_jobs)

    scores, pairs = best.kept()
    pvalues = law.pvalues(scores)
    permuted = np.full(len(scores), np.nan)
    chosen = np.flatnonzero(best.adjusted(pvalues) < LEVEL)[:MAX_CONFIRMED]
    if n_permutations and len(chosen):
        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
        rng = np.random.default_rng(seed)
        best_two = pair_scores.best_contrasts(pairs[chosen])
        how = units if len(units) else exchange.plan(m)
        alone = chance_pvalues(best_two, effects, target.directions, n_permutations, rng, how)
        permuted[chosen] = np.minimum(alone * contrasts.n_choices(pairs[chosen]), 1.0)
        refuted = chosen[alone > 1.0 / (n_permutations + 1)]
        pvalues[refuted] = np.maximum(pvalues[refuted], permuted[refuted])
    return PairScreening(
        names=table.names or numbered_columns(d),
        pairs=pairs,
        scores=scores,
        pvalues=pvalues,
        pvalues_adjusted=best.adjusted(pvalues),
        pvalues_permutation=permuted,
        n_tested=best.n_seen,
        n_directions=law.n_directions,
        main_effects=contrasts.owners(target.main_effects),
    )


#: With fewer independent units no random signs can show a p-value of 0.05.
FEWEST_UNITS = 6


def _independent_units(exchange: Exchange, n_samples: int) -> np.ndarray:
    """The unit that every row belongs to, independent of the others; empty where every row is."""
    codes = exchange.units(n_samples).astype(np.int64)
    counts = np.bincount(codes)
    if exchange.is_free_within_groups or counts.max() == 1:
        return np.empty(0, dtype=np.int64)
    if len(counts) < FEWEST_UNITS:
        raise TooFewWays(
            f"screen_pairs with groups needs at least {FEWEST_UNITS} groups to show anything, got "
            f"{len(counts)}."
        )
    return codes


def _read(X: Any) -> Table:
    """Rows of dense numbers with at least two columns."""
    if sparse.issparse(X):
        raise TypeError(
            "screen_pairs standardises every column and multiplies columns, which leaves no "
            "zeros: pass X.toarray(), or select columns first, e.g. with depmax.screen."
        )
    table = read_table(X)
    require_samples(table.n_samples, unbiased=True)
    if table.values.shape[1] < 2:
        raise ValueError("screen_pairs needs at least two columns, got 1.")
    return table


def _seconds(bases: ColumnBases, n_directions: int, few: bool) -> float:
    """How long all pairs take on one core, if ``few`` of them are scored or all."""
    m, q = bases.n_samples, n_directions
    each = 40 + 0.2 * (1 + q) * m
    if few:
        each = 8 + 4 * q + (0.3 + 0.05 * q) * m
    return bases.n_features**2 / 2 * each * 1e-9


def _score_all(
    pair_scores: PairScores, best: BestPairs, n_jobs: int | None, limit: float | None = None
) -> None:
    """Score all tiles on and above the diagonal, in threads that each use one BLAS thread.

    With a ``limit``, pairs that cannot reach it are counted only.
    """
    lock = Lock()
    blocks = list(pair_scores.contrasts.blocks(TILE))

    def score(tile: tuple[slice, slice]) -> None:
        rows, columns = tile
        if limit is None:
            pairs = pairs_between(rows, columns)
            scores, n_lesser = pair_scores.of(pairs), 0
        else:
            pairs, n_all = pair_scores.promising(rows, columns, limit)
            scores = pair_scores.of(pairs)
            reached = scores >= limit
            pairs, scores, n_lesser = pairs[reached], scores[reached], n_all - int(reached.sum())
        with lock:
            best.add(scores, pairs, n_lesser)

    tiles = [(rows, columns) for place, rows in enumerate(blocks) for columns in blocks[place:]]
    with blas_threads_for_parts() as threads:
        map_threads(score, tiles, threads if n_jobs is None else n_jobs)


# --- scores of pairs, and the best of them --------------------------------------------------------

#: Bins per unit of the statistic in which pairs that are not kept are counted.
RESOLUTION = 64
#: Largest statistic with a bin of its own; its p-value is below 1e-300 for a few directions.
LARGEST = 1500


@dataclass(frozen=True)
class Law:
    """Law of the score of a pair without interaction: n_samples · score is chi-squared."""

    n_samples: int
    n_directions: int

    def pvalues(self, scores: np.ndarray) -> np.ndarray:
        """Probability of at least these scores, never 0."""
        if self.n_directions == 0:
            return np.ones_like(scores)
        return np.maximum(special.chdtrc(self.n_directions, self.n_samples * scores), TINY)

    def least(self, pvalue: float) -> float:
        """The score with this p-value."""
        return float(special.chdtri(max(1, self.n_directions), pvalue)) / self.n_samples

    def after_choice(self, scores: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Scores whose p-values are ``counts`` times those of the largest of ``counts`` scores."""
        pvalues = self.pvalues(scores)
        known = (counts > 1) & (pvalues > TINY)  # the least one has nothing left to compare
        lowered = scores.copy()
        raised = np.minimum(counts[known] * pvalues[known], 1.0)
        if self.n_directions:
            lowered[known] = special.chdtri(self.n_directions, raised) / self.n_samples
        return lowered


class BestPairs:
    """Keeps the ``n_pairs`` largest scores of all that are added, and counts the others.

    Equal scores are ordered by position, so that the order of the tiles does not matter.
    """

    def __init__(self, n_pairs: int, law: Law) -> None:
        self._n_pairs, self._law, self._threshold = n_pairs, law, -np.inf
        self._scores, self._pairs = np.empty(0), np.empty((0, 2), dtype=np.intp)
        self._counts = np.zeros(RESOLUTION * LARGEST + 1, dtype=np.int64)

    def add(self, scores: np.ndarray, pairs: np.ndarray, n_lesser: int = 0) -> None:
        """Add the scores of some pairs; so many more have lesser ones, which count as none."""
        statistics = self._law.n_samples * RESOLUTION * scores
        bins = np.minimum(statistics, len(self._counts) - 1).astype(np.int64)
        np.add.at(self._counts, bins, 1)
        self._counts[0] += n_lesser
        kept = scores >= self._threshold
        scores = np.concatenate([self._scores, scores[kept]])
        pairs = np.concatenate([self._pairs, pairs[kept]])
        order = np.lexsort((pairs[:, 1], pairs[:, 0], -scores))[: self._n_pairs]
        self._scores, self._pairs = scores[order], pairs[order]
        if len(order) == self._n_pairs:
            self._threshold = float(self._scores[-1])

    def kept(self) -> tuple[np.ndarray, np.ndarray]:
        """The largest scores in decreasing order, and the positions of the columns of each."""
        return self._scores, self._pairs

    @property
    def n_seen(self) -> int:
        """Number of pairs added."""
        return int(self._counts.sum())

    def adjusted(self, pvalues: np.ndarray) -> np.ndarray:
        """Benjamini-Hochberg p-values of the kept pairs over all pairs seen.

        Parameters
        ----------
        pvalues : ndarray of shape (n_kept,)
            Those of the law in the order of ``kept()``, some of them possibly raised.

        Notes
        -----
        Pairs that are not kept enter by their counts, with p-values rounded up by less than one
        per cent, and pairs whose p-value was raised are not counted ahead of them: the result is
        never below that of all p-values together.
        """
        scores, _ = self.kept()
        total, n_kept = self.n_seen, len(pvalues)
        order = np.argsort(pvalues, kind="stable")
        steps = pvalues[order] * total / np.arange(1, n_kept + 1)
        adjusted = np.empty(n_kept)
        adjusted[order] = np.minimum.accumulate(steps[::-1])[::-1]
        # how many pairs reach the lower end of each bin
        reached = np.cumsum(self._counts[::-1])[::-1]
        n_raised = int(np.sum(pvalues > self._law.pvalues(scores)))
        beyond = np.flatnonzero((reached > n_kept) & (reached > n_raised))
        if len(beyond):
            ends = self._law.pvalues(beyond / (RESOLUTION * self._law.n_samples))  # decreasing
            rest = np.minimum.accumulate(ends * total / (reached[beyond] - n_raised))
            last = np.searchsorted(-ends, -pvalues, side="right") - 1
            adjusted = np.minimum(adjusted, np.where(last >= 0, rest[last], 1.0))
        return np.minimum(adjusted, 1.0)


@dataclass(frozen=True)
class Contrasts:
    """A matrix in which a categorical column is replaced by an indicator of each of its levels.

    A column with two levels is a single indicator. The others are a contrast each; a pair of
    columns then has several contrasts, of which the largest score counts.
    """

    values: np.ndarray  # shape (n_samples, n_contrasts)
    starts: np.ndarray  # first contrast of every column and, at the end, n_contrasts

    @classmethod
    def of(cls, values: np.ndarray, categories: Categories) -> Contrasts:
        """Contrasts of a matrix whose categorical columns hold positions of levels."""
        counts = np.ones(values.shape[1], dtype=np.intp)
        for position, levels in categories.items():
            counts[position] = len(levels) if len(levels) > 2 else 1
        starts = np.concatenate([[0], np.cumsum(counts)])
        if counts.max() == 1:
            return cls(values, starts)
        expanded = np.repeat(values, counts, axis=1)
        for column in np.flatnonzero(counts > 1):
            part = slice(starts[column], starts[column + 1])
            expanded[:, part] = expanded[:, part] == np.arange(counts[column])
        return cls(expanded, starts)

    @property
    def n_columns(self) -> int:
        """Number of columns before the replacement."""
        return len(self.starts) - 1

    def blocks(self, size: int) -> Iterator[slice]:
        """Consecutive columns with at most ``size`` contrasts together, or one with more."""
        start = 0
        while start < self.n_columns:
            fits = np.searchsorted(self.starts, self.starts[start] + size, side="right") - 1
            stop = max(start + 1, int(fits))
            yield slice(start, stop)
            start = stop

    def owners(self, contrasts: Sequence[int]) -> tuple[int, ...]:
        """Columns of some contrasts, each once, in order."""
        columns = np.searchsorted(self.starts, contrasts, side="right") - 1
        return tuple(dict.fromkeys(columns.tolist()))

    def n_choices(self, pairs: np.ndarray) -> np.ndarray:
        """Number of pairs of contrasts of each pair of columns."""
        return np.diff(self.starts)[pairs].prod(axis=1)

    def of_pairs(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All pairs of contrasts of pairs of columns, and the first one of each of these."""
        counts = self.n_choices(pairs)
        first = np.cumsum(counts) - counts
        owner = np.repeat(np.arange(len(pairs)), counts)
        number = np.arange(len(owner)) - first[owner]
        places = np.divmod(number, np.diff(self.starts)[pairs[owner, 1]])
        return self.starts[pairs[owner]] + np.column_stack(places), first


def pairs_between(rows: slice, columns: slice) -> np.ndarray:
    """Pairs of the columns of two blocks, which may be the same one, the smaller first."""
    first, second = np.meshgrid(*(np.arange(each.start, each.stop) for each in (rows, columns)))
    pairs = np.column_stack([first.T.ravel(), second.T.ravel()])
    return pairs[pairs[:, 0] < pairs[:, 1]]


#: Part of a limit that products in single precision must reach.
CAREFUL = 0.98


class PairScores:
    """Scores of pairs of columns, of which some have several contrasts.

    Parameters
    ----------
    bases : ColumnBases
        Of the contrasts.
    contrasts : Contrasts
    target : PairTarget
    units : ndarray of int
        The independent unit of every row; empty if every row is one.
    """

    def __init__(
        self, bases: ColumnBases, contrasts: Contrasts, target: PairTarget, units: np.ndarray
    ) -> None:
        self.contrasts, self.law = contrasts, Law(bases.n_samples, len(target.directions))
        self._bases, self._directions, self._units = bases, target.directions, units

    def of_contrasts(self, pairs: np.ndarray) -> np.ndarray:
        """Scores of pairs of contrasts."""
        from depmax.dependence._pair_loop import scores_of_pairs

        bases, found = self._bases, np.empty(len(pairs))
        of_columns = bases.linear, bases.square, bases.skew, bases.curve, bases.constant
        pairs = np.ascontiguousarray(pairs, dtype=np.int64)
        scores_of_pairs(*of_columns, self._directions, self._units, pairs, found)
        return found

    def of(self, pairs: np.ndarray) -> np.ndarray:
        """Scores of pairs of columns: the largest contrast's, lowered for having been chosen.

        The p-value of the result is that of the contrast times the number of contrasts
        (Bonferroni), so that pairs of columns with few and with many levels are comparable.
        """
        if not len(pairs):
            return np.empty(0)
        contrasts, first = self.contrasts.of_pairs(pairs)
        scores = self.of_contrasts(contrasts)
        if len(contrasts) == len(pairs):
            return scores
        best = np.maximum.reduceat(scores, first)
        return self.law.after_choice(best, self.contrasts.n_choices(pairs))

    def best_contrasts(self, pairs: np.ndarray) -> np.ndarray:
        """For each pair of columns the two contrasts that interact most."""
        contrasts, first = self.contrasts.of_pairs(pairs)
        parts = np.split(self.of_contrasts(contrasts), first[1:])
        return contrasts[first + [int(np.argmax(part)) for part in parts]]

    @cached_property
    def _single(self) -> tuple[np.ndarray, ...]:
        """p, q, r; a and b; averages of t p and t q of every column, in single precision."""
        p, q, directions = self._bases.linear, self._bases.square, self._directions
        stacked = np.stack([p, q, p * q]).astype(np.float32)
        powers = np.stack([self._bases.skew, self._bases.curve]).astype(np.float32)
        margins = np.array([of @ t / p.shape[1] for t in directions for of in (p, q)])
        return stacked, powers, margins.astype(np.float32)

    def promising(self, rows: slice, columns: slice, limit: float) -> tuple[np.ndarray, int]:
        """Pairs of columns (i < j) whose scores may reach a limit, of so many, one contrast each.

        A score is at most the squared covariance over the variance of independent rows, which
        products in single precision tell.
        """
        from depmax.dependence._pair_loop import promising

        stacked, powers, margins = self._single
        m, n = stacked.shape[2], rows.stop - rows.start
        left, right = stacked[:, rows].reshape(-1, m), stacked[:, columns] / np.float32(m)
        products = np.empty((6 + len(self._directions), n, right.shape[1]), dtype=np.float32)
        for part, upto in ((0, 3), (1, 2), (2, 1)):
            start = (0, 3, 5)[part]
            into = products[start : start + upto].reshape(upto * n, -1)
            np.matmul(left[: upto * n], right[part].T, out=into)
        for place, t in enumerate(self._directions.astype(np.float32), start=6):
            np.matmul(left[:n], (right[0] * t).T, out=products[place])
        found = np.empty((products[0].size, 2), dtype=np.int32)
        of_columns = [
            np.ascontiguousarray(of[:, part])
            for of in (powers, margins)
            for part in (rows, columns)
        ]
        is_diagonal = rows.start == columns.start
        count = promising(products, *of_columns, np.float32(CAREFUL * limit), is_diagonal, found)
        n_all = n * (n - 1) // 2 if is_diagonal else n * (columns.stop - columns.start)
        return found[:count] + np.array([rows.start, columns.start]), n_all
