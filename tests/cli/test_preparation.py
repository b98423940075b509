"""Gaps are filled and numbers scaled, names, order and categories kept."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from depmax.cli.preparation import Preparation

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
    filled = Preparation(impute="median", scale=False).fit_transform(frame)
    assert list(filled.columns) == FRAME.columns
    assert list(filled["size"]) == [1.0, 2.5, 2.5, 4.0]
    assert list(filled["colour"]) == ["r", "g", "g", "g"]
    assert list(filled["count"]) == [1, 2, 2, 2]
    assert [bool(flag) for flag in filled["flag"]] == [True, True, True, False]


def test_ways_to_fill() -> None:
    mean = Preparation(impute="mean", scale=False).fit_transform(FRAME)
    assert mean["count"].to_list() == pytest.approx([1, 2, 5 / 3, 2])
    frequent = Preparation(impute="frequent", scale=False).fit_transform(FRAME)
    assert frequent["count"].to_list() == [1, 2, 2, 2]
    with pytest.raises(ValueError, match="impute must be one of median, mean, frequent"):
        Preparation(impute="zero").fit(FRAME)
    with pytest.raises(ValueError, match="'a' has no value at all"):
        Preparation(impute="mean").fit(pl.DataFrame({"a": [None, float("nan")]}))


def test_scales_numbers_only() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "a": rng.normal(5, 3, 50),
            "k": pl.Series(rng.choice(["x", "y"], 50), dtype=pl.Categorical),
            "n": rng.integers(0, 9, 50),
            "c": np.full(50, 1e9),
        }
    )
    scaled = Preparation().fit_transform(frame)
    np.testing.assert_allclose(scaled.select("a", "n").to_numpy().mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.select("a", "n").to_numpy().std(axis=0), 1)
    assert scaled["k"].equals(frame["k"])
    assert scaled["c"].to_list() == [0.0] * 50
    assert scaled.columns == frame.columns
    same = clone(Preparation(scale=False)).fit_transform(frame)
    assert same.equals(frame)


def test_keeps_the_index_of_pandas() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0]}, index=[7, 8, 9])
    assert list(Preparation().fit_transform(frame).index) == [7, 8, 9]


def test_refuses_other_columns() -> None:
    fitted = Preparation().fit(FRAME.select("size", "count"))
    with pytest.raises(ValueError, match="pass size, count, in this order"):
        fitted.transform(FRAME.select("count", "size"))
