"""A table with categories under every kernel of distances: the same kernel for every method."""

from __future__ import annotations

import tracemalloc
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from depmax import (
    BAHSIC,
    FOHSIC,
    HBFE,
    HSCA,
    KernelLDA,
    hsic,
    hsic_test,
    load_model,
    resolve,
    save_model,
)
from depmax.dependence import screen
from depmax.kernels import (
    Columns,
    Delta,
    Gaussian,
    InverseDistance,
    InverseMultiquadric,
    Laplace,
    Linear,
    Mixed,
    Polynomial,
    RidgeKernel,
    Scaled,
    WeightedSum,
    as_kernel,
)
from depmax.maps import IncompleteCholesky, KernelMap, NystroemMap, RandomFourier
from tests.one_hot import one_hot

rng = np.random.default_rng(0)
N = 60
NUMBERS = rng.normal(size=(N, 2))
NUMBERS = (NUMBERS - NUMBERS.mean(axis=0)) / NUMBERS.std(axis=0)
COLOUR = rng.choice(["red", "green", "blue"], N)
SHAPE = rng.choice(["round", "square"], N, p=[0.8, 0.2])
Y = NUMBERS[:, 0] + (COLOUR == "red") + 0.1 * rng.normal(size=N)


def _table(numbers: bool) -> tuple[pd.DataFrame, np.ndarray]:
    """A frame, and the numbers that it stands for."""
    frame = pd.DataFrame({"colour": pd.Categorical(COLOUR), "shape": pd.Categorical(SHAPE)})
    if not numbers:
        return frame, one_hot(np.empty((N, 0)), COLOUR, SHAPE)
    frame.insert(1, "a", NUMBERS[:, 0])
    frame["b"] = NUMBERS[:, 1]
    return frame, one_hot(NUMBERS, COLOUR, SHAPE)


TABLES = {"mixed": _table(numbers=True), "categories only": _table(numbers=False)}
KERNELS = [
    Gaussian(),
    Gaussian(1.5),
    Laplace(),
    Laplace(norm=2),
    InverseMultiquadric(),
    InverseDistance(),
    Gaussian() * Laplace(),
    Gaussian() + Laplace(3.0),
    Scaled(Gaussian(), 2.0),
]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)
every_table = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


@every_table
@every_kernel
def test_measures_are_those_of_scaled_indicators(kernel, table):
    frame, encoded = table
    assert hsic(frame, Y, kernel=kernel) == pytest.approx(hsic(encoded, Y, kernel=kernel), rel=1e-9)
    test = hsic_test(frame, Y, kernel=kernel, method="gamma")
    assert test.pvalue == pytest.approx(
        hsic_test(encoded, Y, kernel=kernel, method="gamma").pvalue, rel=1e-6
    )


@every_table
@pytest.mark.parametrize("kernel", [Gaussian("maximize"), Laplace("maximize")], ids=repr)
def test_maximized_bandwidth_is_that_of_scaled_indicators(kernel, table):
    frame, encoded = table
    expected = resolve(kernel, encoded, Y).bandwidth
    assert resolve(kernel, frame, Y).kernel.bandwidth == pytest.approx(expected)


@every_table
@pytest.mark.parametrize("kernel", [Gaussian, Laplace])
def test_dimension_counts_columns_of_the_table(kernel, table):
    frame, encoded = table
    width = kernel("dimension").resolve(np.empty((1, frame.shape[1]))).bandwidth
    expected = hsic(encoded, Y, kernel=kernel(width))
    assert resolve(kernel("dimension"), frame).kernel.bandwidth == width
    assert hsic(frame, Y, kernel=kernel("dimension")) == pytest.approx(expected)
    path = BAHSIC(1, kernel=kernel("dimension"), interactions=None).fit(frame, Y).path_
    assert path[0][1] == pytest.approx(expected, rel=1e-6)


