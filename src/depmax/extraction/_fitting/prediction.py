"""Predictions of the target from features, and the number of features that predicts best."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy import special
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from depmax._files import held_by_models
from depmax.algebra.deflation import gram_values
from depmax.data import read_target
from depmax.data.sample import Sample
from depmax.data.scan import by_chunks
from depmax.data.table import is_streamed
from depmax.extraction._fitting.coded_target import CodedTarget, coded_answer, coded_target
from depmax.extraction._fitting.number_of_components import (
    enough_rows,
    fewest_within_one_error,
    fit_part,
    joined,
    keep_errors,
    row_losses,
)
from depmax.extraction._fitting.search import FEWER, FIRST_RUN, NONE, Answer, Found, most_possible
from depmax.extraction.extractor import DependenceExtractor
from depmax.maps.feature_map import is_linear

#: Folds by which the number of features is chosen.
FOLDS = 10
#: Features of the first path; it is twice as long again while the number chosen is near its end.
PATH = 32
#: Share of the path from which on the number chosen is near its end.
NEAR_THE_END = 0.75
#: Training rows and others, of every fold.
Splits = Sequence[tuple[np.ndarray, np.ndarray]]


@held_by_models
@dataclass(frozen=True)
class Readout:
    """How features T predict: values TQ + b, and which target these stand for."""

    loadings: np.ndarray  # Q, shape (k, r)
    intercept: np.ndarray  # b, shape (r,)
    classes: np.ndarray | None = None  # labels, sorted; None: y has no classes
    centres: np.ndarray | None = None  # values of each class, shape (n_classes, r); None: signs
    threshold: float | None = None  # value above which a label is there; None: y holds numbers
    flat: bool = True  # whether y has one dimension
    variance: float = 1.0  # of the values about the centres, of each coordinate
    #: Mean features M of each class, (n_classes, k), where centres are MQ + b; None: they are not.
    class_features: np.ndarray | None = None

    def first(self, count: int) -> Readout:
        """The prediction from the first features, of orthogonal ones fitted by least squares."""
        loadings, means = self.loadings[:count], self.class_features
        if means is None:
            return replace(self, loadings=loadings)
        means = means[:, :count]
        centres = means @ loadings + self.intercept
        return replace(self, loadings=loadings, centres=centres, class_features=means)

    def with_fit(self, loadings: np.ndarray, intercept: np.ndarray) -> Readout:
        """The prediction of this target by another fit."""
        return replace(self, loadings=loadings, intercept=intercept)

    def values(self, features: np.ndarray) -> np.ndarray:
        """Of shape (m, r)."""
        values: np.ndarray = features @ self.loadings + self.intercept
        return values

    def nearness(self, features: np.ndarray) -> np.ndarray:
        """Of shape (m, n_classes), largest for the predicted class.

        With centres c it is vᵀc - ‖c‖²/2, which decreases with the distance ‖v - c‖.
        """
        values = self.values(features)
        if self.centres is not None:
            return values @ self.centres.T - np.square(self.centres).sum(axis=1) / 2
        return np.hstack([np.zeros_like(values), values]) if values.shape[1] == 1 else values

    def decision(self, features: np.ndarray) -> np.ndarray:
        """Scores in scikit-learn's shape: for two classes one number, positive for the second."""
        if self.classes is None:
            return self.values(features)
        nearness = self.nearness(features)
        return nearness[:, 1] - nearness[:, 0] if nearness.shape[1] == 2 else nearness

    def probabilities(self, features: np.ndarray) -> np.ndarray:
        """If values are normal about the centres and classes equally likely, (m, n_classes)."""
        return np.asarray(special.softmax(self.nearness(features) / self.variance, axis=1))

    def answers(self, features: np.ndarray) -> np.ndarray:
        """Classes, labels or numbers, in the form of y."""
        if self.classes is not None:
            return np.asarray(self.classes[self.nearness(features).argmax(axis=1)])
        values = self.values(features)
        if self.threshold is not None:
            return (values > self.threshold).astype(np.intp)
        return values[:, 0] if self.flat else values


