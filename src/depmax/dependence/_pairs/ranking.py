"""Scores of pairs of columns, the best of them with adjusted p-values, and their confirmation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from scipy import special

from depmax._resources import cached_property, slices
from depmax.data.columns import Categories
from depmax.dependence._nulls.law import TINY
from depmax.dependence._pairs.target import ColumnBases, MainEffects, PairTarget
from depmax.dependence.exchange import Plan

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
        self._n_pairs = n_pairs
        self._law = law
        self._scores = [np.empty(0)]
        self._pairs = [np.empty((0, 2), dtype=np.intp)]
        self._n_held = 0
        self._threshold = -np.inf
        self._counts = np.zeros(RESOLUTION * LARGEST + 1, dtype=np.int64)

    def add(self, scores: np.ndarray, pairs: np.ndarray, n_lesser: int = 0) -> None:
        """Add the scores of some pairs; so many more have lesser ones, which count as none."""
        self._count(scores)
        self._counts[0] += n_lesser
        kept = scores >= self._threshold
        self._hold(scores[kept], pairs[kept])

    def _count(self, scores: np.ndarray) -> None:
        statistics = self._law.n_samples * RESOLUTION * scores
        bins = np.minimum(statistics, len(self._counts) - 1).astype(np.int64)
        np.add.at(self._counts, bins, 1)

    def _hold(self, scores: np.ndarray, pairs: np.ndarray) -> None:
        self._scores.append(scores)
        self._pairs.append(pairs)
        self._n_held += len(scores)
        if self._n_held > 2 * self._n_pairs:
            self._drop()

    def _drop(self) -> None:
        """Sort what is held and keep the best."""
        scores, pairs = np.concatenate(self._scores), np.concatenate(self._pairs)
        order = np.lexsort((pairs[:, 1], pairs[:, 0], -scores))[: self._n_pairs]
        self._scores, self._pairs = [scores[order]], [pairs[order]]
        self._n_held = len(order)
        if self._n_held == self._n_pairs:
            self._threshold = float(scores[order[-1]])

    def kept(self) -> tuple[np.ndarray, np.ndarray]:
        """The largest scores in decreasing order, and the positions of the columns of each."""
        self._drop()
        return self._scores[0], self._pairs[0]

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
        from depmax.dependence._pairs._pair_loop import scores_of_pairs

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
        from depmax.dependence._pairs._pair_loop import promising

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


#: Pairs and permutations handled at once,
PAIRS, PERMUTATIONS = 64, 256
#: fewer where rows are so many that they would hold more numbers than this (128 MB).
HELD = 2**24


def permutation_pvalues(
    pairs: np.ndarray,
    effects: MainEffects,
    directions: np.ndarray,
    n_permutations: int,
    rng: np.random.Generator,
    plan: Plan | None = None,
) -> np.ndarray:
    """Share of permutations of the target that score a pair at least as high as the data do.

    The rows of ``directions``, from which main effects are already removed, are permuted together
    (Freedman and Lane, 1983); every permutation is used for all pairs. Where main effects were
    projected out, a permuted direction has a part in each of these dimensions and the observed
    one does not: permuted scores are raised by what that part takes.

    Parameters
    ----------
    pairs : ndarray of shape (n_pairs, 2)
    effects : MainEffects
    directions : ndarray of shape (n_directions, n_samples)
    n_permutations : int
    rng : Generator
        Draws the permuted rows.
    plan : Plan, optional
        How rows are exchanged; by default all with all.

    Returns
    -------
    ndarray of shape (n_pairs,)
        At least 1 / (n_permutations + 1).
    """
    m = effects.bases.n_samples
    raised = m / (m - effects.n_removed)
    at_once = int(np.clip(HELD // (2 * m * max(1, len(directions))), 1, PERMUTATIONS))
    reached = np.zeros(len(pairs), dtype=np.int64)
    for part in slices(len(pairs), max(1, HELD // m)):
        left = interactions(pairs[part], effects)
        draws = deepcopy(rng)  # the same permutations for every part
        for some in slices(n_permutations, at_once):
            count = some.stop - some.start
            if plan is None:
                orders = np.argsort(draws.random((count, m)), axis=1)
            else:
                orders = plan.orders(count, draws)
            reached[part] += _reached(left, directions, orders, raised)
    return (reached + 1) / (n_permutations + 1)


def _reached(
    left: np.ndarray, directions: np.ndarray, orders: np.ndarray, raised: float
) -> np.ndarray:
    """How many of some permutations score each pair at least as high as the data do."""
    permuted = directions[:, orders]
    count = np.empty(len(left), dtype=np.int64)
    for some in slices(len(left), PAIRS):
        observed = scores(left[some], directions[:, np.newaxis])
        # a permutation that only exchanges equal values must count in spite of rounding
        reached = raised * scores(left[some], permuted) >= observed * (1.0 - 1e-10)
        count[some] = reached.sum(axis=1)
    return count


def flipped_pvalues(
    pairs: np.ndarray,
    effects: MainEffects,
    directions: np.ndarray,
    units: np.ndarray,
    signs: np.ndarray,
) -> np.ndarray:
    """Share of random signs of whole units that score a pair at least as high as the data do.

    The wild bootstrap for rows that are not independent: what main effects leave of the target has
    mean zero, and its sign in a unit is as good as any where there is no interaction.

    Parameters
    ----------
    pairs : ndarray of shape (n_pairs, 2)
    effects : MainEffects
    directions : ndarray of shape (n_directions, n_samples)
    units : ndarray of int
        The independent unit of every row.
    signs : ndarray of shape (n_units, n_draws)

    Returns
    -------
    ndarray of shape (n_pairs,)
        At least 1 / (n_draws + 1).
    """
    rows_by_unit, counts = np.argsort(units, kind="stable"), np.bincount(units)
    starts = np.cumsum(counts) - counts
    reached = np.zeros(len(pairs), dtype=np.int64)
    for part in slices(len(pairs), max(1, min(PAIRS, HELD // len(rows_by_unit)))):
        left = interactions(pairs[part], effects)
        observed, flipped = np.zeros(len(left)), np.zeros((len(left), signs.shape[1]))
        for t in directions:
            products = left * t
            sums = np.add.reduceat(products[:, rows_by_unit], starts, axis=1)  # of pairs and units
            variance = np.maximum((sums**2).sum(axis=1), (products**2).sum(axis=1))
            variance = np.maximum(variance, (left**2).sum(axis=1) * np.mean(t**2))
            variance = np.maximum(variance, np.finfo(float).tiny)
            observed += sums.sum(axis=1) ** 2 / variance
            flipped += (sums @ signs) ** 2 / variance[:, np.newaxis]
        reached[part] = (flipped >= observed[:, np.newaxis] * (1.0 - 1e-10)).sum(axis=1)
    return (reached + 1) / (signs.shape[1] + 1)


def interactions(pairs: np.ndarray, effects: MainEffects) -> np.ndarray:
    """The products z of pairs of columns without what main effects explain.

    Of both columns, and of all where these are projected out of the target.
    """
    bases = effects.bases
    first, second = pairs.T
    z = bases.linear[first] * bases.linear[second]
    left = np.empty_like(z)
    for position, (i, j) in enumerate(pairs):
        nuisance = np.concatenate([np.ones((1, z.shape[1])), bases.of_columns((i, j))]).T
        explained = nuisance @ np.linalg.lstsq(nuisance, z[position], rcond=1e-10)[0]
        left[position] = z[position] - explained
    return effects.project(left) if effects.n_removed else left


def scores(left: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Scores of pairs (``interactions``) with several targets.

    Parameters
    ----------
    left : ndarray of shape (n_pairs, n_samples)
    directions : ndarray of shape (n_directions, n_targets, n_samples)

    Returns
    -------
    ndarray of shape (n_pairs, n_targets)
    """
    m = left.shape[1]
    squares = left**2
    plain = squares.mean(axis=1)[:, np.newaxis]
    total = np.zeros((len(left), directions.shape[1]))
    for t in directions:
        covariance = left @ t.T / m
        robust = squares @ (t**2).T / m
        total += covariance**2 / np.maximum(robust, plain * np.mean(t**2, axis=1))
    return total
