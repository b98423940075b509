"""No p-value is 0: it is at least the least that its law, its count or its permutations allow."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.feature_selection import f_regression

import depmax

N = 2500
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
NUMBERS = X[:, 0]
TWO = (NUMBERS > 0).astype(int)
BINARY = np.c_[TWO, X[:, 1:] > 0].astype(float)
FRAME = pl.DataFrame({"a": X[:, 0], "b": BINARY[:, 0], "y": NUMBERS, "c": TWO})

CASES: dict[str, Callable[[], Any]] = {
    "screen numbers": lambda: depmax.screen(X, NUMBERS).pvalues,
    "screen counts": lambda: depmax.screen(BINARY, TWO).pvalues,
    "screen adjusted": lambda: depmax.screen(BINARY, TWO).pvalues_adjusted,
    "screen linear": lambda: depmax.screen(BINARY, TWO, kernel="linear").pvalues,
    "screen given": lambda: depmax.screen(X[:, :2], NUMBERS, given=X[:, 2]).pvalues,
    "screen weights": lambda: (
        depmax.screen(BINARY, TWO, sample_weight=rng.integers(1, 3, N)).pvalues
    ),
    "screen chunks": lambda: depmax.screen(depmax.scan(FRAME.drop("c"), target="y"), None).pvalues,
    "screen chunks of counts": lambda: (
        depmax.screen(depmax.scan(FRAME.drop("y"), target="c"), None).pvalues
    ),
    "test counts": lambda: depmax.hsic_test(BINARY[:, 0], TWO, method="gamma").pvalue,
    "test gamma": lambda: depmax.hsic_test(NUMBERS[:500], NUMBERS[:500], method="gamma").pvalue,
    "pairs": lambda: (
        depmax.screen_pairs(np.tile(X, (3, 1)), np.tile(X[:, 0] * X[:, 1], 3)).pvalues_adjusted
    ),
    "filter": lambda: depmax.DependenceFilter(1).fit(BINARY, TWO).pvalues_adjusted_,
    "filter, own function": lambda: (
        depmax.DependenceFilter(1, score_func=f_regression)
        .fit(X, NUMBERS + 1e-9 * X[:, 1])
        .pvalues_adjusted_
    ),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_least_p_value_is_not_zero(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of time that it takes
        found = np.atleast_1d(CASES[name]())
    assert found.min() > 0.0
    assert found.min() < 1e-3
    assert float(json.dumps(float(found.min()))) > 0.0
