"""The same features however a kernel, its rows and its parameters are given, and no others."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from depmax import (
    HBFE,
    HSCA,
    LPP,
    PHD,
    SIR,
    SMA,
    IterativePCA,
    KernelLDA,
    KernelPLS,
    LaplacianEigenmap,
    NeighborGraph,
)
from depmax import extraction as package
from depmax.extraction import DependenceExtractor
from depmax.kernels import Gaussian, Laplace, Polynomial
from depmax.maps import NystroemMap
from tests.contracts.discovery import classes
from tests.extraction.oracles import same_up_to_signs

FOUND = classes(package, DependenceExtractor)
KERNELS: dict[str, Any] = {
    "linear": "linear",
    "gaussian": "gaussian",
    "wide gaussian": Gaussian(30.0),
    "laplace": Laplace(3.0),
    "polynomial": Polynomial(3, 1.0),
    "map": NystroemMap(20, kernel="gaussian", random_state=0),
    "precomputed": "precomputed",
}
WITH_KERNEL = [
    name for name in sorted(FOUND) if "kernel" in inspect.signature(FOUND[name]).parameters
]
rng = np.random.default_rng(0)
WIDE = rng.normal(size=(90, 5)) @ rng.normal(size=(5, 5))
NARROW = rng.uniform(-1.0, 1.0, size=(90, 1))

pytestmark = [
    # rank and graph are not what is tested
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.*falls into .* parts:UserWarning"),
]


def made(name: str, n_components: int, **parameters: Any) -> Any:
    seeded = (
        {"random_state": 0} if "random_state" in inspect.signature(FOUND[name]).parameters else {}
    )
    return FOUND[name](n_components, **parameters, **seeded)


def classes_of(rows: np.ndarray) -> np.ndarray:
    return np.digitize(
        rows[:, 0] + 0.3 * np.random.default_rng(1).normal(size=len(rows)), [-0.4, 0.4]
    )


def matrix(rows: np.ndarray) -> np.ndarray:
    centred = rows - rows.mean(axis=0, dtype=np.float64)  # SMA and SMC would see an origin
    return centred @ centred.T


# --- fit_transform and transform ------------------------------------------------------------------
@pytest.mark.parametrize(  # both shapes and both precisions of every extractor with every kernel
    ("name", "kernel", "shape", "dtype"),
    [
        (name, kernel, shape, (np.float64, np.float32)[(first + second + third) % 2])
        for first, name in enumerate(WITH_KERNEL)
        for second, kernel in enumerate(KERNELS)
        for third, shape in enumerate(("wide", "narrow"))
    ],
)
def test_training_rows_are_transformed_to_their_own_features(
    name: str, kernel: str, shape: str, dtype: Any
) -> None:
    rows = {"wide": WIDE, "narrow": NARROW}[shape]
    y = classes_of(rows)
    X = (matrix(rows) if kernel == "precomputed" else rows).astype(dtype)
    count = 1 if shape == "narrow" and kernel in ("linear", "map") else 5
    model = made(name, count, kernel=KERNELS[kernel])
    features = model.fit_transform(X, y)
    assert features.dtype == dtype
    again = model.transform(X)
    scale = np.abs(features).max(axis=0)
    tolerance = 1e-5 if dtype == np.float32 else 2e-6
    assert (np.abs(again - features) <= tolerance * scale).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["SMA", "SMC", "KernelPLS", "IterativePCA", "HBFE"])
def test_many_features_of_one_column_end_before_rounding_errors_do(name: str, dtype: Any) -> None:
    X = NARROW.astype(dtype)
    model = made(name, 30, kernel="gaussian")
    with pytest.warns(ConvergenceWarning, match=f"{name} found .* of n_components=30"):
        features = model.fit_transform(X, np.sin(3 * NARROW[:, 0]))
    again = model.transform(X)
    assert (np.abs(again - features) <= 1e-5 * np.abs(features).max(axis=0)).all()


def test_one_column_of_float32_does_not_explode() -> None:
    """The snippet: 760,714 instead of 0.44."""
    y = np.sin(3 * NARROW[:, 0])
    double, single = (
        SMA(30, random_state=0).fit(NARROW.astype(dtype), y).transform(NARROW.astype(dtype))
        for dtype in (np.float64, np.float32)
    )
    assert np.abs(single).max() == pytest.approx(np.abs(double).max(), rel=0.01)


# --- one sign, one alpha --------------------------------------------------------------------------
#: These measure the samples of a kernel without features from the origin, not from their mean.
FROM_THE_ORIGIN = {"SMA", "SMC", "SparseKernelPLS", "ReducedKernelOPLS"}


@pytest.mark.parametrize("target", ["classes", "numbers"])
@pytest.mark.parametrize("name", WITH_KERNEL)
def test_a_linear_kernel_and_its_matrix_have_the_same_features(name: str, target: str) -> None:
    rows = WIDE - WIDE.mean(axis=0)
    classifies = name in ("KernelLDA", "KernelBoosting", "KernelPLSClassifier")
    y = classes_of(rows) if target == "classes" or classifies else rows[:, 1] + rows[:, 0] ** 2
    expected = made(name, 3, kernel="linear").fit_transform(rows, y)
    found = made(name, 3, kernel="precomputed").fit_transform(matrix(rows), y)
    assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", sorted(set(KERNELS) - {"precomputed"}))
@pytest.mark.parametrize("name", WITH_KERNEL)
def test_float32_and_float64_have_the_same_features(name: str, kernel: str) -> None:
    rows = WIDE.astype(np.float32)
    y = classes_of(WIDE)
    double = made(name, 2, kernel=KERNELS[kernel]).fit_transform(rows.astype(np.float64), y)
    single = made(name, 2, kernel=KERNELS[kernel]).fit_transform(rows, y)
    assert_allclose(single, double, rtol=0, atol=1e-3 * np.abs(double).max())


def test_wide_rows_of_low_rank_are_as_their_matrix() -> None:
    rows = WIDE[:40, :3] @ np.random.default_rng(3).normal(size=(3, 60))
    y = classes_of(rows)
    expected = KernelLDA(2).fit_transform(rows, y)
    found = KernelLDA(2, kernel="precomputed").fit_transform(matrix(rows), y)
    assert_allclose(found, expected, atol=1e-6)
    assert KernelLDA(1).fit(rows, y).dependence_ == KernelLDA(1, alpha=0.0).fit(rows, y).dependence_


def test_copies_of_rows_do_not_switch_the_regularisation_off() -> None:
    rows, y = np.repeat(WIDE, 3, axis=0), np.repeat(classes_of(WIDE), 3)
    automatic = KernelLDA(2, kernel="gaussian").fit(rows, y).dependence_
    assert_allclose(automatic, KernelLDA(2, kernel="gaussian", alpha=0.1).fit(rows, y).dependence_)


# --- regularisation -------------------------------------------------------------------------------
REGULARISED = [name for name in WITH_KERNEL if "alpha" in inspect.signature(FOUND[name]).parameters]


@pytest.mark.parametrize("kernel", ["linear", "gaussian", "laplace"])
@pytest.mark.parametrize("name", REGULARISED)
def test_the_default_alpha_does_not_ruin_the_criterion(name: str, kernel: str) -> None:
    """The criterion of the features that are found, from α = 0 (or next to it) to the default."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[:200], y[:200]
    model = made(name, 2, kernel=KERNELS[kernel])
    reached = model.fit(X, y).dependence_
    least = model.set_params(alpha=1e-10).fit(X, y).dependence_
    assert reached.sum() >= 0.5 * least.sum()