def keep_readout(model: Any, readout: Readout) -> None:
    """Remember the prediction of an extractor."""
    model._readout = readout
    model.target_loadings_, model.intercept_ = readout.loadings, readout.intercept
    if readout.classes is not None:
        model.classes_ = readout.classes


def predicted(model: Any, X: Any) -> np.ndarray:
    """Targets of new rows, by the readout of an extractor."""
    check_is_fitted(model)
    readout: Readout = model._readout
    if is_streamed(X):
        width = None if readout.classes is not None or readout.flat else len(readout.intercept)
        dtype = None if readout.classes is None else readout.classes.dtype
        return by_chunks(model.predict, X, width, dtype=dtype)
    return readout.answers(model._apply(X))


def scored(model: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """R² of predictions, or their accuracy if the target has classes or labels."""
    answers, readout = predicted(model, X), model._readout
    if readout.classes is None and readout.threshold is None:
        return float(r2_score(y, answers, sample_weight=sample_weight))
    target = read_target(y)
    if readout.classes is not None:
        labels = target.labels.astype(readout.classes.dtype)
    else:
        labels = target.values.astype(np.intp)
    return float(accuracy_score(labels, answers, sample_weight=sample_weight))


class FeaturePredictor(DependenceExtractor):
    """Base of the deflation methods that also predict: by least squares on their features.

    ``n_components`` is a number, a share or ``"auto"``. Features are made one after another, and
    each takes what it explains off the target; so a share is one of the variance of the target,
    known before they are made, and the fewest features are kept that explain it on the training
    rows.
    """

    center: bool = True
    target_loadings_: np.ndarray
    intercept_: np.ndarray
    _readout: Readout
    _predicts_itself: ClassVar[bool] = True
    _first_run: ClassVar[int | None] = FIRST_RUN
    _why_fewer: ClassVar[str] = FEWER
    _why_none: ClassVar[str] = NONE
    #: Whether several columns of zeros and ones are labels; otherwise they are numbers.
    _reads_labels: ClassVar[bool] = True
    #: Whether the weights of columns in predictions are kept, for linear kernels.
    _keeps_coef: ClassVar[bool] = False
    #: Differences of numbers count with this power: 2 for squares.
    _power: float = 2.0

    def predict(self, X: Any) -> np.ndarray:
        """Targets of new rows.

        Parameters
        ----------
        X : as in ``fit``

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            One-dimensional if y was; classes if y had classes. As lazy as X.
        """
        return predicted(self, X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions, or their accuracy if ``fit`` saw classes or labels.

        Parameters
        ----------
        X, y : as in ``fit``
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return scored(self, X, y, sample_weight)

    def _read_answer(self, y: Any, weight: np.ndarray | None) -> Answer:
        whole = self._predicts == "regressor"
        return coded_answer(coded_target(y, whole_numbers_are_numbers=whole, weight=weight))

    def _pairs_held(self, data: Sample) -> float:
        """The kernel matrix, for methods that see the samples through ``images_of``."""
        return gram_values(data)

    def _keep_more(self, found: Found, answer: Answer) -> None:
        assert found.squares is not None
        assert found.with_target is not None
        readout = self._read_out(
            answer.numbers, lambda: found.features, found.squares, found.with_target
        )
        keep_readout(self, readout)
        if self._keeps_coef and is_linear(self):
            self.coef_ = self.target_loadings_.T @ self.components_

    def _read_out(
        self,
        target: CodedTarget,
        make_features: Callable[[], np.ndarray],
        squares: np.ndarray,
        covariances: np.ndarray,
    ) -> Readout:
        """The prediction from features T, whose squares are TᵀT and covariances YᵀT.

        By least squares, since T is orthogonal, coefficients are covariances.
        """
        scale = target.scale
        loadings = (covariances / squares).T * scale
        intercept = target.mean * scale if self.center else np.zeros(len(scale))
        if target.classes is None:
            threshold = 0.5 if self._has_labels(target) else None
            return Readout(loadings, intercept, threshold=threshold, flat=target.flat)
        if not self.center:  # directions are not measured from a mean: the classes as coded
            codes = np.eye(len(target.classes)) if len(scale) > 1 else np.array([[-1.0], [1.0]])
            return Readout(loadings, intercept, target.classes, codes)
        counts = target.counts
        if len(counts) == 2:  # sums over the two classes are s and -s, since features have mean 0
            sums = np.vstack([-covariances, covariances]) / 2
        else:
            sums = covariances * np.sqrt(counts)[:, np.newaxis]
        means = sums / counts[:, np.newaxis]
        centres = means @ loadings
        total = float(np.sum(squares @ loadings**2))
        within = total - float(counts @ np.square(centres).sum(axis=1))
        smallest = np.finfo(np.float64).eps * max(total, np.finfo(np.float64).tiny)
        variance = max(within / max(len(counts) - 1, 1), smallest) / counts.sum()
        centres += intercept
        return Readout(
            loadings, intercept, target.classes, centres, variance=variance, class_features=means
        )

    def _has_labels(self, target: CodedTarget) -> bool:
        return self._reads_labels and target.kind == "multilabel"

    # --- n_components="auto" ---------------------------------------------------------------------

    def _own_count(self, X: Any, y: Any, data: Sample) -> int:
        """The fewest features whose error of held-out rows is within one error of the least."""
        target = self._read_answer(y, None).numbers
        most = most_possible(data)
        limit, splits = min(PATH, most), list(shuffled_folds(target))
        while True:
            folds = self._held_out(X, target, data, splits, limit)
            losses = joined([fold.losses(self, target) for fold in folds])
            count = fewest_within_one_error(-losses)
            ended = losses.shape[1] < limit or limit == most
            if ended or count < NEAR_THE_END * limit:
                break
            limit = min(2 * limit, most)
        keep_errors(self, losses, self._loss_power(target), count)
        return count

    def _held_out(
        self,
        X: Any,
        target: CodedTarget,
        data: Sample,
        splits: Splits,
        limit: int,
    ) -> Iterator[HeldOut]:
        """Features of the rows of every fold, and how 1, 2, … of them predict, by other rows."""
        y = target.plain
        for train, test in splits:
            model, features, held_out = fit_part(self, X, y, train, test, limit)
            own, T = model._read_answer(y[train], None).coded, features.astype(np.float64)
            squares, covariances = np.square(T).sum(axis=0), own.seen(self.center).T @ T
            readouts = tuple(
                model._read_out(own, partial(np.asarray, T[:, :k]), squares[:k], covariances[:, :k])
                for k in range(1, min(limit, T.shape[1]) + 1)
            )
            yield HeldOut(test, held_out, readouts)

    def _loss_power(self, target: CodedTarget) -> float:
        """Of differences in the loss of a row; 1 for labels, which are wrong or not."""
        is_number = target.classes is None and not self._has_labels(target)
        return self._power if is_number else 1.0


@dataclass(frozen=True)
class HeldOut:
    """One fold, seen by a fit to the other rows."""

    test: np.ndarray  # its rows
    features: np.ndarray  # shape (n_test, ≥ k)
    readouts: tuple[Readout, ...]  # of the first 1, 2, …, k features

    def losses(self, model: FeaturePredictor, target: CodedTarget) -> np.ndarray:
        """Of every row for every number of features, of shape (n_test, k)."""
        y, has_labels = target.plain, target.classes is not None or model._has_labels(target)
        answers = (one.answers(self.features[:, : k + 1]) for k, one in enumerate(self.readouts))
        lost = [row_losses(y[self.test], own, y, has_labels, model._power) for own in answers]
        return np.column_stack(lost)


def shuffled_folds(
    target: CodedTarget, folds: int = FOLDS
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Training rows and others; of classes both have as many as the whole, if there are enough."""
    m = target.n_samples
    enough_rows(m)
    splitter, groups, n_folds = KFold, np.zeros(m), min(folds, m // 2)
    if target.classes is not None:
        groups, smallest = target.class_numbers, int(target.counts.min())
        if smallest > 1:
            splitter, n_folds = StratifiedKFold, min(n_folds, smallest)
    for train, test in splitter(n_folds, shuffle=True, random_state=0).split(groups, groups):
        if np.ptp(target.values[train], axis=0).any():  # a constant tells nothing
            yield train, test
