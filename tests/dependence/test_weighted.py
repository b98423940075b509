"""Weights of rows: unbiased estimates, by their definition and over draws, and exact tests.

Private modules: images of weighted rows are compared with their definition before a statistic hides
them.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.utils.class_weight import compute_sample_weight

from depmax import hsic, hsic_test, screen
from depmax.data.sample import Sample
from depmax.dependence._nulls.weighted import are_of_classes, weighted_sides, with_weights
from depmax.kernels import Delta, Gaussian, Linear


def over_distinct_copies(K: np.ndarray, L: np.ndarray, weights: np.ndarray) -> float:
    """HSIC₁ as the average of k l - 2 k l' + k l'' over distinct copies of rows, one by one."""
    rows = np.repeat(np.arange(len(weights)), weights)
    m, pairs, triples, fours = len(rows), 0.0, 0.0, 0.0
    for i, j in permutations(range(m), 2):
        pairs += K[rows[i], rows[j]] * L[rows[i], rows[j]]
    for i, j, q in permutations(range(m), 3):
        triples += K[rows[i], rows[j]] * L[rows[i], rows[q]]
    for i, j, q, r in permutations(range(m), 4):
        fours += K[rows[i], rows[j]] * L[rows[q], rows[r]]
    two = m * (m - 1)
    three, four = two * (m - 2), two * (m - 2) * (m - 3)
    return pairs / two - 2 * triples / three + fours / four


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.0)])
def test_unbiased_hsic_is_the_average_over_distinct_copies(
    kernel: Any, rng: np.random.Generator
) -> None:
    x, y, weights = rng.normal(size=(5, 1)), rng.normal(size=(5, 1)), np.array([1, 3, 0, 2, 2])
    expected = over_distinct_copies(kernel(x), kernel(y), weights)
    found = hsic(x, y, kernel=kernel, target_kernel=kernel, sample_weight=weights)
    assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.0)])
def test_counts_of_independent_rows_give_an_unbiased_estimate(
    kernel: Any, rng: np.random.Generator
) -> None:
    """A table of four cells with multinomial counts: the population value is known."""
    cells = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    shares = np.array([0.4, 0.1, 0.2, 0.3])
    K, L = kernel(cells[:, :1]), kernel(cells[:, 1:])
    k_mean, l_mean = K @ shares, L @ shares
    truth = (
        shares @ (K * L) @ shares
        - 2 * shares @ (k_mean * l_mean)
        + (shares @ k_mean) * (shares @ l_mean)
    )
    counts = rng.multinomial(12, shares, size=600)
    values = [
        hsic(cells[:, :1], cells[:, 1:], kernel=kernel, target_kernel=kernel, sample_weight=count)
        for count in counts
    ]
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - truth) < 4 * error
    biased = [
        hsic(
            cells[:, :1],
            cells[:, 1:],
            kernel=kernel,
            target_kernel=kernel,
            unbiased=False,
            sample_weight=count,
        )
        for count in counts[:200]
    ]
    assert np.mean(biased) - truth > 4 * np.std(biased) / np.sqrt(200)


def test_weighted_images_have_the_weighted_covariance(rng: np.random.Generator) -> None:
    """Whether from coordinates or from the kernel matrix, and about zero."""
    x, weights = rng.normal(size=(30, 2)), rng.uniform(0.2, 3.0, 30)
    weights *= 30 / weights.sum()
    narrow = with_weights(Sample(Linear(), x, weight=weights))
    matrix = with_weights(Sample(Gaussian(1.0), x, weight=weights))
    assert_allclose(narrow.rows.sum(axis=0), 0.0, atol=1e-12)
    assert_allclose(matrix.gram().sum(axis=0), 0.0, atol=1e-12)
    y = rng.normal(size=30)
    squared = float(np.sum((narrow.rows.T @ (y - y.mean())) ** 2))
    expected = hsic(
        x,
        y,
        kernel="linear",
        target_kernel="linear",
        unbiased=False,
        sample_weight=weights,
    )
    assert_allclose(squared / 29**2, expected, rtol=1e-10)


def weights_of(x: np.ndarray) -> np.ndarray:
    """Weights that depend strongly on X."""
    return np.exp(1.5 * x)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["aggregate", "permutation"])
def test_weights_that_belong_to_x_keep_the_level(method: Any, rng: np.random.Generator) -> None:
    pvalues = []
    for seed in range(100):
        x, y = rng.normal(size=(2, 40))
        found = hsic_test(
            x,
            y,
            kernel="gaussian",
            method=method,
            n_permutations=99,
            random_state=seed,
            sample_weight=weights_of(x),
        )
        pvalues.append(found.pvalue)
    rejected = int(np.sum(np.array(pvalues) <= 0.05))
    assert rejected <= 13  # binomial(100, 0.05): more with probability 0.0005


