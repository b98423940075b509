"""Rows and columns from arrays, lists, sparse matrices and data frames."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from depmax.data import (
    UnseenCategoryWarning,
    column_names,
    read_objects,
    read_table,
    read_target,
)
from depmax.data.columns import is_frame

DAY = datetime.date(2020, 1, 1)


def pandas_frame(columns: dict[str, Any], categorical: tuple[str, ...] = ()) -> pd.DataFrame:
    return pd.DataFrame(columns).astype(dict.fromkeys(categorical, "category"))


def polars_frame(columns: dict[str, Any], categorical: tuple[str, ...] = ()) -> pl.DataFrame:
    return pl.DataFrame(columns).with_columns(pl.col(categorical).cast(pl.Categorical))


LIBRARIES = [
    pytest.param(pandas_frame, id="pandas"),
    pytest.param(polars_frame, id="polars"),
]


class TestArrays:
    @pytest.mark.parametrize(
        "X",
        [
            [[1, 2], [3, 4]],
            ((1, 2), (3, 4)),
            np.array([[1, 2], [3, 4]]),
            np.array([[1, 2], [3, 4]], dtype=object),
            np.array([[1, 2], [3, 4]], dtype=np.uint8),
        ],
    )
    def test_numbers_of_any_kind_become_floats(self, X: Any) -> None:
        table = read_table(X)
        assert table.values.dtype == np.float64
        assert_array_equal(table.values, [[1, 2], [3, 4]])
        assert (table.n_samples, table.names, table.categories) == (2, None, {})

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_floats_are_kept_without_a_copy(self, dtype: type) -> None:
        X = np.ones((3, 2), dtype=dtype)
        assert read_table(X).values.dtype == dtype
        assert np.shares_memory(read_table(X).values, X)

    @pytest.mark.parametrize(
        "X", [[1.0, 2.0], np.array([1.0, 2.0]), pd.Series([1.0, 2.0]), pl.Series([1.0, 2.0])]
    )
    def test_one_dimension_is_one_column(self, X: Any) -> None:
        assert_array_equal(read_table(X).values, [[1.0], [2.0]])

    def test_a_memory_map_stays_one(self, tmp_path: Path) -> None:
        path = tmp_path / "rows.npy"
        np.save(path, np.arange(12.0).reshape(6, 2))
        X = np.load(path, mmap_mode="r")
        values = read_table(X).values
        assert np.shares_memory(values, X)
        assert not values.flags.writeable
        assert_array_equal(values, np.arange(12.0).reshape(6, 2))

    @pytest.mark.parametrize(
        "make", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array], ids=repr
    )
    def test_sparse_rows_stay_sparse(self, make: Any) -> None:
        values = read_table(make([[0, 2], [1, 0]])).values
        assert sparse.issparse(values)
        assert values.format == "csr"
        assert_array_equal(values.toarray(), [[0.0, 2.0], [1.0, 0.0]])


@pytest.mark.parametrize("frame", LIBRARIES)
class TestFrames:
    def test_numbers_keep_their_names(self, frame: Any) -> None:
        table = read_table(frame({"size": [1, 2], "weight": [0.5, 1.5]}))
        assert_array_equal(table.values, [[1.0, 0.5], [2.0, 1.5]])
        assert table.names == ("size", "weight")
        assert table.categories == {}

    def test_categories_become_positions_among_sorted_levels(self, frame: Any) -> None:
        X = frame({"size": [1.0, 2.0, 3.0], "colour": ["red", "blue", "red"]}, ("colour",))
        table = read_table(X)
        assert table.categories == {1: ("blue", "red")}
        assert_array_equal(table.values, [[1.0, 1.0], [2.0, 0.0], [3.0, 1.0]])
        assert table.names == ("size", "colour")

    def test_booleans_are_categories(self, frame: Any) -> None:
        table = read_table(frame({"old": [True, False, True]}))
        assert table.categories == {0: (False, True)}
        assert_array_equal(table.values, [[1.0], [0.0], [1.0]])

    def test_new_levels_are_minus_one(self, frame: Any) -> None:
        fitted = read_table(frame({"colour": ["red", "blue"]}, ("colour",)))
        new = frame({"colour": ["green", "blue", "red"]}, ("colour",))
        words = r"Column 'colour' of X has levels that fit did not see, in 1 of 3 rows: 'green' \("
        with pytest.warns(UnseenCategoryWarning, match=words):
            table = read_table(new, categories=fitted.categories)
        assert_array_equal(table.values[:, 0], [-1.0, 0.0, 1.0])
        assert table.categories == fitted.categories

    def test_levels_that_are_absent_keep_their_positions(self, frame: Any) -> None:
        fitted = read_table(frame({"colour": ["red", "blue", "green"]}, ("colour",)))
        table = read_table(frame({"colour": ["red"]}, ("colour",)), categories=fitted.categories)
        assert_array_equal(table.values, [[2.0]])

    @pytest.mark.parametrize("was_categorical", [True, False])
    def test_a_column_of_another_type_than_when_fitted_is_refused(
        self, frame: Any, was_categorical: bool
    ) -> None:
        nominal, numeric = frame({"c": ["a", "b"]}, ("c",)), frame({"c": [0.0, 1.0]})
        fitted, new = (nominal, numeric) if was_categorical else (numeric, nominal)
        with pytest.raises(TypeError, match=r"'c' of X is .*column 0 was"):
            read_table(new, categories=read_table(fitted).categories)

    def test_many_unseen_levels_are_counted_and_some_are_named(self, frame: Any) -> None:
        fitted = read_table(frame({"colour": ["red", "blue"]}, ("colour",)))
        new = frame({"colour": ["a", "b", "c", "d", "e", "d"]}, ("colour",))
        with pytest.warns(UnseenCategoryWarning, match=r"'d', .* and 2 more") as all_:
            read_table(new, categories=fitted.categories)
        assert len(all_) == 1
        assert all_[0].filename == __file__

    def test_text_with_few_levels_is_categorical(self, frame: Any) -> None:
        table = read_table(frame({"colour": ["red", "blue", "red"]}))
        assert table.categories == {0: ("blue", "red")}
        assert_array_equal(table.values, [[1.0], [0.0], [1.0]])

    def test_numbers_as_text_are_refused_with_the_remedy(self, frame: Any) -> None:
        cells = [f"{row},5" for row in range(40)]
        with pytest.raises(TypeError, match=r"'size' of X holds numbers as text\. .*to_numeric"):
            read_table(frame({"size": cells}))
        with pytest.raises(TypeError, match=r"numbers as text besides 'none'"):
            read_table(frame({"size": [*cells, "none"]}))

    @pytest.mark.parametrize(
        ("n_levels", "n_rows", "words"),
        [
            (20, 30, None),
            (21, 42, None),
            (21, 41, "text with 21 different values in 41 rows: free text or an identifier"),
            (30, 30, "text that differs in every row, as free text or an identifier does"),
            (3, 3, "text that differs in every row, as free text or an identifier does"),
        ],
    )
    def test_text_with_many_levels_is_refused_by_name_with_the_remedy(
        self, frame: Any, n_levels: int, n_rows: int, words: str | None
    ) -> None:
        X = frame({"colour": [f"c{row % n_levels}" for row in range(n_rows)]})
        if words is None:
            assert len(read_table(X).categories[0]) == n_levels
            return
        remedy = r".*if it is a category, declare it \(pandas: .astype\('category'\)"
        with pytest.raises(TypeError, match=f"Column 'colour' of X holds {words}{remedy}"):
            read_table(X)
        declared = frame({"colour": [f"c{row % n_levels}" for row in range(n_rows)]}, ("colour",))
        assert len(read_table(declared).categories[0]) == n_levels

    def test_new_rows_of_text_are_not_judged_again(self, frame: Any) -> None:
        fitted = read_table(frame({"colour": ["red", "blue", "red"]}))
        table = read_table(frame({"colour": ["blue", "red"]}), categories=fitted.categories)
        assert_array_equal(table.values, [[0.0], [1.0]])

    @pytest.mark.parametrize(
        "value", [DAY, datetime.datetime(2020, 1, 1), datetime.timedelta(1)], ids=repr
    )
    def test_dates_are_refused_by_name_with_the_remedy(self, frame: Any, value: Any) -> None:
        X = frame({"size": [1.0], "day": [value]})
        if isinstance(X, pd.DataFrame) and value is DAY:  # pandas keeps plain dates as objects
            X["day"] = pd.to_datetime(X["day"])
        kind = "durations" if isinstance(value, datetime.timedelta) else "dates"
        with pytest.raises(TypeError, match=f"Column 'day' of X holds {kind}: turn"):
            read_table(X)

    def test_missing_categories_are_refused_by_name(self, frame: Any) -> None:
        X = frame({"size": [1.0, 2.0], "mark": ["red", None]}, ("mark",))
        with pytest.raises(ValueError, match=r"'mark' of X .*1 of 2 rows"):
            read_table(X)

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ([1.0, None, None], r"X contains NaN in column 'b' \(2 of 3 rows\): impute or drop it"),
            ([1, None, 3], r"X contains NaN in column 'b' \(1 of 3 rows\)"),
            ([1.0, np.inf, 2.0], r"X contains infinity in column 'b' \(1 of 3 rows\): clip or"),
            ([1.0, -np.inf, 2.0], "X contains infinity in column 'b'"),
        ],
    )
    def test_numbers_that_are_not_finite_are_refused_by_name(
        self, frame: Any, values: list[Any], message: str
    ) -> None:
        with pytest.raises(ValueError, match=message):
            read_table(frame({"a": [1.0, 2.0, 3.0], "b": values}))

    def test_the_name_of_the_input_is_the_callers(self, frame: Any) -> None:
        with pytest.raises(TypeError, match="Column 'c' of Z holds"):
            read_table(frame({"c": ["a"]}), name="Z")

    def test_no_rows_and_no_columns_are_refused(self, frame: Any) -> None:
        with pytest.raises(ValueError, match="0 sample"):
            read_table(frame({"a": [1.0]})[:0])
        with pytest.raises(ValueError, match=r"0 sample|0 feature"):
            read_table(frame({}))

    def test_names_and_kind_are_told(self, frame: Any) -> None:
        X = frame({"a": [1.0], "b": [2.0]})
        assert is_frame(X)
        assert column_names(X) == ("a", "b")

    def test_the_frame_is_not_changed(self, frame: Any) -> None:
        X = frame({"a": [1.0, 2.0], "c": ["u", "v"]}, ("c",))
        before = X.copy() if isinstance(X, pd.DataFrame) else X.clone()
        read_table(X)
        assert X.equals(before)


class TestPandas:
    def test_the_index_says_nothing(self) -> None:
        X = pd.DataFrame({"a": [1.0, 2.0], "c": pd.Categorical(["u", "v"])}, index=["x", "y"])
        for frame in (X, X.set_axis([7, 7])):
            table = read_table(frame)
            assert_array_equal(table.values, [[1.0, 0.0], [2.0, 1.0]])
            assert table.names == ("a", "c")
            assert table.categories == {1: ("u", "v")}

    def test_columns_without_names_are_numbered(self) -> None:
        table = read_table(pd.DataFrame([[1.0, 2.0], [3.0, 4.0]]))
        assert table.names == ("0", "1")
        assert_array_equal(table.values, [[1.0, 2.0], [3.0, 4.0]])
        mixed = read_table(pd.DataFrame({0: [1.0, 2.0], 1: pd.Categorical(["u", "v"])}))
        assert mixed.categories == {1: ("u", "v")}
        assert_array_equal(mixed.values, [[1.0, 0.0], [2.0, 1.0]])
        with pytest.raises(ValueError, match="NaN in column '1'"):
            read_table(pd.DataFrame([[1.0, np.nan]]))

    def test_nullable_columns_are_numbers_or_categories(self) -> None:
        X = pd.DataFrame({"a": pd.array([1, 2], dtype="Int64"), "b": pd.array([True, False])})
        table = read_table(X)
        assert table.categories == {1: (False, True)}
        assert_array_equal(table.values, [[1.0, 1.0], [2.0, 0.0]])
        with pytest.raises(ValueError, match="NaN in column 'a'"):
            read_table(pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}))
        with pytest.raises(ValueError, match=r"Column 'b' of X .* missing"):
            read_table(pd.DataFrame({"b": pd.array([True, None], dtype="boolean")}))

    def test_objects_are_refused_by_name(self) -> None:
        X = pd.DataFrame({"a": pd.Series([1, "b"], dtype=object)})
        with pytest.raises(TypeError, match=r"Column 'a' of X .*Object"):
            read_table(X)

    def test_categories_that_are_numbers(self) -> None:
        table = read_table(pd.DataFrame({"grade": pd.Categorical([3, 1, 3], ordered=True)}))
        assert table.categories == {0: (1, 3)}
        assert_array_equal(table.values, [[1.0], [0.0], [1.0]])


class TestPolars:
    def test_an_enum_is_categorical(self) -> None:
        X = pl.DataFrame({"c": pl.Series(["v", "u"], dtype=pl.Enum(["w", "v", "u"]))})
        assert read_table(X).categories == {0: ("u", "v")}

    def test_missing_booleans_are_refused_by_name(self) -> None:
        with pytest.raises(ValueError, match=r"Column 'b' of X .* missing"):
            read_table(pl.DataFrame({"b": [True, None]}))

    def test_objects_and_lists_are_refused_by_name(self) -> None:
        for values in ([{1}, {2}], [[1.0], [2.0]]):
            with pytest.raises(TypeError, match="Column 'o' of X holds"):
                read_table(pl.DataFrame({"o": pl.Series(values)}))


class TestRefusals:
    @pytest.mark.parametrize(
        "X",
        [
            [["a", "b"]],
            np.array([["a", "b"]]),
            np.array([["a", 1.0]], dtype=object),
            pd.Series(["a", "b"]),
            pl.Series(["a", "b"], dtype=pl.Categorical),
        ],
    )
    def test_text(self, X: Any) -> None:
        with pytest.raises(TypeError, match=r"text .* pass a data"):
            read_table(X)

    def test_dates_and_complex_numbers(self) -> None:
        with pytest.raises(TypeError, match="X holds dates or durations"):
            read_table(np.array([["2020-01-01"]], dtype="datetime64[D]"))
        with pytest.raises(ValueError, match="X holds complex numbers"):
            read_table(np.array([[1j]]))

    @pytest.mark.parametrize("X", [np.zeros((2, 2, 2)), np.zeros((0, 2)), np.zeros((2, 0)), 1.0])
    def test_other_shapes(self, X: Any) -> None:
        with pytest.raises(ValueError, match=r"dim 3|0 sample|0 feature|scalar"):
            read_table(X)

    @pytest.mark.parametrize("make", [np.array, sparse.csr_matrix], ids=repr)
    def test_numbers_that_are_not_finite_are_placed(self, make: Any) -> None:
        with pytest.raises(ValueError, match=r"NaN in column 1 .*1 of 2"):
            read_table(make([[1.0, np.nan], [1.0, 2.0]]))
        with pytest.raises(ValueError, match=r"infinity in column 0 .*1 of 2"):
            read_table(make([[np.inf, 0.0], [1.0, 2.0]]))

    @pytest.mark.parametrize("make", [np.array, sparse.csr_matrix], ids=repr)
    def test_numbers_whose_products_overflow_are_placed(self, make: Any) -> None:
        with pytest.raises(ValueError, match=r"1e\+200 in column 1.*impute"):
            read_table(make([[1.0, 1e200], [1.0, 2.0]]))
        with pytest.raises(ValueError, match=r"X holds 1e\+308 in column 0"):
            read_table(make([[-1e308, 0.0], [1.0, 2.0]]))

    def test_large_numbers_in_single_precision_are_read_in_double(self) -> None:
        assert read_table(np.array([[1e20], [0]], dtype=np.float32)).values.dtype == np.float64
        assert read_table(np.array([[1e7], [0]], dtype=np.float32)).values.dtype == np.float32

    def test_masked_values(self) -> None:
        masked = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]])
        for read in (read_table, read_objects):
            with pytest.raises(ValueError, match=r"X\.filled\(np\.nan\)"):
                read(masked)
        with pytest.raises(ValueError, match=r"y is a masked array"):
            read_target(masked[0])
        assert read_table(np.ma.array([[1.0], [2.0]])).n_samples == 2

    @pytest.mark.parametrize("module", ["dask.array.core", "dask.dataframe.dask_expr"])
    def test_dask_by_name(self, module: str) -> None:
        fake = type("Collection", (), {"__module__": module})()
        for read in (read_table, read_objects):
            with pytest.raises(TypeError, match=r"Dask .*X\.compute\(\)"):
                read(fake)

    def test_lazy_frames_by_name(self) -> None:
        for read in (read_table, read_objects):
            with pytest.raises(TypeError, match=r"X\.collect\(\)"):
                read(pl.LazyFrame({"a": [1.0]}))

    @pytest.mark.parametrize("names", [["a", "b", "a", "b", "c"], [1, "b", 1, "b", 2]])
    def test_repeated_names_of_columns(self, names: list[Any]) -> None:
        frame = pd.DataFrame(np.eye(5), columns=names)
        message = rf"X has several columns named '{names[0]}', 'b': rename or drop"
        for read in (read_table, read_objects):
            with pytest.raises(ValueError, match=message):
                read(frame)
            assert read(frame.loc[:, ~frame.columns.duplicated()]) is not None


class TestObjects:
    """Rows that are not vectors."""

    @pytest.mark.parametrize(
        "X",
        [
            ["acgt", "ac"],
            ("acgt", "ac"),
            np.array(["acgt", "ac"]),
            np.array([["acgt"], ["ac"]]),
            pd.Series(["acgt", "ac"]),
            pl.Series(["acgt", "ac"]),
            pd.DataFrame({"s": ["acgt", "ac"]}),
            pl.DataFrame({"s": ["acgt", "ac"]}),
            pd.DataFrame([["acgt"], ["ac"]]),
        ],
    )
    def test_one_object_per_sample(self, X: Any) -> None:
        rows = read_objects(X)
        assert rows.shape == (2,)
        assert list(rows) == ["acgt", "ac"]

    def test_sequences_are_not_unpacked(self) -> None:
        rows = read_objects([[1, 2], [3, 4]])
        assert rows.shape == (2,)
        assert rows[1] == [3, 4]

    @pytest.mark.parametrize("frame", LIBRARIES)
    def test_a_frame_of_several_columns_is_a_matrix_of_objects(self, frame: Any) -> None:
        rows = read_objects(frame({"text": ["acgt", "ac"], "size": [1.5, 2.5]}))
        assert rows.dtype == object
        assert rows.tolist() == [["acgt", 1.5], ["ac", 2.5]]

    @pytest.mark.parametrize("X", ["acgt", 3])
    def test_a_single_object_is_refused(self, X: Any) -> None:
        with pytest.raises(TypeError, match="X must be a sequence"):
            read_objects(X)

    def test_arrays_are_no_frames(self) -> None:
        assert not is_frame(np.zeros((2, 2)))
        assert column_names(np.zeros((2, 2))) == ()
