"""Whatever a new user does wrong ends with one clear line and an exit code, never a traceback."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

Fails = Callable[..., str]


def test_a_missing_file_with_the_nearest_name(fails: Fails, patients: Path) -> None:
    assert "does not exist. Did you mean patients.csv?" in fails(3, "screen", "patient.csv")
    assert "Nor does the folder nowhere" in fails(3, "screen", "nowhere/a.csv")


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input(fails: Fails, name: str) -> None:
    assert "not read from standard input" in fails(3, "screen", name, "-t", "y")


def test_a_folder_and_an_unknown_format(fails: Fails, tmp_path: Path) -> None:
    (tmp_path / "data.docx").write_text("x")
    assert "no Parquet or Arrow files" in fails(3, "screen", tmp_path)
    assert "has an unknown extension (.docx): known extensions are .csv" in fails(
        3, "screen", "data.docx"
    )


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "arrow"])
def test_an_empty_file(fails: Fails, tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"data.{suffix}").touch()
    assert f"data.{suffix} is empty" in fails(3, "screen", f"data.{suffix}", "-t", "y")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_a_file_of_something_else(fails: Fails, tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"data.{suffix}").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00\xff\xfe" * 40)
    assert f"data.{suffix}" in fails(3, "screen", f"data.{suffix}", "-t", "y")


def test_a_header_without_rows(fails: Fails, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n")
    assert "has a header but no rows" in fails(3, "screen", "a.csv", "-t", "y")


def test_options_of_reading_that_make_no_sense(fails: Fails, patients: Path) -> None:
    asked = ("screen", patients, "-t", "outcome")
    assert "single character, tab or whitespace" in fails(2, *asked, "--separator", ";;")
    assert "--separator cannot be" in fails(2, *asked, "--separator", '"')
    assert "--decimal must be . or ," in fails(2, *asked, "--decimal", "x")
    assert "cannot both be ','" in fails(2, *asked, "--decimal", ",", "--separator", ",")
    assert "there is no encoding named 'utf-9'" in fails(2, *asked, "--encoding", "utf-9")
    assert "is not valid utf-16" in fails(3, *asked, "--encoding", "utf-16")


def test_ragged_rows(fails: Fails, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4,5\n")
    line = fails(3, "screen", "a.csv", "-t", "y")
    assert "a.csv, line 3: 3 cells, but the header names 2. Put cells that hold" in line
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3\n4,5\n")
    line = fails(3, "screen", "a.csv", "-t", "y")
    assert "a.csv, line 3: 1 cell, but the header names 2" in line


def test_text_in_another_encoding_and_damaged_gzip(fails: Fails, tmp_path: Path) -> None:
    text = "x,y\n" + "".join(f"{i},{i % 2}\n" for i in range(200))
    (tmp_path / "a.csv").write_bytes(text.encode() + b"\x81,1\n")
    line = fails(3, "screen", "a.csv", "-t", "y")
    assert "a.csv is neither valid UTF-8 nor valid Windows-1252" in line
    (tmp_path / "a.csv.gz").write_text(text)
    assert "a.csv.gz is not a valid gzip file: Not a gzip" in fails(
        3, "screen", "a.csv.gz", "-t", "y"
    )
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text.encode())[:-40])
    assert "a.csv.gz is not a complete gzip file: it was cut off" in fails(
        3, "screen", "a.csv.gz", "-t", "y"
    )


def test_options_that_make_no_sense(fails: Fails, run: Any, patients: Path) -> None:
    asked = (patients, "-t", "outcome")
    assert "--target names 'outcome' twice" in fails(2, "screen", *asked, "-t", "outcome")
    for option, value in (("--n-jobs", 0), ("--seed", -1), ("--top", -3)):
        result = run("screen", *asked, option, value)
        assert result.exit_code == 2
        assert f"Invalid value for '{option}'" in result.stderr
    assert "step of BAHSIC must be a share between 0 and 1" in fails(
        3, "fit", *asked, "-m", "BAHSIC", "--set", "step=few"
    )
    compared = ("compare", *asked, "-m", "BAHSIC", "-m", "PCA")
    line = fails(3, *compared, "--dimensions", "1,99")
    assert (
        "dimensions holds 99, but on a training part of these data no method can produce more"
        in line
    )
    assert "folds are more than the" in fails(3, *compared, "--folds", 99)
    assert "cannot judge a target of classes" in fails(3, *compared, "--scoring", "r2")
    line = fails(3, "compare", patients, "-t", "cost", "-m", "PCA", "--scoring", "roc_auc")
    assert "scoring='roc_auc' cannot judge a target of numbers" in line


def test_a_target_that_is_not_there(fails: Fails, patients: Path) -> None:
    line = fails(3, "select", patients, "--target", "Outcom")
    assert "has no column named 'Outcom'. Did you mean outcome?" in line
    assert "Pass --target COLUMN; the columns are id, name, age" in fails(2, "select", patients)
    assert "Did you mean dose?" in fails(3, "screen", patients, "-t", "outcome", "--drop", "doze")
    line = fails(2, "screen", patients, "-t", "age", "--drop", "age")
    assert "is named by both --target and --drop" in line


def test_targets_that_cannot_be_predicted(fails: Fails, patients: Path) -> None:
    assert "a different value in every row" in fails(3, "screen", patients, "-t", "name")
    assert "the same value in all rows" in fails(3, "screen", patients, "-t", "ward")
    line = fails(3, "screen", patients, "-t", "outcome", "--task", "regression")
    assert "values that are not numbers" in line
    assert "must be numeric" in fails(3, "screen", patients, "-t", "outcome", "-t", "cost")


def test_two_rows(fails: Fails, table: pl.DataFrame, tmp_path: Path) -> None:
    table.head(2).write_csv(tmp_path / "two.csv")
    for command in ("screen", "select", "fit"):
        assert "has 2 rows" in fails(3, command, "two.csv", "-t", "cost")


def test_many_columns_and_few_rows(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 10_000))
    frame = pl.DataFrame(X, schema=[f"g{j}" for j in range(X.shape[1])])
    frame = frame.with_columns(pl.Series("y", (X[:, 7] > 0).astype(int)), empty=pl.lit(1.0))
    frame.write_parquet(tmp_path / "wide.parquet")
    result = run("screen", "wide.parquet", "-t", "y")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[1].startswith("g7\t1\t")
    assert len(result.stdout.splitlines()) == 10_001


def test_duplicated_column_names(fails: Fails, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y,x,x (2)\n1,2,3,4\n4,5,6,7\n")
    line = fails(3, "screen", "a.csv", "-t", "y")
    assert "several columns with the same name: 'x (2)'" in line
    import pyarrow as pa
    from pyarrow import parquet

    twice = pa.table([pa.array([1, 2]), pa.array([3, 4])], names=["x", "x"])
    parquet.write_table(twice, tmp_path / "a.parquet")
    assert "several columns with the same name" in fails(3, "screen", "a.parquet", "-t", "x")
    with pa.ipc.new_file(str(tmp_path / "a.arrow"), twice.schema) as writer:
        writer.write_table(twice)
    assert "several columns with the same name" in fails(3, "screen", "a.arrow", "-t", "x")


@pytest.mark.parametrize(("suffix", "format"), [("parquet", "Parquet"), ("arrow", "Arrow")])
def test_truncated_files(
    fails: Fails, table: pl.DataFrame, tmp_path: Path, suffix: str, format: str
) -> None:
    path = tmp_path / f"data.{suffix}"
    table.write_parquet(path) if suffix == "parquet" else table.write_ipc(path)
    path.write_bytes(path.read_bytes()[:-100])
    assert f"not a valid {format}" in fails(3, "screen", path, "-t", "outcome")


def test_dates_and_nested_values(fails: Fails, table: pl.DataFrame, tmp_path: Path) -> None:
    dated = table.with_columns(day=pl.lit("2024-03-01"))
    dated.write_csv(tmp_path / "dates.csv")
    kept = fails(3, "screen", "dates.csv", "-t", "outcome", "--keep", "day", "--no-expand")
    assert "Column 'day' holds dates: turn them into meaningful numbers" in kept
    assert "The target 'day' holds dates" in fails(3, "screen", "dates.csv", "-t", "day")
    table.with_columns(parts=pl.lit([1, 2])).write_parquet(tmp_path / "lists.parquet")
    kept = fails(3, "screen", "lists.parquet", "-t", "outcome", "--keep", "parts")
    assert "'parts' holds List" in kept


def test_missing_values_and_infinity(
    fails: Fails, run: Callable[..., Any], table: pl.DataFrame, tmp_path: Path
) -> None:
    gaps = table.with_columns(
        age=pl.when(pl.col("dose") == 2).then(None).otherwise(pl.col("age")),
        colour=pl.when(pl.col("dose") == 3).then(None).otherwise(pl.col("colour")),
    )
    gaps.write_csv(tmp_path / "gaps.csv")
    selected = run("select", "gaps.csv", "-t", "outcome", "--method", "Relief")
    count = table.filter(pl.col("dose") == 2).height
    assert f"Missing values filled (median): age ({count} of 80), colour (" in selected.stderr
    table.with_columns(age=float("inf")).write_parquet(tmp_path / "inf.parquet")
    assert "'age' holds infinity" in fails(
        3, "screen", "inf.parquet", "-t", "outcome", "--keep", "age"
    )


def test_methods_that_use_missing_values_need_no_imputation(
    run: Callable[..., Any], table: pl.DataFrame, tmp_path: Path
) -> None:
    age = pl.when(pl.col("dose") == 2).then(None).otherwise(pl.col("age"))
    table.with_columns(age=age).write_csv(tmp_path / "gaps.csv")
    for command in (
        ("screen", "gaps.csv", "-t", "outcome"),
        ("select", "gaps.csv", "-t", "outcome", "-m", "BAHSIC"),
        ("select", "gaps.csv", "-t", "outcome", "--set", "missing=level", "-o", "out.csv"),
    ):
        result = run(*command)
        assert result.exit_code == 0, result.output
        assert "Missing values not filled: age" in result.stderr
    assert (tmp_path / "out.csv").exists()


def test_nothing_left_to_learn_from(fails: Fails, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,y\n" + "".join(f"{i},{i % 2}\n" for i in range(20)))
    assert "no column left to learn from" in fails(3, "screen", "a.csv", "-t", "y")


def test_names_that_do_not_exist(fails: Fails, patients: Path) -> None:
    line = fails(2, "select", patients, "-t", "outcome", "--method", "bahsik")
    assert "Did you mean BAHSIC?" in line
    line = fails(2, "fit", patients, "-t", "outcome", "-m", "BAHSIC", "--set", "kernl=l")
    assert "BAHSIC has no parameter 'kernl'. Did you mean kernel?" in line
    assert "NAME=VALUE" in fails(2, "fit", patients, "-t", "outcome", "--set", "kernel")
    assert "Did you mean sonar?" in fails(3, "screen", "bundled:sonnar")
    assert "Did you mean sonar?" in fails(2, "datasets", "sonnar")
    assert "number of columns" in fails(2, "select", patients, "-t", "outcome", "-n", "few")


def test_what_the_library_refuses_is_one_line_too(fails: Fails, patients: Path) -> None:
    line = fails(3, "select", patients, "-t", "outcome", "-n", "99")
    assert "of KernelRidgeElimination must be a whole number from 1 to 5" in line
    line = fails(3, "fit", patients, "-t", "outcome", "-m", "BAHSIC", "--set", "kernel=gausian")
    assert "Did you mean 'gaussian'?" in line


def test_places_that_cannot_be_written(fails: Fails, patients: Path, tmp_path: Path) -> None:
    for command in ("fit", "select"):
        arguments = (command, patients, "-t", "outcome", "-o")
        assert "does not exist" in fails(5, *arguments, "nowhere/few.csv")
        assert "is not a folder" in fails(5, *arguments, f"{patients}/few.csv")
    (tmp_path / "out.csv").mkdir()
    assert "it is a folder" in fails(5, "select", patients, "-t", "outcome", "-o", "out.csv")
    line = fails(5, "select", patients, "-t", "outcome", "-o", "few.xlsx")
    assert "(.xlsx) is not a known format. Known: .csv" in line
    for words in (("profile", patients), ("compare", patients, "-t", "outcome")):
        assert "name it .html" in fails(5, *words, "--report", "page.pdf")


def test_a_pipe_is_not_replaced(fails: Fails, patients: Path, tmp_path: Path) -> None:
    """Moved into place, the result would take the place of the pipe, or of a device."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    for command in ("compare", "fit", "select"):
        line = fails(5, command, patients, "-t", "outcome", "-o", pipe)
        assert "it is a device or a pipe, not a file" in line
    assert pipe.is_fifo()


