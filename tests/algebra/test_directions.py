from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

from depmax.algebra.directions import complete, complete_axes, most_dependent
from depmax.algebra.space import Moments
from depmax.maps.feature_map import leading, signs

rng = np.random.default_rng(0)


def rotation(size, seed):
    return linalg.qr(np.random.default_rng(seed).normal(size=(size, size)))[0]


class TestLeading:
    def test_equals_the_eigenvectors(self, rng):
        matrix = rng.normal(size=(7, 7))
        matrix += matrix.T
        values, vectors = leading(matrix, 3)
        np.testing.assert_allclose(values, linalg.eigvalsh(matrix)[::-1][:3])
        np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-12)

    @pytest.mark.parametrize("count", [1, 2, 3, 4])
    def test_equal_eigenvalues_do_not_depend_on_rounding(self, count, rng):
        basis = rotation(5, 1)
        matrix = (basis * [3.0, 2.0, 2.0, 2.0, 1.0]) @ basis.T
        noise = 1e-14 * rng.normal(size=(5, 5))
        vectors = leading(matrix, count)[1]
        other = leading(matrix + noise + noise.T, count)[1]
        np.testing.assert_allclose(other * signs(other), vectors * signs(vectors), atol=1e-7)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(count), atol=1e-12)

    def test_none(self):
        assert leading(np.eye(3), 0)[1].shape == (3, 0)


def test_signs_of_equal_entries_do_not_depend_on_rounding():
    column = np.array([[0.5], [-0.5]])
    tilted = column + np.array([[-1e-12], [0.0]])
    assert signs(column) == signs(tilted) == 1.0


def test_completion_orders_by_variance_and_ends_with_it():
    scatter = np.diag([1.0, 4.0, 0.0, 2.0])
    first = np.array([[0.0], [0.0], [0.0], [1.0]])
    vectors = complete(first, scatter, 4)
    np.testing.assert_allclose(np.abs(vectors), np.eye(4)[:, [3, 1, 0]], atol=1e-12)
    np.testing.assert_array_equal(complete(vectors, scatter, 2), vectors[:, :2])


def test_axes_complete_any_basis():
    basis = complete_axes(rotation(6, 2)[:, :2], 6)
    np.testing.assert_allclose(basis.T @ basis, np.eye(6), atol=1e-12)


def test_equal_dependences_are_settled(rng):
    cross = rotation(5, 3)[:, :3]
    noise = 1e-15 * rng.normal(size=(5, 3))
    found = [
        most_dependent(Moments(C, np.eye(5), None), 2, by_variance=True).vectors
        for C in (cross, cross + noise)
    ]
    np.testing.assert_allclose(found[0] * signs(found[0]), found[1] * signs(found[1]), atol=1e-6)
