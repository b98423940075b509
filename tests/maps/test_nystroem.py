import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem

from depmax.kernels import Gaussian, Polynomial
from depmax.maps import KernelMap, NystroemMap


@pytest.fixture(name="X")
def rows():
    return np.random.default_rng(0).normal(size=(60, 4))


@pytest.mark.parametrize("seed", [0, 1])
def test_inner_products_are_those_of_scikit_learn(seed, X):
    ours = NystroemMap(15, kernel=Gaussian(1.0), random_state=seed).fit(X)
    theirs = Nystroem(kernel="rbf", gamma=0.5, n_components=15, random_state=seed).fit(X)
    np.testing.assert_array_equal(ours.landmark_indices_, theirs.component_indices_)
    a, b = ours.transform(X + 0.1), theirs.transform(X + 0.1)
    np.testing.assert_allclose(a @ a.T, b @ b.T, atol=1e-9)


def test_definition(X):
    kernel = Gaussian(1.0)
    estimator = NystroemMap(10, kernel=kernel, random_state=0)
    features = estimator.fit_transform(X)
    landmarks = X[estimator.landmark_indices_]
    oracle = kernel(X, landmarks) @ np.linalg.solve(kernel(landmarks), kernel(landmarks, X))
    np.testing.assert_allclose(features @ features.T, oracle, atol=1e-10)


def test_all_rows_as_landmarks_are_exact(X):
    features = NystroemMap(60, kernel=Gaussian(1.0), random_state=0).fit_transform(X)
    np.testing.assert_allclose(features @ features.T, Gaussian(1.0)(X), atol=1e-9)
    exact = KernelMap(kernel=Gaussian(1.0)).fit_transform(X)
    np.testing.assert_allclose(np.abs(features), np.abs(exact), atol=1e-7)


def test_low_rank_kernel_is_exact_with_enough_landmarks(X):
    kernel = Polynomial(degree=2)  # 15 monomials of 4 variables
    features = NystroemMap(30, kernel=kernel, random_state=0).fit_transform(X)
    assert features.shape == (60, 15)
    np.testing.assert_allclose(features @ features.T, kernel(X), rtol=1e-8, atol=1e-8)


def test_landmarks_are_distinct_and_seeded(X):
    first = NystroemMap(20, random_state=3).fit(X).landmark_indices_
    assert len(set(first)) == 20
    np.testing.assert_array_equal(first, NystroemMap(20, random_state=3).fit(X).landmark_indices_)
    assert set(first) != set(NystroemMap(20, random_state=4).fit(X).landmark_indices_)


def test_too_many_landmarks(X):
    with pytest.raises(ValueError, match=r"n_components=61 .* = 60"):
        NystroemMap(61).fit(X)
