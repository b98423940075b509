"""Every extractor that predicts: what it regresses, its score, and how many features it keeps."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import KFold, check_cv, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import depmax
from depmax import extraction as package
from depmax.extraction import DependenceExtractor
from tests.contracts.discovery import classes

FOUND = {
    name: cls
    for name, cls in classes(package, DependenceExtractor).items()
    if hasattr(cls, "predict")
}
#: Every extractor that predicts, with each of its losses.
MODELS: dict[str, Any] = {}
for name, cls in sorted(FOUND.items()):
    parameters = inspect.signature(cls).parameters
    seeded = {"random_state": 0} if "random_state" in parameters else {}
    losses = ["least_squares", "absolute", "exponential", "logistic"]
    for loss in losses if "loss" in parameters else [None]:
        options = seeded if loss is None else {**seeded, "loss": loss}
        MODELS[name if loss is None else f"{name} {loss}"] = cls(3, **options)
FOR_CLASSES = {name for name, model in MODELS.items() if is_classifier(model)}
#: Whose predictions are least squares on the features.
SQUARES = sorted(
    name
    for name, model in MODELS.items()
    if getattr(model, "loss", "least_squares") == "least_squares" and name not in FOR_CLASSES
)
rng = np.random.default_rng(0)
X = rng.normal(size=(90, 5))
NEW = rng.normal(size=(7, 5))
NUMBERS = X[:, 0] + np.sin(X[:, 1]) + 0.1 * rng.normal(size=90) + 4.0
TWO = np.where(NUMBERS > 4, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.digitize(NUMBERS, [3.5, 4.5])]
TARGETS: dict[str, Any] = {
    "numbers": NUMBERS,
    "one column": NUMBERS[:, np.newaxis],
    "outputs": np.column_stack([NUMBERS, X[:, 2]]),
    "two": TWO,
    "three": THREE,
    "objects": THREE.astype(object),
    "booleans": TWO == "yes",
    "categories": pd.Series(THREE, dtype="category"),
    "labels": np.column_stack([TWO == "yes", X[:, 2] > 0]).astype(int),
}
KINDS = {"numbers": "numbers", "one column": "numbers", "outputs": "numbers", "labels": "labels"}


def fitted(model: Any, y: Any, rows: np.ndarray = X) -> Any:
    """A fit; that a method has fewer features than requested is another test's matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(model).fit(rows, y)


def cases() -> list[tuple[str, str]]:
    """Every model with every target that it takes."""
    found = []
    for name in MODELS:
        for target in TARGETS:
            kind = KINDS.get(target, "classes")
            labels_refused = kind == "labels" and name == "KernelPLSClassifier"
            if not (name in FOR_CLASSES and kind == "numbers") and not labels_refused:
                found.append((name, target))
    return found


def test_what_predicts() -> None:
    """The papers regress on the features of each of these."""
    assert set(FOUND) == {
        "BoostedLatentFeatures",
        "KernelPLS",
        "KernelPLSClassifier",
        "LinearRegressionFeature",
        "ReducedKernelOPLS",
        "SMA",
        "SMC",
        "SparseKernelPLS",
    }


@pytest.mark.parametrize(("name", "target"), cases())
def test_predictions_have_the_form_of_the_target_and_a_score(name: str, target: str) -> None:
    y = TARGETS[target]
    model = fitted(MODELS[name], y)
    predicted = model.predict(X)
    assert predicted.shape == np.shape(y)
    assert model.predict(NEW).shape == (7, *np.shape(y)[1:])
    if KINDS.get(target, "classes") == "classes":
        assert predicted.dtype == np.asarray(y).dtype
        assert set(predicted) <= set(model.classes_) == set(np.asarray(y))
        assert model.classes_.dtype == np.asarray(y).dtype
        assert model.score(X, y) == accuracy_score(np.asarray(y), predicted)
        median = getattr(model, "loss", None) == "absolute"  # of an indicator it is mostly 0
        assert model.score(X, y) > (0.3 if median else 0.6)
    elif target == "labels" and name != "KernelPLS":
        assert set(np.unique(predicted)) <= {0, 1}
        assert model.score(X, y) == accuracy_score(y, predicted) > 0.4
    else:
        assert model.score(X, y) == pytest.approx(r2_score(y, predicted))
        assert model.score(X, y) > 0.3
    weight = np.arange(90.0)
    assert model.score(X, y, sample_weight=weight) <= 1.0


