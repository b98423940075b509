"""The number of components that was requested, in each of its forms."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils import _safe_indexing, get_tags

from depmax.algebra.graphs import Points
from depmax.algebra.graphs.points import points_of
from depmax.data import Target
from depmax.data.sample import Sample
from depmax.data.scales import ScaleWarning
from depmax.data.weights import take_rows as rows_of
from depmax.dependence.intrinsic_dimension import dimension_of_distances

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
    """Features of training rows and of other rows, with at most this many components."""

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


def refitted(fit: Fit, limit: int) -> Numbers:
    """A fit for every number, where fewer features are not the first of more."""

    def numbers(train: np.ndarray, test: np.ndarray) -> Iterator[FoldFeatures]:
        for count in range(1, limit + 1):
            found = fit(train, test, count)
            if found[0].shape[1] < count:
                return
            yield found

    return numbers


def n_sufficient(dependence: np.ndarray, share: float) -> int:
    """Fewest components that reach a share of the dependence that all reach together.

    Examples
    --------
    >>> n_sufficient(np.array([5.0, 3.0, 1.0, 1.0]), 0.8)
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
    return fewest_within_one_error(np.array([row[:shortest] for row in scores]))


def fewest_within_one_error(scores: np.ndarray) -> int:
    """Fewest components whose mean score is within one standard error of the best.

    Parameters
    ----------
    scores : ndarray of shape (n_folds, n_counts) or (n_rows, n_counts)
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
    enough_rows(len(values))
    plain = target.kind != "classes" or np.bincount(values).min() < FOLDS
    splitter = (KFold if plain else StratifiedKFold)(FOLDS, shuffle=True, random_state=0)
    yield from splitter.split(np.zeros(len(values)), values)


def enough_rows(count: int) -> None:
    """Refuse fewer rows than folds need."""
    if count < 2 * FOLDS:
        raise ValueError(
            f"n_components='auto' compares predictions on at least {FOLDS} folds and needs at "
            f"least {2 * FOLDS} labelled rows, got n_samples = {count}: give a number."
        )


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


#: Rounding error of a share.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Possible:
    """What the data allow, and what an extractor knows about the number of components."""

    owner: str  # name of the extractor
    side: Sample
    carriers: Callable[[], int]  # how many may carry dependence
    predicted: Callable[[], int]  # how many predict as well as the best number
    limited: bool = True  # whether there are no more than rows and columns
    beyond_rows: bool = False  # whether there may be more components than rows

    @property
    def most(self) -> int:
        """Largest possible number of components."""
        return most_possible(self.side, beyond_rows=self.beyond_rows)


class ComponentCount:
    """How many components to find, and how many of those found to keep: all, unless it says so."""

    is_exact: ClassVar[bool] = False  # whether fewer are an error or a warning

    def count(self, possible: Possible) -> int:
        """Number of components to find."""
        raise NotImplementedError

    def kept(self, dependence: np.ndarray) -> int:
        """Number of components to keep, given the dependence that each reaches."""
        return len(dependence)

    def is_reached(self, share: float) -> bool:
        """Whether components that reach this share of all dependence are enough."""
        return True


@dataclass(frozen=True)
class Exactly(ComponentCount):
    """A number that the user gave."""

    number: int
    is_exact: ClassVar[bool] = True

    def count(self, possible: Possible) -> int:
        """The number, if the data allow as many."""
        if possible.limited:
            require_possible(
                possible.side, self.number, possible.owner, beyond_rows=possible.beyond_rows
            )
        return self.number


@dataclass(frozen=True)
class AtMost(ComponentCount):
    """As many as there are, up to a number; None: all of them."""

    number: int | None = None

    def count(self, possible: Possible) -> int:
        """The number, or fewer."""
        return possible.most if self.number is None else min(self.number, possible.most)


@dataclass(frozen=True)
class Share(ComponentCount):
    """As many as reach a share of the dependence."""

    share: float

    def count(self, possible: Possible) -> int:
        """All that may carry dependence."""
        return max(1, min(possible.carriers(), possible.most))

    def kept(self, dependence: np.ndarray) -> int:
        """The fewest that reach the share."""
        return n_sufficient(dependence, self.share)

    def is_reached(self, share: float) -> bool:
        """Whether it is as much as was requested, up to rounding errors."""
        return share >= self.share - ROUNDING


@dataclass(frozen=True)
class ByPrediction(ComponentCount):
    """As many as predict the target about as well as the best number does."""

    def count(self, possible: Possible) -> int:
        """The number chosen with held-out rows."""
        return min(possible.predicted(), possible.most)


def read_component_count(value: Any, owner: str) -> ComponentCount:
    """The form of ``n_components``: a whole number, a share, or ``"auto"``.

    Examples
    --------
    >>> read_component_count(0.9, "HBFE")
    Share(share=0.9)
    """
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1:
        return Exactly(int(value))
    if isinstance(value, Real) and not isinstance(value, Integral) and 0 < float(value) <= 1:
        return Share(float(value))
    if isinstance(value, str) and value == "auto":
        return ByPrediction()
    raise ValueError(
        f"n_components of {owner} must be an integer >= 1, a share of the dependence (a float up "
        f"to 1.0) or 'auto', got {value!r}."
    )


def predicted_count(extractor: Any, X: Any, y: Any, side: Sample) -> int:
    """Number of components for ``n_components="auto"``."""
    most = most_components(points_of(side))
    if not extractor._supervised:
        return most_possible(side) if most is None else max(1, most // 2)
    limit = most_possible(side) if most is None else most

    def fit(train: np.ndarray, test: np.ndarray, count: int) -> FoldFeatures:
        model = clone(extractor)
        own = take_rows(extractor, X, train, train)
        with warnings.catch_warnings():  # the fit to all rows is the one that warns
            warnings.simplefilter("ignore", ScaleWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            answers = rows_of(y, train, getattr(extractor, "target_kernel", None))
            fitted = model._learn(own, answers, AtMost(count))
        features = fitted.features if fitted.complete else model._apply(own)
        return features, model._apply(take_rows(extractor, X, test, train))

    numbers = nested(fit, limit) if extractor._nested else refitted(fit, limit)
    return by_prediction(
        numbers, extractor._read_answers(y), extractor.estimator, extractor.scoring
    )


def most_possible(side: Sample, *, beyond_rows: bool = False) -> int:
    """Largest number of components that rows with a kernel can have."""
    width = side.n_coordinates
    if width is None:
        return int(side.total)
    return width if beyond_rows else min(width, int(side.total))


def require_possible(side: Sample, count: int, owner: str, *, beyond_rows: bool = False) -> None:
    """Refuse more components than columns, or than rows unless rows do not limit them."""
    if count > side.total and not (beyond_rows and side.n_coordinates is not None):
        raise ValueError(
            f"n_components={count} of {owner} is more than the number of training rows, "
            f"n_samples = {side.total:g}."
        )
    width = side.n_coordinates
    if width is not None and count > width:
        linear = side.kernel.capabilities.is_linear
        what = (
            "columns, n_features" if linear else "coordinates of its map or kernel, n_coordinates"
        )
        raise ValueError(
            f"n_components={count} of {owner} is more than the number of {what} = {width}."
        )
