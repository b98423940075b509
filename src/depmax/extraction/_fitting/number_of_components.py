"""The number of components that predicts held-out rows best."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils import _safe_indexing, get_tags

from depmax._resources import slices
from depmax.algebra.points import Points, points_of
from depmax.data import read_target
from depmax.data.sample import Sample
from depmax.data.table import ScaleWarning
from depmax.data.weights import take_rows as rows_of
from depmax.dependence.intrinsic_dimension import dimension_of_distances
from depmax.extraction.extractor import ComponentCount, most_possible

#: Folds by which the number of components is chosen.
FOLDS = 3
#: Neighbours that predict from the features of a number of components.
NEIGHBORS = 5
#: Numbers of components up to this multiple of the intrinsic dimension are tried.
RANGE = 2.0
#: Neighbours of each sample that tell the intrinsic dimension: fewest and most.
DIMENSION_NEIGHBORS = (10, 20)
#: Random signs of the randomisation test, and the p-value from which on errors are alike.
RANDOMISATIONS, ALIKE = 999, 0.01
#: Signs that are drawn at once, over all rows.
DRAWN = 2**22


def by_neighbors(model: Any, X: Any, y: Any, data: Sample) -> int:
    """Fewest components within one standard error of the best score on held-out rows.

    Labelled rows are scored; the others are always among the training rows. What predicts is
    ``estimator``, or five nearest neighbours. Without a target, the intrinsic dimension.
    """
    most = most_components(points_of(data))
    if not model._supervised:
        return most_possible(data) if most is None else max(1, most // 2)
    limit = most_possible(data) if most is None else most
    target = read_target(y, **model._target_rules)
    known, rest = np.flatnonzero(target.labelled), np.flatnonzero(~target.labelled)
    enough_rows(len(known))
    values, splitter = target.values[known], KFold
    if values.ndim == 2:
        values = values[:, 0] if values.shape[1] == 1 else values
    else:
        values = np.unique(values, return_inverse=True)[1]  # classes as numbers
        if target.kind == "classes" and np.bincount(values).min() >= FOLDS:
            splitter = StratifiedKFold
    has_labels = target.kind in ("classes", "multilabel")
    scores: list[list[float]] = []
    losses: list[np.ndarray] = []
    for train, test in splitter(FOLDS, shuffle=True, random_state=0).split(values, values):
        predictor = model.estimator
        if predictor is None:
            neighbors = KNeighborsClassifier if has_labels else KNeighborsRegressor
            predictor = neighbors(min(NEIGHBORS, len(train)))
        scorer = check_scoring(predictor, model.scoring)
        own = np.concatenate([known[train], rest])
        scores.append([])
        lost = []
        for features, held_out in _paths(model, X, y, own, known[test], limit):
            fitted = clone(predictor).fit(features[: len(train)], values[train])
            scores[-1].append(float(scorer(fitted, held_out, values[test])))
            lost.append(row_losses(values[test], fitted.predict(held_out), values, has_labels))
        losses.append(np.column_stack(lost))
    shortest = min(map(len, scores))
    chosen = fewest_within_one_error(np.array([row[:shortest] for row in scores]))
    keep_errors(model, joined(losses), 1.0 if has_labels else 2.0, chosen)
    return chosen


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


def fewest_by_randomisation(losses: np.ndarray) -> int:
    """Fewest components whose losses are not significantly larger than those of the best number.

    The differences of the losses of a row have a random sign if both numbers predict alike: the
    test of van der Voet (1994), as in R's ``pls::selectNcomp``.

    Parameters
    ----------
    losses : ndarray of shape (n_rows, n_counts)
        Of held-out rows.

    Examples
    --------
    >>> losses = np.random.default_rng(0).chisquare(1, size=(50, 3)) * [9.0, 1.1, 1.0]
    >>> fewest_by_randomisation(losses)
    2
    """
    best = int(np.argmin(losses.mean(axis=0)))
    differences = losses[:, :best] - losses[:, [best]]
    observed, n_rows = differences.sum(axis=0), len(losses)
    rng, reached = np.random.default_rng(0), np.zeros(best)
    for block in slices(RANDOMISATIONS, max(1, DRAWN // n_rows)):
        signs = 2.0 * rng.integers(2, size=(block.stop - block.start, n_rows)) - 1.0
        reached += (signs @ differences >= observed).sum(axis=0)
    alike = np.append((1 + reached) / (1 + RANDOMISATIONS) > ALIKE, True)
    return int(alike.argmax()) + 1


def row_losses(
    y: np.ndarray, answers: np.ndarray, of: np.ndarray, has_labels: bool, power: float = 2.0
) -> np.ndarray:
    """Of every row: the share of wrong labels, or a power of the difference, of shape (n_rows,).

    Several outputs are in units of their deviation in ``of``, all rows.
    """
    if has_labels:
        return np.asarray(y != answers, dtype=np.float64).reshape(len(y), -1).mean(axis=1)
    differences = np.abs(y - answers).reshape(len(y), -1)
    if differences.shape[1] > 1:
        spread = of.std(axis=0)
        differences = differences / np.where(spread > 0, spread, 1.0)
    powers: np.ndarray = (differences**power).mean(axis=1)
    return powers


def joined(parts: list[np.ndarray]) -> np.ndarray:
    """Losses of the rows of all folds, for as many components as all have, (n_rows, n_counts)."""
    shortest = min(part.shape[1] for part in parts)
    return np.vstack([part[:, :shortest] for part in parts])


def keep_errors(model: Any, losses: np.ndarray, power: float, chosen: int) -> None:
    """Remember the errors of held-out rows, and the number of components that rules choose."""
    model.cv_errors_ = losses.mean(axis=0) ** (1.0 / power)
    model.cv_choices_ = choices_of(losses, chosen)


def choices_of(losses: np.ndarray, chosen: int) -> dict[str, int]:
    """The number of components by three rules, from losses of rows, (n_rows, n_counts)."""
    return {
        "least error": int(np.argmin(losses.mean(axis=0))) + 1,
        "one standard error": chosen,
        "randomisation": fewest_by_randomisation(losses),
    }


def enough_rows(count: int) -> None:
    """Refuse fewer rows than folds need."""
    if count < 2 * FOLDS:
        raise ValueError(
            f"n_components='auto' compares predictions on at least {FOLDS} folds and needs at "
            f"least {2 * FOLDS} labelled rows, got n_samples = {count}: give a number."
        )


class PartFit(NamedTuple):
    """A fit to some rows, and the features of these and of others."""

    model: Any
    features: np.ndarray  # shape (n_train, k)
    held_out: np.ndarray  # shape (n_test, k)


def fit_part(
    model: Any, X: Any, y: Any, train: np.ndarray, test: np.ndarray, count: int
) -> PartFit:
    """Fit a copy of an extractor to some rows, with at most so many components, silently."""
    copy = clone(model)
    rows, others = take_rows(model, X, train, train), take_rows(model, X, test, train)
    with warnings.catch_warnings():  # the fit to all rows is the one that warns
        warnings.simplefilter("ignore", ScaleWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        answers = rows_of(y, train, getattr(model, "target_kernel", None))
        made = copy._fit(rows, answers, ComponentCount(count))
    features = copy._apply(rows) if made is None else made()
    return PartFit(copy, features, copy._apply(others))


def take_rows(model: Any, X: Any, rows: np.ndarray, columns: np.ndarray) -> Any:
    """Some rows of X; of a kernel matrix their values with the rows ``columns`` were fitted to."""
    if get_tags(model).input_tags.pairwise:
        return _safe_indexing(_safe_indexing(X, rows), columns, axis=1)
    return _safe_indexing(X, rows)


def _paths(
    model: Any, X: Any, y: Any, train: np.ndarray, test: np.ndarray, limit: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Features of training rows and of others with 1, 2, … components."""
    if model._nested:  # the first of one fit
        _, features, held_out = fit_part(model, X, y, train, test, limit)
        for count in range(1, features.shape[1] + 1):
            yield features[:, :count], held_out[:, :count]
        return
    for count in range(1, limit + 1):
        _, features, held_out = fit_part(model, X, y, train, test, count)
        if features.shape[1] < count:
            return
        yield features, held_out