@every_table
@every_kernel
def test_searches_start_from_the_same_kernel(kernel, table):
    frame, encoded = table
    fitted = BAHSIC(1, kernel=kernel, precision="double", interactions=None).fit(frame, Y)
    assert fitted.path_[0] == (frame.shape[1], pytest.approx(hsic(frame, Y, kernel=kernel)))
    everything = FOHSIC(kernel=kernel, n_features_to_select=frame.shape[1], precision="double")
    last = everything.fit(frame, Y).path_[-1]
    assert last == (frame.shape[1], pytest.approx(hsic(encoded, Y, kernel=kernel)))


@every_table
@pytest.mark.parametrize("kernel", [Gaussian(), Gaussian("dimension"), Laplace()], ids=repr)
def test_elimination_is_that_of_brute_force(kernel, table):
    frame, _ = table
    left, path, order = list(frame.columns), [], []
    while left:
        path.append((len(left), hsic(frame[left], Y, kernel=kernel)))
        if len(left) == 1:
            order.append(left.pop())
            break
        inner = resolve(kernel, frame[left])
        width = getattr(inner, "kernel", inner).bandwidth
        fixed = clone(kernel).set_params(bandwidth=width)
        without = [
            hsic(frame[[name for name in left if name != gone]], Y, kernel=fixed) for gone in left
        ]
        order.append(left.pop(int(np.argmax(without))))
    fitted = BAHSIC(1, kernel=kernel, precision="double", interactions=None).fit(frame, Y)
    np.testing.assert_allclose(fitted.path_, path, rtol=1e-6)
    assert [frame.columns[place] for place in np.argsort(-fitted.ranking_)] == order


@every_table
@pytest.mark.parametrize(
    "kernel", [Gaussian(1.5), Laplace(3.0), Gaussian(2.0) * Laplace(4.0)], ids=repr
)
def test_forward_selection_is_that_of_brute_force(kernel, table):
    frame, _ = table
    chosen, path = [], []
    while len(chosen) < frame.shape[1]:
        rest = [name for name in frame.columns if name not in chosen]
        values = [hsic(frame[[*chosen, name]], Y, kernel=kernel) for name in rest]
        chosen.append(rest[int(np.argmax(values))])
        path.append((len(chosen), max(values)))
    count = frame.shape[1]
    fitted = FOHSIC(count, kernel=kernel, precision="double", step=1).fit(frame, Y)
    np.testing.assert_allclose(fitted.path_, path, rtol=1e-9)
    assert [frame.columns[place] for place in np.argsort(fitted.ranking_)] == chosen


@every_table
@pytest.mark.parametrize("kernel", [Gaussian(), Laplace()], ids=repr)
@pytest.mark.parametrize(
    "estimator",
    [
        HBFE(2),
        HSCA(2),
        NystroemMap(20, random_state=0),
        IncompleteCholesky(5),
        KernelMap(5),
    ],
    ids=repr,
)
def test_extractors_and_maps_see_the_same_kernel(estimator, kernel, table):
    frame, encoded = table
    model = clone(estimator).set_params(kernel=kernel)
    mine = model.fit(frame, Y).transform(frame)
    plain = clone(model).fit(encoded, Y).transform(encoded)
    np.testing.assert_allclose(mine @ mine.T, plain @ plain.T, atol=1e-6)


def test_random_frequencies_refuse_categories_by_name():
    with pytest.raises(TypeError, match="categorical column 'colour'"):
        RandomFourier(4).fit(TABLES["mixed"][0])


