from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.stats import spearmanr

from depmax.selection import stand_ins as module
from depmax.selection.stand_ins import stand_ins

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 7)) @ rng.normal(size=(7, 7))
X[:, 3] = np.round(X[:, 3])  # equal values
SUPPORT = np.array([True, False, False, True, False, True, False])


def test_the_kept_column_of_largest_rank_correlation() -> None:
    found = stand_ins(X, SUPPORT)
    correlations = np.abs(spearmanr(X).statistic)
    for column in range(7):
        kept = np.flatnonzero(SUPPORT)
        best = -1 if SUPPORT[column] else kept[correlations[column, kept].argmax()]
        assert found[column] == best


def test_constants_have_none() -> None:
    constant = np.column_stack([X, np.ones(60)])
    assert stand_ins(constant, np.append(SUPPORT, False))[-1] == -1


def test_sparse_columns_are_compared_by_correlation() -> None:
    counts = rng.poisson(0.3, size=(80, 4)).astype(float)
    counts[:, 3] = 2 * counts[:, 1]
    support = np.array([True, True, False, False])
    assert stand_ins(sparse.csr_matrix(counts), support)[3] == 1


def test_long_tables_are_sampled(monkeypatch) -> None:
    source = rng.normal(size=(500, 2))
    table = np.column_stack([source, source + 0.1 * rng.normal(size=(500, 2))])
    monkeypatch.setattr(module, "ROWS", 100)
    assert stand_ins(table, np.array([True, True, False, False])).tolist() == [-1, -1, 0, 1]
