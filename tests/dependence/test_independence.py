from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from depmax import hsic, hsic_test
from depmax.dependence._nulls import permutation
from depmax.dependence._nulls.permutation import permuted_statistics
from depmax.dependence.resolve import read_pair
from depmax.kernels import Gaussian
from depmax.samples import Sample

rng = np.random.default_rng(0)


def _explicit(x: Sample, y: Sample, orders: list[np.ndarray]) -> np.ndarray:
    """HSIC₁ of each permutation of y's rows, recomputed from scratch."""
    from tests.dependence.oracles import dense_hsic

    K, L = x.gram(), y.gram()
    return np.array([dense_hsic(K, L[np.ix_(order, order)], unbiased=True) for order in orders])


@pytest.mark.parametrize("m", [8, 9, 31, 64, 75])
def test_orbits_hold_true_permutations(m: int, rng: np.random.Generator) -> None:
    """Every cyclic shift of a relabelled side gives the HSIC of that permutation."""
    x, y = read_pair(rng.normal(size=(m, 2)), rng.normal(size=m), Gaussian(1.0), Gaussian(1.0))
    label = rng.permutation(m)
    left, sums_left = permutation.circular_diagonals(x.take(label))
    right, sums_right = permutation.circular_diagonals(y.take(label), n_jobs=2)
    gram = x.take(label).gram()
    np.testing.assert_allclose(sums_left, gram.sum(axis=1) - np.diag(gram), atol=1e-12)
    inner = permutation.correlate_diagonals(left, right, m)
    middle = np.fft.irfft(np.conj(np.fft.rfft(sums_left)) * np.fft.rfft(sums_right), n=m)
    varying = (inner - 2 * middle / (m - 2)) / (m * (m - 3))
    place = np.argsort(label)  # row i sits at place[i] of the relabelled order
    orders = [label[(place + shift) % m] for shift in range(m)]
    expected = _explicit(x, y, orders)
    np.testing.assert_allclose(varying - varying[0], expected - expected[0], atol=1e-12)


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


def test_pvalue_does_not_depend_on_jobs_and_honours_the_seed(rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(2, 300))
    results = [hsic_test(x, y, random_state=7, n_jobs=jobs).pvalue for jobs in (None, 1, 2)]
    assert len(set(results)) == 1
    assert hsic_test(x, y, random_state=7) == hsic_test(x, y, random_state=7)


@pytest.mark.slow
def test_permutation_pvalues_are_uniform_under_independence(rng: np.random.Generator) -> None:
    pvalues = [
        hsic_test(rng.normal(size=(20, 2)), rng.normal(size=20), n_permutations=199, random_state=s)
        for s in range(400)
    ]
    smoothed = np.array([test.pvalue for test in pvalues]) - rng.random(400) / 200
    assert stats.kstest(smoothed, "uniform").pvalue > 0.001


def test_ties_count_for_the_null() -> None:
    """Discrete data: permutations that change nothing must reach the observed value."""
    x = y = np.array([0.0, 0, 0, 0, 0, 0, 1, 1])
    test = hsic_test(x, y, kernel=Gaussian(1.0), target_kernel=Gaussian(1.0), random_state=0)
    assert test.pvalue == pytest.approx(1 / 28, abs=0.025)


@pytest.mark.parametrize("shape", ["linear", "quadratic", "circle", "sine", "xor"])
@pytest.mark.parametrize("method", ["permutation", "gamma"])
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
    with pytest.raises(ValueError, match="method must be 'permutation' or 'gamma'"):
        hsic_test(x, y, method="normal")
    with pytest.raises(ValueError, match="n_permutations must be at least 1"):
        hsic_test(x, y, n_permutations=0)
