"""Every kernel found in its package keeps the contract and agrees with its definition."""

from __future__ import annotations

import numpy as np
import pytest

from depmax import kernels as package
from depmax.kernels import (
    BandwidthKernel,
    Censored,
    ClassBalanced,
    Columns,
    Delta,
    Distance,
    FromFunction,
    FromMap,
    FromScikitLearn,
    Gaussian,
    InverseDistance,
    InverseMultiquadric,
    Kernel,
    Laplace,
    Linear,
    Mixed,
    Neutral,
    Polynomial,
    Precomputed,
    Product,
    RandomEvent,
    RidgeKernel,
    Scaled,
    Spectrum,
    Subsequence,
    Subset,
    Sum,
    WeightedSum,
)
from depmax.testing import check_kernel
from tests.contracts.discovery import classes

rng = np.random.default_rng(0)
X = rng.normal(size=(12, 3))
EVENTS = rng.integers(0, 2, size=(10, 6)).astype(float)
CODES = np.column_stack([rng.integers(0, 3, 10), rng.normal(size=10), rng.integers(0, 2, 10)])
LABELS = np.array(list("abcabcaabb"))
WORDS = np.array(["acgt", "aacc", "gtta", "ccgg", "acac", "ttag"], dtype=object)
GRAM = X @ X.T
SURVIVAL = np.column_stack([rng.integers(0, 2, 12), rng.integers(1, 30, 12) / 4])
norm = np.linalg.norm


