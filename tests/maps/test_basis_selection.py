import numpy as np
import pytest

from depmax.kernels import Gaussian, Laplace, Linear, Polynomial
from depmax.maps import BasisSelection
from depmax.maps import basis_selection as _gains


@pytest.fixture(name="X")
def rows():
    return np.random.default_rng(0).normal(size=(40, 3))


def fitness(K, basis):
    """Mean normalised squared projection, by its definition."""
    inside = K[:, basis] @ np.linalg.solve(K[np.ix_(basis, basis)], K[basis])
    return np.mean(np.diag(inside) / np.diag(K))


def brute_force(K, size):
    basis = []
    for _ in range(size):
        rest = [row for row in range(len(K)) if row not in basis]
        basis.append(rest[int(np.argmax([fitness(K, [*basis, row]) for row in rest]))])
    return basis


KERNELS = [Gaussian(1.0), Gaussian(4.0), Laplace(2.0), Polynomial(degree=3)]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_choice_is_that_of_the_definition(kernel, X):
    K = kernel(X)
    estimator = BasisSelection(8, kernel=kernel).fit(X)
    assert estimator.basis_indices_.tolist() == brute_force(K, 8)
    oracle = [fitness(K, estimator.basis_indices_[:size]) for size in range(1, 9)]
    np.testing.assert_allclose(estimator.fitness_, oracle, rtol=1e-9)


def test_first_row_has_the_largest_mean_squared_cosine(X):
    K = Polynomial(degree=2)(X)
    cosines = K**2 / np.outer(np.diag(K), np.diag(K))
    first = BasisSelection(1, kernel=Polynomial(degree=2)).fit(X).basis_indices_[0]
    assert first == cosines.mean(axis=0).argmax()


@pytest.mark.parametrize("kernel", [*KERNELS, Gaussian(20.0)], ids=repr)
def test_recursion_agrees_with_sums_computed_afresh(kernel, monkeypatch):
    X = np.random.default_rng(1).normal(size=(150, 3))
    fast = BasisSelection(60, kernel=kernel).fit(X).basis_indices_
    monkeypatch.setattr(_gains, "BLOCK", 1)
    slow = BasisSelection(60, kernel=kernel).fit(X).basis_indices_
    np.testing.assert_array_equal(fast, slow)


def test_all_candidates_by_number_are_all_candidates(X):
    kernel = Gaussian(1.0)
    sampled = BasisSelection(12, kernel=kernel, n_candidates=40, random_state=0).fit(X)
    np.testing.assert_array_equal(
        sampled.basis_indices_, BasisSelection(12, kernel=kernel).fit(X).basis_indices_
    )


def test_random_candidates_are_seeded_and_nearly_as_good(X):
    kernel = Gaussian(2.0)
    fits = [
        BasisSelection(10, kernel=kernel, n_candidates=10, random_state=seed).fit(X)
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(fits[0].basis_indices_, fits[1].basis_indices_)
    assert fits[0].basis_indices_.tolist() != fits[2].basis_indices_.tolist()
    best = BasisSelection(10, kernel=kernel).fit(X).fitness_[-1]
    assert all(1 - fit.fitness_[-1] < 2 * (1 - best) for fit in fits)


def test_features_are_coordinates_in_the_span(X):
    kernel = Gaussian(1.0)
    estimator = BasisSelection(10, kernel=kernel).fit(X[:30])
    basis = X[estimator.basis_indices_]
    features = estimator.transform(X)
    oracle = kernel(X, basis) @ np.linalg.solve(kernel(basis), kernel(basis, X))
    np.testing.assert_allclose(features @ features.T, oracle, atol=1e-10)


def test_fitness_rises_to_one(X):
    estimator = BasisSelection(kernel=Gaussian(1.0), tol=0.0)
    features = estimator.fit_transform(X)
    assert (np.diff(estimator.fitness_) >= -1e-15).all()
    assert estimator.fitness_[-1] > 1 - 1e-12
    np.testing.assert_allclose(features @ features.T, Gaussian(1.0)(X), atol=1e-11)


@pytest.mark.parametrize("tol", [0.3, 1e-2, 1e-5])
def test_stops_at_the_tolerance(tol, X):
    reached = BasisSelection(kernel=Gaussian(3.0), tol=tol).fit(X).fitness_
    assert reached[-1] >= 1 - tol
    assert (reached[:-1] < 1 - tol).all()


@pytest.mark.parametrize("n_candidates", [None, 5])
def test_stops_before_the_basis_is_singular(n_candidates, X):
    estimator = BasisSelection(
        kernel=Linear(), tol=0.0, n_candidates=n_candidates, random_state=0
    ).fit(X)
    assert len(estimator.basis_indices_) == 3
    np.testing.assert_allclose(estimator.fitness_[-1], 1.0)


def test_zero_rows_are_represented_by_anything(X):
    rows = np.vstack([X, np.zeros((3, 3))])
    estimator = BasisSelection(kernel=Linear()).fit(rows)
    assert len(estimator.basis_indices_) == 3
    np.testing.assert_allclose(estimator.fitness_[-1], 1.0)
    np.testing.assert_array_equal(estimator.transform(rows)[-3:], 0.0)
