"""A kernel matrix of the target gives what its kernel gives: every selector, extractor, measure.

Private modules: the limit of rows is lowered so that a small table passes it.
"""

from __future__ import annotations

import warnings
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import depmax
from depmax import BAHSIC, dependence, extraction, resolve, selection
from depmax.extraction import DependenceExtractor
from depmax.kernels import Gaussian
from depmax.selection import DependenceSelector
from depmax.selection._search import protection
from tests.contracts.discovery import classes, functions

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 5))
y = X[:, 1] ** 2 + 2.0 * X[:, 0] + 0.1 * rng.normal(size=60)
KERNEL = resolve(Gaussian(), y)
MATRIX = KERNEL(y)
WEIGHTS: dict[str, Any] = {
    "none": None,
    "whole": rng.integers(1, 4, size=60),
    "whole, some zero": rng.integers(0, 3, size=60),
    "parts, some zero": rng.choice([0.0, 0.5, 1.7], size=60),
}


def having(found: dict[str, Any]) -> dict[str, Any]:
    """Those that users call and that have the choice of the target's kernel."""
    return {
        name: each
        for name, each in found.items()
        if hasattr(depmax, name) and {"kernel", "target_kernel"} <= {*signature(each).parameters}
    }


SELECTORS = having(classes(selection, DependenceSelector))
EXTRACTORS = having(classes(extraction, DependenceExtractor))
FUNCTIONS = having(functions(dependence))
del FUNCTIONS["resolve"]  # has another question
#: By default it also looks at the values of the target, which a matrix does not have.
FUNCTIONS["screen"] = partial(depmax.screen, method="hsic")
#: An interval depends on how many rows there are.
WHOLE_ONLY = ("hsic_interval", "hsic_variance", "samples_needed")


def weights_of(call: Any, which: str) -> dict[str, Any]:
    """Weights as a keyword, for what takes them."""
    if WEIGHTS[which] is None:
        return {}
    if "sample_weight" not in signature(call).parameters:
        pytest.skip("takes no weights")
    return {"sample_weight": WEIGHTS[which]}


@pytest.mark.parametrize("which", WEIGHTS)
@pytest.mark.parametrize("count", [2, "auto"])
@pytest.mark.parametrize("name", sorted(SELECTORS))
def test_selectors(name: str, count: int | str, which: str) -> None:
    cls = SELECTORS[name]
    if count == "auto" and (which != "none" or not cls._decides_how_many):
        pytest.skip("is not offered")
    options = weights_of(cls.fit, which)
    expected = cls(count, target_kernel=KERNEL).fit(X, y, **options)
    found = cls(count, target_kernel="precomputed").fit(X, MATRIX, **options)
    assert_array_equal(found.ranking_, expected.ranking_)
    assert_array_equal(found.support_, expected.support_)
    assert_allclose(found.scores_, expected.scores_, rtol=1e-6, atol=1e-9)
    assert_allclose(found.path_, expected.path_, rtol=1e-6)


@pytest.mark.parametrize("which", WEIGHTS)
@pytest.mark.parametrize("name", sorted(EXTRACTORS))
def test_extractors(name: str, which: str) -> None:
    cls = EXTRACTORS[name]
    options = weights_of(cls.fit, which)
    expected = cls(1, target_kernel=KERNEL).fit(X, y, **options).dependence_
    found = cls(1, target_kernel="precomputed").fit(X, MATRIX, **options).dependence_
    assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("name", sorted(EXTRACTORS))
def test_extractors_that_choose_their_number(name: str) -> None:
    model = EXTRACTORS[name]("auto", target_kernel="precomputed").fit(X, MATRIX)
    assert 1 <= model.transform(X).shape[1] <= X.shape[1]


@pytest.mark.parametrize("which", WEIGHTS)
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions(name: str, which: str) -> None:
    call = FUNCTIONS[name]
    if name in WHOLE_ONLY and which.startswith("parts"):
        pytest.skip("takes whole weights only")
    options = weights_of(call, which)
    if "random_state" in signature(call).parameters:
        options["random_state"] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what both say about the data
        expected = call(X, y, target_kernel=KERNEL, **options)
        found = call(X, MATRIX, target_kernel="precomputed", **options)
    for part in ("scores", "statistic", "pvalue", "pvalues", "low", "n_samples"):
        if hasattr(expected, part):
            assert_allclose(getattr(found, part), getattr(expected, part), rtol=1e-6, atol=1e-9)
    if np.isscalar(expected):
        assert_allclose(found, expected, rtol=1e-6)


def test_more_rows_than_pairs_are_looked_for_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protection, "ROWS", 40)
    wide = np.random.default_rng(1).normal(size=(60, 14))
    expected = BAHSIC(2, target_kernel=KERNEL).fit(wide, y)
    found = BAHSIC(2, target_kernel="precomputed").fit(wide, MATRIX)
    assert_array_equal(found.ranking_, expected.ranking_)


def test_all_are_found() -> None:
    assert {"BAHSIC", "FOHSIC", "HSICLasso", "DependenceFilter"} <= set(SELECTORS)
    assert {"HBFE", "HSCA"} <= set(EXTRACTORS)
    assert {"hsic", "screen", "hsic_test", "alignment"} <= set(FUNCTIONS)
