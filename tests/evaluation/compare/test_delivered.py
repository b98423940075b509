"""What is delivered is what was judged: pipelines repeat the stored predictions of every fold."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.utils import _safe_indexing

from depmax import compare
from depmax.evaluation import Comparison
from depmax.evaluation.comparison.catalogue import compared_methods, default_methods
from depmax.evaluation.comparison.problem import Problem
from depmax.evaluation.comparison.trials import fitted, make_estimator, quiet_warnings, response

N = 90
RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(N, 6))
LEVEL = RNG.choice(["low", "middle", "high"], size=N)
SIGNAL = NUMBERS[:, 1] + NUMBERS[:, 4] + (LEVEL == "high") + 0.5 * RNG.normal(size=N)
TARGETS = {
    "classes": np.where(SIGNAL > 0.3, "ill", "well"),
    "numbers": SIGNAL,
    "multioutput": np.column_stack([SIGNAL, NUMBERS[:, 0]]),
    "multilabel": np.column_stack([SIGNAL > 0, NUMBERS[:, 0] > 0]).astype(int),
}


def table(kind: str) -> Any:
    if kind == "array":
        return NUMBERS
    gaps = NUMBERS.copy()
    gaps[::7, 1] = np.nan
    gaps[3::11, 4] = np.nan
    if kind == "array with gaps":
        return gaps
    levels = np.where(np.arange(N) % 13 == 5, None, LEVEL)
    columns = {f"n{j}": gaps[:, j] for j in range(4)} | {"level": levels, "seen": LEVEL == "low"}
    return pl.DataFrame(columns) if kind == "polars" else pd.DataFrame(columns)


def assert_delivered(found: Comparison) -> None:
    """A pipeline of every candidate, fitted on the training rows, predicts what is stored."""
    assert not found.failures
    setting, folds = found.setting, found.candidates.folds[0]
    for name, trials in found.candidates.by_method.items():
        for (_, number), trial in trials.items():
            train, test = folds[number]
            rows, new = _safe_indexing(found.X, train), _safe_indexing(found.X, test)
            weight = None if setting.sample_weight is None else setting.sample_weight[train]
            for size, (values, scores) in trial.predictions.items():
                with quiet_warnings():
                    model = make_estimator(found.method(name), size, rows, setting)
                    again = response(fitted(model, rows, found.y[train], weight), new, setting)
                told = f"{name} with {size}"
                np.testing.assert_allclose(again[0], values, atol=1e-6, err_msg=told)
                if scores is not None and again[1] is not None:
                    np.testing.assert_allclose(again[1], scores, atol=1e-6, err_msg=told)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", ["array", "array with gaps", "pandas", "polars"])
def test_for_every_table_and_target(kind: str, target: str) -> None:
    methods = ["BAHSIC", "Relief", "PLS", "PCA"]
    options: dict[str, Any] = {"cv": 2, "dimensions": [1, 3], "random_state": 0}
    assert_delivered(compare(table(kind), TARGETS[target], methods, **options))


@pytest.mark.parametrize("judge", ["kernel", "boosting", "linear"])
@pytest.mark.parametrize("target", ["classes", "numbers"])
def test_for_every_judge_with_weights(judge: str, target: str) -> None:
    weight = np.random.default_rng(1).gamma(2.0, size=N)
    scoring = ["roc_auc", "accuracy"] if target == "classes" else None
    found = compare(
        table("pandas"),
        TARGETS[target],
        ["BAHSIC", "PLS"],
        judge=judge,
        scoring=scoring,
        cv=2,
        dimensions=[1, 3],
        sample_weight=weight,
        random_state=0,
    )
    assert_delivered(found)


@pytest.mark.parametrize("name", [method.name for method in compared_methods()])
def test_for_every_method(name: str) -> None:
    method = next(each for each in compared_methods() if each.name == name)
    problem = Problem("classes", N, 6, 2)
    target = "classes" if method.suits(problem) else "numbers"
    sizes = [1, 2] if method.largest(problem) > 1 else [1]
    options: dict[str, Any] = {"cv": 2, "dimensions": sizes, "random_state": 0}
    assert_delivered(compare(NUMBERS, TARGETS[target], [name], **options))


@pytest.mark.parametrize("kind", ["array", "pandas"])
def test_screened_columns(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables wider than searches take are screened first, in the trial and in the pipeline."""

    module = import_module("depmax.evaluation.comparison.compare")
    monkeypatch.setattr(module, "SEARCHED_COLUMNS", 20)
    X: Any = np.random.default_rng(2).normal(size=(N, 60))
    X[:, 7] += SIGNAL
    X = pd.DataFrame(X).rename(columns=str) if kind == "pandas" else X
    found = compare(X, SIGNAL, ["BAHSIC", "HSIC filter"], cv=2, dimensions=[1, 3], random_state=0)
    assert found.setting.n_screened == 20
    assert "Selectors searched the 20 of 60 columns" in repr(found)
    assert_delivered(found)


def test_as_many_columns_as_were_scored() -> None:
    """Whatever default selector is recommended or asked for, on a frame with categories."""
    frame, y = table("pandas"), TARGETS["classes"]
    selectors = [m.name for m in default_methods(Problem("classes", N, 6, 2)) if m.selects]
    found = compare(frame, y, selectors, cv=2, dimensions=[2], random_state=0)
    for name in selectors:
        assert len(found.kept_by(name)) == 2
        names = [str(each) for each in found.transformer(name).get_feature_names_out()]
        assert sorted(names) == sorted(frame.columns[found.kept_by(name)])
    if found.verdict.columns:
        assert len(found.verdict.columns) == found.verdict.size
