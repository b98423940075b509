"""The three moments of the permutation law are exact; its tail is close.

Private modules: moments and tails of the law have no public name; a p-value shows one point of
them.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import special, stats

from depmax import hsic_test, screen
from depmax.data.sample import read_sample
from depmax.dependence._nulls import law as null
from depmax.dependence._nulls.law import (
    PermutationLaw,
    mixture_sf,
    permutation_law,
    spread,
    u_centred,
)
from depmax.kernels import Delta, Gaussian, Kernel, Linear

rng = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("left", "right"),
    [(Gaussian(1.0), Gaussian(0.5)), (Linear(), Gaussian(1.0)), (Linear(), Linear())],
)
@pytest.mark.parametrize("m", [6, 7])
def test_moments_over_all_permutations(
    left: Kernel, right: Kernel, m: int, rng: np.random.Generator
) -> None:
    x, y = read_sample(rng.normal(size=(m, 2)), left), read_sample(rng.normal(size=(m, 2)), right)
    A, B = u_centred(x.gram()), u_centred(y.gram())
    values = np.array(
        [np.sum(A * B[np.ix_(order, order)]) for order in itertools.permutations(range(m))]
    ) / (m * (m - 3))
    law = permutation_law(spread(x), spread(y), m)
    assert values.mean() == pytest.approx(0.0, abs=1e-12)
    assert law.scale == pytest.approx(values.std(), rel=1e-10)
    assert law.skewness == pytest.approx(np.mean(values**3) / values.std() ** 3, rel=1e-8)


def test_u_centring_leaves_nothing_in_rows_or_diagonal(rng: np.random.Generator) -> None:
    centred = u_centred(Gaussian(1.0)(rng.normal(size=(10, 2))))
    np.testing.assert_allclose(centred.sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_array_equal(np.diag(centred), 0.0)


def test_a_subset_of_rows_stands_for_all(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    side = read_sample(rng.normal(size=(800, 2)), Gaussian(1.0))
    whole = spread(side)
    monkeypatch.setattr(null, "SKEWNESS_ROWS", 400)
    part = spread(side)
    assert part.squares == pytest.approx(whole.squares, rel=1e-9)
    assert part.triangles == pytest.approx(whole.triangles, rel=0.1)
    assert part.leading[0] == pytest.approx(whole.leading[0], rel=0.1)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear(), Gaussian(3.0)])
def test_iterated_subspace_finds_the_leading_eigenvalues(
    kernel: Kernel, rng: np.random.Generator
) -> None:
    centred = u_centred(kernel(rng.normal(size=(400, 3))))
    exact = np.linalg.eigvalsh(centred)[::-1]
    found = null.leading_eigenvalues(centred)
    np.testing.assert_allclose(found[:2], exact[:2], rtol=1e-3)


def test_a_constant_side_gives_pvalue_one(rng: np.random.Generator) -> None:
    constant = read_sample(np.ones((20, 1)), Gaussian(1.0))
    other = read_sample(rng.normal(size=(20, 1)), Gaussian(1.0))
    assert permutation_law(spread(constant), spread(other), 20).sf(1e-17) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("m", [1200, 3000])
def test_low_rank_sides_beyond_the_subset_are_calibrated(m: int) -> None:
    """Most of the variance sits in the leading weights, so the remainder is almost nothing."""
    local = np.random.default_rng(0)
    pvalues = [
        hsic_test(
            local.normal(size=(m, 3)),
            local.normal(size=m),
            kernel=kernel,
            target_kernel=target,
            method="gamma",
        ).pvalue
        for kernel, target in (("linear", "gaussian"), ("linear", "linear"), ("gaussian", "linear"))
        for _ in range(4)
    ]
    assert min(pvalues) > 0.001
    assert max(pvalues) < 1.0


def test_class_targets_of_few_rows_have_a_law() -> None:
    for seed in range(60, 100):
        local = np.random.default_rng(seed)
        test = hsic_test(local.normal(size=(30, 2)), local.integers(0, 3, 30), method="gamma")
        assert 0.0 < test.pvalue <= 1.0


def test_an_offset_changes_no_pvalue() -> None:
    local = np.random.default_rng(1)
    x = local.normal(size=(200, 2))
    y = x[:, 0] + local.normal(size=200)
    for method in ("gamma", "permutation"):
        near, far = (
            hsic_test(x + shift, y, kernel="linear", method=method, random_state=0).pvalue
            for shift in (0.0, 1e6)
        )
        assert far == pytest.approx(near, rel=1e-3)


def test_inverse_of_the_tail(rng: np.random.Generator) -> None:
    labels = Delta()(rng.integers(0, 2, 50))
    x = read_sample(rng.normal(size=(50, 1)), Gaussian(1.0))
    y = read_sample(labels, "precomputed")
    law = permutation_law(spread(x), spread(y), 50)
    bare = null.PermutationLaw(law.scale, law.skewness)
    for level in (0.5, 0.05, 0.001):
        assert bare.sf(bare.isf(level)) == pytest.approx(level, rel=1e-8)
        assert law.sf(law.isf(level)) == pytest.approx(level, rel=0.35)


@pytest.mark.parametrize("point", [1.0, 3.0, 10.0, 30.0])
def test_saddlepoint_of_one_chi_square(point: float) -> None:
    tail = mixture_sf(point, np.array([1.0]), 0.0, 0.0)
    assert tail == pytest.approx(stats.chi2.sf(point + 1.0, 1), rel=0.08)


def test_saddlepoint_of_a_gamma_and_of_a_normal() -> None:
    third = 8 / np.sqrt(5.0) * 0.5
    expected = stats.pearson3.sf(6.0 / np.sqrt(2.0), third / 2.0**1.5)
    found = mixture_sf(6.0, np.array([]), variance=2.0, third=third)
    assert found == pytest.approx(expected, rel=0.02)


def test_leading_weights_that_missed_the_rare_values() -> None:
    """Weights too small for the skewness are not believed: the gamma law is, and nothing breaks."""
    believed = PermutationLaw(1.0, 3.9)
    for weights in ((5e-14, 8e-18), (0.2,)):
        assert PermutationLaw(1.0, 3.9, weights).sf(2.2) == believed.sf(2.2)
    tiny = mixture_sf(2.2, np.array([5e-14]), 1.0, 0.0)  # next to normal
    np.testing.assert_allclose(tiny, special.ndtr(-2.2), rtol=1e-6)


@pytest.mark.parametrize("rare", [3, 11, 40])
def test_columns_of_rare_values_are_screened(rare: int) -> None:
    """As the terms of texts: nearly all zero."""
    rng = np.random.default_rng(rare)
    column, y = np.zeros(1500), (rng.random(1500) < 0.07).astype(int)
    column[rng.choice(1500, rare, replace=False)] = rng.uniform(0.05, 0.4, size=rare)
    (pvalue,) = screen(column[:, np.newaxis], y).pvalues
    assert 0.0 < pvalue <= 1.0


def test_a_remainder_next_to_normal_has_a_tail() -> None:
    """A third cumulant of nothing but rounding gives a gamma law of shape 10³³."""
    parts = 1.1913981358024444, np.array([0.29534951]), 0.8255373376342038
    expected = mixture_sf(*parts, 0.0)
    assert mixture_sf(*parts, 2.7755575615628914e-17) == pytest.approx(expected, rel=1e-12)


def test_a_value_beyond_the_reach_of_the_formula_is_bounded() -> None:
    assert 0.0 < mixture_sf(1e4, np.array([0.5, 1e-12]), 1e-30, 1e-27) < 1e-8


def test_the_table_that_had_no_root() -> None:
    x, y = (
        np.array([int(digit) for digit in digits], dtype=float)
        for digits in ("210111101011000101021000010010", "010001000000000000000000000000")
    )
    (pvalue,) = screen(x[:, np.newaxis], y.astype(int)).pvalues
    assert 0.0 < pvalue <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize("m", [6, 12, 30])
def test_tiny_discrete_tables_have_pvalues(m: int) -> None:
    local = np.random.default_rng(m)
    for share in (0.1, 0.3):
        columns = local.binomial(2, share, size=(m, 400)).astype(float)
        y = local.permutation(np.arange(m) < max(2, round(share * m))).astype(int)
        pvalues = screen(columns, y).pvalues
        assert ((pvalues > 0.0) & (pvalues <= 1.0)).all()
