"""Many samples: a grown basis gives what the whole span of the samples gives."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from depmax import HBFE, HSCA, IterativePCA
from depmax.algebra import gram, span
from depmax.kernels import Gaussian, Polynomial
from tests.extraction.oracles import same_up_to_signs

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 6)) * [3.0, 2.0, 1.5, 1.0, 0.7, 0.5] + 100.0
TARGETS = {
    "two classes": (X[:, 0] > 100.0).astype(int),
    "classes": np.digitize(X[:, 1] + X[:, 2], [199.0, 201.0]),
    "numbers": np.sin(X[:, 0]) + 0.1 * rng.normal(size=120),
}
MODELS = {
    "biased": HBFE(5, unbiased=False),
    "unbiased": HBFE(5),
    "two": HBFE(2),
    "two, biased": HBFE(2, unbiased=False),
    "hsca": HSCA(4),
    "hsca gaussian": HSCA(3, feature_kernel="gaussian", alpha=1e-2),
}


@pytest.fixture
def tolerance(monkeypatch):
    """Let few samples count as many."""
    monkeypatch.setattr(span, "EXACT_ROWS", 50)
    return 1e-6


@pytest.mark.parametrize("name", sorted(MODELS))
def test_rows_in_float32(name, tolerance):
    y = TARGETS["classes"]
    model = MODELS[name].set_params(kernel=Gaussian(4.0))
    exact_features = model.fit_transform(X, y)
    features = model.fit_transform(X.astype(np.float32), y)
    same_up_to_signs(features.T, exact_features.T, 2e-3)


@pytest.mark.parametrize("weight", [None, np.resize([1, 2, 3], 700)])
def test_clusters_that_no_landmark_sees(weight, tolerance, monkeypatch, rng):
    """A start from landmarks lacks their directions, which residuals bring back."""
    monkeypatch.setattr(gram, "ROWS_PER_LANDMARK", 10)
    rows, landmarks = rng.normal(size=(700, 4)), np.linspace(0, 699, 70).astype(int)
    others = np.setdiff1d(np.arange(700), landmarks)
    for centre, cluster in zip(
        (40.0, -40.0), np.split(rng.permutation(others)[:80], 2), strict=True
    ):
        rows[cluster] = centre + 0.3 * rows[cluster]
    model = IterativePCA(4, kernel=Gaussian(1.5))
    whole = exact(model, rows, None, monkeypatch, sample_weight=weight)
    model.fit(rows, sample_weight=weight)
    same_up_to_signs(model.transform(rows).T, whole.transform(rows).T, 1e-9)


def exact(model, rows, y, monkeypatch, **weights):
    monkeypatch.setattr(span, "EXACT_ROWS", 10**6)
    fitted = type(model)(**model.get_params(deep=False)).fit(rows, y, **weights)
    monkeypatch.setattr(span, "EXACT_ROWS", 50)
    return fitted


@pytest.mark.parametrize("target", sorted(TARGETS))
@pytest.mark.parametrize("name", sorted(MODELS))
def test_equals_the_whole_span(name, target, tolerance, monkeypatch):
    y = TARGETS[target]
    model = MODELS[name].set_params(kernel=Gaussian(4.0))
    whole = exact(model, X, y, monkeypatch)
    features = model.fit_transform(X, y)
    assert model._projection.weights.shape == (120, whole._n_features_out)
    same_up_to_signs(features.T, whole.transform(X).T, tolerance)
    np.testing.assert_allclose(model.transform(X), features, atol=1e-4 * np.abs(features).max())
    scale = whole.dependence_.max()
    np.testing.assert_allclose(model.dependence_, whole.dependence_, atol=tolerance * scale)


@pytest.mark.parametrize("name", ["two", "two, biased", "biased", "unbiased"])
def test_eigenvectors_that_carry_dependence_need_no_large_eigenproblem(name, monkeypatch):
    def refuse(*_):
        raise AssertionError("the whole span")

    monkeypatch.setattr(span, "EXACT_ROWS", 50)
    monkeypatch.setattr(span, "span", refuse)
    MODELS[name].set_params(kernel=Gaussian(4.0)).fit(X, TARGETS["classes"])


@pytest.mark.parametrize("name", ["biased", "unbiased", "hsca"])
def test_wide_inputs(name, monkeypatch, rng):
    wide = rng.normal(size=(80, 200)) @ np.diag(0.98 ** np.arange(200)) + 7.0
    y = np.repeat([0, 1, 2, 1], 20)
    monkeypatch.setattr(span, "EXACT_ROWS", 50)
    model = MODELS[name].set_params(kernel="linear")
    whole = exact(model, wide, y, monkeypatch)
    model.fit(wide, y)
    np.testing.assert_allclose(model.components_, whole.components_, atol=1e-6)
    np.testing.assert_allclose(model.loadings_, whole.loadings_, atol=1e-6)


def test_kernels_that_are_not_stationary_stay_in_double_precision(tolerance, monkeypatch):
    y = TARGETS["classes"]
    model = HBFE(4, kernel=Polynomial(3, 1.0))
    rows = (X - 100.0) / 10.0
    whole = exact(model, rows, y, monkeypatch)
    same_up_to_signs(model.fit_transform(rows, y).T, whole.transform(rows).T, 1e-7)


def test_more_components_than_a_large_kernel_matrix_carries(tolerance):
    repeated = np.repeat(np.arange(3.0), 40)[:, np.newaxis]
    with pytest.warns(ConvergenceWarning, match="found 2 of n_components=3"):
        HBFE(3, kernel=Gaussian(1.0)).fit(repeated, np.tile([0, 1], 60))


@pytest.mark.parametrize("model", [HBFE(1), HBFE(1, unbiased=False), HSCA(1)], ids=repr)
def test_equal_rows_are_refused(model, tolerance):
    with pytest.raises(ValueError, match="X is constant: all 60 rows"):
        model.set_params(kernel=Gaussian(1.0)).fit(np.ones((60, 2)), np.tile([0, 1], 30))


def test_methods_that_need_the_whole_span_get_it(tolerance):
    y = TARGETS["classes"]
    kernel = Gaussian(4.0)
    features = HSCA(2, unbiased=True, kernel=kernel).fit_transform(X, y)
    gram = HSCA(2, unbiased=True, kernel="precomputed")
    same_up_to_signs(gram.fit_transform(kernel(X), y).T, features.T, 1e-6)


@pytest.mark.parametrize("kernel", [Gaussian(4.0), "linear"], ids=repr)
@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_weight_is_a_row_repeated(name, kernel, tolerance, monkeypatch, rng):
    rows, y = X[:80], TARGETS["classes"][:80]
    if kernel == "linear":
        rows = rows @ rng.normal(size=(6, 200)) + rng.normal(size=(80, 200))  # more than rows
    weight = rng.integers(1, 4, size=80)
    model = MODELS[name].set_params(kernel=kernel)
    repeated = exact(model, np.repeat(rows, weight, axis=0), np.repeat(y, weight), monkeypatch)
    features = model.fit(rows, y, sample_weight=weight).transform(rows)
    same_up_to_signs(features.T, repeated.transform(rows).T, tolerance * np.abs(features).max())
    scale = repeated.dependence_.max()
    np.testing.assert_allclose(model.dependence_, repeated.dependence_, atol=tolerance * scale)
