"""Preparation of columns: gaps, scales, categories; names, order and types that stay."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import depmax
from depmax import BAHSIC, HSCA, Prepare, UnseenCategoryWarning
from depmax.evaluation.prepare import WAYS, has_gaps, without_gaps

FRAME = pl.DataFrame(
    {
        "colour": pl.Series(["r", "g", None, "g"], dtype=pl.Categorical),
        "size": [1.0, None, float("nan"), 4.0],
        "count": [1, 2, None, 2],
        "flag": [True, True, None, False],
    }
)
#: The same table in each library.
LIBRARIES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame,
    "pandas": lambda frame: frame.to_pandas().astype({"flag": "boolean"}),
    "pandas on Arrow": lambda frame: frame.to_pandas(use_pyarrow_extension_array=True),
    "Arrow": lambda frame: frame.to_arrow(),
}


def columns(table: Any) -> dict[str, list[Any]]:
    """Cells of a frame of any library."""
    if isinstance(table, pd.DataFrame):
        return {name: column.tolist() for name, column in table.items()}
    return table.to_pydict() if isinstance(table, pa.Table) else table.to_dict(as_series=False)


@parametrize_with_checks([Prepare("median"), Prepare(None, scale=False, encode=True)])
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


# --- gaps ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("library", LIBRARIES)
def test_fills_gaps(library: str) -> None:
    frame = LIBRARIES[library](FRAME)
    filled = columns(Prepare(scale=False).fit_transform(frame))
    assert list(filled) == FRAME.columns
    assert filled["size"] == [1.0, 2.5, 2.5, 4.0]
    assert filled["colour"] == ["r", "g", "g", "g"]
    assert filled["count"] == [1, 2, 2, 2]
    assert filled["flag"] == [True, True, True, False]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("encode", [False, True])
@pytest.mark.parametrize("fill", [*WAYS, None])
def test_filled_then_scaled(fill: str | None, encode: bool, library: str) -> None:
    """The same numbers in every library, by scikit-learn's imputer and scaler."""
    prepared = columns(Prepare(fill, encode=encode).fit_transform(LIBRARIES[library](FRAME)))
    numbers = np.array(FRAME.select("size", "count").fill_null(np.nan).to_numpy())
    how = "most_frequent" if fill == "frequent" else fill
    steps = [StandardScaler()] if fill is None else [SimpleImputer(strategy=how), StandardScaler()]
    expected = make_pipeline(*steps).fit_transform(numbers)
    found = np.array([prepared["size"], prepared["count"]], dtype=float).T
    assert_allclose(found, expected, atol=1e-12)
    if not encode:
        assert list(prepared) == FRAME.columns
        return
    assert list(prepared) == ["colour=g", "colour=r", "size", "count", "flag=False", "flag=True"]
    gap = 1.0 if fill else np.nan
    assert_allclose(np.array(prepared["colour=g"], dtype=float), [0, 1, gap, 1])
    assert_allclose(np.array(prepared["flag=False"], dtype=float), [0, 0, gap - 1.0, 1])


def test_a_wrong_way_to_fill() -> None:
    with pytest.raises(ValueError, match="fill must be None or one of"):
        clone(Prepare("zero")).fit(FRAME)


def test_new_rows_get_what_was_learnt() -> None:
    fitted = Prepare(scale=False).fit(FRAME)
    new = FRAME.tail(2).with_columns(colour=pl.lit(None, pl.Categorical))
    assert fitted.transform(new)["colour"].to_list() == ["g", "g"]  # a level this batch lacks
    whole = FRAME.head(1)
    assert fitted.transform(whole).equals(whole)
    with pytest.raises(ValueError, match="feature names"):
        Prepare().fit(FRAME.select("size", "count")).transform(FRAME.select("count", "size"))


def test_arrays() -> None:
    X = np.array([[1.0, np.nan], [3.0, 5.0]], dtype=np.float32)
    filled = Prepare("mean", scale=False).fit_transform(X)
    assert filled.dtype == np.float32
    assert filled.tolist() == [[1.0, 5.0], [3.0, 5.0]]
    assert np.isnan(X[0, 1])
    assert Prepare().fit(X).get_feature_names_out().tolist() == ["x0", "x1"]


def test_a_part_of_the_rows_may_hold_no_value() -> None:
    """It is filled without a word: other rows have values."""
    none = FRAME.slice(2, 1).with_columns(count=pl.lit(None, pl.Int64))
    fitted = Prepare(scale=False).fit(none)
    assert fitted.transform(none).row(0) == ("missing", 0.0, 0, False)
    fixed = pl.DataFrame({"mark": pl.Series([None], dtype=pl.Enum(["a", "b"]))})
    assert Prepare().fit_transform(fixed).row(0) == ("a",)
    text = pd.DataFrame({"mark": pd.Series([None, None], dtype=object), "size": [1.0, 2.0]})
    assert not Prepare().fit_transform(text).isna().any(axis=None)
    assert not np.isnan(np.asarray(Prepare(encode=True).fit_transform(none))).any()