@pytest.mark.parametrize("target", ["numbers", "outputs"])
@pytest.mark.parametrize("name", SQUARES)
def test_numbers_are_regressed_on_the_features(name: str, target: str) -> None:
    model = fitted(MODELS[name], TARGETS[target])
    line = LinearRegression().fit(model.transform(X), TARGETS[target])
    np.testing.assert_allclose(model.predict(NEW), line.predict(model.transform(NEW)), atol=1e-7)
    np.testing.assert_allclose(
        model.transform(NEW) @ model.target_loadings_ + model.intercept_,
        model.predict(NEW).reshape(7, -1),
        atol=1e-9,
    )


@pytest.mark.parametrize("target", ["two", "three"])
@pytest.mark.parametrize("name", sorted(set(SQUARES) - {"LinearRegressionFeature"}))
def test_a_class_is_the_nearest_mean_of_regressed_indicators(name: str, target: str) -> None:
    y = TARGETS[target]
    model = fitted(MODELS[name], y)
    codes = np.eye(len(np.unique(y)))[np.unique(y, return_inverse=True)[1]]
    T = model.transform(X)
    line = LinearRegression().fit(T, codes)
    values, new = line.predict(T), line.predict(model.transform(NEW))
    centres = np.array([values[y == label].mean(axis=0) for label in np.unique(y)])
    nearest = np.square(new[:, np.newaxis] - centres).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(NEW), np.unique(y)[nearest])


# one output gives ReducedKernelOPLS fewer components than requested
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", sorted(MODELS))
def test_scikit_learn_is_told_what_it_is(name: str) -> None:
    """Unless whole numbers may be classes, which must be known before there is a target."""
    model = MODELS[name]
    assert not (is_classifier(model) and is_regressor(model))
    if is_classifier(model):
        with pytest.raises(ValueError, match="Unknown label type"):
            model.fit(X, NUMBERS)
        splits = check_cv(3, np.sort(TWO), classifier=True).split(X, np.sort(TWO))
        assert all(len(np.unique(np.sort(TWO)[test])) == 2 for _, test in splits)
        order = np.argsort(TWO, kind="stable")
        assert cross_val_score(model, X[order], TWO[order]).min() > 0.6
        assert cross_val_score(model, X, TWO, scoring="roc_auc").min() > 0.6
    elif is_regressor(model):
        counts = np.digitize(NUMBERS, [3.5, 4.5])
        expected = fitted(model, counts * 1.0).predict(NEW)
        np.testing.assert_allclose(fitted(model, counts).predict(NEW), expected)
    else:
        counts = np.digitize(NUMBERS, [3.5, 4.5])
        assert fitted(model, counts).predict(X).dtype == counts.dtype
        assert np.isfinite(cross_val_score(model, X, NUMBERS)).all()


# so do classes that the first feature separates
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [cls(loss="logistic") for cls in FOUND.values() if "loss" in inspect.signature(cls).parameters]
)
def test_scikit_learn_checks_of_classifiers(estimator: object, check: object) -> None:
    check(estimator)


# --- probabilities --------------------------------------------------------------------------------
@pytest.mark.parametrize("target", ["two", "three", "booleans"])
@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_probabilities(kernel: str, target: str) -> None:
    y = np.asarray(TARGETS[target])
    model = depmax.KernelPLSClassifier(3, kernel=kernel).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (probabilities >= 0).all()
    best = model.classes_[probabilities.argmax(axis=1)]
    np.testing.assert_array_equal(best, model.predict(X))
    # normal about the means of the classes, with one variance
    values = model.transform(X) @ model.target_loadings_
    labels = np.unique(y)
    centres = np.array([values[y == label].mean(axis=0) for label in labels])
    rest = values - centres[np.searchsorted(labels, y)]
    variance = np.square(rest).sum() / (90 * (len(labels) - 1))
    density = np.exp(-np.square(values[:, np.newaxis] - centres).sum(axis=2) / (2 * variance))
    expected = density / density.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(probabilities, expected, atol=1e-7)
    own = probabilities[np.arange(90), np.searchsorted(labels, y)]
    assert -np.log(own).mean() < np.log(len(labels))  # better than guessing


# --- batches --------------------------------------------------------------------------------------
BATCHED: dict[str, Any] = {
    "KernelPLS": depmax.KernelPLS(2),
    "HBFE": depmax.HBFE(2, target_kernel="linear", unbiased=False),
    "HSCA": depmax.HSCA(2, target_kernel="linear"),
    "LinearRegressionFeature": depmax.LinearRegressionFeature(2),
}


