"""Every deflation method is unmoved by where the data lie and how large their units are."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from depmax import SMA, SMC, DeflationFeatures, ReducedKernelOPLS, SparseKernelPLS
from depmax import extraction as package
from depmax.extraction import DependenceExtractor
from depmax.kernels import Gaussian, Laplace, Linear
from depmax.maps import IncompleteCholesky, KernelMap, NystroemMap, RandomFourier
from tests.contracts.discovery import classes

FOUND = {
    name: cls
    for name, cls in classes(package, DependenceExtractor).items()
    if cls._first_run is not None  # of those that find features one after another
}
CRITERIA = ("pls", "pca", "sma", "smc", "skfa", "blf", "sparse_blf")
VARIANTS: dict[str, tuple[type, dict[str, Any]]] = {
    **{name: (cls, {}) for name, cls in FOUND.items() if name != "DeflationFeatures"},
    **{f"Deflation {name}": (DeflationFeatures, {"criterion": name}) for name in CRITERIA},
    # All rows as a basis would span every target up to rounding errors.
    "ReducedKernelOPLS": (ReducedKernelOPLS, {"n_basis": 8}),
    "SMA of pairs": (SMA, {"sparsity": 2}),
    "SMC of pairs": (SMC, {"sparsity": 2}),
    "informative rows": (SparseKernelPLS, {"heuristic": "max_information"}),
}
#: Kernels that a shift of the rows changes by nothing that centring does not take away.
KERNELS = {
    "linear": Linear(),
    "scaled": 2.0 * Linear(),
    "gaussian": Gaussian(3.0),
    "wide gaussian": Gaussian(30.0),
    "laplace": Laplace(8.0),
    "landmarks": NystroemMap(20, kernel=Gaussian(3.0), random_state=0),
    "pivots": IncompleteCholesky(20, kernel=Gaussian(3.0)),
    "exact map": KernelMap(20, kernel=Gaussian(3.0)),
    "frequencies": RandomFourier(20, kernel=Gaussian(3.0), random_state=0),
}
rng = np.random.default_rng(3)
X = rng.normal(size=(60, 5)) * [3.0, 2.0, 1.0, 1.0, 0.5]
y = np.digitize(X[:, 0] + X[:, 1] ** 2 / 2 + 0.3 * rng.normal(size=60), [0.0, 3.0])
NEW = rng.normal(size=(10, 5))


def fitted(variant: str, rows: np.ndarray, kernel: Any, **more: Any) -> DependenceExtractor:
    cls, options = VARIANTS[variant]
    if "random_state" in inspect.signature(cls).parameters:
        options = {**options, "random_state": 0}
    model: DependenceExtractor = cls(2, kernel=kernel, **options, **more).fit(rows, y)
    return model


@pytest.mark.parametrize("kernel", sorted(KERNELS))
@pytest.mark.parametrize("variant", sorted(VARIANTS))
@pytest.mark.parametrize("shift", [3.0, 1e4])
def test_a_shift_changes_nothing(variant: str, kernel: str, shift: float) -> None:
    moved = shift * np.array([1.0, -1.0, 2.0, 1.0, 0.0])
    expected = fitted(variant, X, KERNELS[kernel])
    model = fitted(variant, X + moved, KERNELS[kernel])
    before, after = expected.transform(NEW), model.transform(NEW + moved)
    scale = np.abs(expected.transform(X)).max(axis=0)
    np.testing.assert_allclose(after / scale, before / scale, atol=1e-5 if shift > 3 else 1e-8)
    if hasattr(expected, "basis_indices_"):
        np.testing.assert_array_equal(model.basis_indices_, expected.basis_indices_)
    if hasattr(expected, "predict"):
        wanted = expected.predict(NEW)
        np.testing.assert_allclose(model.predict(NEW + moved), wanted, atol=1e-5)


@pytest.mark.parametrize("variant", sorted(VARIANTS))
@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_a_unit_scales_directions_only(variant: str, unit: float) -> None:
    expected, model = fitted(variant, X, "linear"), fitted(variant, unit * X, "linear")
    T, S = expected.transform(NEW), model.transform(unit * NEW)
    sizes = np.linalg.norm(T, axis=0), np.linalg.norm(S, axis=0)
    np.testing.assert_allclose(S / sizes[1], T / sizes[0], atol=1e-9)


@pytest.mark.parametrize("variant", sorted(VARIANTS))
def test_sparse_rows_give_what_dense_rows_give(variant: str) -> None:
    rows = np.where(np.abs(X) > 1.5, X, 0.0)
    dense = fitted(variant, rows, "linear")
    model = fitted(variant, sparse.csr_array(rows), "linear")
    expected = dense.transform(rows)
    np.testing.assert_allclose(model.transform(sparse.csr_array(rows)), expected, atol=1e-9)


@pytest.mark.filterwarnings("ignore:.*beyond rounding errors")  # a very wide kernel has fewer
@pytest.mark.parametrize("criterion", ["sma", "smc"])
@pytest.mark.parametrize("width", [1.0, 4.0, 30.0, 100.0])
@pytest.mark.parametrize("center", [True, False])
def test_columns_in_passing_are_the_dense_computation(
    criterion: str, width: float, center: bool
) -> None:
    """A wide kernel has columns that earlier features span up to many digits, none entirely."""
    cls = {"sma": SMA, "smc": SMC}[criterion]
    kernel = Gaussian(width)
    T = cls(20, kernel=kernel, n_candidates=None, center=center).fit_transform(X, X[:, 0])
    dense = DeflationFeatures(20, criterion=criterion, kernel=kernel, center=center)
    expected = dense.fit_transform(X, X[:, 0])
    count = min(T.shape[1], expected.shape[1])
    assert count == 20 or (width == 100.0 and count >= 15)
    T, expected = T[:, :count], expected[:, :count]
    scale = np.linalg.norm(expected, axis=0)
    np.testing.assert_allclose(T / scale, expected / scale, atol=1e-5)


@pytest.mark.parametrize("criterion", ["sma", "smc"])
@pytest.mark.parametrize("kernel", ["linear", "landmarks", "pivots", "exact map", "frequencies"])
@pytest.mark.parametrize("dual", [True, False])
def test_kernels_with_features_are_centred_everywhere(
    criterion: str, kernel: str, dual: bool
) -> None:
    cls = {"sma": SMA, "smc": SMC}[criterion]
    T = cls(4, kernel=KERNELS[kernel], n_candidates=None).fit(X + 2, y).transform(NEW)
    dense = DeflationFeatures(4, criterion=criterion, kernel=KERNELS[kernel], dual=dual)
    np.testing.assert_allclose(dense.fit(X + 2, y).transform(NEW), T, atol=1e-8)


def test_an_offset_costs_no_feature() -> None:
    model = SMA(4, kernel="linear").fit(X[:, :4] + 1e4, X[:, 0])
    features = model.transform(X[:, :4] + 1e4)
    assert features.shape[1] == 4
    unit = features / np.linalg.norm(features, axis=0)
    explained = np.square(unit.T @ (X[:, 0] - X[:, 0].mean())).sum()
    np.testing.assert_allclose(explained, 60 * X[:, 0].var(), rtol=1e-6)
