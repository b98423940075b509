"""Numbers far from zero, such as times in seconds: a constant added to y or X changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator

import depmax
from depmax import extraction, selection
from depmax.extraction import DependenceExtractor
from depmax.kernels.distances import squared_distances
from depmax.selection import BAHSIC, FOHSIC, DependenceFilter, DependenceSelector
from depmax.selection.dependence_filter import SCORES
from tests.contracts.discovery import classes

N = 48
rng = np.random.default_rng(2)
X = rng.normal(size=(N, 4))
NUMBERS = X[:, 0] + 0.3 * X[:, 1] ** 2 + 0.1 * rng.normal(size=N)
OUTPUTS = np.column_stack([NUMBERS, X[:, 2] + rng.normal(size=N)])
CLASSES = (NUMBERS > 0).astype(int)
#: Times in seconds, in milliseconds (rounded to about 1e-4), and below zero.
OFFSETS = (1.7e9, 1.7e12, -3e9)
COLUMN_OFFSETS = np.array([1.7e9, 1e6, 1e8, -3e9])


def _seeded(cls: type, **options: Any) -> BaseEstimator:
    model = cls(**options)
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


Maker = Callable[[], Any]


def _extractors() -> dict[str, Maker]:
    cases: dict[str, Maker] = {}
    for name, cls in classes(extraction, DependenceExtractor).items():
        cases[name] = lambda cls=cls: _seeded(cls)
        if "kernel" in cls().get_params():
            for kernel in ("linear", "gaussian"):
                cases[f"{name} {kernel}"] = lambda c=cls, k=kernel: _seeded(c, kernel=k)
    for loss in ("least_squares", "absolute"):
        for cls in (depmax.BoostedLatentFeatures, depmax.SparseKernelPLS):
            cases[f"{cls.__name__} {loss}"] = lambda c=cls, how=loss: _seeded(c, loss=how)
    named = ("pls", "pca", "sma", "smc", "skfa", "blf", "sparse_blf")
    for criterion in named:
        for kernel in ("linear", "gaussian"):
            cases[f"DeflationFeatures {criterion} {kernel}"] = lambda c=criterion, k=kernel: (
                depmax.DeflationFeatures(criterion=c, kernel=k)
            )
    for size in (2, 3):
        cases[f"SMA {size}"] = lambda size=size: _seeded(depmax.SMA, sparsity=size)
        cases[f"SMC {size}"] = lambda size=size: _seeded(depmax.SMC, sparsity=size)
    return cases


EXTRACTORS = _extractors()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # fewer than two
@pytest.mark.parametrize(  # all offsets and both targets of every extractor
    ("name", "target", "offset"),
    [
        (name, ("numbers", "outputs")[(place + number) % 2], offset)
        for number, name in enumerate(EXTRACTORS)
        for place, offset in enumerate(OFFSETS)
    ],
)
def test_targets_far_from_zero(name: str, target: str, offset: float) -> None:
    y = {"numbers": NUMBERS, "outputs": OUTPUTS}[target]
    moved = y + offset
    same = moved - offset  # with the digits that are left
    try:
        expected = EXTRACTORS[name]().fit(X, same)
    except ValueError:  # a method of classes
        return
    found = EXTRACTORS[name]().fit(X, moved)
    # one number moves one source: what ICA-FX finds beyond it hangs on the last digits
    n_compared = 1 if name.startswith("ICAFX") and y.ndim == 1 else None
    features = expected.transform(X)[:, :n_compared]
    moved_features = found.transform(X)[:, :n_compared]
    assert_allclose(moved_features, features, rtol=1e-5, atol=1e-6 * np.abs(features).max())
    if hasattr(expected, "predict"):
        assert_allclose(found.predict(X) - offset, expected.predict(X), atol=1e-3)


def _selectors() -> dict[str, Maker]:
    cases: dict[str, Maker] = {}
    for name, cls in classes(selection, DependenceSelector).items():
        cases[name] = lambda cls=cls: _seeded(cls, n_features_to_select=2)
    for cls in (BAHSIC, FOHSIC):
        for kernel in ("linear", "gaussian", "laplace"):
            for unbiased in (True, False):
                for target in ("auto", "linear"):
                    cases[f"{cls.__name__} {kernel} {unbiased} {target}"] = (
                        lambda c=cls, k=kernel, u=unbiased, t=target: c(
                            2, kernel=k, unbiased=u, target_kernel=t
                        )
                    )
    for score in SCORES:
        cases[f"DependenceFilter {score}"] = lambda s=score: DependenceFilter(2, score_func=s)
    return cases


SELECTORS = _selectors()


@pytest.mark.parametrize("y", [NUMBERS, CLASSES], ids=["numbers", "classes"])
@pytest.mark.parametrize("name", SELECTORS)
def test_columns_far_from_zero(name: str, y: np.ndarray) -> None:
    moved = X + COLUMN_OFFSETS
    same = moved - COLUMN_OFFSETS
    try:
        expected = SELECTORS[name]().fit(same, y)
    except (ValueError, TypeError):  # a score of the other kind of target
        return
    found = SELECTORS[name]().fit(moved, y)
    assert_allclose(found.scores_, expected.scores_, rtol=1e-4, atol=1e-6)
    assert found.ranking_.tolist() == expected.ranking_.tolist()


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_linear_shares_of_weighted_and_single_columns(unbiased: bool, dtype: Any) -> None:
    moved = (X + 512.0).astype(dtype)
    weights = np.arange(N) % 3 + 1
    for sample_weight in (None, weights):
        found = BAHSIC(2, kernel="linear", unbiased=unbiased)
        found.fit(moved, CLASSES, sample_weight=sample_weight)
        expected = BAHSIC(2, kernel="linear", unbiased=unbiased)
        expected.fit(moved.astype(np.float64) - 512.0, CLASSES, sample_weight=sample_weight)
        assert_allclose(found.scores_, expected.scores_, rtol=1e-6)


# --- one value, or some, out of all proportion ----------------------------------------------------
KERNELS = ("gaussian", "laplace", "inverse_multiquadric")
BENT = X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=N)
MEASURES: dict[str, Callable[[Any, Any], Any]] = {
    "hsic": depmax.hsic,
    "biased": lambda x, y: depmax.hsic(x, y, unbiased=False),
    "alignment": depmax.alignment,
    "coco": depmax.coco,
    "variance": depmax.hsic_variance,
    "mmd": lambda x, y: depmax.mmd(x[::2], x[1::2]),
    "gamma": lambda x, y: depmax.hsic_test(x, y, method="gamma").pvalue,
    "screen": lambda x, y: depmax.screen(x, y).scores,
    "screen p": lambda x, y: np.log(depmax.screen(x, y).pvalues),
    "screen p of HSIC": lambda x, y: np.log(depmax.screen(x, y, method="hsic").pvalues),
    "features": lambda x, y: np.abs(depmax.HSCA(2, kernel="gaussian").fit_transform(x, y)),
    "kernel PLS": lambda x, y: np.abs(depmax.KernelPLS(2, kernel="gaussian").fit_transform(x, y)),
}
for _name in KERNELS:
    MEASURES[f"BAHSIC {_name}"] = lambda x, y, k=_name: BAHSIC(2, kernel=k).fit(x, y).scores_
    MEASURES[f"FOHSIC {_name}"] = lambda x, y, k=_name: FOHSIC(2, kernel=k).fit(x, y).scores_


@pytest.mark.filterwarnings("ignore::depmax.ScaleWarning")  # the columns are far apart
@pytest.mark.parametrize("rows", [[0], [0, 7, 8, 30]], ids=["one", "some"])
@pytest.mark.parametrize("side", ["X", "y"])
@pytest.mark.parametrize("name", MEASURES)
def test_values_far_from_all_others(name: str, side: str, rows: list[int]) -> None:
    """Kernels of distances see that they are far, not how far; others keep their digits."""

    def measured(value: float) -> np.ndarray:
        x, y = X.copy(), BENT.copy()
        if side == "X":
            x[rows, 0] = value
        else:
            y[rows] = value
        return np.asarray(MEASURES[name](x, y))

    if (name, side) == ("kernel PLS", "y"):
        pytest.skip("it is linear in y")
    if (name, side, len(rows)) == ("BAHSIC gaussian", "X", 4):
        pytest.skip("its inner products lose the distances of far rows from each other")
    expected = measured(1e6)
    for value in (999_999_999.0, 1e12, -1e12):
        found = measured(value)
        # ranks see the sign: those of y, by which pairs are screened, and both of the omnibus
        if value < 0 and (name == "screen p" or (name.startswith("BAHSIC") and side == "y")):
            expected = measured(-1e6)
        assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_squared_distances_of_far_rows(n_columns: int, dtype: Any) -> None:
    rows = np.random.default_rng(0).normal(size=(300, n_columns)).astype(dtype)
    rows[[5, 77], 0] = 1e7
    direct = np.square(rows[:, np.newaxis].astype(float) - rows.astype(float)).sum(axis=2)
    for found in (squared_distances(rows, rows), squared_distances(rows, rows.copy())):
        assert found.dtype == dtype
        assert_allclose(found, direct, rtol=1e-5, atol=1e-5)
