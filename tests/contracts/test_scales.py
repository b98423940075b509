"""Every method either ignores the columns' units or warns where they are far apart."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import depmax
from depmax import extraction, maps, selection
from depmax import kernels as k
from depmax.data.table import SAMPLE_ROWS
from depmax.evaluation import Prepare
from depmax.extraction import DependenceExtractor
from depmax.maps.feature_map import FeatureMap
from depmax.selection import DependenceSelector
from depmax.selection.dependence_filter import SCORES
from tests.contracts.discovery import classes

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 5))
UNSCALED = X * [1.0, 1.0, 10_000.0, 1.0, 1.0]
CLASSES = (X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=60) > 0).astype(int)
NUMBERS = X[:, 0] + X[:, 1] ** 2 + 0.1 * rng.normal(size=60)

Answer = Callable[[np.ndarray], Any]


def _fitted(cls: type, **options: Any) -> Answer:
    def features(rows: np.ndarray) -> np.ndarray:
        return cls(1, **options).fit(rows, CLASSES).transform(rows)

    return features


def _ranked(cls: type, y: np.ndarray = CLASSES, **options: Any) -> Answer:
    return lambda rows: cls(1, **options).fit(rows, y).scores_


def _cases() -> dict[str, Answer]:
    cases: dict[str, Answer] = {}
    for name, cls in classes(extraction, DependenceExtractor).items():
        for kernel in ("linear", "gaussian"):
            if "kernel" in cls().get_params():
                cases[f"{name} {kernel}"] = _fitted(cls, kernel=kernel)
        cases[name] = _fitted(cls)
    for alpha in (0.0, 0.1):
        cases[f"SIR alpha={alpha}"] = _fitted(depmax.SIR, alpha=alpha)
        cases[f"KernelLDA alpha={alpha}"] = _fitted(depmax.KernelLDA, alpha=alpha)
    cases["KernelLDA beta"] = _fitted(depmax.KernelLDA, beta=0.5)
    cases["LDA, more components than classes"] = lambda rows: depmax.KernelLDA(2).fit_transform(
        rows, CLASSES
    )
    for name, cls in classes(maps, FeatureMap).items():
        cases[name] = _fitted(cls, **({"random_state": 0} if "random" in name.lower() else {}))
    for name, cls in classes(selection, DependenceSelector).items():
        cases[name] = _ranked(cls)
    for kernel in ("linear", "gaussian", "laplace", k.Gaussian(1.0), k.Gaussian("dimension")):
        cases[f"screen {kernel}"] = lambda rows, kernel=kernel: (
            depmax.screen(rows, NUMBERS, kernel=kernel).scores
        )
        for cls in (depmax.HSICLasso, depmax.BAHSIC, depmax.FOHSIC):
            cases[f"{cls.__name__} {kernel}"] = _ranked(cls, kernel=kernel)
        for score in ("hsic", "mmd", "alignment"):
            name = f"DependenceFilter {score} {kernel}"
            cases[name] = _ranked(depmax.DependenceFilter, score_func=score, kernel=kernel)
    for score in SCORES:
        cases[f"DependenceFilter {score}"] = _ranked(depmax.DependenceFilter, score_func=score)
    for name in ("hsic", "hsic_variance", "alignment", "coco", "distance_correlation"):
        cases[name] = lambda rows, name=name: getattr(depmax, name)(rows, NUMBERS)
    for name in ("gaussian_mutual_information", "quadratic_mutual_information"):
        cases[name] = lambda rows, name=name: getattr(depmax, name)(rows, NUMBERS)
    cases |= {
        "hsic_test": lambda rows: depmax.hsic_test(rows, NUMBERS, random_state=0).statistic,
        "hsic_interval": lambda rows: depmax.hsic_interval(rows, NUMBERS).low,
        "samples_needed": lambda rows: depmax.samples_needed(rows, NUMBERS),
        "resolve": lambda rows: depmax.resolve("gaussian", rows).bandwidth,
        "mmd": lambda rows: depmax.mmd(rows[:30], rows[30:]),
        "total_correlation": depmax.total_correlation,
        "intrinsic_dimension": depmax.intrinsic_dimension,
        "screen_pairs": lambda rows: depmax.screen_pairs(rows, NUMBERS).scores,
        "correntropy": lambda rows: depmax.correntropy(rows[:, 0], rows[:, 1]),
    }
    return cases


CASES = _cases()


def _answer(ask: Answer, rows: np.ndarray) -> tuple[np.ndarray, list[Any]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer = np.asarray(ask(rows), dtype=float)
    return answer, [found.message for found in caught if found.category is depmax.ScaleWarning]


@pytest.mark.parametrize("name", sorted(CASES))
def test_units_either_do_not_matter_or_are_warned_about(name: str) -> None:
    before, none = _answer(CASES[name], X)
    after, warned = _answer(CASES[name], UNSCALED)
    assert not none
    assert len(warned) <= 1, "once per call"
    if not warned:
        if before.ndim == 2:  # the sign of a feature is a convention
            after = after * np.sign((before * after).sum(axis=0))
        np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-9)


#: Methods that the units do not reach, so that a warning would be a false alarm.
SILENT = {
    "DependenceFilter",
    "DependenceFilter pearson",
    "DependenceFilter t",
    "DependenceFilter snr",
    "DependenceFilter alignment linear",
    "HSICLasso",
    "KernelLDA",
    "LinearRegressionFeature",
    "PHD",
    "Relief",
    "SIR",
    "gaussian_mutual_information",
    "screen laplace",
    "screen_pairs",
    "total_correlation",
}


@pytest.mark.parametrize("name", sorted(SILENT))
def test_methods_without_units_are_silent(name: str) -> None:
    assert not _answer(CASES[name], UNSCALED)[1]


def test_every_measure_is_asked() -> None:
    from depmax import dependence

    functions = {name for name in dependence.__all__ if name.islower()}
    asked = {name.partition(" ")[0] for name in CASES}
    assert functions <= asked


class TestMessage:
    def test_it_names_columns_ratio_and_remedy(self) -> None:
        frame = pd.DataFrame(UNSCALED, columns=["age", "b", "salary", "c", "d"])
        with pytest.warns(depmax.ScaleWarning) as caught:
            depmax.BAHSIC(2).fit(frame, CLASSES)
        text = str(caught[0].message)
        assert text.startswith("Column 'salary' of X has ")
        assert "make_pipeline(depmax.Prepare(), BAHSIC(...))" in text
        assert "nearly ignored" in text
        assert caught[0].filename == __file__

    def test_a_measure_has_its_own_remedy(self) -> None:
        with pytest.warns(depmax.ScaleWarning, match=r"Column 2 of X .*Prepare\(\)"):
            depmax.hsic(UNSCALED, NUMBERS)

    def test_mixed_frames_are_told_what_keeps_their_categories(self) -> None:
        frame = pl.DataFrame(UNSCALED).with_columns(c=pl.Series(CLASSES.astype(bool)))
        with pytest.warns(depmax.ScaleWarning, match=r"depmax\.Prepare\(\), KernelPLS"):
            depmax.KernelPLS(1).fit(frame, NUMBERS)
        depmax.KernelPLS(1).fit(Prepare().fit_transform(frame), NUMBERS)


class TestSilence:
    def test_a_scaler_ends_it(self) -> None:
        make_pipeline(StandardScaler(), depmax.BAHSIC(2)).fit(UNSCALED, CLASSES)

    @pytest.mark.parametrize(
        "kernel",
        [
            k.Columns([(str(c), "gaussian", c) for c in range(5)]),
            k.Columns([(str(c), k.Gaussian(3.0), c) for c in range(5)]),
            make_pipeline(StandardScaler(), maps.NystroemMap(5)),
            RBF([1.0, 1.0, 1e4, 1.0, 1.0]),
        ],
        ids=["columns", "columns with bandwidths", "pipeline", "lengths"],
    )
    def test_kernels_with_scales_of_their_own(self, kernel: Any) -> None:
        depmax.hsic(UNSCALED, NUMBERS, kernel=kernel)

    @pytest.mark.parametrize(
        "kernel",
        [
            k.Columns([("wide", "gaussian", [0, 2])]),
            k.Columns([("a", "linear", 0), ("b", "linear", 2)], combine="add"),
            k.Gaussian(1.0) + k.Linear(),
            2.0 * k.Gaussian(),
            k.RidgeKernel(),
            RBF(1.0),
            maps.NystroemMap(5),
        ],
        ids=["part", "added parts", "sum", "scaled", "ridge", "one length", "map"],
    )
    def test_kernels_that_compare_columns_warn(self, kernel: Any) -> None:
        with pytest.warns(depmax.ScaleWarning):
            depmax.hsic(UNSCALED, NUMBERS, kernel=kernel)

    def test_sparse_and_precomputed_rows_and_single_columns(self) -> None:
        depmax.hsic(sparse.csr_matrix(UNSCALED), NUMBERS)
        depmax.hsic(UNSCALED @ UNSCALED.T, NUMBERS, kernel="precomputed")
        depmax.hsic(UNSCALED[:, 2], NUMBERS)

    def test_constant_columns_and_rare_indicators(self) -> None:
        rare = np.zeros((20_000, 1))
        rare[0] = 1.0
        rows = np.hstack([np.resize(X, (20_000, 5)), rare, np.full((20_000, 1), 0.1)])
        depmax.HBFE(1).fit(rows, np.resize(CLASSES, 20_000))

    def test_the_number_of_components_by_refits_warns_once(self) -> None:
        with pytest.warns(depmax.ScaleWarning) as caught:
            depmax.HBFE("auto").fit(UNSCALED, CLASSES)
        assert len(caught) == 1


def test_many_rows_are_sampled_and_those_of_a_scan_too() -> None:
    rows = np.resize(X, (20 * SAMPLE_ROWS, 5)) * [1.0, 1.0, 1e4, 1.0, 1.0]
    y = np.resize(CLASSES, len(rows))
    for given in ((rows, y), (depmax.scan(rows, y),)):
        with pytest.warns(depmax.ScaleWarning, match="Column 2"):
            depmax.HBFE(1).fit(*given)


def test_compare_and_its_methods_scale() -> None:
    methods = ["BAHSIC", "HBFE", "PCA"]
    result = depmax.compare(UNSCALED, CLASSES, methods, cv=2, dimensions=[1])
    assert not any(trial.warnings for trial in result.trials)


@pytest.mark.parametrize("missing", ["neutral", "level"])
def test_cells_that_are_missing_do_not_hide_the_scales(missing: Any) -> None:
    gapped = UNSCALED.copy()
    gapped[::7, 2] = gapped[1::7, 0] = np.nan
    selector = depmax.BAHSIC(1, missing=missing)
    with pytest.warns(depmax.ScaleWarning, match="Column 2 of X has"):
        selector.fit(gapped, CLASSES)
    known = np.nanstd(gapped, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", depmax.ScaleWarning)
        selector.fit(gapped / known, CLASSES)
