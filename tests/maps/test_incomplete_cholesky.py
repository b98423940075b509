import tracemalloc

import numpy as np
import pytest
from scipy import linalg

from depmax.data.sample import Sample
from depmax.kernels import Gaussian, Laplace, Linear, Polynomial
from depmax.maps import IncompleteCholesky
from depmax.maps.incomplete_cholesky import largest_residual, pivot_steps


@pytest.fixture(name="X")
def rows():
    return np.random.default_rng(0).normal(size=(60, 4))


def brute_force(K, n_pivots):
    """Greedy pivots by the definition: the largest diagonal entry of K - K_P K_PP⁻¹ K_Pᵀ."""
    pivots = []
    for _ in range(n_pivots):
        rest = K.copy()
        if pivots:
            rest -= K[:, pivots] @ np.linalg.solve(K[np.ix_(pivots, pivots)], K[pivots])
        pivots.append(int(np.argmax(np.diag(rest))))
    return pivots


@pytest.mark.parametrize(
    "kernel", [Polynomial(degree=3), Laplace(2.0), Gaussian(0.7) * Laplace(3.0)], ids=repr
)
def test_pivots_and_error_are_those_of_the_definition(kernel, X):
    K = kernel(X)
    estimator = IncompleteCholesky(12, kernel=kernel)
    features = estimator.fit_transform(X)
    assert estimator.pivots_.tolist() == brute_force(K, 12)
    P = estimator.pivots_
    oracle = K[:, P] @ np.linalg.solve(K[np.ix_(P, P)], K[P])
    np.testing.assert_allclose(features @ features.T, oracle, atol=1e-10 * K.max())
    np.testing.assert_allclose(estimator.residual_, np.trace(K - oracle), rtol=1e-9)
    np.testing.assert_allclose(
        estimator.residual_, np.linalg.norm(K - features @ features.T, "nuc"), rtol=1e-9
    )


def test_full_rank_is_exact(X):
    kernel = Gaussian(1.0)
    estimator = IncompleteCholesky(None, kernel=kernel)
    features = estimator.fit_transform(X)
    assert features.shape == (60, 60)
    np.testing.assert_allclose(features @ features.T, kernel(X), atol=1e-12)
    assert estimator.residual_ <= 1e-12


def test_it_is_the_pivoted_cholesky_factor_of_lapack(X):
    K = Polynomial(degree=3)(X)  # first pivot is no tie
    factor, order, _, _ = linalg.lapack.dpstrf(K, lower=1)
    estimator = IncompleteCholesky(10, kernel=Polynomial(degree=3))
    features = estimator.fit_transform(X)
    np.testing.assert_array_equal(estimator.pivots_, order[:10] - 1)
    np.testing.assert_allclose(features[order - 1], np.tril(factor)[:, :10], atol=1e-8 * K.max())


def test_linear_kernel_stops_at_its_rank(X):
    estimator = IncompleteCholesky(30, kernel=Linear())
    features = estimator.fit_transform(X)
    assert features.shape == (60, 4)
    np.testing.assert_allclose(features @ features.T, X @ X.T, atol=1e-12)


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_rank_follows_the_tolerance(tol, X):
    kernel = Gaussian(3.0)
    estimator = IncompleteCholesky(None, kernel=kernel, tol=tol).fit(X)
    rank = len(estimator.pivots_)
    assert estimator.residual_ <= tol * len(X)
    assert IncompleteCholesky(rank - 1, kernel=kernel).fit(X).residual_ > tol * len(X)


def test_capacity_grows_with_the_rank():
    X = np.random.default_rng(0).normal(size=(300, 3))
    estimator = IncompleteCholesky(None, kernel=Laplace(1.0))
    features = estimator.fit_transform(X)
    assert features.shape == (300, 300)
    np.testing.assert_allclose(features @ features.T, Laplace(1.0)(X), atol=1e-12)


def test_ties_go_to_the_first_row():
    X = np.array([[0.0], [5.0], [5.0], [-5.0]])
    estimator = IncompleteCholesky(None, kernel=Gaussian(1.0)).fit(X)
    assert estimator.pivots_.tolist() == [0, 1, 3]


def test_features_of_training_rows_are_the_triangular_factor(X):
    estimator = IncompleteCholesky(10, kernel=Gaussian(1.0))
    features = estimator.fit_transform(X)
    triangle = features[estimator.pivots_]
    np.testing.assert_array_equal(triangle, np.tril(triangle))
    assert (np.diag(triangle) > 0).all()


def test_new_rows_are_projected_on_the_span(X):
    kernel = Gaussian(1.0)
    estimator = IncompleteCholesky(20, kernel=kernel).fit(X[:50])
    new, basis = X[50:], X[:50][estimator.pivots_]
    features = estimator.transform(new)
    oracle = kernel(new, basis) @ np.linalg.solve(kernel(basis), kernel(basis, new))
    np.testing.assert_allclose(features @ features.T, oracle, atol=1e-10)
    assert (np.einsum("ij,ij->i", features, features) <= 1 + 1e-12).all()


@pytest.mark.parametrize("tol", [-0.1, 1.0, np.nan])
def test_wrong_tol_is_named(tol, X):
    with pytest.raises(ValueError, match="tol of IncompleteCholesky"):
        IncompleteCholesky(tol=tol).fit(X)


def test_memory_is_linear_in_the_rows():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    tracemalloc.start()
    IncompleteCholesky(20, kernel=Gaussian(1.0)).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * X.shape[0] * 20 * 8


def test_each_step_evaluates_one_kernel_column(X):
    calls = []

    def kernel(A, B):
        calls.append((len(A), len(B)))
        return Gaussian(1.0)(A, B)

    IncompleteCholesky(7, kernel=kernel).fit(X)
    assert calls.count((60, 1)) == 7
    assert len(calls) == 8  # and one for the diagonal


def test_loop_takes_any_rule(X):
    sample = Sample(Gaussian(1.0), X)
    chosen = iter([5, 3, 8])
    steps = [partial.rank for partial in pivot_steps(sample, lambda _: next(chosen, None))]
    assert steps == [0, 1, 2, 3]
    for partial in pivot_steps(sample, largest_residual, 4):
        K = Gaussian(1.0)(X)
        rest = K - partial.factor @ partial.factor.T
        np.testing.assert_allclose(partial.residual, np.diag(rest), atol=1e-12)
        np.testing.assert_allclose(
            partial.residual_columns(np.array([1, 2])), rest[:, [1, 2]], atol=1e-12
        )
    np.testing.assert_allclose(
        partial.triangle @ partial.triangle.T, K[np.ix_(partial.pivots, partial.pivots)]
    )
