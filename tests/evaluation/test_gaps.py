"""Gaps are filled, names, order and categories kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone

from depmax.evaluation import FillGaps

FRAME = pl.DataFrame(
    {
        "colour": pl.Series(["r", "g", None, "g"], dtype=pl.Categorical),
        "size": [1.0, None, float("nan"), 4.0],
        "count": [1, 2, None, 2],
        "flag": [True, True, None, False],
    }
)


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_fills_gaps(library: str) -> None:
    frame = FRAME if library == "polars" else FRAME.to_pandas().astype({"flag": "boolean"})
    filled = FillGaps("median").fit_transform(frame)
    assert list(filled.columns) == FRAME.columns
    assert list(filled["size"]) == [1.0, 2.5, 2.5, 4.0]
    assert list(filled["colour"]) == ["r", "g", "g", "g"]
    assert list(filled["count"]) == [1, 2, 2, 2]
    assert [bool(flag) for flag in filled["flag"]] == [True, True, True, False]
    if library == "polars":
        assert filled["colour"].dtype == pl.Categorical


def test_ways_to_fill() -> None:
    mean = clone(FillGaps("mean")).fit_transform(FRAME)
    assert mean["count"].to_list() == pytest.approx([1, 2, 5 / 3, 2])
    frequent = FillGaps("frequent").fit_transform(FRAME)
    assert frequent["count"].to_list() == [1, 2, 2, 2]
    with pytest.raises(ValueError, match="how must be one of median, mean, frequent"):
        FillGaps("zero").fit(FRAME)
    with pytest.raises(ValueError, match="'a' has no value at all"):
        FillGaps("mean").fit(pl.DataFrame({"a": [None, float("nan")]}))


def test_new_rows_get_what_was_learnt() -> None:
    fitted = FillGaps("median").fit(FRAME)
    new = FRAME.tail(2).with_columns(colour=pl.lit(None, pl.Categorical))
    assert fitted.transform(new)["colour"].to_list() == ["g", "g"]  # a level this batch lacks
    whole = FRAME.head(1)
    assert fitted.transform(whole).equals(whole)
    with pytest.raises(ValueError, match="pass colour, size, count, flag, in this order"):
        fitted.transform(FRAME.select("size", "count"))


def test_arrays() -> None:
    X = np.array([[1.0, np.nan], [3.0, 5.0]], dtype=np.float32)
    filled = FillGaps("mean").fit_transform(X)
    assert filled.dtype == np.float32
    assert filled.tolist() == [[1.0, 5.0], [3.0, 5.0]]
    assert FillGaps().fit(X).get_feature_names_out().tolist() == ["x0", "x1"]
    with pytest.raises(TypeError, match="sparse"):
        FillGaps().fit(sparse.eye(3))


def test_a_part_of_the_rows_may_hold_no_value() -> None:
    none = FRAME.head(0).vstack(FRAME.slice(2, 1).with_columns(count=pl.lit(None, pl.Int64)))
    with pytest.raises(ValueError, match="'size' has no value at all"):
        FillGaps().fit(none)
    filled = FillGaps(keep_empty=True).fit(none)
    assert filled.transform(none).row(0) == ("missing", 0.0, 0, False)
    fixed = pl.DataFrame({"mark": pl.Series([None], dtype=pl.Enum(["a", "b"]))})
    assert FillGaps(keep_empty=True).fit_transform(fixed).row(0) == ("a",)


CATEGORIES: dict[str, Any] = {
    "whole numbers": pd.DataFrame({"c": pd.Categorical([1, 2, 2, None])}),
    "intervals": pd.DataFrame({"c": pd.cut(pd.Series([1.0, 2.0, np.nan, 9.0]), 2)}),
    "ordered": pd.DataFrame(
        {"c": pd.Categorical(["a", None, "b", "a"], ["z", "b", "a"], ordered=True)}
    ),
    "enum": pl.DataFrame({"c": pl.Series(["a", None, "b", "a"], dtype=pl.Enum(["z", "b", "a"]))}),
    "dictionary": pa.table({"c": pa.array(["a", None, "b", "a"]).dictionary_encode()}),
    "dictionary of numbers": pa.table({"c": pa.array([3, None, 4, 3]).dictionary_encode()}),
}


@pytest.mark.parametrize("name", CATEGORIES)
def test_categories_keep_their_type(name: str) -> None:
    """Or batches with gaps and without would have different levels."""
    frame = CATEGORIES[name]
    filled = FillGaps().fit_transform(frame)
    before, after = frame["c"], filled["c"]
    if isinstance(frame, pa.Table):
        assert filled.column_names == ["c"]
        assert after.null_count == 0
        assert after.type == before.type
        present = [value for value in before.to_pylist() if value is not None]
        assert sorted(after.to_pylist()) == sorted([*present, present[0]])
        return
    assert after.dtype == before.dtype
    kept = before.dropna() if isinstance(frame, pd.DataFrame) else before.drop_nulls()
    counts = pd.Series(list(kept)).value_counts()
    gaps = len(before) - len(kept)
    assert pd.Series(list(after)).value_counts()[counts.index[0]] == counts.iloc[0] + gaps
    assert FillGaps().fit(frame).transform(filled).equals(filled)


def test_new_rows_must_have_the_same_columns() -> None:
    X = np.array([[1.0, np.nan, 3.0], [3.0, 5.0, 1.0]])
    fitted = FillGaps().fit(X)
    with pytest.raises(ValueError, match="X has 1 features, but FillGaps is expecting 3"):
        fitted.transform(X[:, :1])
    named = FillGaps().fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    assert named.transform(X).tolist() == fitted.transform(X).tolist()
    with pytest.raises(ValueError, match="pass a, b, c, in this order"):
        named.transform(pd.DataFrame(X, columns=["c", "b", "a"]))
    assert named.fit(X).get_feature_names_out().tolist() == ["x0", "x1", "x2"]  # forgets a, b, c
    mixed = FillGaps().fit(FRAME)
    with pytest.raises(TypeError, match="column 'colour' is categorical: pass a frame"):
        mixed.transform(np.zeros((2, 4)))


def test_fills_are_in_the_order_of_the_columns() -> None:
    frame = pd.DataFrame({"flag": [True, True, False], "size": [1.0, np.nan, 3.0]})
    filled = FillGaps().fit(frame).transform(np.array([[np.nan, np.nan]]))
    assert filled.tolist() == [[1.0, 2.0]]


DATES = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=3), "size": [1.0, None, 2.0]})
UNREADABLE: dict[str, tuple[Any, type[Exception], str]] = {
    "dates": (DATES, TypeError, "Column 'day' of X holds dates"),
    "times": (
        DATES.assign(day=DATES["day"] - DATES["day"][0]),
        TypeError,
        "Column 'day' of X holds durations",
    ),
    "repeated": (DATES[["size", "size"]], ValueError, "several columns named 'size'"),
    "lazy": (pl.LazyFrame({"a": [1.0]}), TypeError, "lazy frame: pass X.collect"),
    "complex": (np.array([[1j]]), ValueError, "X holds complex numbers"),
    "text": (np.array([["a"]]), TypeError, "X holds text"),
    "three dimensions": (np.zeros((2, 2, 2)), ValueError, "one or two dimensions"),
    "none": (None, ValueError, "one or two dimensions, got shape"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_refusals(name: str) -> None:
    X, error, message = UNREADABLE[name]
    with pytest.raises(error, match=message):
        FillGaps().fit(X)
