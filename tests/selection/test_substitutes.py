"""A substitute is named where a kept column says much of the same, and nowhere else.

Private modules: shares and p-values are compared before the thresholds that decide what is named.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import chi2_contingency, f_oneway, pearsonr, rankdata, spearmanr

from depmax import BAHSIC, FOHSIC, DependenceFilter, HSICLasso, Relief
from depmax.selection import _substitutes as module
from depmax.selection._substitutes import _by_spaces, substitutes

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 7)) @ rng.normal(size=(7, 7))
X[:, 3] = np.round(X[:, 3])  # equal values
SUPPORT = np.array([True, False, False, True, False, True, False])


def test_the_kept_column_of_largest_rank_correlation() -> None:
    found = substitutes(X, SUPPORT)
    correlations = np.abs(spearmanr(X).statistic)
    kept = np.flatnonzero(SUPPORT)
    for column in np.flatnonzero(~SUPPORT):
        best = kept[correlations[column, kept].argmax()]
        assert found[column] == (best if correlations[column, best] > 0.51 else -1)
    assert (found[kept] == -1).all()
    assert set(found[~SUPPORT]) & set(kept)  # some are named


@pytest.mark.parametrize("n_rows", [5, 20, 100, 2000])
def test_independent_columns_have_none(n_rows: int, rng: np.random.Generator) -> None:
    """False discoveries are at most 5 % where few rows give large correlations by chance."""
    named = 0
    for _ in range(20):
        table = rng.normal(size=(n_rows, 30))
        found = substitutes(table, np.arange(30) < 10)
        named += (found >= 0).any()
    assert named <= 4


def test_a_weak_relation_is_none_however_many_rows_show_it(rng: np.random.Generator) -> None:
    source = rng.normal(size=(5000, 1))
    weak = source + 4 * rng.normal(size=(5000, 1))
    table = np.column_stack([source, weak, source**3])
    assert substitutes(table, np.array([True, False, False])).tolist() == [-1, -1, 0]


def test_copies_are_found_among_thousands_of_columns_with_few_rows(
    rng: np.random.Generator,
) -> None:
    table = rng.normal(size=(20, 3000))
    table[:, 100] = -table[:, 3]
    found = substitutes(table, np.arange(3000) < 50)
    assert found[100] == 3
    assert (found >= 0).sum() <= 3


def test_categories_are_compared_by_their_levels(rng: np.random.Generator) -> None:
    levels = rng.integers(0, 4, 200)
    size = np.array([2.0, -1.0, 3.0, 0.0])[levels] + 0.1 * rng.normal(size=200)  # no order
    renamed = np.array([1, 3, 0, 2])[levels]
    other = rng.integers(0, 4, 200)
    table = np.column_stack([levels, size, renamed, other, rng.normal(size=200)])
    codes = {0: list("abcd"), 2: list("wxyz"), 3: list("klmn")}
    kept = np.array([True, False, False, False, False])
    assert substitutes(table, kept, categories=codes).tolist() == [-1, 0, 0, -1, -1]
    assert substitutes(table, np.roll(kept, 1), categories=codes).tolist() == [1, -1, 1, -1, -1]


def test_shares_and_pvalues_are_those_of_the_usual_tests(rng: np.random.Generator) -> None:
    levels, other = rng.integers(0, 3, 80), rng.integers(0, 4, 80)
    number = levels + rng.normal(size=80)
    second = number + rng.normal(size=80)
    kept = np.column_stack([number, levels.astype(float)])
    dropped = np.column_stack([second, other.astype(float)])
    compare = _by_spaces(kept, np.array([False, True]))
    found = compare(dropped, np.array([False, True]))
    ranks = rankdata(number), rankdata(second)
    correlation = pearsonr(*ranks)
    assert found.explained[0, 0] == pytest.approx(correlation.statistic**2)
    one, two = (np.array([0]), np.array([0])), (np.array([0]), np.array([1]))
    assert found.pvalues(one)[0] == pytest.approx(correlation.pvalue)
    groups = [ranks[1][levels == level] for level in range(3)]
    assert found.pvalues(two)[0] == pytest.approx(f_oneway(*groups).pvalue)
    counts = pd.crosstab(levels, other).to_numpy()
    cramer = chi2_contingency(counts, correction=False).statistic / 80 / 2
    assert found.trace[1, 1] == pytest.approx(cramer)
    assert found.explained[1, 1] == pytest.approx(tau(other, levels))
    assert found.explained[1, 0] == pytest.approx(tau(other, pd.qcut(number, 10).codes))


def tau(dropped: np.ndarray, kept: np.ndarray) -> float:
    """Goodman and Kruskal's: how much less often the level of a row is guessed wrongly."""
    counts = pd.crosstab(kept, dropped).to_numpy() / len(kept)
    wrong = 1 - (counts.sum(axis=0) ** 2).sum()
    return 1 - (1 - (counts**2 / counts.sum(axis=1, keepdims=True)).sum()) / wrong


def test_constants_have_none() -> None:
    constant = np.column_stack([X, np.ones(60)])
    assert substitutes(constant, np.append(SUPPORT, False))[-1] == -1
    only = substitutes(constant, np.arange(8) == 7)
    assert (only == -1).all()
    coded = substitutes(constant, np.append(SUPPORT, False), categories={7: ["a"], 3: ["a", "b"]})
    assert coded[-1] == -1


def test_sparse_columns_are_compared_by_correlation(rng: np.random.Generator) -> None:
    counts = rng.poisson(0.3, size=(80, 4)).astype(float)
    counts[:, 3] = 2 * counts[:, 1]
    support = np.array([True, True, False, False])
    assert substitutes(sparse.csr_matrix(counts), support).tolist() == [-1, -1, -1, 1]
    full = rng.normal(size=(80, 2))
    table = sparse.csr_matrix(np.column_stack([full, -full]))
    assert substitutes(table, support).tolist() == [-1, -1, 0, 1]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_rare_values_that_coincide_prove_nothing(
    make: Callable[[np.ndarray], Any], rng: np.random.Generator
) -> None:
    rare = np.zeros((100, 40))
    rare[rng.integers(0, 100, 40), np.arange(40)] = 1.0
    rare[:, 39] = rare[:, 0]
    assert (substitutes(make(rare), np.arange(40) < 20) == -1).all()


def test_long_tables_are_sampled(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    source = rng.normal(size=(500, 2))
    table = np.column_stack([source, source + 0.1 * rng.normal(size=(500, 2))])
    monkeypatch.setattr(module, "ROWS", 100)
    assert substitutes(table, np.array([True, True, False, False])).tolist() == [-1, -1, 0, 1]


@pytest.mark.parametrize("kind", [BAHSIC, FOHSIC, DependenceFilter, HSICLasso, Relief])
def test_every_selector_leaves_the_cell_of_an_independent_column_empty(kind: type) -> None:
    noise = np.random.default_rng(3)
    source = noise.normal(size=(120, 2))
    table = pd.DataFrame(
        {"dose": source[:, 0], "copy": source[:, 0] + 0.01 * source[:, 1], "noise": source[:, 1]}
    )
    frame = kind(1).fit(table, source[:, 0]).to_frame().set_index("column")
    kept, dropped = ("dose", "copy") if frame.loc["dose", "kept"] else ("copy", "dose")
    assert frame.loc[dropped, "substitute"] == kept
    assert frame["substitute"].isna()["noise"]
    assert frame["substitute"].isna()[kept]
