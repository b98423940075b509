"""Tests given confounders do not depend on units, however small or large, and warn of nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from depmax import hsic_test, screen

LINEAR = {"kernel": "linear", "target_kernel": "linear"}


@pytest.fixture
def sample(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nine columns on both sides, so that pairs of rows are compared, and a confounder."""
    z = rng.normal(size=60)
    return rng.normal(size=(60, 9)) + z[:, np.newaxis], rng.normal(size=(60, 9)), z


@pytest.mark.parametrize("method", ["permutation", "gamma", "aggregate"])
@pytest.mark.parametrize("unit", [1e-30, 1e-15, 1e15, 1e30])
def test_units_of_both_sides_do_not_matter(
    unit: float, method: Any, sample: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> None:
    X, y, z = sample
    options: dict[str, Any] = {"given": z, "method": method, "n_permutations": 99, **LINEAR}
    expected = hsic_test(X, y, random_state=0, **options)
    found = hsic_test(unit * X, unit * y, random_state=0, **options)
    assert_allclose(found.pvalue, expected.pvalue, rtol=1e-3)
    assert_allclose(found.statistic, unit**4 * expected.statistic, rtol=1e-6)


@pytest.mark.parametrize("kernel", ["laplace", "gaussian", "linear"])
@pytest.mark.parametrize("unit", [1e-200, 1e-310])
def test_tiny_columns_beside_others_are_judged_as_they_are(
    unit: float, kernel: str, rng: np.random.Generator
) -> None:
    x, y, z = rng.normal(size=(3, 60))
    y = y + x
    found = screen(np.column_stack([x, unit * x]), y, given=z, kernel=kernel)
    assert_allclose(found.pvalues[1], found.pvalues[0], rtol=1e-3)
    assert_allclose(found.bandwidths[1], unit * found.bandwidths[0], rtol=1e-3)
    assert hsic_test(np.column_stack([x, unit * x]), y, given=z, random_state=0).pvalue < 0.05


def test_two_tiny_values_are_two_values(rng: np.random.Generator) -> None:
    x, y, z = rng.normal(size=(3, 60))
    columns = np.column_stack([x, x > 0, np.where(x > 0, 5e-324, 0.0)])
    found = screen(columns, y + x, given=z)
    assert_allclose(found.pvalues[2], found.pvalues[1], rtol=1e-3)


@pytest.mark.parametrize("method", ["permutation", "gamma", "aggregate"])
def test_confounders_that_are_the_target_leave_nothing(
    method: Any, sample: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> None:
    X, y, _ = sample
    for given in (X[:, 0], y[:, 0]):
        test = hsic_test(
            X[:, 0], y[:, 0], given=given, method=method, n_permutations=19, random_state=0
        )
        assert test.pvalue == 1.0
