"""Knockoffs say where their model of the columns does not hold, and only there."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from depmax import Knockoffs


def rows(shape: tuple[int, int], correlation: float, rng: np.random.Generator) -> np.ndarray:
    """Gaussian columns, each correlated with the one before."""
    X = rng.normal(size=shape)
    for j in range(1, shape[1]):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
    return X


def is_warned(X: np.ndarray, **options: object) -> bool:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        Knockoffs(estimator=First(), **options).fit(X, X[:, 0])
    return any("not jointly Gaussian" in str(each.message) for each in said)


class First:
    """Scores without a fit, since only the model of X is looked at."""

    def get_params(self, deep: bool = True) -> dict[str, object]:
        return {}

    def fit(self, X: np.ndarray, y: np.ndarray) -> First:
        self.scores_ = np.arange(X.shape[1], dtype=float)
        return self


SHAPES = [(100, 20), (100, 150), (400, 30)]
HELD = {
    "gaussian": lambda X, rng: X,
    "skewed": lambda X, rng: np.exp(2 * X),
    "bounded": lambda X, rng: np.tanh(X),
    "heavy tails": lambda X, rng: np.sinh(2 * X),
    "rounded": lambda X, rng: np.round(X),
    "two values": lambda X, rng: (X > 0.8).astype(float),
    "own units": lambda X, rng: X * np.exp(3 * rng.normal(size=X.shape[1])),
}
BROKEN = {
    "lognormal 0.4": lambda X, rng: X * np.exp(0.4 * rng.normal(size=(len(X), 1))),
    "lognormal 0.8": lambda X, rng: X * np.exp(0.8 * rng.normal(size=(len(X), 1))),
    "t5": lambda X, rng: X * np.sqrt(5 / rng.chisquare(5, size=(len(X), 1))),
    "two groups": lambda X, rng: X * rng.choice([1.0, 3.0], size=(len(X), 1)),
}


@pytest.mark.parametrize("normal_scores", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", sorted(HELD | BROKEN))
def test_rows_of_different_scale_are_noticed_and_nothing_else(
    name: str, shape: tuple[int, int], normal_scores: bool
) -> None:
    for seed, correlation in enumerate((0.0, 0.5, 0.9)):
        rng = np.random.default_rng(seed)
        X = (HELD | BROKEN)[name](rows(shape, correlation, rng), rng)
        X = X[:, X.std(axis=0) > 0]
        if correlation < 0.9 or name in HELD:  # so alike, a hundred rows show little
            assert is_warned(X, normal_scores=normal_scores) == (name in BROKEN)


def test_a_number_of_columns_comes_without_a_guarantee_to_break() -> None:
    rng = np.random.default_rng(0)
    X = BROKEN["t5"](rows((200, 20), 0.5, rng), rng)
    assert is_warned(X)
    assert not is_warned(X, n_features_to_select=3)
