"""Targets as numbers, orthogonal features with what they explain, and predictions from these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import special
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from depmax._files import held_by_models
from depmax._resources import cached_property
from depmax.algebra.deflation import Examples, OrthogonalFeatures, gram_values, images_of, roots_of
from depmax.algebra.row_sums import centred_target, square_of, target_sums
from depmax.algebra.space import Projection, Space
from depmax.data import TargetKind, read_target
from depmax.data.sample import Sample, warn_of_outputs
from depmax.data.scan import by_chunks
from depmax.data.table import is_streamed
from depmax.data.target import AnyTarget, as_columns, is_flat, label_type
from depmax.extraction._fitting.number_of_components import (
    enough_rows,
    fewest_within_one_error,
    fit_part,
    joined,
    keep_errors,
    row_losses,
)
from depmax.extraction.extractor import Answer, DependenceExtractor, Found, most_possible
from depmax.kernels import Linear
from depmax.maps.feature_map import is_linear, signs

#: Folds by which the number of features is chosen.
FOLDS = 10
#: Features of the first path; it is twice as long again while the number chosen is near its end.
PATH = 32
#: Share of the path from which on the number chosen is near its end.
NEAR_THE_END = 0.75
#: Training rows and others, of every fold.
Splits = Sequence[tuple[np.ndarray, np.ndarray]]


# --- targets as numbers ---------------------------------------------------------------------------
@dataclass(frozen=True)
class Coding:
    """How numbers are made of a target: (columns - shift)·factor, of values or of indicators."""

    shift: np.ndarray | float  # shape (r,)
    factor: np.ndarray | float  # shape (r,)
    classes: np.ndarray | None = None  # labels, sorted, whose indicators are meant; None: numbers

    def __call__(self, y: np.ndarray) -> np.ndarray:
        """Of shape (n, r); two classes are one indicator, that of the second."""
        columns = as_columns(y) if self.classes is None else self._indicators(y)
        return (columns - self.shift) * self.factor

    def _indicators(self, y: np.ndarray) -> np.ndarray:
        indicators = np.eye(len(self.classes))[np.searchsorted(self.classes, y)]  # type: ignore[arg-type]  # not None here
        return indicators[:, 1:] if indicators.shape[1] == 2 else indicators

    def of(self, target: AnyTarget) -> Any:
        """Numbers of all rows: an array, or rows that are read a chunk at a time."""
        if not target.is_streamed:
            return self(target.values)
        n_classes = 0 if self.classes is None else len(self.classes)
        width = target.n_columns if self.classes is None else 1 if n_classes == 2 else n_classes
        return target.view(self, width)


def output_scale(target: AnyTarget, weight: np.ndarray | None = None) -> tuple[np.ndarray, Coding]:
    """Spread of outputs, infinite where they do not vary, and how they are put in units of it.

    The shift is the mean. Classes are indicators, one for two of them, which are not scaled.
    """
    if target.kind == "classes":
        if target.is_streamed:
            classes, counts = target.classes, np.asarray(target.counts, dtype=np.float64)
        else:
            classes, codes = np.unique(target.values, return_inverse=True)
            counts = np.bincount(codes, weights=weight).astype(np.float64)
        shares = counts / counts.sum()
        shares = shares[1:] if len(classes) == 2 else shares
        return np.ones(len(shares)), Coding(shares, 1.0, classes)
    if target.is_streamed:
        mean, squares = target.vectors.moments or (None, None)
        if mean is None:  # of many outputs
            sums = target_sums(target.vectors, as_columns).centred()
            mean, squares = sums.mean_x, sums.scatter
        assert squares is not None
        spread = np.sqrt(np.diagonal(squares) / target.n_samples)
        rounding = 1e-12 * target.largest
    else:
        values = target.values
        mean = np.average(values, axis=0, weights=weight)
        spread = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=weight))
        rounding = 10 * np.finfo(np.float64).eps * np.abs(values).max(axis=0, initial=0.0)
    spread = np.where(spread <= rounding, np.inf, spread)
    return spread, Coding(mean, 1.0 / spread)


class Outputs(NamedTuple):
    """Outputs under the linear kernel, in units of their spread."""

    sample: Sample
    spread: np.ndarray  # infinite where they do not vary, shape (r,)
    coding: Coding


def outputs(target: AnyTarget, name: str, weight: np.ndarray | None = None) -> Outputs:
    """Outputs of all rows; a constant target is refused."""
    spread, coding = output_scale(target, weight)
    one_class = coding.classes is not None and len(coding.classes) < 2
    if one_class or np.isinf(spread).all():
        raise ValueError(
            f"y of {name} is constant (one class or value in all {target.n_samples} rows): nothing "
            "can depend on it."
        )
    return Outputs(Sample(Linear(), coding.of(target), weight=weight), spread, coding)


@dataclass(frozen=True)
class CodedTarget:
    """A target as numbers.

    Numbers, outputs and multi-labels stay as they are. Two classes are one column of -1 and +1;
    more are indicators e_y/√m_y, so that YᵀY = I.
    """

    kind: TargetKind
    values: Any  # Y, shape (m, r): an array, or rows that are read a block at a time
    classes: np.ndarray | None  # labels, sorted; None for numbers
    class_counts: np.ndarray | None = None  # rows of each class, where values are not at hand
    weight: np.ndarray | None = None  # how many rows each stands for, shape (m,); None: one
    flat: bool = True  # whether y has one dimension

    @property
    def n_samples(self) -> int:
        """Number of rows m."""
        return int(self.values.shape[0])

    @property
    def plain(self) -> np.ndarray:
        """The target as an array that is read in the same way again: text, or numbers."""
        if self.classes is not None:
            return np.asarray(self.classes.astype(str)[self.class_numbers])
        return np.asarray(self.values[:, 0] if self.flat else self.values)

    @property
    def scale(self) -> np.ndarray:
        """What turns coded values into numbers or indicators 0 and 1, of shape (r,)."""
        n_columns = self.values.shape[1]
        if self.classes is not None and n_columns > 1:
            return np.sqrt(self.counts)
        return np.ones(n_columns)

    @cached_property
    def centred(self) -> Any:
        """Y minus its mean: an array, or what gives the values of a block."""
        if is_streamed(self.values):
            return centred_target(Sample(Linear(), self.values))
        return self.values - self.mean

    @property
    def shift(self) -> np.ndarray:
        """What losses of numbers need not see of Y, since a constant fits it: their mean."""
        is_number = self.kind in ("numbers", "multioutput")
        return self.mean if is_number else np.zeros(self.values.shape[1])

    @property
    def about_zero(self) -> Any:
        """Y as it is: an array, or what gives the values of a block."""
        if not is_streamed(self.values):
            return self.values
        mean, gram = self.mean, self.centred.gram
        whole = replace(self.centred.make, mean=np.zeros_like(mean))
        return replace(self.centred, make=whole, gram=gram + self.n_samples * np.outer(mean, mean))

    def seen(self, center: bool) -> Any:
        """Y as features see it: less its mean if they have mean zero."""
        return self.centred if center else self.about_zero

    @property
    def mean(self) -> np.ndarray:
        """Mean of every column, of shape (r,)."""
        if is_streamed(self.values):
            mean: np.ndarray = self.centred.make.mean
            return mean
        return np.average(self.values, axis=0, weights=self.weight)

    @property
    def square(self) -> float:
        """‖Y‖², measured from the mean."""
        return square_of(self.centred, self.weight)

    @property
    def counts(self) -> np.ndarray:
        """How many rows each class has, of shape (n_classes,)."""
        if self.class_counts is not None:
            return self.class_counts
        return np.bincount(self.class_numbers, weights=self.weight)

    @property
    def signs(self) -> np.ndarray:
        """Every column as -1 and +1, for losses of margins: one column per class or label."""
        return np.where(self.values > 0, 1.0, -1.0)

    @property
    def class_numbers(self) -> np.ndarray:
        """Position of each row's label among the classes, of shape (m,)."""
        if self.values.shape[1] == 1:
            return (self.values[:, 0] > 0).astype(np.intp)
        return self.values.argmax(axis=1)