@every_table
def test_fitted_kernels_are_saved_and_loaded(table, tmp_path):
    frame, _ = table
    model = HBFE(1, kernel="gaussian").fit(frame, Y)
    save_model(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(
        load_model(tmp_path / "model.skops").transform(frame), model.transform(frame)
    )


def test_the_unit_of_the_numbers_does_not_matter():
    frame, _ = TABLES["mixed"]
    larger = frame.assign(a=1000 * frame["a"], b=1000 * frame["b"])
    assert hsic(larger, Y) == pytest.approx(hsic(frame, Y), rel=1e-9)


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Laplace(2.0), InverseDistance(1.0)], ids=repr)
def test_coordinates_of_categories_hold_unknown_levels_too(kernel):
    cells = np.array(list(product([-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0, 2.0])))
    mixed = Mixed(kernel, (), (0, 1), (2, 3), scales=(1.0, 0.5))
    assert mixed.has_features
    phi = mixed.features(cells)
    assert phi.shape[1] == mixed.n_coordinates(cells) == 12
    np.testing.assert_allclose(phi @ phi.T, mixed(cells), atol=1e-12)


def test_a_kernel_without_distances_is_refused():
    with pytest.raises(TypeError, match="kernel of distances"):
        Mixed("linear", (0,), (1,)).resolve(np.ones((3, 2)))


def _categories(n_rows: int, n_columns: int, n_levels: int) -> tuple[pd.DataFrame, np.ndarray]:
    codes = np.random.default_rng(1).integers(0, n_levels, size=(n_rows, n_columns))
    columns = {f"q{j}": pd.Categorical(codes[:, j].astype(str)) for j in range(n_columns)}
    return pd.DataFrame(columns), codes


@pytest.mark.parametrize("size", [(400, 14, 5), (300, 40, 30)])
@pytest.mark.parametrize("kernel", ["gaussian", "laplace", "linear", "deltas"])
def test_memory_does_not_grow_with_products_of_levels(size, kernel):
    frame, codes = _categories(*size)
    y = codes[:, 3] < size[2] // 2
    if kernel == "deltas":  # multiplied by request: no power, but no coordinates either
        kernel = Columns([(name, Delta(), [name]) for name in frame.columns])
    tracemalloc.start()
    hsic_test(frame, y, kernel=kernel, n_permutations=50, random_state=0)
    HBFE(1, kernel=kernel).fit(frame, y).transform(frame)
    KernelMap(3, kernel=kernel).fit_transform(frame)
    largest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert largest < 100e6


@pytest.mark.parametrize(("n_rows", "numbers"), [(200, 0), (400, 0), (200, 6)])
def test_one_category_of_many_is_found_by_all_columns_together(n_rows, numbers):
    frame, codes = _categories(n_rows, 8, 5)
    noise = np.random.default_rng(2).normal(size=(n_rows, numbers))
    frame = frame.assign(**{f"x{j}": noise[:, j] for j in range(numbers)})
    y = codes[:, 3] < 2
    assert screen(frame, y).pvalues_adjusted.min() < 1e-20
    assert hsic_test(frame, y, method="gamma").pvalue < 1e-10
    assert hsic_test(frame, y, random_state=0).pvalue <= 0.001
    assert list(BAHSIC(1).fit(frame, y).get_feature_names_out()) == ["q3"]


def test_independent_categories_keep_the_level():
    frame, _ = _categories(60, 8, 5)
    local = np.random.default_rng(3)
    pvalues = [hsic_test(frame, local.normal(size=60), method="gamma").pvalue for _ in range(200)]
    assert 0.01 < np.mean(np.array(pvalues) <= 0.05) < 0.10


