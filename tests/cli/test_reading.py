"""Every format is read into the same table, whole and by batches."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather
from scipy import sparse
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
    rows = "".join(f"{i}.5, {'red' if i % 3 else 'blue'}, '2024-03-01'\n\n" for i in range(20))
    (tmp_path / "long.arff").write_text(f"%a comment\n{text}{rows}")
    source = open_source(str(tmp_path / "long.arff"))
    batches = list(source.batches(["the colour", "size"], 7))
    assert len(batches) > 2
    assert pl.concat(batches).equals(source.read().select("the colour", "size"))
    assert dict(source.schema()) == dict(source.read().schema)
    assert open_source(str(tmp_path / "text.arff")).read()["x"].to_list() == ["abc"]


ARFF = (
    "@relation r\n@attribute size real\n@attribute name {'a b', \"it's\", é, 'd\\'e', '?'}\n@data\n"
)


def test_arff_with_quotes_spaces_and_other_alphabets(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    path.write_text(f"{ARFF}1,'a b'\n2,\"it's\"\n3, é\n4,'d\\'e'\n5,?\n", encoding="utf-8")
    frame = open_source(str(path)).read()
    assert frame["name"].to_list() == ["a b", "it's", "é", "d'e", None]
    path.write_text("@relation r\n@attribute a real\n@attribute b real\n@data\n1 2\n3\t4\n")
    assert open_source(str(path)).read().rows() == [(1.0, 2.0), (3.0, 4.0)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1\n", r"a\.arff, line 5: 1 cell, but the header declares 2"),
        ("1,é,3\n", r"line 5: 3 cells, but the header declares 2"),
        ("1,f\n", r"'name' holds 'f', which is not one of a b, it's"),
        ("x,é\n", r"'size' holds 'x', which is not a number"),
        ("1,'a b\n", r"a quote is opened and not closed.*\(line 5\)"),
        ("{0 1}\n", r"sparse ARFF.*Save the file as CSV"),
    ],
)
def test_arff_rows_that_are_wrong(tmp_path: Path, rows: str, message: str) -> None:
    path = tmp_path / "a.arff"
    path.write_text(ARFF + rows, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        open_source(str(path)).read()


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("@attribute x relational", r"has the type 'relational'.*Save the file as CSV"),
        ("@attribute x {a, b", "not closed by a brace"),
        ("@attribute x {a, a}", "has the value 'a' twice"),
        ("@attribute", "does not name an attribute"),
        ("hello", "the header does not allow 'hello'"),
        ("% nothing", "declares no attribute"),
    ],
)
def test_arff_headers_that_are_wrong(tmp_path: Path, header: str, message: str) -> None:
    path = tmp_path / "a.arff"
    path.write_text(f"@relation r\n{header}\n@data\n1\n")
    with pytest.raises(DataError, match=message):
        open_source(str(path)).read()


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


def test_svmlight_by_lines(tmp_path: Path) -> None:
    """Every batch has the columns and types of the whole, whatever its own lines mention."""
    rng = np.random.default_rng(0)
    X = rng.integers(1, 9, size=(50, 9)) * (rng.random((50, 9)) < 0.2)
    X[0], X[:, 0] = 0, 0
    path = str(tmp_path / "a.svm")
    dump_svmlight_file(X, rng.normal(size=50).round(1), path, comment="of ours", zero_based=True)
    source = open_source(path)
    assert source.n_rows() == 50
    names = ["x4", "label", "x1", "x8", "x40"]
    batches = list(source.batches(names, 7))
    assert len(batches) > 7
    whole = pl.concat(batches)
    np.testing.assert_array_equal(whole.select("x4", "x1", "x8").to_numpy(), X[:, [4, 1, 8]])
    assert whole["x40"].sum() == 0
    assert whole["label"].equals(source.read()["label"])
    assert dict(source.schema()) == dict(source.read().schema)


def test_svmlight_with_several_labels(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1,3 1:0.5\n3 2:1.5\n 1:2\n")
    source = open_source(str(tmp_path / "a.svm"))
    assert source.read().select("label_1", "label_3").rows() == [(1, 1), (0, 1), (0, 0)]
    assert source.default_targets() == ("label_1", "label_3")


def test_svmlight_too_large_for_a_table(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 1:0.5 900000000:1\n-1 2:1\n")
    with pytest.raises(DataError, match="as a table of 2 rows and 900,000,000 columns"):
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
    with pytest.raises(DataError, match="not a valid NPZ file of plain arrays"):
        open_source(str(path)).read()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", "<i4"])
def test_npz_by_rows(save: Any, order: Any, dtype: str, tmp_path: Path) -> None:
    X = np.asarray(np.arange(60).reshape(20, 3), dtype=dtype, order=order)
    y = np.array(["a", "bb", "c", "dd"] * 5)
    save(tmp_path / "a.npz", X=X, y=y)
    source = open_source(str(tmp_path / "a.npz"))
    assert source.n_rows() == 20
    batches = list(source.batches(["y", "x2"], 7))
    assert [batch.height for batch in batches] == [7, 7, 6]
    assert pl.concat(batches)["x2"].to_list() == X[:, 2].tolist()
    assert pl.concat(batches)["y"].to_list() == y.tolist()
    assert dict(source.schema()) == dict(source.read().schema)


def test_npz_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    sparse.save_npz(path, sparse.eye(3, format="csr"))
    with pytest.raises(DataError, match="holds a scipy sparse matrix"):
        open_source(str(path)).read()
    np.savez(path, X=np.arange(4000.0))
    content = bytearray(path.read_bytes())
    content[2000] ^= 255
    path.write_bytes(content)
    with pytest.raises(DataError, match="not a valid NPZ file of plain arrays: Bad CRC"):
        open_source(str(path)).read()


def test_bundled_sets() -> None:
    source = open_source("bundled:wine")
    assert source.read().shape == (178, 14)
    assert source.default_targets() == ("target",)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "parquet", "arrow", "npz"])
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
        elif suffix == "npz":
            np.savez(file, **{column: frame[column].to_numpy() for column in frame.columns})
        else:
            text = frame.write_csv(separator="\t" if suffix == "tsv" else ",").encode()
            file.write(gzip.compress(text) if suffix == "csv.gz" else text)


@pytest.mark.parametrize("label", ["inf", "-inf", "nan"])
@pytest.mark.parametrize("others", ["", "2,"])
def test_svmlight_labels_that_are_not_finite_are_placed(
    tmp_path: Path, label: str, others: str
) -> None:
    path = tmp_path / "a.svm"
    path.write_text(f"1,2 1:1\n{others}{label} 2:1\n" if others else f"1 1:1\n{label} 2:1\n")
    with pytest.raises(DataError, match=r"a\.svm has the label -?(inf|nan) in row 2"):
        open_source(str(path)).read()


def test_large_svmlight_labels_stay_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.svm"
    path.write_text("1e300 1:1\n1 2:1\n")
    assert open_source(str(path)).read()["label"].to_list() == [1e300, 1.0]


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
