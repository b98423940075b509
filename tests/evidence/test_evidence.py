"""Draws of rows and groups, errors, tests and the score after a choice."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy.stats import norm

from depmax.evidence import (
    Estimate,
    Evidence,
    Metric,
    Predicted,
    Truth,
    choose,
    gather,
    read_metrics,
)
from depmax.evidence.evidence import WIDENING


@dataclass(frozen=True)
class Watched(Metric):
    """Keeps the weights that it is asked about."""

    seen: list[np.ndarray] = field(default_factory=list)

    def judge(self, truth, runs):
        def value(weights: np.ndarray) -> np.ndarray:
            self.seen.append(weights)
            return weights.sum(axis=1)

        return value


def drawn(
    truth: Truth, tested: np.ndarray | None = None, **options: np.ndarray
) -> list[np.ndarray]:
    n_rows = len(truth.values)
    tested = np.ones(n_rows, dtype=bool) if tested is None else tested
    metric = Watched("watched", n_draws=40)
    # options are arrays, and the seed is a number
    gather(truth, metric, [[Predicted(truth.values, None, tested)]], **options)
    inside, whole = metric.seen
    return [inside, whole]


CLASSES = Truth("classes", np.repeat([0, 1, 2], [30, 12, 3]), np.array(list("abc")))
NUMBERS = Truth("numbers", np.arange(45.0))


class TestDraws:
    def test_classes_keep_their_numbers(self) -> None:
        inside, whole = drawn(CLASSES)
        for code in range(3):
            own = CLASSES.values == code
            assert (inside[:, own].sum(axis=1) == own.sum()).all()
        assert (whole == 1).all()

    @pytest.mark.parametrize("truth", [CLASSES, NUMBERS], ids=["classes", "numbers"])
    def test_groups_are_drawn_whole(self, truth: Truth) -> None:
        groups = np.random.default_rng(0).integers(0, 9, size=45)
        inside, _ = drawn(truth, units=groups)
        for group in np.unique(groups):
            own = inside[:, groups == group]
            assert (own == own[:, :1]).all()
        firsts = np.unique(groups, return_index=True)[1]
        assert (inside[:, firsts].sum(axis=1) == 9).all()

    def test_weights_multiply_counts(self) -> None:
        weight = np.random.default_rng(0).gamma(2.0, size=45)
        plain, weighted = drawn(NUMBERS), drawn(NUMBERS, sample_weight=weight)
        for left, right in zip(plain, weighted, strict=True):
            np.testing.assert_allclose(left * weight, right)

    def test_only_tested_rows(self) -> None:
        tested = np.arange(45) < 20
        for part in drawn(NUMBERS, tested):
            assert not part[:, ~tested].any()

    def test_the_seed_decides(self) -> None:
        # the seed goes through the arrays that gather takes
        one, same, other = (drawn(NUMBERS, seed=seed)[0] for seed in (1, 1, 2))
        np.testing.assert_array_equal(one, same)
        assert (one != other).any()


def evidence(errors: list[float], n_rows: int = 200, seed: int = 0) -> Evidence:
    """Guessing, and a candidate per size of its errors."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n_rows)
    truth, tested = Truth("numbers", y), np.ones(n_rows, dtype=bool)
    runs = [[Predicted(np.full(n_rows, y.mean()), None, tested)]]
    runs += [[Predicted(y + e * rng.normal(size=n_rows), None, tested)] for e in errors]
    return gather(truth, read_metrics("r2", truth)[0], runs, seed=seed)


class TestErrors:
    def test_of_a_score_and_a_paired_difference(self) -> None:
        found = evidence([0.5, 0.6])
        score, difference = found.score(1), found.difference(1, 2)
        assert score.value == found.scores[1]
        assert score.error == pytest.approx(WIDENING * found.draws[:, 1].std())
        assert difference.value == pytest.approx(found.scores[1] - found.scores[2])
        paired = (found.draws[:, 1] - found.draws[:, 2]).std()
        assert difference.error == pytest.approx(WIDENING * paired)
        assert found.difference(2, 2) == Estimate(0.0, 0.0)

    def test_ends_of_an_interval(self) -> None:
        found = Estimate(0.8, 0.1)
        assert found.ends(0.9) == pytest.approx(
            (0.8 - 0.1 * norm.ppf(0.95), 0.8 + 0.1 * norm.ppf(0.95))
        )
        assert found.at_least(0.9) == pytest.approx(0.8 - 0.1 * norm.ppf(0.9))

    def test_weights_are_repeated_rows(self) -> None:
        rng = np.random.default_rng(0)
        y, counts = rng.normal(size=50), rng.integers(1, 4, size=50)
        predictions = [np.full(50, y.mean()), y + 0.5 * rng.normal(size=50)]
        scores = []
        for rows, weight in ((np.arange(50), counts), (np.repeat(np.arange(50), counts), None)):
            truth, tested = Truth("numbers", y[rows]), np.ones(len(rows), dtype=bool)
            runs = [[Predicted(each[rows], None, tested)] for each in predictions]
            found = gather(truth, read_metrics("r2", truth)[0], runs, sample_weight=weight)
            scores.append(found.scores)
        np.testing.assert_allclose(*scores)


