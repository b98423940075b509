from __future__ import annotations

import numpy as np
import pytest

from depmax import hsic, resolve
from depmax.kernels import Delta, Gaussian, Laplace, Linear, Precomputed
from depmax.maps import KernelMap, NystroemMap
from tests.dependence.oracles import dense_hsic, enumerated_hsic
from tests.one_hot import one_hot

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
y = X[:, 0] ** 2 + 0.2 * rng.normal(size=40)


def test_unbiased_equals_the_enumerated_u_statistic() -> None:
    x, z = X[:8], y[:8]
    K, L = Gaussian(1.0)(x), Gaussian(0.5)(z)
    value = hsic(x, z, kernel=Gaussian(1.0), target_kernel=Gaussian(0.5))
    assert value == pytest.approx(enumerated_hsic(K, L), rel=1e-12)


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize(
    "kernel", [Gaussian(1.0), Laplace(2.0), Linear(), Linear() + Gaussian(2.0)]
)
def test_equals_the_dense_formula(kernel: object, unbiased: bool) -> None:
    expected = dense_hsic(kernel(X), Gaussian(1.0)(y), unbiased)
    value = hsic(X, y, kernel=kernel, target_kernel=Gaussian(1.0), unbiased=unbiased)
    assert value == pytest.approx(expected, rel=1e-10, abs=1e-14)


@pytest.mark.parametrize("unbiased", [True, False])
def test_moments_equal_tiles(unbiased: bool) -> None:
    function = hsic(
        X, y, kernel=lambda A, B: A @ B.T, target_kernel=lambda A, B: A @ B.T, unbiased=unbiased
    )
    moments = hsic(X, y, kernel="linear", target_kernel="linear", unbiased=unbiased)
    assert moments == pytest.approx(function, rel=1e-10)


def test_an_exact_map_is_the_kernel_itself() -> None:
    through_map = hsic(X, y, kernel=KernelMap(kernel=Gaussian(1.0)))
    assert through_map == pytest.approx(hsic(X, y, kernel=Gaussian(1.0)), rel=1e-9)


def test_a_large_offset_costs_no_digits() -> None:
    plain = hsic(X, y, kernel="linear", target_kernel="linear")
    far = hsic(X + 1e4, y - 1e4, kernel="linear", target_kernel="linear")
    assert far == pytest.approx(plain, rel=1e-9)
    mixed = hsic(X, y, kernel="linear", target_kernel="gaussian")
    assert hsic(X + 1e6, y, kernel="linear", target_kernel="gaussian") == pytest.approx(
        mixed, rel=1e-7
    )


def test_many_rows_work_through_a_map(rng: np.random.Generator) -> None:
    big = rng.normal(size=(30_000, 4))
    value = hsic(big, big[:, 0] > 0, kernel=NystroemMap(50, random_state=0))
    exact = hsic(big[:3000], big[:3000, 0] > 0)
    assert value == pytest.approx(exact, rel=0.2)


def test_scale_is_absorbed_by_the_median_bandwidth() -> None:
    assert hsic(1000 * X, y) == pytest.approx(hsic(X, y), rel=1e-10)


@pytest.mark.slow
def test_unbiased_over_draws() -> None:
    """Independent samples average to zero; the biased estimate does not."""
    local = np.random.default_rng(1)
    draws = [(local.normal(size=(12, 2)), local.normal(size=12)) for _ in range(2000)]
    values = np.array(
        [hsic(a, b, kernel=Gaussian(1.0), target_kernel=Gaussian(1.0)) for a, b in draws]
    )
    standard_error = values.std() / np.sqrt(len(values))
    assert abs(values.mean()) < 4 * standard_error
    assert np.mean([hsic(a, b, unbiased=False) for a, b in draws[:200]]) > 10 * standard_error


def test_block_average_is_unbiased_and_ignores_the_order_of_sorted_rows() -> None:
    local = np.random.default_rng(2)
    x = np.sort(local.normal(size=4000))
    labels = (x > 0).astype(int)
    exact, blocks = hsic(x, labels), hsic(x, labels, block_size=100)
    assert blocks == pytest.approx(exact, rel=0.1)
    assert hsic(x, labels, block_size=4000) == pytest.approx(exact, rel=1e-10)


