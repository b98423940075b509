"""Every map found in its package keeps the contract and scikit-learn's own checks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from depmax import hsic, hsic_interval
from depmax import maps as package
from depmax.kernels import Gaussian, Linear, Subsequence, as_kernel
from depmax.maps import FeatureMap
from depmax.testing import check_map
from tests.contracts.discovery import classes

MAPS = classes(package, FeatureMap)
X = np.random.default_rng(0).normal(size=(30, 3))


@parametrize_with_checks([cls() for cls in MAPS.values()])
def test_scikit_learn_checks(estimator: object, check: object) -> None:
    check(estimator)


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
    hidden = set(MAPS) - set(package.__all__)
    assert not hidden, f"not re-exported by depmax.maps: {sorted(hidden)}"


class _Halved(TransformerMixin, BaseEstimator):
    """Half of every number."""

    def fit(self, X: np.ndarray, y: object = None) -> _Halved:
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return 0.5 * np.asarray(X)


def _coarse(name: str, kernel: object) -> FeatureMap:
    extra = {"random_state": 0} if "random_state" in MAPS[name]().get_params() else {}
    return MAPS[name](4, kernel=kernel, **extra)


@pytest.mark.parametrize("steps", ["map", "pipeline", "sum"])
@pytest.mark.parametrize("target_map", [False, True])
@pytest.mark.parametrize("name", sorted(MAPS))
def test_interval_of_a_coarse_map_holds_hsic_of_its_kernel(
    name: str, target_map: bool, steps: str
) -> None:
    """With five pivots it was [0.0045, 0.0051], "reliable", where HSIC is 0.0159."""
    local = np.random.default_rng(1)
    rows = local.normal(size=(1500, 6))
    target = rows[:, :2].sum(axis=1) + 0.2 * local.normal(size=1500)
    target_kernel = Gaussian(1.0)
    map_of_target = _coarse(name, target_kernel) if target_map else target_kernel
    kernels: dict[str, tuple[object, object]] = {
        "map": (_coarse(name, Gaussian(2.0)), Gaussian(2.0)),
        "pipeline": (make_pipeline(_Halved(), _coarse(name, Gaussian(1.0))), Gaussian(2.0)),
        "sum": (
            as_kernel(_coarse(name, Gaussian(2.0))) + Gaussian(3.0),
            Gaussian(2.0) + Gaussian(3.0),
        ),
    }
    coarse, exact = kernels[steps]
    truth = hsic(rows, target, kernel=exact, target_kernel=target_kernel)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = hsic_interval(rows, target, kernel=coarse, target_kernel=map_of_target)
    assert found.low <= truth <= found.high
    assert found.low <= found.estimate <= found.high
    assert found.reliable == (not said)
    if abs(truth - found.estimate) > 0.5 * truth:
        assert not found.reliable


@pytest.mark.parametrize("name", sorted(MAPS))
def test_interval_of_a_precise_map_is_that_of_its_kernel(name: str) -> None:
    local = np.random.default_rng(1)
    rows = local.normal(size=(200, 1))
    target = rows[:, 0] + local.normal(size=200)
    exact = hsic_interval(rows, target, kernel=Gaussian(1.0))
    found = hsic_interval(rows, target, kernel=MAPS[name](100, kernel=Gaussian(1.0)))
    assert found.reliable
    slack = 0.5 if name == "RandomFourier" else 0.01
    np.testing.assert_allclose([found.low, found.high], [exact.low, exact.high], rtol=slack)


def _raised(message: str, *_: object, **__: object) -> None:
    raise RuntimeError(message)


@pytest.mark.parametrize("name", ["IncompleteCholesky", "BasisSelection"])
@pytest.mark.parametrize("through", ["map", "kernel"])
def test_a_long_search_for_pivots_says_so_before_it_starts(
    name: str, through: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.random.default_rng(0).normal(size=(2500, 10))
    monkeypatch.setattr("depmax._resources.LONG", 0.5)
    monkeypatch.setattr(warnings, "warn", _raised)
    call = {
        "map": lambda: MAPS[name]().fit(rows),
        "kernel": lambda: hsic(rows, rows[:, 0], kernel=MAPS[name]()),
    }[through]
    with pytest.raises(RuntimeError, match="pivots among 2,500 rows"):
        call()


@pytest.mark.parametrize("name", ["IncompleteCholesky", "BasisSelection"])
def test_a_short_search_for_pivots_says_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(0).normal(size=(2500, 1))  # a few pivots span all rows
    monkeypatch.setattr("depmax._resources.LONG", 2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MAPS[name]().fit(rows)
