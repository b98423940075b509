"""Pictures of partial least squares."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from depmax import HBFE, KernelPLS
from depmax.datasets import load
from depmax.plotting import (
    DimensionCurveDisplay,
    FeatureScatterDisplay,
    InfluenceDisplay,
    LoadingsDisplay,
)


@pytest.fixture(name="model", scope="module")
def make_model():
    meat = load("tecator")
    return meat, KernelPLS(6).fit(meat.X, meat.y)


def test_influence_names_the_rows_beyond_a_limit(ax, model):
    meat, pls = model
    display = InfluenceDisplay.from_estimator(pls, meat.X, alpha=0.01, ax=ax)
    t2, q = pls.t2(meat.X), pls.q(meat.X)
    beyond = (t2 > pls.t2_limit(0.01, training=True)) | (q > pls.q_limit(0.01, training=True))
    assert set(display.outside) == set(np.flatnonzero(beyond))
    assert {text.get_text() for text in ax.texts} <= {str(row) for row in display.outside}


def test_influence_of_new_rows_through_a_pipeline(ax, model):
    meat, _ = model
    pipeline = make_pipeline(StandardScaler(), KernelPLS(4)).fit(meat.X[:150], meat.y[:150])
    display = InfluenceDisplay.from_estimator(pipeline, meat.X[:150], new=meat.X[150:], ax=ax)
    assert display.is_new.sum() == 65
    assert display.t2_limit == pipeline[-1].t2_limit()
    assert len(ax.get_legend().get_texts()) == 2


def test_the_curve_of_an_extractor_marks_its_choices(ax, model):
    meat, _ = model
    pls = KernelPLS("auto").fit(meat.X, meat.y)
    display = DimensionCurveDisplay.from_estimator(make_pipeline(pls), ax=ax)
    np.testing.assert_array_equal(display.curves["KernelPLS"].scores, pls.cv_errors_)
    assert display.marks == pls.cv_choices_
    assert len(ax.get_legend().get_texts()) == 4
    hbfe = HBFE("auto").fit(meat.X[:, ::10], meat.y)
    assert DimensionCurveDisplay.from_estimator(hbfe).marks == hbfe.cv_choices_


@pytest.mark.parametrize("target", [np.arange(90.0), np.repeat(["a", "b", "c"], 30)])
def test_an_ellipse_holds_its_share_of_normal_rows(ax, target):
    points = np.random.default_rng(0).normal(size=(90, 2)) @ [[2.0, 1.0], [0.0, 0.5]]
    FeatureScatterDisplay.from_predictions(points, target, confidence=0.9, ax=ax)
    assert len(ax.lines) == len(np.unique(target)) if target.dtype.kind == "U" else 1
    if target.dtype.kind == "f":
        ellipse = np.array(ax.lines[0].get_data())
        inverse = np.linalg.inv(np.cov(points.T))
        away = ellipse.T - points.mean(axis=0)
        np.testing.assert_allclose(np.einsum("ij,jk,ik->i", away, inverse, away), 4.8, rtol=0.02)


@pytest.mark.parametrize("quantity", ["loading", "coefficient", "VIP"])
def test_values_of_columns_over_wavelengths(ax, model, quantity):
    _, pls = model
    display = LoadingsDisplay.from_estimator(
        pls, quantity=quantity, positions=np.arange(100), ax=ax
    )
    attribute = {"loading": "loadings_", "coefficient": "coef_", "VIP": "vip_"}[quantity]
    np.testing.assert_array_equal(display.weights, np.atleast_2d(getattr(pls, attribute))[:2])
    assert ax.get_ylabel() == quantity


def test_intervals_are_bands(ax, model):
    meat, pls = model
    found = pls.coef_intervals(meat.X, meat.y, cv=5)
    LoadingsDisplay.from_predictions(
        found.coef, low=found.low, high=found.high, positions=np.arange(100), ax=ax
    )
    assert len(ax.collections) == 1


def test_influence_of_sparse_rows(model):
    meat, pls = model
    display = InfluenceDisplay.from_estimator(pls, meat.X[:20], new=sparse.csr_array(meat.X[20:25]))
    assert display.is_new.sum() == 5
