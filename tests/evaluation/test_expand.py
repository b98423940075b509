"""Dates and sentences become columns of numbers, in every library of frames."""

from __future__ import annotations

import datetime as dt
import html
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline

import depmax
from depmax import Expand, KernelRidgeElimination, Prepare
from depmax.evaluation import profile

DAYS = [dt.date(2023, 12, 30) + dt.timedelta(days=int(step)) for step in range(0, 240, 4)]
COMPLAINTS = [
    "the parcel came " + ("broken and late" if row % 3 else "in time as ever") for row in range(60)
]
COLUMNS = {
    "sold": DAYS,
    "note": [f"{text} number {row}" for row, text in enumerate(COMPLAINTS)],
    "shop": ["A", "B"] * 30,
    "price": np.arange(60.0),
}
LIBRARIES = {
    "pandas": lambda columns: pd.DataFrame(columns).assign(
        sold=lambda made: pd.to_datetime(made["sold"])
    ),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_parts_are_those_of_the_calendar(library):
    frame = LIBRARIES[library](COLUMNS)
    expand = Expand().fit(frame)
    made = expand.transform(frame)
    assert type(made) is type(frame)
    names = [str(name) for name in expand.get_feature_names_out()]
    assert names[:4] == ["sold: year", "sold: month", "sold: weekday", "sold: days"]
    assert names[-2:] == ["shop", "price"]
    found = {name: np.asarray(made[name]) for name in names}
    np.testing.assert_array_equal(found["sold: year"], [day.year for day in DAYS])
    np.testing.assert_array_equal(found["sold: month"], [day.month for day in DAYS])
    np.testing.assert_array_equal(found["sold: weekday"], [day.isoweekday() for day in DAYS])
    np.testing.assert_array_equal(found["sold: days"], [(day - DAYS[0]).days for day in DAYS])
    np.testing.assert_array_equal(found["note: broken"], ["broken" in text for text in COMPLAINTS])
    assert "note: parcel" not in names  # every row holds it


def test_new_rows_use_the_first_day_and_the_words_of_fit():
    expand = Expand(n_words=2).fit(pl.DataFrame(COLUMNS))
    later = {
        "sold": [dt.date(2025, 1, 1), None],
        "note": ["a word that nobody knew before", None],
        "shop": ["A", "C"],
        "price": [1.0, 2.0],
    }
    made = expand.transform(pl.DataFrame(later))
    assert made["sold: days"].to_list()[0] == (dt.date(2025, 1, 1) - DAYS[0]).days
    assert made["sold: days"].to_list()[1] is None
    words = made.select([name for name in made.columns if name.startswith("note: ")])
    assert words.width == 2
    assert words.to_numpy().sum() == 0


def test_a_gap_holds_no_word():
    notes = [None if row % 3 == 0 else text for row, text in enumerate(COLUMNS["note"])]
    named = [
        Expand().fit(frame({"note": notes})).get_feature_names_out().tolist()
        for frame in (pd.DataFrame, pl.DataFrame, pa.table)
    ]
    assert named[0] == named[1] == named[2]
    assert "note: nan" not in named[0]


@pytest.mark.parametrize("library", LIBRARIES)
def test_new_columns_of_gaps_are_gaps_and_of_another_type_are_refused(library):
    read = LIBRARIES[library]
    expand = Expand().fit(read(COLUMNS))
    gaps = {"sold": [None] * 60, "note": [None] * 60}
    made = expand.transform((pd.DataFrame if library == "pandas" else read)(COLUMNS | gaps))
    assert pd.isna(np.asarray(made["sold: days"])).all()
    assert not np.asarray(made["note: broken"]).any()
    with pytest.raises(TypeError, match="'note' of X held texts"):
        expand.transform(read(COLUMNS | {"note": np.arange(60.0)}))


def test_columns_of_pandas_need_no_text_as_names():
    frame = LIBRARIES["pandas"](COLUMNS)
    numbered = frame.set_axis(range(4), axis=1).set_axis(np.arange(60) * 7, axis=0)
    expand = Expand().fit(numbered)
    made = expand.transform(numbered)
    assert made.columns.tolist() == expand.get_feature_names_out().tolist()
    assert {"0: month", "1: broken", "2", "3"} <= set(made.columns)
    assert made.index.equals(numbered.index)
    np.testing.assert_array_equal(made["0: month"], frame["sold"].dt.month)


@pytest.mark.parametrize("read", [depmax.compare, profile], ids=["compare", "profile"])
def test_lazy_frames_are_refused_with_the_remedy(read):
    with pytest.raises(TypeError, match=r"lazy frame: pass X\.collect"):
        read(pl.LazyFrame(COLUMNS), *([np.arange(60.0)] if read is depmax.compare else []))


def test_times_are_those_of_the_clock():
    berlin = pd.to_datetime(["2024-07-01 05:30", "2024-07-01 23:45"]).tz_localize("Europe/Berlin")
    frame = pd.DataFrame({"at": berlin, "took": pd.to_timedelta(["12h", None])}, index=[7, 3])
    made = Expand().fit_transform(frame)
    assert made["at: hour"].tolist() == [5.5, 23.75]
    assert list(made.columns) == ["at: hour"]  # one day, and one known duration, vary in nothing
    assert list(made.index) == [7, 3]


def test_a_frame_of_which_nothing_would_be_left_is_refused():
    one_day = pd.to_datetime(["2024-07-01"] * 3)
    with pytest.raises(ValueError, match="no column would be left"):
        Expand().fit(pd.DataFrame({"sold": one_day}))
    assert Expand().fit_transform(pd.DataFrame({"sold": one_day, "n": range(3)})).shape == (3, 1)


def test_what_it_is_told_to_leave_stays():
    frame = pl.DataFrame(COLUMNS)
    assert Expand(False, n_words=0).fit_transform(frame).columns == frame.columns
    array = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(Expand().fit_transform(array), array)
    with pytest.raises(ValueError, match="n_words"):
        Expand(n_words=-1).fit(frame)
    with pytest.raises(ValueError, match="Rename column 'sold: month'"):
        Expand().fit(frame.with_columns(pl.lit(1.0).alias("sold: month")))
    with pytest.raises(ValueError, match="feature names"):
        Expand().fit(frame).transform(frame.rename({"shop": "store"}))


def test_a_pipeline_finds_the_month_and_the_word_and_is_saved(tmp_path):
    rng = np.random.default_rng(0)
    days = [dt.date(2022, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 900, 300)]
    broken = rng.random(300) < 0.4
    notes = [
        f"it came {'broken' if bad else 'well'} on day {row}" for row, bad in enumerate(broken)
    ]
    frame = pl.DataFrame({"sold": days, "note": notes, "noise": rng.normal(size=300)})
    month = np.array([day.month for day in days])
    y = np.sin(2 * np.pi * month / 12) + broken + 0.1 * rng.normal(size=300)
    model = make_pipeline(Expand(), Prepare(), KernelRidgeElimination(2)).fit(frame, y)
    kept = set(model.get_feature_names_out())
    assert "sold: month" in kept
    assert kept & {"note: broken", "note: well"}
    depmax.save_model(model, tmp_path / "model.skops")
    again = depmax.load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.transform(frame), model.transform(frame))


def test_compare_takes_dates_and_texts_as_they_are(tmp_path):
    rng = np.random.default_rng(1)
    days = pd.to_datetime("2022-01-01") + pd.to_timedelta(rng.integers(0, 900, 150), unit="D")
    frame = pd.DataFrame({"sold": days, "size": rng.normal(size=150)})
    y = frame["size"] + (days.month > 6)
    found = depmax.compare(frame, y, ["KernelRidgeElimination"], cv=3, random_state=0)
    assert found.setting.problem.names == (
        "sold: year", "sold: month", "sold: weekday", "sold: days", "size"
    )  # fmt: skip
    model = found.estimator()
    assert model.score(frame, y) > 0.5
    assert found.transformer().transform(frame).shape[0] == 150
    page = html.unescape(found.to_html(tmp_path / "report.html").read_text(encoding="utf-8"))
    line = re.search(r"few = (found.+\])", page)
    few = eval(line[1], {"found": found, "X": frame})  # what the report tells readers to type
    assert tuple(few.columns) == found.verdict.columns