def coded_target(
    y: Any, *, whole_numbers_are_numbers: bool = False, weight: np.ndarray | None = None
) -> CodedTarget:
    """Read and code a target; one that is constant is refused.

    Parameters
    ----------
    y : target of any type
    whole_numbers_are_numbers : bool
        Whether numeric labels are numbers, however few they are, as regressors need.
    weight : ndarray of shape (m,), optional
        How many rows each stands for.
    """
    target: AnyTarget = read_target(y).weighed(weight)
    if target.n_samples < 2:
        raise ValueError("X and y have 1 sample: nothing can depend on a constant.")
    warn_of_outputs(target, Linear())
    if target.kind == "classes":
        values = target.classes if target.is_streamed else target.values
        if not (whole_numbers_are_numbers and values.dtype.kind in "iuf"):
            return coded_classes(target if target.is_streamed else target.labels, weight, like=y)
    kind: TargetKind = "numbers" if target.kind == "classes" else target.kind
    if target.is_streamed:
        coded = CodedTarget(kind, target.vectors, None, flat=is_flat(y))
        constant = coded.square <= (1e-14 * float(target.largest.max())) ** 2 * target.n_samples
    else:
        values = np.asarray(target.vectors, dtype=np.float64)
        coded = CodedTarget(kind, values, None, weight=weight, flat=is_flat(y))
        constant = np.ptp(values, axis=0).max() == 0
    if constant:
        raise ValueError("y is constant: nothing can depend on it. At least two values are needed.")
    return coded


