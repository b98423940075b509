from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

from depmax.algebra.directions import Sphere

rng = np.random.default_rng(0)
ROOT = rng.normal(size=(6, 4))
B = ROOT @ ROOT.T  # of rank 4


def test_identity_on_the_range():
    sphere = Sphere.of(B)
    assert sphere.rank == 4
    np.testing.assert_allclose(sphere.image(B), np.eye(4), atol=1e-10)


def test_penalty_acts_on_the_range_only():
    values, vectors = linalg.eigh(B)
    sphere = Sphere.of(B, 0.1)
    inside = vectors[:, 2:] @ vectors[:, 2:].T
    penalised = B + 0.1 * values[2:].mean() * inside
    assert sphere.rank == 4
    np.testing.assert_allclose(sphere.image(penalised), np.eye(4), atol=1e-10)


def test_adding_a_number_to_a_singular_matrix_loses_directions():
    """Why the range comes first: a numerator outside of it wins against a small denominator."""
    cross = np.column_stack([1e-2 * linalg.null_space(ROOT.T)[:, 0], ROOT[:, 0]])
    naive = linalg.eigh(cross @ cross.T, B + 1e-8 * np.eye(6))[1][:, -1]
    found = Sphere.of(B).most_correlated(cross, 1).vectors[:, 0]
    assert naive @ B @ naive / (naive @ naive) < 1e-8 * np.trace(B)
    assert found @ B @ found == pytest.approx(1.0)
    assert (ROOT[:, 0] @ found) ** 2 == pytest.approx(ROOT[:, 0] @ linalg.pinvh(B) @ ROOT[:, 0])


def test_quotients_are_those_of_the_pencil(rng):
    A = rng.normal(size=(6, 6))
    A = A @ A.T
    full = B + np.eye(6)
    values = linalg.eigh(A, full, eigvals_only=True)
    found = Sphere.of(full).least_changing(A, 6)
    np.testing.assert_allclose(found.dependence, values)
    np.testing.assert_allclose(found.vectors.T @ full @ found.vectors, np.eye(6), atol=1e-9)


def test_completion_to_all_directions_that_vary():
    found = Sphere.of(B).most_correlated(ROOT[:, :1], 6)
    P = found.vectors
    assert P.shape == (6, 4)
    np.testing.assert_allclose(P.T @ B @ P, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(found.dependence[1:], 0.0, atol=1e-12)
