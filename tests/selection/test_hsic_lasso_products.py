"""Factors and tiles against explicit kernel matrices.

Private modules: products are compared before the path, which hides small faults.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import lars_path

from depmax.data.sample import read_target_sample
from depmax.kernels import Delta, Gaussian, Laplace, Linear, Polynomial, as_kernel
from depmax.kernels.kernel import Kernel
from depmax.selection import _lasso_designs as designs
from depmax.selection._lasso_designs import TileDesign, column_kernels, factor_design
from depmax.selection._scores import standardized
from depmax.selection.hsic_lasso import nonnegative_path
from tests.selection.lasso_oracles import explicit, gaussian_grams

rng = np.random.default_rng(0)
M = 90
X = np.column_stack(
    [
        rng.normal(size=(M, 4)),
        rng.standard_cauchy(M),  # heavy tails
        rng.integers(0, 2, M),
        rng.integers(0, 4, M),
        1e6 + rng.normal(size=M),
        np.full(M, 0.1),
        np.r_[np.zeros(M - 1), 1.0],  # a single outlier
    ]
)
Y = X[:, 0] ** 2 + X[:, 1] + 0.1 * rng.normal(size=M)
LABELS = (Y > 0.5).astype(int) + (Y > 2)
WHOLE = [np.arange(M)]
ALL = np.arange(X.shape[1])


def target_gram(y: np.ndarray) -> np.ndarray:
    return read_target_sample(y, "auto").gram()


@pytest.mark.parametrize("y", [Y, LABELS, LABELS == 1, np.column_stack([Y, X[:, 2]])])
def test_factors_equal_explicit_matrices(y: np.ndarray) -> None:
    design = factor_design(column_kernels(X, {}, Gaussian(1.0)), read_target_sample(y, "auto"))
    slow = explicit(gaussian_grams(X), target_gram(y), WHOLE)
    assert design is not None
    np.testing.assert_allclose(design.correlations, slow.correlations, atol=1e-6)
    np.testing.assert_allclose(design.squares, slow.squares, atol=1e-12)
    np.testing.assert_allclose(design.products(ALL), slow.products(ALL), atol=1e-6)


@pytest.mark.parametrize("bandwidth", [0.6, 1.0, 5.0])
def test_the_precision_holds_for_any_bandwidth(bandwidth: float) -> None:
    design = factor_design(
        column_kernels(X, {}, Gaussian(bandwidth)), read_target_sample(Y, "auto")
    )
    slow = explicit(gaussian_grams(X, bandwidth), target_gram(Y), WHOLE)
    assert design is not None
    np.testing.assert_allclose(design.products(ALL), slow.products(ALL), atol=1e-6)


def test_a_narrow_kernel_has_no_small_rank() -> None:
    narrow = column_kernels(X, {}, Gaussian(0.01))
    assert factor_design(narrow, read_target_sample(Y, "auto")) is None


@pytest.mark.parametrize("size", [18, 45, M])  # one triangle, and several tiles
def test_tiles_equal_explicit_matrices(size: int, rng: np.random.Generator) -> None:
    blocks = np.split(rng.permutation(M), M // size)
    design = TileDesign(column_kernels(X, {}, Gaussian(1.0)), read_target_sample(Y, "auto"), blocks)
    slow = explicit(gaussian_grams(X), target_gram(Y), blocks)
    np.testing.assert_allclose(design.correlations, slow.correlations, atol=1e-9)
    np.testing.assert_allclose(design.squares, slow.squares, atol=1e-12)
    np.testing.assert_allclose(design.products(ALL), slow.products(ALL), atol=1e-9)
    np.testing.assert_allclose(design.products(np.array([3, 1])), slow.products([3, 1]), atol=1e-9)
    assert design.target_square == pytest.approx(1.0)


@pytest.mark.parametrize(
    "kernel",
    [Laplace(1.0), Laplace(), Gaussian(), Linear(), Polynomial(2), Delta(), Gaussian() * 2.0],
    ids=repr,
)
def test_every_kernel_of_a_column(kernel: Kernel) -> None:
    """Policies are resolved for each column, and both forms agree."""
    grams = []
    for column in standardized(X).T:
        resolved = kernel.resolve(column[:, np.newaxis])
        grams.append(np.asarray(resolved(column[:, np.newaxis])))
    slow = explicit(grams, target_gram(Y), WHOLE)
    columns, target = column_kernels(X, {}, kernel), read_target_sample(Y, "auto")
    tiles = TileDesign(columns, target, WHOLE)
    np.testing.assert_allclose(tiles.correlations, slow.correlations, atol=1e-9)
    np.testing.assert_allclose(tiles.products(ALL), slow.products(ALL), atol=1e-9)
    factors = factor_design(columns, target)
    if factors is not None:
        np.testing.assert_allclose(factors.products(ALL), slow.products(ALL), atol=1e-6)


def test_categories_get_the_delta_kernel() -> None:
    columns = column_kernels(X, {5: ("a", "b"), 6: ("p", "q", "r", "s")}, Gaussian(1.0))
    grams = gaussian_grams(X)
    for j in (5, 6):
        grams[j] = (X[:, j][:, None] == X[:, j][None, :]).astype(float)
    slow = explicit(grams, target_gram(Y), WHOLE)
    target = read_target_sample(Y, "auto")
    factors, tiles = factor_design(columns, target), TileDesign(columns, target, WHOLE)
    assert factors is not None
    np.testing.assert_allclose(factors.products(ALL), slow.products(ALL), atol=1e-6)
    np.testing.assert_allclose(tiles.products(ALL), slow.products(ALL), atol=1e-9)


def test_the_path_equals_that_of_scikit_learn_on_the_vectors() -> None:
    slow = explicit(gaussian_grams(X), target_gram(Y), WHOLE)
    design = factor_design(column_kernels(X, {}, Gaussian(1.0)), read_target_sample(Y, "auto"))
    assert design is not None
    path = nonnegative_path(design, 10)
    alphas, active, coefs = lars_path(
        slow.columns, slow.target, method="lasso", positive=True, alpha_min=1e-7 / M**2
    )
    known = len(alphas) - 1  # the last one is where scikit-learn was told to stop
    assert path.active[: len(active)] == list(active)
    np.testing.assert_allclose(path.penalties[:known], alphas[:known] * M**2, atol=1e-6)
    np.testing.assert_allclose(path.coef, coefs[:, -1], atol=1e-5)


def test_chunks_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    columns, target = column_kernels(X, {}, Gaussian(1.0)), read_target_sample(Y, "auto")
    blocks = np.split(np.arange(M), 5)
    tiles, factors = TileDesign(columns, target, blocks), factor_design(columns, target)
    monkeypatch.setattr(designs, "CACHE", 400)
    monkeypatch.setattr(designs, "CHUNK", 200)
    for n_jobs in (None, 2):
        again = TileDesign(columns, target, blocks, n_jobs)
        np.testing.assert_allclose(again.products(ALL), tiles.products(ALL), atol=1e-13)
        same = factor_design(columns, target, n_jobs)
        assert same is not None
        assert factors is not None
        np.testing.assert_allclose(same.products(ALL), factors.products(ALL), atol=1e-10)


def test_columns_of_two_values_have_rank_one() -> None:
    columns = column_kernels(X[:, [5]], {}, Gaussian(1.0))
    design = factor_design(columns, read_target_sample(Y, "auto"))
    assert design is not None
    assert len(design.factors[0]) == 1


def test_a_kernel_that_is_none_is_refused() -> None:
    def indefinite(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.exp(np.abs(A[:, 0][:, None] - B[:, 0][None, :]))

    columns = column_kernels(X[:, :3], {}, as_kernel(indefinite))
    with pytest.raises(ValueError, match="not positive semidefinite"):
        factor_design(columns, read_target_sample(Y, "auto"))
