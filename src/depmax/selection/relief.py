"""Relief: columns that differ between near neighbours of different targets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state

from depmax._parameters import FLAG, integer
from depmax._resources import warn_if_long
from depmax.data import Target, read_target
from depmax.data.columns import Categories
from depmax.data.sample import require_samples
from depmax.data.table import constant_columns, require_equal_length
from depmax.selection._scores import class_codes
from depmax.selection.selector import DependenceSelector, Ranking, best_first

#: Time of one core to compare two rows.
SECONDS_PER_PAIR = 2.2e-8
#: Numbers that one block of distances and differences may hold: 32 MB.
BLOCK = 4_000_000


@dataclass(eq=False, repr=False)
class Relief(DependenceSelector):
    """ReliefF for classes, RReliefF for numbers.

    A column is good if it differs between a row and its nearest neighbours of other classes, and is
    similar between the row and its nearest neighbours of the same class. Neighbours are near in all
    columns, so interactions of columns (XOR) are found, unless there are so many irrelevant columns
    that they determine which rows are near.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        How many columns to keep; a float below 1 is a share, None is half.
    n_neighbors : int, default=10
        Number of neighbours of each row: in its own and in every other class, or in total for
        numbers. A smaller class provides all its rows.
    squared : bool, default=False
        Square differences, in scores and in distances (Euclidean), as Relief first did; for classes
        only. With two classes, ``n_neighbors=1`` and ``squared=True`` this is Relief of 1992.
    n_samples : int, optional
        Number of rows, drawn at random, whose neighbours are compared; by default all.
    random_state : int, RandomState instance or None, default=None
        Seed for drawing rows; without ``n_samples`` nothing is random.

    Attributes
    ----------
    ranking_ : ndarray of shape (n_features,)
        Rank of each column, 1 for the best, all distinct; constant columns rank last.
    scores_ : ndarray of shape (n_features,)
        Between -1 and 1: for classes the probability that the column differs between near rows of
        different classes minus that for near rows of the same class.
    support_, substitutes_, n_features_
        As in every selector.

    Notes
    -----
    Differences are divided by the range of the column, distances are sums of them (Manhattan;
    Euclidean with ``squared``);
    categorical columns differ by 0 or 1. Neighbours of another class are weighted by its share
    among the other classes; all neighbours within a class have the same weight. The difference of
    two targets with several columns is the mean over these. Equally near rows are taken in their
    order. Time is quadratic in the number of rows (n_samples times all), memory is linear.

    References
    ----------
    K. Kira, L. Rendell (1992), A practical approach to feature selection.
    M. Robnik-Šikonja, I. Kononenko (2003), Theoretical and empirical analysis of ReliefF and
    RReliefF.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax.selection.relief import Relief
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(200, 6))
    >>> xor = X[:, 0] * X[:, 1] > 0
    >>> Relief(2).fit(X, xor).get_support(indices=True).tolist()
    [0, 1]
    """

    n_features_to_select: int | float | None = None
    _: KW_ONLY
    n_neighbors: int = 10
    squared: bool = False
    n_samples: int | None = None
    random_state: int | np.random.RandomState | None = None

    _declared: ClassVar = {
        "n_neighbors": integer(1),
        "squared": FLAG,
        "n_samples": integer(1, also=[None]),
    }

    def _compared_by(self) -> None:
        """Columns are put on one scale first."""

    def _rank(self, X: Any, y: Any, categories: Categories) -> Ranking:
        target = read_target(y)
        require_equal_length(X.shape[0], target.n_samples)
        require_samples(X.shape[0], unbiased=False)
        if bool((target.values == target.values[:1]).all()):
            raise ValueError(
                "y has one class only, or one value in all rows: Relief compares rows of different "
                "targets."
            )
        weigh = _weights_of_classes if target.kind == "classes" else _weights_of_numbers
        if self.squared and target.kind != "classes":
            raise ValueError(
                "squared=True of Relief is for classes, but y holds numbers or several labels: "
                "leave it out."
            )
        rows = ScaledRows.of(X, categories, squared=bool(self.squared))
        probes = self._probes(X.shape[0])
        warn_if_long(
            f"Comparing {len(probes):,} rows with all {X.shape[0]:,}",
            SECONDS_PER_PAIR * len(probes) * X.shape[0],
            "n_samples=2000 looks for the neighbours of that many random rows.",
        )
        scores = weigh(rows, target, probes, int(self.n_neighbors))
        return Ranking(best_first(scores, constant_columns(X)), scores)

    def _probes(self, n_rows: int) -> np.ndarray:
        """Rows whose neighbours are compared, in their order."""
        requested = self.n_samples
        if requested is None:
            return np.arange(n_rows)
        if requested > n_rows:
            raise ValueError(
                f"n_samples of Relief must be an integer from 1 to {n_rows} (the rows of X) or "
                f"None (all), got {requested!r}."
            )
        rng = check_random_state(self.random_state)
        return np.sort(rng.choice(n_rows, size=requested, replace=False))


@dataclass(frozen=True)
class ScaledRows:
    """Rows whose columns have range 1, with an indicator for each level of a category.

    Indicators are so large that two levels differ by 1.
    """

    values: np.ndarray  # shape (n_samples, n_columns), more columns than features by the levels
    starts: np.ndarray  # first column of each feature
    squared: bool = False  # whether differences are

    @classmethod
    def of(cls, X: np.ndarray, categories: Categories, *, squared: bool = False) -> ScaledRows:
        """Scale to [0, 1]; a constant column is zero."""
        values = np.asarray(X, dtype=np.float64)
        low, high = values.min(axis=0), values.max(axis=0)
        span = high / 2 - low / 2  # half the range, which itself may overflow
        span[span == 0.0] = np.inf
        values = (values / 2 - low / 2) / span
        if not categories:
            return cls(values, np.arange(values.shape[1]), squared)
        size = np.sqrt(0.5) if squared else 0.5
        parts, width, starts = [], 0, []
        for column in range(values.shape[1]):
            part = values[:, [column]]
            if column in categories:
                part = size * (X[:, [column]] == np.unique(X[:, column]))
            parts.append(part)
            starts.append(width)
            width += part.shape[1]
        return cls(np.hstack(parts), np.array(starts), squared)

    def differences(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """|x - z| (squared) of each row and its k others: shape (n_rows, k, n_features)."""
        found = self.values[rows][:, np.newaxis, :] - self.values[others]
        found = np.square(found) if self.squared else np.abs(found)
        if len(self.starts) == found.shape[2]:
            return found
        return np.add.reduceat(found, self.starts, axis=2)


def _weights_of_classes(
    rows: ScaledRows, target: Target, probes: np.ndarray, n_neighbors: int
) -> np.ndarray:
    """ReliefF: average difference to misses less average difference to hits."""
    codes = class_codes(target)
    shares = np.bincount(codes) / len(codes)
    weights = np.zeros(len(rows.starts))
    for label in range(len(shares)):
        members = np.flatnonzero(codes == label)
        for block in _blocks(rows, probes, len(members), n_neighbors):
            near = nearest(rows, block, members, n_neighbors, codes[block] == label)
            for part, others in near:
                sizes = rows.differences(part, others).mean(axis=1)  # over the neighbours
                own = codes[part] == label
                weights -= sizes[own].sum(axis=0)
                weights += (shares[label] / (1.0 - shares[codes[part[~own]]])) @ sizes[~own]
    return weights / len(probes)


def _weights_of_numbers(
    rows: ScaledRows, target: Target, probes: np.ndarray, n_neighbors: int
) -> np.ndarray:
    """RReliefF: P(differs | other target) - P(differs | same target), by Bayes' rule."""
    outputs = ScaledRows.of(target.values, {})
    everyone = np.arange(len(rows.values))
    by_target = 0.0  # probability of another target, N_dC
    by_column = np.zeros(len(rows.starts))  # of another value in the column, N_dA
    by_both = np.zeros(len(rows.starts))  # N_dC&dA
    for block in _blocks(rows, probes, len(everyone), n_neighbors):
        own = np.ones(len(block), dtype=bool)
        for part, others in nearest(rows, block, everyone, n_neighbors, own):
            sizes = rows.differences(part, others)
            apart = outputs.differences(part, others).mean(axis=2)  # shape (n_rows, k)
            k = others.shape[1]
            by_target += float(apart.sum()) / k
            by_column += sizes.sum(axis=(0, 1)) / k
            by_both += np.einsum("ik,ikj->j", apart, sizes) / k
    alike = len(probes) - by_target
    other = by_both / by_target if by_target > 0 else np.zeros_like(by_both)
    same = (by_column - by_both) / alike if alike > 0 else np.zeros_like(by_both)
    return other - same


