"""The rule: the cheapest candidate within a margin of the best, never beaten in both respects."""

from __future__ import annotations

import numpy as np
import pytest

from depmax.evidence import MARGIN, choose


def brute_force(scores: np.ndarray, costs: np.ndarray, guess: float, margin: float) -> int:
    known = [place for place in range(len(scores)) if not np.isnan(scores[place])]
    best = max(scores[place] for place in known)
    near = [place for place in known if scores[place] >= best - margin * max(best - guess, 0.0)]
    return min(near, key=lambda place: (costs[place], -scores[place], place))


@pytest.mark.parametrize("margin", [0.0, MARGIN, 0.3])
def test_by_the_definition_and_never_dominated(margin: float, rng: np.random.Generator) -> None:
    for _ in range(300):
        n_candidates = rng.integers(1, 12)
        scores = np.round(rng.normal(0.7, 0.1, n_candidates), rng.integers(1, 4))  # with ties
        scores[rng.random(n_candidates) < 0.2] = np.nan
        if np.isnan(scores).all():
            continue
        costs = rng.integers(1, 6, n_candidates) + 0.1 * rng.integers(0, 3, n_candidates)
        guess = rng.choice([0.5, 0.9])
        chosen = int(choose(scores, costs, guess, margin=margin))
        assert chosen == brute_force(scores, costs, guess, margin)
        worse = (scores >= scores[chosen]) & (costs <= costs[chosen])
        strictly = (scores > scores[chosen]) | (costs < costs[chosen])
        assert not (worse & strictly).any()


def test_many_draws_at_once(rng: np.random.Generator) -> None:
    scores, guesses = rng.normal(size=(50, 7)), rng.normal(-2, 0.1, size=50)
    costs = rng.permutation(7)
    expected = [brute_force(row, costs, g, 0.2) for row, g in zip(scores, guesses, strict=True)]
    np.testing.assert_array_equal(choose(scores, costs, guesses, margin=0.2), expected)


def test_without_a_gain_the_best_is_chosen() -> None:
    """Nothing is better than guessing: the margin is a share of nothing."""
    assert choose(np.array([0.40, 0.45]), np.array([1, 9]), 0.5) == 1


def test_a_larger_margin_is_never_dearer(rng: np.random.Generator) -> None:
    scores, costs = rng.random(20), rng.random(20)
    chosen = [int(choose(scores, costs, 0.0, margin=m)) for m in (0.0, 0.05, 0.2, 0.5, 0.9)]
    assert all(np.diff(costs[chosen]) <= 0)
