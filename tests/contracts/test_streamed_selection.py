"""Scores, searches and tests of tables that are read a chunk at a time.

Private modules: the levels to which values are rounded are read, and the limit of rows is lowered.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

import depmax
from depmax import DependenceFilter, hsic_test, scan, screen
from depmax.data.chunks import Chunk
from depmax.data.sample import aligned
from depmax.data.table import some_rows
from depmax.dependence._nulls.counted import Grid, look_at_columns
from depmax.kernels import Laplace
from depmax.maps import NystroemMap
from depmax.selection._search import selectors
from depmax.selection.dependence_filter import SCORES
from tests.contracts.test_streaming import (
    NAMES,
    ROWS,
    SOURCES,
    TABLE,
    TARGETS,
    da,
    streamed,
)

# columns of the table are on different scales on purpose
pytestmark = pytest.mark.filterwarnings("ignore::depmax.ScaleWarning")


def _rounded() -> pd.DataFrame:
    """Columns with few different values, one of which is a category and one constant."""
    X = TABLE[NAMES].copy()
    for name in NAMES[:5]:
        X[name] = X[name].round(0 if name == "d" else 1)
    X.insert(2, "constant", 3.3)
    return X


COUNTED = _rounded()
FIELDS = ["scores", "pvalues", "pvalues_adjusted", "effects"]


def _require_equal(found: Any, expected: Any, tolerance: float = 1e-8) -> None:
    assert found.names == expected.names
    for name in [*FIELDS, "bandwidths"]:
        value = getattr(expected, name)
        atol = tolerance * np.nanmax(np.abs(value), initial=0.0)
        assert_allclose(getattr(found, name), value, rtol=0, atol=atol, err_msg=name)


# --- screen ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("kernel", ["laplace", "gaussian", "linear", Laplace(2.0)])
@pytest.mark.parametrize("target", [name for name in TARGETS if name != "labels"])
def test_screening_of_counted_columns_is_that_of_rows_in_memory(target: str, kernel: Any) -> None:
    y = TABLE[TARGETS[target]]
    expected = screen(COUNTED, y, kernel=kernel, tol=1e-12)
    found = screen(scan(COUNTED, y, rows_per_chunk=101), kernel=kernel, tol=1e-12)
    _require_equal(found, expected)


def test_a_column_of_which_one_row_differs_says_nothing() -> None:
    X, y = np.zeros((400, 1)), np.random.default_rng(0).normal(size=400)
    X[np.argmax(y)] = 3.0
    for table in (X, scan(X, y, rows_per_chunk=101)):
        found = screen(table, y if table is X else None)
        assert found.pvalues[0] == 1.0
        assert found.effects[0] == 0.0


def test_the_skewness_of_several_labels_comes_from_some_rows() -> None:
    y = TABLE[TARGETS["labels"]]
    expected = screen(COUNTED, y)
    found = screen(scan(COUNTED, y, rows_per_chunk=101))
    assert np.isnan(found.effects_low).all()
    assert "effect_low" not in found.to_frame()
    for name in ("scores", "effects"):
        assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-8)
    assert_allclose(found.pvalues, expected.pvalues, rtol=0.1, atol=1e-6)


@pytest.mark.parametrize("source", [name for name in SOURCES if name != "dask array"])
@pytest.mark.parametrize("target", ["numbers", "text"])
def test_screening_of_every_source(target: str, source: str, tmp_path: Path) -> None:
    y = TABLE[target]
    X, answers = streamed(source, COUNTED, y, tmp_path)
    _require_equal(screen(X, answers, tol=1e-12), screen(COUNTED, y, tol=1e-12))


def test_the_order_of_rows_does_not_matter_to_counted_columns() -> None:
    order = np.random.default_rng(0).permutation(ROWS)
    X, y = COUNTED.iloc[order], TABLE["many"].iloc[order]
    found = screen(scan(X, y, rows_per_chunk=77))
    _require_equal(found, screen(COUNTED, TABLE["many"]))


def _to_levels(X: np.ndarray) -> np.ndarray:
    """Every column rounded as screening rounds it: each value to the mean of its level."""
    values = look_at_columns(iter([Chunk(X, None, 0)]))
    assert values is not None
    rows = X[np.random.default_rng(0).choice(len(X), 1000, replace=False)]
    rounded = np.empty_like(X)
    for number, column in enumerate(X.T):
        codes = Grid.of(values, number, rows[:, number]).codes(column)
        rounded[:, number] = (np.bincount(codes, column) / np.maximum(np.bincount(codes), 1))[codes]
    return rounded


def _continuous(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            rng.normal(size=n_rows),
            np.exp(2.0 * rng.normal(size=n_rows)),
            rng.standard_cauchy(size=n_rows),
            rng.uniform(size=n_rows),
            np.where(rng.random(n_rows) < 0.5, 0.0, rng.normal(size=n_rows)),
        ]
    )
    signal = np.abs(X[:, 0]) + np.log(X[:, 1]) + np.arctan(X[:, 2]) + X[:, 3] + X[:, 4]
    return X, signal + rng.normal(size=n_rows)


def test_screening_of_many_values_is_that_of_rounded_columns() -> None:
    X, y = _continuous(3000)
    kernel = Laplace(0.8)
    found = screen(scan(X, y > 0, rows_per_chunk=400), kernel=kernel)
    _require_equal(found, screen(_to_levels(X), y > 0, kernel=kernel))


def test_rounding_changes_little() -> None:
    X, y = _continuous(20_000)
    expected, found = screen(X, y), screen(scan(X, y))
    assert_allclose(found.scores, expected.scores, rtol=1e-3)
    assert_allclose(found.bandwidths, expected.bandwidths, rtol=1e-3)
    assert_allclose(found.effects, expected.effects, rtol=1e-3)


@pytest.mark.parametrize("many", [False, True])
def test_rare_values_are_permuted(many: bool) -> None:
    """P-values of rows in memory, up to the permutations that were drawn."""
    rng = np.random.default_rng(3)
    X = np.zeros((3000, 3))
    X[:6, 0] = 1.0
    X[rng.choice(3000, 9, replace=False), 1] = rng.normal(size=9)
    X[rng.choice(3000, 4, replace=False), 2] = 1.0
    y = np.repeat([0, 1, 2], [2960, 20, 20])[rng.permutation(3000)]
    y[:3] = 1
    target: Any = rng.normal(size=3000) + X[:, 0] if many else y
    expected = screen(X, target).pvalues
    found = screen(scan(X, target, rows_per_chunk=500)).pvalues
    assert_allclose(found, expected, rtol=0.4, atol=5e-4)


def test_screening_of_sparse_rows() -> None:
    X = sparse.random_array((600, 7), density=0.2, rng=np.random.default_rng(0), format="csr")
    X.data = np.round(X.data, 1)
    y = np.asarray(X[:, :3].sum(axis=1)).ravel() > 0.5
    _require_equal(screen(scan(X, y, rows_per_chunk=90)), screen(X, y))


def test_screening_in_several_visits(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = screen(scan(COUNTED, TABLE["many"]))
    monkeypatch.setattr("depmax.dependence._nulls.counted.MOST_SUMS", 700)
    _require_equal(screen(scan(COUNTED, TABLE["many"])), expected, 1e-12)


# --- filters --------------------------------------------------------------------------------------
@pytest.mark.parametrize("target", list(TARGETS))
@pytest.mark.parametrize("score", sorted(SCORES))
def test_filters(score: str, target: str) -> None:
    X = COUNTED if SCORES[score].categories else COUNTED.drop(columns="f")
    y = TABLE[TARGETS[target]]
    model = DependenceFilter(2, score_func=score)
    if SCORES[score].pairs:
        with pytest.raises(TypeError, match=rf"score_func='{score}'.* in memory"):
            model.fit(scan(X, y))
        return
    try:
        expected = clone(model).fit(X, y)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)[:40]):
            model.fit(scan(X, y, rows_per_chunk=101))
        return
    found = model.fit(scan(X, y, rows_per_chunk=101))
    assert_array_equal(found.ranking_, expected.ranking_)
    assert_array_equal(found.substitutes_, expected.substitutes_)
    assert list(found.feature_names_in_) == list(X.columns)
    # in memory numbers have coordinates to 1e-6 of the trace of their kernel
    tolerance = 1e-6 if target in ("numbers", "outputs") else 1e-8
    largest = np.abs(expected.scores_).max()
    assert_allclose(found.scores_, expected.scores_, rtol=0, atol=tolerance * largest)


@pytest.mark.parametrize("source", [name for name in SOURCES if name != "dask array"])
@pytest.mark.parametrize("score", ["hsic", "pearson", "t"])
def test_filters_of_every_source(score: str, source: str, tmp_path: Path) -> None:
    X, y = COUNTED.drop(columns="f"), TABLE["two"]
    expected = DependenceFilter(2, score_func=score).fit(X, y)
    found = DependenceFilter(2, score_func=score).fit(*streamed(source, X, y, tmp_path))
    assert_allclose(found.scores_, expected.scores_, rtol=1e-8)
    assert_array_equal(found.ranking_, expected.ranking_)


def test_a_constant_target_is_refused() -> None:
    y = np.full((ROWS, 2), 2.5)
    with pytest.raises(ValueError, match="depend on a constant"):
        DependenceFilter(2).fit(scan(COUNTED, y))


def test_functions_need_rows_in_memory() -> None:
    from sklearn.feature_selection import f_regression

    with pytest.raises(TypeError, match="score_func='f_regression'"):
        DependenceFilter(2, score_func=f_regression).fit(scan(COUNTED, TABLE["numbers"]))


# --- searches -------------------------------------------------------------------------------------
SEARCHES = {
    "BAHSIC": depmax.BAHSIC(2),
    "FOHSIC": depmax.FOHSIC(2),
    "BAHSIC blocks": depmax.BAHSIC(2, block_size=100),
    "BAHSIC unsupervised": depmax.BAHSIC(2, target_kernel="inputs"),
    "BAHSIC linear": depmax.BAHSIC(2, kernel="linear"),
    "KernelRidgeElimination": depmax.KernelRidgeElimination(2, subsample=500),
}


def _require_same_search(found: Any, expected: Any) -> None:
    assert_array_equal(found.ranking_, expected.ranking_)
    assert_allclose(found.scores_, expected.scores_, rtol=1e-8, atol=1e-12)
    assert_allclose(found.path_, expected.path_, rtol=1e-8)


# every search with some sources and every source with some searches: what is read is the same
@pytest.mark.parametrize(
    ("name", "source"),
    [
        (name, SOURCES[place % len(SOURCES)])
        for number, name in enumerate(sorted(SEARCHES))
        for place in (number, number + 1, number + 3)
    ],
)
def test_searches_take_the_rows_that_they_say(
    name: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "MOST_ROWS", 500)
    columns = NAMES[:5] if source == "dask array" else NAMES
    X, y = TABLE[columns], TABLE["many"]
    rows = some_rows(ROWS, 500)
    part = X.iloc[rows]
    expected = clone(SEARCHES[name]).fit(
        part.to_numpy() if source == "dask array" else part, y.iloc[rows]
    )
    given = streamed(source, X, y, tmp_path)
    if "Ridge" in name:
        found = clone(SEARCHES[name]).fit(*given)
        _require_same_search(clone(SEARCHES[name]).fit(X, y), expected)
    else:
        with pytest.warns(depmax.SampledRowsWarning, match="500 of 1,300 rows"):
            found = clone(SEARCHES[name]).fit(*given)
    _require_same_search(found, expected)
    assert_array_equal(found.substitutes_, expected.substitutes_)


@pytest.mark.parametrize("name", sorted(SEARCHES))
def test_searches_take_all_rows_of_a_small_table(name: str) -> None:
    X, y = TABLE[NAMES], TABLE["numbers"]
    model = clone(SEARCHES[name])
    if "Ridge" in name:
        model.set_params(subsample=5000)
    found = clone(model).fit(scan(X, y, rows_per_chunk=101))
    _require_same_search(found, model.fit(X, y))


def test_all_rows_are_too_many_for_a_search() -> None:
    with pytest.raises(TypeError, match="subsample=20_000"):
        depmax.KernelRidgeElimination(2, subsample=None).fit(scan(COUNTED, TABLE["two"]))
    with pytest.raises(TypeError, match="groups= needs all rows"):
        depmax.BAHSIC(2).fit(scan(COUNTED, TABLE["two"]), groups=np.arange(ROWS))


# --- tests ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("target", list(TARGETS))
@pytest.mark.parametrize("kernel", ["linear", NystroemMap(15, random_state=0)])
def test_the_law_of_a_test_needs_no_rows_in_memory(kernel: Any, target: str) -> None:
    X, y = TABLE[NAMES[:5]] * 0.01, TABLE[TARGETS[target]]
    X = X + np.random.default_rng(1).normal(size=X.shape)
    expected = hsic_test(X, y, kernel=kernel, method="gamma")
    found = hsic_test(scan(X, y, rows_per_chunk=101), kernel=kernel, method="gamma")
    assert_allclose(found.statistic, expected.statistic, rtol=1e-8)
    # the values of several labels are not counted
    assert_allclose(found.pvalue, expected.pvalue, rtol=0.02 if target == "labels" else 1e-8)
    assert (found.method, found.n_samples) == (expected.method, expected.n_samples)


@pytest.mark.parametrize("target", ["numbers", "two", "text"])
def test_one_column_is_tested_with_any_kernel(target: str) -> None:
    X, y = COUNTED[["d"]], TABLE[target]
    expected = hsic_test(X, y, method="gamma", kernel="laplace")
    found = hsic_test(scan(X, y, rows_per_chunk=101), method="gamma", kernel="laplace")
    assert_allclose(found.statistic, expected.statistic, rtol=1e-6)
    assert found.method == expected.method


def test_two_values_on_both_sides_are_counted() -> None:
    X = (TABLE[["a"]] > 5.0).astype(float)
    expected = hsic_test(X, TABLE["labels_2"], method="gamma")
    found = hsic_test(scan(X, TABLE["labels_2"], rows_per_chunk=101), method="gamma")
    assert found.method == expected.method == "counts"
    assert_allclose(found.pvalue, expected.pvalue, rtol=1e-8)


@pytest.mark.parametrize("method", ["aggregate", "permutation"])
def test_permutations_take_the_rows_that_they_say(
    method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampled = {"aggregate": 300, "permutation": 300}
    monkeypatch.setattr(
        importlib.import_module("depmax.dependence.hsic_test"), "SAMPLED_ROWS", sampled
    )
    X, y = TABLE[NAMES], TABLE["many"]
    rows = some_rows(ROWS, 300)
    options = {"method": method, "n_permutations": 99, "random_state": 0}
    expected = hsic_test(X.iloc[rows], y.iloc[rows], **options)
    found = hsic_test(scan(X, y, rows_per_chunk=101), **options)
    assert_allclose([found.statistic, found.pvalue], [expected.statistic, expected.pvalue])
    assert found.method == f"{expected.method} (300 of 1,300 rows)"
    assert found.n_samples == 300


def test_a_test_with_an_exact_kernel_says_what_to_use() -> None:
    with pytest.raises(TypeError, match="omit the categorical columns"):
        hsic_test(scan(TABLE[["f"]], TABLE["two"]), method="gamma")
    with pytest.raises(TypeError, match="NystroemMap"):
        hsic_test(scan(TABLE[NAMES[:5]], TABLE["two"]), method="gamma")
    for option in ("groups", "given"):
        with pytest.raises(TypeError, match=f"{option}=.* in memory"):
            hsic_test(scan(COUNTED, TABLE["two"]), **{option: np.arange(ROWS)})
        with pytest.raises(TypeError, match=f"{option}=.* in memory"):
            screen(scan(COUNTED, TABLE["two"]), **{option: np.arange(ROWS)})


def test_dask_arrays() -> None:
    X, y = COUNTED.drop(columns="f").to_numpy(), TABLE["many"].to_numpy()
    rows, answers = da.from_array(X, chunks=(301, 3)), da.from_array(y, chunks=444)
    _require_equal(screen(rows, answers), screen(X, y))
    inputs, _ = aligned(rows, answers)
    assert inputs.shape == X.shape


@pytest.mark.parametrize("source", SOURCES)
def test_selected_columns_come_back_with_zeros_for_the_others(source: str, tmp_path: Path) -> None:
    X, y = TABLE[NAMES[:5]], TABLE["two"]
    rows, _ = streamed(source, X, y, tmp_path)
    known = X.to_numpy() if source == "dask array" else X
    model = DependenceFilter(2, score_func="t").fit(known, y)
    found = model.inverse_transform(model.transform(rows))
    assert_allclose(found.compute(), model.inverse_transform(model.transform(known)))
