"""More features are never worse: no criterion falls as n_components grows."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from depmax import extraction as package
from depmax.extraction import DependenceExtractor
from tests.contracts.discovery import classes

FOUND = classes(package, DependenceExtractor)


def explained(model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Shares of the variances of the inputs and of the target that features explain linearly."""
    values = np.column_stack([X, y]) if y.dtype.kind == "f" else X
    values = (values - values.mean(axis=0)) / values.std(axis=0)
    features = model.transform(X)
    basis = np.linalg.qr(features - features.mean(axis=0))[0]
    shares: np.ndarray = np.square(basis.T @ values).sum(axis=0) / len(values)
    return shares


def log_likelihood(model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.array([model.log_likelihood_])


#: Criteria of methods whose features are not the first of a larger model; ``explained`` of others.
OWN: dict[str, Callable[..., np.ndarray]] = {"ICAFX": log_likelihood}


def sources_and_target(seed: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Heavy and light tails, mixed; some are moved by the target."""
    rng = np.random.default_rng(seed)
    s = np.hstack([rng.laplace(size=(200, 2)), rng.uniform(-1.7, 1.7, size=(200, 3))])
    t = rng.normal(size=200) if kind == "numbers" else rng.integers(0, 3, size=200)
    moves = t[:, np.newaxis] - 1.0 if kind == "numbers" else np.eye(3)[t] @ rng.normal(size=(3, 3))
    s[:, [0, 2, 3]] += moves
    return s @ rng.normal(size=(5, 5)), t


@pytest.mark.parametrize("kind", ["numbers", "classes"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", sorted(FOUND))
def test_no_criterion_falls(name: str, seed: int, kind: str) -> None:
    if kind == "numbers" and name in ("KernelBoosting", "KernelPLSClassifier", "KernelLDA"):
        pytest.skip("needs classes")
    X, y = sources_and_target(seed, kind)
    options: dict[str, Any] = {}
    if "random_state" in inspect.signature(FOUND[name]).parameters:
        options["random_state"] = 0
    before = None
    for count in range(1, 6):
        with warnings.catch_warnings():
            # a rank that is used up is told, and is another contract
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = FOUND[name](count, **options).fit(X, y)
        now = OWN.get(name, explained)(model, X, y)
        if before is not None:
            assert (now >= before - 1e-8).all(), (count, before, now)
        before = now
