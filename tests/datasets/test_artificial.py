"""The artificial problems have the answers they promise."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from depmax.datasets import (
    Problem,
    make_collinear_classes,
    make_linear_direction,
    make_mixed,
    make_nonlinear_regression,
    make_product,
    make_rings,
    make_sine_direction,
    make_xor,
)

PAPER = [make_xor, make_collinear_classes, make_nonlinear_regression]


def correlations(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.corrcoef(X.T, y)[-1, :-1]


@pytest.mark.parametrize("make", PAPER)
def test_problems_of_the_paper_have_two_relevant_of_22_columns(
    make: Callable[..., Problem],
) -> None:
    problem = make(60, random_state=0)
    X, y = problem
    assert X.shape == (60, 22)
    assert y.shape == (60,)
    assert problem.relevant == (0, 1)
    assert np.isfinite(X).all()


OTHERS = [make_mixed, make_linear_direction, make_sine_direction, make_rings, make_product]


@pytest.mark.parametrize("make", [*PAPER, *OTHERS])
def test_seeds_are_honoured(make: Callable[..., Problem]) -> None:
    one, same, other = (make(50, 30, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.X, same.X)
    np.testing.assert_array_equal(one.y, same.y)
    assert one.relevant == same.relevant
    assert not np.array_equal(one.X, other.X)
    generator = make(50, 30, random_state=np.random.default_rng(3))
    np.testing.assert_array_equal(one.X, generator.X)


@pytest.mark.parametrize("make", [*PAPER, make_mixed])
def test_the_other_columns_say_nothing(make: Callable[..., Problem]) -> None:
    problem = make(4000, 20, random_state=0)
    rest = np.setdiff1d(np.arange(20), problem.relevant)
    X, y = problem.X[:, rest], problem.y.astype(float)
    for columns in (X, X**2):
        assert np.abs(correlations(columns, y)).max() < 4.5 / np.sqrt(4000)


def test_xor_needs_both_columns() -> None:
    problem = make_xor(4000, random_state=0)
    first, second = problem.X[:, 0], problem.X[:, 1]
    single = correlations(np.column_stack([first, second, first**2, second**2]), problem.y)
    assert np.abs(single).max() < 0.07
    assert np.mean((first * second > 0) == problem.y) > 0.99
    assert problem.interactions == ((0, 1),)


def test_three_classes_are_collinear_and_the_fourth_is_not() -> None:
    problem = make_collinear_classes(4000, random_state=0)
    centres = np.array([problem.X[problem.y == label, :2].mean(axis=0) for label in range(4)])
    line = centres[2] - centres[0]
    normal = np.array([-line[1], line[0]]) / np.linalg.norm(line)
    away = (centres - centres[0]) @ normal
    assert abs(away[1]) < 0.03
    assert abs(away[3]) > 0.5
    # a weak correlation with the class number is left, which only many rows show
    assert (np.abs(correlations(problem.X[:, :2], problem.y)) < 0.25).all()
    assert (np.abs(correlations(problem.X[:, :2], problem.y)) > 0.08).all()
    assert np.bincount(problem.y).tolist() == [1000] * 4


def test_regression_follows_the_formula() -> None:
    X, y = make_nonlinear_regression(500, random_state=0, noise=0.0)
    np.testing.assert_allclose(y, X[:, 0] * np.exp(-(X[:, 0] ** 2) - X[:, 1] ** 2), atol=1e-15)
    _, noisy = make_nonlinear_regression(500, random_state=0)
    assert np.std(noisy - y) == pytest.approx(0.05, rel=0.1)


def test_mixed_has_the_stated_strengths() -> None:
    problem = make_mixed(20_000, 9, random_state=1)
    X, y = problem
    first, second = problem.interactions[0]
    assert first < second
    assert {first, second} < set(problem.relevant)
    mains = [column for column in problem.relevant if column not in (first, second)]
    linear = np.abs(correlations(X[:, mains], y)) > 0.1
    assert linear.sum() == 3
    assert np.abs(correlations(X[:, mains], y))[linear] == pytest.approx(0.28, abs=0.03)
    assert np.abs(correlations(X[:, mains] ** 2, y))[~linear] == pytest.approx(0.23, abs=0.03)
    pair = X[:, [first, second]]
    assert np.abs(correlations(np.column_stack([pair, pair**2]), y)).max() < 0.03
    assert np.corrcoef(X[:, first] * X[:, second], y)[0, 1] == pytest.approx(0.30, abs=0.03)
    assert y.mean() == pytest.approx(0.5, abs=0.02)


def test_positions_of_the_mixed_problem_are_random() -> None:
    assert len({make_mixed(20, 50, random_state=seed).relevant for seed in range(5)}) == 5


def test_problem_is_frozen_and_shows_itself() -> None:
    problem = make_mixed(20, 10, random_state=0)
    assert repr(problem) == "Problem(mixed: 20 rows, 10 features, 7 relevant)"
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.y = problem.y


@pytest.mark.parametrize("make", [*PAPER, make_mixed])
def test_impossible_sizes_are_refused(make: Callable[..., Problem]) -> None:
    with pytest.raises(ValueError, match="n_samples must be at least 1"):
        make(0, 30)
    with pytest.raises(ValueError, match="n_features must be at least"):
        make(10, 1)


def test_directions_of_the_ica_paper() -> None:
    X, y = make_linear_direction(2000, random_state=0)
    np.testing.assert_allclose(np.std(y - 2 * X[:, 0] - 3 * X[:, 2]), 0.1, rtol=0.1)
    X, y = make_sine_direction(2000, random_state=0, noise=0.0)
    np.testing.assert_allclose(y, np.sin(X[:, 1] + 2 * X[:, 3]))


@pytest.mark.parametrize("make", [make_rings, make_product])
def test_no_direction_tells_about_rings_and_products(make: Callable[..., Problem]) -> None:
    X, y = make(4000, random_state=0)
    assert np.abs(correlations(X, y)).max() < 0.05


def test_rings_are_told_by_their_radius() -> None:
    X, y = make_rings(500, random_state=0)
    assert ((np.hypot(X[:, 0], X[:, 1]) > 1.5) == y).all()