def _minimum(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.minimum.outer(np.abs(A[:, 0]), np.abs(B[:, 0]))


def _ridge_oracle() -> object:
    inverse = np.linalg.inv(X.T @ X + 0.5 * np.eye(3))
    return lambda x, z: x @ inverse @ z


def _scikit_learn_kernel() -> object:
    from sklearn.gaussian_process.kernels import RBF

    return RBF(1.5)


def _polynomial_features() -> object:
    from sklearn.preprocessing import PolynomialFeatures

    return PolynomialFeatures(2)


def _count(word: str, other: str) -> float:
    pieces = [word[i : i + 2] for i in range(len(word) - 1)]
    others = [other[i : i + 2] for i in range(len(other) - 1)]
    return float(sum(pieces.count(piece) * others.count(piece) for piece in set(pieces)))


#: Kernel, rows it compares, and its definition for two single rows (None: tested elsewhere).
CASES = {
    Linear: (Linear(), X, lambda x, z: x @ z),
    Polynomial: (Polynomial(3, 0.5), X, lambda x, z: (x @ z + 0.5) ** 3),
    Gaussian: (Gaussian(1.3), X, lambda x, z: np.exp(-(norm(x - z) ** 2) / (2 * 1.3**2))),
    Laplace: (Laplace(0.7), X, lambda x, z: np.exp(-np.abs(x - z).sum() / 0.7)),
    InverseMultiquadric: (
        InverseMultiquadric(0.8),
        X,
        lambda x, z: 1 / np.sqrt(norm(x - z) ** 2 + 0.8**2),
    ),
    InverseDistance: (InverseDistance(0.9), X, lambda x, z: 1 / (norm(x - z) + 0.9)),
    Distance: (Distance(), X, lambda x, z: (norm(x) + norm(z) - norm(x - z)) / 2),
    Subset: (Subset(), X, lambda x, z: np.prod(1 + x * z)),
    RandomEvent: (
        RandomEvent(),
        EVENTS,
        lambda x, z: np.mean(x * z) - np.mean(x) * np.mean(z),
    ),
    RidgeKernel: (RidgeKernel("linear", 0.5), X, _ridge_oracle()),
    Delta: (Delta({"a": 2.0, "b": 3.0, "c": 1.0}), LABELS, None),
    ClassBalanced: (ClassBalanced(), np.array([0, 1, 1, 0, 1, 1, 1]), None),
    Subsequence: (Subsequence(2, 0.5), WORDS, None),
    Spectrum: (Spectrum(2, normalize=False), WORDS, _count),
    Censored: (Censored(), SURVIVAL, None),
    Precomputed: (Precomputed(GRAM), np.arange(12), lambda x, z: GRAM[x, z]),
    Columns: (
        Columns([("a", Gaussian(1.0), [0, 1]), ("b", Linear(), 2)], combine="add"),
        X,
        lambda x, z: np.exp(-(norm(x[:2] - z[:2]) ** 2) / 2) + x[2] * z[2],
    ),
    Neutral: (Neutral(Gaussian(1.3)), X, lambda x, z: np.exp(-(norm(x - z) ** 2) / (2 * 1.3**2))),
    Mixed: (
        Mixed(Gaussian(1.2), [1], [0, 2], [3, 2], scales=[0.5, 1.5]),
        CODES,
        lambda x, z: np.exp(
            -((x[1] - z[1]) ** 2 + 0.5 * (x[0] != z[0]) + 4.5 * (x[2] != z[2])) / (2 * 1.2**2)
        ),
    ),
    Sum: (
        Linear() + Gaussian(1.0),
        X,
        lambda x, z: x @ z + np.exp(-(norm(x - z) ** 2) / 2),
    ),
    Product: (
        Laplace(1.0) * Gaussian(1.0),
        X,
        lambda x, z: np.exp(-np.abs(x - z).sum()) * np.exp(-(norm(x - z) ** 2) / 2),
    ),
    WeightedSum: (
        WeightedSum([Linear(), "subset", Gaussian(1.0)], weights=[0.3, 0.0, 0.7]),
        X,
        lambda x, z: 0.3 * (x @ z) + 0.7 * np.exp(-(norm(x - z) ** 2) / 2),
    ),
    Scaled: (2.5 * Linear(), X, lambda x, z: 2.5 * (x @ z)),
    FromFunction: (FromFunction(_minimum), X, lambda x, z: min(abs(x[0]), abs(z[0]))),
    FromMap: (FromMap(_polynomial_features()), X, None),
    FromScikitLearn: (
        FromScikitLearn(_scikit_learn_kernel()),
        X,
        lambda x, z: np.exp(-(norm(x - z) ** 2) / (2 * 1.5**2)),
    ),
}
#: The base of some kernels.
NOT_HERE = {"BandwidthKernel"}
FOUND = classes(package, Kernel)
#: Rows for a kernel without a case above, which is taken with its defaults.
ROWS = {"vectors": X, "labels": LABELS, "objects": WORDS}


@pytest.mark.parametrize("name", sorted(set(FOUND) - NOT_HERE))
def test_keeps_the_contract(name: str) -> None:
    kernel, rows, oracle = CASES.get(FOUND[name]) or _by_default(FOUND[name]())
    check_kernel(kernel, rows, oracle=oracle)


def _by_default(kernel: Kernel) -> tuple[Kernel, np.ndarray, None]:
    able = kernel.capabilities
    return (
        kernel,
        ROWS["labels" if able.labels else "vectors" if able.vector_input else "objects"],
        None,
    )


def test_every_kernel_is_exported() -> None:
    hidden = set(FOUND) - set(package.__all__)
    assert not hidden, f"not re-exported by depmax.kernels: {sorted(hidden)}"


RECIPES = [cls for cls in FOUND.values() if issubclass(cls, BandwidthKernel)]


@pytest.mark.parametrize("kernel", [cls for cls in RECIPES if cls is not BandwidthKernel])
@pytest.mark.parametrize("policy", ["median", "dimension"])
def test_recipes_keep_the_contract(kernel: type, policy: str) -> None:
    check_kernel(kernel(bandwidth=policy), X)


@pytest.mark.parametrize("name", sorted(package.kernel.short_names()))
def test_short_names_construct(name: str) -> None:
    assert isinstance(package.as_kernel(name), Kernel)


def test_the_contract_finds_a_broken_kernel() -> None:
    class Broken(Linear):
        def _diag(self, X: np.ndarray) -> np.ndarray:
            return np.zeros(len(X))

    with pytest.raises(AssertionError, match="diag must equal"):
        check_kernel(Broken(), X)
