"""Files that are made to do harm: refused by name, before they take memory or lead astray.

Private modules: the check of Arrow's buffers serves packages that read no such file in tests.
"""

from __future__ import annotations

import gzip
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import depmax
from depmax._files import DamagedFileError, validated
from depmax.cli.errors import DataError
from depmax.cli.reading import open_source
from depmax.cli.reading.source import ReadOptions

LIMIT = 1 << 26


def _read(path: Path, limit: int = LIMIT) -> pl.DataFrame:
    return open_source(str(path), ReadOptions(max_memory=limit)).read()


# --- cells that contradict themselves
def test_arrow_offsets_that_lead_outside(tmp_path: Path) -> None:
    """Taken at their word, they would put 4,000 bytes of this process's memory into a cell."""
    path = tmp_path / "a.arrow"
    table = pa.table({"s": pa.array(["abcd", "efgh"])})
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    content = path.read_bytes()
    offsets = np.array([0, 4, 8], dtype=np.int32).tobytes()
    assert content.count(offsets) == 1
    path.write_bytes(content.replace(offsets, np.array([0, 4, 4004], dtype=np.int32).tobytes()))
    with pytest.raises(DataError, match=r"a\.arrow is damaged"):
        _read(path)


def test_arrow_views_that_lead_outside(tmp_path: Path) -> None:
    path = tmp_path / "a.arrow"
    text = "a text that is longer than twelve bytes"
    with path.open("wb") as file:
        pl.DataFrame({"s": [text, text + "!"]}).write_ipc(file, compression="uncompressed")
    content = bytearray(path.read_bytes())
    place = content.index(np.int32(len(text)).tobytes() + text[:4].encode())
    content[place : place + 4] = np.int32(4000).tobytes()
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.arrow is damaged"):
        _read(path)


def test_validation_is_there_for_others() -> None:
    indices = pa.array([0, 7], pa.int32())
    wrong = pa.DictionaryArray.from_arrays(indices, pa.array(["a"]), safe=False)
    with pytest.raises(DamagedFileError, match=r"b\.parquet is damaged"):
        validated(pa.table({"x": wrong}), "b.parquet")


def test_parquet_text_that_is_not_utf_8(tmp_path: Path) -> None:
    """Polars panics on it, and a panic is not an Exception."""
    path = tmp_path / "a.parquet"
    for dictionary in (True, False):
        parquet.write_table(
            pa.table({"s": ["abcd", "efgh"]}),
            path,
            use_dictionary=dictionary,
            compression="none",
            write_statistics=False,
        )
        path.write_bytes(path.read_bytes().replace(b"abcd", b"ab\xffd"))
        with pytest.raises(DataError, match=r"a\.parquet is damaged"):
            _read(path)
        with pytest.raises(DataError, match=r"a\.parquet is damaged"):
            list(open_source(str(path)).batches(["s"], 10))


def test_a_panic_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame({"x": [1]}).write_parquet(path)

    def panic(*_: object, **__: object) -> None:
        raise pl.exceptions.PanicException("index out of bounds")

    monkeypatch.setattr(pl, "from_arrow", panic)
    with pytest.raises(DataError, match=r"a\.parquet cannot be read"):
        _read(path)


def test_feather_version_1_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.feather"
    path.write_bytes(b"FEA1" + bytes(200) + b"FEA1")
    with pytest.raises(DataError, match=r"a\.feather .*write_feather"):
        _read(path)


def test_nested_columns_are_told_from_the_schema(tmp_path: Path) -> None:
    """None of their cells is read: lists can overlap and records repeat."""
    frame = pl.DataFrame({"x": [1.0, 2.0], "parts": [[1], [2, 3]]})
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ipc(tmp_path / "a.arrow")
    for name in ("a.parquet", "a.arrow"):
        source = open_source(str(tmp_path / name))
        assert source.schema()["parts"] == pl.List(pl.Int64)
        assert source.read(["x"])["x"].to_list() == [1.0, 2.0]
        with pytest.raises(DataError, match=r"'parts' of .*list"):
            source.read()


@pytest.mark.parametrize("suffix", ["arrow", "parquet"])
def test_a_zero_byte_in_a_name_does_not_end_it(tmp_path: Path, suffix: str) -> None:
    table = pa.table({"a\x08\x00b": [1, 2], "c": [3, 4]})
    if suffix == "parquet":
        parquet.write_table(table, tmp_path / "a.parquet")
    else:
        with pa.ipc.new_file(str(tmp_path / "a.arrow"), table.schema) as writer:
            writer.write_table(table)
    source = open_source(str(tmp_path / f"a.{suffix}"))
    assert source.read().columns == list(source.schema()) == table.column_names


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"])
def test_parquet_text_in_any_encoding(encoding: str, tmp_path: Path) -> None:
    table = pa.table({"s": [f"text {i}" for i in range(50)], "x": range(50)})
    options: Any = {"use_dictionary": False, "column_encoding": {"s": encoding, "x": "PLAIN"}}
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=20, **options)
    assert _read(tmp_path / "a.parquet").to_dict(as_series=False) == table.to_pydict()
    source = open_source(str(tmp_path / "a.parquet"))
    assert pl.concat(source.batches(["x", "s"], 7))["s"].to_list() == table["s"].to_pylist()


# --- small files that would take much memory
def _gzip_table(path: Path) -> None:
    with gzip.open(path, "wb", 1) as file:
        file.write(b"x,y\n")
        for _ in range(20):
            file.write(b"1,2\n" * 500_000)


def _gzip_line(path: Path) -> None:
    with gzip.open(path, "wb", 1) as file:
        for _ in range(10):
            file.write(b"a" * 4_000_000)


