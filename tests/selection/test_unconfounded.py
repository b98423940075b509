"""Selectors and extractors that ignore what confounders explain; columns without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.feature_selection import RFE
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import depmax
from depmax import (
    BAHSIC,
    FOHSIC,
    HBFE,
    HSCA,
    SMA,
    DependenceFilter,
    HSICLasso,
    KernelLDA,
    KernelPLS,
    KernelRidgeElimination,
    LinearRegressionFeature,
    Residual,
    Unconfounded,
    load_model,
    save_model,
)

M = 300


def _confounded(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X = (echo of z, own effect, noise, noise), a latent y, and the confounder z."""
    rng = np.random.default_rng(seed)
    z, own = rng.normal(size=(2, M))
    echo = np.sin(2 * z) + 0.3 * rng.normal(size=M)
    X = np.column_stack([echo, own, rng.normal(size=(M, 2))])
    return X, 2.0 * np.sin(2 * z) + own + 0.3 * rng.normal(size=M), z


SELECTORS = {
    "BAHSIC": BAHSIC(1),
    "BAHSIC, linear": BAHSIC(1, kernel="linear"),
    "FOHSIC": FOHSIC(1),
    "DependenceFilter": DependenceFilter(1),
    "DependenceFilter, pearson": DependenceFilter(1, score_func="pearson"),
    "HSICLasso": HSICLasso(1),
    "KernelRidgeElimination": KernelRidgeElimination(1),
    "RFE": RFE(LinearRegression(), n_features_to_select=1),
}
TARGETS = {
    "numbers": lambda latent: latent,
    "two classes": lambda latent: np.where(latent > 0, "in", "out"),
    "classes": lambda latent: np.digitize(latent, [-1.5, 0, 1.5]),
    "outputs": lambda latent: np.column_stack([latent, np.tanh(latent)]),
}


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("name", SELECTORS)
def test_an_echo_is_not_selected_and_an_effect_of_its_own_is(name: str, kind: str) -> None:
    X, latent, z = _confounded()
    y = TARGETS[kind](latent)
    found = Unconfounded(SELECTORS[name]).fit(X, y, given=z)
    assert found.get_support(indices=True).tolist() == [1]
    np.testing.assert_array_equal(found.transform(X)[:, 0], X[:, 1])


@pytest.mark.parametrize("name", sorted(set(SELECTORS) - {"RFE"}))
def test_without_confounders_the_echo_is_selected(name: str) -> None:
    X, y, _ = _confounded()
    assert clone(SELECTORS[name]).fit(X, y).get_support(indices=True).tolist() == [0]


EXTRACTORS = {
    "HBFE": HBFE(1),
    "HSCA": HSCA(1),
    "SMA": SMA(1),
    "KernelPLS": KernelPLS(1),
    "LinearRegressionFeature": LinearRegressionFeature(1),
    "PLSRegression": PLSRegression(1),
}


@pytest.mark.parametrize("name", EXTRACTORS)
def test_a_direction_leaves_the_echo_out(name: str) -> None:
    """The first feature follows the column with its own effect, and hardly the echo."""
    X, y, z = _confounded()
    found = Unconfounded(EXTRACTORS[name]).fit(X, y, given=z)
    feature = np.asarray(found.transform(X))[:, 0]
    own, echo = (abs(np.corrcoef(feature, X[:, j])[0, 1]) for j in (1, 0))
    assert own > 0.85
    assert echo < 0.3


def test_confounders_may_be_columns_of_a_frame_or_an_argument() -> None:
    X, y, z = _confounded()
    alone = Unconfounded(BAHSIC(2)).fit(X, y, given=z)
    names = ["echo", "own", "a", "b"]
    frame = pd.DataFrame(X, columns=names, index=np.arange(M)[::-1])
    frame.insert(2, "z", z)
    for table in (frame, pl.from_pandas(frame)):
        inside = Unconfounded(BAHSIC(2), given="z").fit(table, y)
        assert inside.get_support(indices=True).tolist() == [
            j + (j >= 2) for j in alone.get_support(indices=True)
        ]
        assert "own" in inside.get_feature_names_out()
        np.testing.assert_allclose(inside.estimator_.scores_, alone.estimator_.scores_)
        np.testing.assert_allclose(inside.explained_x_, alone.explained_x_)
    array = Unconfounded(BAHSIC(2), given=[2]).fit(frame.to_numpy(), y)
    np.testing.assert_allclose(array.estimator_.scores_, alone.estimator_.scores_)
    assert "x1" in array.get_feature_names_out()


def test_categories_are_confounders_and_columns() -> None:
    rng = np.random.default_rng(3)
    batch = rng.integers(0, 5, M)
    own = rng.integers(0, 3, M)
    level = np.array([-2.0, 1.0, 0.0, 2.0, -1.0])[batch]
    X = pd.DataFrame(
        {
            "batch": pd.Categorical(batch),
            "echo": level + 0.5 * rng.normal(size=M),
            "own": pd.Categorical(own),
            "noise": rng.normal(size=M),
        }
    )
    y = 2 * level + np.array([-1.0, 2.0, 0.0])[own] + 0.3 * rng.normal(size=M)
    found = Unconfounded(BAHSIC(1), given="batch").fit(X, y)
    assert found.get_feature_names_out().tolist() == ["own"]
    assert np.isnan(found.explained_x_[1])  # a category, not regressed
    assert found.explained_x_[0] > 0.7
    assert list(found.transform(X).columns) == ["own"]


