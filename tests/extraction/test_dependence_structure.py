"""Dependence structures: known methods are instances, and others maximise what they say."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import linalg, optimize
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from depmax import HBFE, HSCA, Dependence, DependenceStructure, hsic
from depmax.kernels import Gaussian

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5)) + 3.0
NUMBERS = np.sin(X[:, 1]) + X[:, 0] + 0.1 * rng.normal(size=60)
CLASSES = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [2.0, 4.0])]
TARGETS = {"numbers": NUMBERS, "classes": CLASSES, "outputs": np.column_stack([NUMBERS, X[:, 2]])}


def features(model: Any, y: Any) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit_transform(X, y)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
@pytest.mark.parametrize("unbiased", [False, True])
class TestInstances:
    @pytest.mark.parametrize("of_features", ["linear", "gaussian"])
    def test_hsca(self, kernel: str, unbiased: bool, target: str, of_features: str) -> None:
        y = TARGETS[target]
        published = HSCA(3, kernel=kernel, unbiased=unbiased, feature_kernel=of_features)
        structure = DependenceStructure(
            3,
            kernel=kernel,
            target=Dependence(1.0, unbiased=unbiased),
            features=Dependence(-1.0, kernel=of_features, unbiased=unbiased),
        )
        expected, found = features(published, y), features(structure, y)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())

    def test_hbfe(self, kernel: str, unbiased: bool, target: str) -> None:
        """But for what follows where nothing is left to gain: HBFE goes on, this ends."""
        y = TARGETS[target]
        structure = DependenceStructure(
            3,
            kernel=kernel,
            target=Dependence(1.0, unbiased=unbiased),
            features=0.0,
            combine="sum",
            orthogonal=True,
        )
        found = features(structure, y)
        expected = features(HBFE(3, kernel=kernel, unbiased=unbiased), y)[:, : found.shape[1]]
        np.testing.assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())


def test_dependence_on_the_inputs_alone_is_pca() -> None:
    model = DependenceStructure(
        3, target=0.0, features=0.0, inputs=1.0, combine="sum", orthogonal=True
    )
    expected = PCA(3).fit(X).components_
    np.testing.assert_allclose(np.abs(model.fit(X).components_), np.abs(expected), atol=1e-8)


def relevance(
    earlier: np.ndarray, weights: dict[str, Dependence], y: Any
) -> Callable[[np.ndarray], float]:
    """The sum of a direction, from the definition."""
    others = {"target": y[:, np.newaxis], "features": earlier, "inputs": X}
    terms = []
    for name, term in weights.items():
        if others[name].shape[1]:
            kernel = "linear" if term.kernel == "auto" else term.kernel
            both = {"target_kernel": kernel, "unbiased": term.unbiased}
            own = hsic(others[name], others[name], kernel=kernel, **both | {"unbiased": False})
            terms.append((term.weight / np.sqrt(own), others[name], both))

    def value(p: np.ndarray) -> float:
        f = X @ p[:, np.newaxis] / linalg.norm(p)
        return sum(share * hsic(f, other, kernel="linear", **both) for share, other, both in terms)

    return value


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("kernel", ["auto", Gaussian(2.0)])
def test_a_sum_is_maximised(kernel: Any, unbiased: bool) -> None:
    weights = {
        "target": Dependence(1.0, kernel="linear", unbiased=unbiased),
        "features": Dependence(-2.0, kernel=kernel, unbiased=unbiased),
        "inputs": Dependence(0.4, kernel=kernel, unbiased=unbiased),
    }
    model = DependenceStructure(2, combine="sum", **weights).fit(X, NUMBERS)
    for count in (0, 1):
        earlier = X @ model.components_[:count].T
        criterion = relevance(earlier, weights, NUMBERS)
        own = criterion(model.components_[count])
        terms = {"target": 0, "features": 1, "inputs": 2}
        weighted = sum(
            weights[name].weight * model.dependences_[count, at] for name, at in terms.items()
        )
        assert own == pytest.approx(weighted, rel=1e-8)
        for seed in range(2):
            start = np.random.default_rng(seed).normal(size=5)
            best = optimize.minimize(lambda p, criterion=criterion: -criterion(p), start)
            assert -best.fun <= own + 1e-6 * abs(own)


def test_a_quotient_is_maximised() -> None:
    weights = {"target": Dependence(1.0, kernel="linear"), "inputs": Dependence(0.5)}
    alpha = 0.3
    model = DependenceStructure(2, alpha=alpha, **weights).fit(X, NUMBERS)
    earlier = X @ model.components_[:1].T
    avoided = {"features": Dependence(1.0)}
    centred = X - X.mean(axis=0)
    column = earlier - earlier.mean()
    trace = linalg.norm(centred.T @ column) ** 2 / linalg.norm(column) ** 2 / 59

    wanted, unwanted = (relevance(earlier, terms, NUMBERS) for terms in (weights, avoided))

    def quotient(p: np.ndarray) -> float:
        return wanted(p) / (unwanted(p) + alpha * trace)

    own = quotient(model.components_[1])
    for seed in range(3):
        start = np.random.default_rng(seed).normal(size=5)
        assert -optimize.minimize(lambda p: -quotient(p), start).fun <= own * (1 + 1e-6)


def test_directions_are_orthogonal_only_where_that_is_asked_for() -> None:
    free = DependenceStructure(2).fit(X, NUMBERS).components_
    assert abs(free[0] @ free[1]) > 1e-3
    bound = DependenceStructure(3, orthogonal=True).fit(X, NUMBERS).components_
    np.testing.assert_allclose(bound @ bound.T, np.eye(3), atol=1e-10)


def test_units_of_the_target_change_nothing() -> None:
    options: dict[str, Any] = {"combine": "sum", "inputs": 0.3}
    target = Dependence(1.0, kernel="linear")
    found = [
        DependenceStructure(2, target=target, **options).fit(X, scale * NUMBERS).components_
        for scale in (1.0, 1000.0)
    ]
    np.testing.assert_allclose(*found, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": 0.0}, "positive weight"),
        ({"target": -1.0}, "positive weight"),
        ({"features": 0.0}, "orthogonal=True"),
        ({"features": True}, "features of DependenceStructure"),
        ({"inputs": "much"}, "inputs of DependenceStructure"),
        ({"target": Dependence(np.nan)}, "target of DependenceStructure"),
        ({"combine": "product"}, "combine of DependenceStructure"),
        ({"alpha": 0.0}, "alpha of DependenceStructure"),
    ],
)
def test_what_makes_no_structure_is_refused_by_name(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        DependenceStructure(2, **options).fit(X, NUMBERS)


def test_a_kernel_matrix_has_no_other_kernel() -> None:
    model = DependenceStructure(2, kernel="precomputed", inputs=Dependence(0.1, kernel="gaussian"))
    with pytest.raises(ValueError, match="X is a kernel matrix"):
        model.fit(X @ X.T, NUMBERS)
    same = DependenceStructure(2, inputs=0.1).fit_transform(X, NUMBERS)
    found = model.set_params(inputs=0.1).fit_transform(X @ X.T, NUMBERS)
    np.testing.assert_allclose(np.abs(found), np.abs(same), atol=1e-7)


def test_where_nothing_is_left_it_ends_with_a_warning() -> None:
    white = linalg.orth(X - X.mean(axis=0))
    with pytest.warns(ConvergenceWarning, match="1 of n_components=3"):
        DependenceStructure(3, target=Dependence(1.0, kernel="linear")).fit(white, NUMBERS)
    with pytest.raises(ValueError, match="constant"):
        DependenceStructure(1).fit(np.ones((60, 2)) * np.arange(2), NUMBERS)
