"""A kernel per group of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from depmax import hsic, resolve
from depmax.kernels import Columns, Delta, Gaussian, Laplace, Linear, Spectrum
from tests.dependence.oracles import dense_hsic

rng = np.random.default_rng(0)
X = rng.normal(size=(20, 3))
y = X[:, 0] ** 2 + X[:, 2]
WORDS = ["".join(word) for word in rng.choice(list("acgt"), size=(20, 6))]
COLOURS = rng.choice(["red", "green", "blue"], size=20)
FRAMES = [
    pytest.param(lambda columns: pd.DataFrame(columns), id="pandas"),
    pytest.param(lambda columns: pl.DataFrame(columns), id="polars"),
]


def by_name() -> Columns:
    return Columns([("size", Gaussian(1.0), ["a", "c"]), ("weight", Linear(), "b")])


class TestPositions:
    def test_parts_multiply_by_default_and_add_on_request(self) -> None:
        parts = [("size", Gaussian(1.0), [0, 2]), ("weight", Linear(), 1)]
        left, right = Gaussian(1.0)(X[:, [0, 2]]), np.outer(X[:, 1], X[:, 1])
        np.testing.assert_allclose(Columns(parts)(X), left * right)
        np.testing.assert_allclose(Columns(parts, combine="add")(X), left + right)
        np.testing.assert_allclose(Columns(parts).diag(X), np.diag(left * right))
        np.testing.assert_allclose(Columns(parts)(X[:4], X[4:]), (left * right)[:4, 4:])

    @pytest.mark.parametrize("columns", [1, [1], (1,), np.int64(1), np.array([1])], ids=repr)
    def test_one_column_in_any_form(self, columns: Any) -> None:
        found = Columns([("b", Gaussian(1.0), columns)])(X)
        np.testing.assert_allclose(found, Gaussian(1.0)(X[:, 1]))

    def test_columns_that_no_part_names_are_not_compared(self) -> None:
        kernel = Columns([("a", Gaussian(1.0), 0)])
        other = X.copy()
        other[:, 1:] = 7.0
        np.testing.assert_array_equal(kernel(X), kernel(other))

    def test_positions_beyond_the_table_are_refused(self) -> None:
        kernel = Columns([("a", Linear(), [0, 5])])
        for rows in (X, pd.DataFrame(X), sparse.csr_matrix(X)):
            with pytest.raises(ValueError, match=r"positions \[5\].*3 columns"):
                kernel(rows)


@pytest.mark.parametrize("frame", FRAMES)
class TestNames:
    def test_a_frame_is_read_by_name(self, frame: Any) -> None:
        expected = Gaussian(1.0)(X[:, [0, 2]]) * np.outer(X[:, 1], X[:, 1])
        rows = frame({"b": X[:, 1], "c": X[:, 2], "a": X[:, 0]})
        np.testing.assert_allclose(by_name()(rows), expected)
        np.testing.assert_allclose(by_name()(rows[:5], rows[5:]), expected[:5, 5:])
        np.testing.assert_allclose(by_name().diag(rows), np.diag(expected))

    def test_a_frame_is_read_by_position_too(self, frame: Any) -> None:
        rows = frame({"b": X[:, 1], "a": X[:, 0]})
        found = Columns([("first", Linear(), 0)])(rows)
        np.testing.assert_allclose(found, np.outer(X[:, 1], X[:, 1]))

    def test_measures_read_it_likewise(self, frame: Any) -> None:
        rows = frame({"b": X[:, 1], "c": X[:, 2], "a": X[:, 0]})
        expected = dense_hsic(by_name()(rows), Gaussian()(y), unbiased=True)
        assert hsic(rows, y, kernel=by_name()) == pytest.approx(expected, rel=1e-10)

    def test_unknown_names_are_refused_with_those_that_exist(self, frame: Any) -> None:
        rows = frame({"a": X[:, 0], "b": X[:, 1]})
        with pytest.raises(ValueError, match=r"\['c'\].* its columns"):
            by_name()(rows)
        with pytest.raises(ValueError, match=r"Part 'size' .*\['c'\]"):
            hsic(rows, y, kernel=by_name())

    def test_strings_numbers_and_categories_side_by_side(self, frame: Any) -> None:
        kernel = Columns(
            [
                ("text", Spectrum(2), "word"),
                ("size", Gaussian(1.0), ["a", "b"]),
                ("colour", Delta(), "colour"),
            ],
            combine="add",
        )
        rows = frame({"a": X[:, 0], "word": WORDS, "b": X[:, 1], "colour": COLOURS.tolist()})
        K = Spectrum(2)(WORDS) + Gaussian(1.0)(X[:, :2]) + Delta()(COLOURS)
        np.testing.assert_allclose(kernel(rows), K)
        found = hsic(rows, y, kernel=kernel)
        assert found == pytest.approx(dense_hsic(K, Gaussian()(y), unbiased=True), rel=1e-10)

    def test_categorical_columns_are_levels_for_delta(self, frame: Any) -> None:
        rows = frame({"a": X[:, 0], "colour": COLOURS.tolist()})
        if isinstance(rows, pd.DataFrame):
            rows = rows.astype({"colour": "category"})
        else:
            rows = rows.with_columns(pl.col("colour").cast(pl.Categorical))
        kernel = Columns([("size", Gaussian(1.0), "a"), ("colour", Delta(), "colour")])
        K = Gaussian(1.0)(X[:, 0]) * Delta()(COLOURS)
        expected = dense_hsic(K, Gaussian()(y), unbiased=True)
        assert hsic(rows, y, kernel=kernel) == pytest.approx(expected, rel=1e-10)


class TestBinding:
    def test_names_become_positions(self) -> None:
        bound = by_name().bind(["b", "c", "a"])
        assert [columns for _, _, columns in bound.get_params()["parts"]] == [[2, 1], [0]]
        np.testing.assert_allclose(
            bound(X[:, [1, 2, 0]]), by_name()(pd.DataFrame(X, columns=list("abc")))
        )

    def test_positions_stay(self) -> None:
        bound = Columns([("a", Linear(), [2, 0])]).bind(["x", "y", "z"])
        assert bound.get_params()["parts"][0][2] == [2, 0]

    def test_missing_names_are_refused(self) -> None:
        with pytest.raises(ValueError, match=r"Part 'weight' .*\['b'\]"):
            by_name().bind(["a", "c"])

    def test_names_on_an_array_are_refused(self) -> None:
        with pytest.raises(ValueError, match=r"\['a', 'c'\].* array"):
            by_name()(X)
        with pytest.raises(ValueError, match="which X does not have"):
            hsic(X, y, kernel=by_name())

    def test_the_kernel_itself_is_not_changed(self) -> None:
        kernel = by_name()
        kernel.bind(["a", "b", "c"])
        assert kernel.parts[0][2] == ["a", "c"]


class TestParameters:
    def test_nested_ones_are_listed_under_the_parts_name(self) -> None:
        params = by_name().get_params()
        assert params["size__bandwidth"] == 1.0
        assert params["combine"] == "multiply"
        assert set(by_name().get_params(deep=False)) == {"parts", "combine"}

    def test_nested_ones_are_set(self) -> None:
        kernel = by_name().set_params(size__bandwidth=3.0, combine="add")
        assert kernel.parts[0][1].bandwidth == 3.0
        assert kernel.combine == "add"

    def test_parts_are_replaced_before_their_parameters_are_set(self) -> None:
        kernel = by_name().set_params(parts=[("a", Laplace(), 0)], a__bandwidth=2.0)
        np.testing.assert_allclose(kernel(X), Laplace(2.0)(X[:, :1]))

    @pytest.mark.parametrize("name", ["length", "other__bandwidth", "size"])
    def test_unknown_ones_are_refused_with_the_parts(self, name: str) -> None:
        with pytest.raises(ValueError, match=r"parts .*\['size', 'weight'\]"):
            by_name().set_params(**{name: 1.0})

    def test_a_part_given_by_name_has_none(self) -> None:
        kernel = Columns([("a", "gaussian", 0)])
        assert set(kernel.get_params()) == {"parts", "combine"}
        with pytest.raises(ValueError, match="'a__bandwidth'"):
            kernel.set_params(a__bandwidth=1.0)


class TestRecipes:
    def test_each_part_is_resolved_on_its_own_columns(self) -> None:
        recipe = Columns([("a", "gaussian", [0, 1]), ("b", Laplace(), 2)])
        assert not recipe.is_resolved
        with pytest.raises(ValueError, match="is a recipe"):
            recipe(X, X)
        first, second = (kernel for _, kernel, _ in resolve(recipe, X).get_params()["parts"])
        assert first.bandwidth == resolve("gaussian", X[:, :2]).bandwidth
        assert second.bandwidth == resolve("laplace", X[:, 2]).bandwidth

    def test_maximize_is_chosen_for_each_part_alone(self) -> None:
        recipe = Columns([("a", Gaussian("maximize"), [0, 1]), ("b", Gaussian("maximize"), 2)])
        parts = resolve(recipe, X, y).get_params()["parts"]
        assert parts[0][1].bandwidth == resolve(Gaussian("maximize"), X[:, :2], y).bandwidth
        assert parts[1][1].bandwidth == resolve(Gaussian("maximize"), X[:, 2], y).bandwidth


@pytest.mark.parametrize("combine", ["multiply", "add"])
def test_coordinates_reproduce_the_kernel(combine: Any, rng: np.random.Generator) -> None:
    codes = np.column_stack([X, rng.integers(0, 3, 20)])
    weights = {0.0: 1.0, 1.0: 2.0, 2.0: 0.5}
    kernel = Columns([("a", Linear(), [0, 1]), ("c", Delta(weights), 3)], combine=combine)
    assert kernel.has_features
    phi = kernel.features(codes)
    np.testing.assert_allclose(phi @ phi.T, kernel(codes), atol=1e-12)
    assert not Columns([("a", Gaussian(1.0), 0)]).has_features


class TestRefusals:
    @pytest.mark.parametrize("parts", [[], [("a", Linear())]])
    def test_parts_that_are_none(self, parts: Any) -> None:
        with pytest.raises(ValueError, match=r"\(name, kernel, columns\)"):
            Columns(parts)(X)

    def test_two_parts_of_one_name(self) -> None:
        with pytest.raises(ValueError, match="need different names, got"):
            Columns([("a", Linear(), 0), ("a", Linear(), 1)])(X)

    def test_unknown_ways_to_combine(self) -> None:
        with pytest.raises(ValueError, match="combine of Columns"):
            Columns([("a", Linear(), 0)], combine="max")(X)

    def test_labels_of_several_columns(self) -> None:
        with pytest.raises(ValueError, match=r"Delta .*2 columns"):
            Columns([("a", Delta(), [0, 1])])(X)
