"""The test with many kernels: every type of data, an account of the kernels, an exact level.

Private modules: the level is exact for any family of statistics, not only for those of one table.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import linalg, sparse

from depmax import AggregateTest, hsic_test
from depmax.data import Table
from depmax.dependence._nulls import permutation
from depmax.dependence._nulls.law import u_centred
from depmax.dependence.hsic_test import RIDGE, Family, combine
from depmax.kernels import Gaussian, Laplace

N_ROWS = 60


def _tables(rng: np.random.Generator) -> dict[str, Any]:
    numbers = rng.normal(size=(N_ROWS, 3))
    mixed = pd.DataFrame(numbers, columns=["a", "b", "c"])
    mixed["colour"] = pd.Categorical(rng.choice(["red", "green", "blue"], N_ROWS))
    return {
        "one column": numbers[:, 0],
        "three columns": numbers,
        "float32": numbers.astype(np.float32),
        "mixed frame": mixed,
        "categories only": mixed[["colour"]],
        "sparse": sparse.csr_matrix(numbers * (rng.random(numbers.shape) < 0.5)),
        "few values": rng.integers(0, 3, (N_ROWS, 1)).astype(float),
        "far from zero": 1e8 + numbers,
        "a constant beside numbers": np.column_stack([numbers, np.ones(N_ROWS)]),
        "outliers": rng.standard_cauchy(size=(N_ROWS, 1)),
    }


def _targets(x: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    return {
        "numbers": x,
        "outputs": np.column_stack([x, rng.normal(size=N_ROWS)]),
        "two classes": np.where(x > np.median(x), "high", "low"),
        "three classes": np.digitize(x, np.quantile(x, [1 / 3, 2 / 3])),
    }


TABLES = list(_tables(np.random.default_rng(0)))
TARGETS = ["numbers", "outputs", "two classes", "three classes"]


def _first_column(X: Any) -> np.ndarray:
    if isinstance(X, pd.DataFrame):
        return X.iloc[:, 0].factorize(sort=True)[0].astype(float)
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
    return dense if dense.ndim == 1 else dense[:, 0]


@pytest.mark.parametrize("method", ["aggregate", "permutation", "gamma"])
@pytest.mark.parametrize("target", TARGETS)
def test_sparse_rows_are_tested_like_dense_ones(
    target: str, method: Any, rng: np.random.Generator
) -> None:
    X = _tables(rng)["sparse"]
    y = _targets(_first_column(X) + 0.5 * rng.normal(size=N_ROWS), rng)[target]
    options = {"method": method, "n_permutations": 99, "random_state": 0}
    found, expected = (hsic_test(rows, y, **options) for rows in (X, X.toarray()))
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-9)
    assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-6)
    if method == "aggregate":
        assert found.kernels == expected.kernels


def test_sparse_rows_that_do_not_fit_as_dense_ones_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DEPMAX_MAX_MEMORY", "100KB")
    X = sparse.random(50, 1000, density=0.01, format="csr", random_state=0)
    with pytest.raises(ValueError, match="kernel='gaussian'"):
        hsic_test(X, np.arange(50.0), random_state=0)
    test = hsic_test(X, np.arange(50.0), kernel="gaussian", n_permutations=9, random_state=0)
    assert test.n_samples == 50


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("table", TABLES)
def test_every_type_of_table_and_target(table: str, target: str, rng: np.random.Generator) -> None:
    """A target that is a function of a column is found, one that is permuted is not."""
    X = _tables(rng)[table]
    x = _first_column(X) + 0.01 * rng.normal(size=N_ROWS)
    y = _targets(x, rng)[target]
    test = hsic_test(X, y, n_permutations=199, random_state=0)
    assert isinstance(test, AggregateTest)
    assert test.method == "aggregate"
    assert test.pvalue <= 0.05
    assert test.standardized.shape == (len(test.kernels), len(test.target_kernels))
    assert test.contributions.min() >= 0
    assert test.contributions.sum() == pytest.approx(1.0)
    if "classes" in target:
        assert len(test.target_kernels) == 1
    again = hsic_test(X, y[rng.permutation(N_ROWS)], n_permutations=199, random_state=0)
    assert again.pvalue > 0.01


def test_the_kernel_that_sees_it_speaks(rng: np.random.Generator) -> None:
    """Fast oscillations are seen by narrow kernels of x, and a trend by the linear one."""
    x = rng.uniform(-1, 1, 200)
    fast = hsic_test(x, np.sin(16 * np.pi * x), random_state=0)
    place = int(np.argmax(fast.contributions.sum(axis=1)))
    assert fast.kernels[place] in ("Gaussian, 1/32 median", "Gaussian, 1/8 median")
    trend = hsic_test(x, x + rng.normal(size=200), random_state=0)
    assert trend.kernels[int(np.argmax(trend.contributions.sum(axis=1)))] in (
        "Linear",
        "Gaussian, 2 median",
    )


def test_statistic_is_a_soft_maximum_over_all_combinations(rng: np.random.Generator) -> None:
    """No combination of kernels has a larger standardised HSIC; by singular values it is Σσ⁴."""
    x, y = rng.normal(size=(2, 40, 1))
    families = Family.of_table(Table(x)), Family.of_table(Table(y + x))
    found = combine(*families, 9, np.random.default_rng(0))
    table = permutation.permuted_table(*(family.sides for family in families), 9, rng)
    grams = []
    for gram in (table.gram_x, table.gram_y[0]):
        scale = np.sqrt(np.diag(gram))
        cosines = gram / np.outer(scale, scale)
        grams.append((cosines + RIDGE * np.eye(len(gram))) / (1 + RIDGE))
    for _ in range(200):
        a, b = (rng.normal(size=len(gram)) for gram in grams)
        length = np.sqrt(a @ grams[0] @ a) * np.sqrt(b @ grams[1] @ b)
        assert a @ found.z @ b / length <= found.observed + 1e-9
    assert found.observed >= found.z.max() - 1e-9  # each kernel alone is a combination
    roots = [linalg.inv(linalg.sqrtm(gram)) for gram in grams]
    sigmas = np.linalg.svd(roots[0] @ found.z @ roots[1], compute_uv=False)
    assert found.observed == pytest.approx(np.sum(sigmas**4) ** 0.25, rel=1e-6)


@pytest.mark.parametrize("repeats", [False, True])
def test_any_orders_give_the_values_of_their_centred_matrices(
    repeats: bool, rng: np.random.Generator
) -> None:
    x, y = rng.normal(size=(2, 30, 1))
    xs, ys = (Family.of_table(Table(rows)).sides for rows in (x, y))
    orders = [np.arange(30), *(rng.permutation(30) for _ in range(5))]
    if repeats:
        orders += list(rng.integers(0, 30, size=(5, 30)))
    table = permutation.gathered_table(xs, ys, orders)
    left = np.stack([u_centred(side.gram()) for side in xs])
    assert len(table.gram_y) == (len(orders) if repeats else 1)
    np.testing.assert_allclose(table.gram_x, np.tensordot(left, left, ([1, 2], [1, 2])))
    for number, order in enumerate(orders):
        right = np.stack([u_centred(side.gram()[order][:, order]) for side in ys])
        cross = np.tensordot(left, right, ([1, 2], [1, 2]))
        np.testing.assert_allclose(table.values[number], cross, rtol=1e-8, atol=1e-10)
        if number < len(table.gram_y):
            own = np.tensordot(right, right, ([1, 2], [1, 2]))
            np.testing.assert_allclose(table.gram_y[number], own, rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("one_value", [False, True])
def test_groups_keep_the_level(one_value: bool, rng: np.random.Generator) -> None:
    """Rows of 24 groups of 4 or 5 rows, alike within groups: rejected in few of 40 draws."""
    labels = np.repeat(np.arange(24), rng.integers(4, 6, size=24))
    reached = rows_as_they_are = 0
    for _ in range(40):
        x, y = rng.normal(size=(2, 24))[:, labels]
        x = x + 0.3 * rng.normal(size=len(labels))
        y = y if one_value else y + 0.3 * rng.normal(size=len(labels))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rows that take no part
            found = hsic_test(x, y, groups=labels, n_permutations=99, random_state=0)
            plain = hsic_test(x, y, n_permutations=99, random_state=0)  # neighbours are alike
        reached += found.pvalue <= 0.05
        rows_as_they_are += plain.pvalue <= 0.05
    assert reached <= 6  # 2 expected; more than 6 in 1.4 % of such tests
    assert rows_as_they_are >= 15


def test_many_kernels_and_groups_have_a_limit(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    monkeypatch.setattr(sys.modules["depmax.dependence.hsic_test"], "GROUPED_ROWS", 30)
    x, y = rng.normal(size=(2, 40))
    with pytest.raises(ValueError, match=r"30 rows, .*'permutation'"):
        hsic_test(x, y, groups=np.arange(40) // 4)


def test_orbits_and_orders_give_the_same_law(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    x, y = rng.normal(size=(2, 40, 1))
    families = Family.of_table(Table(x)), Family.of_table(Table(y))
    one_by_one = combine(*families, 2000, np.random.default_rng(0))
    monkeypatch.setattr(permutation, "FEW_ROWS", 0)
    orbits = combine(*families, 2000, np.random.default_rng(1))
    assert orbits.observed == pytest.approx(one_by_one.observed)
    levels = [0.5, 0.9, 0.95]
    np.testing.assert_allclose(
        np.quantile(orbits.permuted, levels), np.quantile(one_by_one.permuted, levels), rtol=0.06
    )


def test_single_precision_gives_the_same_statistic(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    x = rng.normal(size=150)
    y = x**2 + rng.normal(size=150)
    double = hsic_test(x, y, random_state=0)
    monkeypatch.setattr(permutation, "DOUBLE_ROWS", 10)
    single = hsic_test(x, y, random_state=0)
    assert single.statistic == pytest.approx(double.statistic, rel=1e-4)
    assert single.pvalue == pytest.approx(double.pvalue, abs=0.003)


def test_kernels_can_be_given(rng: np.random.Generator) -> None:
    x = rng.normal(size=80)
    words = np.where(x > 0, "acgtacgtac", "ttttccccgg")
    strings = hsic_test(list(words), x, kernel="subsequence", n_permutations=199, random_state=0)
    assert len(strings.kernels) == 1
    assert len(strings.target_kernels) == 8
    assert strings.pvalue <= 0.01
    some = hsic_test(x, x, kernel=[Gaussian(1.0), Laplace(1.0)], n_permutations=99, random_state=0)
    assert some.kernels == ("Gaussian(bandwidth=1.0)", "Laplace(bandwidth=1.0)")


def test_one_kernel_each_is_the_ordinary_test(rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(2, 50))
    kernels = {"kernel": "gaussian", "target_kernel": "laplace", "random_state": 3}
    assert hsic_test(x, y, **kernels) == hsic_test(x, y, method="permutation", **kernels)


def test_a_constant_depends_on_nothing(rng: np.random.Generator) -> None:
    test = hsic_test(np.ones(30), rng.normal(size=30), random_state=0)
    assert test.pvalue == 1.0
    assert test.contributions.sum() == 0.0


def test_ties_count_for_the_null() -> None:
    """Whether a permutation changes anything is not decided by rounding."""
    x = np.array([0.0] * 20 + [1.0] * 2)
    y = np.array([0.0] * 18 + [1.0] * 4)
    pvalues = [hsic_test(x, y, random_state=seed).pvalue for seed in range(5)]
    assert np.mean(pvalues) == pytest.approx(6 / 231, abs=0.01)  # both ones among the four


@pytest.mark.parametrize("method", ["permutation", "gamma"])
def test_several_kernels_need_the_aggregate(method: str, rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(2, 20))
    with pytest.raises(ValueError, match=r"2 kernels.*method='aggregate'"):
        hsic_test(x, y, kernel=["gaussian", "laplace"], method=method)


def test_no_kernel_is_refused(rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(2, 20))
    with pytest.raises(ValueError, match="target_kernel is empty"):
        hsic_test(x, y, target_kernel=[])
    with pytest.raises(ValueError, match='bandwidth="maximize"'):
        hsic_test(x, y, kernel=[Gaussian("maximize")])


def test_many_rows_are_told_how_long_they_take(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    monkeypatch.setattr("depmax._resources.LONG", 2.5e-7 * 59**2)
    x = rng.normal(size=60)
    with pytest.warns(UserWarning, match=r"60 rows, .*NystroemMap\(200\)"):
        hsic_test(x, x**2, n_permutations=19, random_state=0)
    hsic_test(x, x**2, kernel="gaussian", target_kernel="gaussian", random_state=0)
    hsic_test(x[:50], x[:50] ** 2, n_permutations=19, random_state=0)
