"""Rows that resemble their neighbours: every test that takes rows as independent says so, once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter

import depmax

N = 300
noise = np.random.default_rng(1).normal(size=(4, N))
SERIES = lfilter([1.0], [1.0, -0.9], noise).T  # rows are 0.9 of the one before, plus noise
X, Y = SERIES[:, :2], SERIES[:, 2]
QUICK = {"random_state": 0, "n_permutations": 49}

Ask = Callable[..., Any]
TESTS: dict[str, Ask] = {
    "hsic_test": lambda X, y, **o: depmax.hsic_test(X, y, **QUICK, **o),
    "permutation": lambda X, y, **o: depmax.hsic_test(X, y, method="permutation", **QUICK, **o),
    "screen": lambda X, y, **o: depmax.screen(X, y, **o),
    "screen_pairs": lambda X, y, **o: depmax.screen_pairs(X, y, **QUICK, **o),
}
UNGROUPED: dict[str, Ask] = {
    "gamma": lambda X, y: depmax.hsic_test(X, y, method="gamma"),
    "weights": lambda X, y: depmax.hsic_test(X, y, sample_weight=np.ones(len(X)), **QUICK),
    "given": lambda X, y: depmax.hsic_test(X, y, given=noise[3], **QUICK),
    "screen weights": lambda X, y: depmax.screen(X, y, sample_weight=np.ones(len(X))),
    "screen given": lambda X, y: depmax.screen(X, y, given=noise[3]),
}
every = pytest.mark.parametrize("name", sorted(TESTS | UNGROUPED))


def _said(ask: Ask, *data: Any, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ask(*data, **options)
    return [str(one.message) for one in caught if "next to each other" in str(one.message)]


@every
@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_series_are_mentioned_once_with_the_remedy(name: str, kind: str) -> None:
    y = Y if kind == "numbers" else np.where(np.median(Y) < Y, "up", "down")
    (said,) = _said((TESTS | UNGROUPED)[name], X, y)
    assert "groups=depmax.Shifts()" in said


@every
def test_rows_in_any_order_are_not(name: str) -> None:
    order = np.random.default_rng(0).permutation(N)
    assert not _said((TESTS | UNGROUPED)[name], X[order], Y[order])


@every
def test_a_table_sorted_by_its_target_is_not(name: str) -> None:
    order = np.argsort(noise[2])
    assert not _said((TESTS | UNGROUPED)[name], noise[:2, order].T, noise[2, order])


@pytest.mark.parametrize("name", sorted(TESTS))
def test_the_remedy_ends_it(name: str) -> None:
    assert not _said(TESTS[name], X, Y, groups=depmax.Shifts())


def test_independent_rows_are_never_mentioned() -> None:
    local = np.random.default_rng(2)
    for _ in range(40):
        assert not _said(depmax.screen, local.normal(size=(120, 2)), local.normal(size=120))
        assert not _said(depmax.screen, local.normal(size=(120, 2)), local.integers(0, 2, 120))


def test_categories_and_objects_are_read() -> None:
    frame = pd.DataFrame({"a": X[:, 0], "c": pd.Categorical(np.where(X[:, 1] > 0, "u", "v"))})
    assert len(_said(depmax.screen, frame, Y)) == 1
    assert not _said(depmax.hsic_test, ["ab", "ba"] * 60, Y[:120], kernel="spectrum", **QUICK)


def test_compare_says_it_in_its_verdict_and_nowhere_else() -> None:
    from sklearn.neighbors import KNeighborsRegressor

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = depmax.compare(
            X, Y, ["HSIC filter"], judge=KNeighborsRegressor(), cv=3, random_state=0
        )
        cautions = found.verdict.cautions
    assert any("Shifts()" in caution.text for caution in cautions)
    assert not [one for one in caught if "next to each other" in str(one.message)]
