"""Rows that a test needs, judged by a pilot sample."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

from depmax import hsic, hsic_test, samples_needed


@pytest.mark.slow
def test_samples_needed_gives_the_wanted_power(rng: np.random.Generator) -> None:
    x = rng.normal(size=3000)
    y = x**2 + 3.0 * rng.normal(size=3000)
    needed = samples_needed(x, y, power=0.8, significance_level=0.05)
    rejected = 0
    for _ in range(200):
        rows = rng.choice(3000, int(needed), replace=False)
        rejected += hsic_test(x[rows], y[rows], method="gamma").pvalue <= 0.05
    assert 0.68 <= rejected / 200 <= 0.92


def test_samples_needed_is_infinite_without_dependence() -> None:
    local = np.random.default_rng(3)
    x, y = local.normal(size=(2, 50))
    assert hsic(x, y) <= 0
    assert samples_needed(x, y) == math.inf


@pytest.mark.parametrize("name", ["power", "significance_level"])
def test_shares_are_checked(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must lie between 0 and 1"):
        samples_needed([0, 1, 2, 3], [0, 1, 2, 3.5], **{name: 1.5})


def significant_pilots(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pilots of 40 rows of a weak dependence that were significant."""
    rng = np.random.default_rng(0)
    found: list[tuple[np.ndarray, np.ndarray]] = []
    while len(found) < count:
        x, noise = rng.normal(size=(2, 40))
        if hsic_test(x, 0.3 * x + noise, method="gamma").pvalue <= 0.05:
            found.append((x, 0.3 * x + noise))
    return found


def test_significant_pilots_do_not_promise_too_much() -> None:
    """The winner's curse: the rows named for a power of 80 % had 41 %."""
    named = [samples_needed(*pilot) for pilot in significant_pilots(30)]
    rng = np.random.default_rng(1)
    rejected = []
    for rows in named:
        x, noise = rng.normal(size=(2, int(min(rows, 1000))))
        rejected.append(hsic_test(x, 0.3 * x + noise, method="gamma").pvalue <= 0.05)
    assert np.mean(rejected) >= 0.7
    truly = 150  # rows for 80 %, by simulation
    assert np.mean([rows.low <= truly <= rows.high for rows in named]) >= 0.9


def test_a_stronger_pilot_needs_fewer_rows_and_more_power_needs_more() -> None:
    rng = np.random.default_rng(2)
    x, noise = rng.normal(size=(2, 60))
    strengths = [samples_needed(x, strength * x + noise) for strength in (0.3, 0.6, 1.0, 2.0)]
    assert strengths == sorted(strengths, reverse=True)
    powers = [samples_needed(x, x + noise, power=power) for power in (0.5, 0.8, 0.95)]
    assert powers == sorted(powers)
    assert all(rows.low <= rows <= rows.high for rows in strengths + powers)


def test_a_pilot_without_dependence_bounds_the_rows_from_below() -> None:
    x, y = np.random.default_rng(3).normal(size=(2, 50))
    rows = samples_needed(x, y)
    assert rows == rows.high == math.inf
    assert 4 < rows.low < math.inf


def test_rows_are_a_number() -> None:
    x, noise = np.random.default_rng(2).normal(size=(2, 60))
    rows = samples_needed(x, x + noise)
    assert np.random.default_rng(0).normal(size=rows).shape == (int(rows),)
    assert f"{rows}" == str(int(rows))
    for other in (copy.copy(rows), pickle.loads(pickle.dumps(rows))):
        assert (other, other.low, other.high) == (rows, rows.low, rows.high)