def _gzip_columns(path: Path) -> None:
    path.write_bytes(gzip.compress(b"1" + b",1" * 200_000 + b"\n"))


def _parquet_runs(path: Path) -> None:
    zeros = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10_000_000, np.int8)), [1.0])
    parquet.write_table(pa.table({"x": zeros}), path, store_schema=False)


def _parquet_text(path: Path) -> None:
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, np.int8)), ["x" * 20_000])
    parquet.write_table(pa.table({"x": text}), path, store_schema=False)


def _arrow_packed(path: Path) -> None:
    table = pa.table({"x": np.zeros(10_000_000)})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(str(path), table.schema, options=options) as writer:
        writer.write_table(table)


def _arrow_dictionary(path: Path) -> None:
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, np.int8)), ["x" * 20_000])
    with pa.ipc.new_stream(str(path), pa.schema([("x", text.type)])) as writer:
        writer.write_table(pa.table({"x": text}))


def _arrow_nulls(path: Path) -> None:
    """Cells that take no bytes, as many as one likes."""
    table = pa.table({"x": pa.nulls(123_457)})
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    content = path.read_bytes()
    count = np.int64(123_457).tobytes()
    assert count in content
    path.write_bytes(content.replace(count, np.int64(2**40).tobytes()))


BOMBS: dict[str, tuple[Callable[[Path], None], str]] = {
    "table.csv.gz": (_gzip_table, "would take at least"),
    "line.csv.gz": (_gzip_line, "the line is longer than 16 million characters"),
    "columns.csv.gz": (_gzip_columns, "text with 200,001 columns"),
    "runs.parquet": (_parquet_runs, "a table of 10,000,000 rows and 1 column"),
    "text.parquet": (_parquet_text, "would take at least"),
    "packed.arrow": (_arrow_packed, "as one batch of rows"),
    "dictionary.arrow": (_arrow_dictionary, "would take at least"),
    "nulls.arrow": (_arrow_nulls, "would take at least"),
}

#: Reads each file with little memory, and says what came of it and how much was taken.
_WITNESS = """
import resource, sys
from pathlib import Path
from depmax.cli.errors import DataError
from depmax.cli.reading import open_source
from depmax.cli.reading.source import ReadOptions
import depmax.cli.reading.columnar, depmax.cli.reading.delimited
import pandas
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
virtual = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (virtual + (3 << 30),) * 2)
for name in sys.argv[2:]:
    before = peak()
    try:
        open_source(name, ReadOptions(max_memory=int(sys.argv[1]))).read()
        said = "READ"
    except DataError as error:
        said = str(error)
    print(peak() - before, said, sep="\\t", flush=True)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits of memory are Linux's")
def test_small_files_do_not_take_much_memory(tmp_path: Path) -> None:
    for name, (make, _) in BOMBS.items():
        make(tmp_path / name)
        assert (tmp_path / name).stat().st_size < 3_000_000, name
    environment = os.environ | {"PYTHONPATH": str(Path(depmax.__file__).parents[1])}
    told = subprocess.run(
        [sys.executable, "-c", _WITNESS, str(LIMIT), *BOMBS],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    lines = told.stdout.splitlines()
    assert len(lines) == len(BOMBS), told.stderr
    for line, (name, (_, expected)) in zip(lines, BOMBS.items(), strict=True):
        taken, said = line.split("\t")
        assert name in said
        assert expected in said, said
        assert int(taken) < 700, (name, taken)  # MB; unpacked, each is larger than the limit


def test_the_limit_is_lifted_by_an_option(fails: Any, run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=2000), "y": rng.integers(0, 2, 2000)})
    frame.write_csv(tmp_path / "a.csv")
    asked = ("screen", "a.csv", "-t", "y", "--max-memory")
    assert "the limit is 20000 bytes" in fails(3, *asked, "20000")
    assert "--max-memory 1GB" in fails(3, *asked, "20000")
    assert run(*asked, "1GB").exit_code == 0
    assert run(*asked, "none").exit_code == 0
    refused = run(*asked, "much")
    assert refused.exit_code == 2
    assert "Invalid value for '--max-memory': 'much' is not a valid size" in refused.stderr


def test_the_option_is_the_limit_of_models_and_of_pairs_of_rows_too(
    fails: Any, run: Any, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=2000), "y": rng.integers(0, 2, 2000)})
    frame.write_csv(tmp_path / "a.csv")
    method = ("-m", "KernelPLS", "--set", "kernel=gaussian", "-n", "1")
    asked = ("fit", "a.csv", "-t", "y", *method, "-o", "m.skops")
    told = fails(3, *asked, "--max-memory", "10MB")
    assert "KernelPLS needs a value for every pair of 2,000 rows" in told
    assert "the limit is 10 MB" in told
    assert "--max-memory 1GB on the command line" in told
    assert run(*asked, "--max-memory", "1GB").exit_code == 0
    applied = ("transform", "m.skops", "a.csv", "-o", "b.csv", "--max-memory")
    assert "m.skops would take" in fails(4, *applied, "10kB")
    assert run(*applied, "none").exit_code == 0
    assert "DEPMAX_MAX_MEMORY" not in os.environ  # the limit ends with the command


def test_a_cell_of_a_megabyte_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f'x,y\n"{"long " * 200_000}",1\nshort,2\n')
    assert _read(path)["x"].str.len_chars().to_list() == [1_000_000 - 1, 5]
    path.write_text(f'x,y\n"{"long " * 4_000_000}",1\nshort,2\n')
    with pytest.raises(DataError, match=r"a\.csv, line 2: .*16 million"):
        _read(path)


def test_peak_is_measured_in_kilobytes() -> None:
    """The unit that the witness above relies on."""
    assert 10_000 < resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 10_000_000
