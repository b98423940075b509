"""hsic_test: its level, what it finds, and its permutations.

Private modules: constants are lowered so that every way of permuting runs on few rows.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from depmax import hsic, hsic_test
from depmax.data.sample import Sample
from depmax.dependence._nulls import permutation
from depmax.dependence._nulls.permutation import permuted_statistics
from depmax.dependence.resolve import read_pair
from depmax.kernels import Gaussian

rng = np.random.default_rng(0)


def _explicit(x: Sample, y: Sample, orders: list[np.ndarray]) -> np.ndarray:
    """HSIC₁ of each permutation of y's rows, recomputed from scratch."""
    from tests.dependence.oracles import dense_hsic

    K, L = x.gram(), y.gram()
    return np.array([dense_hsic(K, L[np.ix_(order, order)], unbiased=True) for order in orders])


class _OneOrder:
    """A source of randomness whose every permutation is the same, and whose choice is the first."""

    def __init__(self, order: np.ndarray) -> None:
        self.order = order

    def permutation(self, size: int) -> np.ndarray:
        return self.order

    def choice(self, places: np.ndarray, size: int, replace: bool) -> np.ndarray:
        return places[:size]


@pytest.mark.parametrize("band", [7, 2**26])  # 7 values: bands of one block
@pytest.mark.parametrize("m", [8, 9, 31, 64, 75, 98])
def test_orbits_hold_true_permutations(
    m: int, band: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every cyclic shift of a relabelled side gives the HSIC of that permutation."""
    monkeypatch.setattr(permutation, "BAND_VALUES", band)
    monkeypatch.setattr(permutation, "BLOCK", 8)
    monkeypatch.setattr(permutation, "FEW_ROWS", 0)
    rows, target = rng.normal(size=(m, 2)), rng.normal(size=m)
    pairs = [read_pair(rows, target, Gaussian(s), Gaussian(1 / s)) for s in (1.0, 0.3)]
    xs, ys = zip(*pairs, strict=True)
    label = rng.permutation(m)
    table = permutation.permuted_table(xs, ys, m - 1, _OneOrder(label), n_jobs=2)
    place = np.argsort(label)  # row i sits at place[i] of the relabelled order
    orders = [label[(place + shift) % m] for shift in range(m)]
    for k, x in enumerate(xs):
        for l, y in enumerate(ys):  # noqa: E741  (kernel l of y, as in the formulas)
            expected = m * (m - 3) * _explicit(x, y, orders)
            np.testing.assert_allclose(table.values[:, k, l], expected, atol=1e-9)
        for l, other in enumerate(xs):  # noqa: E741  (kernel l of y, as in the formulas)
            expected = m * (m - 3) * _explicit(x, other, [np.arange(m)])[0]
            assert table.gram_x[k, l] == pytest.approx(expected)


def test_few_rows_are_permuted_one_order_after_another(rng: np.random.Generator) -> None:
    m = 20
    rows, target = rng.normal(size=(m, 2)), rng.integers(0, 3, m)
    pairs = [read_pair(rows, target, kernel, "auto") for kernel in (Gaussian(1.0), "linear")]
    xs = [x for x, _ in pairs]
    ys = [pairs[0][1]]
    table = permutation.permuted_table(xs, ys, 5, np.random.default_rng(3))
    orders = list(permutation.random_orders(m, 5, np.random.default_rng(3)))
    for k, x in enumerate(xs):
        expected = m * (m - 3) * _explicit(x, ys[0], orders)
        np.testing.assert_allclose(table.values[:, k, 0], expected, atol=1e-9)


@pytest.mark.parametrize("m", [8, 33, 75])
def test_bands_of_diagonals_add_up_to_row_sums(m: int, rng: np.random.Generator) -> None:
    x, _ = read_pair(rng.normal(size=(m, 2)), rng.normal(size=m), Gaussian(1.0), "gaussian")
    bands = [slice(0, 3), slice(3, m // 2)]
    parts = [permutation.circular_diagonals(x, n_jobs=2, band=band) for band in bands]
    whole, sums = permutation.circular_diagonals(x)
    np.testing.assert_allclose(np.concatenate([part for part, _ in parts]), whole, atol=1e-12)
    gram = x.gram()
    np.testing.assert_allclose(sums, gram.sum(axis=1) - np.diag(gram), atol=1e-12)
    np.testing.assert_allclose(parts[0][1] + parts[1][1], sums, atol=1e-12)


@pytest.mark.parametrize(
    "kernels",
    [(Gaussian(1.0), Gaussian(1.0)), (Gaussian(1.0), "linear"), ("linear", "linear")],
)
def test_permuted_values_have_the_exact_mean_and_variance(
    kernels: tuple, rng: np.random.Generator
) -> None:
    from depmax.dependence._nulls.law import permutation_law, spread

    x, y = read_pair(rng.normal(size=(50, 2)), rng.normal(size=50), *kernels)
    observed, permuted = permuted_statistics(x, y, 20_000, np.random.default_rng(0))
    expected = hsic(x.rows, y.rows, kernel=x.kernel, target_kernel=y.kernel)
    assert observed == pytest.approx(expected, rel=1e-9)
    law = permutation_law(spread(x), spread(y), 50)
    assert np.mean(permuted) == pytest.approx(0.0, abs=5 * law.scale / np.sqrt(20_000))
    assert np.std(permuted) == pytest.approx(law.scale, rel=0.04)


def test_streamed_route_equals_the_orbit_route(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    x, y = read_pair(rng.normal(size=(60, 2)), rng.integers(0, 3, 60), "gaussian", "auto")
    first, orbits = permuted_statistics(x, y, 5000, np.random.default_rng(0))
    monkeypatch.setattr(permutation, "STREAM_ROWS", 10)
    second, streamed = permuted_statistics(x, y, 5000, np.random.default_rng(1))
    assert first == pytest.approx(second, rel=1e-9)
    assert stats.ks_2samp(orbits - orbits.mean(), streamed - streamed.mean()).pvalue > 0.001
    assert np.std(orbits) == pytest.approx(np.std(streamed), rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["numbers", "classes"])
def test_memory_is_linear_in_the_rows(
    target: str, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """No array of the size of a Gram matrix, whether y has coordinates or not."""
    import tracemalloc

    m = 3000
    monkeypatch.setattr(permutation, "BAND_VALUES", 64 * m)
    monkeypatch.setattr(permutation, "STREAM_ROWS", 1000)
    y = rng.normal(size=m) if target == "numbers" else rng.integers(0, 3, m)
    x, y = read_pair(rng.normal(size=(m, 2)), y, Gaussian(1.0), "auto")
    tracemalloc.start()
    permuted_statistics(x, y, 20, np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * m**2 / 2  # half of one matrix in float32


def test_pvalue_does_not_depend_on_jobs_and_honours_the_seed(rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(2, 300))
    for method in ("aggregate", "permutation"):
        results = {
            hsic_test(x, y, method=method, random_state=7, n_jobs=jobs).pvalue
            for jobs in (None, 1, 2)
        }
        assert len(results) == 1
    assert hsic_test(x, y, random_state=7) == hsic_test(x, y, random_state=7)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["aggregate", "permutation"])
def test_permutation_pvalues_are_uniform_under_independence(
    method: str, rng: np.random.Generator
) -> None:
    pvalues = [
        hsic_test(
            rng.normal(size=(20, 2)),
            rng.normal(size=20),
            method=method,
            n_permutations=199,
            random_state=seed,
        )
        for seed in range(400)
    ]
    smoothed = np.array([test.pvalue for test in pvalues]) - rng.random(400) / 200
    assert stats.kstest(smoothed, "uniform").pvalue > 0.001


def test_ties_count_for_the_null() -> None:
    """Discrete data: permutations that change nothing must reach the observed value."""
    x = y = np.array([0.0, 0, 0, 0, 0, 0, 1, 1])
    test = hsic_test(x, y, kernel=Gaussian(1.0), target_kernel=Gaussian(1.0), random_state=0)
    assert test.pvalue == pytest.approx(1 / 28, abs=0.025)


@pytest.mark.parametrize("shape", ["linear", "quadratic", "circle", "sine", "xor"])
@pytest.mark.parametrize("method", ["aggregate", "permutation", "gamma"])
def test_usual_shapes_are_found(shape: str, method: str, rng: np.random.Generator) -> None:
    angle = rng.uniform(0, 2 * np.pi, 200)
    x = rng.uniform(-1, 1, (200, 2))
    inputs, target = {
        "linear": (x[:, 0], x[:, 0]),
        "quadratic": (x[:, 0], x[:, 0] ** 2),
        "circle": (np.cos(angle), np.sin(angle)),
        "sine": (x[:, 0], np.sin(2 * np.pi * x[:, 0])),
        "xor": (x, (x[:, 0] * x[:, 1] > 0).astype(int)),
    }[shape]
    noise = 0.0 if shape == "xor" else 0.1 * rng.normal(size=200)
    assert hsic_test(inputs, target + noise, method=method, random_state=0).pvalue < 0.01


def test_strings_and_labels() -> None:
    words = ["acgtacgt", "acgtacga", "ttttcccc", "ttttccca"] * 5
    labels = [0, 0, 1, 1] * 5
    test = hsic_test(words, labels, kernel="subsequence", random_state=0)
    assert test.pvalue < 0.01


def test_bad_arguments(rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(2, 10))
    with pytest.raises(ValueError, match="method must be 'aggregate'"):
        hsic_test(x, y, method="normal")
    with pytest.raises(ValueError, match="n_permutations"):
        hsic_test(x, y, n_permutations=0)
