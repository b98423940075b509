"""A factor of the target's kernel matrix, whichever way it is made."""

from __future__ import annotations

import numpy as np
import pytest

from depmax.kernels import Gaussian, Laplace, Linear
from depmax.kernels.kernel import Kernel
from depmax.maps.incomplete_cholesky import factor_to
from depmax.pencils.form import PRECISION, _of_matrix, target_factor
from depmax.samples import Sample, read_sample
from depmax.samples.sample import SMALL

rng = np.random.default_rng(0)


def centred(matrix: np.ndarray) -> np.ndarray:
    matrix = matrix - matrix.mean(axis=0)
    return matrix - matrix.mean(axis=1, keepdims=True)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian(0.01), Laplace(1.0), Linear()])
@pytest.mark.parametrize("n_rows", [40, SMALL + 1])
def test_the_centred_kernel_matrix(kernel: Kernel, n_rows: int, rng: np.random.Generator) -> None:
    side = read_sample(rng.normal(size=(n_rows, 2)), kernel)
    factor = target_factor(side)
    np.testing.assert_allclose(factor @ factor.T, centred(kernel(side.rows)), atol=1e-9)


def test_both_ways_take_as_many_pivots_as_precision_needs(rng: np.random.Generator) -> None:
    rows = rng.normal(size=(200, 1))
    sample = Sample(Gaussian(1.0), rows)
    whole, steps = _of_matrix(sample.gram()), np.asarray(factor_to(sample, PRECISION).factor)
    assert 10 < whole.shape[1] < 40
    assert abs(whole.shape[1] - steps.shape[1]) <= 1
    np.testing.assert_allclose(whole @ whole.T, steps @ steps.T, atol=1e-9)


def test_equal_rows_need_one_column() -> None:
    assert _of_matrix(np.ones((5, 5))).shape == (5, 1)


def test_kernels_that_are_none_are_refused() -> None:
    indefinite = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="not positive semidefinite"):
        _of_matrix(indefinite)
    with pytest.raises(ValueError, match="zero on every row"):
        _of_matrix(np.zeros((3, 3)))
