"""The interaction of every pair of columns, with p-values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from depmax import _resources
from depmax._extras import library_of, make_frame
from depmax._resources import blas_threads_for_parts, map_threads
from depmax.data import Table, read_table, read_target
from depmax.data.sample import require_samples
from depmax.data.table import numbered_columns
from depmax.dependence._pairs.ranking import (
    BestPairs,
    Contrasts,
    PairScores,
    flipped_pvalues,
    pairs_between,
    permutation_pvalues,
)
from depmax.dependence._pairs.target import ColumnBases, MainEffects, PairTarget
from depmax.dependence.exchange import (
    Exchange,
    TooFewWays,
    as_exchange,
    is_exchangeable,
    warn_of_neighbours,
)
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


@dataclass(frozen=True)
class PairScreening:
    """The pairs of columns that interact most, best first."""

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
    groups : array-like of shape (n_samples,), WholeGroups, WithinGroups or Shifts, optional
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
    exchange = None if groups is None else as_exchange(groups)
    units = np.empty(0, dtype=np.int64)
    if exchange is not None:
        units = _independent_units(exchange, m)
        is_exchangeable(exchange, m, np.asarray(y), table.values)
    if exchange is not None and exchange.is_free_within_groups:
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
        if len(units):
            signs = rng.choice([-1.0, 1.0], size=(units.max() + 1, n_permutations))
            alone = flipped_pvalues(best_two, effects, target.directions, units, signs)
        else:
            plan = None if exchange is None else exchange.plan(m)
            alone = permutation_pvalues(
                best_two, effects, target.directions, n_permutations, rng, plan
            )
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
