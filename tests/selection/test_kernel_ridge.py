"""Kernel ridge regression on sets of columns: against refits, finite differences, and itself.

Private modules: errors, slopes and updates have no public name; a search shows their order only.
"""

from __future__ import annotations

import numpy as np
import pytest

from depmax.selection._kernel_ridge import AVERAGED, RidgeProblem

M, D = 50, 5
SET = np.array([0, 1, 3])


def problem(penalty: float | None = None, n_landmarks: int = M) -> RidgeProblem:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(M, D))
    images = np.column_stack([X[:, 0] * X[:, 1], X[:, 3] ** 2 + 0.3 * rng.normal(size=M)])
    images -= images.mean(axis=0)
    return RidgeProblem(X, images / np.sqrt(np.sum(images**2) / M), penalty, n_landmarks)


def kernel(rows: RidgeProblem, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Kernel values of rows by the columns of the set, from the definition."""
    squares = np.sum((left[:, np.newaxis, SET] - right[np.newaxis, :, SET]) ** 2, axis=2)
    return np.exp(-squares / (2 * rows.total(SET)))


def by_all_rows(rows: RidgeProblem, penalty: float) -> np.ndarray:
    """Weights A = (K̄ + mεI)⁻¹Ψ of the regression that all rows carry."""
    K = kernel(rows, rows.X, rows.X)
    centring = np.eye(M) - 1.0 / M
    return np.linalg.solve(centring @ K @ centring + M * penalty * np.eye(M), rows.images)


def refitted(rows: RidgeProblem, places: np.ndarray, penalty: float) -> float:
    """Mean squared error of every row, predicted by the others, one linear system for each.

    The unknowns are the weights of the carriers and the intercept; the penalty stays mε.
    """
    error = 0.0
    Z = rows.X[places]
    own = kernel(rows, Z, Z)
    for row in range(M):
        others = np.delete(np.arange(M), row)
        C = np.column_stack([kernel(rows, rows.X[others], Z), np.ones(M - 1)])
        system = C.T @ C
        system[:-1, :-1] += M * penalty * own
        weights = np.linalg.lstsq(system, C.T @ rows.images[others], rcond=1e-14)[0]
        new = np.append(kernel(rows, rows.X[[row]], Z)[0], 1.0)
        error += float(np.sum((rows.images[row] - new @ weights) ** 2))
    return error / M


@pytest.mark.parametrize("penalty", [1e-3, 1e-1])
@pytest.mark.parametrize("count", [M, 12])
def test_leave_one_out_error_is_that_of_refits(penalty: float, count: int) -> None:
    rows = problem(penalty, count)
    expected = refitted(rows, rows.places, penalty)
    assert rows.regression(SET).left_out() == pytest.approx([expected], rel=1e-6)


@pytest.mark.parametrize("at_once", [1, 64])
def test_every_penalty_has_its_own_error(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr("depmax.selection._kernel_ridge.AT_ONCE", at_once)
    rows = problem()
    for penalty, error in zip(rows.penalties, rows.regression(SET).left_out(), strict=True):
        assert problem(penalty).regression(SET).left_out() == pytest.approx([error], rel=1e-6)


def penalised_error(
    rows: RidgeProblem, places: np.ndarray, weights: np.ndarray, penalty: float
) -> float:
    """min over β of (‖Ψ - HCβ‖² + mε βᵀK_zz β)/m for columns weighted by √w."""
    X = rows.X * np.sqrt(weights)
    squares = np.sum((X[:, np.newaxis] - X[np.newaxis, places]) ** 2, axis=2)
    C = np.exp(-squares / (2 * rows.total(SET)))
    own = C[places]
    C = C - C.mean(axis=0)
    beta = np.linalg.solve(C.T @ C + M * penalty * own, C.T @ rows.images)
    left = rows.images - C @ beta
    return float(np.sum(left**2) / M + penalty * np.sum(beta * (own @ beta)))


@pytest.mark.parametrize("count", [M, 12])
def test_penalised_error_is_the_least_of_all_regressions(count: int) -> None:
    rows = problem(n_landmarks=count)
    inside = np.isin(np.arange(D), SET).astype(float)
    expected = np.mean([penalised_error(rows, rows.places, inside, e) for e in AVERAGED])
    assert rows.penalised_error(SET) == pytest.approx(expected, rel=1e-5)


def test_with_all_rows_it_is_the_conditional_covariance() -> None:
    rows = problem()
    expected = np.mean([e * np.vdot(rows.images, by_all_rows(rows, e)) for e in AVERAGED])
    assert rows.penalised_error(SET) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("count", [M, 12])
def test_slopes_are_derivatives_of_the_penalised_error(count: int) -> None:
    penalty, step = 0.05, 1e-6
    rows = problem(penalty, count)
    inside = np.isin(np.arange(D), SET).astype(float)
    for column, slope in zip(SET, rows.regression(SET).slopes(), strict=True):
        more = inside + step * (np.arange(D) == column)
        less = inside - step * (np.arange(D) == column)
        change = penalised_error(rows, rows.places, more, penalty)
        change -= penalised_error(rows, rows.places, less, penalty)
        assert slope == pytest.approx(-change / (2 * step), rel=1e-3, abs=1e-6)


def test_predictions_are_those_of_the_regression_on_all_rows() -> None:
    rows, penalty = problem(), 0.01
    new = np.random.default_rng(1).normal(size=(7, D))
    A = by_all_rows(rows, penalty)
    K = kernel(rows, rows.X, rows.X)
    between = kernel(rows, new, rows.X)
    expected = (between - K.mean(axis=0)) @ (A - A.mean(axis=0))
    np.testing.assert_allclose(rows.regression(SET).predict(new, penalty), expected, atol=1e-6)


@pytest.mark.parametrize("kept", [0, 2**23])
def test_blocks_of_rows_do_not_matter(monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    rows = problem(n_landmarks=12)
    whole = rows.regression(SET)
    monkeypatch.setattr("depmax.selection._kernel_ridge.BLOCK", 13)
    monkeypatch.setattr("depmax.selection._kernel_ridge.KEPT", kept)
    parts = rows.regression(SET)
    np.testing.assert_allclose(parts.left_out(), whole.left_out(), rtol=1e-8)
    np.testing.assert_allclose(parts.slopes(), whole.slopes(), rtol=1e-8)


def test_predictions_interpolate_when_the_penalty_is_small() -> None:
    rows = problem()
    np.testing.assert_allclose(rows.regression(SET).predict(rows.X, 1e-12), rows.images, atol=1e-3)
