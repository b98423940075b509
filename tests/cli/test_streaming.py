"""Files larger than memory: batches give what the whole gives, and the types stay the same."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import depmax

Run = Callable[..., Any]


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("depmax.cli.streaming.batch_rows", lambda n_columns: 13)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
@pytest.mark.usefixtures("small_batches")
def test_batches_give_what_the_whole_gives(
    run: Run, table: pl.DataFrame, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"data.{suffix}"
    writers = {"csv": table.write_csv, "parquet": table.write_parquet, "arrow": table.write_ipc}
    writers[suffix](path)
    arguments = ("-t", "cost", "-m", "NystroemMap", "-n", 3, "--seed", 0, "-o", "m.skops")
    assert run("fit", path, *arguments).exit_code == 0
    result = run("transform", "m.skops", path, "-o", f"out.{suffix}", "--keep", "name")
    assert result.exit_code == 0, result.output
    reader = {"csv": pl.read_csv, "parquet": pl.read_parquet, "arrow": pl.read_ipc}[suffix]
    streamed = reader(tmp_path / f"out.{suffix}")
    assert streamed["name"].to_list() == table["name"].to_list()
    from depmax import load_model

    model = load_model(tmp_path / "m.skops")
    names = model.feature_names_in_
    rows = table.with_columns(pl.col("colour", "outcome").cast(pl.Categorical)).select(names)
    whole = model.transform(rows).to_numpy()
    np.testing.assert_allclose(streamed.drop("name").to_numpy(), whole, rtol=1e-6, atol=1e-9)


@pytest.mark.usefixtures("small_batches")
def test_selected_categories_keep_one_type_over_batches(
    run: Run, table: pl.DataFrame, tmp_path: Path
) -> None:
    """Each batch has its own levels; the file has one column of text."""
    table.sort("colour").write_parquet(tmp_path / "data.parquet")
    chosen = ("--drop", "age", "--drop", "dose", "--drop", "smoker", "--drop", "cost")
    assert run("fit", "data.parquet", "-t", "outcome", *chosen, "-n", 1).exit_code == 0
    for suffix, reader in (("parquet", pl.read_parquet), ("feather", pl.read_ipc)):
        out = tmp_path / f"out.{suffix}"
        assert run("transform", "model.skops", "data.parquet", "-o", out).exit_code == 0
        assert reader(out)["colour"].to_list() == table.sort("colour")["colour"].to_list()


@pytest.mark.usefixtures("small_batches")
def test_an_error_in_a_late_batch_leaves_the_old_file(
    run: Run, table: pl.DataFrame, tmp_path: Path
) -> None:
    table.write_csv(tmp_path / "data.csv")
    model = depmax.HSCA(1).fit(table.select("age", "dose"), table["cost"])
    depmax.save_model(model, tmp_path / "model.skops")
    late = table.with_columns(
        age=pl.when(pl.col("id") == 79).then(None).otherwise(pl.col("age")),
    )
    late.write_csv(tmp_path / "late.csv")
    (tmp_path / "out.csv").write_text("old")
    result = run("transform", "model.skops", "late.csv", "-o", "out.csv")
    assert result.exit_code == 3
    assert "missing values in 'age'" in result.stderr
    assert (tmp_path / "out.csv").read_text() == "old"


def test_numbers_and_booleans_of_other_formats_are_understood(
    run: Run, table: pl.DataFrame, tmp_path: Path
) -> None:
    table.write_parquet(tmp_path / "data.parquet")
    assert run("fit", "data.parquet", "-t", "cost", "-n", 4).exit_code == 0
    padded = table.with_columns(
        age=pl.format(" {} ", "age"),
        smoker=pl.col("smoker").cast(pl.Int8),
        dose=pl.col("dose") + 0.5,
    )
    padded.write_csv(tmp_path / "padded.csv")
    result = run("transform", "model.skops", "padded.csv", "-o", "out.parquet")
    assert result.exit_code == 0, result.output
    out = pl.read_parquet(tmp_path / "out.parquet")
    np.testing.assert_allclose(out["age"].to_numpy(), table["age"].to_numpy())
    assert out.schema.get("smoker", pl.Boolean) == pl.Boolean


def test_dates_and_sentences_of_a_large_table_are_read_in_parts(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    first = datetime.date(2022, 1, 1)
    days = pl.Series([first + datetime.timedelta(days=int(d)) for d in rng.integers(0, 700, 600)])
    bad = rng.random(600) < 0.4
    notes = [f"it came {'broken' if late else 'well'} on day {row}" for row, late in enumerate(bad)]
    y = rng.normal(size=600) / 5 + bad + (days.dt.month() > 6).to_numpy()
    frame = pl.DataFrame({"day": days, "note": notes, "noise": rng.normal(size=600), "y": y})
    frame.write_parquet(tmp_path / "large.parquet")
    monkeypatch.setattr("depmax.cli.table.LARGE_TABLE", 1000)
    monkeypatch.setattr("depmax.cli.table.DRAWN_ROWS", 500)
    fitted = run("fit", "large.parquet", "-t", "y", "-m", "HSCA", "-n", 1)
    assert "fitted to all 600 rows" in fitted.stderr
    assert run("transform", "model.skops", "large.parquet", "-o", "out.csv").exit_code == 0
    feature = pl.read_csv(tmp_path / "out.csv").to_series().to_numpy()
    assert abs(np.corrcoef(feature, y)[0, 1]) > 0.8
    assert run("select", "large.parquet", "-t", "y", "-n", 2, "-o", "few.csv").exit_code == 0
    few = pl.read_csv(tmp_path / "few.csv")
    assert few.height == 600
    assert set(few.columns) - {"note: well"} <= {"day: month", "note: broken", "y"}