def test_a_link_stays_one(run: Any, patients: Path, tmp_path: Path) -> None:
    (tmp_path / "few.csv").symlink_to("elsewhere.csv")
    for _ in range(2):
        result = run("select", patients, "-t", "outcome", "-n", 2, "-o", "few.csv")
        assert result.exit_code == 0, result.output
        assert (tmp_path / "few.csv").is_symlink()
        assert len((tmp_path / "elsewhere.csv").read_text().splitlines()) == 81


def test_a_read_only_folder(
    fails: Fails, patients: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")  # root may write anywhere, so it is played

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    line = fails(5, "fit", patients, "-t", "outcome", "-o", tmp_path / "m.skops")
    assert "cannot be written to (Permission denied)" in line


def test_a_full_disk_leaves_the_old_file(
    fails: Fails, patients: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from depmax.cli.writing import Csv

    old = tmp_path / "few.csv"
    old.write_text("old")

    def full(self: Csv, rows: pl.DataFrame) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Csv, "add", full)
    line = fails(5, "select", patients, "-t", "outcome", "-n", "2", "-o", "few.csv")
    assert "No space left on device" in line
    assert old.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["few.csv", "patients.csv"]


def test_models_that_cannot_be_used(
    fails: Fails, run: Any, patients: Path, table: pl.DataFrame, tmp_path: Path
) -> None:
    from depmax import save_model
    from depmax.kernels import Gaussian

    def transform(model: object, data: object = "patients.csv") -> str:
        return fails(4, "transform", model, data, "-o", "out.csv")

    assert "nowhere.skops does not exist" in transform("nowhere.skops")
    assert "is not a valid model file" in transform(patients)
    save_model(Gaussian(), tmp_path / "kernel.skops")
    assert "holds a Gaussian, which cannot transform" in transform("kernel.skops")
    assert run("fit", patients, "-t", "outcome", "-n", "2", "-o", "m.skops").exit_code == 0
    whole = (tmp_path / "m.skops").read_bytes()
    (tmp_path / "cut.skops").write_bytes(whole[: len(whole) // 2])
    assert "is not a valid model file" in transform("cut.skops")
    table.rename({"age": "Age"}).write_csv(tmp_path / "renamed.csv")
    line = transform("m.skops", "renamed.csv")
    assert "lacks the column 'age' that the model was fitted on. Did you mean Age?" in line
    table.with_columns(age=pl.lit("old")).write_csv(tmp_path / "text.csv")
    line = transform("m.skops", "text.csv")
    assert "Column 'age' of text.csv holds text, but held numbers" in line
    assert not (tmp_path / "out.csv").exists()


def test_a_model_of_another_version(
    fails: Fails, run: Any, patients: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("depmax.persistence.model_files.__version__", "7.3.1")
    assert run("fit", patients, "-t", "outcome", "-n", "2", "-o", "m.skops").exit_code == 0
    monkeypatch.undo()
    out = patients.parent / "out.csv"
    model = patients.parent / "m.skops"
    line = fails(4, "transform", model, patients, "-o", out)
    assert "was written by depmax 7.3.1, but this is depmax" in line
    result = run("transform", model, patients, "-o", out, "--any-version")
    assert result.exit_code == 0
    assert "warning: " in result.stderr


def test_a_bug_of_ours_is_one_line_too(
    fails: Fails, patients: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("depmax.cli.table.read_target", broken)
    line = fails(1, "screen", patients, "-t", "outcome")
    assert "Unexpected ZeroDivisionError: oops (This is a bug in depmax; DEPMAX_DEBUG=1" in line


def test_ctrl_c_is_clean(
    fails: Fails, patients: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("depmax.selection.KernelRidgeElimination.fit", interrupt)
    line = fails(130, "select", patients, "-t", "outcome", "-o", "few.csv")
    assert "Interrupted. No file was left half-written." in line
    assert [path.name for path in tmp_path.iterdir()] == ["patients.csv"]


def test_an_empty_name_is_not_the_current_folder(fails: Fails) -> None:
    assert "The name of the data file is empty" in fails(3, "screen", "", "-t", "y")


def test_a_home_folder_of_nobody(fails: Fails, patients: Path) -> None:
    line = "~nobody_by_this_name is not the home folder of a user"
    assert line in fails(3, "screen", "~nobody_by_this_name/x.csv", "-t", "y")
    asked = ("select", patients, "-t", "outcome", "-o")
    assert line in fails(5, *asked, "~nobody_by_this_name/x.csv")


@pytest.mark.parametrize("link", ["same", "dotted", "symbolic"])
@pytest.mark.parametrize("command", ["fit", "select", "compare", "transform", "model"])
def test_the_output_does_not_replace_an_input(
    run: Any, fails: Fails, patients: Path, tmp_path: Path, command: str, link: str
) -> None:
    model = tmp_path / "model.csv"  # a model may have any name
    if command in ("transform", "model"):
        run("fit", patients, "-t", "outcome", "-m", "dependence-filter", "-n", 2, "-o", model)
    read = model if command == "model" else patients
    place = {
        "same": read,
        "dotted": tmp_path / "folder" / ".." / read.name,
        "symbolic": tmp_path / "link.csv",
    }[link]
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.csv").symlink_to(read)
    before = read.read_bytes()
    inputs = (model, patients) if command in ("transform", "model") else (patients, "-t", "outcome")
    name = "transform" if command == "model" else command
    assert "it is the input file" in fails(5, name, *inputs, "-o", place)
    assert read.read_bytes() == before


def test_escape_codes_in_names_do_not_reach_the_terminal(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 2))
    frame = pl.DataFrame({"\x1b[31mred\x07": x[:, 0], "b": x[:, 1], "y": x[:, 0] > 0})
    frame = frame.with_columns(pl.lit("\x1b]0;title\x07").alias("\x1b[2Jconstant"))
    frame.write_parquet(tmp_path / "codes.parquet")
    for words in (("screen", "-t", "y"), ("select", "-t", "y"), ("screen", "-t", "\x1b[2Jz")):
        result = run(words[0], "codes.parquet", *words[1:])
        assert not {"\x1b", "\x07"} & set(result.output), repr(result.output)
    assert "[31mred" in run("screen", "codes.parquet", "-t", "y").output


def test_a_file_name_that_is_not_utf_8(fails: Fails, patients: Path, tmp_path: Path) -> None:
    odd = os.fsdecode(b"caf\xe9.csv")
    assert "the name is not valid UTF-8. Rename the file" in fails(
        3, "screen", odd, "-t", "outcome"
    )
    line = fails(5, "select", patients, "-t", "outcome", "-o", odd)
    assert "the name is not valid UTF-8. Rename the file" in line


@pytest.mark.parametrize("value", ["=cmd|'/C calc'!A0", "@SUM(1)", "+cmd|' /C'!A0", "-2+cmd|x!A"])
def test_formulas_from_data_are_mentioned(run: Any, tmp_path: Path, value: str) -> None:
    """The cells stay as they are: a change would damage data that mean something else."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=40), "y": rng.integers(0, 2, 40)})
    frame.with_columns(who=pl.Series(["-", "+5", "", value] * 10)).write_parquet(
        tmp_path / "a.parquet"
    )
    chosen = ("select", "a.parquet", "-t", "y", "-n", 2, "-o")
    result = run(*chosen, "few.csv")
    assert result.exit_code == 0, result.output
    assert (
        "warning: The output holds text that a spreadsheet would run as a formula" in result.stderr
    )
    assert value in result.stderr
    assert value in (tmp_path / "few.csv").read_text()
    assert "formula" not in run(*chosen, "few.parquet").stderr


def test_formulas_in_names_are_mentioned_and_numbers_are_not(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"=1+1": rng.normal(size=40), "y": rng.integers(0, 2, 40)})
    frame.write_csv(tmp_path / "a.csv")
    assert "'=1+1'" in run("select", "a.csv", "-t", "y", "-n", 1, "-o", "few.csv").stderr
    frame.rename({"=1+1": "-x"}).write_csv(tmp_path / "a.csv")
    assert "formula" not in run("select", "a.csv", "-t", "y", "-n", 1, "-o", "few.csv").stderr