@pytest.mark.parametrize("constant", ["y", "X", "both"])
@pytest.mark.parametrize("name", sorted(BATCHED))
def test_a_first_batch_may_be_constant(name: str, constant: str) -> None:
    y, rows = NUMBERS.copy(), X.copy()
    if constant != "X":
        y[:10] = 3.0
    if constant != "y":
        rows[:10] = 1.0
    model = clone(BATCHED[name])
    for batch in (slice(0, 10), slice(10, 40), slice(40, 90)):
        model.partial_fit(rows[batch], y[batch])
    expected = fitted(BATCHED[name], y, rows)
    np.testing.assert_allclose(
        np.abs(model.transform(NEW)), np.abs(expected.transform(NEW)), atol=1e-7
    )


def test_objects_stay_objects_in_batches() -> None:
    labels = TWO.astype(object)
    model = depmax.KernelPLSClassifier(2).partial_fit(X[:40], labels[:40])
    predicted = model.partial_fit(X[40:], labels[40:]).predict(X)
    assert predicted.dtype == object
    np.testing.assert_array_equal(predicted, fitted(model, labels).predict(X))


# --- how many -------------------------------------------------------------------------------------
@pytest.mark.parametrize("target", ["numbers", "three"])
@pytest.mark.parametrize("name", sorted(set(MODELS) - {"LinearRegressionFeature"}))
def test_the_number_is_chosen_by_the_error_of_its_own_predictions(name: str, target: str) -> None:
    if (name, target) not in cases():
        return
    few = slice(0, 90 if name in SQUARES else 24)  # other losses are fitted for every number
    y, rows = TARGETS[target][few], X[few]
    model = fitted(clone(MODELS[name]).set_params(n_components="auto"), y, rows)
    errors = model.cv_errors_
    assert errors.ndim == 1
    assert 1 <= model.n_components_ <= len(errors)
    assert (errors[: model.n_components_ - 1] > errors.min()).all()
    same = fitted(clone(MODELS[name]).set_params(n_components=model.n_components_), y, rows)
    np.testing.assert_allclose(model.predict(NEW) == same.predict(NEW), True)


def test_the_errors_done_by_hand() -> None:
    """The root mean square of ten folds, for every number of features from fits of their own."""
    model = depmax.KernelPLS("auto").fit(X, NUMBERS)
    squares = np.empty((90, 5))
    for train, test in KFold(10, shuffle=True, random_state=0).split(X):
        for count in range(1, 6):
            one = depmax.KernelPLS(count).fit(X[train], NUMBERS[train])
            squares[test, count - 1] = (one.predict(X[test]) - NUMBERS[test]) ** 2
    np.testing.assert_allclose(model.cv_errors_, np.sqrt(squares.mean(axis=0)), rtol=1e-9)
    best = squares.mean(axis=0).argmin()
    bar = squares.mean(axis=0)[best] + squares[:, best].std(ddof=1) / np.sqrt(90)
    assert model.n_components_ == np.flatnonzero(squares.mean(axis=0) <= bar)[0] + 1


def test_spectra_need_many_components() -> None:
    meat = depmax.datasets.load("tecator")
    model = depmax.KernelPLS("auto").fit(meat.X, meat.y)
    assert 12 <= model.n_components_ <= 18
    assert model.cv_errors_[model.n_components_ - 1] < 2.55
    same = depmax.BoostedLatentFeatures("auto").fit(meat.X, meat.y)
    assert same.n_components_ == model.n_components_
    fat = np.where(meat.y > 20, "fat", "lean")
    classifier = depmax.KernelPLSClassifier("auto").fit(meat.X, fat)
    assert classifier.cv_errors_[classifier.n_components_ - 1] < 0.05


def test_a_path_grows_until_its_end_is_past_the_best_number() -> None:
    """A sine of many waves needs more single kernel columns than the first path has."""
    grid = np.linspace(0, 1, 160)[:, np.newaxis]
    model = depmax.SMA("auto", kernel=depmax.kernels.Gaussian(0.02), random_state=0)
    model.fit(grid, np.sin(40 * np.pi * grid[:, 0]))
    assert len(model.cv_errors_) > 32 <= model.n_components_


@pytest.mark.parametrize("name", ["KernelPLSClassifier", "SMA", "BoostedLatentFeatures logistic"])
def test_a_class_of_one_row(name: str) -> None:
    labels = np.where(np.arange(90) == 5, "rare", THREE)
    assert fitted(clone(MODELS[name]).set_params(n_components="auto"), labels).n_components_ >= 1