# --- kernels that are made of others --------------------------------------------------------------
MIXED, CODED = TABLES["mixed"]
ONE_HOT = np.hstack(
    [NUMBERS, *((column[:, None] == np.unique(column)).astype(float) for column in (COLOUR, SHAPE))]
)
#: Kernel values on the mixed table by definition: each simple kernel on its own encoding.
DISTANCES = Gaussian(2.0)(CODED)
PRODUCTS = ONE_HOT @ ONE_HOT.T
COMPOSITES = {
    "sum": (Gaussian(2.0) + Linear(), DISTANCES + PRODUCTS),
    "product": (Gaussian(2.0) * Linear(), DISTANCES * PRODUCTS),
    "product of sums": (Linear() * Linear(), PRODUCTS * PRODUCTS),
    "scaled": (Scaled(Gaussian(2.0) + Linear(), 3.0), 3.0 * (DISTANCES + PRODUCTS)),
    "weighted": (
        WeightedSum([Gaussian(2.0), Linear()], weights=[0.25, 0.75]),
        0.25 * DISTANCES + 0.75 * PRODUCTS,
    ),
    "ridge": (
        RidgeKernel(Gaussian(2.0), alpha=0.5),
        DISTANCES @ np.linalg.inv(DISTANCES + 0.5 * np.eye(N)),
    ),
    "map of all rows": (NystroemMap(N, kernel=Gaussian(2.0), random_state=0), DISTANCES),
    "exact map": (KernelMap(N - 1, kernel="linear"), PRODUCTS),
    "map of a sum": (
        IncompleteCholesky(N, kernel=Gaussian(2.0) + Linear(), tol=1e-12),
        DISTANCES + PRODUCTS,
    ),
    "sum with a map": (
        Linear() + as_kernel(NystroemMap(N, kernel=Gaussian(2.0), random_state=0)),
        DISTANCES + PRODUCTS,
    ),
    "columns": (
        Columns([("all", Gaussian(2.0) + Linear(), ["colour", "a", "shape", "b"])]),
        DISTANCES + PRODUCTS,
    ),
    "map of columns": (
        NystroemMap(
            N, kernel=Columns([("all", "linear", ["b", "shape", "colour", "a"])]), random_state=0
        ),
        PRODUCTS,
    ),
}


@pytest.mark.parametrize("name", sorted(COMPOSITES))
def test_a_kernel_made_of_others_is_each_on_its_own_encoding(name):
    kernel, expected = COMPOSITES[name]
    value = hsic(MIXED, Y, kernel=kernel)
    assert value == pytest.approx(hsic(expected, Y, kernel="precomputed"), rel=1e-6)


@pytest.mark.parametrize("name", sorted(COMPOSITES))
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_extractors_take_it_too_and_map_new_rows(name, library):
    kernel, expected = COMPOSITES[name]
    frame = MIXED if library == "pandas" else pl.from_pandas(MIXED)
    model = KernelLDA(1, kernel=kernel, alpha=0.1).fit(frame, COLOUR == "red")
    plain = KernelLDA(1, kernel="precomputed", alpha=0.1).fit(expected, COLOUR == "red")
    np.testing.assert_allclose(model.dependence_, plain.dependence_, rtol=1e-5)
    new = model.transform(frame[:7])
    np.testing.assert_allclose(np.abs(new), np.abs(plain.transform(expected[:7])), atol=1e-4)


def test_the_map_that_an_error_advises_takes_the_table():
    many = pd.concat([MIXED] * 200, ignore_index=True)  # 12,000 rows
    y = np.tile(COLOUR == "red", 200)
    with pytest.raises(ValueError, match=r"kernel=NystroemMap\(200"):
        KernelLDA(1, kernel="gaussian").fit(many, y)
    model = KernelLDA(1, kernel=NystroemMap(50, kernel="gaussian", random_state=0)).fit(many, y)
    assert model.dependence_[0] > 0.9
    assert model.transform(many[:5]).shape == (5, 1)


def test_a_transformer_without_a_kernel_is_named():
    with pytest.raises(TypeError, match=r"StandardScaler .* categorical"):
        hsic(MIXED, Y, kernel=StandardScaler())
    with pytest.raises(TypeError, match=r"Polynomial .* categorical"):
        hsic(MIXED, Y, kernel=Polynomial() + Linear())


def test_columns_do_not_compare_codes_as_numbers():
    """The order of levels has no meaning."""
    kernel = Columns([("some", Gaussian(1.0), ["a", "colour"])])
    renamed = MIXED.assign(colour=MIXED["colour"].cat.rename_categories({"blue": "zebra"}))
    assert hsic(MIXED, Y, kernel=kernel) == pytest.approx(hsic(renamed, Y, kernel=kernel))
