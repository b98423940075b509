"""Folders of files, and tables of which random rows or one part at a time are used."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import depmax
from depmax.cli.reading import open_source

Run = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 5)) * [1.0, 1.0, 50.0, 1.0, 1.0]
    frame = pl.DataFrame(X, schema=list("abcde")).with_columns(
        pl.Series("kind", rng.choice(["u", "v"], 900)),
        pl.Series("y", X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=900)),
    )
    place = tmp_path / "table"
    place.mkdir()
    for number, start in enumerate((0, 100, 550)):
        stop = (100, 550, 900)[number]
        frame[start:stop].write_parquet(place / f"part-{number}.parquet")
    frame.write_parquet(tmp_path / "whole.parquet")
    return place


@pytest.fixture
def counts_as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("depmax.cli.table.LARGE_TABLE", 1000)
    monkeypatch.setattr("depmax.cli.table.DRAWN_ROWS", 300)


def test_a_folder_is_one_table(run: Run, folder: Path) -> None:
    results = [
        json.loads(run("select", data, "-t", "y", "-n", 2, "--json").stdout)
        for data in (folder, folder.parent / "whole.parquet")
    ]
    assert results[0]["selected"] == results[1]["selected"]
    assert results[0]["rows"] == 900


@pytest.mark.usefixtures("counts_as_large")
def test_of_a_large_table_random_rows_are_searched_and_all_are_written(
    run: Run, folder: Path
) -> None:
    done = run("select", folder, "-t", "y", "-n", 2, "--json", "-o", "few.parquet")
    found = json.loads(done.stdout)
    assert sorted(found["selected"]) == ["a", "b"]
    assert "from 300 of them, drawn at random (seed 0)" in found["notes"][0]
    written = pl.read_parquet(folder.parent / "few.parquet")
    assert written.shape == (900, 3)
    whole = pl.read_parquet(folder.parent / "whole.parquet")
    assert written["y"].to_list() == whole["y"].to_list()


@pytest.mark.parametrize("method", ["HSCA", "KernelPLS"])
def test_a_model_of_a_large_table_is_fitted_to_all_rows(
    run: Run, folder: Path, method: str, request: pytest.FixtureRequest
) -> None:
    def features(name: str) -> np.ndarray:
        model, out = f"{name}.skops", f"{name}.parquet"
        arguments = ("-t", "y", "-m", method, "-n", 2, "-o", model)
        assert run("fit", folder, *arguments).exit_code == 0
        assert run("transform", model, folder, "-o", out).exit_code == 0
        return pl.read_parquet(folder.parent / out).to_numpy()

    expected = features("memory")
    request.getfixturevalue("counts_as_large")
    np.testing.assert_allclose(features("streamed"), expected, atol=1e-8)


def test_what_is_wrong_with_a_file_is_named(fails: Callable[..., str], folder: Path) -> None:
    (folder / "part-1.parquet").write_bytes(b"PAR1 nothing")
    assert "part-1.parquet cannot be read" in fails(3, "select", folder, "-t", "y")
    frame = pl.DataFrame({"a": ["text"], **{name: [1.0] for name in "bcde"}})
    frame = frame.with_columns(kind=pl.lit("u"), y=pl.lit(1.0))
    frame.write_parquet(folder / "part-1.parquet")
    assert "Column 'a' holds double values" in fails(3, "select", folder, "-t", "y")


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("first", [True, False])
def test_a_column_without_values_in_one_file_has_the_type_of_the_others(
    tmp_path: Path, ending: str, first: bool
) -> None:
    values = {
        "number": [1.5, 2.5, None],
        "text": ["u", "v", "u"],
        "kind": pa.array(["u", "v", None]).dictionary_encode(),
    }
    full = pa.table({**values, "y": [1.0, 2.0, 3.0]})
    without = pa.table({**{name: pa.nulls(3) for name in values}, "y": [4.0, 5.0, 6.0]})
    place = tmp_path / "parts"
    place.mkdir()
    for number, table in enumerate((without, full) if first else (full, without)):
        path = place / f"{number}.{ending}"
        if ending == "parquet":
            parquet.write_table(table, path)
        else:
            with pa.ipc.new_file(str(path), table.schema) as writer:
                writer.write_table(table)
    read = open_source(str(place)).read()
    assert read.schema["number"] == pl.Float64
    assert read.schema["text"] == pl.String
    assert read["number"].drop_nulls().to_list() == [1.5, 2.5]
    assert read["kind"].cast(pl.String).drop_nulls().to_list() == ["u", "v"]
    assert read["y"].to_list() == ([4, 5, 6, 1, 2, 3] if first else [1, 2, 3, 4, 5, 6])
    types = [chunk.schema.types for chunk in depmax.scan(place, target="y").chunks()]
    assert types[0] == types[1] == full.drop_columns("y").schema.types


def test_the_output_is_not_written_among_the_files_that_are_read(
    run: Run, fails: Callable[..., str], folder: Path, tmp_path: Path
) -> None:
    run("fit", folder, "-t", "y", "-m", "hsca", "-o", tmp_path / "m.skops")
    before = (folder / "part-0.parquet").read_bytes()
    (tmp_path / "link").symlink_to(folder)
    for place in (folder / "part-0.parquet", folder / "new.csv", tmp_path / "link" / "new.csv"):
        line = fails(5, "transform", tmp_path / "m.skops", folder, "-o", place)
        assert "it is in the input folder" in line
    assert (folder / "part-0.parquet").read_bytes() == before
    assert len(list(folder.iterdir())) == 3


def test_files_without_rows_and_files_that_are_not_read_are_named(
    run: Run, fails: Callable[..., str], folder: Path, tmp_path: Path
) -> None:
    (folder / "part-2.parquet").rename(folder / "PART-2.PARQUET")
    (folder / "notes.csv").write_text("a,y\n1,2\n")
    told = run("screen", folder, "-t", "y").output
    assert "900 rows" in told
    assert "Only Parquet and Arrow files of" in told
    assert "not notes.csv" in told
    empty = tmp_path / "empty"
    empty.mkdir()
    pl.read_parquet(tmp_path / "whole.parquet").head(0).write_parquet(empty / "a.parquet")
    assert "has no rows" in fails(3, "screen", empty, "-t", "y")


def test_cells_of_every_file_are_validated(fails: Callable[..., str], tmp_path: Path) -> None:
    """An index beyond its dictionary: read without looking, it ends the process or shows memory."""
    beyond = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 900_000, 0] * 20, pa.int32()), pa.array(["a", "b"]), safe=False
    )
    table = pa.table({"kind": beyond, "x": np.arange(80.0), "y": np.arange(80) % 7})
    (tmp_path / "table").mkdir()
    with pa.ipc.new_file(tmp_path / "table" / "part.arrow", table.schema) as writer:
        writer.write_table(table)
    line = fails(3, "screen", tmp_path / "table", "-t", "y")
    assert "part.arrow is damaged: its cells contradict themselves" in line
    with pytest.raises(ValueError, match=r"part\.arrow is damaged"):
        list(depmax.scan(tmp_path / "table").chunks())


def test_a_long_text_that_is_repeated_does_not_fill_the_memory(
    fails: Callable[..., str], tmp_path: Path
) -> None:
    long = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(60_000, dtype=np.int32)), pa.array(["x" * 20_000])
    )
    table = pa.table({"text": long, "x": np.arange(60_000.0), "y": np.arange(60_000) % 2})
    (tmp_path / "table").mkdir()
    parquet.write_table(table, tmp_path / "table" / "part.parquet", store_schema=False)
    line = fails(3, "screen", tmp_path / "table", "-t", "y", "--max-memory", "500MB")
    assert "part.parquet would take at least" in line
    chunk = next(depmax.scan(tmp_path / "table", columns=["text"]).chunks())
    assert chunk.nbytes < 2**27
