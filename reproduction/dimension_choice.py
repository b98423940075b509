"""How good features are for a nearest-neighbour classifier, their number chosen inside.

For every random half of the rows, the number of features and the settings of a method are those
with the best cross-validated accuracy on the training half; the accuracy on the other half is
what counts. Several numbers of neighbours are judged at once, each with a choice of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from reproduction.half_splits import HalfSplit
from reproduction.nested_neighbors import nested_neighbors

Setting = Mapping[str, Any]
#: Fits to rows and targets (NaN where unlabelled) with a number of features; gives a function
#: that turns rows into features.
Fit = Callable[..., Callable[[np.ndarray], np.ndarray]]


@dataclass(frozen=True)
class Method:
    """A way to make features, with the settings to choose from.

    Attributes
    ----------
    name : str
    fit : callable of (rows, y, n_features, **setting)
        Returns a function of rows. It may give fewer features than asked for.
    settings : tuple of dict
        Keyword arguments of ``fit`` to choose from; of equally good ones the first is taken.
    nested : bool
        Whether the first d of more features are the features of a fit with d. If so, one fit
        serves all numbers of features.
    most : int or None
        Largest number of features that the method can give whatever the rows, if there is one.
    bounded_by_rows : bool
        Whether it can give no more features than there are labelled rows.
    """

    name: str
    fit: Fit
    settings: tuple[Setting, ...] = field(default_factory=lambda: ({},))
    nested: bool = True
    most: int | None = None
    bounded_by_rows: bool = True


class Space(Protocol):
    """Coordinates of all rows, which may depend on the training rows and on settings."""

    @property
    def settings(self) -> tuple[Setting, ...]:
        """What ``coordinates`` may be given; of equally good ones the first is chosen."""
        ...

    def coordinates(self, train: np.ndarray, setting: Setting) -> np.ndarray:
        """Coordinates of every row, (n_samples, n_columns)."""
        ...


@dataclass(frozen=True)
class Inputs:
    """The rows as they are."""

    rows: np.ndarray
    settings: tuple[Setting, ...] = ({},)

    def coordinates(self, train: np.ndarray, setting: Setting) -> np.ndarray:
        """The same for all training rows."""
        return self.rows


@dataclass(frozen=True)
class Outcome:
    """What a method reached on the test half, and what was chosen on the training half."""

    accuracy: float
    n_features: int
    space: Setting = field(default_factory=dict)
    setting: Setting = field(default_factory=dict)


def judge(
    space: Space,
    y: np.ndarray,
    split: HalfSplit,
    methods: Sequence[Method],
    *,
    n_neighbors: Sequence[int] = (1, 3, 5),
    most_features: int,
    n_folds: int = 3,
) -> dict[tuple[str, int], Outcome]:
    """Test accuracy of every method and number of neighbours on one split.

    Parameters
    ----------
    space : Space
    y : ndarray of shape (n_samples,)
        Two classes, -1 and +1.
    split : HalfSplit
    methods : sequence of Method
    n_neighbors : sequence of odd int
    most_features : int
        Numbers of features from 1 to this are tried, as far as the coordinates and the training
        rows of a fold allow.
    n_folds : int, default=3

    Returns
    -------
    dict of (name of the method, number of neighbours) to Outcome
    """
    hits = {
        method.name: np.zeros(
            (most_features, len(space.settings), len(method.settings), len(n_neighbors))
        )
        for method in methods
    }
    for part in split.folds(y, n_folds):
        for place, setting in enumerate(space.settings):
            Z = space.coordinates(part.train, setting)
            for method in methods:
                for column, own in enumerate(method.settings):
                    limit = _limit(method, Z, part, most_features)
                    right = _hits(method, own, Z, y, part, n_neighbors, range(1, limit + 1))
                    # a number of features that one fold cannot have is never chosen
                    reached = hits[method.name][:, place, column]
                    reached[: len(right)] += right
                    reached[len(right) :] = -np.inf
    return _outcomes(space, y, split, methods, n_neighbors, hits)


def _outcomes(
    space: Space,
    y: np.ndarray,
    split: HalfSplit,
    methods: Sequence[Method],
    n_neighbors: Sequence[int],
    hits: Mapping[str, np.ndarray],
) -> dict[tuple[str, int], Outcome]:
    """Accuracy on the test half with what was best in the folds."""
    outcomes: dict[tuple[str, int], Outcome] = {}
    coordinates: dict[int, np.ndarray] = {}
    for method in methods:
        # (space, setting): number of features for every number of neighbours that chose it
        groups: dict[tuple[int, int], dict[int, int]] = {}
        for position, k in enumerate(n_neighbors):
            # the first maximum: of equally good choices the fewest features
            table = hits[method.name][..., position]
            most, place, column = map(int, np.unravel_index(np.argmax(table), table.shape))
            groups.setdefault((place, column), {})[k] = most + 1
        for (place, column), counts in groups.items():
            if place not in coordinates:
                coordinates[place] = space.coordinates(split.train, space.settings[place])
            own, dimensions = method.settings[column], sorted(set(counts.values()))
            right = _hits(method, own, coordinates[place], y, split, list(counts), dimensions)
            for position, (k, count) in enumerate(counts.items()):
                accuracy = right[dimensions.index(count), position] / len(split.test)
                outcomes[method.name, k] = Outcome(
                    float(accuracy), count, space.settings[place], own
                )
    return outcomes


def _limit(method: Method, Z: np.ndarray, part: HalfSplit, most_features: int) -> int:
    bounds = [most_features, Z.shape[1]]
    if method.bounded_by_rows:
        bounds.append(len(part.labelled))
    if method.most is not None:
        bounds.append(method.most)
    return min(bounds)


def _hits(
    method: Method,
    setting: Setting,
    Z: np.ndarray,
    y: np.ndarray,
    part: HalfSplit,
    n_neighbors: Sequence[int],
    dimensions: Sequence[int],
) -> np.ndarray:
    """Test rows classified rightly, (n_dimensions, n_neighbors)."""
    rows = np.concatenate([part.labelled, part.test])
    known = np.where(np.isin(part.train, part.labelled), y[part.train], np.nan)
    found = []
    for features, counts in _features(method, setting, Z[part.train], known, Z[rows], dimensions):
        own, queries = np.split(features, [len(part.labelled)])
        neighbours = nested_neighbors(own, queries, max(n_neighbors), counts)
        for near in neighbours:
            totals = np.cumsum(y[part.labelled][near], axis=1)
            verdicts = np.sign(totals[:, [k - 1 for k in n_neighbors]])
            found.append((verdicts == y[part.test][:, np.newaxis]).sum(axis=0))
    return np.array(found)


def _features(
    method: Method,
    setting: Setting,
    train: np.ndarray,
    known: np.ndarray,
    rows: np.ndarray,
    dimensions: Sequence[int],
) -> Iterator[tuple[np.ndarray, Sequence[int]]]:
    """Features of the rows, and which numbers of their columns to use."""
    if method.nested:
        features = method.fit(train, known, max(dimensions), **setting)(rows)
        yield features, [min(count, features.shape[1]) for count in dimensions]
        return
    for count in dimensions:
        features = method.fit(train, known, count, **setting)(rows)
        yield features, [features.shape[1]]
