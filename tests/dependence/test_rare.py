"""P-values hold where rare values meet rare values, and where a kernel is chosen.

Private modules: laws of rare levels are compared with enumeration, which a p-value alone does not
show.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, ClassVar

import numpy as np
import pytest

from depmax import hsic, hsic_test, resolve, screen
from depmax.data.sample import Sample
from depmax.dependence._nulls import law as null
from depmax.dependence._nulls import permutation
from depmax.dependence._nulls.law import (
    Levels,
    counted_pvalue,
    sequential_pvalue,
    spread,
    u_centred,
)
from depmax.dependence._nulls.sorted_columns import SortedColumns, TargetCoordinates
from depmax.kernels import Delta, Gaussian, Kernel, Laplace, Linear


def rare_columns(
    rng: np.random.Generator, m: int, n_rare: int, kind: str, n_columns: int
) -> np.ndarray:
    """Columns of zeros but for a few ones or positive numbers."""
    columns = np.zeros((m, n_columns))
    for column in columns.T:
        values = np.ones(n_rare) if kind == "ones" else 0.1 + rng.exponential(size=n_rare)
        column[rng.choice(m, n_rare, replace=False)] = values
    return columns


CASES = [
    (200, "ones", 4, "ones", 4),
    (1000, "ones", 5, "ones", 5),
    (5000, "ones", 20, "ones", 10),
    (30, "numbers", 3, "ones", 2),
    (200, "numbers", 4, "ones", 4),
    (200, "numbers", 10, "ones", 20),
    (1000, "numbers", 20, "numbers", 20),
]


@pytest.mark.slow
@pytest.mark.parametrize(("m", "kind", "n_rare", "target", "n_target"), CASES)
def test_independent_rare_values_are_not_found(
    m: int, kind: str, n_rare: int, target: str, n_target: int
) -> None:
    rng = np.random.default_rng(m + n_rare)
    y = rare_columns(rng, m, n_target, target, 1)[:, 0]
    result = screen(
        rare_columns(rng, m, n_rare, kind, 100), y.astype(int) if target == "ones" else y
    )
    assert np.mean(result.pvalues <= 0.05) <= 0.13  # 0.06 and four standard errors
    assert np.sum(result.pvalues_adjusted <= 0.05) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [Gaussian(), Delta(), Linear(), Laplace()], ids=repr)
def test_analytic_tests_of_rare_values_hold_their_level(kernel: Kernel) -> None:
    rng = np.random.default_rng(0)
    for kind in ("ones", "numbers"):
        rejected = 0
        for _ in range(40):
            x, y = rare_columns(rng, 60, 3, kind, 2).T
            test = hsic_test(
                x[:, np.newaxis],
                (y > 0).astype(int),
                kernel=kernel,
                method="gamma",
                n_permutations=99,
                random_state=0,
            )
            assert test.method in ("counts", "permutation")
            rejected += test.pvalue <= 0.05
        assert rejected <= 8


def test_other_kernels_are_screened_by_permutations() -> None:
    rng = np.random.default_rng(0)
    y = rare_columns(rng, 60, 3, "numbers", 1)[:, 0]
    columns = np.column_stack([rare_columns(rng, 60, 3, "numbers", 30), y])
    result = screen(columns, y, kernel="gaussian")
    assert np.mean(result.pvalues[:-1] <= 0.05) <= 0.2
    assert result.pvalues[-1] <= 0.002


@pytest.mark.parametrize(("n_x", "n_y"), [(1, 3), (2, 2), (4, 3), (5, 1)])
def test_counts_give_the_pvalue_of_all_permutations(n_x: int, n_y: int) -> None:
    m = 7
    x, y = (np.arange(m) < n_x).astype(float), (np.arange(m) % 4 < n_y).astype(float)
    A, B = u_centred(Gaussian(0.7)(x[:, np.newaxis])), u_centred(Linear()(y[:, np.newaxis]))
    values = np.array(
        [np.sum(A * B[np.ix_(order, order)]) for order in itertools.permutations(range(m))]
    )
    expected = np.mean(values >= values[0] - 1e-10)
    found = counted_pvalue(Levels.of_values(x), Levels.of_values(y))
    assert found == pytest.approx(expected if len(set(y)) == 2 else None, rel=1e-9)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear(), Laplace(0.5)], ids=repr)
def test_sums_over_levels_are_those_over_all_rows(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    side = Sample(kernel, rng.binomial(3, 0.1, size=(200, 2)).astype(float))
    whole = spread(side)
    monkeypatch.setattr(null, "SKEWNESS_ROWS", 100)
    found = spread(side, levels=Levels.of(side))
    assert found.squares == pytest.approx(whole.squares, rel=1e-9)
    assert found.cubes == pytest.approx(whole.cubes, rel=1e-9)
    assert found.triangles == pytest.approx(whole.triangles, rel=1e-9)
    np.testing.assert_allclose(found.leading, whole.leading, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("kind", "n_rare"), [("numbers", 9), ("ones", 3), ("numbers", 60)])
def test_permuted_values_are_those_of_columns_in_another_order(kind: str, n_rare: int) -> None:
    """Also where only the rare rows are permuted; the order of the rows is the one drawn."""
    rng = np.random.default_rng(0)
    x = rare_columns(rng, 100, n_rare, kind, 1)[:, 0]
    target = TargetCoordinates.of(rng.normal(size=(100, 3)))
    column = SortedColumns.of(x[np.newaxis])
    found, shares = next(column.permuted(target))
    assert not shares.any()
    count = n_rare if n_rare**2 <= 1000 else 100
    rows = next(iter(target.draws(count)))
    for value, places in list(zip(found, rows, strict=True))[:20]:
        moved = np.zeros(100)
        if count == 100:
            moved[places] = x
        else:  # the smallest rare value first
            moved[places] = np.sort(x[x > 0])
        gram = u_centred(Laplace(column.widths[0])(moved[:, np.newaxis]))
        expected = np.sum(gram * (target.psi @ target.psi.T)) / (100 * 97)
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_columns_share_their_permutations() -> None:
    rng = np.random.default_rng(0)
    target = TargetCoordinates.of(rng.normal(size=(60, 3)))
    for count, height in ((3, 1.0), (3, 5.0), (5, 1.0)):
        column = SortedColumns.of((height * (rng.permutation(60) < count))[np.newaxis])
        values = column.permuted(target)
        (first, _), again = next(values), column.permuted(target)
        np.testing.assert_array_equal(first, next(again)[0])
        draws = np.random.default_rng(0)
        rows = np.array([draws.choice(60, count, replace=False) for _ in first])
        np.testing.assert_array_equal(next(iter(target.draws(count))), rows)
    assert set(target.drawn) == {3, 5}


def test_single_precision_orbits_keep_the_digits_of_rare_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    x, y = (Sample(Gaussian(1.0), rare_columns(rng, 400, 5, "numbers", 1)) for _ in range(2))
    exact = permutation.permuted_statistics(x, y, 300, np.random.default_rng(0))[1]
    monkeypatch.setattr(permutation, "DOUBLE_ROWS", 100)
    single = permutation.permuted_statistics(x, y, 300, np.random.default_rng(0))[1]
    np.testing.assert_allclose(single, exact, atol=1e-5 * exact.std())


def test_permutations_stop_when_enough_have_reached() -> None:
    chunks = itertools.repeat(np.array([0.0, 1.0]))
    assert sequential_pvalue(1.0, chunks, 0.0) == 0.5
    assert sequential_pvalue(2.0, chunks, 0.0) == 1e-4


def test_rare_values_that_belong_together_are_found() -> None:
    rng = np.random.default_rng(0)
    x = rare_columns(rng, 2000, 12, "numbers", 1)
    assert screen(x, (x[:, 0] > 0).astype(int)).pvalues[0] <= 2e-4
    assert screen((x > 0) * 1.0, (x[:, 0] > 0).astype(int)).pvalues[0] < 1e-20


@pytest.mark.parametrize("method", ["permutation", "gamma"])
@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian("maximize"),
        Laplace("maximize"),
        2.0 * Gaussian("maximize"),
        Gaussian("maximize") + Laplace(1.0),
        Gaussian("maximize") * Laplace(1.0),
    ],
    ids=repr,
)
def test_a_kernel_chosen_by_the_dependence_is_refused(kernel: Kernel, method: str) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    with pytest.raises(ValueError, match=r"depmax\.resolve"):
        hsic_test(x, y, kernel=kernel, method=method)
    chosen = resolve(kernel, x[:30], y[:30])
    assert 0.0 < hsic_test(x[30:], y[30:], kernel=chosen, method=method).pvalue <= 1.0


@pytest.mark.slow
def test_screening_pays_for_the_choice_of_a_bandwidth() -> None:
    rng = np.random.default_rng(0)
    columns, y = rng.normal(size=(60, 200)), rng.normal(size=60)
    for kernel in (Laplace("maximize"), Gaussian("maximize")):
        assert np.mean(screen(columns, y, kernel=kernel).pvalues <= 0.05) <= 0.08


class TestFewRows:
    """Fewer than ten rows have few permutations, which no law with a density describes."""

    TARGETS: ClassVar[dict[str, Any]] = {
        "heavy": lambda rng: rng.standard_t(1.5, size=8),
        "rare": lambda rng: rng.permutation([1, 1, 0, 0, 0, 0, 0, 0]),
        "classes": lambda rng: np.arange(8) % 3,
    }

    @pytest.mark.slow
    @pytest.mark.parametrize("target", TARGETS)
    @pytest.mark.parametrize("log", [False, True])
    def test_levels_are_kept(self, target: str, log: bool) -> None:
        """With the law alone, 7 to 8 of 100 were below 0.05."""
        rng = np.random.default_rng(0)
        below = []
        for _ in range(25):
            X = rng.normal(size=(8, 60))
            X = np.exp(2 * X) if log else X
            below.append((screen(X, self.TARGETS[target](rng)).pvalues <= 0.05).mean())
        assert np.mean(below) <= 0.062

    @pytest.mark.parametrize("n_rows", [5, 6])
    def test_all_permutations(self, n_rows: int) -> None:
        rng = np.random.default_rng(1)
        X, y = rng.normal(size=(n_rows, 6)), rng.normal(size=n_rows)
        X[:, 0] = y
        orders = [list(order) for order in itertools.permutations(range(n_rows))]
        found = screen(X, y)
        for column in range(6):
            kernel = Laplace(found.bandwidths[column])
            rows = X[:, [column]]
            values = np.array([hsic(rows, y[order], kernel=kernel) for order in orders])
            exact = (values >= values[0] - 1e-12).mean()
            assert abs(found.pvalues[column] - exact) <= 5 * np.sqrt(exact * exact / 30) + 1e-3

    def test_analytic_test_says_so(self) -> None:
        X = np.random.default_rng(0).normal(size=(9, 2))
        assert hsic_test(X, X[:, 0], method="gamma", random_state=0).method == "permutation"
        X = np.random.default_rng(0).normal(size=(12, 2))
        assert hsic_test(X, X[:, 0], method="gamma").method == "gamma"


# --- outliers -------------------------------------------------------------------------------------
def test_one_outlier_that_both_sides_share_is_no_proof() -> None:
    """It meets itself in one of m orders of the rows; the law of many rows gave p = 0."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 100))
    x[7], y[7] = 1e4, 1e4
    kernels = {"kernel": "linear", "target_kernel": "linear"}
    test = hsic_test(x, y, method="gamma", n_permutations=999, random_state=0, **kernels)
    assert test.method == "permutation"
    assert test.pvalue >= 0.003
    assert screen(x[:, np.newaxis], y, **kernels).pvalues[0] >= 0.003


