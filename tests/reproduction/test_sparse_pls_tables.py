"""Runners of the sparse PLS paper's tables, on small data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from depmax import SMC, KernelPLS
from reproduction import (
    sparse_pls_classes,
    sparse_pls_methods,
    sparse_pls_regression,
    tables,
)
from reproduction.figures import published
from reproduction.kept_splits import KeptSplits
from reproduction.sparse_pls_learners import (
    LeastSquares,
    Machine,
    Neighbours,
    Split,
)
from reproduction.sparse_pls_methods import CLASSES, REGRESSION
from reproduction.sparse_pls_protocol import (
    PAIRED,
    Plan,
    chosen_methods,
    normalised,
    numbers_of_features,
    outer_errors,
)

rng = np.random.default_rng(0)
X = normalised(rng.normal(size=(60, 5)))
y = normalised((X[:, 0] + 0.5 * X[:, 1] + 0.02 * rng.normal(size=60))[:, np.newaxis])[:, 0]
CLASS = np.where(y > 0, 1.0, -1.0)
SPLIT = Split(X[:40], X[40:], CLASS[:40], CLASS[40:])


def test_every_method_has_its_figures():
    for name, methods in (
        ("sparse_pls_regression", REGRESSION),
        ("sparse_pls_neighbors", CLASSES),
        ("sparse_pls_machines", CLASSES),
    ):
        assert name in tables()
        for figures in published(name)["figures"].values():
            assert set(figures) == {method.name for method in methods}


def test_learners():
    expected = KNeighborsClassifier(3).fit(X[:40, :2], CLASS[:40]).score(X[40:, :2], CLASS[40:])
    found = Neighbours().errors(SPLIT, [1, 2], [1, 3])
    assert found.shape == (2, 2)
    np.testing.assert_allclose(found[1, 1], 1 - expected)
    expected = SVC(C=4.0, kernel="linear").fit(X[:40, :2], CLASS[:40]).score(X[40:, :2], CLASS[40:])
    np.testing.assert_allclose(Machine().errors(SPLIT, [2], [4.0])[0, 0], 1 - expected)
    exact = Split(X[:40], X[40:], X[:40, 0] + 2, X[40:, 0] + 2)
    np.testing.assert_allclose(LeastSquares().errors(exact, [1], [None]), 0, atol=1e-12)


def test_features_are_nested():
    for cls in (SMC, KernelPLS):
        np.testing.assert_allclose(
            cls(4).fit_transform(X, y)[:, :2], cls(2).fit_transform(X, y), atol=1e-12
        )


def test_numbers_of_features():
    assert numbers_of_features(1) == [1]
    assert numbers_of_features(12) == [1, 2, 3, 4, 5, 6, 7, 8, 10, 12]
    assert numbers_of_features(100)[-1] == 100


@pytest.mark.parametrize("method", REGRESSION, ids=lambda method: method.name)
def test_regression(method, monkeypatch):
    monkeypatch.setattr(sparse_pls_methods, "WIDTHS", (0.5,))
    monkeypatch.setattr(sparse_pls_methods, "SHARES", (0.5,))
    monkeypatch.setattr(sparse_pls_methods, "BASES", (20,))
    monkeypatch.setattr(sparse_pls_methods, "MOST_FEATURES", 6)
    plan = Plan(folds=2, inner_folds=2)
    errors = outer_errors(X, y, method, LeastSquares(), plan, KeptSplits(PAIRED), "toy")
    assert len(errors) == 2
    assert np.isfinite(errors).all()
    if not method.name.endswith("rKOPLS"):
        assert max(errors) < y.std()


@pytest.mark.parametrize("method", CLASSES, ids=lambda method: method.name)
def test_classes(method, monkeypatch):
    monkeypatch.setattr(sparse_pls_methods, "WIDTHS", (0.5,))
    monkeypatch.setattr(sparse_pls_methods, "SHARES", (0.5,))
    monkeypatch.setattr(sparse_pls_methods, "MOST_FEATURES", 6)
    plan = Plan(folds=2, inner_folds=2)
    errors = outer_errors(X, CLASS, method, Neighbours(), plan, KeptSplits(PAIRED), "toy")
    assert max(errors) < 0.4


def test_other_folds_go_on_where_the_first_end():
    plain = next(method for method in CLASSES if method.name == "PLS")
    later = replace(plain, name="PLS, other folds", first_seed=1)
    two, one = Plan(repeats=2, inner_folds=2), Plan(inner_folds=2)
    both = outer_errors(X, CLASS, plain, Neighbours(), two, KeptSplits(PAIRED), "toy")
    second = outer_errors(X, CLASS, later, Neighbours(), one, KeptSplits(PAIRED), "toy")
    assert second == both[5:]


def test_streams(monkeypatch):
    few = chosen_methods(CLASSES, quick=True)[:2]
    monkeypatch.setattr(sparse_pls_classes, "chosen_methods", lambda methods, quick: few)
    rows = tables()["sparse_pls_neighbors"].run(quick=True)
    assert [row["method"] for row in rows] == ["All features", "PLS"]
    assert all(abs(row["difference"]) < 0.1 for row in rows)
    for table in ("sparse_pls_machines", "sparse_pls_regression"):
        with pytest.raises(ValueError, match="no set named"):
            tables()[table].run(datasets=["iris"])
    monkeypatch.setattr(sparse_pls_regression, "load_external", lambda name: Data)
    monkeypatch.setattr(sparse_pls_regression, "chosen_methods", lambda methods, quick: methods[:2])
    rows = tables()["sparse_pls_regression"].run(quick=True)
    assert [row["method"] for row in rows] == ["All features", "PLS"]


class Data:
    X, y = X, y
