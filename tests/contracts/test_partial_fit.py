"""Rows in batches give the features of one fit, or are refused with what to use instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import depmax
from depmax import extraction, scan
from depmax.extraction import DependenceExtractor
from tests.contracts.discovery import classes

# columns are on different scales on purpose
pytestmark = pytest.mark.filterwarnings("ignore::depmax.ScaleWarning")

FOUND = {
    name: cls
    for name, cls in classes(extraction, DependenceExtractor).items()
    if hasattr(cls(), "partial_fit")
}
ROWS = 240


def _table() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Columns in different units, far from zero, and targets of every type."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 5)) @ rng.normal(size=(5, 5)) * [1, 30, 1, 0.1, 1] + [5, -3, 0, 4, 1]
    noise = rng.normal(size=ROWS)
    targets = {
        "two": X[:, 0] + noise > 5.0,
        "many": np.digitize(X[:, 0] + noise, [3.0, 5.0, 7.0]),
        "text": np.array(["low", "middle", "high"])[np.digitize(X[:, 2], [-1.0, 1.0])],
        "numbers": X[:, 0] + 0.2 * X[:, 2] ** 2 + noise,
        "outputs": np.column_stack([X[:, 3] + noise, X[:, 2]]),
    }
    return X, targets


X, TARGETS = _table()
OF_CLASSES = ("KernelLDA", "KernelPLSClassifier", "SIR", "PHD")
MODELS: dict[str, tuple[Any, list[str]]] = {
    name: (cls(2), ["two", "many", "text"]) for name, cls in FOUND.items()
}
MODELS |= {
    "HSCA biased": (depmax.HSCA(2, target_kernel="linear"), ["many", "numbers", "outputs"]),
    "HBFE biased": (depmax.HBFE(3, unbiased=False, target_kernel="linear"), ["numbers", "outputs"]),
    "HBFE share": (depmax.HBFE(0.9, target_kernel="delta"), ["many"]),
    "KernelPLS numbers": (depmax.KernelPLS(2), ["numbers", "outputs", "many"]),
    "Regression": (depmax.LinearRegressionFeature(2), ["numbers", "outputs"]),
    "SIR regularised": (depmax.SIR(2, alpha=0.1), ["many"]),
}
CASES = [(name, target) for name, (_, targets) in MODELS.items() for target in targets]
SPLITS = {"uneven": [1, 70, 160], "many": list(range(20, ROWS, 20)), "one": []}


def _batches(split: str, *parts: Any) -> Any:
    ends = [*SPLITS[split], ROWS]
    for start, end in zip([0, *SPLITS[split]], ends, strict=True):
        yield tuple(part[start:end] for part in parts)


def _fitted(model: Any, y: np.ndarray, split: str, rows: Any = X) -> Any:
    labels = y.dtype.kind != "f"
    for number, (part, answers) in enumerate(_batches(split, rows, y)):
        known = {"classes": np.unique(y)} if labels and number == 0 else {}
        model.partial_fit(part, answers, **known)
    return model


def _require_equal(found: Any, expected: Any, rows: Any = X) -> None:
    values = expected.transform(rows)
    assert_allclose(found.transform(rows), values, rtol=0, atol=1e-8 * np.abs(values).max())
    largest = np.abs(expected.dependence_).max()
    assert_allclose(found.dependence_, expected.dependence_, rtol=0, atol=1e-8 * largest)
    for name in ("components_", "loadings_", "mean_", "coef_", "intercept_"):
        if hasattr(expected, name):
            value = getattr(expected, name)
            atol = 1e-8 * np.abs(value).max()
            assert_allclose(getattr(found, name), value, rtol=0, atol=atol)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(("name", "target"), CASES)
def test_any_split_gives_the_features_of_one_fit(name: str, target: str, split: str) -> None:
    y, model = TARGETS[target], MODELS[name][0]
    _require_equal(_fitted(clone(model), y, split), clone(model).fit(X, y))


@pytest.mark.parametrize("name", sorted(FOUND))
def test_weights_and_sparse_rows(name: str, rng: np.random.Generator) -> None:
    y, weights = TARGETS["many"], rng.integers(0, 4, size=ROWS).astype(float)
    thin = sparse.csr_array(np.where(np.abs(X) > 1.0, X, 0.0))
    model = FOUND[name](2)
    for part, answers, some in _batches("uneven", thin[1:], y[1:], weights[1:]):
        model.partial_fit(part, answers, classes=np.unique(y), sample_weight=some)
    expected = FOUND[name](2).fit(thin[1:].toarray(), y[1:], sample_weight=weights[1:])
    _require_equal(model, expected, thin.toarray())


@pytest.mark.parametrize("name", sorted(FOUND))
def test_a_saved_model_goes_on(name: str, tmp_path: Path) -> None:
    y = TARGETS["text"]
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = FOUND[name](2).partial_fit(frame[:100], y[:100])
    depmax.save_model(model, tmp_path / "model.skops")
    again = depmax.load_model(tmp_path / "model.skops").partial_fit(frame[100:], y[100:])
    expected = FOUND[name](2).fit(frame, y)
    _require_equal(again, expected, frame)
    assert list(again.feature_names_in_) == list("abcde")
    assert list(again.coordinate_names_) == list(expected.coordinate_names_)
    assert not hasattr(clone(again), "_batches")
    assert clone(again).get_params() == model.get_params()


def test_fit_starts_anew() -> None:
    y = TARGETS["many"]
    model = depmax.KernelLDA(2).partial_fit(X[:100], y[:100])
    model.fit(X[100:], y[100:])
    _require_equal(model, depmax.KernelLDA(2).fit(X[100:], y[100:]))
    with pytest.raises(AttributeError) as refusal:
        model.partial_fit(X[:100], y[:100])
    assert "was fitted by fit, which keeps no sums" in str(refusal.value.__cause__)


def test_a_refused_batch_leaves_those_before_it() -> None:
    """Rows that cancel all that is known are refused, and the next batch goes on without them."""
    rows = np.array([[1.0, 2.0], [2.0, 0.0], [-1.0, 1.0], [-3.0, 1.5]])
    y = np.array([0, 0, 1, 1])
    model = depmax.HSCA(1).partial_fit(rows, y)
    with pytest.raises(ValueError, match=r"No direction .* target"):
        model.partial_fit(rows, 1 - y)
    model.partial_fit(rows + 1.0, y)
    whole = depmax.HSCA(1).fit(np.vstack([rows, rows + 1.0]), np.tile(y, 2))
    np.testing.assert_allclose(model.transform(rows), whole.transform(rows), rtol=1e-8)


def test_classes_of_later_batches() -> None:
    y = np.sort(TARGETS["many"])
    with pytest.raises(ValueError, match=r"class 3, .* first batch"):
        depmax.HBFE(1).partial_fit(X[:150], y[:150]).partial_fit(X[150:], y[150:])
    model = depmax.HBFE(1).partial_fit(X[:3], y[:3], classes=[0, 1, 2, 3])
    with pytest.raises(NotFittedError):
        model.transform(X)
    _require_equal(model.partial_fit(X[3:], y[3:]), depmax.HBFE(1).fit(X, y))


@pytest.mark.parametrize(
    ("model", "target", "message"),
    [
        (depmax.HSCA(2, kernel="gaussian"), "two", r"HSCA .*use kernel='linear'"),
        (depmax.HSCA(2, unbiased=True), "two", r"HSCA .*unbiased=False"),
        (depmax.HBFE(2, beta=0.1), "two", r"HBFE .*Use beta=0"),
        (depmax.KernelPLS("auto"), "two", r"KernelPLS .*Give a number"),
        (depmax.HBFE(2, target_kernel="gaussian"), "two", r"HBFE .*estimated from all rows"),
        (depmax.HBFE(2), "numbers", r"HBFE .*target_kernel='linear'"),
        (depmax.HBFE(2, target_kernel="linear"), "numbers", r"HBFE .*unbiased=False"),
        (depmax.SIR(2), "numbers", r"SIR .*quantiles.*numpy\.digitize"),
        (depmax.PHD(2), "numbers", r"PHD .*numpy\.digitize"),
    ],
)
def test_what_is_no_sum_is_refused_with_the_remedy(model: Any, target: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, TARGETS[target])


def test_other_rows_are_refused() -> None:
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "red", "blue")})
    with pytest.raises(TypeError, match=r"categorical columns \(b\)"):
        depmax.KernelLDA(1).partial_fit(frame, TARGETS["two"])
    with pytest.raises(TypeError, match="takes batches in memory"):
        depmax.KernelLDA(1).partial_fit(scan(X), TARGETS["two"])
    model = depmax.KernelPLS(1).partial_fit(X, X[:, 0] * 2.0)
    with pytest.raises(ValueError, match="a different number of columns"):
        model.partial_fit(X, TARGETS["outputs"])
