"""Every method reads mixed data frames of every library, or refuses a column by name."""

from __future__ import annotations

import datetime
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline

import depmax
from depmax import extraction, maps, selection
from depmax.evaluation import Prepare
from depmax.extraction import DependenceExtractor
from depmax.maps.feature_map import FeatureMap
from depmax.selection import DependenceSelector
from tests.contracts.discovery import classes

N = 48
rng = np.random.default_rng(0)
NUMBERS = {
    "weight": rng.normal(size=N),
    "small": rng.integers(0, 5, N).astype(np.int8),
    "count": rng.integers(0, 9, N),
    "rate": rng.normal(size=N).astype(np.float32),
}
FLAG, MAYBE = rng.random(N) > 0.5, rng.random(N) > 0.5
COLOUR = rng.choice(["red", "blue", "green"], N)
CODE = rng.choice([9, 10, 11], N)
TEXT = rng.choice(["left", "right"], N)
LABELS = (NUMBERS["weight"] + (COLOUR == "red") > 0.3).astype(int)


def pandas_frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            **NUMBERS,
            "count": pd.array(NUMBERS["count"], dtype="Int64"),
            "rate": pd.array(NUMBERS["rate"], dtype="Float64"),
            "flag": FLAG,
            "maybe": pd.array(MAYBE, dtype="boolean"),
            "colour": pd.Categorical(COLOUR, ["green", "unused", "red", "blue"], ordered=True),
            "code": pd.Categorical(CODE),
            "text": TEXT,
            "object": np.array(TEXT, dtype=object),
        },
        index=pd.RangeIndex(100, 100 + N),
    )


def polars_frame() -> pl.DataFrame:
    return pl.DataFrame(
        {
            **NUMBERS,
            "flag": FLAG,
            "maybe": MAYBE,
            "colour": pl.Series(COLOUR.tolist(), dtype=pl.Enum(["green", "unused", "red", "blue"])),
            "code": pl.Series(list(map(str, CODE)), dtype=pl.Categorical),
            "text": TEXT,
            "object": TEXT,
        }
    )


def arrow_table() -> pa.Table:
    columns = {**NUMBERS, "flag": FLAG, "maybe": MAYBE}
    dictionary = pa.array(COLOUR.tolist()).dictionary_encode()
    code = pa.array(list(map(str, CODE))).dictionary_encode()
    text = pa.array(TEXT.tolist())
    return pa.table({**columns, "colour": dictionary, "code": code, "text": text, "object": text})


FRAMES = {"pandas": pandas_frame, "polars": polars_frame, "pyarrow": arrow_table}
CATEGORICAL = [4, 5, 6, 7, 8, 9]


SELECTORS = classes(selection, DependenceSelector)
TRANSFORMERS = classes(extraction, DependenceExtractor) | classes(maps, FeatureMap)
#: Methods of numbers alone, which name the column that they cannot read.
REFUSE = {"Knockoffs", "RandomFourier"}
MEASURES = {
    name: getattr(depmax, name)
    for name in (
        "hsic",
        "hsic_variance",
        "hsic_test",
        "hsic_interval",
        "samples_needed",
        "alignment",
        "coco",
        "gaussian_mutual_information",
        "quadratic_mutual_information",
        "screen",
        "screen_pairs",
    )
} | {
    "mmd": lambda X, y: depmax.mmd(X, X),
    "resolve": lambda X, y: depmax.resolve("gaussian", X),
}
REFUSING_MEASURES = {
    "distance_correlation": depmax.distance_correlation,
    "total_correlation": lambda X, y: depmax.total_correlation(X),
    "intrinsic_dimension": lambda X, y: depmax.intrinsic_dimension(X),
}


def _make(cls: type) -> Any:
    seeded = "random_state" in cls().get_params()
    return cls(2, random_state=0) if seeded else cls(2)


