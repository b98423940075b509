"""Every format is read into the same table, whole and by batches."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather
from sklearn.datasets import dump_svmlight_file

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
    assert frame.columns == ["column 1", "size", "colour", "note"]
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


def test_arff(tmp_path: Path) -> None:
    text = (
        "@relation r\n@attribute size numeric\n@attribute 'the colour' {red, blue}\n"
        "@attribute day date 'yyyy-MM-dd'\n@data\n"
        "1.5, red, '2024-03-01'\n?, ?, '2024-03-02'\n"
    )
    (tmp_path / "a.arff").write_text(text)
    frame = open_source(str(tmp_path / "a.arff")).read()
    assert frame["size"].to_list() == [1.5, None]
    assert frame["the colour"].to_list() == ["red", None]
    assert frame["day"].dtype.is_temporal()
    (tmp_path / "text.arff").write_text("@relation r\n@attribute x string\n@data\n'abc'\n")
    with pytest.raises(DataError, match="Save it as CSV"):
        open_source(str(tmp_path / "text.arff")).read()


def test_svmlight(tmp_path: Path) -> None:
    X = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0], [0.0, 0.0, 4.0]])
    path = tmp_path / "a.svmlight"
    dump_svmlight_file(X, np.array([1, -1, 1]), str(path), zero_based=False)
    source = open_source(str(path))
    frame = source.read()
    assert frame.columns == ["x1", "x2", "x3", "label"]
    np.testing.assert_array_equal(frame.select("x1", "x2", "x3").to_numpy(), X)
    assert frame["label"].to_list() == [1, -1, 1]
    assert source.default_targets() == ("label",)
    (batch,) = source.batches(["x9", "x2"], 10)  # a column never mentioned is zero
    assert batch["x9"].to_list() == [0.0, 0.0, 0.0]
    assert source.has_column("x9")
    assert not source.has_column("size")


def test_svmlight_with_several_labels(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1,3 1:0.5\n3 2:1.5\n 1:2\n")
    source = open_source(str(tmp_path / "a.svm"))
    assert source.read().select("label_1", "label_3").rows() == [(1, 1), (0, 1), (0, 0)]
    assert source.default_targets() == ("label_1", "label_3")


def test_svmlight_too_large_for_a_table(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 1:0.5 900000000:1\n-1 2:1\n")
    with pytest.raises(DataError, match="would take 13 GB as a table of 2 rows"):
        open_source(str(tmp_path / "a.svm")).read()


def test_npz(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    X = np.arange(6.0).reshape(3, 2)
    np.savez(path, X=X, y=np.array(["a", "b", "a"]))
    source = open_source(str(path))
    assert source.read().columns == ["x0", "x1", "y"]
    assert source.default_targets() == ("y",)
    np.savez(path, X=X, feature_names=np.array(["width", "height"]))
    assert open_source(str(path)).read().columns == ["width", "height"]
    np.savez(path, X=X, y=np.arange(2))
    with pytest.raises(DataError, match=r"same number of rows.*X \(3, 2\), y \(2,\)"):
        open_source(str(path)).read()
    np.savez(path, X=np.zeros((2, 2, 2)))
    with pytest.raises(DataError, match="has 3 dimensions"):
        open_source(str(path)).read()
    np.savez(path, X=np.array([object()], dtype=object))  # would need pickle
    with pytest.raises(DataError, match="no complete NPZ file of plain arrays"):
        open_source(str(path)).read()


def test_bundled_sets() -> None:
    source = open_source("bundled:wine")
    assert source.read().shape == (178, 14)
    assert source.default_targets() == ("target",)
