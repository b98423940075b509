"""Every fast form equals the kernel computed on the columns after the change.

Private modules: a search shows the best change only; here each fast form is compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from depmax import hsic
from depmax.data.sample import read_target_sample
from depmax.kernels import (
    Gaussian,
    InverseDistance,
    InverseMultiquadric,
    Kernel,
    Laplace,
    Linear,
    Polynomial,
    Subset,
)
from depmax.selection._search import data as data_module
from depmax.selection._search import search as changes_module
from depmax.selection._search import squares
from depmax.selection._search.data import Change, SearchData
from depmax.selection._search.search import changes, column_shares

rng = np.random.default_rng(0)
X = rng.standard_t(4, size=(60, 8))
TARGETS = {
    "classes": rng.integers(0, 2, 60),
    "many": rng.integers(0, 3, 60),
    "numbers": X[:, 0] + rng.normal(size=60),
    "labels": rng.integers(0, 2, (60, 3)),
}
KERNELS = [
    Gaussian(2.5),
    Gaussian(0.3),
    Laplace(4.0),
    Laplace(3.0, norm=2),
    Polynomial(3, 0.5),
    Linear(),
    InverseMultiquadric(1.0),
    InverseDistance(1e-3),
    Gaussian(1.0) + 2.0 * Gaussian(4.0),
    Gaussian(2.0) * InverseDistance(0.5),
    Linear() + Gaussian(2.0),
    Subset(),
]


def _data(
    y: np.ndarray, unbiased: bool, table: Any = X, dtype: type = np.float64, n_jobs: int = 1
) -> SearchData:
    return SearchData.of(table, read_target_sample(y, "auto"), unbiased, dtype, n_jobs)


def _change(joins: bool, grouped: bool | str) -> Change:
    if grouped:
        middle = [np.array([4])] if grouped == "mixed" else []
        units = [np.array([4, 5]), *middle, np.array([6, 7])]
        return Change(np.arange(4) if joins else np.arange(8), units, joins)
    if joins:
        return Change(np.arange(3), [np.array([j]) for j in range(3, 8)], joins)
    return Change(np.arange(8), [np.array([j]) for j in range(8)], joins)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("joins", [False, True])
@pytest.mark.parametrize("grouped", [False, True, "mixed"])
def test_scores_equal_the_kernel_of_the_remaining_columns(
    kernel: Kernel, kind: str, unbiased: bool, joins: bool, grouped: bool | str
) -> None:
    y, change = TARGETS[kind], _change(joins, grouped)
    outcome = changes(_data(y, unbiased), kernel, change)
    expected = np.array(
        [
            hsic(X[:, change.after(unit)], y, kernel=kernel, unbiased=unbiased)
            for unit in change.units
        ]
    )
    scale = np.abs(expected).max()
    np.testing.assert_allclose(outcome.scores, expected, atol=1e-8 * scale, rtol=1e-8)
    before = hsic(X[:, change.base], y, kernel=kernel, unbiased=unbiased)
    assert outcome.value == pytest.approx(before, rel=1e-8, abs=1e-8 * scale)


@pytest.mark.parametrize("joins", [False, True])
def test_single_precision_ranks_alike_within_its_bound(
    joins: bool, rng: np.random.Generator
) -> None:
    wide = rng.normal(size=(200, 300))
    y = (wide[:, 0] + wide[:, 1] > 0).astype(int)
    base = np.arange(300) if not joins else np.arange(100)
    units = [np.array([j]) for j in (range(300) if not joins else range(100, 300))]
    change = Change(base, units, joins)
    kernel = Gaussian(np.sqrt(300))
    target = _data(y, True, wide)
    double = changes(target, kernel, change)
    single = changes(_data(y, True, wide, np.float32), kernel, change)
    spread = double.scores.std()
    assert np.abs(single.scores - double.scores).max() < 1e-4 * spread
    np.testing.assert_array_equal(np.argsort(single.scores), np.argsort(double.scores))
    assert double.error * size(target) < 1e-9 * spread
    assert single.error * size(target) < 1e-2 * spread


PRECISIONS = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-7]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("joins", [False, True])
def test_what_the_series_neglects_stays_within_the_bound(
    precision: float, unbiased: bool, joins: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few terms are made, and whether the first form is carried along or not."""
    problem, change = _data(TARGETS["numbers"], unbiased), _change(joins, False)
    kernel = Gaussian(12.0)
    exact = changes(problem, kernel, change)
    monkeypatch.setitem(squares.PRECISION, "d", precision)
    few = changes(problem, kernel, change)
    assert 0.0 < np.abs(few.scores - exact.scores).max() <= few.error * size(problem)


