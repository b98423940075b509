"""The best of many pairs, kept while tiles of scores stream by, and their adjusted p-values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

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
        """Probability of at least these scores."""
        if self.n_directions == 0:
            return np.ones_like(scores)
        return special.chdtrc(self.n_directions, self.n_samples * scores)

    def after_choice(self, scores: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Scores whose p-values are ``counts`` times those of the largest of so many scores."""
        pvalues = self.pvalues(scores)
        known = (counts > 1) & (pvalues > 0.0)  # a p-value of 0 has nothing left to compare
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

    def add(self, scores: np.ndarray, rows: slice, columns: slice) -> None:
        """Add the scores of a tile; on the diagonal only those above it are pairs."""
        wanted = np.ones(scores.shape, dtype=bool)
        if rows.start == columns.start:
            wanted = np.triu(wanted, 1)
        statistics = self._law.n_samples * RESOLUTION * scores[wanted]
        bins = np.minimum(statistics, len(self._counts) - 1).astype(np.int64)
        self._counts += np.bincount(bins, minlength=len(self._counts))
        wanted &= scores >= self._threshold
        first, second = np.nonzero(wanted)
        self._scores.append(scores[first, second])
        self._pairs.append(np.column_stack([first + rows.start, second + columns.start]))
        self._n_held += len(first)
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