def test_outliers_among_many_rows_are_noticed_by_some() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 3000))
    x[1234], y[1234] = 1e6, 1e6
    side = Sample(Linear(), x[:, np.newaxis])
    assert spread(side).n_carrying < 2.0
    assert spread(Sample(Linear(), y[:100, np.newaxis])).n_carrying > 20.0
    assert spread(Sample(Gaussian(1.0), x[:, np.newaxis])).n_carrying > 1000.0


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["linear", "distance"])
def test_analytic_tests_of_heavy_tails_hold_small_levels(kernel: str) -> None:
    rng = np.random.default_rng(0)
    pvalues = []
    for seed in range(300):
        x, y = rng.standard_cauchy(size=(2, 40))
        kernels = {"kernel": kernel, "target_kernel": kernel}
        test = hsic_test(x, y, method="gamma", n_permutations=199, random_state=seed, **kernels)
        pvalues.append(test.pvalue)
    assert np.mean(np.array(pvalues) <= 0.01) <= 0.035
    assert np.mean(np.array(pvalues) <= 0.001) <= 0.007


def test_no_pvalue_is_zero_or_below_what_the_rows_allow() -> None:
    x = np.random.default_rng(0).normal(size=2000)
    assert hsic_test(x, x, method="gamma").pvalue > 0.0
    assert screen(x[:, np.newaxis], x).pvalues[0] > 0.0
    for m in (10, 12):
        few = np.arange(m, dtype=float)
        for target in (few, (few > 0).astype(float) * few):
            test = hsic_test(few, target, method="gamma", kernel="linear", random_state=0)
            assert test.pvalue >= 1.0 / math.factorial(m)