def test_precomputed_matrices() -> None:
    K, L = Gaussian(1.0)(X), Gaussian(1.0)(y)
    expected = dense_hsic(K, L, unbiased=True)
    assert hsic(K, L, kernel="precomputed", target_kernel="precomputed") == pytest.approx(expected)
    rows = np.arange(len(K))
    assert hsic(rows, rows, kernel=Precomputed(K), target_kernel=Precomputed(L)) == pytest.approx(
        expected
    )


def test_frames_with_categories_are_numbers_beside_scaled_indicators(
    rng: np.random.Generator,
) -> None:
    pd = pytest.importorskip("pandas", reason="needs a data frame library")
    pl = pytest.importorskip("polars", reason="needs a data frame library")
    colours = rng.choice(["red", "green"], 40)
    frame = pd.DataFrame({"a": X[:, 0], "colour": pd.Categorical(colours), "b": X[:, 1]})
    K = Gaussian("median")(one_hot(X[:, :2], colours))
    expected = dense_hsic(K, Gaussian()(y), unbiased=True)
    assert hsic(frame, y) == pytest.approx(expected, rel=1e-10)
    other = pl.DataFrame({"a": X[:, 0], "colour": colours, "b": X[:, 1]}).with_columns(
        pl.col("colour").cast(pl.Categorical)
    )
    assert hsic(other, y) == pytest.approx(expected, rel=1e-10)
    linear = dense_hsic(X[:, :2] @ X[:, :2].T + Delta()(colours), Gaussian()(y), unbiased=True)
    assert hsic(frame, y, kernel="linear") == pytest.approx(linear, rel=1e-10)
    with pytest.raises(TypeError, match="categorical column 'colour'"):
        hsic(frame, y, kernel="polynomial")


def test_maximize_takes_the_best_of_the_grid() -> None:
    kernel = resolve(Gaussian("maximize"), X, y)
    best = hsic(X, y, kernel=kernel)
    median = resolve("gaussian", X).bandwidth
    for factor in (0.25, 0.5, 1.0, 2.0, 4.0):
        assert best >= hsic(X, y, kernel=Gaussian(median * factor)) - 1e-15
    assert hsic(X, y, kernel=Gaussian("maximize")) == pytest.approx(best)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((X[:3], y[:3]), {}, "at least 4 samples"),
        ((X, y[:-1]), {}, "inconsistent numbers of samples"),
        ((np.where(X[0, 1] == X, np.nan, X), y), {}, r"NaN in column 1 \(1 of 40 rows\)"),
        ((np.where(X[0, 2] == X, np.inf, X), y), {}, "infinity in column 2"),
        ((X, np.full(40, np.nan)), {}, r"y is missing \(NaN or None\) in 40 of 40 rows"),
        ((X, np.zeros(40, dtype=int)), {}, r"one class only \(0\)"),
        ((X, ["a"] * 40), {}, r"one class only \('a'\)"),
        ((X, y), {"kernel": "gausian"}, "Did you mean 'gaussian'"),
        ((X, y), {"kernel": Gaussian(-1.0)}, "bandwidth of Gaussian must be a positive number"),
        ((X, y), {"kernel": Gaussian("mean")}, "bandwidth of Gaussian must be .* got 'mean'"),
        ((X, y), {"kernel": "precomputed"}, "square kernel matrix"),
        ((np.triu(X @ X.T), y), {"kernel": "precomputed"}, "not symmetric"),
        ((X, y), {"block_size": 2}, "block_size must be at least 4"),
        ((np.array([["a", "b"]] * 40), y), {}, "text where numbers are needed"),
    ],
)
def test_bad_input_is_refused_by_name(arguments: tuple, options: dict, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        hsic(*arguments, **options)


def test_dask_input_is_refused_by_name() -> None:
    pytest.importorskip("dask", reason="only Dask itself can recognise its collections")
    fake = type("Array", (), {"__module__": "dask.array.core"})()
    with pytest.raises(TypeError, match=r"Dask|in memory"):
        hsic(fake, y)
