"""SMA and SMC on rows that are read a chunk at a time, against their definition on all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from depmax import SMA, SMC, SampledRowsWarning, scan
from depmax.extraction.sparse_maximal import drawn_candidates
from depmax.kernels import Gaussian
from tests.extraction.deflation_oracles import gaussian_gram, sparse_features

METHODS = {"sma": SMA, "smc": SMC}


@pytest.fixture
def table(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(400, 3)) + 2.0
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.2 * rng.normal(size=400)


@pytest.mark.parametrize("sparsity", [1, 2])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_candidates_that_are_drawn_once(
    method: str, center: bool, sparsity: int, table: tuple[np.ndarray, np.ndarray]
) -> None:
    """The published algorithm on all rows, with the candidates of the stream at every step."""
    X, y = table
    options: dict[str, Any] = {"n_candidates": 30, "sparsity": sparsity, "center": center}
    model = METHODS[method](4, kernel=Gaussian(1.0), random_state=3, **options)
    with pytest.warns(SampledRowsWarning, match=f"{method.upper()} chooses from 30 of 400 rows"):
        model.fit(scan(X, y, rows_per_chunk=57))
    with pytest.warns(SampledRowsWarning):
        pool = drawn_candidates(model, len(X))
    K = gaussian_gram(X, 1.0)
    betas, features = sparse_features(K, y, 4, method, sparsity, center, candidates=pool)
    assert set(model.basis_indices_) == set(np.flatnonzero(np.abs(betas).any(axis=1)))
    assert_allclose(np.abs(model.transform(X)), np.abs(features), atol=1e-8)


def test_a_seed_draws_the_same_candidates(table: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = table
    with pytest.warns(SampledRowsWarning):
        models = [
            SMA(2, n_candidates=20, random_state=seed).fit(scan(X, y, rows_per_chunk=size))
            for seed, size in [(0, 50), (0, 400), (1, 50)]
        ]
    assert_array_equal(models[0].basis_indices_, models[1].basis_indices_)
    assert set(models[0].basis_indices_) != set(models[2].basis_indices_)


def test_more_features_than_columns_end_with_a_warning() -> None:
    X = np.repeat(np.arange(6.0), 20)[:, np.newaxis]
    y = np.random.default_rng(0).normal(size=120)
    with pytest.warns(UserWarning, match="SMA found 5 of n_components=9"):
        model = SMA(9, kernel=Gaussian(1.0)).fit(scan(X, y, rows_per_chunk=7))
    with pytest.warns(UserWarning, match="SMA found 5 of n_components=9"):
        expected = SMA(9, kernel=Gaussian(1.0)).fit(X, y)
    assert_allclose(model.dependence_.sum(), expected.dependence_.sum(), rtol=1e-8)
