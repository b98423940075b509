"""Missing cells of X say nothing, or that they are missing, wherever they are taken.

Private modules: every change of columns is compared with its definition, of which a search shows
the best only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import depmax
from depmax import (
    BAHSIC,
    FOHSIC,
    DependenceFilter,
    KernelRidgeElimination,
    hsic,
    hsic_test,
    screen,
)
from depmax import selection as package
from depmax.data.sample import Sample
from depmax.kernels import Delta, Gaussian, Kernel, Laplace, Linear, Neutral
from depmax.kernels.neutral import Gaps, drawn
from depmax.selection import DependenceSelector
from depmax.selection._kernel_ridge import RidgeProblem
from depmax.selection._search.data import Change, SearchData
from depmax.selection._search.search import changes
from depmax.testing import check_kernel
from tests.contracts.discovery import classes

rng = np.random.default_rng(0)
COMPLETE = rng.normal(size=(120, 6))
y = COMPLETE[:, 0] ** 2 + COMPLETE[:, 1] + 0.3 * rng.normal(size=120)
X = COMPLETE.copy()
X[rng.random(X.shape) < 0.2] = np.nan
X[:, 3] = np.round(X[:, 3])  # few values
X[:, 5] = COMPLETE[:, 5]  # complete

EMBEDDING = [Gaussian(1.3), Gaussian(0.2), Gaussian(9.0), Laplace(0.8), Linear(), Gaussian()]
SELECTORS = {
    "DependenceFilter": DependenceFilter(2),
    "mmd": DependenceFilter(2, score_func="alignment"),
    "BAHSIC": BAHSIC(2),
    "BAHSIC, Laplace": BAHSIC(2, kernel="laplace"),
    "BAHSIC, linear": BAHSIC(2, kernel="linear"),
    "FOHSIC": FOHSIC(2),
    "KernelRidgeElimination": KernelRidgeElimination(2),
}


def embedded(kernel: Kernel, values: np.ndarray) -> np.ndarray:
    """Kernel matrix of one column (or one block) by its definition: means over observed rows."""
    known = ~np.isnan(values[:, 0])
    within = kernel(values[known])
    K = np.empty((len(values), len(values)))
    K[np.ix_(known, known)] = within
    K[np.ix_(~known, known)] = within.mean(axis=0)
    K[np.ix_(known, ~known)] = within.mean(axis=1)[:, np.newaxis]
    K[np.ix_(~known, ~known)] = within.mean()
    return K


def slow_gram(kernel: Kernel, rows: np.ndarray, cells: list[list[int]]) -> np.ndarray:
    join: Callable[..., Any] = np.add if kernel.has_features else np.multiply
    return reduce(join, [embedded(kernel, rows[:, cell]) for cell in cells])


def centred_hsic(K: np.ndarray, L: np.ndarray) -> float:
    m = len(K)
    H = np.eye(m) - 1.0 / m
    return float(np.sum((H @ K @ H) * L)) / (m - 1) ** 2


# --- the kernel ----------------------------------------------------------------------------------
@pytest.mark.parametrize("kernel", EMBEDDING, ids=repr)
def test_neutral_cells_are_mean_embeddings(kernel: Kernel) -> None:
    resolved = Neutral(kernel).resolve(X)
    slow = slow_gram(resolved.kernel, X, [[column] for column in range(6)])
    np.testing.assert_allclose(resolved(X), slow, atol=1e-10)
    check_kernel(Neutral(kernel), X)
    assert np.linalg.eigvalsh(slow)[0] > -1e-9


@pytest.mark.parametrize("kernel", EMBEDDING, ids=repr)
def test_a_kernel_of_complete_rows_is_as_before(kernel: Kernel) -> None:
    np.testing.assert_array_equal(Neutral(kernel)(COMPLETE), kernel(COMPLETE))


@pytest.mark.parametrize("kernel", [Gaussian(1.3), Laplace(0.8), Linear()], ids=repr)
def test_measures_take_missing_cells_with_the_neutral_kernel(kernel: Kernel) -> None:
    found = hsic(X, y, kernel=Neutral(kernel), target_kernel=Gaussian(1.0), unbiased=False)
    K = slow_gram(kernel, X, [[column] for column in range(6)])
    assert found == pytest.approx(centred_hsic(K, Gaussian(1.0)(y)), rel=1e-9)
    assert hsic_test(X, y, kernel=Neutral(kernel), random_state=0).pvalue <= 1.0
    with pytest.raises(ValueError, match="X contains NaN in column 0"):
        hsic(X, y, kernel=kernel)


@pytest.mark.parametrize("kernel", ["polynomial", Laplace(norm=2), "inverse_distance", "distance"])
def test_other_kernels_are_refused_by_name(kernel: Any) -> None:
    name = type(depmax.kernels.as_kernel(kernel)).__name__
    with pytest.raises(TypeError, match=f"not {name}"):
        Neutral(kernel)(X)
    for selector in (BAHSIC(2, kernel=kernel), FOHSIC(2, kernel=kernel)):
        assert not get_tags(selector).input_tags.allow_nan
        with pytest.raises(ValueError, match=f"values .NaN. in column 0.*{name}.*impute"):
            selector.fit(X, y)
        selector.fit(COMPLETE, y)


def test_many_values_are_embedded_by_a_thousand_order_statistics() -> None:
    long = np.append(np.random.default_rng(0).normal(size=20_000), np.nan)[:, np.newaxis]
    found = Neutral(Gaussian(0.5)).resolve(long)(long[-1:], long[:50])[0]
    all_values = Gaussian(0.5)(long[:50], long[:-1]).mean(axis=1)
    np.testing.assert_allclose(found, all_values, rtol=2e-3)


def test_drawn_cells_hold_values_of_their_column() -> None:
    filled = drawn(X)
    for column in range(6):
        assert np.isin(filled[:, column], X[:, column]).all()
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])


# --- searches ------------------------------------------------------------------------------------
CELLS = [[0], [1, 4], [2], [3]]


def _together() -> np.ndarray:
    rows = X.copy()
    either = np.isnan(rows[:, 1]) | np.isnan(rows[:, 4])
    rows[np.ix_(either, [1, 4])] = np.nan
    return rows


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("joins", [True, False])
@pytest.mark.parametrize(
    "kernel", [Gaussian(2.0), Gaussian(0.3), Gaussian(0.05), Laplace(1.5), Laplace(0.003)], ids=repr
)
def test_every_change_of_columns_equals_its_definition(
    kernel: Kernel, joins: bool, unbiased: bool
) -> None:
    rows = _together()
    cells = [np.array(cell) for cell in CELLS]
    target = Sample(Gaussian(1.0), y[:, np.newaxis])
    problem = SearchData.of(rows, target, unbiased, cells=cells)
    units = [np.array(unit) for unit in ([1, 4], [2], [3])]
    base = np.array([0, 5])
    if not joins:
        units, base = [np.array([0]), *units, np.array([5])], np.arange(6)
    change = Change(base, units, joins)

    def slow(columns: np.ndarray) -> float:
        if not len(columns):
            return 0.0
        cells = [cell for cell in [*CELLS, [5]] if cell[0] in columns]
        K = slow_gram(kernel, rows, cells)
        strips = [(problem.strip(part), K[part, part.start :]) for part in problem.strips()]
        return sum(float(np.vdot(M, values)) for M, values in strips)

    found = changes(problem, kernel, change)
    assert found.value == pytest.approx(slow(base), abs=1e-12)
    expected = [slow(change.after(unit)) for unit in units]
    np.testing.assert_allclose(found.scores, expected, atol=1e-12)


@pytest.mark.parametrize("n_landmarks", [1000, 40])
def test_ridge_regressions_see_mean_embeddings_and_their_slopes(n_landmarks: int) -> None:
    rows, images = _together(), ((y - y.mean()) / y.std())[:, np.newaxis]
    cells = [np.array(cell) for cell in CELLS]
    problem = RidgeProblem(rows, images, 1e-2, n_landmarks, cells=cells)
    everything = np.arange(6)
    for columns in (everything, np.array([0, 2, 5]), np.array([1, 4])):
        C, solved = _solved(problem, _gram(problem, columns))
        regression = problem.regression(columns)
        found = np.vstack([part for _, part in regression.sums.blocks])
        np.testing.assert_allclose(found, C, atol=1e-10)
        expected = (C[:9] - C.mean(axis=0)) @ solved
        np.testing.assert_allclose(regression.predict(rows[:9], 1e-2), expected, atol=1e-6)
    slopes = problem.regression(everything).slopes()
    K, width = _gram(problem, everything), Gaussian(np.sqrt(problem.total(everything)))
    for cell in [*CELLS, [5]]:
        unit, step = embedded(width, rows[:, cell]), 1e-5
        errors = [_error(problem, K * unit**power) for power in (-step, step)]
        assert slopes[cell].sum() == pytest.approx((errors[0] - errors[1]) / (2 * step), abs=1e-6)


def _gram(problem: RidgeProblem, columns: np.ndarray) -> np.ndarray:
    """Kernel matrix of all rows by the definition."""
    width = Gaussian(np.sqrt(problem.total(columns)))
    return slow_gram(width, problem.X, [cell for cell in [*CELLS, [5]] if cell[0] in columns])


def _solved(problem: RidgeProblem, K: np.ndarray) -> tuple[np.ndarray, ...]:
    """Kernel of all rows with the landmarks, and the weights of these."""
    m, places, penalty = len(K), problem.places, problem.averaged_penalties[0]
    H = np.eye(m) - 1.0 / m
    C, own = K[:, places], K[np.ix_(places, places)] + 1e-10 * len(places) * np.eye(len(places))
    return C, np.linalg.solve(C.T @ H @ C + m * penalty * own, C.T @ problem.images)


def _error(problem: RidgeProblem, K: np.ndarray) -> float:
    """Penalised error with this kernel matrix."""
    C, solved = _solved(problem, K)
    images = problem.images
    return float(np.sum(images**2) - np.vdot(C.T @ images, solved)) / len(K)


# --- screening -----------------------------------------------------------------------------------
@pytest.mark.parametrize("kernel", [Laplace(1.0), Gaussian(0.7), Linear()], ids=repr)
def test_biased_scores_of_columns_are_those_of_mean_embeddings(kernel: Kernel) -> None:
    labels = (y > 0).astype(int)  # their kernel has exact coordinates
    found = screen(X, labels, kernel=kernel, target_kernel=Delta(), unbiased=False)
    L = Delta()(labels)
    slow = [centred_hsic(embedded(kernel, X[:, [column]]), L) for column in range(6)]
    np.testing.assert_allclose(found.scores, slow, rtol=1e-9)


@pytest.mark.parametrize("missing", ["neutral", "level"])
def test_what_is_said_of_a_column_is_what_its_values_say(missing: Any) -> None:
    kernel = Gaussian(1.0)  # the median distance of y is another one among the known rows
    found = screen(X, y, target_kernel=kernel, missing=missing)
    assert found.missing is not None
    np.testing.assert_array_equal(found.missing, np.isnan(X).sum(axis=0))
    assert "missing" in found.to_frame().columns
    known = ~np.isnan(X[:, 0])
    alone = screen(X[known, 0], y[known], target_kernel=kernel)
    if missing == "neutral":
        n, m = known.sum(), len(y)
        assert found.pvalues[0] == pytest.approx(alone.pvalues[0], rel=1e-3)
        assert found.effects[0] == pytest.approx(n / m * alone.effects[0], rel=1e-3)
    else:
        gaps = screen(np.isnan(X[:, 0]).astype(float), y, target_kernel=kernel)
        assert found.pvalues[0] < max(alone.pvalues[0], gaps.pvalues[0])


def test_complete_columns_are_not_touched_by_the_gaps_of_others() -> None:
    one, both = screen(X[:, [5]], y), screen(X, y)
    assert (both.scores[5], both.pvalues[5]) == (one.scores[0], one.pvalues[0])
    plain = screen(COMPLETE, y)
    assert plain.missing is None
    assert "missing" not in plain.to_frame().columns


def test_gaps_that_tell_the_class_are_a_level_and_nothing_else() -> None:
    noise = np.random.default_rng(1)
    values, labels = noise.normal(size=300), noise.integers(0, 2, 300)
    values[(labels == 1) & (noise.random(300) < 0.6)] = np.nan
    assert screen(values, labels).pvalues[0] > 0.05
    assert screen(values, labels, missing="level").pvalues[0] < 1e-6
    texts = pd.DataFrame({"a": np.where(np.isnan(values), None, np.where(values > 0, "p", "n"))})
    assert screen(texts, labels).pvalues[0] > 0.05
    assert screen(texts, labels, missing="level").pvalues[0] < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(("groups", "count"), [(None, 400), (np.repeat(np.arange(40), 3), 40)])
def test_levels_hold_whatever_is_missing(groups: Any, count: int) -> None:
    """P-values of noise whose cells lack by chance, by the class, or by their size."""
    noise = np.random.default_rng(2)
    labels = noise.integers(0, 2, 120)
    tables = noise.normal(size=(120, count))
    for share in (0.3, np.where(labels[:, np.newaxis] == 1, 0.6, 0.1), 0.5 * (tables > 0.5)):
        rows = np.where(noise.random(tables.shape) < share, np.nan, tables)
        rejected = np.mean(screen(rows, labels, groups=groups).pvalues < 0.05)
        assert rejected < 0.05 + 3 * np.sqrt(0.05 * 0.95 / count)  # one in a thousand


def test_columns_with_few_or_equal_values_show_nothing() -> None:
    rows = np.full((30, 4), np.nan)
    rows[:3, 0], rows[:10, 1], rows[:, 2] = [1, 2, 3], 7.0, np.arange(30)
    labels = np.r_[np.zeros(10), np.ones(20)].astype(int)
    with pytest.warns(UserWarning, match="Column 3 of X has no value"):
        found = screen(rows, labels)
    assert found.scores[[0, 1, 3]].tolist() == [0.0, 0.0, 0.0]
    assert found.pvalues[[0, 1, 3]].tolist() == [1.0, 1.0, 1.0]
    assert found.pvalues[2] < 0.001


# --- selectors -----------------------------------------------------------------------------------
@pytest.mark.parametrize("missing", ["neutral", "level"])
@pytest.mark.parametrize("name", SELECTORS)
def test_selectors_find_the_column_and_keep_gaps(name: str, missing: Any) -> None:
    selector = clone(SELECTORS[name]).set_params(missing=missing)
    assert get_tags(selector).input_tags.allow_nan
    labels = (COMPLETE[:, 2] > 0.2).astype(int)
    selector.fit(X, labels)
    assert selector.ranking_[2] == 1
    np.testing.assert_array_equal(selector.transform(X), X[:, selector.support_])
    again = clone(selector).fit(COMPLETE, labels)
    assert again.set_params(missing="refuse").fit(COMPLETE, labels).scores_.tolist() == (
        clone(selector).fit(COMPLETE, labels).scores_.tolist()
    )


@pytest.mark.parametrize("name", SELECTORS)
def test_missing_can_be_refused_and_infinity_always_is(name: str) -> None:
    selector = clone(SELECTORS[name])
    infinite = np.where(np.isnan(X), np.nan, X)
    infinite[3, 2] = np.inf
    with pytest.raises(ValueError, match="infinity in column 2"):
        selector.fit(infinite, y)
    selector.set_params(missing="refuse")
    assert not get_tags(selector).input_tags.allow_nan
    with pytest.raises(ValueError, match="NaN in column 0"):
        selector.fit(X, y)
    with pytest.raises(ValueError, match=r"missing of .*'neutral'"):
        selector.set_params(missing="drop").fit(X, y)


@pytest.mark.parametrize("missing", ["neutral", "level"])
@pytest.mark.parametrize("name", SELECTORS)
def test_frames_of_every_library_say_the_same(name: str, missing: Any) -> None:
    mixed = name not in ("BAHSIC, linear",)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["d"] = pd.array(np.nan_to_num(X[:, 3]).astype(int), dtype="Int64")
    frame.loc[np.isnan(X[:, 3]), "d"] = pd.NA
    if mixed:
        levels = np.where(X[:, 4] > 0.5, "high", np.where(X[:, 4] < -0.5, "low", "middle"))
        frame["e"] = pd.Categorical(np.where(np.isnan(X[:, 4]), None, levels))
    labels = (y > 0).astype(int)
    selector = clone(SELECTORS[name]).set_params(missing=missing)
    in_pandas = clone(selector).fit(frame, labels)
    table = pa.Table.from_pandas(frame)
    for other in (pl.from_pandas(frame), table):
        found = clone(selector).fit(other, labels)
        np.testing.assert_array_equal(found.ranking_, in_pandas.ranking_)
        np.testing.assert_allclose(found.scores_, in_pandas.scores_, rtol=1e-12)
    objects = clone(selector)
    if not mixed:
        as_objects = frame.astype(object).where(frame.notna(), None).to_numpy()
        np.testing.assert_array_equal(objects.fit(as_objects, labels).ranking_, in_pandas.ranking_)


@pytest.mark.parametrize("name", SELECTORS)
def test_a_column_without_any_value_comes_last(name: str) -> None:
    rows = X.copy()
    rows[:, 4] = np.nan
    with pytest.warns(UserWarning, match="Column 4 of X has no value"):
        found = clone(SELECTORS[name]).fit(rows, y)
    assert found.ranking_[4] == 6 or name == "BAHSIC, linear"
    assert found.scores_[4] == 0.0
    assert found.substitutes_[4] == -1


def test_categories_are_embedded_as_wholes() -> None:
    """The kernel of a search over a category is that of its levels, not of their indicators."""
    codes = np.random.default_rng(3).integers(0, 3, 80)
    labels = np.random.default_rng(4).integers(0, 2, 80)
    texts = np.array(["a", "b", "c"])[codes].astype(object)
    texts[:15] = None
    found = BAHSIC(1, kernel=Gaussian(1.0), unbiased=False, interactions=None, pvalues=False)
    found.fit(pd.DataFrame({"c": pd.Categorical(texts)}), labels)
    shares = np.bincount(codes[15:]) / 65
    indicators = np.eye(3)[codes] / np.sqrt(1 - shares @ shares)
    indicators[:15] = np.nan
    L = depmax.kernels.as_kernel("class_balanced")(labels)
    expected = centred_hsic(embedded(Gaussian(1.0), indicators), L)
    assert found.path_[-1][1] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "selector", [BAHSIC("auto"), FOHSIC("auto"), KernelRidgeElimination("auto")]
)
def test_how_many_columns_are_worth_keeping_with_gaps(selector: DependenceSelector) -> None:
    noise = np.random.default_rng(5)
    rows = noise.normal(size=(300, 5))
    target = 2 * rows[:, 1] + rows[:, 3] ** 2
    rows[noise.random(rows.shape) < 0.05] = np.nan
    assert selector.fit(rows, target).support_[[1, 3]].all()


def test_unsupervised_searches_take_gaps() -> None:
    assert sorted(BAHSIC(2, target_kernel="inputs").fit(X).ranking_) == [1, 2, 3, 4, 5, 6]


def test_large_tables_are_searched_in_blocks() -> None:
    noise = np.random.default_rng(6)
    rows = noise.normal(size=(900, 4))
    labels = (rows[:, 2] > 0).astype(int)
    rows[noise.random(rows.shape) < 0.2] = np.nan
    found = BAHSIC(1, block_size=300, pvalues=False, interactions=None).fit(rows, labels)
    assert found.support_[2]


def test_sparse_rows_have_no_missing_cells() -> None:
    from scipy import sparse

    for call in (
        lambda: screen(sparse.csr_matrix(X), y),
        lambda: DependenceFilter(2).fit(sparse.csr_matrix(X), y),
    ):
        with pytest.raises(ValueError, match="NaN in column 0"):
            call()


def test_scores_without_a_place_for_gaps_are_refused_by_name() -> None:
    labels = (y > 0).astype(int)
    for score in set(depmax.selection.dependence_filter.SCORES) - {"hsic", "mmd", "alignment"}:
        selector = DependenceFilter(2, score_func=score)
        assert not get_tags(selector).input_tags.allow_nan
        with pytest.raises(ValueError, match=f"score_func='{score}' does not accept missing"):
            selector.fit(X, labels)


UNABLE = sorted(
    set(classes(package, DependenceSelector)) - {type(s).__name__ for s in SELECTORS.values()}
)


@pytest.mark.parametrize("name", UNABLE)
def test_other_selectors_refuse_gaps(name: str) -> None:
    selector = getattr(depmax, name)()
    assert not get_tags(selector).input_tags.allow_nan
    with pytest.raises(ValueError, match="NaN"):
        selector.fit(X, (y > 0).astype(int))


@parametrize_with_checks(
    [DependenceFilter(missing="level"), FOHSIC(missing="refuse")]  # the tags differ
)
def test_scikit_learn_checks(estimator: object, check: Any) -> None:
    check(estimator)


def test_gaps_of_subsets_are_found_by_their_columns() -> None:
    gaps = Gaps.of(X, [np.array([0]), np.array([1, 4])])
    assert [cell.columns.tolist() for cell in gaps.among(np.array([4, 2, 1])).cells] == [[2, 0]]
