"""Theorem 5.5: every term by its definition, and plain words."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from depmax import HBFE, SMC, DeflationFeatures, KernelPLS
from depmax.kernels import Gaussian
from reproduction.covariance_bound import components_by_bound, covariance_bound

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)


@pytest.mark.parametrize(
    "model",
    [
        SMC(4, kernel=Gaussian(1.0), center=False),
        SMC(4, kernel=Gaussian(1.0)),
        DeflationFeatures(2, center=False),
        KernelPLS(3, kernel=Gaussian(2.0)),
        HBFE(2),
    ],
)
def test_terms(model):
    T = model.fit_transform(X, y)
    result = covariance_bound(model, X, y, delta=0.05)
    projection = model._projection
    offset = projection.offset
    if hasattr(projection, "reference"):
        A = projection.weights
        inner = A.T @ model.kernel_(projection.reference.rows) @ A + np.outer(offset, offset)
    else:
        inner = projection.weights.T @ projection.weights + np.outer(offset, offset)
    k = model.kernel_.diag(X) + bool(offset.any())
    c, m = np.sqrt(np.sum(inner**2)), 60
    np.testing.assert_allclose(result.empirical, np.trace(T.T @ np.diag(y**2) @ T) / m)
    np.testing.assert_allclose(result.norm, c)
    K = model.kernel_(X) + bool(offset.any())
    np.testing.assert_allclose(result.target_norm, np.sqrt(y**2 @ K**2 @ y**2) / m)
    assert result.empirical <= result.norm * result.target_norm * (1 + 1e-12)  # Cauchy-Schwarz
    np.testing.assert_allclose(result.complexity, 2 * c / m * np.sqrt(np.sum(y**4 * k**2)))
    np.testing.assert_allclose(result.squared_radius, np.max(y**2 * k))
    expected = 3 * c * np.max(y**2 * k) * np.sqrt(np.log(2 / 0.05) / (2 * m))
    np.testing.assert_allclose(result.deviation, expected)
    np.testing.assert_allclose(
        result.bound, result.empirical - result.complexity - result.deviation
    )


def test_first_features_are_those_of_a_shorter_fit():
    long = SMC(5, kernel=Gaussian(1.0)).fit(X, y)
    short = SMC(2, kernel=Gaussian(1.0)).fit(X, y)
    part, whole = covariance_bound(long, X, y, n_components=2), covariance_bound(short, X, y)
    np.testing.assert_allclose(part.bound, whole.bound)
    np.testing.assert_allclose(part.norm, whole.norm)


def test_outliers_count_as_zero_and_the_bound_grows(rng):
    rows = rng.choice([-1.0, 1.0], size=(40_000, 1))
    rows[:40] *= 30.0
    labels = np.where(rows[:, 0] > 0, 1.0, -1.0)
    model = DeflationFeatures(1, center=False).fit(rows, labels)
    with pytest.raises(ValueError, match="radius=1"):
        covariance_bound(model, rows, labels, norm=1.0, radius=1.0)
    result = covariance_bound(model, rows, labels, norm=1.0, radius=1.0, outliers="ignore")
    kept = np.abs(rows[:, 0]) <= 1.0
    assert result.n_outliers == 40
    assert result.empirical == pytest.approx(kept.mean())  # over all rows
    assert result.complexity == pytest.approx(2 / 40_000 * np.sqrt(kept.sum()))
    assert 0.9 < result.bound < 1.0
    assert covariance_bound(model, rows, labels, norm=1.0).is_vacuous
    found = components_by_bound(model, rows, labels, norm=1.0, radius=1.0, outliers="ignore")
    assert found.bounds[0] == result
    with pytest.raises(ValueError, match="'ignore' with a radius"):
        covariance_bound(model, rows, labels, outliers="ignore")


def test_holds_on_new_rows_and_is_not_always_vacuous(rng):
    labels = np.where(rng.random(40_000) < 0.5, -1.0, 1.0)
    rows = labels[:, np.newaxis]
    model = DeflationFeatures(1, center=False).fit(rows, labels)
    result = covariance_bound(model, rows, labels, norm=1.0, radius=1.0)
    assert 0.9 < result.bound < 1.0  # the truth is E[y²x²] = 1
    assert result.fixed_beforehand
    assert "≥" in str(result)
    assert "estimate" not in str(result)


def test_rows_needed():
    """Where the bound is zero when all rows are there several times."""
    model = DeflationFeatures(2, center=False).fit(X, y)
    result = covariance_bound(model, X, y)
    assert result.samples_needed_at_best <= result.samples_needed
    times = int(np.ceil(result.samples_needed / 60))
    for copies, positive in [(times, True), (times - 1, False)]:
        many = covariance_bound(model, np.tile(X, (copies, 1)), np.tile(y, copies))
        assert (many.bound > 0) is positive
        assert many.samples_needed == pytest.approx(result.samples_needed)
        assert many.samples_needed_at_best == pytest.approx(result.samples_needed_at_best)
    assert f"need {result.samples_needed:,.0f} rows" in str(result)


def test_no_projection_needs_fewer_rows():
    """That with WWᵀ proportional to S reaches the limit."""
    S = X.T @ (y[:, np.newaxis] ** 2 * X) / 60
    c, squares = np.linalg.norm(S), y**2 * (X**2).sum(axis=1)
    empirical = np.sum(S * S)
    penalty = 2 * c / 60 * np.linalg.norm(squares)
    penalty += 3 * c * squares.max() * np.sqrt(np.log(20) / 120)
    best = covariance_bound(DeflationFeatures(1, center=False).fit(X, y), X, y)
    assert best.samples_needed_at_best == pytest.approx(60 * (penalty / empirical) ** 2)


class TestComponentsByBound:
    model = SMC(4, kernel=Gaussian(1.0)).fit(X, y)

    def test_values_are_the_bounds_less_the_cost(self):
        found = components_by_bound(self.model, X, y, cost=0.01, delta=0.2)
        expected = [
            covariance_bound(self.model, X, y, n_components=k, delta=0.2).bound - 0.01 * k
            for k in range(1, 5)
        ]
        np.testing.assert_allclose(found.values, expected)
        assert found.n_components == np.argmax(expected) + 1

    def test_the_cost_is_half_of_what_the_first_feature_explains(self):
        found = components_by_bound(self.model, X, y)
        first = covariance_bound(self.model, X, y, n_components=1).empirical
        assert found.cost == pytest.approx(first / 2)

    def test_free_features_are_all_taken_where_rows_are_many(self):
        rows = np.tile(np.array([[1.0, 0.2], [-1.0, 0.2], [1.0, -0.2], [-1.0, -0.2]]), (50_000, 1))
        target = rows[:, 0]
        model = DeflationFeatures(2, criterion="pca", center=False).fit(rows, target)
        norm = max(covariance_bound(model, rows, target, n_components=k).norm for k in (1, 2))
        free = components_by_bound(model, rows, target, cost=0.0, norm=norm)
        dear = components_by_bound(model, rows, target, cost=0.5, norm=norm)
        assert (free.n_components, dear.n_components) == (2, 1)

    def test_refusal(self):
        with pytest.raises(ValueError, match="cost must be a number >= 0"):
            components_by_bound(self.model, X, y, cost=-1.0)


def test_says_vacuous_and_estimate():
    result = covariance_bound(SMC(3).fit(X, y), X, y)
    assert result.is_vacuous
    assert "vacuous" in str(result)
    assert "only an estimate" in str(result)


def test_refusals():
    model = SMC(3).fit(X, y)
    with pytest.raises(ValueError, match="delta"):
        covariance_bound(model, X, y, delta=1.5)
    with pytest.raises(ValueError, match="from 1 to 3"):
        covariance_bound(model, X, y, n_components=4)
    with pytest.raises(ValueError, match="norm=0"):
        covariance_bound(model, X, y, norm=0)
    with pytest.raises(ValueError, match="radius="):
        covariance_bound(model, X, y, radius=1e-3)
    with pytest.raises(ValueError, match="one target"):
        covariance_bound(model, X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="inconsistent"):
        covariance_bound(model, X, y[:-1])
    with pytest.raises(TypeError, match="got PCA"):
        covariance_bound(PCA().fit(X, y), X, y)
    K = X @ X.T
    matrix = SMC(2, kernel="precomputed").fit(K, y)
    with pytest.raises(ValueError, match="precomputed"):
        covariance_bound(matrix, K, y)