# With two classes orthonormalised PLS has one feature.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", sorted(set(TRANSFORMERS) - REFUSE))
class TestTransformers:
    def test_all_libraries_agree(self, name: str) -> None:
        features = []
        for make in FRAMES.values():
            model = _make(TRANSFORMERS[name]).fit(make(), LABELS)
            assert sorted(model.categories_) == CATEGORICAL
            assert list(model.feature_names_in_) == list(pandas_frame())
            features.append(model.transform(make()))
        assert_allclose(features[0], features[1], atol=1e-8)
        assert_allclose(features[1], features[2], atol=1e-8)

    def test_the_order_of_levels_does_not_matter(self, name: str) -> None:
        frame = pandas_frame()
        other = frame.assign(
            colour=frame["colour"].cat.reorder_categories(["blue", "red", "unused", "green"]),
            code=frame["code"].cat.add_categories([8]).cat.as_ordered(),
            text=frame["text"].astype("category"),
        )
        model = _make(TRANSFORMERS[name]).fit(frame, LABELS)
        assert_allclose(model.transform(other), model.transform(frame))
        assert_allclose(model.transform(frame[:5]), model.transform(frame)[:5], atol=1e-8)

    def test_frames_come_out_where_they_are_asked_for(self, name: str) -> None:
        frame = pandas_frame()
        model = _make(TRANSFORMERS[name]).fit(frame, LABELS)
        out = model.set_output(transform="pandas").transform(frame)
        assert list(out) == list(model.get_feature_names_out())
        assert out.index.equals(frame.index)
        out = model.set_output(transform="polars").transform(frame)
        assert isinstance(out, pl.DataFrame)

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_the_form_of_features_changes_no_prediction(self, name: str, library: str) -> None:
        frame = pandas_frame()
        model = _make(TRANSFORMERS[name]).fit(frame, LABELS)
        for method in ("predict", "decision_function", "inverse_transform"):
            if hasattr(model, method):
                given = model.transform(frame) if method == "inverse_transform" else frame
                plain = getattr(model, method)(given)
                model.set_output(transform=library)
                assert_allclose(getattr(model, method)(given), plain)
                model.set_output(transform="default")
        assert_allclose(
            _make(TRANSFORMERS[name]).set_output(transform=library).fit_transform(frame, LABELS),
            _make(TRANSFORMERS[name]).fit_transform(frame, LABELS),
        )

    def test_unseen_levels_are_counted(self, name: str) -> None:
        frame = pandas_frame()
        model = _make(TRANSFORMERS[name]).fit(frame, LABELS)
        new = frame.assign(text=["up", "up", *TEXT[2:]])
        with pytest.warns(depmax.UnseenCategoryWarning) as caught:
            features = model.transform(new)
        assert np.isfinite(features).all()
        assert len(caught) == 1
        expected = f"Column 'text' of X has levels that fit did not see, in 2 of {N} rows: 'up'"
        assert str(caught[0].message).startswith(expected)


@pytest.mark.parametrize("name", sorted(set(SELECTORS) - REFUSE))
class TestSelectors:
    @pytest.mark.parametrize("library", sorted(FRAMES))
    def test_columns_keep_names_and_types(self, name: str, library: str) -> None:
        frame = FRAMES[library]()
        model = _make(SELECTORS[name]).set_params(n_features_to_select=6).fit(frame, LABELS)
        out = model.transform(frame)
        kept = [str(column) for column in model.get_feature_names_out()]
        expected = frame[kept] if library == "pandas" else frame.select(kept)
        assert type(out) is type(frame)
        assert expected.equals(out)
        assert model.n_features_ == 6

    def test_all_libraries_agree(self, name: str) -> None:
        rankings = [_make(SELECTORS[name]).fit(make(), LABELS).ranking_ for make in FRAMES.values()]
        assert rankings[0].tolist() == rankings[1].tolist() == rankings[2].tolist()

    def test_frames_come_out_where_they_are_asked_for(self, name: str) -> None:
        frame = pandas_frame()
        model = _make(SELECTORS[name]).fit(frame, LABELS)
        out = model.set_output(transform="pandas").transform(frame)
        assert out.dtypes.equals(frame[list(out)].dtypes)
        assert isinstance(model.set_output(transform="polars").transform(frame), pl.DataFrame)

    def test_pipelines_pass_categories_on(self, name: str) -> None:
        for make in (pandas_frame, polars_frame):
            steps = make_pipeline(Prepare(), _make(SELECTORS[name]), depmax.KernelPLS(1))
            assert steps.fit(make(), LABELS).transform(make()).shape == (N, 1)
            assert set(steps[:-1].get_feature_names_out()) <= set(make().columns)

    def test_an_array_instead_of_the_frame_is_refused(self, name: str) -> None:
        model = _make(SELECTORS[name]).fit(pandas_frame(), LABELS)
        with pytest.raises(TypeError, match="data frame with categorical"):
            model.transform(np.zeros((N, 10)))


@pytest.mark.parametrize("library", sorted(FRAMES))
class TestMeasures:
    @pytest.mark.parametrize("name", sorted(MEASURES))
    def test_mixed_frames_are_measured(self, name: str, library: str) -> None:
        with warnings.catch_warnings():
            # The interval says that it is wide with few rows.
            warnings.simplefilter("ignore", UserWarning)
            MEASURES[name](FRAMES[library](), LABELS)

    @pytest.mark.parametrize("name", sorted(REFUSING_MEASURES))
    def test_measures_of_numbers_name_the_column(self, name: str, library: str) -> None:
        with pytest.raises(TypeError, match="column 'flag'"):
            REFUSING_MEASURES[name](FRAMES[library](), LABELS)


