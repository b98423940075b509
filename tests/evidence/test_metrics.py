"""Every metric is scikit-learn's: plain, with weights, and for the counts of a bootstrap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import metrics as sk
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from depmax.evidence import Metric, Predicted, Truth, read_metrics
from depmax.evidence.metrics import DEFAULTS, SUITABLE

N = 90
TESTED = np.ones(N, dtype=bool)


def problem(kind: str, seed: int = 0) -> tuple[Truth, Predicted]:
    """A target, and predictions that are right more often than not."""
    rng = np.random.default_rng(seed)
    if kind in ("2 classes", "3 classes"):
        n_classes = int(kind[0])
        y = np.arange(N) % n_classes
        scores = rng.dirichlet(np.ones(n_classes), size=N) + 0.6 * np.eye(n_classes)[y]
        scores = np.round(scores / scores.sum(axis=1, keepdims=True), 2)  # with ties
        scores[:, -1] = 1.0 - scores[:, :-1].sum(axis=1)
        names = np.array(["low", "middle", "top"])[:n_classes]
        return Truth("classes", y, names), Predicted(scores.argmax(axis=1), scores, TESTED)
    if kind == "multilabel":
        labels = (rng.random((N, 4)) < 0.4).astype(int)
        scores = np.clip(0.5 * labels + 0.6 * rng.random((N, 4)), 0, 1)
        return Truth("multilabel", labels), Predicted((scores > 0.5).astype(int), scores, TESTED)
    shape = (N, 3) if kind == "multioutput" else (N,)
    numbers = 1e4 + rng.normal(size=shape)
    found = numbers + 0.5 * rng.normal(size=shape)
    # kind is one of the two types of numbers
    return Truth(kind, numbers), Predicted(found, None, TESTED)


def area(y: np.ndarray, scores: np.ndarray, **weight: Any) -> float:
    if scores.shape[1] == 2:
        return float(sk.roc_auc_score(y, scores[:, 1], **weight))
    rows = [sk.roc_auc_score(y == k, scores[:, k], **weight) for k in range(scores.shape[1])]
    return float(np.mean(rows))


def one_error(labels: np.ndarray, scores: np.ndarray, sample_weight: np.ndarray) -> float:
    wrong = labels[np.arange(len(labels)), scores.argmax(axis=1)] == 0
    some = labels.any(axis=1)
    return float(np.average(wrong[some], weights=sample_weight[some]))


#: scikit-learn's function, whether it looks at scores, and options.
REFERENCES: dict[str, tuple[Any, bool, dict[str, Any]]] = {
    "balanced_accuracy": (sk.balanced_accuracy_score, False, {}),
    "accuracy": (sk.accuracy_score, False, {}),
    "f1_macro": (sk.f1_score, False, {"average": "macro"}),
    "f1_micro": (sk.f1_score, False, {"average": "micro"}),
    "r2": (sk.r2_score, False, {}),
    "neg_root_mean_squared_error": (sk.root_mean_squared_error, False, {}),
    "neg_mean_absolute_error": (sk.mean_absolute_error, False, {}),
    "roc_auc": (area, True, {}),
    "neg_log_loss": (sk.log_loss, True, {}),
    "hamming_loss": (sk.hamming_loss, False, {}),
    "one_error": (one_error, True, {}),
}
KINDS = {"classes": ["2 classes", "3 classes"]}
CASES = [
    (name, kind)
    for name, kinds in SUITABLE.items()
    for one in kinds
    for kind in KINDS.get(one, [one])
]


def weights_of_rows(seed: int = 1) -> np.ndarray:
    """All equal, fractions, zeros and ones, and the counts of three draws."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(N, np.full(N, 1 / N), size=3)
    return np.vstack([np.ones(N), rng.gamma(2.0, size=N), rng.random(N) < 0.6, counts])


