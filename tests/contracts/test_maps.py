"""Every map found in its room keeps the contract and scikit-learn's own checks."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from depmax import maps as room
from depmax.kernels import Gaussian, Linear, Subsequence
from depmax.maps import FeatureMap
from depmax.testing import check_map
from tests.contracts.discovery import classes

MAPS = classes(room, FeatureMap)
X = np.random.default_rng(0).normal(size=(30, 3))


@parametrize_with_checks([cls() for cls in MAPS.values()])
def test_scikit_learn_checks(estimator: object, check: object) -> None:
    check(estimator)  # type: ignore[operator]  # scikit-learn's decorator has no types


@pytest.mark.parametrize("name", sorted(MAPS))
@pytest.mark.parametrize("kernel", [Gaussian(2.0), "gaussian", "laplace"])
def test_keeps_the_contract(name: str, kernel: object) -> None:
    extra = {"random_state": 0} if "random_state" in MAPS[name]().get_params() else {}
    check_map(MAPS[name](10, kernel=kernel, **extra), X)


@pytest.mark.parametrize("name", sorted(set(MAPS) - {"RandomFourier"}))
def test_full_rank_is_exact(name: str) -> None:
    extra = {"tol": 1e-14} if "tol" in MAPS[name]().get_params() else {}
    check_map(MAPS[name](len(X), kernel=Gaussian(1.0), **extra), X, tol=1e-6)
    check_map(MAPS[name](3, kernel=Linear(), **extra), X, tol=1e-6)


@pytest.mark.parametrize("name", sorted(set(MAPS) - {"RandomFourier"}))
def test_strings_are_mapped(name: str) -> None:
    words = ["acgtac", "aaccgg", "gttaca", "ccggtt", "acacac"]
    check_map(MAPS[name](5, kernel=Subsequence(2, 0.5)), np.array(words, dtype=object), tol=1e-6)


def test_every_map_is_exported() -> None:
    hidden = set(MAPS) - set(room.__all__)
    assert not hidden, f"not re-exported by depmax.maps: {sorted(hidden)}"
