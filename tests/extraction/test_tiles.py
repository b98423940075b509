"""Tiles of large kernel matrices."""

from __future__ import annotations

import numpy as np
import pytest

from depmax.algebra.gram import kernel_tile, matrix_tile, radial_tile
from depmax.kernels import Gaussian, InverseMultiquadric, Laplace

ROWS = np.random.default_rng(0).normal(size=(40, 3))
ROWS[7] = ROWS[3]
KERNELS = [
    Gaussian(1.5),
    Laplace(2.0, norm=2),
    InverseMultiquadric(1.0),
    2.0 * Gaussian(1.0),
    Gaussian(1.0) + Gaussian(3.0),
]


@pytest.mark.parametrize("make", [radial_tile, kernel_tile])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_values_of_the_kernel(kernel, make):
    expected = kernel(ROWS)
    tile = make(kernel, ROWS)
    for first, second in [((12, 22), (12, 40)), ((12, 22), (12, 22)), ((0, 5), (30, 40))]:
        found = np.empty((first[1] - first[0], second[1] - second[0]))
        tile(slice(*first), slice(*second), found)
        np.testing.assert_allclose(found, expected[slice(*first), slice(*second)], atol=1e-12)
    twins = np.empty((5, 37))
    tile(slice(3, 8), slice(3, 40), twins)  # rows 3 and 7 are equal: roots of rounding errors
    np.testing.assert_allclose(twins, expected[3:8, 3:], atol=1e-7)


def test_a_row_is_at_no_distance_from_itself_in_single_precision():
    rows = (1e3 * ROWS).astype(np.float32)
    found = np.empty((4, 37), dtype=np.float32)
    radial_tile(Gaussian(1.0), rows)(slice(3, 7), slice(3, 40), found)
    np.testing.assert_array_equal(found.diagonal(), 1.0)


def test_entries_of_a_matrix():
    found = np.empty((2, 3))
    matrix_tile(ROWS)(slice(1, 3), slice(0, 3), found)
    np.testing.assert_array_equal(found, ROWS[1:3])