class TestGuessing:
    def test_noise_is_rarely_called_better(self) -> None:
        """Errors as large as the target: R² is below zero, whatever the draw."""
        pvalues = [
            evidence([1.0, 1.2, 1.4], n_rows=60, seed=seed).pvalue_of_guessing()
            for seed in range(40)
        ]
        assert np.mean(np.array(pvalues) <= 0.05) <= 0.05

    def test_signal_is_found(self) -> None:
        assert evidence([0.7], n_rows=60).pvalue_of_guessing() <= 0.01

    def test_candidates_that_repeat_the_guess(self) -> None:
        draws = np.random.default_rng(0).normal(size=(100, 1)) * np.ones((1, 3))
        same = Evidence(np.array([0.5, 0.5, 0.5]), draws)
        assert same.pvalue_of_guessing() == 1.0


class TestTheChoice:
    def test_is_that_of_the_rule_and_never_guessing(self) -> None:
        found, costs = evidence([0.9, 0.5, 0.5]), np.array([0.0, 1.0, 5.0, 9.0])
        rule = 1 + choose(found.scores[1:], costs[1:], found.scores[0])
        assert found.of_choice(costs, 0.02)[0] == rule
        hopeless = evidence([2.0, 3.0])
        assert hopeless.scores[0] > hopeless.scores[1:].max()
        assert hopeless.of_choice(np.arange(3.0), 0.02)[0] == 1

    def test_the_best_of_many_equals_is_not_expected_to_stay_so(self) -> None:
        """Twenty predictions that are equally good: the highest score is luck."""
        costs = np.arange(21.0)
        luck, left = [], []
        for seed in range(10):
            found = evidence([1.0] * 20, n_rows=60, seed=seed)
            chosen, expected = found.of_choice(costs, 0.0)
            typical = np.mean(found.scores[1:])
            luck.append(found.scores[chosen] - typical)
            left.append(expected.value - typical)
        assert np.mean(luck) > 0.1
        assert abs(np.mean(left)) < 0.6 * np.mean(luck)

    def test_without_a_choice_nothing_is_subtracted(self) -> None:
        found = evidence([0.5])
        chosen, expected = found.of_choice(np.array([0.0, 1.0]), 0.02)
        assert chosen == 1
        assert expected.value == pytest.approx(found.scores[1], abs=0.01)

    def test_beside_another_candidate(self) -> None:
        """The difference from a candidate that was not chosen, no better than the scores show."""
        found, costs = evidence([0.5, 0.5, 0.6]), np.array([0.0, 2.0, 1.0, 9.0])
        chosen, difference = found.of_choice(costs, 0.02, beside=3)
        assert difference.value <= found.difference(chosen, 3).value
        assert difference.error == found.difference(chosen, 3).error


def test_no_mistake_on_a_hundred_rows_is_not_certainty() -> None:
    """Rule of three: with 50 rows of each class, up to 3 % of other rows may be wrong."""
    truth = Truth("classes", np.repeat([0, 1], 50), np.array(["a", "b"]))
    everything = np.ones(100, dtype=bool)
    right = [Predicted(truth.values, None, everything)]
    guess = [Predicted(np.zeros(100, dtype=int), None, everything)]
    evidence = gather(truth, read_metrics(None, truth)[0], [guess, right, right])
    low, high = evidence.score(1).ends()
    assert low == pytest.approx(0.97, abs=0.002)
    assert high > 1.0
    assert evidence.difference(1, 2).error == 0.0  # the same predictions
    assert evidence.pvalue_of_guessing() < 0.01