def test_kernel_lpp_keeps_neighbours_together() -> None:
    X = StandardScaler().fit_transform(load_breast_cancer().data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of parts of the graph
        found = LPP(2, kernel="gaussian").fit(X)
    assert_allclose(found.dependence_, [0.976, 0.927], atol=1e-3)


@pytest.mark.parametrize("alpha", [0.0, 0.01, 1.0])
def test_kernel_lpp_is_its_definition(alpha: float) -> None:
    """Largest pᵀ(B - A)p / pᵀ(B + αI)p, by dense matrices, rows about their mean weighted by D."""
    K, m = Gaussian(2.0)(WIDE), len(WIDE)
    W = np.exp(-0.5 * np.square(WIDE[:, np.newaxis] - WIDE).sum(axis=2)) * (1 - np.eye(m))
    model = LPP(3, kernel="precomputed", alpha=alpha, graph=W).fit(K)
    H, D = np.eye(m) - 1 / m, np.diag(W.sum(axis=1))
    values, vectors = np.linalg.eigh(H @ K @ H)
    phi = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, 1:]
    about = np.eye(m) - np.outer(np.ones(m), D.diagonal()) / D.sum()
    B, A = phi.T @ about.T @ D @ about @ phi, phi.T @ (D - W) @ phi
    penalty = alpha * np.linalg.eigvalsh(B).mean() * np.eye(len(B))
    best = linalg.eigh(B - A, B + penalty)[1][:, ::-1][:, :3]
    expected = phi @ best / (phi @ best).std(axis=0)
    same_up_to_signs(model.transform(K).T, expected.T, 1e-5)
    quotients = np.diag(best.T @ A @ best) / np.diag(best.T @ B @ best)
    assert_allclose(model.dependence_, 1.0 - quotients, atol=1e-6)


