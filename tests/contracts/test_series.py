"""Time series: shifts keep their level, and say so where they cannot."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter

import depmax
from depmax import Shifts, hsic_test, screen, screen_pairs

#: Everything that takes ``groups=Shifts()``, of columns X and a target.
CALLS: dict[str, Callable[..., Any]] = {
    "hsic_test aggregate": lambda X, y: hsic_test(X, y, groups=Shifts(), n_permutations=19),
    "hsic_test permutation": lambda X, y: hsic_test(
        X, y, groups=Shifts(), method="permutation", n_permutations=19
    ),
    "screen": lambda X, y: screen(X, y, groups=Shifts()),
    "screen_pairs": lambda X, y: screen_pairs(X, y, groups=Shifts(), n_permutations=19),
    "DependenceFilter": lambda X, y: depmax.DependenceFilter(1).fit(X, y, groups=Shifts()),
    "BAHSIC": lambda X, y: depmax.BAHSIC(1).fit(X, y, groups=Shifts()),
    "FOHSIC": lambda X, y: depmax.FOHSIC(1).fit(X, y, groups=Shifts()),
    "KernelRidgeElimination": lambda X, y: depmax.KernelRidgeElimination(1).fit(
        X, y, groups=Shifts()
    ),
}


def ar(coefficient: float, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Rows that are so much of the one before, plus noise."""
    noise = rng.normal(size=(shape[0] + 200, *shape[1:]))
    return np.asarray(lfilter([1.0], [1.0, -coefficient], noise, axis=0)[200:])


def warned(call: Callable[..., Any], X: np.ndarray, y: np.ndarray) -> bool:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        call(X, y)
    return any("too short for Shifts" in str(each.message) for each in said)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_random_walks_are_too_short_and_noise_is_not(name: str) -> None:
    rng = np.random.default_rng(1)
    walks, noise = np.cumsum(rng.normal(size=(120, 4)), axis=0), rng.normal(size=(120, 4))
    assert warned(CALLS[name], walks[:, 1:], walks[:, 0])
    assert not warned(CALLS[name], noise[:, 1:], noise[:, 0])
    assert not warned(CALLS[name], noise[:, 1:], walks[:, 0])  # one side that forgets is enough
    assert not warned(CALLS[name], ar(0.5, (400, 3), rng), ar(0.5, (400,), rng))


@pytest.mark.parametrize("method", ["aggregate", "permutation"])
def test_what_is_too_short_is_not_reliable(method: Any) -> None:
    x, y = np.cumsum(np.random.default_rng(0).normal(size=(2, 100)), axis=1)
    options = {"groups": Shifts(), "method": method, "n_permutations": 19}
    with pytest.warns(UserWarning, match="too short for Shifts"):
        assert not hsic_test(x, y, **options).reliable
    assert hsic_test(np.diff(x), np.diff(y), **options).reliable


def test_classes_and_several_series_have_a_memory() -> None:
    rng = np.random.default_rng(0)
    state = np.where(np.cumsum(rng.normal(size=120)) > 0, "up", "down")
    walk = np.cumsum(rng.normal(size=120))
    with pytest.warns(UserWarning, match="too short for Shifts"):
        hsic_test(walk, state, groups=Shifts(), n_permutations=19)
    series = np.repeat([0, 1], 60)
    with pytest.warns(UserWarning, match="A series of 60 rows"):
        hsic_test(walk, np.cumsum(rng.normal(size=120)), groups=Shifts(series), n_permutations=19)


def test_level_of_autoregressions() -> None:
    """It was 0.12 with 50 rows: 41 shifts, drawn often, without the series as it is."""
    pvalues = []
    for number in range(150):
        rng = np.random.default_rng(number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            test = hsic_test(
                *ar(0.8, (50, 2), rng).T,
                groups=Shifts(),
                method="permutation",
                n_permutations=99,
                random_state=number,
            )
        pvalues.append(test.pvalue)
    assert np.mean(np.array(pvalues) <= 0.05) <= 0.09