def nearest(
    scaled: ScaledRows, rows: np.ndarray, candidates: np.ndarray, k: int, own: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The k nearest candidates of each row, excluding itself; ties go to the first.

    ``own`` marks rows that are candidates themselves. They have one candidate less, so they may
    come with fewer neighbours than the others and are yielded apart; rows without any are left
    out.
    """
    for part, less in ((rows[own], 1), (rows[~own], 0)):
        count = min(k, len(candidates) - less)
        if len(part) == 0 or count < 1:
            continue
        metric = "sqeuclidean" if scaled.squared else "cityblock"
        distances = cdist(scaled.values[part], scaled.values[candidates], metric)
        if less:
            distances[np.arange(len(part)), np.searchsorted(candidates, part)] = np.inf
        yield part, candidates[_smallest(distances, count)]


def _smallest(distances: np.ndarray, count: int) -> np.ndarray:
    """Positions of the ``count`` smallest entries of each row, the first of equal ones."""
    border = np.partition(distances, count - 1, axis=1)[:, [count - 1]]
    below = distances < border
    equal = distances == border
    missing = count - below.sum(axis=1, keepdims=True)
    chosen = below | (equal & (np.cumsum(equal, axis=1) <= missing))
    return np.nonzero(chosen)[1].reshape(len(distances), count)


def _blocks(
    rows: ScaledRows, probes: np.ndarray, n_candidates: int, n_neighbors: int
) -> list[np.ndarray]:
    """Probes in blocks whose distances and differences fit in memory."""
    per_row = n_candidates + n_neighbors * rows.values.shape[1]
    return np.array_split(probes, -(-len(probes) * per_row // BLOCK))
