"""How many components: a share of the dependence, or what predicts as well as the best number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils import _safe_indexing, get_tags

from depmax._inputs import Target
from depmax.dependence.intrinsic_dimension import dimension_of_distances
from depmax.pencils.graphs import Points

#: Folds by which the number of components is chosen.
FOLDS = 3
#: Neighbours that predict from the features of a number of components.
NEIGHBORS = 5
#: Numbers of components up to this multiple of the intrinsic dimension are tried.
RANGE = 2.0
#: Neighbours of each sample that tell the intrinsic dimension: fewest and most.
DIMENSION_NEIGHBORS = (10, 20)


#: Features of training rows and of other rows, of shapes (n_train, k) and (n_test, k).
FoldFeatures = tuple[np.ndarray, np.ndarray]


class Fit(Protocol):
    """Features of training rows and of other rows, with at most so many components."""

    def __call__(self, train: np.ndarray, test: np.ndarray, count: int) -> FoldFeatures:
        """As many as there are, up to ``count``."""


class Numbers(Protocol):
    """Features with 1, 2, … components, from a fit to training rows."""

    def __call__(self, train: np.ndarray, test: np.ndarray) -> Iterator[FoldFeatures]:
        """For every number of components in turn."""


def nested(fit: Fit, limit: int) -> Numbers:
    """The first 1, 2, … features of one fit."""

    def numbers(train: np.ndarray, test: np.ndarray) -> Iterator[FoldFeatures]:
        features, held_out = fit(train, test, limit)
        for count in range(1, features.shape[1] + 1):
            yield features[:, :count], held_out[:, :count]

    return numbers


def anew(fit: Fit, limit: int) -> Numbers:
    """A fit for every number, where fewer features are not the first of more."""

    def numbers(train: np.ndarray, test: np.ndarray) -> Iterator[FoldFeatures]:
        for count in range(1, limit + 1):
            found = fit(train, test, count)
            if found[0].shape[1] < count:
                return
            yield found

    return numbers


def enough(dependence: np.ndarray, share: float) -> int:
    """Fewest components that reach a share of the dependence that all reach together.

    Examples
    --------
    >>> enough(np.array([5.0, 3.0, 1.0, 1.0]), 0.8)
    2
    """
    reached = np.cumsum(np.maximum(dependence, 0.0))
    return int(np.argmax(reached >= (share - 1e-12) * reached[-1])) + 1


def most_components(points: Points) -> int | None:
    """Number of components worth trying: twice the intrinsic dimension; None if it is unknown.

    It is unknown with 20 different samples or fewer.
    """
    fewest, most = DIMENSION_NEIGHBORS
    if points.n_samples <= most:
        return None
    squares = np.sort(points.nearest(most)[1], axis=1)
    scale = squares.max(initial=0.0)
    apart = squares[:, 0] > 1e-12 * scale  # a sample with equals tells nothing
    if apart.sum() <= most:
        return None
    dimension = dimension_of_distances(np.sqrt(squares[apart]), fewest)
    return None if dimension is None else max(2, int(np.ceil(RANGE * dimension)))


def by_prediction(numbers: Numbers, target: Target, estimator: Any, scoring: Any) -> int:
    """Fewest components within one standard error of the best score on held-out rows.

    Parameters
    ----------
    numbers : Numbers
    target : Target
        Labelled rows are scored; the others are always among the training rows.
    estimator : estimator or None
        None: five nearest neighbours, a classifier for classes and multi-labels.
    scoring : as in scikit-learn
    """
    known, rest = np.flatnonzero(target.labelled), np.flatnonzero(~target.labelled)
    values = _answers(target, known)
    scores: list[list[float]] = []
    for train, test in _folds(target, values):
        model = _model(target, len(train)) if estimator is None else clone(estimator)
        scorer = check_scoring(model, scoring)
        reached = []
        for features, held_out in numbers(np.concatenate([known[train], rest]), known[test]):
            fitted = clone(model).fit(features[: len(train)], values[train])
            reached.append(float(scorer(fitted, held_out, values[test])))
        scores.append(reached)
    shortest = min(map(len, scores))
    return _within_one_error(np.array([row[:shortest] for row in scores]))


def _within_one_error(scores: np.ndarray) -> int:
    """Fewest components whose mean score is within one standard error of the best.

    Parameters
    ----------
    scores : ndarray of shape (n_folds, n_counts)
    """
    means = scores.mean(axis=0)
    best = int(np.argmax(means))
    error = scores[:, best].std(ddof=1) / np.sqrt(len(scores))
    return int(np.argmax(means >= means[best] - error)) + 1


def _answers(target: Target, known: np.ndarray) -> np.ndarray:
    """What is predicted, of the labelled rows."""
    values = target.values[known]
    if values.ndim == 2:
        return values[:, 0] if values.shape[1] == 1 else values
    return np.unique(values, return_inverse=True)[1]  # classes as numbers, whatever they were


def _folds(target: Target, values: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    if len(values) < 2 * FOLDS:
        raise ValueError(
            f"n_components='auto' compares predictions on {FOLDS} folds and needs at least "
            f"{2 * FOLDS} labelled rows, got n_samples = {len(values)}: give a number."
        )
    plain = target.kind != "classes" or np.bincount(values).min() < FOLDS
    splitter = (KFold if plain else StratifiedKFold)(FOLDS, shuffle=True, random_state=0)
    yield from splitter.split(np.zeros(len(values)), values)


def _model(target: Target, n_train: int) -> Any:
    count = min(NEIGHBORS, n_train)
    if target.kind in ("classes", "multilabel"):
        return KNeighborsClassifier(count)
    return KNeighborsRegressor(count)


def take_rows(extractor: Any, X: Any, rows: np.ndarray, columns: np.ndarray) -> Any:
    """Some rows of X; of a kernel matrix their values with the rows ``columns`` were fitted to."""
    if get_tags(extractor).input_tags.pairwise:
        return _safe_indexing(_safe_indexing(X, rows), columns, axis=1)
    return _safe_indexing(X, rows)
