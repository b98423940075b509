"""Sorted rows give the answer of shuffled ones, where only some of the rows are looked at, too."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isfunction, signature
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import depmax
from depmax import Residual, Unconfounded, hsic, hsic_test, screen
from tests.contracts.test_measures import PAIRED

#: More rows than any width, kernel or direction is chosen by.
N_ROWS = 1500


def confounded() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two effects of a confounder, which depend on each other besides."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(N_ROWS, 1))
    x = np.sin(2 * Z[:, 0]) + Z[:, 0] ** 2 + 0.5 * rng.normal(size=N_ROWS)
    y = np.cos(2 * Z[:, 0]) + Z[:, 0] ** 2 + 0.5 * rng.normal(size=N_ROWS) + 0.3 * x
    return x, y, Z


def _residual(x: np.ndarray, y: np.ndarray, Z: np.ndarray) -> float:
    left = Residual(given=[0]).fit_transform(np.column_stack([Z, x]))
    return float(np.std(left))


def _unconfounded(x: np.ndarray, y: np.ndarray, Z: np.ndarray) -> float:
    model = Unconfounded(depmax.DependenceFilter(1), given=[0])
    return float(model.fit(np.column_stack([Z, x]), y).estimator_.scores_.max())


#: A number that each part with ``given`` comes to.
GIVEN: dict[str, Callable[..., Any]] = {
    "hsic": lambda x, y, Z: hsic(x, y, given=Z),
    "hsic_test": lambda x, y, Z: hsic_test(x, y, given=Z, method="gamma").statistic,
    "screen": lambda x, y, Z: screen(x[:, np.newaxis], y, given=Z).scores[0],
    "Residual": _residual,
    "Unconfounded": _unconfounded,
}


def test_every_part_with_confounders_is_here() -> None:
    parts = {name: getattr(depmax, name) for name in depmax.__all__}
    callables = {
        name
        for name, part in parts.items()
        if isfunction(part) or (isinstance(part, type) and hasattr(part, "fit"))
    }
    assert set(GIVEN) == {
        name for name in callables if "given" in signature(parts[name]).parameters
    }


@pytest.mark.filterwarnings("ignore:DM002")  # they are sorted
@pytest.mark.parametrize("by", ["confounder", "x", "y"])
@pytest.mark.parametrize("name", GIVEN)
def test_given_confounders(name: str, by: str) -> None:
    """The kernels of regressions had their widths from the first 300 rows: HSIC was 7 % off."""
    x, y, Z = confounded()
    order = np.argsort({"confounder": Z[:, 0], "x": x, "y": y}[by])
    expected = GIVEN[name](x, y, Z)
    assert_allclose(GIVEN[name](x[order], y[order], Z[order]), expected, rtol=0.02)


@pytest.mark.parametrize("name", sorted(PAIRED))
def test_measures(name: str) -> None:
    x, y, _ = confounded()
    order = np.argsort(x)
    measure = PAIRED[name]
    assert_allclose(measure(x[order], y[order]), measure(x, y), rtol=0.05)
