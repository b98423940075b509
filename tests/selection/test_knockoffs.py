"""Knockoffs: their covariances, the contest, and what is kept or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from depmax import (
    BAHSIC,
    DependenceFilter,
    HSICLasso,
    KernelRidgeElimination,
    Knockoffs,
    NoDependenceWarning,
)
from depmax.selection.knockoffs import entropy_distances, gaussian_knockoffs, knockoff_threshold


def _correlated(rng: np.random.Generator, m: int, d: int, rho: float) -> np.ndarray:
    X = rng.normal(size=(m, d))
    for j in range(1, d):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    return X


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_knockoffs_have_the_covariances_of_columns(rho: float, rng: np.random.Generator) -> None:
    X = _correlated(rng, 20_000, 4, rho)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    knockoffs, s = gaussian_knockoffs(X, rng)
    sigma = X.T @ X / len(X)
    np.testing.assert_allclose(knockoffs.T @ knockoffs / len(X), sigma, atol=0.04)
    np.testing.assert_allclose(X.T @ knockoffs / len(X), sigma - np.diag(s), atol=0.04)


def test_distances_are_where_entropy_is_largest(rng: np.random.Generator) -> None:
    sigma = 0.6 ** np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    s = entropy_distances(sigma)

    def entropy(values: np.ndarray) -> float:
        return float(np.log(values).sum() + np.linalg.slogdet(2 * sigma - np.diag(values))[1])

    assert np.linalg.eigvalsh(2 * sigma - np.diag(s)).min() > 0
    for _ in range(20):
        assert entropy(s * (1 + 0.02 * rng.uniform(-1, 1, 6))) <= entropy(s) + 1e-4


def test_few_rows_give_the_same_distances(rng: np.random.Generator) -> None:
    """Changes among rows are those among columns, also where columns are copies or nearly empty."""
    X = _correlated(rng, 20, 100, 0.8)
    X[:, 7], X[:, 8] = X[:, 6], np.eye(20)[3]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    spread = np.sqrt(0.7 / 20) * X
    sigma = 0.3 * np.eye(100) + spread.T @ spread
    np.testing.assert_allclose(entropy_distances(sigma, spread), entropy_distances(sigma))


def test_what_can_be_found_is_said_first(rng: np.random.Generator) -> None:
    X = rng.normal(size=(40, 300))
    y = X[:, 0] > 0
    first = "tell 5 of 300 columns from the rest takes more than 64 rows"
    with (
        pytest.warns(NoDependenceWarning, match="kept no column"),
        pytest.warns(UserWarning, match=first),
    ):
        Knockoffs(fdr=0.2).fit(X, y)
    assert Knockoffs(3, fdr=0.2).fit(X, y).n_features_ == 3  # a number is no discovery


def test_threshold_counts_one_more_false_discovery_than_seen() -> None:
    scores = np.array([9.0, 8.0, 7.0, 6.0, 5.0, 4.0, -3.0, 2.0, 1.0])
    assert knockoff_threshold(scores, 0.25) == 1.0  # (1 + 1)/8
    assert knockoff_threshold(scores, 0.2) == 4.0  # (1 + 0)/6
    assert knockoff_threshold(scores, 0.1) == np.inf


def test_true_columns_are_found_among_correlated_ones(rng: np.random.Generator) -> None:
    X = _correlated(rng, 300, 50, 0.5)
    true = np.array([3, 13, 23, 33, 43])
    y = X[:, true[:3]].sum(axis=1) + (X[:, true[3:]] ** 2).sum(axis=1) + rng.normal(size=300)
    kept = Knockoffs(fdr=0.2).fit(X, y).get_support(indices=True)
    assert set(true) <= set(kept)
    assert len(kept) <= 8
    screened = DependenceFilter("auto").fit(X, y).get_support(indices=True)
    assert len(screened) > len(kept)  # neighbours of true columns depend on y too


@pytest.mark.parametrize("kind", ["two classes", "classes", "outputs", "labels"])
def test_every_type_of_target(kind: str, rng: np.random.Generator) -> None:
    X = rng.normal(size=(500, 12))
    t = X[:, :6].sum(axis=1) / 2
    y = {
        "two classes": np.where(t > 0, "yes", "no"),
        "classes": np.digitize(t, [-0.7, 0.7]),
        "outputs": np.column_stack([t, t + rng.normal(size=500)]),
        "labels": np.column_stack([t > 0, t > 1]).astype(int),
    }[kind]
    assert set(range(6)) <= set(Knockoffs(fdr=0.2).fit(X, y).get_support(indices=True))


@pytest.mark.parametrize(
    "estimator",
    [
        DependenceFilter(),
        HSICLasso(),
        BAHSIC(),
        KernelRidgeElimination(),
        RandomForestRegressor(n_estimators=20, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_any_score_competes(estimator: Any, rng: np.random.Generator) -> None:
    X = rng.normal(size=(200, 8))
    y = 3 * X[:, 2] + X[:, 5]
    model = Knockoffs(1, estimator=estimator).fit(X, y)
    assert model.support_[2]
    assert model.ranking_[2] == 1


def test_columns_and_knockoffs_are_treated_alike(rng: np.random.Generator) -> None:
    """Without any dependence the signs of scores are those of fair coins."""
    signs = []
    for seed in range(20):
        X, y = rng.normal(size=(60, 30)), rng.normal(size=60)
        model = Knockoffs(5, estimator=DependenceFilter(), random_state=seed).fit(X, y)
        signs += np.sign(model.scores_).tolist()
    assert abs(np.mean(signs)) < 4 / np.sqrt(len(signs))


def test_what_cannot_be_kept_is_said(rng: np.random.Generator) -> None:
    X = rng.normal(size=(100, 5))
    with pytest.warns(NoDependenceWarning, match="at least 10 must be .* X has 5"):
        model = Knockoffs().fit(X, X[:, 0])
    assert model.n_features_ == 0
    assert model.threshold_ == np.inf
    assert not model.get_support().any()
    assert model.ranking_[0] == 1
    assert not model.to_frame(library="pandas")["kept"].any()
    X = rng.normal(size=(100, 20))
    with pytest.warns(NoDependenceWarning, match="no set of at least 10 columns"):
        Knockoffs().fit(X, rng.normal(size=100))
    assert Knockoffs(3).fit(X, X[:, 0]).support_.sum() == 3  # a number needs no guarantee


def test_more_columns_than_rows(rng: np.random.Generator) -> None:
    X = rng.normal(size=(120, 200))
    y = 2 * X[:, :8].sum(axis=1)
    model = Knockoffs(fdr=0.2).fit(X, y)
    kept = model.get_support(indices=True)
    assert np.mean(kept < 8) > 0.6
    assert (model.s_ > 0).all()


def test_constant_and_skewed_columns(rng: np.random.Generator) -> None:
    X = np.exp(2 * _correlated(rng, 400, 12, 0.5))
    X[:, 11] = 7.0
    y = np.log(X[:, :6]).sum(axis=1)
    model = Knockoffs(fdr=0.2).fit(X, y)
    assert model.support_[:6].all()
    assert not model.support_[11]
    assert model.s_[11] == 0.0


def test_frames_and_pipelines(rng: np.random.Generator) -> None:
    X = pd.DataFrame(rng.normal(size=(200, 8)), columns=list("abcdefgh"))
    y = (X["a"] + X["b"] + X["c"] + X["d"] + X["e"] > 0).astype(int)
    model = Knockoffs(fdr=0.25).fit(X, y)
    assert set("abcde") <= set(model.get_feature_names_out())
    assert model.to_frame()["column"][0] in "abcde"
    assert make_pipeline(Knockoffs(5), LogisticRegression()).fit(X, y).score(X, y) > 0.9
    with pytest.raises(TypeError, match="column 'kind' is categorical"):
        Knockoffs().fit(X.assign(kind=np.where(X["a"] > 0, "u", "v")), y)


def test_refusals(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(50, 4)), rng.normal(size=50)
    with pytest.raises(ValueError, match="fdr of Knockoffs"):
        Knockoffs(fdr=0.0).fit(X, y)
    with pytest.raises(TypeError, match="scores_, coef_"):
        Knockoffs(1, estimator=make_pipeline(DependenceFilter(), RandomForestRegressor(2))).fit(
            X, y
        )


def test_another_draw_is_another_contest(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(60, 6)), rng.normal(size=60)
    first, again, other = (
        Knockoffs(2, random_state=seed, estimator=DependenceFilter()).fit(X, y).scores_
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