def coded_classes(labels: Any, weight: np.ndarray | None = None, like: Any = None) -> CodedTarget:
    """Code labels of any type, of shape (m,) or of a stream; a single class is refused.

    ``like`` is y as it was passed: where it holds objects, so do the classes.
    """
    streamed = getattr(labels, "is_streamed", False)
    if streamed:
        classes, counts = labels.classes, labels.counts
    else:
        if len(labels) < 2:
            raise ValueError("X and y have 1 sample: nothing can depend on a constant.")
        classes, codes = np.unique(labels, return_inverse=True)
        counts = np.bincount(codes, weights=weight)
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only ({classes.tolist()[0]!r}): nothing can depend on a constant. At "
            "least two classes are needed."
        )
    coding = Coding(0.0, 1.0 / np.sqrt(counts), classes)
    if len(classes) == 2:
        coding = Coding(0.5, 2.0, classes)
    if streamed:
        return CodedTarget("classes", coding.of(labels), classes, counts)
    named = classes if like is None else label_type(classes, like)
    return CodedTarget("classes", coding(labels), named, weight=weight)


def coded_answer(coded: CodedTarget) -> Answer:
    """A target as numbers, under the linear kernel."""
    return Answer(Sample(Linear(), coded.values, weight=coded.weight), coded=coded)


# --- orthogonal features --------------------------------------------------------------------------
#: Features of the first run for a share of the variance; later runs are twice as long.
FIRST_RUN = 8
#: Why methods that deflate find fewer features than requested, or none.
FEWER = "none of the rest depends on the target by its criterion, beyond rounding errors"
NONE = (
    "{name} found no feature that depends on the target: X is constant, or uncorrelated with y "
    "under this kernel."
)


def deflated(
    model: Any,
    data: Sample,
    answer: Answer | None,
    projection: Projection,
    features: np.ndarray | Callable[[], np.ndarray],
    **known: Any,
) -> Found:
    """Orthogonal features, with their dependence on the target and what they explain of it.

    Parameters
    ----------
    model : DependenceExtractor
    data : Sample
    answer : Answer or None
        With a coded target.
    projection : Projection
    features : ndarray of shape (m, k)
        T; or what makes it, if ``squares``, ``with_target`` and ``pull`` are known.
    **known : fields of Found
    """
    center = bool(getattr(model, "center", True))
    coded = None if answer is None else answer.coded
    supervised = coded is not None and model._supervised
    values: Any = None if coded is None else coded.seen(center)
    make = (lambda: features) if isinstance(features, np.ndarray) else features
    if isinstance(features, np.ndarray):
        weights = np.ones(len(features)) if data.weight is None else data.weight
        known.setdefault("squares", weights @ np.square(features))
        known.setdefault("pull", lambda: _pulled(data, features, center))
        if values is not None:
            known.setdefault("with_target", (values * weights[:, np.newaxis]).T @ features)

    def of_inputs(features: np.ndarray) -> tuple[np.ndarray, float]:
        """‖Φᵀτ_j‖² of every feature, and Σ‖φ‖²."""
        images = images_of(data, center=center)
        return np.diagonal(images.inner(images.pull(features))), images.variance

    def explained(found: Found) -> np.ndarray:
        """Shares of the target's variance; without a target, of that of the inputs."""
        assert found.squares is not None
        if not supervised:
            own, total = of_inputs(found.features)
            return own / found.squares / total
        assert coded is not None
        assert found.with_target is not None
        shares = np.square(found.with_target).sum(axis=0) / found.squares
        return np.asarray(shares / square_of(values, coded.weight))

    pulled = known.get("with_target")
    reached = of_inputs(make())[0] if pulled is None else np.square(pulled).sum(axis=0)
    known.setdefault("explained", explained)
    dependence = reached / float(data.total - 1) ** 2
    found = Found(projection, dependence, make, turns=np.ones(len(reached)), **known)
    if found.count == 0:
        return found
    if isinstance(features, np.ndarray):
        found = found.repeated(data)
    known_by = found.with_target if supervised else found.projection.weights
    assert known_by is not None
    return found.turned(signs(known_by))


def of_examples(
    model: Any,
    data: Sample,
    answer: Answer,
    examples: Examples,
    indices: np.ndarray,
    weights: np.ndarray,
    found: OrthogonalFeatures,
) -> Found:
    """Features along directions with weights of a few samples."""
    weights, offset = found.conjugate(weights)
    projection = examples.project(indices, weights, offset)
    features = found.features / roots_of(data)
    return deflated(model, data, answer, projection, features, basis=(indices, weights))


def _pulled(data: Sample, features: np.ndarray, center: bool) -> tuple[np.ndarray, np.ndarray]:
    """ΦᵀT and the mean, in the features of the kernel."""
    space = Space.held(data, center=center)
    return space.cross(features), space.mean


# --- predictions ----------------------------------------------------------------------------------
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