def test_in_a_pipeline_that_is_cross_validated() -> None:
    """New rows bring no confounder of their own but the column; folds choose on their own rows."""
    X, y, z = _confounded()
    table = pd.DataFrame(np.column_stack([z, X]), columns=["z", "echo", "own", "a", "b"])
    pipe = make_pipeline(Unconfounded(BAHSIC(1), given="z"), KNeighborsRegressor())
    own = cross_val_score(KNeighborsRegressor(), X[:, [1]], y, cv=3)
    np.testing.assert_allclose(cross_val_score(pipe, table, y, cv=3), own)
    search = GridSearchCV(pipe, {"unconfounded__estimator__n_features_to_select": [1, 2]}, cv=3)
    assert "own" in search.fit(table, y).best_estimator_[0].get_feature_names_out()


def test_routed_as_metadata_through_a_pipeline() -> None:
    X, y, z = _confounded()
    with config_context(enable_metadata_routing=True):
        wrapped = Unconfounded(BAHSIC(1)).set_fit_request(given=True)
        pipe = make_pipeline(StandardScaler(), wrapped, KNeighborsRegressor())
        assert pipe.fit(X, y, given=z)[1].get_support(indices=True).tolist() == [1]
        scores = cross_val_score(pipe, X, y, params={"given": z}, cv=3)
    np.testing.assert_allclose(
        scores, cross_val_score(KNeighborsRegressor(), X[:, [1]], y, cv=3), atol=0.02
    )


def test_what_else_fit_is_given_reaches_the_estimator() -> None:
    X, y, z = _confounded()
    with pytest.raises(ValueError, match="groups must hold"):
        Unconfounded(BAHSIC(1)).fit(X, y, given=z, groups=np.zeros(3))
    groups = np.arange(M) // 2
    assert Unconfounded(DependenceFilter(1)).fit(X, y, given=z, groups=groups).get_support()[1]


@pytest.mark.parametrize(
    ("arguments", "given", "message"),
    [
        ({}, None, "needs confounders, once"),
        ({"given": 0}, "z", "needs confounders, once"),
        ({"given": "age"}, None, "given names the column 'age', which X does not have"),
        ({"given": [0, 0]}, None, "each once"),
        ({"given": [0, 1, 2, 3]}, None, "nothing is left"),
        ({}, "short", "X has 300 rows, but given has 100|y has 300 rows, but given has 100"),
    ],
)
def test_refuses_what_does_not_name_confounders(
    arguments: dict[str, Any], given: str | None, message: str
) -> None:
    X, y, z = _confounded()
    passed = {None: None, "z": z, "short": z[:100]}[given]
    with pytest.raises(ValueError, match=message):
        Unconfounded(BAHSIC(1), **arguments).fit(X, y, given=passed)


def test_a_method_of_classes_says_that_residuals_are_numbers() -> None:
    X, y, z = _confounded()
    with pytest.raises(ValueError, match="separates classes, but y holds"):
        Unconfounded(KernelLDA(1)).fit(X, y > 0, given=z)
    with pytest.raises(ValueError, match="has no target"):
        Unconfounded(BAHSIC(1, target_kernel="inputs")).fit(X, y, given=z)


def test_warns_where_both_regressions_may_have_missed_the_same() -> None:
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(150, 2))
    wild = np.sin(5 * Z[:, 0]) * np.sin(5 * Z[:, 1])
    x, y = wild + 0.2 * rng.normal(size=(2, 150))
    with pytest.warns(UserWarning, match="need many parameters"):
        Unconfounded(BAHSIC(1)).fit(np.column_stack([x, rng.normal(size=150)]), y, given=Z)


# --- columns without what others explain ----------------------------------------------------------
@parametrize_with_checks([Residual(given=[0])])
def test_residual_keeps_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_residuals_of_new_rows_are_what_the_confounder_does_not_explain() -> None:
    rng = np.random.default_rng(0)
    z, noise = rng.normal(size=(2, 600))
    table = pd.DataFrame({"x": np.sin(2 * z) + 0.2 * noise, "z": z, "own": noise})
    step = Residual(given="z").set_output(transform="pandas").fit(table[:300])
    new = step.transform(table[300:])
    assert list(new.columns) == ["x", "own"]
    inside = np.abs(z[300:]) < 2  # beyond, few rows were learnt from
    np.testing.assert_allclose(new["x"][inside], 0.2 * noise[300:][inside], atol=0.15)
    assert step.explained_[0] > 0.9
    assert step.explained_[1] < 0.02


def test_residual_with_categories_constants_and_levels_never_seen() -> None:
    rng = np.random.default_rng(0)
    site = rng.choice(["a", "b", "c"], 200)
    shift = {"a": 0.0, "b": 3.0, "c": -2.0}
    x = np.array([shift[s] for s in site]) + 0.1 * rng.normal(size=200)
    table = pd.DataFrame({"site": pd.Categorical(site), "x": x, "same": 1.0})
    step = Residual(given="site").fit(table)
    left = step.transform(table)
    assert left[:, 0].std() < 0.12
    np.testing.assert_array_equal(left[:, 1], np.ones(200))
    with pytest.warns(depmax.UnseenCategoryWarning):
        step.transform(table[:1].assign(site=pd.Categorical(["d"])))
    with pytest.raises(TypeError, match="Column 'site' is categorical"):
        Residual(given="x").fit(table)


def test_residual_works_in_a_pipeline_and_is_saved(tmp_path: Any) -> None:
    X, y, z = _confounded()
    table = np.column_stack([z, X])
    pipe = make_pipeline(Residual(given=0), BAHSIC(1)).fit(table, y)
    assert pipe[1].get_support(indices=True).tolist() == [1]
    both = [pipe, Unconfounded(HBFE(1), given=0).fit(table, y)]
    for place, model in enumerate(both):
        save_model(model, tmp_path / f"{place}.depmax")
        again = load_model(tmp_path / f"{place}.depmax")
        np.testing.assert_allclose(again.transform(table), model.transform(table))
