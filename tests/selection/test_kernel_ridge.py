"""Kernel ridge regression on sets of columns: against refits, finite differences, and itself."""

from __future__ import annotations

import numpy as np
import pytest

from depmax.selection._ridge.problem import AVERAGED, AllRows, Landmarks, RidgeProblem

M, D = 50, 5
SET = np.array([0, 1, 3])


def problem(penalty: float | None = None, n_landmarks: int | None = None) -> RidgeProblem:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(M, D))
    images = np.column_stack([X[:, 0] * X[:, 1], X[:, 3] ** 2 + 0.3 * rng.normal(size=M)])
    images -= images.mean(axis=0)
    return RidgeProblem(X, images / np.sqrt(np.sum(images**2) / M), penalty, n_landmarks)


def refitted(rows: RidgeProblem, places: np.ndarray, penalty: float) -> float:
    """Mean squared error of every row, predicted by the others, one linear system for each.

    The unknowns are the weights of the carriers and the intercept; the penalty stays mε.
    """
    error = 0.0
    own = rows.tile(places, places, SET)
    for row in range(M):
        others = np.delete(np.arange(M), row)
        C = np.column_stack([rows.tile(others, places, SET), np.ones(M - 1)])
        system = C.T @ C
        system[:-1, :-1] += M * penalty * own
        weights = np.linalg.lstsq(system, C.T @ rows.images[others], rcond=1e-14)[0]
        new = np.append(rows.tile(np.array([row]), places, SET)[0], 1.0)
        error += float(np.sum((rows.images[row] - new @ weights) ** 2))
    return error / M


@pytest.mark.parametrize("penalty", [1e-3, 1e-1])
@pytest.mark.parametrize("count", [M, 12])
def test_leave_one_out_error_is_that_of_refits(penalty: float, count: int) -> None:
    rows = problem(penalty)
    places = np.arange(count)
    solver = AllRows(rows, SET) if count == M else Landmarks(rows, SET, places)
    assert solver.fit().error == pytest.approx(refitted(rows, places, penalty), rel=1e-6)


def test_the_penalty_with_the_least_error_is_chosen() -> None:
    chosen = problem().fit(SET)
    assert chosen.error == pytest.approx(problem(chosen.penalty).fit(SET).error)
    for factor in (0.2, 5.0):
        assert problem(factor * chosen.penalty).fit(SET).error > chosen.error


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
    rows = problem()
    places = np.arange(count)
    solver = AllRows(rows, SET) if count == M else Landmarks(rows, SET, places)
    inside = np.isin(np.arange(D), SET).astype(float)
    expected = np.mean([penalised_error(rows, places, inside, e) for e in AVERAGED])
    assert solver.penalised_error() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("count", [M, 12])
def test_slopes_are_derivatives_of_the_penalised_error(count: int) -> None:
    penalty, step = 0.05, 1e-6
    rows = problem(penalty)
    places = np.arange(count)
    solver = AllRows(rows, SET) if count == M else Landmarks(rows, SET, places)
    slopes = solver.slopes()
    inside = np.isin(np.arange(D), SET).astype(float)
    for column in range(D):
        more = inside + step * (np.arange(D) == column)
        less = inside - step * ((np.arange(D) == column) & (inside > 0))
        width = step * (2 if inside[column] else 1)
        change = penalised_error(rows, places, more, penalty)
        change -= penalised_error(rows, places, less, penalty)
        assert slopes[column] == pytest.approx(-change / width, rel=1e-3, abs=1e-6)


def test_all_rows_as_landmarks_are_all_rows() -> None:
    rows = problem()
    exact, through = AllRows(rows, SET), Landmarks(rows, SET, np.arange(M))
    assert through.fit().error == pytest.approx(exact.fit().error, rel=1e-6)
    new = np.random.default_rng(1).normal(size=(7, D))
    np.testing.assert_allclose(through.fit().predict(new), exact.fit().predict(new), atol=1e-4)
    milder = problem(0.01)
    np.testing.assert_allclose(
        Landmarks(milder, SET, np.arange(M)).slopes(), AllRows(milder, SET).slopes(), rtol=1e-5
    )


def test_blocks_of_rows_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = problem(n_landmarks=12)
    error, slopes = rows.fit(SET).error, rows.slopes(SET)
    monkeypatch.setattr("depmax.selection._ridge.problem.BLOCK", 13)
    assert rows.fit(SET).error == pytest.approx(error, rel=1e-10)
    np.testing.assert_allclose(rows.slopes(SET), slopes, rtol=1e-8)


def test_predictions_interpolate_when_the_penalty_is_small() -> None:
    rows = problem(1e-12)
    np.testing.assert_allclose(rows.fit(SET).predict(rows.X), rows.images, atol=1e-3)