@pytest.mark.parametrize("library", sorted(FRAMES))
@pytest.mark.parametrize("name", sorted(REFUSE))
def test_methods_of_numbers_name_the_column(name: str, library: str) -> None:
    cls = (SELECTORS | TRANSFORMERS)[name]
    with pytest.raises(TypeError, match=f"{name} .*column 'flag'"):
        _make(cls).fit(FRAMES[library](), LABELS)


UNREADABLE = {
    "dates": ([datetime.datetime(2024, 1, 1)] * N, "holds dates"),
    "identifier": ([f"id{i}" for i in range(N)], "differs in every row"),
    "free text": ([f"note {i // 2 if i < 10 else i}" for i in range(N)], "free text"),
}


@pytest.mark.parametrize("kind", sorted(UNREADABLE))
@pytest.mark.parametrize("library", ["pandas", "polars"])
class TestRefusals:
    @pytest.mark.parametrize("name", sorted(SELECTORS | TRANSFORMERS))
    def test_estimators_name_the_column(self, name: str, library: str, kind: str) -> None:
        values, words = UNREADABLE[kind]
        frame = _with_column(library, values)
        with pytest.raises(TypeError, match=f"Column 'extra' of X .*{words}"):
            _make((SELECTORS | TRANSFORMERS)[name]).fit(frame, LABELS)

    @pytest.mark.parametrize("name", sorted(MEASURES | REFUSING_MEASURES))
    def test_measures_name_the_column(self, name: str, library: str, kind: str) -> None:
        values, words = UNREADABLE[kind]
        with pytest.raises(TypeError, match=f"Column 'extra' of X .*{words}"):
            (MEASURES | REFUSING_MEASURES)[name](_with_column(library, values), LABELS)


def _with_column(library: str, values: list[Any]) -> Any:
    columns = {"weight": NUMBERS["weight"], "extra": values}
    return pd.DataFrame(columns) if library == "pandas" else pl.DataFrame(columns)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_declared_category_may_have_many_levels(library: str) -> None:
    """Declaring is the way to keep a column that looks like an identifier."""
    frame = _with_column(library, UNREADABLE["free text"][0])
    if library == "pandas":
        frame["extra"] = frame["extra"].astype("category")
    else:
        frame = frame.with_columns(pl.col("extra").cast(pl.Categorical))
    depmax.BAHSIC(1).fit(frame, LABELS)
    depmax.screen(frame, LABELS)


def test_compare_takes_mixed_frames() -> None:
    for make in (pandas_frame, polars_frame):
        result = depmax.compare(make(), LABELS, ["BAHSIC", "HBFE"], cv=2, dimensions=[2])
        assert len(result.table) > 0


ODD_COLUMNS: dict[str, tuple[Any, str]] = {
    "sparse": (
        pd.DataFrame(np.eye(20)[:, :3], columns=list("abc")).astype(pd.SparseDtype("float", 0.0)),
        r"Column 'a' of X is a sparse column of pandas: pass X.sparse.to_dense\(\)",
    ),
    "objects": (
        pd.DataFrame({"a": np.array([True, None] * 10, dtype=object)}),
        r"Column 'a' of X holds Object values, .* pass X.convert_dtypes\(\)",
    ),
    "lists": (pl.DataFrame({"a": [[1.0], [2.0]] * 10}), r"Column 'a' of X holds List\(Float64\)"),
    "complex": (pd.DataFrame({"a": np.ones(20) * 1j}), "Column 'a' of X holds complex128 values"),
    "empty": (
        pl.DataFrame({"b": range(20), "a": [None] * 20}),
        "Column 'a' of X has no value in any row: drop it",
    ),
}


@pytest.mark.parametrize("name", ODD_COLUMNS)
def test_columns_that_are_neither_numbers_nor_categories(name: str) -> None:
    frame, message = ODD_COLUMNS[name]
    with pytest.raises(TypeError, match=message):
        depmax.HSCA(1).fit(frame, [0, 1] * 10)


def test_whole_numbers_of_128_bits() -> None:
    frame = polars_frame().select("weight", pl.col("count").cast(pl.Int128))
    plain = frame.cast({"count": pl.Int64})
    wide = pl.Series(LABELS).cast(pl.Int128)
    for model in (depmax.HSCA(2), depmax.BAHSIC(1)):
        expected = model.fit(plain, LABELS).transform(plain)
        assert_allclose(model.fit(frame, wide).transform(frame), expected)