def test_the_precisions_above_meet_every_number_of_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    found: set[int] = set()
    for precision in PRECISIONS:
        monkeypatch.setitem(squares.PRECISION, "d", precision)
        problem = _data(TARGETS["numbers"], True)
        series = squares.Series.of(problem, np.arange(8), np.arange(8), 0.5 / 12.0**2)
        found |= set(series.needed.tolist())
    assert found >= {1, 2, 3, 4, 5}


@pytest.mark.parametrize("size", [3, 17, 1000])
def test_strips_of_any_height_and_threads_agree(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    change = _change(joins=False, grouped=False)
    expected = changes(_data(TARGETS["many"], True), Gaussian(2.0), change).scores
    monkeypatch.setattr(data_module, "STRIP", size)
    problem = _data(TARGETS["many"], True)
    np.testing.assert_allclose(changes(problem, Gaussian(2.0), change).scores, expected, rtol=1e-10)
    threaded = _data(TARGETS["many"], True, n_jobs=2)
    np.testing.assert_allclose(
        changes(threaded, Gaussian(2.0), change).scores, expected, rtol=1e-10
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("joins", [False, True])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.98])
@pytest.mark.parametrize("bandwidth", [0.29, 0.4, 1.0, 4.0])  # γ g² up to 5.9
def test_two_values_are_scored_exactly(
    dtype: type, unbiased: bool, joins: bool, share: float, bandwidth: float
) -> None:
    """Rare and common, near and far, beside columns with more values and a constant one."""
    local = np.random.default_rng(8)
    table = local.normal(size=(60, 8))
    table[:, 4:7] = local.random((60, 3)) < share
    table[:2, 4:7] = [[0.0], [1.0]]
    table[:, 5] = 5.0 * table[:, 5] - 2.0
    table[:, 7] = 3.0
    y, change = TARGETS["numbers"], _change(joins, False)
    kernel = Gaussian(bandwidth)
    found = changes(_data(y, unbiased, table, dtype), kernel, change).scores
    expected = np.array(
        [
            hsic(table[:, change.after(unit)], y, kernel=kernel, unbiased=unbiased)
            for unit in change.units
        ]
    )
    scale = np.abs(expected).max()
    precision = 1e-10 if dtype is np.float64 else 1e-4
    np.testing.assert_allclose(found, expected, rtol=precision, atol=precision * scale)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_rare_indicators_count_by_the_weights_of_rows(kind: str, rng: np.random.Generator) -> None:
    """A rare indicator in units of its standard deviation, whose two values are far apart."""
    table, weight = X.copy(), rng.integers(1, 4, 60).astype(float)
    table[:, 3] = np.where(np.arange(60) < 2, 12.0, -0.2)
    y, change = TARGETS[kind], _change(joins=False, grouped=False)
    target = read_target_sample(y, "auto", weight=weight)
    found = changes(SearchData.of(table, target, True), Gaussian(2.0), change).scores
    expected = [
        hsic(table[:, change.after(unit)], y, kernel=Gaussian(2.0), sample_weight=weight)
        for unit in change.units
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_long_tails_do_not_overflow() -> None:
    tailed = X.copy()
    tailed[0, 3] = 50.0 * X[:, 3].std()
    y = TARGETS["classes"]
    for kernel in (Gaussian(1.0), Laplace(0.05)):
        change = _change(joins=False, grouped=False)
        outcome = changes(_data(y, True, tailed), kernel, change)
        expected = [hsic(tailed[:, change.after(unit)], y, kernel=kernel) for unit in change.units]
        np.testing.assert_allclose(outcome.scores, expected, atol=1e-12)


@pytest.mark.parametrize("kernel", [InverseDistance(1e-6), Laplace(0.1, norm=2)], ids=repr)
@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("joins", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("tile", [7, 512])
def test_kernels_of_the_distance_lose_no_digits_where_rows_agree(
    kernel: Kernel,
    unbiased: bool,
    joins: bool,
    grouped: bool,
    tile: int,
    monkeypatch: pytest.MonkeyPatch,
    rng: np.random.Generator,
) -> None:
    """Equal rows, rows that differ in one column only, a far column and a far row."""
    monkeypatch.setattr(changes_module, "TILE", tile)
    levels = rng.integers(0, 2, size=(60, 8)) / 3.0 + 1000.1
    levels[7] = levels[3]
    levels[8] = levels[3] + np.array([1e-3, 0, 0, 0, 0, 0, 0, 1e4])
    target = _data(TARGETS["many"], unbiased, levels)
    change = _change(joins, grouped)
    outcome = changes(target, kernel, change)
    M = sum_of_strips(target)
    expected = [(M * exact(kernel, levels[:, change.after(unit)])).sum() for unit in change.units]
    scale = np.abs(expected).max()
    np.testing.assert_allclose(outcome.scores, expected, rtol=1e-8, atol=1e-8 * scale)
    before = (M * exact(kernel, levels[:, change.base])).sum()
    assert outcome.value == pytest.approx(before, rel=1e-8, abs=1e-8 * scale)


def size(target: SearchData) -> float:
    """Largest Σ M∘R over matrices R of root mean square 1: m ‖M‖_F."""
    M = sum_of_strips(target)
    return target.n_samples * float(np.linalg.norm(0.5 * (M + M.T)))


def sum_of_strips(target: SearchData) -> np.ndarray:
    """All weights of pairs as one matrix with the same sums against symmetric ones."""
    M = np.zeros((target.n_samples, target.n_samples))
    for rows in target.strips():
        M[rows, rows.start :] = target.strip(rows)
    return M


def exact(kernel: Kernel, rows: np.ndarray) -> np.ndarray:
    """Kernel matrix from differences, with no product of large numbers."""
    return kernel.of_squares(np.square(rows[:, np.newaxis] - rows[np.newaxis]).sum(axis=-1))


def _indicators(n_levels: int, scale: float) -> np.ndarray:
    codes = np.random.default_rng(n_levels).integers(
        -1, n_levels, 60
    )  # -1 is a value of no known level
    return scale * (codes[:, np.newaxis] == np.arange(n_levels))


#: Numbers, then indicators of categories with few and many levels.
TABLE = np.hstack([X[:, :2], _indicators(2, 1.0), _indicators(5, 1.4), _indicators(30, 1.1)])
TABLE = np.hstack([TABLE, rng.integers(0, 3, (60, 2)), X[:, 2:4]])
UNITS = [np.arange(2, 4), np.arange(4, 9), np.arange(9, 39), np.array([39, 40]), np.array([0])]
FACTORING = [Gaussian(1.5), Laplace(2.0), Gaussian(2.0) * Laplace(3.0), Subset(), Gaussian(0.1)]


@pytest.mark.parametrize("kernel", FACTORING, ids=repr)
@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("joins", [False, True])
def test_categories_equal_the_kernel_of_the_remaining_columns(
    kernel: Kernel, kind: str, unbiased: bool, joins: bool
) -> None:
    y = TARGETS[kind]
    base = np.array([1, 4, 5]) if joins else np.arange(TABLE.shape[1])
    units = [unit for unit in UNITS if not (joins and np.isin(unit, base).any())]
    change = Change(base, units, joins)
    outcome = changes(_data(y, unbiased, TABLE), kernel, change)
    expected = [
        hsic(TABLE[:, change.after(unit)], y, kernel=kernel, unbiased=unbiased) for unit in units
    ]
    scale = np.abs(expected).max()
    rounding = 1e-16  # of the expected number, in sums of kernel values up to 1
    np.testing.assert_allclose(outcome.scores, expected, rtol=1e-9, atol=1e-10 * scale + rounding)


def test_categories_are_scored_by_their_levels_unless_these_are_many_or_far() -> None:
    y, takes = TARGETS["many"], squares.takes_squares
    change = Change(np.arange(TABLE.shape[1]), UNITS, joins=False)
    data = _data(y, True, TABLE)
    assert takes(data, Gaussian(1.5), change).tolist() == [True] * 4 + [False]
    assert not takes(data, Gaussian(0.1), change).any()
    wide = _data(np.arange(300) % 2, True, np.repeat(np.arange(300.0)[:, np.newaxis], 2, axis=1))
    pair = Change(np.arange(2), [np.arange(2)], joins=False)
    assert not takes(wide, Gaussian(1000.0), pair).any()


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("kind", TARGETS)
def test_sparse_shares_equal_dense_ones(
    kind: str, unbiased: bool, rng: np.random.Generator
) -> None:
    counts = rng.poisson(0.5, size=(60, 10)).astype(float)
    y = TARGETS[kind]
    dense = column_shares(_data(y, unbiased, counts))
    found = column_shares(_data(y, unbiased, sparse.csr_matrix(counts)))
    np.testing.assert_allclose(found, dense)
    expected = [
        hsic(counts[:, [j]], TARGETS[kind], kernel="linear", unbiased=unbiased) for j in range(10)
    ]
    np.testing.assert_allclose(dense, expected, atol=1e-12)
