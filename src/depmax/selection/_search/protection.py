"""What a backward search keeps longest: columns and pairs that a wide kernel does not see.

With many columns a Gaussian kernel is almost linear. It sees neither what two columns do together
nor what a column does by its distance to the middle. So columns and pairs that depend on the target
significantly are looked for beforehand, each on its own terms (:func:`depmax.screen`,
:func:`depmax.screen_pairs`), and everything else leaves before them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import _safe_indexing

from depmax.data import read_target
from depmax.data.columns import Categories
from depmax.data.sample import Sample
from depmax.data.stream import some_rows
from depmax.data.table import Table, has_missing
from depmax.dependence._nulls.screening import ScreeningTarget
from depmax.dependence.exchange import Exchange, TooFewWays
from depmax.dependence.screen_pairs import screen_table
from depmax.kernels import Gaussian
from depmax.kernels.neutral import drawn
from depmax.selection._search.search import Search
from depmax.selection._search.significance import RIDGES

if TYPE_CHECKING:
    from depmax.selection._search.hsic_selector import Observed

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
#: Part of the trace of the target kernel that the regression may leave out.
TARGET_TOL = 1e-3


@dataclass(frozen=True)
class Protection:
    """Units that stay while others may leave.

    Significance says what is more than noise, and noise leaves first. Then the amount of dependence
    decides: a pair stays as long as there is a unit that alone does less than the pair adds.
    """

    alone: np.ndarray  # whether a unit has a significant dependence of its own
    pairs: Sequence[tuple[int, int]]  # units that interact
    likely: np.ndarray  # units of the best pair that is not significant: the last of the noise
    amount: Callable[..., float]  # how much one unit or two do

    @classmethod
    def of(cls, search: Search, candidates: np.ndarray, observed: Observed) -> Protection:
        """Look for columns, for pairs, and for pairs in what a few of these leave of the target."""
        owners = search.units.unit_of_inputs()

        def among(found: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
            pairs = owners[found[0]]
            kept = np.isin(pairs, candidates).all(axis=1)
            return pairs[kept], found[1][kept]

        alone = np.zeros(len(search.units.columns), dtype=bool)
        alone[owners[observed.pvalues_adjusted < LEVEL]] = True
        pairs, pvalues = among(
            ranked_pairs(
                observed.X,
                observed.y,
                observed.categories,
                observed.target_kernel,
                observed.n_jobs,
                observed.exchange,
            )
        )
        seen = np.union1d(np.flatnonzero(alone), pairs[pvalues < LEVEL])
        if 0 < len(seen) <= FAR_SIGHTED < len(candidates):
            more, of_more = among(_pairs_in_the_rest(search, search.columns(seen), observed))
            pairs, pvalues = np.concatenate([pairs, more]), np.concatenate([pvalues, of_more])
            seen = np.union1d(seen, more[of_more < LEVEL])
        unseen = ~np.isin(pairs, seen).any(axis=1) & (pvalues < LIKELY)
        likely = pairs[np.argmin(np.where(unseen, pvalues, np.inf))] if unseen.any() else seen[:0]
        order = np.argsort(pvalues, kind="stable")[: np.count_nonzero(pvalues < LEVEL)]
        return cls(alone, _best_of_each(pairs[order]), likely, _amounts(search))

    def may_leave(self, active: Sequence[int]) -> list[int]:
        """Those of the active units that may leave in this round."""
        present = {*active}
        whole = [pair for pair in self.pairs if {*pair} <= present]
        paired = {unit for pair in whole for unit in pair}
        noise = [unit for unit in active if unit not in paired and not self.alone[unit]]
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


def ranked_pairs(
    X: np.ndarray,
    y: Any,
    categories: Categories,
    target_kernel: Any = "auto",
    n_jobs: int | None = None,
    exchange: Exchange | None = None,
    *,
    by_distances: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """The best pairs of columns and their adjusted p-values, best first.

    Pairs are looked for twice: by the columns, and by their distances to the middle. Around a ring
    a column matters by its distance to the middle, together with that of the other.
    """
    nothing = np.empty((0, 2), dtype=np.intp), np.empty(0)
    if X.shape[1] < 2:
        return nothing
    if has_missing(X):  # values that have nothing to do with the target cannot interact
        X = drawn(X)
    if X.shape[0] > ROWS:
        rows = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:ROWS])
        X, y = X[rows], _safe_indexing(y, rows)
        exchange = None if exchange is None else exchange.take(rows)
    automatic = isinstance(target_kernel, str) and target_kernel == "auto"
    if automatic and read_target(y).is_constant:  # a rare class may not be among these rows
        return nothing
    looks = [(Table(X, categories=categories), np.arange(X.shape[1]))]
    if by_distances:
        looks.append(_distances(X, categories))
    pairs, pvalues = [], []
    for table, columns in looks:
        if len(columns) < 2:
            continue
        try:
            found = screen_table(
                table,
                y,
                target_kernel=target_kernel,
                groups=exchange,
                random_state=0,
                n_jobs=n_jobs,
            )
        except TooFewWays:  # a part of the rows that shows nothing by itself
            return nothing
        pairs.append(columns[found.pairs])
        pvalues.append(found.pvalues_adjusted)
    order = np.argsort(np.concatenate(pvalues), kind="stable")
    return np.concatenate(pairs)[order], np.concatenate(pvalues)[order]


def _distances(X: np.ndarray, categories: Categories) -> tuple[Table, np.ndarray]:
    """Distances of numbers to the median of their column, where they say something else, and which.

    They do if there are values on both sides of the median.
    """
    middle = np.median(X, axis=0)
    both = (X.min(axis=0) < middle) & (middle < X.max(axis=0))
    both[list(categories)] = False
    columns = np.flatnonzero(both)
    return Table(np.abs(X[:, columns] - middle[columns])), columns


def _pairs_in_the_rest(
    search: Search, columns: np.ndarray, observed: Observed
) -> tuple[np.ndarray, np.ndarray]:
    """The best pairs in what some columns leave of the target, and their adjusted p-values."""
    some = some_rows(observed.X.shape[0], LEFT_ROWS)
    part = observed.take(some)
    rows = some if observed.rows is None else observed.rows[some]
    left = what_is_left(search, columns, rows, part.target)
    if not len(left.T):
        return np.empty((0, 2), dtype=np.intp), np.empty(0)
    return ranked_pairs(part.X, left, part.categories, "linear", part.n_jobs, part.exchange)


def what_is_left(
    search: Search, columns: np.ndarray, rows: np.ndarray, target: Sample
) -> np.ndarray:
    """Coordinates of the target less their leave-one-out predictions by kernel ridge regression.

    Shape (n_rows, n_coordinates). Bandwidth and penalty are those of the least errors.
    """
    psi = ScreeningTarget.of(target, TARGET_TOL).coordinates.psi
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
