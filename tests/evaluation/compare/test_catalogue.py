"""The catalogue: what its methods declare is true."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from depmax.evaluation.comparison.catalogue import catalogue, default_methods
from depmax.evaluation.comparison.methods import kernel_evaluations
from depmax.evaluation.comparison.setting import Problem
from depmax.evaluation.comparison.trial import seeded, support_of

CATALOGUE = {method.name: method for method in catalogue()}
NESTED = [name for name, method in CATALOGUE.items() if method.nested is not None]


@pytest.fixture(name="data", scope="module")
def make_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 7)) @ rng.normal(size=(7, 7))
    y = np.digitize(X[:, 1] + X[:, 4] ** 2 + 0.3 * rng.normal(size=60), [-1.0, 1.0])
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@pytest.mark.parametrize("name", NESTED)
def test_nested_methods_are(name, data):
    """The first features of a fit with many are those of a fit with few."""
    X, y = data
    method = CATALOGUE[name]
    problem = Problem("classes", 60, 7, 3)
    sizes = [size for size in (1, 2, 5) if size <= method.largest(problem)]
    largest = seeded(method.make(sizes[-1]), 0).fit(X, y)
    view = method.nested(largest, X)
    for size in sizes:
        fitted = seeded(method.make(size), 0).fit(X, y)
        np.testing.assert_allclose(view(size), fitted.transform(X), atol=1e-6)
        if method.selects:
            np.testing.assert_array_equal(support_of(largest, size, 7), fitted.get_support())


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_method_fits_and_tells_its_kernel_values(name, data):
    X, y = data
    method = CATALOGUE[name]
    with warnings.catch_warnings():  # 60 rows: the iterative methods need not converge here
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = seeded(method.make(2), 0).fit(X, y)
    assert len(fitted.transform(X)) == 60
    assert method.description.endswith(".")
    known = {"KernelLDA": 60, "KernelPLS": 60, "SMA": 2, "LLE": np.nan}  # LLE has no kernel
    np.testing.assert_equal(kernel_evaluations(fitted, 60), known.get(name, 0))


def test_defaults_for_a_large_problem_are_linear_in_the_rows():
    names = {method.name for method in default_methods(Problem("numbers", 10**6, 50, 1))}
    assert names == {
        "all columns",
        "BAHSIC",
        "HSIC filter",
        "correlation filter",
        "HSIC-Lasso",
        "HBFE",
        "HSCA",
        "SIR",
        "SMA",
        "PCA",
        "PLS",
    }


def test_the_regression_is_tried_while_it_takes_minutes():
    def names(n_samples):
        return {method.name for method in default_methods(Problem("numbers", n_samples, 50, 1))}

    assert "KernelRidgeElimination" in names(50_000)
    assert "KernelRidgeElimination" not in names(50_001)
