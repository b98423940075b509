from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

from depmax.pencils import Basis, Gram
from depmax.pencils import gram as module
from depmax.pencils.krylov import grow

rng = np.random.default_rng(0)
PHI = rng.normal(size=(70, 5)) + 2.0
K = PHI @ PHI.T
H = np.eye(70) - 1 / 70


@pytest.fixture
def gram(monkeypatch):
    monkeypatch.setattr(module, "TILE", 16)
    return Gram(lambda rows, columns: K[rows, columns].copy(), 70, np.float64)


def test_products_with_the_centred_matrix(gram):
    columns = H @ rng.normal(size=(70, 3))
    np.testing.assert_allclose(gram.times(columns), H @ K @ H @ columns, atol=1e-10)
    np.testing.assert_allclose(gram.mean, K.mean(axis=0))


def test_half_of_the_tiles_are_computed(monkeypatch):
    monkeypatch.setattr(module, "TILE", 35)
    seen = []

    def tile(rows, columns):
        seen.append((rows.start, columns.start))
        return K[rows, columns].copy()

    Gram(tile, 70, np.float64)
    assert sorted(seen[1:]) == [(0, 0), (0, 35), (35, 35)]  # after one for the constant


class TestBasis:
    def test_directions_are_orthonormal_in_feature_space(self, gram):
        basis = Basis(gram)
        basis.append(rng.normal(size=(70, 2)))
        basis.append(rng.normal(size=(70, 2)))
        np.testing.assert_allclose(basis.dual.T @ K @ basis.dual, np.eye(4), atol=1e-9)
        np.testing.assert_allclose(basis.values, H @ K @ H @ basis.dual, atol=1e-9)

    def test_what_is_spanned_already_is_dropped(self, gram):
        basis = Basis(gram)
        columns = rng.normal(size=(70, 3))
        basis.append(columns)
        assert basis.append(columns @ rng.normal(size=(3, 2))).shape == (0, 2)
        basis.append(np.column_stack([np.ones(70), rng.normal(size=(70, 8))]))
        assert basis.size == 5  # the rank of the centred matrix

    def test_coefficients_of_what_is_added(self, gram):
        basis = Basis(gram)
        columns = H @ rng.normal(size=(70, 2))
        coefficients = basis.append(columns)
        phi = H @ PHI
        np.testing.assert_allclose(phi.T @ basis.dual @ coefficients, phi.T @ columns, atol=1e-9)


def test_growth_finds_the_leading_eigenvectors(monkeypatch):
    points = rng.normal(size=(200, 4)) * [2.0, 1.5, 1.2, 1.0]
    kernel = np.exp(-0.1 * np.sum((points[:, None] - points) ** 2, axis=2))
    basis = Basis(Gram(lambda rows, columns: kernel[rows, columns].copy(), 200, np.float64))
    basis.append(rng.normal(size=(200, 6)))
    grow(basis, lambda values: values, 4)
    centring = np.eye(200) - 1 / 200
    expected = linalg.eigvalsh(centring @ kernel @ centring)[::-1][:4]
    found = linalg.eigvalsh(basis.values.T @ basis.values)[::-1][:4]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert basis.size < 100
