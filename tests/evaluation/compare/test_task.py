"""Classes or numbers: decided once, said, and told by ``task`` where the guess is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from depmax import compare
from depmax.data import read_target

RNG = np.random.default_rng(0)
LABELS = np.repeat(np.arange(26), 8)
X = np.column_stack([LABELS + RNG.normal(0, 0.1, len(LABELS)), RNG.normal(size=(len(LABELS), 3))])
QUICK: dict[str, Any] = {"methods": ["PCA"], "cv": 2, "dimensions": [1, 2], "random_state": 0}


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        (LABELS, "numbers"),
        (LABELS.astype(float), "numbers"),
        (LABELS / 2, "numbers"),
        (np.array([f"c{label}" for label in LABELS]), "classes"),
        (LABELS % 3, "classes"),
        (LABELS % 2 == 0, "classes"),
        (LABELS[:, None] % [2, 3] == 0, "multilabel"),
    ],
)
def test_one_function_decides(y: np.ndarray, kind: str) -> None:
    assert read_target(y).kind == kind
    wanted = "multilabel" if y.ndim == 2 else "classes"
    assert read_target(y, task="classification").kind == wanted
    if y.dtype.kind == "U":
        with pytest.raises(ValueError, match=r"task='regression'.*numbers"):
            read_target(y, task="regression")
    else:
        wanted = "multioutput" if y.ndim == 2 else "numbers"
        assert read_target(y, task="regression").kind == wanted
    with pytest.raises(ValueError, match="task must be one of 'auto'"):
        read_target(y, task="guess")


@pytest.mark.parametrize("y", [LABELS, LABELS.astype(float), LABELS / 2])
def test_many_classes_that_look_like_numbers(y: np.ndarray, tmp_path: Path) -> None:
    found = compare(X, y, task="classification", **QUICK)
    assert "target 'y': 26 classes" in repr(found)
    assert found.setting.problem.kind == "classes"
    predicted = found.estimator().predict(X)
    assert predicted.dtype.kind == ("f" if (y % 1).any() else "i")
    assert set(predicted.tolist()) <= set(y.tolist())
    assert np.mean(predicted == y) > 0.1  # chance is 0.04
    page = found.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "14 rarest classes are drawn as one" in page


def test_text_of_many_classes_has_a_report(tmp_path: Path) -> None:
    found = compare(X, np.array([f"class {label}" for label in LABELS]), **QUICK)
    assert found.to_html(tmp_path / "report.html").stat().st_size > 10_000


def test_few_whole_numbers_as_numbers() -> None:
    assert "target 'y': numbers" in repr(compare(X, LABELS % 4, task="regression", **QUICK))
    assert "target 'y': 4 classes" in repr(compare(X, LABELS % 4, **QUICK))
    assert "target 'y': numbers" in repr(compare(X, LABELS, **QUICK))


def test_two_classes_between_whole_numbers() -> None:
    found = compare(X, (X[:, 0] > 12) + 0.5, task="classification", **QUICK)
    assert found.setting.problem.kind == "classes"
    assert set(found.estimator().predict(X)) == {0.5, 1.5}
    assert found.verdict.guess == 0.5
    with_defaults = compare(X, (X[:, 0] > 12) + 0.5, ["BAHSIC"], task="classification", cv=2)
    assert not with_defaults.failures
