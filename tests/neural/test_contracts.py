"""Every neural extractor: features that vary, that do not repeat each other, or a warning."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import ConvergenceWarning

torch = pytest.importorskip("torch", reason="torch is not installed: run make test-neural")

import depmax.neural as package
from depmax.datasets import make_rings
from depmax.neural import FullBatch, MiniBatch

FOUND = {
    name: getattr(package, name)
    for name in package.__all__
    if inspect.isclass(getattr(package, name)) and issubclass(getattr(package, name), BaseEstimator)
}
SOLVERS = {
    "full-batch": FullBatch(max_iter=60, n_hops=0),
    "mini-batch": MiniBatch(learning_rate=1e-2, batch_size=64, max_epochs=20),
}
rng = np.random.default_rng(0)
INPUTS = rng.normal(size=(150, 5))


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name == "rings":
        problem = make_rings(200, random_state=0)
        return problem.X, problem.y
    if name == "wdbc":
        X, y = load_breast_cancer(return_X_y=True)
        return X[:200], y[:200]
    if name == "wine":
        return load_wine(return_X_y=True)
    return INPUTS, np.sin(INPUTS[:, 0]) + INPUTS[:, 1] * INPUTS[:, 2]


def fitted(name: str, X: np.ndarray, y: np.ndarray, count: int, **options: Any) -> Any:
    """A fit, whatever it says about its quality."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return FOUND[name](count, random_state=0, **options).fit(X, y)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("problem", ["rings", "wdbc", "wine", "numbers"])
@pytest.mark.parametrize("name", sorted(set(FOUND) - {"NeuroStructure"}))
def test_no_feature_repeats_another(name: str, problem: str, solver: str) -> None:
    X, y = data(problem)
    model = fitted(name, X, y, 3, solver=SOLVERS[solver])
    features = model.transform(X)
    assert (features.std(axis=0) > 1e-3).all()
    correlations = np.corrcoef(features.T)[np.triu_indices(3, 1)]
    assert np.abs(correlations).max() < 0.02


@pytest.mark.parametrize("problem", ["rings", "wdbc", "wine", "numbers"])
def test_where_weights_alone_keep_features_apart_copies_are_told(problem: str) -> None:
    """NeuroStructure forces nothing: what its user weighs decides, and a copy is not silent."""
    X, y = data(problem)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = package.NeuroStructure(3, solver=SOLVERS["full-batch"], random_state=0).fit(X, y)
    features = model.transform(X)
    assert (features.std(axis=0) > 1e-3).all()
    copies = np.abs(np.corrcoef(features.T)[np.triu_indices(3, 1)]).max() > 0.9
    assert copies == any("repeat each other" in str(one.message) for one in said)


@pytest.mark.parametrize("options", [{}, {"feature_kernel": "linear"}, {"alpha": 2.0}], ids=str)
def test_nothing_is_rewarded_twice(options: dict[str, Any]) -> None:
    """Once a feature is nearly the target, the next ones find little of it left."""
    X, y = data("rings")
    model = package.NeuroHSCA(2, random_state=0, **options).fit(X, y)
    first, second = model.transform(X).T
    assert abs(np.corrcoef(first, second)[0, 1]) < 1e-6
    assert model.dependence_[0] > 5 * abs(model.dependence_[1])


def test_what_earlier_features_miss_is_found_later() -> None:
    X = INPUTS[:, :4]
    y = np.column_stack([X[:, 0] ** 2, X[:, 1] * X[:, 2]])
    model = package.NeuroHSCA(2, target_kernel="linear", feature_kernel="linear", random_state=0)
    features = model.fit(X, y).transform(X)
    scaled = (y - y.mean(axis=0)) / y.std(axis=0)
    basis = np.linalg.qr(features - features.mean(axis=0))[0]
    assert (np.square(basis.T @ scaled).sum(axis=0) / len(y) > 0.5).all()


@pytest.mark.parametrize("name", sorted(FOUND))
def test_constant_features_are_told(name: str) -> None:
    """Weights that decay to zero leave nothing that varies."""
    X, y = data("numbers")
    solver = MiniBatch(learning_rate=0.1, batch_size=50, max_epochs=60, patience=60)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = FOUND[name](
            2,
            activation="relu",
            hidden_layers=(4,),
            weight_decay=1e4,
            solver=solver,
            random_state=0,
        ).fit(X, y)
    constant = np.linalg.eigvalsh(np.cov(model.transform(X).T))[0] < 1e-8
    messages = [str(one.message) for one in said if one.category is ConvergenceWarning]
    assert constant == any(f"features of {name} are constant" in text for text in messages)


@pytest.mark.parametrize("name", sorted(FOUND))
def test_outputs_of_a_narrow_layer_repeat_each_other_and_say_so(name: str) -> None:
    X, y = data("numbers")
    options = {"hidden_layers": (1,), "solver": SOLVERS["full-batch"]}
    if name in (
        "NeuroHSCA",
        "NeuroStructure",
    ):  # have one network per feature, so that nothing is narrow
        assert (fitted(name, X, y, 2, **options).transform(X).std(axis=0) > 0.9).all()
        return
    activation = {"code_activation": "linear"} if name == "Autoencoder" else {}
    with pytest.warns(ConvergenceWarning, match=f"1 of n_components=2 features of {name}"):
        FOUND[name](2, random_state=0, **options, **activation).fit(X, y)


def test_an_autoencoder_is_not_worse_than_pca_or_says_so() -> None:
    for problem in ("wine", "numbers"):
        X, _ = data(problem)
        values = np.linalg.svd((X - X.mean(axis=0)) / X.std(axis=0), compute_uv=False) ** 2 / X.size
        for layers in ((), (6,), (8, 4)):
            for activation in ("tanh", "relu", "sigmoid"):
                solver = FullBatch(max_iter=100, n_hops=0)
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    model = package.Autoencoder(
                        2,
                        hidden_layers=layers,
                        activation=activation,
                        solver=solver,
                        n_init=1,
                        random_state=0,
                    ).fit(X)
                if model.loss_ > 1.02 * values[2:].sum():
                    assert any(one.category is ConvergenceWarning for one in said)


def test_more_features_reconstruct_better() -> None:
    X, _ = data("wine")
    solver = FullBatch(max_iter=120, n_hops=0)
    losses = [
        fitted("Autoencoder", X, X, count, hidden_layers=(8,), solver=solver).loss_
        for count in (1, 2, 3)
    ]
    assert losses == sorted(losses, reverse=True)
