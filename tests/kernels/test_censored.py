"""Survival times as weighted log-rank scores."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial.legendre import Legendre

from depmax.kernels import Censored
from depmax.testing import check_kernel

rng = np.random.default_rng(0)
N = 60
X = rng.normal(size=N)


def _rows(share_of_events: float = 0.6, ties: bool = False) -> np.ndarray:
    rng = np.random.default_rng(1)
    times = rng.exponential(size=N).astype(np.float32)  # the contract compares them so, too
    times = np.ceil(4 * times) if ties else times
    return np.column_stack([rng.random(N) < share_of_events, times]).astype(float)


def _scores(rows: np.ndarray) -> np.ndarray:
    return Censored().resolve(rows).features(rows)


def _by_definition(rows: np.ndarray) -> np.ndarray:
    event, time = rows[:, 0] == 1, rows[:, 1]
    seen = np.sort(time[event])

    def weight(degree: int, at: float) -> float:
        place = (np.sum(seen < at) + 0.5 * np.sum(seen == at)) / len(seen)
        return float(Legendre.basis(degree)(2 * place - 1) * np.sqrt(2 * degree + 1))

    return np.array(
        [
            [
                (
                    own * weight(k, at)
                    - sum(
                        np.sum(seen == t) / np.sum(time >= t) * weight(k, t)
                        for t in np.unique(seen)
                        if t <= at
                    )
                )
                / np.sqrt(k + 1)
                for k in range(5)
            ]
            for own, at in zip(event, time, strict=True)
        ]
    )


@pytest.mark.parametrize("ties", [False, True])
def test_scores_are_those_of_the_definition(ties: bool) -> None:
    rows = _rows(ties=ties)
    found = _scores(rows)
    np.testing.assert_allclose(found, _by_definition(rows), atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=0), 0.0, atol=1e-11)
    check_kernel(Censored(), rows)


@pytest.mark.parametrize("ties", [False, True])
def test_the_first_score_gives_the_score_of_coxs_model(ties: bool) -> None:
    rows = _rows(ties=ties)
    event, time = rows.T
    score = sum(X[i] - X[time >= time[i]].mean() for i in np.flatnonzero(event))  # Breslow's ties
    assert X @ _scores(rows)[:, 0] == pytest.approx(score, rel=1e-10)


def test_scores_are_uncorrelated_with_few_ties_and_any_censoring() -> None:
    many = np.random.default_rng(1)
    times = many.exponential(size=20_000)
    censoring = many.exponential(size=20_000) * 0.8
    scores = _scores(np.column_stack([times <= censoring, np.minimum(times, censoring)]))
    share = np.mean(times <= censoring)
    np.testing.assert_allclose(
        scores.T @ scores / len(scores) / share, np.diag(1 / np.arange(1, 6)), atol=0.03
    )


def test_weights_are_repeated_rows(rng: np.random.Generator) -> None:
    rows, weight = _rows(ties=True), rng.integers(0, 3, N)
    weighed = Censored().resolve(rows, sample_weight=weight.astype(float)).features(rows)
    repeated = _scores(np.repeat(rows, weight, axis=0))
    np.testing.assert_allclose(np.repeat(weighed, weight, axis=0), repeated, atol=1e-12)


def test_only_the_order_of_times_matters() -> None:
    rows = _rows()
    other = np.column_stack([rows[:, 0], np.exp(3 * rows[:, 1])])
    np.testing.assert_allclose(_scores(rows), _scores(other), atol=1e-12)


def test_without_censoring_scores_are_functions_of_the_rank(rng: np.random.Generator) -> None:
    rows = np.column_stack([np.ones(N), rng.exponential(size=N)])
    ordered = _scores(rows)[np.argsort(rows[:, 1])]
    savage = 1.0 - np.cumsum(1.0 / np.arange(N, 0, -1))
    np.testing.assert_allclose(ordered[:, 0], savage, atol=1e-12)


def test_rows_that_end_before_the_first_event_tell_nothing() -> None:
    rows = np.array([[0, 0.5], [1, 1.0], [0, 0.2], [1, 2.0], [0, 3.0]])
    np.testing.assert_array_equal(_scores(rows)[[0, 2]], 0.0)


def test_other_rows_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"\(event, time\)"):
        Censored()(np.random.default_rng(0).normal(size=(10, 2)))
