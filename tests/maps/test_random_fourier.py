import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from depmax.kernels import Gaussian, Laplace
from depmax.maps import RandomFourier

KERNELS = [Gaussian(1.5), Laplace(3.0), Laplace(2.0, norm=2)]


@pytest.fixture(name="X")
def rows():
    return np.random.default_rng(0).normal(size=(40, 4))


def rms_error(kernel, X, n_components, seeds=range(8)):
    errors = []
    for seed in seeds:
        features = RandomFourier(n_components, kernel=kernel, random_state=seed).fit_transform(X)
        errors.append(features @ features.T - kernel(X))
    return np.sqrt(np.mean(np.square(errors)))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_error_falls_with_the_root_of_the_components(kernel, X):
    few, many = rms_error(kernel, X, 100), rms_error(kernel, X, 6400)
    assert 5 < few / many < 12.8  # eight, give or take
    assert many < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("n_components", [1, 2, 3])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_estimate_is_unbiased(kernel, n_components, X):
    X = X[:5]
    total = np.zeros((5, 5))
    n_seeds = 1000
    for seed in range(n_seeds):
        features = RandomFourier(n_components, kernel=kernel, random_state=seed).fit_transform(X)
        assert features.shape == (5, n_components)
        total += features @ features.T
    np.testing.assert_allclose(total / n_seeds, kernel(X), atol=0.1)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_pairs_have_the_exact_diagonal(kernel, X):
    features = RandomFourier(50, kernel=kernel, random_state=0).fit_transform(X)
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1.0)


def test_inner_products_depend_on_differences_only(X):
    estimator = RandomFourier(30, random_state=0).fit(X)
    a, b = estimator.transform(X), estimator.transform(X + 5.0)
    np.testing.assert_allclose(a @ a.T, b @ b.T, atol=1e-12)


def test_seeds_are_honoured(X):
    first = RandomFourier(7, random_state=0).fit_transform(X)
    np.testing.assert_array_equal(first, RandomFourier(7, random_state=0).fit_transform(X))
    assert not np.allclose(first, RandomFourier(7, random_state=1).fit_transform(X))
    stream = np.random.RandomState(0)
    np.testing.assert_array_equal(first, RandomFourier(7, random_state=stream).fit_transform(X))
    assert not np.allclose(first, RandomFourier(7, random_state=stream).fit_transform(X))


def test_more_components_than_rows(X):
    assert RandomFourier(500).fit_transform(X).shape == (40, 500)


@pytest.mark.parametrize("kernel", ["linear", "inverse_multiquadric", Gaussian() + Gaussian()])
def test_other_kernels_are_refused_by_name(kernel, X):
    name = {"linear": "Linear", "inverse_multiquadric": "InverseMultiquadric"}.get(
        kernel if isinstance(kernel, str) else "", "Sum"
    )
    with pytest.raises(TypeError, match=f"{name} .*NystroemMap"):
        RandomFourier(kernel=kernel).fit(X)


def test_precomputed_is_refused(X):
    with pytest.raises(TypeError, match="Precomputed declares none"):
        RandomFourier(kernel="precomputed").fit(Gaussian(1.0)(X))


def test_any_kernel_that_declares_its_frequencies_serves(X):
    class Narrow(Gaussian):
        def spectral_sample(self, n_features, size, rng):
            return np.zeros((n_features, size))

    features = RandomFourier(2, kernel=Narrow()).fit_transform(X)
    np.testing.assert_array_equal(features, np.tile([1.0, 0.0], (40, 1)))


def test_categories_are_refused(X):
    frame = pd.DataFrame({"a": X[:, 0], "colour": pd.Categorical(["red", "blue"] * 20)})
    with pytest.raises(TypeError, match="categorical column 'colour'"):
        RandomFourier().fit(frame)


@pytest.mark.parametrize("kernel", [Gaussian(), Laplace(norm=2)], ids=repr)
def test_sparse_rows_stay_sparse(kernel, X):
    rows = sparse.random(200, 50, density=0.05, format="csr", random_state=0)
    fitted = RandomFourier(20, kernel=kernel, random_state=0).fit(rows)
    np.testing.assert_allclose(fitted.transform(rows), fitted.transform(rows.toarray()))
