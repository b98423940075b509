"""Products with a kernel matrix that is never held, and the basis they span.

Private modules: products with a pool of threads are compared with those without.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

from depmax._resources import thread_pool
from depmax.algebra import gram as module
from depmax.algebra.gram import Gram
from depmax.algebra.span import Basis, grow

rng = np.random.default_rng(0)
PHI = rng.normal(size=(70, 5)) + 2.0
K = PHI @ PHI.T
H = np.eye(70) - 1 / 70


def entries_of(matrix):
    def tile(rows, columns, out):
        out[...] = matrix[rows, columns]

    return tile


@pytest.fixture
def gram(monkeypatch):
    monkeypatch.setattr(module, "STRIP", 16)
    monkeypatch.setattr(module, "TILE", 200)
    monkeypatch.setattr(module, "PANEL", 24)
    return Gram(entries_of(K), 70, np.float64)


def test_products_with_the_centred_matrix(gram, rng):
    columns = H @ rng.normal(size=(70, 3))
    np.testing.assert_allclose(gram.times(columns), H @ K @ H @ columns, atol=1e-10)
    np.testing.assert_allclose(gram.mean, K.mean(axis=0))
    np.testing.assert_allclose(gram.trace, np.trace(H @ K @ H))


@pytest.mark.parametrize("weighted", [False, True])
def test_columns_of_the_centred_matrix(weighted, monkeypatch, rng):
    monkeypatch.setattr(module, "STRIP", 16)
    weight = rng.integers(1, 4, 70).astype(float) if weighted else None
    gram = Gram(entries_of(K), 70, np.float64, weight=weight)
    places = np.array([0, 15, 16, 40, 69])
    units = gram.centred(np.eye(70)[:, places])
    np.testing.assert_allclose(gram.columns(places), gram.times(units), atol=1e-10)


def test_half_of_the_values_are_computed(monkeypatch):
    monkeypatch.setattr(module, "STRIP", 10)
    monkeypatch.setattr(module, "SOME", 1)
    seen = np.zeros((70, 70), dtype=int)

    def tile(rows, columns, out):
        seen[rows, columns] += 1
        out[...] = K[rows, columns]

    Gram(tile, 70, np.float64)
    seen[:1, 69:] -= 1  # the constant
    assert seen.max() == 1
    assert seen[np.triu_indices(70)].all()
    assert seen.sum() == 10 * sum(range(10, 71, 10))


def test_threads_change_no_digit(monkeypatch, rng):
    monkeypatch.setattr(module, "STRIP", 16)
    monkeypatch.setattr(module, "WORK", 0)
    columns = rng.normal(size=(70, 5))
    with thread_pool(3) as run:
        found = Gram(entries_of(K), 70, np.float32, run=run)
        products = found.times(columns)
    alone = Gram(entries_of(K), 70, np.float32)
    np.testing.assert_array_equal(products, alone.times(columns))
    np.testing.assert_array_equal(found.mean, alone.mean)


class TestBasis:
    def test_directions_are_orthonormal_in_feature_space(self, gram, rng):
        basis = Basis(gram)
        basis.append(rng.normal(size=(70, 2)))
        basis.append(rng.normal(size=(70, 2)))
        np.testing.assert_allclose(basis.dual.T @ K @ basis.dual, np.eye(4), atol=1e-9)
        np.testing.assert_allclose(basis.values, H @ K @ H @ basis.dual, atol=1e-9)

    def test_what_is_spanned_already_is_dropped(self, gram, rng):
        basis = Basis(gram)
        columns = rng.normal(size=(70, 3))
        basis.append(columns)
        basis.append(columns @ rng.normal(size=(3, 2)))
        assert basis.size == 3
        basis.append(np.column_stack([np.ones(70), rng.normal(size=(70, 8))]))
        assert basis.size == 5  # the rank of the centred matrix

    def test_the_length_of_what_is_beyond_is_bounded(self, gram, rng):
        basis = Basis(gram)
        basis.append(rng.normal(size=(70, 2)))
        columns = rng.normal(size=(70, 3))
        weights = rng.normal(size=(3, 4))
        rest = basis.beyond(columns)
        beyond = rest.columns * rest.amounts @ weights
        phi = H @ PHI
        inside = phi.T @ basis.dual @ basis.values.T @ H @ columns  # projection on the basis
        np.testing.assert_allclose(phi.T @ beyond, (phi.T @ columns - inside) @ weights, atol=1e-8)
        exact = np.linalg.norm(phi.T @ beyond, axis=0)
        bound = basis.longest(rest, weights)
        assert (exact <= bound * (1 + 1e-9)).all()
        assert (bound <= 100 * exact).all()

    def test_columns_that_the_basis_spans_have_no_length_beyond(self, gram, rng):
        basis = Basis(gram)
        columns = rng.normal(size=(70, 3))
        basis.append(columns)
        rest = basis.beyond(columns[:, :2])
        assert rest.columns.shape == (70, 0)
        np.testing.assert_array_equal(basis.longest(rest, np.eye(2)), 0.0)


def test_growth_finds_the_leading_eigenvectors(monkeypatch, rng):
    points = rng.normal(size=(200, 4)) * [2.0, 1.5, 1.2, 1.0]
    kernel = np.exp(-0.1 * np.sum((points[:, None] - points) ** 2, axis=2))
    basis = Basis(Gram(entries_of(kernel), 200, np.float64))
    basis.append(rng.normal(size=(200, 6)))
    grow(basis, lambda values: values, 4)
    centring = np.eye(200) - 1 / 200
    expected = linalg.eigvalsh(centring @ kernel @ centring)[::-1][:4]
    found = linalg.eigvalsh(basis.values.T @ basis.values)[::-1][:4]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert basis.size < 100