@pytest.mark.slow
def test_screening_with_weights_keeps_the_level(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(60, 80)), rng.integers(0, 2, 60)
    found = screen(X, y, sample_weight=weights_of(rng.normal(size=60)))
    assert int((found.pvalues <= 0.05).sum()) <= 11


@pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
def test_dependence_is_found_with_weights(kernel: str, rng: np.random.Generator) -> None:
    x = rng.normal(size=100)
    X = np.column_stack([x, rng.normal(size=100)])
    found = screen(X, x**2, kernel=kernel, sample_weight=rng.uniform(0.5, 2.0, 100))
    assert found.pvalues[0] <= 0.001
    assert found.pvalues[1] > 0.001
    assert list(found.to_frame("pandas").columns) == [
        "column",
        "rank",
        "score",
        "pvalue",
        "pvalue_adjusted",
    ]


def test_rows_of_weight_zero_take_no_part_in_a_test(rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(2, 50))
    weights = np.where(np.arange(50) < 40, 1.0, 0.0)
    found = hsic_test(x, y, random_state=0, sample_weight=weights)
    assert found.n_samples == 40
    alone = hsic_test(x[:40], y[:40], random_state=0)
    assert_allclose(found.standardized, alone.standardized, rtol=1e-6)
    assert found.pvalue == alone.pvalue


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": np.arange(30)}, "sample_weight or groups"),
        ({"given": np.arange(30.0)}, "sample_weight or given"),
        ({"method": "gamma"}, "'aggregate' or 'permutation'"),
    ],
)
def test_what_has_no_exact_test_with_weights_is_refused(
    options: dict[str, Any], message: str, rng: np.random.Generator
) -> None:
    x, y = rng.normal(size=(2, 30))
    with pytest.raises(ValueError, match=message):
        hsic_test(x, y, sample_weight=np.ones(30), **options)


def balanced(y: np.ndarray) -> np.ndarray:
    """Weights with which all classes count alike."""
    return compute_sample_weight("balanced", y)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["aggregate", "permutation"])
def test_class_weights_keep_the_level(method: Any, rng: np.random.Generator) -> None:
    """Weights of classes belong to y: permuting y against them rejected noise in 92% of draws."""
    pvalues = []
    for seed in range(80):
        y = (np.arange(40) < 6).astype(int)
        x = rng.normal(size=40)
        found = hsic_test(
            x,
            y,
            method=method,
            n_permutations=99,
            random_state=seed,
            sample_weight=balanced(y),
        )
        pvalues.append(found.pvalue)
    assert np.mean(np.array(pvalues) <= 0.05) <= 0.15


@pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
def test_screening_with_class_weights_keeps_the_level(
    kernel: str, rng: np.random.Generator
) -> None:
    y = np.where(np.arange(60) < 6, "case", "control")
    X = rng.normal(size=(60, 150))
    found = screen(X, y, kernel=kernel, sample_weight=balanced(y))
    assert np.mean(found.pvalues <= 0.05) <= 0.12  # 0.05 and four standard errors
    # what is there is found
    X[:, 0] += 3.0 * (y == "case")
    assert screen(X[:, :5], y, kernel=kernel, sample_weight=balanced(y)).pvalues[0] <= 0.001


def test_class_weights_weigh_the_same_covariance(rng: np.random.Generator) -> None:
    """Whichever side has them, Σw(φ - μ)ψ is the same; values with one row each are no classes."""
    x, y = rng.normal(size=(30, 2)), np.arange(30) % 3
    weights = np.array([0.5, 1.0, 1.5])[y]
    of_x, of_y = Sample(Linear(), x), Sample(Delta(), y).resolved()
    assert are_of_classes(of_y, weights)
    assert not are_of_classes(of_y, np.ones(30))
    assert not are_of_classes(of_y, weights_of(x[:, 0]))
    assert not are_of_classes(Sample(Linear(), x[:, :1]), weights)
    plain, weighted = (sides[0] for sides in weighted_sides((of_x,), (of_y,), weights))
    assert plain is of_x
    swapped = weighted.centred_coordinates().T @ x
    about = x - weights @ x / weights.sum()
    direct = of_y.centred_coordinates().T @ (weights[:, np.newaxis] * about)
    assert_allclose(np.linalg.norm(swapped), np.linalg.norm(direct), rtol=1e-10)