def test_every_metric_has_a_reference() -> None:
    assert set(REFERENCES) == set(SUITABLE)
    assert {name for names in DEFAULTS.values() for name in names} <= set(SUITABLE)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_as_scikit_learn_defines_it(name: str, kind: str) -> None:
    truth, run = problem(kind)
    (metric,) = read_metrics(name, truth)
    function, by_scores, options = REFERENCES[name]
    weights = weights_of_rows()
    expected = [
        function(
            truth.values, run.scores if by_scores else run.values, **options, sample_weight=row
        )
        for row in weights
    ]
    found = metric.sign * metric.judge(truth, [run])(weights)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_larger_is_better_and_guesses_are_within_bounds(name: str, kind: str) -> None:
    truth, run = problem(kind)
    (metric,) = read_metrics(name, truth)
    perfect = run._replace(values=truth.values)
    if run.scores is not None:
        own = np.eye(truth.n_classes)[truth.values] if truth.n_classes else truth.values
        perfect = perfect._replace(scores=own.astype(float))
    worst = run._replace(values=np.roll(run.values, 1, axis=0))
    if run.scores is not None:
        worst = worst._replace(scores=np.roll(run.scores, 1, axis=0))
    ones = np.ones((1, N))
    values = [float(metric.judge(truth, [each])(ones)[0]) for each in (worst, run, perfect)]
    assert values == sorted(values)
    low, high = metric.bounds
    assert all(low <= metric.sign * value <= high + 1e-12 for value in values)
    assert values[2] == pytest.approx(high if metric.sign > 0 else 0.0, abs=1e-9)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_weights_are_repeated_rows(name: str, kind: str) -> None:
    truth, run = problem(kind)
    (metric,) = read_metrics(name, truth)
    counts = np.random.default_rng(2).integers(0, 4, size=N)
    rows = np.repeat(np.arange(N), counts)
    scores = None if run.scores is None else run.scores[rows]
    repeated = Predicted(run.values[rows], scores, TESTED[:1].repeat(len(rows)))
    longer = Truth(truth.kind, truth.values[rows], truth.classes)
    expected = metric.judge(longer, [repeated])(np.ones((1, len(rows))))
    found = metric.judge(truth, [run])(counts[np.newaxis].astype(float))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["balanced_accuracy", "r2", "roc_auc"])
def test_rows_that_were_not_tested_do_not_count(name: str) -> None:
    truth, run = problem("numbers" if name == "r2" else "2 classes")
    (metric,) = read_metrics(name, truth)
    tested = np.arange(N) < 60
    wrong = run.values.copy()
    wrong[~tested] = 0
    found = metric.judge(truth, [Predicted(wrong, run.scores, tested)])(np.ones((1, N)))
    expected = metric.judge(truth, [run])(tested[np.newaxis].astype(float))
    np.testing.assert_allclose(found, expected)


def test_repeats_are_pooled_sums() -> None:
    """R² of the mean squared error, not the mean of two R²; a row counts once."""
    truth, first = problem("numbers")
    second = problem("numbers", seed=3)[1]
    (metric,) = read_metrics("r2", truth)
    error = np.mean([(truth.values - run.values) ** 2 for run in (first, second)])
    found = metric.judge(truth, [first, second])(np.ones((1, N)))[0]
    assert found == pytest.approx(1 - error / truth.values.var(), rel=1e-6)


def scorers(kind: str) -> list[str]:
    """Names of scikit-learn's scorers that judge a fitted model of such a target."""
    model, X, y = fitted(kind)
    names = []
    for name in sk.get_scorer_names():
        try:
            value = sk.get_scorer(name)(model, X, y)
        except Exception:  # not for this target
            continue
        if np.isfinite(value):
            names.append(name)
    return names


def fitted(kind: str) -> tuple[Any, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * N, 3))
    if kind == "numbers":
        y = np.exp(X[:, 0]) + rng.random(2 * N)
        return LinearRegression().fit(X[:N], y[:N]), X[N:], y[N:]
    y = np.digitize(
        X[:, 0] + 0.5 * rng.normal(size=2 * N), [0.0] if kind[0] == "2" else [-0.5, 0.5]
    )
    if kind == "multilabel":
        y = (X[:, :2] + 0.5 * rng.normal(size=(2 * N, 2)) > 0).astype(int)
        return KNeighborsClassifier().fit(X[:N], y[:N]), X[N:], y[N:]
    return GaussianNB().fit(X[:N], y[:N]), X[N:], y[N:]