def test_a_whole_table_must_have_some_value_in_every_column() -> None:
    table = pl.DataFrame({"b": [1.0, None], "a": [None, float("nan")]})
    assert has_gaps(table)
    assert without_gaps(table, None) is table
    for X, name in ((table, "'a'"), (table.to_numpy(), "1")):
        with pytest.raises(ValueError, match=f"Column {name} of X has no value"):
            without_gaps(X, "mean")
    assert without_gaps(table.select("b"), "mean")["b"].to_list() == [1.0, 1.0]


@pytest.mark.parametrize(
    "rows", [["ab", "b"], sparse.eye(2).tocsr(), np.eye(2), FRAME.drop_nulls().drop_nans()]
)
def test_rows_without_gaps(rows: Any) -> None:
    assert not has_gaps(rows)


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
    filled = Prepare().fit_transform(frame)
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
    assert Prepare().fit(frame).transform(filled).equals(filled)


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
    "a sparse matrix with gaps": (sparse.csr_matrix([[1.0, np.nan]]), ValueError, "NaN in column"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_refusals(name: str) -> None:
    X, error, message = UNREADABLE[name]
    with pytest.raises(error, match=message):
        Prepare().fit(X)


# --- scales, categories -------------------------------------------------------------------------
def test_numbers_as_in_scikit_learn() -> None:
    X = np.random.default_rng(0).normal(3, 2, size=(30, 4))
    X[:, 2] = 7.1
    assert_allclose(Prepare().fit_transform(X), StandardScaler().fit_transform(X), atol=1e-12)


def test_sparse_stays_sparse() -> None:
    X = sparse.random(30, 5, density=0.3, format="csr", random_state=0)
    out = Prepare().fit_transform(X)
    assert sparse.issparse(out)
    assert out.nnz == X.nnz
    assert_allclose(out.power(2).mean(axis=0).A1, 1.0)


@pytest.mark.parametrize("library", [pd, pl])
def test_categories(library: Any) -> None:
    values = {"size": [1.0, 2.0, 3.0], "colour": ["red", "blue", "red"]}
    if library is pd:
        frame = pd.DataFrame(values).astype({"colour": "category"})
        new = pd.DataFrame({"size": [2.0], "colour": pd.Categorical(["green"])})
    else:
        frame = pl.DataFrame(values, schema_overrides={"colour": pl.Categorical})
        new = pl.DataFrame({"size": [2.0], "colour": ["green"]}).cast({"colour": pl.Categorical})
    kept = Prepare().fit_transform(frame)
    assert list(kept["colour"]) == values["colour"]
    assert kept["colour"].dtype == frame["colour"].dtype
    prepare = Prepare(encode=True).fit(frame)
    assert list(prepare.transform(frame).columns) == ["size", "colour=blue", "colour=red"]
    assert prepare.get_feature_names_out().tolist() == ["size", "colour=blue", "colour=red"]
    with pytest.warns(UnseenCategoryWarning, match=r"'colour' of X .*'green'"):
        assert np.asarray(prepare.transform(new)).tolist() == [[0.0, 0.0, 0.0]]


@pytest.mark.parametrize("library", [pd, pl])
def test_text_is_declared_categorical(library: Any) -> None:
    """A part of the rows may not show that the levels of text are few."""
    frame = library.DataFrame({"size": [1.0, 2.0, 3.0], "colour": ["red", None, "red"]})
    kept = Prepare().fit_transform(frame)
    assert list(kept["colour"]) == ["red", "red", "red"]
    assert Prepare().fit_transform(kept[:2]).shape == (2, 2)
    assert has_gaps(Prepare(None).fit_transform(frame))


# --- names, types, files ------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_frames_keep_precision_and_rows(dtype: str) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        rng.normal(size=(9, 3)).astype(dtype),
        index=[7, 7, 3, 1, 0, 2, 4, 5, 6],
        columns=list("abc"),
    )
    for table in (frame, frame.assign(d=pd.Categorical(list("uvuvuvuvw"), ["w", "v", "u"]))):
        out = Prepare().fit_transform(table)
        assert out.index.equals(frame.index)
        assert (out[list("abc")].dtypes == dtype).all()
        assert list(out) == list(table)
    assert Prepare(encode=True).fit_transform(table).index.equals(frame.index)
    plain = Prepare(scale=False).fit_transform(table)
    pd.testing.assert_frame_equal(plain, table)
    assert (
        Prepare().fit_transform(pl.from_pandas(frame)).dtypes
        == [pl.Float32 if dtype == "float32" else pl.Float64] * 3
    )


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_selectors_behind_it_know_the_names(library: str) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 4)), columns=[f"nm{1200 + i}" for i in range(4)])
    y = frame["nm1202"] > 0
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    table = frame if library == "pandas" else pl.from_pandas(frame)
    for model in (
        make_pipeline(Prepare(), BAHSIC(1)),
        make_pipeline(Prepare(scale=False), BAHSIC(1)),
    ):
        model.fit(table, y)
        assert model.get_feature_names_out().tolist() == ["nm1202"]
        assert model[-1].feature_names_in_.tolist() == list(frame)


