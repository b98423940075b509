"""BAHSIC and FOHSIC maximise HSIC itself: every kernel × every target × both estimators.

The searches are replayed with whole kernel matrices: each value on the path is the HSIC of the
columns at that point, and each column that leaves or joins is a best one.

Private modules: what is kept between rounds is switched off to compare both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process.kernels import RBF, DotProduct, WhiteKernel
from sklearn.preprocessing import PolynomialFeatures

from depmax import BAHSIC, FOHSIC, hsic
from depmax import kernels as kernel_package
from depmax import maps as map_room
from depmax.kernels import (
    Censored,
    Columns,
    Delta,
    Distance,
    Gaussian,
    InverseDistance,
    InverseMultiquadric,
    Kernel,
    Laplace,
    Linear,
    Polynomial,
    Precomputed,
    RandomEvent,
    RidgeKernel,
    Spectrum,
    Subsequence,
    WeightedSum,
    as_kernel,
)
from depmax.kernels.kernel import short_names
from depmax.maps import (
    BasisSelection,
    IncompleteCholesky,
    KernelMap,
    NystroemMap,
    RandomFourier,
    SubtreeCounts,
)
from depmax.maps.feature_map import FeatureMap
from depmax.selection._search import search as search_module
from depmax.selection._search.search import Search
from tests.contracts.discovery import classes
from tests.dependence.oracles import dense_hsic

M, D = 14, 4
rng = np.random.default_rng(0)
X = rng.normal(size=(M, D)) + np.array([0.0, 1.0, -2.0, 0.5])
NUMBERS = X[:, 1] + 0.5 * rng.normal(size=M) + 3.0
OUTPUTS = X[:, [1]] + rng.normal(size=(M, 10)) + 2.0  # wider than M / 2
LABELS = (OUTPUTS[:, :9] > 2.0).astype(int)
CLASSES = np.arange(M) % 3
STRINGS = np.array(["".join(rng.choice(list("acgt"), 9)) for _ in range(M)])
GRAM = np.exp(-np.abs(NUMBERS[:, None] - NUMBERS)) + np.multiply.outer(NUMBERS, NUMBERS)


def minimum(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """A kernel that is a plain function: Σ min(x, z) of values above zero."""
    return np.minimum(np.exp(X)[:, None, :], np.exp(Z)[None, :, :]).sum(axis=2)


#: Kernels of X whose values need no data; any number of columns may be compared.
FIXED: dict[str, Any] = {
    "linear": "linear",
    "polynomial": Polynomial(3, 0.5),
    "gaussian": Gaussian(1.5),
    "laplace": Laplace(2.0),
    "laplace, norm 2": Laplace(2.0, norm=2),
    "inverse_multiquadric": InverseMultiquadric(1.0),
    "inverse_distance": InverseDistance(1e-2),
    "distance": "distance",
    "subset": "subset",
    "random_event": "random_event",
    "scaled": 2.0 * Laplace(2.0),
    "sum": Gaussian(1.0) + Polynomial(2, 1.0),
    "radial sum": Gaussian(1.0) + 0.5 * Gaussian(3.0),
    "product": Distance() * Gaussian(2.0),
    "function": minimum,
    "scikit-learn": RBF(1.5) + DotProduct(1.0),
    "scikit-learn, noise": RBF(1.5) + WhiteKernel(0.5),
}
#: Kernels that are fitted to the columns they compare.
FITTED: dict[str, Any] = {
    "ridge": "ridge",
    "ridge, gaussian": RidgeKernel("gaussian", 0.5),
    "ridge, in a sum": 2.0 * RidgeKernel("polynomial", 2.0) + Gaussian("median"),
    "KernelMap": KernelMap(),
    "IncompleteCholesky": IncompleteCholesky(5),
    "NystroemMap": NystroemMap(6, random_state=0),
    "RandomFourier": RandomFourier(10, random_state=0),
    "BasisSelection": BasisSelection(5),
    "scikit-learn's transformer": PolynomialFeatures(2),
    "WeightedSum": WeightedSum([Gaussian(1.0), Linear()], [0.3, 0.7]),
}
#: Named kernels of labels and objects, which have no columns to leave.
WITHOUT_COLUMNS: dict[str, Any] = {}
# Kernels and maps that no line above names are taken with their defaults.
for _name, _kernel in short_names().items():
    _able = _kernel().capabilities
    if _kernel is Censored:  # of targets: it refuses all but rows (event, time) itself
        continue
    if _able.labels or not _able.vector_input:
        WITHOUT_COLUMNS[_name] = _name
    elif _able.fits_columns:
        FITTED.setdefault(_name, _kernel())
    elif _name not in FIXED:
        FIXED[_name] = _kernel().resolve(X)
for _name, _map in classes(map_room, FeatureMap).items():
    FITTED.setdefault(_name, _map(5))
#: Bandwidths that are read off the columns left in a round.
POLICIES = {"median": Gaussian(), "dimension": Laplace("dimension"), "sum": 0.5 * Gaussian()}

#: Targets: y, its kernel, and the kernel matrix computed without anything of the search.
TARGETS: dict[str, tuple[Any, Any, Callable[[], np.ndarray]]] = {
    "numbers": (NUMBERS, "auto", lambda: Gaussian()(NUMBERS[:, None])),
    "linear, narrow": (NUMBERS, "linear", lambda: np.multiply.outer(NUMBERS, NUMBERS)),
    "linear, wide": (OUTPUTS, "linear", lambda: OUTPUTS @ OUTPUTS.T),
    "several outputs": (OUTPUTS, "auto", lambda: Gaussian()(OUTPUTS)),
    "multi-label": (LABELS, "auto", lambda: LABELS @ LABELS.T * 1.0),
    "laplace": (NUMBERS, Laplace(1.0), lambda: Laplace(1.0)(NUMBERS[:, None])),
    "polynomial": (NUMBERS, "polynomial", lambda: (np.multiply.outer(NUMBERS, NUMBERS) + 1) ** 2),
    "distance": (OUTPUTS, "distance", lambda: Distance()(OUTPUTS)),
    "subset": (NUMBERS, "subset", lambda: 1.0 + np.multiply.outer(NUMBERS, NUMBERS)),
    "ridge": (NUMBERS, "ridge", lambda: RidgeKernel()(NUMBERS[:, None])),
    "delta": (CLASSES, Delta(), lambda: (CLASSES[:, None] == CLASSES) * 1.0),
    "many classes": (CLASSES, "auto", lambda: Delta("balanced")(CLASSES)),
    "class_balanced": (CLASSES > 0, "auto", lambda: as_kernel("class_balanced")(CLASSES > 0)),
    "matrix": (GRAM, "precomputed", lambda: GRAM),
    "row numbers": (
        np.arange(M)[::-1],
        Precomputed(GRAM[::-1, ::-1]),
        lambda: GRAM,
    ),
    "subsequence": (STRINGS, Subsequence(2), lambda: Subsequence(2)(STRINGS)),
    "spectrum": (STRINGS, Spectrum(2), lambda: Spectrum(2)(STRINGS)),
    "sum": (
        NUMBERS,
        Linear() + Gaussian(1.0),
        lambda: (Linear() + Gaussian(1.0))(NUMBERS[:, None]),
    ),
    "product": (OUTPUTS, Linear() * Distance(), lambda: OUTPUTS @ OUTPUTS.T * Distance()(OUTPUTS)),
    "scaled": (OUTPUTS, 3.0 * Distance(), lambda: 3.0 * Distance()(OUTPUTS)),
    "function": (NUMBERS, minimum, lambda: minimum(NUMBERS[:, None], NUMBERS[:, None])),
    "scikit-learn": (
        OUTPUTS,
        RBF(2.0) + DotProduct(1.0),
        lambda: (RBF(2.0) + DotProduct(1.0))(OUTPUTS),
    ),
    "scikit-learn, noise": (
        NUMBERS,
        RBF(2.0) + WhiteKernel(0.5),
        lambda: (RBF(2.0) + WhiteKernel(0.5))(NUMBERS[:, None]),
    ),
    "map": (
        NUMBERS,
        KernelMap(kernel=Gaussian(1.0)),
        lambda: Gaussian(1.0)(NUMBERS[:, None]),
    ),
}


class Replay:
    """HSIC of sets of columns from whole matrices, as the search defines it."""

    def __init__(self, kernel: Any, L: np.ndarray, unbiased: bool) -> None:
        self.recipe = as_kernel(kernel)
        self.L, self.unbiased = L, unbiased

    def value(self, columns: list[int], kernel: Kernel | None = None) -> float:
        """With a kernel of its own, or with one that was resolved on other columns."""
        kernel = kernel or self.recipe.resolve(X[:, columns])
        return dense_hsic(kernel(X[:, columns]), self.L, self.unbiased)

    def check_backward(self, selector: BAHSIC) -> None:
        """Every column that leaves is one whose loss leaves most dependence."""
        worst_first = np.argsort(-selector.ranking_).tolist()
        left = list(range(D))
        assert [count for count, _ in selector.path_] == list(range(D, 0, -1))
        path = [self.value(sorted(worst_first[place:])) for place in range(D)]
        scale = np.abs(path).max()
        found = [value for _, value in selector.path_]
        np.testing.assert_allclose(found, path, rtol=1e-7, atol=1e-9 * scale)
        for leaving in worst_first[:-1]:
            fitted = self.recipe.capabilities.fits_columns
            kernel = None if fitted else self.recipe.resolve(X[:, left])
            values = {c: self.value([k for k in left if k != c], kernel) for c in left}
            assert values[leaving] >= max(values.values()) - 1e-9 * scale
            left.remove(leaving)

    def check_forward(self, selector: FOHSIC) -> None:
        """Every column that joins is one that makes most dependence."""
        best_first = np.argsort(selector.ranking_).tolist()
        path = [self.value(best_first[: place + 1]) for place in range(D)]
        scale = np.abs(path).max()
        found = [value for _, value in selector.path_]
        np.testing.assert_allclose(found, path, rtol=1e-7, atol=1e-9 * scale)
        for place, joining in enumerate(best_first):
            chosen = best_first[:place]
            values = {c: self.value([*chosen, c]) for c in best_first[place:]}
            assert values[joining] >= max(values.values()) - 1e-9 * scale


#: All kernels with all targets; the biased estimator, for time, each with some of the others.
CASES = [(kernel, target, True) for kernel in [*FIXED, *FITTED] for target in TARGETS]
CASES += [(kernel, target, False) for kernel in ("gaussian", "ridge") for target in TARGETS]
CASES += [
    (kernel, target, False)
    for kernel in [*FIXED, *FITTED]
    for target in ("linear, wide", "matrix", "scikit-learn, noise")
]


@pytest.mark.parametrize(("kernel", "target", "unbiased"), CASES)
def test_searches_equal_brute_force(kernel: str, target: str, unbiased: bool) -> None:
    chosen = (FIXED | FITTED)[kernel]
    y, target_kernel, matrix = TARGETS[target]
    options: dict[str, Any] = {"target_kernel": target_kernel, "unbiased": unbiased}
    replay = Replay(chosen, matrix(), unbiased)
    backward = BAHSIC(1, kernel=chosen, step=1, interactions=None, pvalues=False, **options)
    backward.fit(X, y)
    measured = hsic(X, y, kernel=chosen, **options)
    np.testing.assert_allclose(backward.path_[0][1], measured, rtol=1e-7, atol=1e-12)
    replay.check_backward(backward)
    if chosen == "linear":
        return  # the shares of all columns decide at once, which test_bahsic compares
    replay.check_forward(FOHSIC(D, kernel=chosen, pvalues=False, **options).fit(X, y))


@pytest.mark.parametrize("unbiased", [True, False], ids=["unbiased", "biased"])
def test_searches_equal_brute_force_for_graphs(unbiased: bool) -> None:
    ring = {i: [(i - 1) % 5, (i + 1) % 5] for i in range(5)}
    local = np.random.default_rng(1)
    graphs = [(ring, {i: "abc"[local.integers(3)] for i in range(5)}) for _ in range(M)]
    target_kernel = SubtreeCounts(2)
    replay = Replay(Gaussian(1.5), as_kernel(target_kernel)(graphs), unbiased)
    options: dict[str, Any] = {"target_kernel": target_kernel, "unbiased": unbiased}
    options |= {"kernel": Gaussian(1.5), "pvalues": False}
    replay.check_backward(BAHSIC(1, step=1, interactions=None, **options).fit(X, graphs))
    replay.check_forward(FOHSIC(D, **options).fit(X, graphs))


@pytest.mark.parametrize("target", ["numbers", "polynomial", "matrix"])
@pytest.mark.parametrize("kernel", POLICIES)
def test_bandwidths_are_read_off_the_columns_left(kernel: str, target: str) -> None:
    y, target_kernel, matrix = TARGETS[target]
    selector = BAHSIC(1, kernel=POLICIES[kernel], target_kernel=target_kernel, step=1)
    selector.set_params(interactions=None, pvalues=False).fit(X, y)
    Replay(POLICIES[kernel], matrix(), True).check_backward(selector)


@pytest.mark.parametrize("unbiased", [True, False], ids=["unbiased", "biased"])
@pytest.mark.parametrize("kernel", [*FIXED, *FITTED])
def test_unsupervised_searches_equal_brute_force(kernel: str, unbiased: bool) -> None:
    chosen = (FIXED | FITTED)[kernel]
    replay = Replay(chosen, as_kernel(chosen).resolve(X)(X), unbiased)
    options: dict[str, Any] = {"target_kernel": "inputs", "unbiased": unbiased}
    replay.check_backward(BAHSIC(1, kernel=chosen, step=1, **options).fit(X))
    if chosen != "linear":
        replay.check_forward(FOHSIC(D, kernel=chosen, **options).fit(X))


@pytest.mark.parametrize("block_size", [5, 7])
@pytest.mark.parametrize("kernel", ["gaussian", "distance", "ridge", "IncompleteCholesky"])
@pytest.mark.parametrize("target", ["numbers", "polynomial", "matrix", "map"])
def test_blocks_average_hsic(kernel: str, target: str, block_size: int) -> None:
    options: dict[str, Any] = {
        "kernel": (FIXED | FITTED)[kernel],
        "target_kernel": TARGETS[target][1],
        "block_size": block_size,
    }
    selector = BAHSIC(1, interactions=None, pvalues=False, **options).fit(X, TARGETS[target][0])
    measured = hsic(X, TARGETS[target][0], **options)
    np.testing.assert_allclose(selector.path_[0][1], measured, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("selector", [BAHSIC, FOHSIC])
@pytest.mark.parametrize("count", [1, "auto"])
@pytest.mark.parametrize("kernel", FITTED)
def test_fitted_kernels_serve_with_default_options(
    kernel: str, count: int | str, selector: type
) -> None:
    local = np.random.default_rng(2)
    columns = local.normal(size=(40, 3))
    y = (columns[:, 1] + 0.1 * local.normal(size=40) > 0).astype(int)
    assert selector(count, kernel=FITTED[kernel]).fit(columns, y).ranking_[1] == 1


#: Kernels of the package that compare something else than numeric vectors, or all columns at once.
REFUSED: dict[str, Any] = {
    **WITHOUT_COLUMNS,
    "precomputed": "precomputed",
    "Precomputed": Precomputed(np.eye(M)),
    "Columns": Columns([("a", "gaussian", [0, 1]), ("b", "linear", [2])]),
    "Columns in a sum": Columns([("a", "gaussian", [0, 3])]) + Gaussian(1.0),
    "RandomEvent, weighted": RandomEvent([0.25] * D),
    "RidgeKernel, resolved": RidgeKernel().resolve(X),
    "RBF, a length per column": RBF([1.0] * D),
    "a function of some columns": lambda X, Z: np.multiply.outer(X[:, 3], Z[:, 3]),
}


@pytest.mark.parametrize("selector", [BAHSIC, FOHSIC])
@pytest.mark.parametrize("kernel", REFUSED)
def test_kernels_that_cannot_drop_columns_are_refused_by_name(kernel: str, selector: type) -> None:
    with pytest.raises(ValueError, match=rf"{selector.__name__} .* kernel") as refusal:
        selector(2, kernel=REFUSED[kernel]).fit(X, NUMBERS)
    assert "kernel of" in str(refusal.value)  # what would do instead


def test_every_kernel_and_map_is_tried_or_refused() -> None:
    tried = {type(as_kernel(value)) for value in (FIXED | FITTED).values()}
    tried |= {type(value) for value in REFUSED.values()}
    tried |= {short_names()[name] for name in REFUSED if name in short_names()}
    missing = set(classes(kernel_package, Kernel).values()) - tried
    # A base, wrappers, what frames with categories make of a kernel, and one of targets.
    others = {"BandwidthKernel", "Censored", "FromFunction", "FromMap", "FromScikitLearn", "Mixed"}
    assert {cls.__name__ for cls in missing} <= others


def _table(kind: str) -> tuple[Any, dict[str, Any]]:
    """60 rows with numbers, and gaps, categories or groups of columns among them."""
    local = np.random.default_rng(3)
    values = local.normal(size=(60, 6))
    if kind == "gaps":
        values[local.random(values.shape) < 0.1] = np.nan
        values[:, 0] = local.normal(size=60)
    frame = pd.DataFrame(values, columns=list("abcdef"))
    if kind == "categories":
        for name in "bd":
            frame[name] = pd.Categorical(local.choice(list("uvw"), 60))
    return frame, {"column_groups": [0, 0, 1, 2, 3, 3]} if kind == "groups" else {}


@pytest.mark.parametrize("estimator", [BAHSIC, FOHSIC])
@pytest.mark.parametrize("target", ["numbers", "classes", "outputs"])
@pytest.mark.parametrize(
    ("kind", "weighted"),  # gaps are refused together with weights
    [*product(["plain", "categories", "groups"], [False, True]), ("gaps", False)],
)
def test_blocks_equal_exact_targets_and_all_columns(
    estimator: type, target: str, kind: str, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Factors of the target, and blocks that lack the columns that have left, change nothing."""
    table, options = _table(kind)
    local = np.random.default_rng(4)
    numbers = table["a"].to_numpy() + local.normal(size=60)
    y = {"numbers": numbers, "classes": np.digitize(numbers, [-0.5, 0.5])}.get(target)
    if y is None:
        y = np.column_stack([numbers, local.normal(size=(60, 2))])
    fit = {"sample_weight": local.integers(1, 4, 60)} if weighted else {}

    def search() -> Any:
        selector = estimator(2, block_size=20, pvalues=False, **options)
        return selector.fit(table, y, **fit)

    monkeypatch.setattr(search_module, "KEPT", 0)  # blocks are made anew in every round,
    found = search()
    monkeypatch.setattr(search_module, "KEPT", 10**9)  # or kept,
    kept = search()
    np.testing.assert_array_equal(kept.ranking_, found.ranking_)
    np.testing.assert_allclose(kept.path_, found.path_, rtol=1e-6, atol=1e-9)
    monkeypatch.setattr(Search, "_factored", property(lambda search: search.target))
    expected = search()
    np.testing.assert_array_equal(found.ranking_, expected.ranking_)
    np.testing.assert_allclose(found.path_, expected.path_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("estimator", [BAHSIC, FOHSIC])
def test_a_cell_may_be_missing_in_one_block_only(estimator: type) -> None:
    local = np.random.default_rng(5)
    values = local.normal(size=(120, 4))
    y = values[:, 0] + 0.1 * local.normal(size=120)
    values[7, 2] = np.nan
    selector = estimator(1, block_size=20, pvalues=False).fit(values, y)
    assert selector.get_support(indices=True).tolist() == [0]
