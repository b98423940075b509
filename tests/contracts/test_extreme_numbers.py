"""Columns of any size beside ordinary ones: the answer of other units, or a refusal by name."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import depmax
from depmax.dependence import hsic_test, screen

X = np.random.default_rng(0).normal(size=(80, 4))
y = (X[:, 1] + X[:, 2] > 0).astype(int)
#: Beyond the root of the largest and the smallest number, and at the ends.
TINY, HUGE = (1e-160, 1e-300), (1e160, 1e300)
SELECTORS = [
    depmax.BAHSIC(2),
    depmax.FOHSIC(2),
    depmax.DependenceFilter(2),
    depmax.HSICLasso(2),
    depmax.KernelRidgeElimination(2),
]
EXTRACTORS = [depmax.HBFE(1), depmax.HSCA(1), depmax.KernelPLS(1)]


def _scaled(factor: float) -> np.ndarray:
    return X * np.array([1.0, factor, 1.0, 1.0])


# columns are on different scales on purpose
@pytest.mark.filterwarnings("ignore::depmax.ScaleWarning")
@pytest.mark.parametrize("estimator", [*SELECTORS, *EXTRACTORS], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("factor", TINY)
def test_tiny_columns_are_columns(estimator: Any, factor: float) -> None:
    fitted = estimator.fit(_scaled(factor), y)
    assert np.isfinite(fitted.transform(_scaled(factor))).all()


# sums that overflow warn before the table is refused
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::depmax.ScaleWarning")
@pytest.mark.parametrize("estimator", [*SELECTORS, *EXTRACTORS], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("factor", HUGE)
def test_huge_columns_are_refused_by_name(estimator: Any, factor: float) -> None:
    with pytest.raises(ValueError, match=r"column 1\b.*overflow"):
        estimator.fit(_scaled(factor), y)


@pytest.mark.parametrize("factor", TINY)
def test_screen_does_not_depend_on_units(factor: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, plain = screen(_scaled(factor), y), screen(X, y)
    np.testing.assert_allclose(found.scores, plain.scores, rtol=1e-8)
    np.testing.assert_allclose(found.pvalues, plain.pvalues, rtol=1e-6)


@pytest.mark.parametrize("method", ["permutation", "gamma"])
def test_sparse_rows_have_the_test_of_dense_ones(method: str, rng: np.random.Generator) -> None:
    few = X * (rng.random(X.shape) < 0.5)
    dense, packed = (
        hsic_test(rows, y, method=method, random_state=0) for rows in (few, sparse.csr_matrix(few))
    )
    np.testing.assert_allclose(packed.statistic, dense.statistic, rtol=1e-9)
    np.testing.assert_allclose(packed.pvalue, dense.pvalue, rtol=1e-6)
