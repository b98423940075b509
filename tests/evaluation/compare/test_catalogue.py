"""The catalogue: what its methods declare is true."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from depmax.evaluation.comparison.catalogue import compared_methods, default_methods
from depmax.evaluation.comparison.problem import Problem
from depmax.evaluation.comparison.trials import seeded

CATALOGUE = {method.name: method for method in compared_methods()}
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
            np.testing.assert_array_equal(largest.ranking_ <= size, fitted.get_support())


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_method_fits(name, data):
    X, y = data
    method = CATALOGUE[name]
    with warnings.catch_warnings():  # 60 rows: the iterative methods need not converge here
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = seeded(method.make(2), 0).fit(X, y)
    assert len(fitted.transform(X)) == 60
    assert method.description.endswith(".")


@pytest.mark.parametrize("method", compared_methods(), ids=lambda method: method.name)
def test_every_method_can_be_pickled(method):
    again = pickle.loads(pickle.dumps(method))
    assert repr(again.make(2)) == repr(method.make(2))
    for kind, outputs in (("classes", 3), ("numbers", 1)):
        problem = Problem(kind, 100, 8, outputs)
        assert again.suits(problem) == method.suits(problem)
        assert again.largest(problem) == method.largest(problem)


def names(**options):
    sizes = {"kind": "classes", "n_samples": 150, "n_features": 20, "n_outputs": 2}
    return {method.name for method in default_methods(Problem(**sizes | options))}


def test_defaults_follow_the_problem():
    always = {"all columns", "BAHSIC", "HSIC filter", "HSIC-Lasso", "PLS"}
    assert always <= names()
    assert always <= names(kind="numbers", n_outputs=1)
    assert not {"NCA", "FastICA", "ICAFX", "LLE"} & names()  # slow, and seldom best
    assert "Relief" in names()
    assert not {"Relief", "KernelPLS"} & names(n_samples=10_000)
    assert "BAHSIC" in names(n_samples=10_000)
    assert "PLS" not in names(sparse=True)


def test_the_regression_is_tried_while_it_takes_minutes():
    assert "KernelRidgeElimination" in names(n_samples=50_000)
    assert "KernelRidgeElimination" not in names(n_samples=50_001)