# --- rank -----------------------------------------------------------------------------------------
TWICE = np.column_stack([WIDE[:, :2], WIDE[:, :2]])
#: Features of the last two are not uncorrelated: regressions, and steps of boosting.
COMPLETED = sorted(set(FOUND) - {"LaplacianEigenmap", "KernelBoosting"})


@pytest.mark.parametrize("target", ["classes", "numbers"])
@pytest.mark.parametrize("name", COMPLETED)
def test_no_feature_is_made_of_rounding_errors(name: str, target: str) -> None:
    """Two independent columns twice: more than two features do not exist."""
    classifies = name in ("KernelLDA", "KernelBoosting", "KernelPLSClassifier")
    y = classes_of(WIDE) if target == "classes" or classifies else WIDE[:, 0] + WIDE[:, 1] ** 2
    linear = {"kernel": "linear"} if name in WITH_KERNEL else {}
    model = made(name, 3, **linear)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        features = model.fit_transform(TWICE, y)
    assert features.shape[1] <= 2
    assert features.std(axis=0).min() > 1e-6 * features.std(axis=0).max()
    assert any(issubclass(one.category, ConvergenceWarning) for one in told)


@pytest.mark.parametrize("cls", [SIR, PHD, HBFE, HSCA, IterativePCA, KernelLDA])
def test_all_constant_rows_are_refused(cls: Any) -> None:
    with pytest.raises(ValueError, match=r"X is constant|All rows of X"):
        cls(1).fit(np.ones((20, 3)), np.repeat([0, 1], 10))


def test_a_smooth_kernel_has_fewer_features_than_rows_differ() -> None:
    """No two rows are equal, and nobody says so."""
    with pytest.warns(ConvergenceWarning, match="IterativePCA found") as told:
        IterativePCA(60, kernel=Gaussian(10.0)).fit(NARROW)
    assert not any("equal" in str(one.message) for one in told)


def test_coordinates_of_a_map_are_not_called_columns() -> None:
    X = np.random.default_rng(3).normal(size=(100, 50))
    landmarks = NystroemMap(15, kernel="gaussian", random_state=0)
    with pytest.raises(ValueError, match=r"coordinates of its map .* = 15"):
        HBFE(20, kernel=landmarks).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="n_features = 50"):
        HBFE(51).fit(X, X[:, 0])


def test_the_constant_is_no_coordinate_of_an_eigenmap() -> None:
    """It was one as soon as neighbours were less alike than by chance, with 1 - λ = 0."""
    model = LaplacianEigenmap(89, graph=NeighborGraph(5)).fit(WIDE)
    assert model.embedding_.std(axis=0).min() > 0.99
    assert model.dependence_.sum() == pytest.approx(-1.0, abs=1e-8)  # tr D^(-½)WD^(-½) = 0


# --- a second fit ---------------------------------------------------------------------------------
@pytest.mark.parametrize("name", WITH_KERNEL)
def test_a_second_fit_keeps_nothing_of_the_first(name: str) -> None:
    y = classes_of(WIDE)
    names = [f"c{number}" for number in range(5)]
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    model = made(name, 2, kernel="linear").fit(pandas.DataFrame(WIDE, columns=names), y)
    again = model.set_params(kernel="gaussian").fit(WIDE, y)
    fresh = made(name, 2, kernel="gaussian").fit(WIDE, y)
    assert set(vars(again)) == set(vars(fresh))


def test_kernel_pls_has_no_coefficients_left() -> None:
    """The snippet."""
    y = WIDE[:, 0]
    model = KernelPLS(2).fit(WIDE, y)
    assert hasattr(model, "coef_")
    model.set_params(kernel="gaussian").fit(WIDE, y)
    assert not {"coef_", "components_", "loadings_", "mean_"} & set(vars(model))


# --- precision ------------------------------------------------------------------------------------
def test_many_rows_are_compared_in_double_precision() -> None:
    """The snippet: the third feature was off by half a per cent from 1,500 rows on."""
    own = np.random.default_rng(2)
    X = own.normal(size=(1600, 10))
    y = np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.1 * own.normal(size=1600)
    kernel = Gaussian(3.0)
    found = HBFE(3, kernel=kernel).fit_transform(X, y)
    exact = HBFE(3, kernel="precomputed").fit_transform(kernel(X), y)
    assert_allclose(found, exact, atol=1e-7 * np.abs(exact).max())


def test_iris_keeps_its_discriminant() -> None:
    X, y = load_iris(return_X_y=True)
    assert_allclose(KernelLDA(2).fit(X, y).dependence_, [0.97, 0.222], atol=1e-3)
