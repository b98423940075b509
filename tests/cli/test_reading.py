"""Every format is read into the same table, whole and by batches."""

from __future__ import annotations

import gzip
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather

from depmax.cli.errors import DataError
from depmax.cli.reading import open_source
from depmax.cli.reading.source import ReadOptions

FRAME = pl.DataFrame(
    {
        "size": [1.5, 2.5, None, 4.0, 5.0],
        "count": [1, 2, 3, 4, 5],
        "colour": ["red", "blue", None, "red", "blue"],
        "flag": [True, False, True, None, False],
    }
)


def _stream(frame: pl.DataFrame, path: Path) -> None:
    table = frame.to_arrow()
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table)


def _compressed(frame: pl.DataFrame, path: Path) -> None:
    path.write_bytes(gzip.compress(frame.write_csv().encode()))


WRITERS: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    "a.csv": lambda frame, path: frame.write_csv(path),
    "a.csv.gz": _compressed,
    "A.TSV": lambda frame, path: frame.write_csv(path, separator="\t"),
    "a.parquet": lambda frame, path: frame.write_parquet(path, row_group_size=2),
    "a.arrow": lambda frame, path: frame.write_ipc(path),
    "a.ipc": _stream,
    "a.feather": lambda frame, path: feather.write_feather(frame.to_arrow(), str(path)),
}


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_tables_come_back(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    WRITERS[name](FRAME, path)
    source = open_source(str(path))
    assert source.read().equals(FRAME)
    assert list(source.schema()) == FRAME.columns
    batches = list(source.batches(["flag", "size"], 2))
    assert all(batch.height <= 2 for batch in batches)
    assert pl.concat(batches).equals(FRAME.select("flag", "size"))


def test_row_counts_are_known_where_the_file_tells(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "a.parquet")
    FRAME.write_csv(tmp_path / "a.csv")
    assert open_source(str(tmp_path / "a.parquet")).n_rows() == 5
    assert open_source(str(tmp_path / "a.csv")).n_rows() is None


def test_csv_of_people(tmp_path: Path) -> None:
    """A byte order mark, padded cells, quoted line ends, an unnamed column, marks of missing."""
    text = '\ufeff, size , colour,note\n0, 1.5 , red,"a\nb"\n1, NA, blue,?\n2,3,N/A,"c, d"\n'
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    source = open_source(str(tmp_path / "a.csv"))
    frame = source.read()
    assert frame.columns == ["column_1", "size", "colour", "note"]
    assert frame["colour"].to_list() == ["red", "blue", None]
    assert frame["note"].to_list() == ["a\nb", None, "c, d"]
    assert frame["size"].to_list()[::2] == [1.5, 3.0]
    batches = pl.concat(list(source.batches(["note", "colour"], 100)))
    assert batches["note"].to_list() == ["a\nb", None, "c, d"]


def test_own_marks_of_missing(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,none\n-9,NA\n3,b\n")
    options = ReadOptions(missing=("", "none", "-9"))
    frame = open_source(str(tmp_path / "a.csv"), options).read()
    assert frame["x"].to_list() == [1, None, 3]
    assert frame["y"].to_list() == [None, "NA", "b"]


def test_numbers_that_begin_late(tmp_path: Path) -> None:
    """The type of a column is decided by all rows, not by the first thousand."""
    lines = ["x"] + ["1"] * 5000 + ["2.5"]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    source = open_source(str(tmp_path / "a.csv"))
    assert source.schema()["x"] == pl.Float64
    assert pl.concat(list(source.batches(["x"], 1000)))["x"][-1] == 2.5


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("2024-01-31", "2024-02-01", pl.Date),
        ("31.01.2024", "01.02.2024", pl.Date),
        ("2024-01-31 10:30", "2024-02-01 11:45", pl.Datetime),
        ("10:30:00", "11:45:30", pl.Time),
    ],
)
def test_a_column_of_dates_is_one_however_it_is_read(
    tmp_path: Path, first: str, second: str, kind: type[pl.DataType]
) -> None:
    (tmp_path / "a.csv").write_text(f"day,x\n{first},1\n{second},2\n,3\n")
    source = open_source(str(tmp_path / "a.csv"))
    whole = source.read()
    assert source.schema()["day"] == whole["day"].dtype == kind
    assert whole["day"].null_count() == 1
    assert pl.concat(source.batches(["x", "day"], 2)).equals(whole.select("x", "day"))


