"""Bandwidths: numbers, and policies that read one off data."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import pdist

from depmax import hsic, resolve
from depmax.kernels import Gaussian, InverseDistance, InverseMultiquadric, Laplace
from depmax.kernels.distances import (
    GRID,
    MEDIAN_ROWS,
    BandwidthKernel,
    median_distance,
    squared_distances,
)
from depmax.maps import KernelMap

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4))
y = X[:, 0] ** 2
KERNELS = [Gaussian, Laplace, InverseMultiquadric, InverseDistance]


class TestMedian:
    @given(seed=st.integers(0, 10**6), m=st.integers(2, 12), norm=st.sampled_from([1, 2]))
    @settings(max_examples=40, deadline=None)
    def test_is_the_median_over_all_pairs(self, seed: int, m: int, norm: int) -> None:
        rows = np.random.default_rng(seed).normal(size=(m, 3))
        distances = [np.linalg.norm(a - b, norm) for a, b in combinations(rows, 2)]
        assert median_distance(rows, norm) == pytest.approx(np.median(distances), rel=1e-12)

    def test_each_kernel_uses_its_own_norm(self) -> None:
        assert resolve("gaussian", X).bandwidth == median_distance(X, 2)
        assert resolve("laplace", X).bandwidth == median_distance(X, 1)
        assert resolve(Laplace(norm=2), X).bandwidth == median_distance(X, 2)

    def test_sparse_rows_have_the_same(self, rng: np.random.Generator) -> None:
        counts = rng.poisson(0.5, size=(30, 8)).astype(float)
        expected = median_distance(counts)
        assert median_distance(sparse.csr_matrix(counts)) == pytest.approx(expected, rel=1e-12)

    def test_scales_with_the_data(self) -> None:
        assert median_distance(3.0 * X + 7.0) == pytest.approx(3.0 * median_distance(X))

    def test_zero_median_gives_way_to_the_positive_distances(self) -> None:
        """More than half of the pairs coincide, as in counts and indicators."""
        rows = np.zeros((10, 1))
        rows[:2, 0] = [3.0, 5.0]
        distances = [abs(a - b) for a, b in combinations(rows[:, 0], 2)]
        assert np.median(distances) == 0.0
        positive = [distance for distance in distances if distance > 0]
        assert median_distance(rows) == np.median(positive)
        assert np.isfinite(hsic(rows, np.arange(10.0)))

    @pytest.mark.parametrize("m", [1, 2, 10])
    def test_equal_rows_have_one(self, m: int) -> None:
        assert median_distance(np.full((m, 2), 0.1)) == 1.0
        assert resolve("gaussian", np.full((m, 2), 0.1)).bandwidth == 1.0


class TestManyRows:
    """Beyond ``MEDIAN_ROWS`` a random subset stands for all."""

    def test_up_to_the_limit_every_row_counts(self) -> None:
        rows = np.random.default_rng(1).normal(size=(MEDIAN_ROWS + 1, 2))
        assert median_distance(rows[:-1]) == np.median(pdist(rows[:-1]))
        assert median_distance(rows) == pytest.approx(np.median(pdist(rows)), rel=0.01)

    def test_neither_global_seeds_nor_other_draws_matter(self) -> None:
        rows = np.random.default_rng(1).normal(size=(MEDIAN_ROWS + 500, 2))
        expected = median_distance(rows)
        np.random.seed(5)  # noqa: NPY002  (the old global state is what must not matter)
        assert median_distance(rows) == expected

    def test_sorted_rows_are_not_represented_by_the_first_ones(self) -> None:
        values = np.sort(np.random.default_rng(2).uniform(size=10_000))[:, np.newaxis]
        exact = 1 - 1 / np.sqrt(2)  # median distance of two uniform numbers
        assert median_distance(values) == pytest.approx(exact, rel=0.05)
        assert median_distance(values[:MEDIAN_ROWS]) < 0.3 * exact

    def test_sparse_rows_are_sampled_alike(self) -> None:
        rows = np.random.default_rng(4).poisson(1.0, size=(MEDIAN_ROWS + 100, 3)).astype(float)
        expected = median_distance(rows)
        assert median_distance(sparse.csr_matrix(rows)) == pytest.approx(expected, rel=1e-12)


class TestDimension:
    @pytest.mark.parametrize("kernel", [Gaussian, InverseMultiquadric, InverseDistance])
    def test_is_the_root_of_the_number_of_columns(self, kernel: Any) -> None:
        assert resolve(kernel("dimension"), X).bandwidth == 2.0

    def test_follows_the_norm_of_laplace(self) -> None:
        assert resolve(Laplace("dimension"), X).bandwidth == 4.0
        assert resolve(Laplace("dimension", norm=2), X).bandwidth == 2.0

    def test_gaussian_is_the_kernel_for_standardised_data(self) -> None:
        x, z = X[:1], X[1:2]
        expected = np.exp(-np.sum((x - z) ** 2) / (2 * 4))
        assert Gaussian("dimension")(X)[0, 1] == pytest.approx(expected)


class TestMaximize:
    def test_the_largest_hsic_of_the_grid_is_taken(self) -> None:
        chosen = resolve(Gaussian("maximize"), X, y).bandwidth
        widths = [factor * median_distance(X) for factor in GRID]
        values = [hsic(X, y, kernel=Gaussian(width)) for width in widths]
        assert chosen == widths[int(np.argmax(values))]

    def test_needs_a_target(self) -> None:
        with pytest.raises(ValueError, match=r'bandwidth="maximize" .*target'):
            resolve(Gaussian("maximize"), X)
        with pytest.raises(ValueError, match="needs a target to depend on"):
            Laplace("maximize")(X)
        with pytest.raises(ValueError, match="needs a target to depend on"):
            Gaussian("maximize").diag(X)

    def test_is_refused_by_maps_by_name(self) -> None:
        with pytest.raises(ValueError, match="'median' or 'dimension' here"):
            KernelMap(kernel=Gaussian("maximize")).fit(X)

    def test_other_parameters_are_kept(self) -> None:
        assert resolve(Laplace("maximize", norm=2), X, y).norm == 2


@pytest.mark.parametrize("kernel", KERNELS)
class TestNumbers:
    @pytest.mark.parametrize("width", [0.7, 2, np.float32(0.5), np.int64(3)], ids=repr)
    def test_positive_ones_stay_as_they_are(self, kernel: Any, width: Any) -> None:
        made: BandwidthKernel = kernel(width)
        assert made.is_resolved
        assert made.resolve(X) is made
        assert np.isfinite(made(X)).all()

    @pytest.mark.parametrize("width", [0, 0.0, -1.0, np.nan, np.inf, None], ids=repr)
    def test_others_are_refused(self, kernel: Any, width: Any) -> None:
        message = f"bandwidth of {kernel.__name__} must be a positive number"
        for use in (kernel(width), kernel(width).resolve):
            with pytest.raises(ValueError, match=message):
                use(X)

    def test_unknown_policies_are_refused_with_the_known_ones(self, kernel: Any) -> None:
        with pytest.raises(ValueError, match=r"bandwidth of .*'dimension'"):
            kernel("mean")(X)

    def test_a_recipe_compares_no_two_sets_of_rows(self, kernel: Any) -> None:
        assert not kernel().is_resolved
        with pytest.raises(ValueError, match=r"recipe.*depmax\.resolve"):
            kernel()(X, X[:3])

    def test_resolving_changes_a_copy(self, kernel: Any) -> None:
        recipe = kernel()
        resolved = recipe.resolve(X)
        assert recipe.bandwidth == "median"
        assert isinstance(resolved.bandwidth, float)
        np.testing.assert_allclose(recipe(X), resolved(X, X), rtol=1e-9)


def test_squared_distances_of_a_column_with_a_heavy_tail_are_exact() -> None:
    column = np.array([[0.1], [0.2], [0.7], [5e9]])
    slow = (column - column.T) ** 2
    np.testing.assert_array_equal(squared_distances(column, column), slow)
    np.testing.assert_array_equal(squared_distances(column[:2], column), slow[:2])
    single = column.astype(np.float32)
    assert squared_distances(single, single).dtype == np.float32


def test_squared_distances_to_one_row_are_those_to_the_same_row_among_others() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3)) + 1e6
    np.testing.assert_allclose(
        squared_distances(X, X[7:8])[:, 0], squared_distances(X, X)[:, 7], rtol=1e-8
    )


def test_squared_distances_far_from_the_origin_keep_their_digits() -> None:
    near = squared_distances(X[:10], X[10:])
    slow = ((X[:10, np.newaxis] - X[np.newaxis, 10:]) ** 2).sum(axis=2)
    np.testing.assert_allclose(near, slow, rtol=1e-12)
    np.testing.assert_allclose(squared_distances(X[:10] + 1e6, X[10:] + 1e6), slow, rtol=1e-8)
    assert (np.diag(squared_distances(X, X)) == 0.0).all()
