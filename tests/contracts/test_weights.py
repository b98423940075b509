"""A weight of w is the row w times, and a weight of 0 the row left out: everywhere."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

import depmax
from depmax import dependence as package
from depmax import extraction
from depmax.extraction import DependenceExtractor
from depmax.kernels import (
    Distance,
    Gaussian,
    InverseMultiquadric,
    KernelLike,
    Laplace,
    Linear,
    Neutral,
    Polynomial,
    RidgeKernel,
    WeightedSum,
)
from tests.contracts.discovery import classes

#: How many times each of 24 rows occurs.
WEIGHTS = np.random.default_rng(5).integers(0, 4, size=24)
X = np.random.default_rng(1).normal(size=(24, 3)) + 2.0
MIXED = pd.DataFrame(
    {"a": X[:, 0], "b": X[:, 1], "c": pd.Categorical(np.where(X[:, 2] > 2, "high", "low"))}
)
SIGNAL = X[:, 0] ** 2 + 0.3 * np.random.default_rng(2).normal(size=24)
THREE = np.array(["low", "middle", "high"])[np.digitize(SIGNAL, np.quantile(SIGNAL, [0.3, 0.7]))]
TARGETS: dict[str, Any] = {
    "two classes": np.median(SIGNAL) < SIGNAL,
    "three classes": THREE,
    "numbers": SIGNAL,
    "outputs": np.column_stack([SIGNAL, X[:, 1] + 0.1 * SIGNAL]),
    "labels": np.column_stack([SIGNAL > 3, X[:, 1] > 2]).astype(int),
}
KERNELS: dict[str, KernelLike] = {
    "linear": Linear(),
    "polynomial": Polynomial(2),
    "gaussian": Gaussian(),
    "gaussian of the dimension": Gaussian("dimension"),
    "gaussian chosen": Gaussian("maximize"),
    "laplace": Laplace(),
    "laplace of the norm": Laplace(norm=2),
    "distance": Distance(),
    "multiquadric": InverseMultiquadric(),
    "sum": Gaussian() + 0.5 * Linear(),
    "product": Laplace() * Gaussian(1.5),
    "ridge": RidgeKernel("gaussian", 0.5),
    "learned by alignment": WeightedSum([Gaussian(), Linear(), Gaussian(0.3)]),
    "learned by hsic": WeightedSum([Gaussian(), Linear()], "hsic"),
}
#: Measures of paired samples that take weights.
MEASURES: dict[str, Callable[..., float]] = {
    "hsic": depmax.hsic,
    "hsic biased": partial(depmax.hsic, unbiased=False),
    "alignment": depmax.alignment,
    "alignment not centred": partial(depmax.alignment, centered=False),
    "coco": depmax.coco,
    "coco linear": partial(depmax.coco, kernel="linear", target_kernel="linear"),
    "distance correlation": depmax.distance_correlation,
    "distance correlation unbiased": partial(depmax.distance_correlation, unbiased=True),
    "gaussian information": depmax.gaussian_mutual_information,
    "hsic variance": depmax.hsic_variance,
    "quadratic information": depmax.quadratic_mutual_information,
}


def repeated(table: Any) -> Any:
    """Every row as often as its weight says."""
    rows = np.repeat(np.arange(len(WEIGHTS)), WEIGHTS)
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_hsic_of_weights_is_hsic_of_repeated_rows(kernel: str, target: str, unbiased: bool) -> None:
    y = TARGETS[target]
    measure = partial(depmax.hsic, kernel=KERNELS[kernel], unbiased=unbiased)
    expected = measure(repeated(X), repeated(y))
    # the root of a squared distance that is zero but for rounding: copies seem to differ
    tolerance = 1e-8 if kernel in ("laplace of the norm", "distance") else 1e-10
    found = measure(X, y, sample_weight=WEIGHTS)
    assert_allclose(found, expected, rtol=tolerance, atol=tolerance / 100)


@pytest.mark.parametrize("kernel", ["gaussian", "laplace", "linear"])
@pytest.mark.parametrize("unbiased", [True, False])
def test_categories_count_by_weight(kernel: str, unbiased: bool) -> None:
    measure = partial(depmax.hsic, kernel=kernel, unbiased=unbiased)
    expected = measure(repeated(MIXED), repeated(THREE))
    assert_allclose(measure(MIXED, THREE, sample_weight=WEIGHTS), expected, rtol=1e-10)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("measure", MEASURES)
def test_measures_of_weights_are_those_of_repeated_rows(measure: str, target: str) -> None:
    y = TARGETS[target]
    expected = MEASURES[measure](repeated(X), repeated(y))
    found = MEASURES[measure](X, y, sample_weight=WEIGHTS)
    assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_every_measure_with_weights_is_in_the_table() -> None:
    takes = {
        name
        for name in package.__all__
        if callable(getattr(package, name))
        and not isinstance(getattr(package, name), type)
        and "sample_weight" in signature(getattr(package, name)).parameters
    }
    own_tests = {"total_correlation", "screen", "hsic_test", "mmd", "hsic_interval"}
    tested = {getattr(each, "func", each).__name__ for each in MEASURES.values()}
    assert takes <= tested | own_tests


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("unbiased", [True, False])
def test_discrepancies_of_weights_are_those_of_repeated_rows(kernel: str, unbiased: bool) -> None:
    other, counts = X[:9] ** 2, np.array([2, 0, 1, 3, 1, 1, 0, 2, 1])
    measure = partial(depmax.mmd, kernel=KERNELS[kernel], unbiased=unbiased)
    expected = measure(repeated(X), np.repeat(other, counts, axis=0))
    found = measure(X, other, sample_weight=WEIGHTS, sample_weight_z=counts)
    tolerance = 1e-7 if kernel in ("laplace of the norm", "distance") else 1e-10
    assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    expected = measure(repeated(X), other)
    assert_allclose(measure(X, other, sample_weight=WEIGHTS), expected, rtol=tolerance)


@pytest.mark.parametrize("kernel", ["gaussian", "linear", "laplace"])
@pytest.mark.parametrize("target", TARGETS)
def test_intervals_of_counts_are_those_of_repeated_rows(kernel: str, target: str) -> None:
    y = TARGETS[target]
    interval = partial(depmax.hsic_interval, kernel=kernel)
    found, expected = interval(X, y, sample_weight=WEIGHTS), interval(repeated(X), repeated(y))
    assert_allclose((found.low, found.high), (expected.low, expected.high), rtol=1e-8, atol=1e-12)
    with pytest.raises(ValueError, match="whole numbers"):
        interval(X, y, sample_weight=WEIGHTS + 0.5)


def test_total_correlation_counts_rows_by_weight() -> None:
    expected = depmax.total_correlation(repeated(X))
    assert_allclose(depmax.total_correlation(X, sample_weight=WEIGHTS), expected, rtol=1e-10)


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_many_rows_in_tiles_and_chunks(kernel: str) -> None:
    rng = np.random.default_rng(3)
    x, y, weights = rng.normal(size=(700, 2)), rng.normal(size=700), rng.integers(0, 2, 700)
    for unbiased in (True, False):
        measure = partial(depmax.hsic, kernel=kernel, target_kernel=kernel, unbiased=unbiased)
        kept = weights == 1
        found = measure(x, y, sample_weight=weights)
        assert_allclose(found, measure(x[kept], y[kept]), rtol=1e-9, atol=1e-15)


def test_sparse_rows_count_by_weight() -> None:
    rows = sparse.csr_array(np.where(X > 2, X, 0.0))
    for kernel in ("linear", "gaussian"):
        measure = partial(depmax.hsic, kernel=kernel)
        expected = measure(repeated(rows), repeated(SIGNAL))
        assert_allclose(measure(rows, SIGNAL, sample_weight=WEIGHTS), expected, rtol=1e-10)


def test_kernel_matrices_count_by_weight() -> None:
    rows = np.repeat(np.arange(24), WEIGHTS)
    matrix = X @ X.T
    for unbiased in (True, False):
        measure = partial(depmax.hsic, kernel="precomputed", unbiased=unbiased)
        expected = measure(matrix[np.ix_(rows, rows)], repeated(SIGNAL))
        assert_allclose(measure(matrix, SIGNAL, sample_weight=WEIGHTS), expected, rtol=1e-10)


@pytest.mark.parametrize("series", [list, np.asarray, pd.Series, pl.Series])
def test_weights_come_as_any_sequence(series: Callable[[Any], Any]) -> None:
    expected = depmax.hsic(X, SIGNAL, sample_weight=WEIGHTS)
    assert depmax.hsic(X, SIGNAL, sample_weight=series(WEIGHTS.tolist())) == expected


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.where(np.arange(24) == 3, -1.0, 1.0), "[Nn]egative values"),
        (np.where(np.arange(24) == 3, np.nan, 1.0), "sample_weight contains NaN"),
        (np.zeros(24), "zero"),
        (np.ones(23), r"expected \(24,\)"),
        (np.ones((24, 2)), "1D"),
        (np.full(24, 1 / 24), r"w \* len\(w\) / w.sum\(\)"),
        (np.full(24, 1e300), "adds up to 2.4e.301, .* counts up to 1e.12"),
        (np.full(24, 2**62, dtype=np.uint64), "counts up to"),
        (np.ma.masked_array(np.ones(24), mask=np.arange(24) < 3), "is a masked array with 3"),
    ],
)
def test_bad_weights_are_refused_by_name(weights: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        depmax.hsic(X, SIGNAL, sample_weight=weights)


# --- extractors -----------------------------------------------------------------------------------
#: Extractors that take weights, found by their signature.
EXTRACTORS = {
    name: part
    for name, part in classes(extraction, DependenceExtractor).items()
    if "sample_weight" in signature(part.fit).parameters
}
EXTRACTOR_KERNELS = ["linear", "gaussian", "polynomial"]


def fitted_features(model: Any, table: Any, y: Any, new: Any, **params: Any) -> np.ndarray:
    return model.fit(table, y, **params).transform(new)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", EXTRACTOR_KERNELS)
@pytest.mark.parametrize("name", EXTRACTORS)
def test_extractors_of_weights_are_those_of_repeated_rows(
    name: str, kernel: str, target: str
) -> None:
    y = TARGETS[target]
    one_label = {"KernelLDA", "KernelPLSClassifier"}
    if name in one_label and target not in ("two classes", "three classes"):
        with pytest.raises(ValueError, match="class"):
            EXTRACTORS[name](1, kernel=kernel).fit(X, y, sample_weight=WEIGHTS)
        return
    weighted, plain = EXTRACTORS[name](2, kernel=kernel), EXTRACTORS[name](2, kernel=kernel)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one class tells one direction
        found = fitted_features(weighted, X, y, X, sample_weight=WEIGHTS)
        expected = fitted_features(plain, repeated(X), repeated(y), X)
    assert_allclose(found, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())
    assert_allclose(weighted.dependence_, plain.dependence_, rtol=1e-8, atol=1e-12)
    for attribute in ("components_", "loadings_", "mean_", "coef_", "intercept_"):
        if hasattr(plain, attribute):
            values = getattr(plain, attribute)
            assert_allclose(
                getattr(weighted, attribute), values, rtol=1e-7, atol=1e-7 * np.abs(values).max()
            )


def test_the_extractors_in_which_rows_count_take_weights() -> None:
    assert set(EXTRACTORS) == {
        "HBFE",
        "HSCA",
        "IterativePCA",
        "KernelLDA",
        "KernelPLS",
        "KernelPLSClassifier",
        "LinearRegressionFeature",
        "PHD",
        "ReducedKernelOPLS",
        "SIR",
        "SMA",
        "SMC",
    }


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("name", EXTRACTORS)
def test_wide_and_sparse_rows_count_by_weight(name: str, wide: bool) -> None:
    table = np.random.default_rng(8).normal(size=(24, 40)) if wide else np.where(X > 2, X, 0.0)
    table = table if wide else sparse.csr_array(table)
    y = TARGETS["three classes"] if "Class" in name or "LDA" in name else SIGNAL
    with warnings.catch_warnings():
        # fewer components than requested are told in both fits
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = fitted_features(EXTRACTORS[name](2), table, y, table, sample_weight=WEIGHTS)
        expected = fitted_features(EXTRACTORS[name](2), repeated(table), repeated(y), table)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["HBFE", "HSCA"])
@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("feature_kernel", ["linear", "gaussian"])
def test_both_estimators_and_kernels_of_features(
    name: str, unbiased: bool, feature_kernel: str
) -> None:
    options = {"feature_kernel": feature_kernel} if name == "HSCA" else {}
    model = partial(EXTRACTORS[name], 2, kernel="gaussian", unbiased=unbiased, **options)
    found = fitted_features(model(), X, SIGNAL, X, sample_weight=WEIGHTS)
    expected = fitted_features(model(), repeated(X), repeated(SIGNAL), X)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("name", EXTRACTORS)
def test_kernel_matrices_keep_rows_of_weight_zero(name: str) -> None:
    matrix, rows = X @ X.T, np.flatnonzero(WEIGHTS)
    y = TARGETS["three classes"]
    weights = np.minimum(WEIGHTS, 1)
    with warnings.catch_warnings():
        # fewer components than requested are told
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = EXTRACTORS[name](1, kernel="precomputed")
        found = model.fit_transform(matrix, y, sample_weight=weights)
        plain = EXTRACTORS[name](1, kernel="precomputed").fit(matrix[np.ix_(rows, rows)], y[rows])
    expected = plain.transform(matrix[:, rows])
    assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    assert_allclose(model.transform(matrix), found, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", EXTRACTORS)
def test_weights_are_refused_where_they_mean_nothing(name: str) -> None:
    y = TARGETS["three classes"]
    with pytest.raises(ValueError, match="n_components='auto'"):
        EXTRACTORS[name]("auto").fit(X, y, sample_weight=WEIGHTS)
    if hasattr(EXTRACTORS[name](), "beta"):
        with pytest.raises(ValueError, match="with sample_weight, use beta=0"):
            EXTRACTORS[name](1, beta=0.5).fit(X, y, sample_weight=WEIGHTS)


@pytest.mark.parametrize("name", ["HBFE", "KernelPLS"])
def test_weights_are_routed_through_pipelines(name: str) -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        model = EXTRACTORS[name](2).set_fit_request(sample_weight=True)
        pipe = make_pipeline(model, KNeighborsRegressor(1)).fit(X, SIGNAL, sample_weight=WEIGHTS)
    alone = EXTRACTORS[name](2).fit(X, SIGNAL, sample_weight=WEIGHTS)
    assert_allclose(pipe[0].transform(X), alone.transform(X))


# --- screening ------------------------------------------------------------------------------------
@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("kernel", ["laplace", "gaussian", "linear"])
@pytest.mark.parametrize("target", TARGETS)
def test_scores_of_columns_are_those_of_repeated_rows(
    kernel: str, target: str, unbiased: bool
) -> None:
    y = TARGETS[target]
    measure = partial(depmax.screen, kernel=kernel, unbiased=unbiased, tol=1e-13)
    found, expected = (
        measure(MIXED, y, sample_weight=WEIGHTS),
        measure(repeated(MIXED), repeated(y)),
    )
    assert_allclose(found.scores, expected.scores, rtol=1e-9, atol=1e-12)
    assert_allclose(found.bandwidths, expected.bandwidths, rtol=1e-12)


# --- selectors ------------------------------------------------------------------------------------
SELECTOR_KERNELS = ["gaussian", "laplace", "linear", "polynomial"]
WIDE = np.column_stack([X, np.random.default_rng(9).normal(size=(24, 4))])


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("kernel", SELECTOR_KERNELS)
@pytest.mark.parametrize("target", ["two classes", "three classes", "numbers", "labels"])
@pytest.mark.parametrize("search", [depmax.BAHSIC, depmax.FOHSIC])
def test_searches_of_weights_are_those_of_repeated_rows(
    search: Any, target: str, kernel: str, unbiased: bool
) -> None:
    y = TARGETS[target]
    model = partial(search, 2, kernel=kernel, unbiased=unbiased, pvalues=False)
    found = model().fit(WIDE, y, sample_weight=WEIGHTS)
    expected = model().fit(repeated(WIDE), repeated(y))
    assert_allclose(found.ranking_, expected.ranking_)
    assert_allclose([v for _, v in found.path_], [v for _, v in expected.path_], rtol=1e-6)
    assert found.pvalues_adjusted_ is None


@pytest.mark.parametrize("n_landmarks", ["auto", None])
@pytest.mark.parametrize("alpha", ["auto", 0.01])
@pytest.mark.parametrize("target", TARGETS)
def test_elimination_of_weights_is_that_of_repeated_rows(
    target: str, alpha: Any, n_landmarks: Any
) -> None:
    y = TARGETS[target]
    model = partial(depmax.KernelRidgeElimination, 2, alpha=alpha, n_landmarks=n_landmarks)
    found = model().fit(WIDE, y, sample_weight=WEIGHTS)
    expected = model(pvalues=False).fit(repeated(WIDE), repeated(y))
    assert_allclose(found.ranking_, expected.ranking_)
    assert_allclose(found.scores_, expected.scores_, rtol=1e-7, atol=1e-10)
    # one column and a penalty of 1e-6: the landmarks' kernel is nearly singular
    assert_allclose(found.path_, expected.path_, rtol=1e-6)
    assert (found.alpha_, found.error_) == pytest.approx((expected.alpha_, expected.error_))
    assert found.pvalues_adjusted_ is None
    assert found.effects_ is None


@pytest.mark.parametrize("kernel", ["gaussian", "laplace", Gaussian("median"), Polynomial(2)])
@pytest.mark.parametrize("target", TARGETS)
def test_a_lasso_of_weights_is_that_of_repeated_rows(target: str, kernel: Any) -> None:
    y = TARGETS[target]
    model = partial(depmax.HSICLasso, 3, kernel=kernel)
    found = model().fit(WIDE, y, sample_weight=WEIGHTS)
    expected = model().fit(repeated(WIDE), repeated(y))
    assert_allclose(found.scores_, expected.scores_, rtol=1e-5, atol=1e-6)
    assert_allclose(found.coef_, expected.coef_, rtol=1e-4, atol=1e-5)
    assert_allclose(found.ranking_, expected.ranking_)


def test_a_lasso_of_many_rows_and_categories_counts_by_weight() -> None:
    rng = np.random.default_rng(6)
    table = pd.DataFrame(rng.normal(size=(90, 3)), columns=list("abc"))
    table["d"] = pd.Categorical(rng.choice(list("uvw"), 90))
    weights = rng.integers(0, 3, size=90)
    y, rows = table["a"] ** 2 + (table["d"] == "u"), np.repeat(np.arange(90), weights)
    for kernel in ("gaussian", "laplace"):  # by factors and by tiles
        model = depmax.HSICLasso(2, kernel=kernel)
        found = model.fit(table, y, sample_weight=weights).scores_
        expected = model.fit(table.iloc[rows], y.iloc[rows]).scores_
        assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="block_size=None"):
        depmax.HSICLasso(2, block_size=20).fit(table, y, sample_weight=weights)


def test_elimination_of_many_columns_counts_pairs_by_weight() -> None:
    rng = np.random.default_rng(4)
    table, weights = rng.normal(size=(60, 40)), rng.integers(0, 3, size=60)
    y, rows = np.sign(table[:, 5] * table[:, 20]), np.repeat(np.arange(60), weights)
    found = depmax.KernelRidgeElimination(2).fit(table, y, sample_weight=weights)
    expected = depmax.KernelRidgeElimination(2, pvalues=False).fit(table[rows], y[rows])
    assert_allclose(found.ranking_, expected.ranking_)


@pytest.mark.parametrize(
    "search",
    [depmax.BAHSIC, depmax.FOHSIC, depmax.DependenceFilter, depmax.KernelRidgeElimination],
)
def test_selectors_of_frames_with_weights(search: Any) -> None:
    found = search(1).fit(MIXED, THREE, sample_weight=WEIGHTS)
    expected = search(1).fit(repeated(MIXED), repeated(THREE))
    assert_allclose(found.scores_, expected.scores_, rtol=1e-6, atol=1e-9)
    with pytest.raises(ValueError, match="pass a number or a share"):
        search("auto").fit(MIXED, THREE, sample_weight=WEIGHTS)
    with pytest.raises(ValueError, match="sample_weight or groups"):
        search(1).fit(MIXED, THREE, sample_weight=WEIGHTS, groups=np.arange(24))


def test_some_scores_take_weights() -> None:
    model = partial(depmax.DependenceFilter, 1, score_func="pearson")
    for table in (X, sparse.csr_array(np.where(X > 2, X, 0.0))):
        found = model().fit(table, THREE, sample_weight=WEIGHTS)
        expected = model().fit(repeated(table), repeated(THREE))
        assert_allclose(found.scores_, expected.scores_, rtol=1e-10)
    with pytest.raises(ValueError, match="use score_func='hsic' or"):
        depmax.DependenceFilter(1, score_func="t").fit(X, SIGNAL > 3, sample_weight=WEIGHTS)


def test_an_unsupervised_search_takes_weights() -> None:
    model = partial(depmax.BAHSIC, 2, target_kernel="inputs")
    found = model().fit(WIDE, sample_weight=WEIGHTS)
    assert_allclose(found.ranking_, model().fit(repeated(WIDE)).ranking_)


#: What takes weights and, without them, rows with missing cells.
WITH_GAPS: dict[str, Callable[..., Any]] = {
    "screen": lambda X, **weights: depmax.screen(X, SIGNAL, **weights).scores,
    "DependenceFilter": lambda X, **weights: depmax.DependenceFilter(1).fit(X, SIGNAL, **weights),
    "BAHSIC": lambda X, **weights: depmax.BAHSIC(1).fit(X, SIGNAL, **weights),
    "FOHSIC": lambda X, **weights: depmax.FOHSIC(1).fit(X, SIGNAL, **weights),
    "KernelRidgeElimination": lambda X, **weights: depmax.KernelRidgeElimination(1).fit(
        X, SIGNAL, **weights
    ),
    "Neutral": lambda X, **weights: depmax.hsic(X, SIGNAL, kernel=Neutral(), **weights),
}


@pytest.mark.parametrize("name", WITH_GAPS)
def test_missing_cells_with_weights_are_refused_by_name(name: str) -> None:
    weights = np.where(np.arange(24) == 3, 0, np.maximum(WEIGHTS, 1))
    answer = WITH_GAPS[name]
    for row, refused in ((3, False), (4, True)):  # the first counts for nothing
        table = pd.DataFrame(X, columns=["a", "b", "c"])
        table.loc[row, "b"] = np.nan
        answer(table)
        if not refused:
            answer(table, sample_weight=weights)
            continue
        with pytest.raises(ValueError, match=f"(?s){name}.*sample_weight.*impute first"):
            answer(table, sample_weight=weights)


def test_there_are_no_effects_of_rows_with_weights() -> None:
    found = depmax.screen(X, SIGNAL, sample_weight=WEIGHTS)
    assert np.isnan(found.effects).all()
    assert "effect" not in found.to_frame("polars").columns
    assert depmax.DependenceFilter(1).fit(X, SIGNAL, sample_weight=WEIGHTS).effects_ is None


@pytest.mark.parametrize("kernel", [Gaussian("maximize"), WeightedSum([Gaussian(), Linear()])])
def test_a_screening_by_weight_does_not_choose_its_kernel(kernel: Any) -> None:
    with pytest.raises(ValueError, match="screen with sample_weight"):
        depmax.screen(X, SIGNAL, kernel=kernel, sample_weight=WEIGHTS)


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.5), Polynomial(2)])
def test_reconstruction_errors_count_by_weight(kernel: Any) -> None:
    model = depmax.IterativePCA(2, kernel=kernel)
    expected = model.fit(repeated(X)).reconstruction_error(X)
    found = model.fit(X, sample_weight=WEIGHTS).reconstruction_error(X)
    assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
