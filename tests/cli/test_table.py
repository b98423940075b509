"""Columns are sorted into features and target, and what is left out is said."""

from __future__ import annotations

import datetime
from pathlib import Path

import polars as pl
import pytest

from depmax.cli.errors import DataError
from depmax.cli.reading import open_source
from depmax.cli.table import Request, Table, make_table


def _table(frame: pl.DataFrame, folder: Path, *targets: str, **asked: object) -> Table:
    path = folder / "data.parquet"
    frame.write_parquet(path)
    return make_table(open_source(str(path)), Request(targets, **asked))


def test_identifiers_and_constants_are_left_out_and_mentioned(
    table: pl.DataFrame, tmp_path: Path
) -> None:
    made = _table(table, tmp_path, "outcome")
    assert made.X.columns == ["age", "dose", "colour", "smoker", "cost"]
    assert made.notes == [
        "Ignored constant column 'ward'.",
        "Ignored identifier columns 'id', 'name' (override with --keep).",
    ]
    assert made.types["colour"] == "category"
    assert made.types["smoker"] == "boolean"
    assert made.about == (
        "80 rows, 5 columns; target: outcome (2 classes: ill, well)"  # the guess is shown
    )
    kept = _table(table, tmp_path, "outcome", keep=("id",), drop=("cost",))
    assert "id" in kept.X.columns
    assert "cost" not in kept.X.columns


@pytest.mark.parametrize(
    ("name", "numbers", "ignored"),
    [
        ("row", [(37 * i) % 80 for i in range(80)], True),  # counts the rows, in another order
        ("customer_id", [1000 + i * i for i in range(80)], True),
        ("customerID", [-i * i for i in range(80)], True),
        ("bid", [1000 + i * i for i in range(80)], False),
        ("year", list(range(1940, 2020)), False),  # may well predict
        ("Baujahr", list(range(2020, 1940, -1)), False),
        ("year", list(range(80)), True),
        ("customer_id", [i // 2 for i in range(80)], False),  # several rows each
    ],
)
def test_numbers_that_identify_rows(
    table: pl.DataFrame, tmp_path: Path, name: str, numbers: list[int], ignored: bool
) -> None:
    frame = table.drop("id").with_columns(pl.Series(name, numbers))
    assert (name not in _table(frame, tmp_path, "outcome").X.columns) == ignored


def test_sentences_become_words_and_are_ignored_where_none_tells(
    table: pl.DataFrame, tmp_path: Path
) -> None:
    notes = [f"came {i} minutes {'late' if i % 3 else 'early'} and left" for i in range(80)]
    made = _table(table.with_columns(remark=pl.Series(notes)), tmp_path, "outcome")
    assert {"remark: early", "remark: late"} <= set(made.X.columns)
    assert made.types["remark"] == "text"
    assert any("'remark' as 2 words" in note for note in made.notes)
    notes = [f"came {i} minutes late and left" for i in range(80)]
    made = _table(table.with_columns(remark=pl.Series(notes)), tmp_path, "outcome")
    assert "Ignored free-text column 'remark' (override with --keep)." in made.notes
    assert "Ignored identifier columns 'id', 'name' (override with --keep)." in made.notes


def test_long_texts_are_left_out(table: pl.DataFrame, tmp_path: Path) -> None:
    notes = [f"saw {i // 3} today" for i in range(80)]
    made = _table(table.with_columns(remark=pl.Series(notes)), tmp_path, "outcome")
    assert "remark" in made.X.columns  # 27 values in 80 rows
    notes = [f"saw {i // 2 if i > 40 else i} today" for i in range(80)]
    made = _table(table.with_columns(remark=pl.Series(notes)), tmp_path, "outcome")
    assert "Ignored free-text column 'remark' (override with --keep)." in made.notes


def test_types_of_targets(table: pl.DataFrame, tmp_path: Path) -> None:
    assert _table(table, tmp_path, "cost").about_target.startswith("numbers from ")
    assert _table(table, tmp_path, "dose").target.kind == "classes"
    assert _table(table, tmp_path, "dose", task="regression").target.kind == "numbers"
    halves = table.with_columns(half=(pl.col("id") // 2).cast(pl.Int64))  # 40 whole numbers
    assert _table(halves, tmp_path, "half").target.kind == "numbers"
    assert _table(halves, tmp_path, "half", task="classification").target.kind == "classes"


def test_several_targets(table: pl.DataFrame, tmp_path: Path) -> None:
    made = _table(table, tmp_path, "cost", "age")
    assert made.target.kind == "multioutput"
    assert made.X.columns == ["dose", "colour", "smoker", "outcome"]
    labels = table.with_columns(a=pl.col("dose") % 2, b=pl.col("dose") // 3)
    assert _table(labels, tmp_path, "a", "b").about_target == "2 labels, several per row"


def test_rows_without_a_target_are_left_out(table: pl.DataFrame, tmp_path: Path) -> None:
    holes = table.with_columns(
        pl.when(pl.col("id") < 7).then(None).otherwise(pl.col("outcome")).alias("outcome"),
        pl.when(pl.col("id") < 9).then(float("nan")).otherwise(pl.col("cost")).alias("cost"),
    )
    made = _table(holes, tmp_path, "outcome", drop=("cost",))
    assert made.X.height == 73
    assert "Rows without a target are ignored: 7 of 80." in made.notes
    assert _table(holes, tmp_path, "cost").X.height == 71


def test_dates_are_used_unless_told_otherwise_and_nested_values_are_ignored(
    table: pl.DataFrame, tmp_path: Path
) -> None:
    days = pl.date_range(datetime.date(2024, 3, 1), datetime.date(2024, 5, 19), eager=True)
    table = table.with_columns(day=days, parts=pl.lit([1]))
    made = _table(table, tmp_path, "outcome")
    assert {"day: month", "day: weekday", "day: days"} <= set(made.X.columns)
    assert "day: year" not in made.X.columns  # the same in all rows
    assert any("Ignored nested column 'parts'" in note for note in made.notes)
    without = _table(table, tmp_path, "outcome", expand=False)
    assert not [name for name in without.X.columns if name.startswith("day")]
    assert any("Ignored date column 'day'" in note for note in without.notes)
    with pytest.raises(DataError, match="--given: column 'day'"):
        _table(table, tmp_path, "outcome", given=("day",))


def test_columns_without_any_value(table: pl.DataFrame, tmp_path: Path) -> None:
    made = _table(table.with_columns(empty=pl.lit(None, pl.Float64)), tmp_path, "outcome")
    assert "empty" not in made.X.columns
    with pytest.raises(DataError, match="without any value: empty"):
        _table(
            table.with_columns(empty=pl.lit(None, pl.Float64)), tmp_path, "outcome", keep=("empty",)
        )


@pytest.mark.parametrize(
    ("task", "grades", "said"),
    [
        ("auto", 5, "5 distinct whole numbers and is treated as classes; if they are grades or"),
        ("auto", 2, ""),
        ("classification", 5, ""),
        ("regression", 5, ""),
    ],
)
def test_grades_may_be_numbers(
    table: pl.DataFrame, tmp_path: Path, task: str, grades: int, said: str
) -> None:
    frame = table.with_columns(grade=pl.int_range(pl.len()) % grades)
    notes = " ".join(_table(frame, tmp_path, "grade", task=task).notes)
    assert (said in notes) if said else ("treated as" not in notes)
