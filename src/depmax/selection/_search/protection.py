"""What a backward search keeps longest: columns and pairs that a wide kernel does not see.

With many columns a Gaussian kernel is almost linear. It sees neither what two columns do together
nor what a column does by its distance to the middle. So columns and pairs that depend on the target
significantly are looked for beforehand, each on its own terms (:func:`depmax.screen`,
:func:`depmax.screen_pairs`), and everything else leaves before them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import false_discovery_control
from sklearn.utils import _safe_indexing

from depmax._resources import cached_property
from depmax.data import read_target
from depmax.data.columns import Categories, Missing
from depmax.data.sample import Sample, read_target_sample
from depmax.data.table import Table, has_missing, some_rows
from depmax.data.weights import repeated_rows
from depmax.dependence._nulls.screening import Asked, screening_of
from depmax.dependence._nulls.sorted_columns import TargetCoordinates
from depmax.dependence._terms import coordinates_to
from depmax.dependence.exchange import FREE, Exchange, TooFewWays
from depmax.dependence.screen_pairs import screen_table
from depmax.kernels import Gaussian, Laplace
from depmax.kernels.neutral import drawn
from depmax.selection._search.data import Units
from depmax.selection._search.how_many import RIDGES
from depmax.selection._search.search import Search

#: Adjusted p-value below which a column depends on the target, or a pair of columns interacts.
LEVEL = 0.05
#: and below which a pair is likely to.
LIKELY = 0.25
#: Rows, drawn with a fixed seed, that pairs are looked for in: an interaction that explains a few
#: thousandths of the target is found in so many, and memory stays bounded.
ROWS = 10_000
#: Up to so many units a regression sees what they do together, and what it leaves of the target is
#: looked at again, in so many rows.
FAR_SIGHTED, LEFT_ROWS = 10, 2_000
#: Bandwidths of this regression, in units of the median distance.
WIDTHS = (1.0, 0.5)
#: Bandwidths of the kernels that measure how much one or two columns do, in the same units.
AMOUNT_WIDTHS = (1.0, 0.25)
#: Part of the trace of the target kernel that the regression may leave out, and a screening.
TARGET_TOL, SCREENING_TOL = 1e-3, 1e-6


@dataclass(frozen=True)
class Observed:
    """What may be looked at besides the criterion of a search: columns and target of its rows."""

    X: Any  # input columns, categorical ones as codes
    y: Any  # one entry per row
    target_kernel: Any  # of y
    target: Sample
    units: Units
    rows: np.ndarray  # which rows of the search these are
    n_jobs: int | None
    exchange: Exchange = FREE  # of its rows
    missing: Missing = "refuse"  # what missing cells say

    def take(self, rows: np.ndarray) -> Observed:
        """Some of the rows."""
        return replace(
            self,
            X=self.X[rows],
            y=None if self.y is None else _safe_indexing(self.y, rows),
            target=self.target.take(rows),
            exchange=self.exchange.take(rows),
            rows=self.rows[rows],
        )

    def repeated(self) -> Observed:
        """Each row as often as its weight says if all weights are whole numbers, else once.

        BAHSIC uses these to decide which columns and pairs to protect, and for nothing else.
        """
        assert self.target.weight is not None
        part = self.take(repeated_rows(self.target.weight))
        return replace(part, target=read_target_sample(part.y, self.target_kernel))

    @cached_property
    def alone(self) -> np.ndarray:
        """What is found out about every column alone by HSIC: ``screening.FOUND``.

        Of rows with weights the score alone.
        """
        table = Table(self.X, None, self.units.categories)
        screening = screening_of(
            table, self.target, SCREENING_TOL, exchange=self.exchange, missing=self.missing
        )
        return screening.found(Asked(Laplace()), self.n_jobs)

    @cached_property
    def pvalues_adjusted(self) -> np.ndarray:
        """Screening of every column alone, made once; a false discovery rate over all columns."""
        try:
            return false_discovery_control(self.alone[:, 1])
        except TooFewWays:  # a part of the rows that shows nothing by itself
            return np.ones(self.X.shape[1])

    def units_alone(self) -> np.ndarray:
        """Units with a column that depends on the target significantly."""
        return np.unique(self.units.unit_of_inputs()[self.pvalues_adjusted < LEVEL])

    def pairs(self, *, by_distances: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """The best pairs of units, as far as columns interact, and their adjusted p-values.

        Pairs are looked for twice: by the columns, and by their distances to the middle. Around a
        ring a column matters by its distance to the middle, together with that of the other.
        """
        nothing = np.empty((0, 2), dtype=np.intp), np.empty(0)
        X, y, exchange, categories = self.X, self.y, self.exchange, self.units.categories
        if X.shape[1] < 2:
            return nothing
        if has_missing(X):  # values that have nothing to do with the target cannot interact
            X = drawn(X)
        if X.shape[0] > ROWS:
            rows = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:ROWS])
            X, y, exchange = X[rows], _safe_indexing(y, rows), exchange.take(rows)
        kernel = self.target_kernel
        if isinstance(kernel, str) and kernel == "auto" and read_target(y).is_constant:
            return nothing  # a rare class may not be among these rows
        looks = [(Table(X, categories=categories), np.arange(X.shape[1]))]
        if by_distances:
            looks.append(_distances(X, categories))
        pairs, pvalues = [], []
        for table, columns in looks:
            if len(columns) < 2:
                continue
            options: Any = {"groups": exchange, "random_state": 0, "n_jobs": self.n_jobs}
            try:
                found = screen_table(table, y, target_kernel=kernel, **options)
            except TooFewWays:  # a part of the rows that shows nothing by itself
                return nothing
            pairs.append(columns[found.pairs])
            pvalues.append(found.pvalues_adjusted)
        order = np.argsort(np.concatenate(pvalues), kind="stable")
        best = self.units.unit_of_inputs()[np.concatenate(pairs)[order]]
        return best, np.concatenate(pvalues)[order]


@dataclass(frozen=True)
class Protection:
    """Units that stay while others may leave.

    Significance says what is more than noise, and noise leaves first. Then the amount of dependence
    decides: a pair stays as long as there is a unit that alone does less than the pair adds.
    """

    alone: np.ndarray  # units with a significant dependence of their own
    pairs: Sequence[tuple[int, int]]  # units that interact
    likely: np.ndarray  # units of the best pair that is not significant: the last of the noise
    amount: Callable[..., float]  # how much one unit or two do

    @classmethod
    def of(cls, search: Search, candidates: np.ndarray, observed: Observed) -> Protection:
        """Look for columns, for pairs, and for pairs in what a few of these leave of the target."""

        def among(pairs: np.ndarray, pvalues: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            kept = np.isin(pairs, candidates).all(axis=1)
            return pairs[kept], pvalues[kept]

        alone = observed.units_alone()
        pairs, pvalues = among(*observed.pairs())
        seen = np.union1d(alone, pairs[pvalues < LEVEL])
        if 0 < len(seen) <= FAR_SIGHTED < len(candidates):
            rest = _rest(search, search.columns(seen), observed)
            if rest is not None:
                more, of_more = among(*rest.pairs())
                pairs, pvalues = np.concatenate([pairs, more]), np.concatenate([pvalues, of_more])
                seen = np.union1d(seen, more[of_more < LEVEL])
        unseen = ~np.isin(pairs, seen).any(axis=1) & (pvalues < LIKELY)
        likely = pairs[np.argmin(np.where(unseen, pvalues, np.inf))] if unseen.any() else seen[:0]
        order = np.argsort(pvalues, kind="stable")[: np.count_nonzero(pvalues < LEVEL)]
        return cls(alone, _best_of_each(pairs[order]), likely, _amounts(search))

    def may_leave(self, active: Sequence[int]) -> list[int]:
        """Active units that may leave in this round."""
        present = {*active}
        whole = [pair for pair in self.pairs if {*pair} <= present]
        paired = {unit for pair in whole for unit in pair}
        noise = [unit for unit in active if unit not in paired and unit not in self.alone]
        if noise:
            return [unit for unit in noise if unit not in self.likely] or noise
        added = {pair: self._added(pair) for pair in whole}
        whole.sort(key=lambda pair: -added[pair])
        while whole:
            paired = {unit for pair in whole for unit in pair}
            least = added[whole.pop()]
            lesser = [u for u in active if u not in paired and self.amount(u) <= least]
            if lesser:
                return lesser
        return list(active)

    def _added(self, pair: tuple[int, int]) -> float:
        """What a pair does beyond the better of its units."""
        return max(0.0, self.amount(*pair) - max(self.amount(pair[0]), self.amount(pair[1])))


def _best_of_each(pairs: np.ndarray) -> list[tuple[int, int]]:
    """Pairs, given best first, that are the best one of a unit."""
    kept, seen = [], set[int]()
    for first, second in pairs.tolist():
        if not {first, second} <= seen:
            kept.append((first, second))
            seen |= {first, second}
    return kept


def _amounts(search: Search) -> Callable[..., float]:
    """Centred alignment of one or two units with the target: normalised unbiased HSIC.

    By a wide or a narrow kernel, whichever shows more, so that any shape is seen and one column can
    be compared with two. Measured when it is asked for, once.
    """

    @cache
    def amount(*units: int) -> float:
        columns = search.columns(sorted({*units}))
        width = search.resolve(columns, Gaussian()).bandwidth
        kernels = [Gaussian(share * width) for share in AMOUNT_WIDTHS]
        return max(search.alignment(columns, kernel) for kernel in kernels)

    return amount


def _distances(X: np.ndarray, categories: Categories) -> tuple[Table, np.ndarray]:
    """Distances of numbers to the median of their column, where they say something else, and which.

    They do if there are values on both sides of the median.
    """
    middle = np.median(X, axis=0)
    both = (X.min(axis=0) < middle) & (middle < X.max(axis=0))
    both[list(categories)] = False
    columns = np.flatnonzero(both)
    return Table(np.abs(X[:, columns] - middle[columns])), columns


def _rest(search: Search, columns: np.ndarray, observed: Observed) -> Observed | None:
    """What some columns leave of the target, in some rows; None if that is nothing."""
    part = observed.take(some_rows(observed.X.shape[0], LEFT_ROWS))
    left = what_is_left(search, columns, part.rows, part.target)
    return replace(part, y=left, target_kernel="linear") if len(left.T) else None


def what_is_left(
    search: Search, columns: np.ndarray, rows: np.ndarray, target: Sample
) -> np.ndarray:
    """Coordinates of the target less their leave-one-out predictions by kernel ridge regression.

    Shape (n_rows, n_coordinates). Bandwidth and penalty are those of the least errors.
    """
    exact, _ = coordinates_to(target, TARGET_TOL)
    psi = TargetCoordinates.of(exact, 0.01 * TARGET_TOL).psi
    width = search.resolve(columns, Gaussian()).bandwidth
    best, left = np.inf, psi
    for share in WIDTHS:
        side = search.side(columns, search.X[rows], kernel=Gaussian(share * width))
        values, vectors = np.linalg.eigh(side.tile(slice(None), slice(None)))
        values = np.maximum(values, 0.0)
        shares = vectors.T @ psi
        for penalty in RIDGES * max(float(values.mean()), np.finfo(float).tiny):
            kept = penalty / (values + penalty)  # of I - S
            own = vectors**2 @ kept
            errors = (vectors @ (kept[:, np.newaxis] * shares)) / own[:, np.newaxis]
            total = float(np.sum(errors**2))
            if total < best:
                best, left = total, errors
    return left