@pytest.mark.filterwarnings("ignore")  # of scikit-learn's scorers, on targets they do not suit
@pytest.mark.parametrize("kind", ["2 classes", "3 classes", "numbers"])
def test_any_scorer_is_replayed(kind: str) -> None:
    """Stored predictions give the score of the model that made them."""
    model, X, y = fitted(kind)
    if kind == "numbers":
        truth, run = Truth("numbers", y), Predicted(model.predict(X), None, TESTED)
    else:
        classes = model.classes_
        truth = Truth("classes", np.searchsorted(classes, y), classes)
        run = Predicted(np.searchsorted(classes, model.predict(X)), model.predict_proba(X), TESTED)
    tried = 0
    for name in scorers(kind):
        try:
            (metric,) = read_metrics(name, truth)
        except ValueError:  # clusterings need no predictions, and some refuse negative numbers
            continue
        tried += 1
        scorer = sk.get_scorer(name)
        for weights in (np.ones(N), np.random.default_rng(1).multinomial(N, np.full(N, 1 / N))):
            rows = np.repeat(np.arange(N), weights.astype(int))
            expected = scorer(model, X[rows], y[rows])
            found = metric.judge(truth, [run])(weights[np.newaxis].astype(float))[0]
            assert found == pytest.approx(expected, rel=1e-6, abs=1e-6), name
    assert tried > 12


def test_a_scorer_takes_fractional_weights_or_says_that_it_does_not() -> None:
    truth, run = problem("numbers")
    weights = np.random.default_rng(0).random((1, N))
    (metric,) = read_metrics("neg_mean_squared_error", truth)
    expected = -sk.mean_squared_error(truth.values, run.values, sample_weight=weights[0])
    assert metric.judge(truth, [run])(weights)[0] == pytest.approx(expected)
    for scorer in ("neg_max_error", lambda model, X, y: -np.abs(model.predict(X) - y).mean()):
        (metric,) = read_metrics(scorer, truth)
        assert np.isfinite(metric.judge(truth, [run])(np.ones((1, N)))).all()
        with pytest.raises(ValueError, match="takes no sample_weight"):
            metric.judge(truth, [run])(weights)


class TestNames:
    def test_one_several_or_a_dictionary(self) -> None:
        truth, _ = problem("2 classes")
        assert [m.name for m in read_metrics(["accuracy", "roc_auc"], truth)] == [
            "accuracy",
            "roc_auc",
        ]
        named = read_metrics({"mine": sk.make_scorer(sk.cohen_kappa_score)}, truth)
        assert [m.name for m in named] == ["mine"]
        assert all(isinstance(metric, Metric) for metric in read_metrics(None, truth))

    def test_wrong_ones(self) -> None:
        truth, _ = problem("2 classes")
        with pytest.raises(ValueError, match="scoring is empty"):
            read_metrics([], truth)
        with pytest.raises(ValueError, match=r"'r2' .*classes"):
            read_metrics("r2", truth)
        with pytest.raises(ValueError, match="'f1' cannot judge"):
            read_metrics("f1", problem("3 classes")[0])
        with pytest.raises(ValueError, match="accurracy"):
            read_metrics("accurracy", truth)


def test_labels_that_nobody_has_count_as_in_scikit_learn() -> None:
    local = np.random.default_rng(0)
    own, found = local.integers(0, 2, size=(2, 40, 4))
    own[:, 3] = found[:, 3] = 0
    truth = Truth("multilabel", own)
    run = Predicted(found, None, np.ones(40, dtype=bool))
    (metric,) = read_metrics("f1_macro", truth)
    expected = sk.f1_score(own, found, average="macro", zero_division=0.0)
    assert metric.judge(truth, [run])(np.ones((1, 40)))[0] == pytest.approx(expected)