def test_columns_of_words_are_not_tried_as_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each distinct cell is looked at once: tables may have thousands of such columns."""
    rng = np.random.default_rng(0)
    names = [f"gene {j}" for j in range(300)]
    cells = rng.choice(["low", "high", "NA", "site A1"], (100, len(names)))
    lines = [",".join(names), *(",".join(row) for row in cells)]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    monkeypatch.delattr("depmax.cli.reading.cells.read_numbers")
    frame = open_source(str(tmp_path / "a.csv")).read()
    assert set(frame.dtypes) == {pl.String}
    assert frame.null_count().sum_horizontal().item() == (cells == "NA").sum()


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (("true", "FALSE", "NA"), pl.Boolean),
        (("true", "-"), pl.String),  # a dash is a value beside words
        (("NA", "", "?"), pl.Null),
        (("-", "1.5", "none"), pl.Float64),
        (("inf", "-Infinity"), pl.Float64),
        (("NaN", "2"), pl.Int64),
        (("NA", "2024-01-31"), pl.Date),
        (("Ten", "10"), pl.String),
        (("A1", "B2"), pl.String),
        (("1e5", "2E-3"), pl.Float64),
    ],
)
def test_words_and_what_looks_like_them(
    tmp_path: Path, cells: tuple[str, ...], kind: type[pl.DataType]
) -> None:
    lines = ["x,z", *(f"{cell},1" for cell in cells * 3)]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    source = open_source(str(tmp_path / "a.csv"), ReadOptions(header=True))
    assert source.schema()["x"] == kind
    assert source.read()["x"].dtype == kind


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_changes_between_two_visits_is_refused(
    tmp_path: Path, suffix: str, replaced: bool
) -> None:
    """Also if size and time of the file are as they were."""
    path = tmp_path / f"a.{suffix}"
    _write_plain(pl.DataFrame({"x": [1, 2, 3]}), tmp_path, "a", suffix)
    source = open_source(str(path))
    assert source.read()["x"].to_list() == [1, 2, 3]
    before = path.stat()
    time.sleep(0.02)
    _write_plain(pl.DataFrame({"x": [1, 2, 4]}), tmp_path, "b" if replaced else "a", suffix)
    if replaced:
        os.replace(tmp_path / f"b.{suffix}", path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    for act in (source.read, lambda: list(source.batches(["x"], 2))):
        with pytest.raises(DataError, match=path.name):
            act()


def test_bundled_sets() -> None:
    source = open_source("bundled:wine")
    assert source.read().shape == (178, 14)
    assert source.default_targets == ("target",)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "parquet", "arrow"])
def test_file_names_are_not_patterns(tmp_path: Path, suffix: str) -> None:
    for name, value in (("data1", 1.0), ("data2", 2.0), ("data[1]", 3.0), ("data?", 4.0)):
        _write_plain(pl.DataFrame({"a": [value, value], "y": [0.5, 1.5]}), tmp_path, name, suffix)
    for name, value in (("data[1]", 3.0), ("data?", 4.0)):
        source = open_source(str(tmp_path / f"{name}.{suffix}"))
        assert source.read()["a"].to_list() == [value, value]
        assert [len(batch) for batch in source.batches(["a"], 10)] == [2]
    with pytest.raises(DataError, match="does not exist"):
        open_source(str(tmp_path / f"data*.{suffix}"))


def _write_plain(frame: pl.DataFrame, folder: Path, name: str, suffix: str) -> None:
    with (folder / f"{name}.{suffix}").open("wb") as file:
        if suffix == "parquet":
            frame.write_parquet(file)
        elif suffix == "arrow":
            frame.write_ipc(file)
        else:
            text = frame.write_csv(separator="\t" if suffix == "tsv" else ",").encode()
            file.write(gzip.compress(text) if suffix == "csv.gz" else text)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "arrow"])
@pytest.mark.parametrize("name", ["data[1]", "all?", "a*", "{a,b}"])
def test_a_file_name_is_not_a_pattern(name: str, suffix: str, tmp_path: Path) -> None:
    writers = {"parquet": pl.DataFrame.write_parquet, "arrow": pl.DataFrame.write_ipc}
    for stem, value in ((name, 1), ("data1", 2), ("all1", 3), ("ab", 4), ("a", 5), ("b", 6)):
        frame = pl.DataFrame({"x": [value, value]})
        writers.get(suffix, pl.DataFrame.write_csv)(frame, tmp_path / f"{stem}.{suffix}")
    source = open_source(str(tmp_path / f"{name}.{suffix}"))
    assert source.read()["x"].to_list() == [1, 1]
    assert [batch["x"].to_list() for batch in source.batches(["x"], 10)] == [[1, 1]]
