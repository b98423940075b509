"""Every kernel with a bandwidth finds the one of largest HSIC, its own or of those it is given."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from depmax import (
    BAHSIC,
    FOHSIC,
    HBFE,
    DependenceFilter,
    HSICLasso,
    alignment,
    hsic,
    hsic_test,
    kernels,
    mmd,
    resolve,
    screen,
)
from depmax.kernels import BandwidthKernel, Gaussian, Laplace
from depmax.maps import KernelMap
from tests.contracts.discovery import classes

KINDS = classes(kernels, BandwidthKernel)
#: Of these HSIC grows without end as the bandwidth gets narrower.
UNBOUNDED = {"InverseDistance", "InverseMultiquadric"}


def wave(frequency: float, n_rows: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """A sine of a uniform number, which only a narrow kernel sees if it is fast."""
    x = np.random.default_rng(0).uniform(size=(n_rows, 1))
    return x, np.sin(frequency * x[:, 0])


def test_all_are_found() -> None:
    assert {"Gaussian", "Laplace", *UNBOUNDED} <= set(KINDS)


@pytest.mark.parametrize("frequency", [0.5, 5.0, 60.0, 150.0])
@pytest.mark.parametrize("name", sorted(set(KINDS) - UNBOUNDED))
def test_no_other_bandwidth_has_more_dependence(name: str, frequency: float) -> None:
    x, y = wave(frequency)
    chosen = resolve(KINDS[name]("maximize"), x, y)
    scan = np.geomspace(1e-3, 1e2, 120)
    best = max(hsic(x, y, kernel=KINDS[name](width)) for width in scan)
    assert hsic(x, y, kernel=chosen) >= 0.99 * best
    assert isinstance(chosen.bandwidth, float)


def test_the_snippet_of_issue_29() -> None:
    x = np.random.default_rng(1).normal(size=(1000, 1))
    y = np.sin(60 * x[:, 0])
    best = max(hsic(x, y, kernel=Gaussian(width)) for width in np.geomspace(1e-3, 1.0, 60))
    assert hsic(x, y, kernel=Gaussian("maximize")) >= 0.99 * best


@pytest.mark.parametrize("make", [list, tuple, np.array], ids=["list", "tuple", "array"])
@pytest.mark.parametrize("name", sorted(KINDS))
def test_the_best_of_a_sequence_is_taken(name: str, make: Any) -> None:
    x, y = wave(12.0, 200)
    widths = [0.4, 0.003, 0.02, 0.1, 0.05]
    values = [hsic(x, y, kernel=KINDS[name](width)) for width in widths]
    recipe = KINDS[name](make(widths))
    assert not recipe.is_resolved
    assert not recipe.follows_scale
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if name in UNBOUNDED else "error")
        chosen = resolve(recipe, x, y)
        assert chosen.bandwidth == widths[int(np.argmax(values))]
        assert resolve(clone(recipe), x, y).bandwidth == chosen.bandwidth
        assert resolve(pickle.loads(pickle.dumps(recipe)), x, y).bandwidth == chosen.bandwidth
        assert hsic(x, y, kernel=2.0 * recipe) == pytest.approx(2.0 * max(values))


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_choice_at_the_edge_is_spoken_of(name: str) -> None:
    x, y = wave(60.0)
    with pytest.warns(UserWarning, match="smallest of those compared"):
        resolve(KINDS[name]([0.1, 0.3, 1.0]), x, y)
    slow = wave(0.5)
    if name not in UNBOUNDED:
        with pytest.warns(UserWarning, match="largest of those compared"):
            resolve(KINDS[name]([0.001, 0.003, 0.01]), *slow)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_where_nothing_is_at_the_edge_nothing_is_said(name: str) -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 80))
    resolve(KINDS[name]("maximize"), np.ones(80), y)
    resolve(KINDS[name]([0.3, 3.0]), x, x)  # of two, one is always at the edge
    for cls in (BAHSIC, FOHSIC, HSICLasso, DependenceFilter):  # searches choose for every set
        cls(1, kernel=KINDS[name]([0.5, 1.0, 2.0])).fit(np.column_stack([x, y]), y)


SEVERAL = [0.05, 0.2, 1.0, 4.0, 30.0]


@pytest.mark.parametrize("kernel", [Gaussian, Laplace])
def test_several_bandwidths_are_taken_wherever_maximize_is(kernel: type[BandwidthKernel]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1]
    recipe = kernel(np.array(SEVERAL))
    for measure in (hsic, alignment):
        chosen = resolve(recipe, X, y)
        assert measure(X, y, kernel=recipe) == pytest.approx(measure(X, y, kernel=chosen))
    assert mmd(X[y < 0], X[y > 0], kernel=recipe) > 0.0
    for cls in (BAHSIC, FOHSIC, HSICLasso, DependenceFilter):
        assert cls(2, kernel=recipe).fit(X, y).support_[0]
        assert clone(cls(2, kernel=recipe)).fit(X, y).support_[0]
    weighted = DependenceFilter(2, kernel=recipe).fit(X, y, sample_weight=np.arange(80) % 3)
    assert weighted.support_[0]
    assert HBFE(1, kernel=recipe).fit(X, y).kernel_.bandwidth in SEVERAL
    found = screen(X, y, kernel=recipe)
    for column in range(4):
        own = resolve(recipe, X[:, [column]], y)
        assert found.scores[column] == pytest.approx(hsic(X[:, [column]], y, kernel=own))
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(np.where(X[:, 1] > 0, "u", "v"))})
    assert hsic(frame, y, kernel=recipe) > 0.0


@pytest.mark.parametrize("name", sorted(KINDS))
def test_what_cannot_be_chosen_is_refused_by_name(name: str) -> None:
    x, y = wave(5.0, 50)
    for wrong in ([], [1.0, -1.0], [1.0, np.nan], [[1.0], [2.0]], "widest", ["median"]):
        with pytest.raises(ValueError, match=f"bandwidth .*of {name}"):
            resolve(KINDS[name](wrong), x, y)
    with pytest.raises(ValueError, match=f"bandwidth=.* of {name} .*target"):
        resolve(KINDS[name]([1.0, 2.0]), x)
    with pytest.raises(ValueError, match="needs a target"):
        KernelMap(kernel=KINDS[name]([1.0, 2.0])).fit(x)
    with pytest.raises(ValueError, match="several bandwidths"):
        hsic_test(x, y, kernel=KINDS[name]([1.0, 2.0]), method="permutation")
