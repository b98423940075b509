"""A kernel given by its matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from depmax import hsic, resolve
from depmax.kernels import Gaussian, Linear, Precomputed
from depmax.maps import KernelMap

rng = np.random.default_rng(0)
X = rng.normal(size=(20, 3))
y = X[:, 0] ** 2
K = Gaussian(1.0)(X)


class TestLookup:
    @pytest.mark.parametrize(
        "rows",
        [
            [3, 0, 3],
            (3, 0, 3),
            np.array([3, 0, 3]),
            np.array([[3], [0], [3]]),
            np.array([3.0, 0.0, 3.0]),
            np.array([3, 0, 3], dtype=object),
            pd.Series([3, 0, 3]),
            pd.DataFrame({"row": [3, 0, 3]}),
        ],
    )
    def test_row_numbers_in_any_form(self, rows: Any) -> None:
        np.testing.assert_array_equal(Precomputed(K)(rows), K[np.ix_([3, 0, 3], [3, 0, 3])])
        np.testing.assert_array_equal(Precomputed(K).diag(rows), np.diag(K)[[3, 0, 3]])

    def test_two_sets_of_row_numbers(self) -> None:
        np.testing.assert_array_equal(Precomputed(K)([1, 2], [5]), K[[1, 2]][:, [5]])

    def test_a_list_of_lists_is_a_matrix(self) -> None:
        assert Precomputed([[2.0, 1.0], [1.0, 3.0]])([1])[0, 0] == 3.0

    def test_no_rows(self) -> None:
        assert Precomputed(K)(np.array([], dtype=int)).shape == (0, 0)


class TestMeasures:
    def test_inputs_by_row_number(self) -> None:
        expected = hsic(X, y, kernel=Gaussian(1.0))
        assert hsic(np.arange(20), y, kernel=Precomputed(K)) == pytest.approx(expected, rel=1e-10)

    def test_targets_by_row_number(self) -> None:
        expected = hsic(X, y, target_kernel=Gaussian(1.0))
        kernel = Precomputed(Gaussian(1.0)(y))
        found = hsic(X, np.arange(20), target_kernel=kernel)
        assert found == pytest.approx(expected, rel=1e-10)

    def test_some_of_the_rows(self, rng: np.random.Generator) -> None:
        rows = rng.permutation(20)[:12]
        expected = hsic(X[rows], y[rows], kernel=Gaussian(1.0))
        assert hsic(rows, y[rows], kernel=Precomputed(K)) == pytest.approx(expected, rel=1e-10)

    def test_blocks(self) -> None:
        """Averages over blocks of rows look up the blocks."""
        found = hsic(np.arange(20), y, kernel=Precomputed(K), block_size=5)
        assert found == pytest.approx(hsic(X, y, kernel=Gaussian(1.0), block_size=5), rel=1e-10)


def test_row_numbers_travel_safely_through_cross_validation() -> None:
    labels = (X[:, 0] > 0).astype(int)
    numbers = np.arange(20)[:, np.newaxis]
    through_matrix = make_pipeline(KernelMap(kernel=Precomputed(K)), LogisticRegression())
    direct = make_pipeline(KernelMap(kernel=Gaussian(1.0)), LogisticRegression())
    np.testing.assert_allclose(
        cross_val_score(through_matrix, numbers, labels, cv=4),
        cross_val_score(direct, X, labels, cv=4),
    )


def test_a_clone_and_a_sum_look_up_the_same_values() -> None:
    kernel = clone(Precomputed(K))
    np.testing.assert_array_equal(kernel([4, 5]), K[4:6, 4:6])
    both = Precomputed(K) + Precomputed(np.eye(20))
    np.testing.assert_allclose(both([4, 5]), K[4:6, 4:6] + np.eye(2))


class TestRefusals:
    @pytest.mark.parametrize("rows", [K, [0.5], [np.nan], ["a"], [None], [[0, 1], [1, 0]]])
    def test_what_is_no_row_number(self, rows: Any) -> None:
        with pytest.raises(ValueError, match=r"X for Precomputed .* numbers"):
            Precomputed(K)(rows)

    @pytest.mark.parametrize("rows", [[20], [-1], [0, 5, 99]])
    def test_rows_that_the_matrix_does_not_have(self, rows: list[int]) -> None:
        with pytest.raises(ValueError, match=r"0\.\.19"):
            Precomputed(K)(rows)

    def test_no_matrix(self) -> None:
        with pytest.raises(ValueError, match=r"Precomputed\(matrix\)"):
            Precomputed()([0])

    @pytest.mark.parametrize("matrix", [K[:5], K[0], np.zeros((2, 2, 2))])
    def test_a_matrix_that_is_not_square(self, matrix: np.ndarray) -> None:
        with pytest.raises(ValueError, match="must be square, got"):
            Precomputed(matrix)([0])

    def test_a_matrix_that_is_not_symmetric(self, rng: np.random.Generator) -> None:
        matrix = K.copy()
        matrix[0, 1] += 1e-6
        with pytest.raises(ValueError, match=r"Pass \(K \+ K\.T\) / 2"):
            resolve(Precomputed(matrix), np.arange(20))
        rounding = K * (1 + 1e-15 * rng.normal(size=K.shape))
        assert resolve(Precomputed(rounding), np.arange(20)).is_resolved
        single = (K * (1 + 1e-7 * rng.normal(size=K.shape))).astype(np.float32)
        assert resolve(Precomputed(single), np.arange(20)).is_resolved

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_a_matrix_that_is_not_finite(self, value: float) -> None:
        matrix = K.copy()
        matrix[2, 3] = matrix[3, 2] = value
        with pytest.raises(ValueError, match="contains NaN or infinity"):
            hsic(np.arange(20), y, kernel=Precomputed(matrix))

    def test_its_name_is_no_kernel_object(self) -> None:
        """``"precomputed"`` means that X itself is the matrix, which a composite cannot know."""
        with pytest.raises(ValueError, match="Unknown kernel 'precomputed'"):
            _ = Linear() + "precomputed"
