"""A factor of the target's kernel matrix, whichever way it is made."""

from __future__ import annotations

import numpy as np
import pytest

from depmax.algebra import row_sums
from depmax.algebra.pivots import PRECISION, factor_of_matrix
from depmax.algebra.row_sums import as_array, target_factor
from depmax.data.sample import SMALL, Sample, read_sample
from depmax.kernels import Gaussian, Laplace, Linear
from depmax.kernels.kernel import Kernel
from depmax.maps.incomplete_cholesky import factor_to

rng = np.random.default_rng(0)


def centred(matrix: np.ndarray) -> np.ndarray:
    matrix = matrix - matrix.mean(axis=0)
    return matrix - matrix.mean(axis=1, keepdims=True)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian(0.01), Laplace(1.0), Linear()])
@pytest.mark.parametrize("n_rows", [40, SMALL + 1])
def test_the_centred_kernel_matrix(kernel: Kernel, n_rows: int, rng: np.random.Generator) -> None:
    side = read_sample(rng.normal(size=(n_rows, 2)), kernel)
    factor = as_array(target_factor(side))
    np.testing.assert_allclose(factor @ factor.T, centred(kernel(side.rows)), atol=1e-9)


def test_both_ways_take_as_many_pivots_as_precision_needs(rng: np.random.Generator) -> None:
    rows = rng.normal(size=(200, 1))
    sample = Sample(Gaussian(1.0), rows)
    whole, steps = factor_of_matrix(sample.gram()), np.asarray(factor_to(sample, PRECISION).factor)
    assert 10 < whole.shape[1] < 40
    assert abs(whole.shape[1] - steps.shape[1]) <= 1
    np.testing.assert_allclose(whole @ whole.T, steps @ steps.T, atol=1e-9)


def test_equal_rows_need_one_column() -> None:
    assert factor_of_matrix(np.ones((5, 5))).shape == (5, 1)


def test_kernels_that_are_none_are_refused() -> None:
    indefinite = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="not positive semidefinite"):
        factor_of_matrix(indefinite)
    with pytest.raises(ValueError, match="zero on every row"):
        factor_of_matrix(np.zeros((3, 3)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear()])
def test_many_rows_are_not_held(
    kernel: Kernel, weighted: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of the factor are made where they are asked for, also those beyond any sample."""
    monkeypatch.setattr(row_sums, "FEW_ROWS", 1000)
    rows = np.append(rng.normal(size=1500), [30.0, 31.0])[:, np.newaxis]
    weight = rng.integers(1, 4, size=len(rows)).astype(float) if weighted else None
    factor = target_factor(Sample(kernel, rows, weight=weight))
    assert not isinstance(factor, np.ndarray)
    some = np.r_[0:40, len(rows) - 2 : len(rows)]
    shares = np.full(len(rows), 1 / len(rows)) if weight is None else weight / weight.sum()
    inner = kernel(rows[some], rows) @ shares
    expected = kernel(rows[some]) - inner - inner[:, np.newaxis]
    mean = shares @ as_array(factor)
    np.testing.assert_allclose(mean, 0.0, atol=1e-10)
    found = factor.array()[some]
    square = sum(
        float(shares[part] @ kernel(rows[part], rows) @ shares)
        for part in np.array_split(np.arange(len(rows)), 10)
    )
    np.testing.assert_allclose(found @ found.T, expected + square, atol=1e-8)
    counts = np.ones(len(rows)) if weight is None else weight
    np.testing.assert_allclose(
        factor.gram, (factor.array() * counts[:, np.newaxis]).T @ factor.array(), atol=1e-7
    )
