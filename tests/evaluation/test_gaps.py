"""Gaps are filled, names, order and categories kept."""

from __future__ import annotations

import numpy as np
import polars as pl
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
