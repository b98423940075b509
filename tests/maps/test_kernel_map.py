import numpy as np
import pytest
from sklearn.decomposition import PCA, KernelPCA

from depmax.kernels import Delta, Gaussian, Laplace, Linear, Polynomial, as_kernel
from depmax.maps import KernelMap


@pytest.fixture(name="X")
def rows():
    return np.random.default_rng(0).normal(size=(60, 4))


KERNELS = (
    Gaussian(1.0),
    Laplace(2.0),
    Linear(),
    Polynomial(degree=3),
    Gaussian(1.0) + Linear(),
    2.0 * Linear(),
    Linear() * Linear(),
)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_inner_products_are_the_kernel(kernel, X):
    estimator = KernelMap(kernel=kernel)
    features = estimator.fit_transform(X)
    tolerance = 1e-8 * estimator.eigenvalues_[0]
    np.testing.assert_allclose(features @ features.T, kernel(X), atol=tolerance, rtol=0)
    np.testing.assert_allclose(estimator.transform(X), features, atol=tolerance, rtol=0)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_new_rows_keep_inner_products_with_training_rows(kernel, X):
    estimator = KernelMap(kernel=kernel).fit(X[:50])
    products = estimator.transform(X[50:]) @ estimator.transform(X[:50]).T
    oracle = kernel(X[50:], X[:50])
    np.testing.assert_allclose(products, oracle, atol=1e-7 * np.abs(oracle).max())


def test_definition(X):
    K = Gaussian(1.0)(X)
    values, vectors = np.linalg.eigh(K)
    estimator = KernelMap(5, kernel=Gaussian(1.0)).fit(X)
    np.testing.assert_allclose(estimator.eigenvalues_, values[::-1][:5])
    oracle = Gaussian(1.0)(X[:3] + 0.1, X) @ vectors[:, ::-1][:, :5] / np.sqrt(values[::-1][:5])
    np.testing.assert_allclose(np.abs(estimator.transform(X[:3] + 0.1)), np.abs(oracle))


@pytest.mark.parametrize("n_components", [None, 3])
@pytest.mark.parametrize("linear", [Linear(), 2.0 * Linear(), Linear() * Linear()], ids=repr)
def test_both_routes_give_the_same_coordinates(linear, n_components, X):
    as_function = as_kernel(lambda A, B: linear(A, B))  # hides the features
    primal = KernelMap(n_components, kernel=linear).fit(X)
    dual = KernelMap(n_components, kernel=as_function).fit(X)
    np.testing.assert_allclose(primal.eigenvalues_, dual.eigenvalues_)
    np.testing.assert_allclose(primal.transform(X), dual.transform(X), atol=1e-8)
    assert primal._reference is None
    assert dual._reference is not None


def test_wide_rows_take_the_smaller_side():
    X = np.random.default_rng(0).normal(size=(10, 500))
    estimator = KernelMap(kernel="linear").fit(X)
    assert estimator.transform(X).shape == (10, 10)
    assert estimator._projection.shape == (10, 10)


def test_many_rows_need_no_kernel_matrix():
    X = np.random.default_rng(0).normal(size=(200_000, 3))
    features = KernelMap(kernel="linear").fit_transform(X)
    np.testing.assert_allclose(features[:9] @ features[:9].T, X[:9] @ X[:9].T, atol=1e-10)


def test_labels():
    labels = ["a", "b", "a", "c", "b"]
    features = KernelMap(kernel=Delta()).fit_transform(labels)
    assert features.shape == (5, 3)
    np.testing.assert_allclose(features @ features.T, Delta()(labels), atol=1e-12)


def test_kernel_pca_is_the_pca_of_the_features(X):
    gamma = 0.5
    features = KernelMap(kernel=Gaussian(1.0)).fit(X).transform(X)
    ours = PCA(4).fit_transform(features)
    theirs = KernelPCA(4, kernel="rbf", gamma=gamma).fit_transform(X)
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-8)


def test_leading_coordinates_are_the_best_of_their_rank(X):
    estimator = KernelMap(6, kernel=Gaussian(1.0))
    features = estimator.fit_transform(X)
    K = Gaussian(1.0)(X)
    error = np.linalg.norm(K - features @ features.T, 2)
    np.testing.assert_allclose(error, np.linalg.eigvalsh(K)[-7])


def test_signs_are_deterministic(X):
    features = KernelMap(kernel=Gaussian(1.0)).fit_transform(X)
    largest = np.abs(features).argmax(axis=0)
    assert (features[largest, np.arange(features.shape[1])] > 0).all()
    shuffled = np.random.default_rng(1).permutation(len(X))
    again = KernelMap(5, kernel=Gaussian(1.0)).fit_transform(X[shuffled])
    np.testing.assert_allclose(again, features[shuffled, :5], atol=1e-9)