@pytest.mark.parametrize("output", ["pandas", "polars", "default"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_output_of_another_library(library: str, output: str) -> None:
    frame = LIBRARIES[library](FRAME)
    for options in ({}, {"scale": False}, {"encode": True}):
        prepare = Prepare(**options).set_output(transform=output).fit(frame)
        out = prepare.transform(frame)
        names = prepare.get_feature_names_out().tolist()
        assert list(columns(out)) == names
        expected = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "default": type(frame)}[output]
        assert isinstance(out, expected)
        again = Prepare(**options).fit(frame).transform(frame)
        assert {name: list(map(str, cells)) for name, cells in columns(out).items()} == {
            name: list(map(str, cells)) for name, cells in columns(again).items()
        }
    numbers = Prepare().set_output(transform="pandas").fit_transform(np.eye(2))
    assert list(numbers) == ["x0", "x1"]


def test_copies_and_files(tmp_path: Path) -> None:
    fitted = Prepare(encode=True).fit(FRAME)
    depmax.save_model(fitted, tmp_path / "prepare.skops")
    for copy in (pickle.loads(pickle.dumps(fitted)), depmax.load_model(tmp_path / "prepare.skops")):
        assert copy.transform(FRAME).equals(fitted.transform(FRAME))
    assert clone(fitted).get_params() == {"fill": "median", "scale": True, "encode": True}


def test_indicators_as_in_scikit_learn() -> None:
    frame = FRAME.select("colour").drop_nulls().to_pandas()
    expected = OneHotEncoder(sparse_output=False).fit_transform(frame)
    assert_allclose(Prepare(encode=True).fit_transform(frame), expected)


@pytest.mark.parametrize("encode", [False, True])
@pytest.mark.parametrize("kind", ["scan", "Dask frame", "Dask array"])
def test_a_pipeline_reads_a_table_a_chunk_at_a_time(
    kind: str, encode: bool, rng: np.random.Generator
) -> None:
    """What is prepared stays lazy, keeps its names, and is what it is in memory."""
    frame = pd.DataFrame({"metres": rng.normal(size=90), "grams": 1e5 * rng.normal(size=90)})
    y = pd.Series(frame["metres"] - 1e-5 * frame["grams"], name="y")
    if kind != "Dask array":
        frame["kind"] = np.repeat(["a", "b", "c"], 30)  # not all of them in every part
    parts: list[Any] = [depmax.scan(frame.assign(y=y), target="y")]
    if kind != "scan":
        dd = pytest.importorskip("dask.dataframe")
        parts = [dd.from_pandas(frame, npartitions=4), dd.from_pandas(y, npartitions=4)]
    if kind == "Dask array":
        parts = [part.to_dask_array(lengths=True) for part in parts]
    rows = frame.to_numpy() if kind == "Dask array" else frame
    model = make_pipeline(Prepare(encode=encode), HSCA(2, unbiased=False))
    whole = clone(model).fit(rows, y)
    assert_allclose(model.fit(*parts).transform(rows), whole.transform(rows), atol=1e-7)
    assert model[:1].get_feature_names_out().tolist() == whole[:1].get_feature_names_out().tolist()


def test_streamed_rows() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.normal(3, 2, 50), "b": rng.choice(["u", "v"], 50)})
    streamed = Prepare(encode=True).fit(depmax.scan(frame))
    whole = Prepare(encode=True).fit(frame)
    assert_allclose(streamed.mean_, whole.mean_)
    assert_allclose(streamed.scale_, whole.scale_)
    assert_allclose(streamed.transform(frame), whole.transform(frame))
    assert np.isnan(streamed.transform(frame.with_columns(a=None))["a"].to_numpy()).all()


@pytest.mark.parametrize("library", [*LIBRARIES, "pandas, NaN"])
@pytest.mark.parametrize("encode", [False, True])
def test_new_rows_that_all_lack_a_category_have_lost_its_type(library: str, encode: bool) -> None:
    """One row to predict, of which a text or a truth value is missing."""
    table = pl.DataFrame(
        {"n": [1.0, 2.0, 4.0], "text": ["b", "a", "b"], "flag": [True, True, False]}
    )
    plain = dict.fromkeys(("pandas", "pandas, NaN"), pl.DataFrame.to_pandas)
    make = {**LIBRARIES, **plain}[library]
    prepare = Prepare(encode=encode).fit(make(table))
    lost = table[:1].with_columns(text=None, flag=None)
    new = make(lost) if library != "pandas, NaN" else lost.to_pandas().astype({"text": float})
    filled = prepare.transform(make(table[:1].with_columns(text=pl.lit("b"), flag=True)))
    assert columns(prepare.transform(new)) == columns(filled)
    with pytest.raises(TypeError, match="is numeric"):
        prepare.transform(make(table.with_columns(text=pl.lit(1.0))))
