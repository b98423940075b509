from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from depmax import hsic, hsic_interval, hsic_variance
from depmax.kernels import Gaussian
from tests.dependence.oracles import enumerated_variance

rng = np.random.default_rng(0)
#: Of numbers, and of classes that count as often as they occur.
TARGET_KERNELS = {"X": "gaussian", "y": "delta"}


def _linear(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return A @ B.T


def test_equals_the_enumerated_variance(rng: np.random.Generator) -> None:
    x = rng.normal(size=(9, 2))
    y = x[:, 0] + 0.1 * rng.normal(size=9)
    value = hsic_variance(x, y, kernel=Gaussian(1.0), target_kernel=Gaussian(1.0))
    assert value == pytest.approx(enumerated_variance(Gaussian(1.0)(x), Gaussian(1.0)(y)), rel=1e-9)


def test_coordinates_equal_tiles(rng: np.random.Generator) -> None:
    x = rng.normal(size=(60, 3)) + 5
    y = x[:, :2] ** 2 + rng.normal(size=(60, 2))
    tiles = hsic_variance(x, y, kernel=_linear, target_kernel=_linear)
    assert hsic_variance(x, y, kernel="linear", target_kernel="linear") == pytest.approx(tiles)


@pytest.mark.slow
def test_matches_the_spread_over_draws(rng: np.random.Generator) -> None:
    def draw() -> tuple[np.ndarray, np.ndarray]:
        x = rng.normal(size=200)
        return x, x + rng.normal(size=200)

    kernels = {"kernel": Gaussian(1.0), "target_kernel": Gaussian(1.0)}
    values = [hsic(*draw(), **kernels) for _ in range(300)]
    estimated = np.mean([hsic_variance(*draw(), **kernels) for _ in range(30)])
    assert estimated == pytest.approx(np.var(values), rel=0.3)


@pytest.mark.slow
def test_interval_covers_the_truth_under_dependence(rng: np.random.Generator) -> None:
    kernels = {"kernel": Gaussian(1.0), "target_kernel": Gaussian(1.0)}
    x = rng.normal(size=20_000)
    y = x + rng.normal(size=20_000)
    truth = hsic(x, y, block_size=500, **kernels)
    hits = 0
    for start in range(0, 20_000, 100):
        rows = slice(start, start + 100)
        interval = hsic_interval(x[rows], y[rows], **kernels)
        hits += interval.low <= truth <= interval.high
    assert 0.88 <= hits / 200 <= 0.99


def test_interval_of_nothing_reaches_down_to_zero() -> None:
    """Under independence HSIC is 0: the interval of nearly every sample must hold it."""
    local = np.random.default_rng(5)
    kernels = {"kernel": Gaussian(1.0), "target_kernel": Gaussian(1.0)}
    intervals = [hsic_interval(*local.normal(size=(2, 30)), **kernels) for _ in range(60)]
    assert np.mean([each.low <= 0 <= each.high for each in intervals]) >= 0.85
    assert all(each.low <= each.estimate <= each.high for each in intervals)


@pytest.mark.parametrize("rare_side", ["X", "y"])
def test_interval_of_a_rare_value_says_that_it_is_too_short(rare_side: str) -> None:
    """With 2 of 100 rows the upper end missed the truth in 3 of 4 draws, in silence."""
    rare = np.where(np.arange(100) < 2, "rare", "usual")
    numbers = np.random.default_rng(3).normal(size=100) + 1.5 * (rare == "rare")
    sides = {"X": (pd.DataFrame({"c": rare}), numbers), "y": (numbers, rare)}
    with pytest.warns(UserWarning, match=rf"Rows of {rare_side} that differ .*: 2\."):
        interval = hsic_interval(*sides[rare_side], target_kernel=TARGET_KERNELS[rare_side])
    assert not interval.reliable


def test_interval_of_a_class_with_one_row_says_that_it_is_too_short() -> None:
    """By default classes have weights, so that only a single row of one is too few."""
    numbers = np.random.default_rng(3).normal(size=100)
    for n_rare in (1, 2):
        classes = np.where(np.arange(100) < n_rare, "rare", "usual")
        if n_rare == 1:
            with pytest.warns(UserWarning, match="rarest class: 1"):
                assert not hsic_interval(numbers, classes).reliable
        else:
            assert hsic_interval(numbers, classes).reliable


def test_interval_counts_rare_rows_by_weight() -> None:
    numbers = np.random.default_rng(3).normal(size=40)
    classes = np.where(np.arange(40) < 5, "rare", "usual")
    with pytest.warns(UserWarning, match="Rows of y that differ .*: 5"):
        hsic_interval(numbers, classes, target_kernel="delta")
    weights = np.full(40, 2)
    assert hsic_interval(numbers, classes, target_kernel="delta", sample_weight=weights).reliable


@pytest.mark.parametrize("n_rows", [5, 15, 30])
def test_interval_of_few_but_varied_rows_does_not_warn(n_rows: int) -> None:
    numbers = np.random.default_rng(3).normal(size=n_rows)
    classes = np.where(np.arange(n_rows) % 2, "a", "b")
    assert hsic_interval(numbers, classes).reliable
