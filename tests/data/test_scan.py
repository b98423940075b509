"""Tables in pieces: what can be scanned, and what is wrong with files that cannot."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import depmax
from depmax import scan
from depmax.data.files import ChangedFileError
from depmax.data.sample import aligned
from depmax.maps import NystroemMap


def _frame(n_rows: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=["a", "b", "c"])
    frame["y"] = frame["a"] + 0.5 * rng.normal(size=n_rows)
    return frame


@pytest.fixture
def frame() -> pd.DataFrame:
    return _frame()


@pytest.fixture
def folder(tmp_path: Path, frame: pd.DataFrame) -> Path:
    for number, start in enumerate(range(0, 300, 100)):
        part = frame.iloc[start : start + 100]
        part.to_parquet(tmp_path / f"part-{number}.parquet", row_group_size=30)
    return tmp_path


def _rows(table: Any) -> np.ndarray:
    X, _ = aligned(table)
    return X[np.arange(X.shape[0])]


class TestSources:
    def test_a_folder_one_file_several_and_a_pattern(
        self, folder: Path, frame: pd.DataFrame
    ) -> None:
        files = sorted(folder.glob("*.parquet"))
        X = frame[["a", "b", "c"]].to_numpy()
        for given in (folder, str(folder), files, f"{folder}/part-*.parquet"):
            assert_array_equal(_rows(scan(given, target="y")), X)
        assert_array_equal(_rows(scan(files[1], target="y")), X[100:200])

    def test_columns_that_are_not_asked_for_are_not_read(self, folder: Path) -> None:
        table = scan(folder, target="y", columns=["c", "a"])
        assert list(pd.DataFrame(table.empty.x.to_pandas()).columns) == ["c", "a"]
        assert _rows(table).shape == (300, 2)

    def test_names_of_folders_are_columns(self, tmp_path: Path, frame: pd.DataFrame) -> None:
        frame["year"] = np.repeat([2023, 2024, 2025], 100)
        table = pa.Table.from_pandas(frame, preserve_index=False)
        pq.write_to_dataset(table, tmp_path, partition_cols=["year"])
        rows = _rows(scan(tmp_path, target="y"))
        assert sorted(np.unique(rows[:, 3])) == [2023, 2024, 2025]
        expected = depmax.HBFE(1).fit(frame[["a", "b", "c", "year"]], frame["y"])
        found = depmax.HBFE(1).fit(scan(tmp_path, target="y"))
        assert_allclose(found.components_, expected.components_, atol=1e-10)

    def test_feather_files(self, tmp_path: Path, frame: pd.DataFrame) -> None:
        pl.from_pandas(frame).write_ipc(tmp_path / "table.arrow")
        rows = _rows(scan(tmp_path / "table.arrow", target="y"))
        assert_array_equal(rows, frame[["a", "b", "c"]].to_numpy())

    @pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
    def test_frames_of_every_library(self, library: str, frame: pd.DataFrame) -> None:
        given: Any = {
            "pandas": frame,
            "polars": pl.from_pandas(frame),
            "pyarrow": pa.Table.from_pandas(frame),
        }[library]
        rows = _rows(scan(given, target="y", rows_per_chunk=70))
        assert_array_equal(rows, frame[["a", "b", "c"]].to_numpy())

    def test_memory_maps(self, tmp_path: Path, frame: pd.DataFrame) -> None:
        np.save(tmp_path / "rows.npy", frame.to_numpy())
        mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
        assert_array_equal(_rows(scan(mapped, rows_per_chunk=64)), frame.to_numpy())

    def test_single_precision_stays(self, frame: pd.DataFrame) -> None:
        X, _ = aligned(scan(frame.astype(np.float32), target="y"))
        assert X.dtype == np.float32

    def test_mapped_chunks(self, frame: pd.DataFrame) -> None:
        doubled = scan(frame[["a", "b"]], rows_per_chunk=90).map(lambda part: 2 * part)
        assert_array_equal(_rows(doubled), 2 * frame[["a", "b"]].to_numpy())

    def test_an_iterator_that_cannot_be_restarted_is_refused(self) -> None:
        once = iter([np.ones((3, 2))])
        with pytest.raises(TypeError, match="only once"):
            scan(lambda: once)
        with pytest.raises(ValueError, match="no rows"):
            scan(lambda: iter(()))

    def test_rows_by_position(self, folder: Path, frame: pd.DataFrame) -> None:
        X, _ = aligned(scan(folder, target="y"))
        indices = np.array([299, 0, 101, 101])
        assert_array_equal(X[indices], frame[["a", "b", "c"]].to_numpy()[indices])


class TestRefusals:
    def test_a_missing_file_is_named(self, folder: Path) -> None:
        with pytest.raises(FileNotFoundError, match="nowhere"):
            scan(folder / "nowhere.parquet")
        table = scan(folder, target="y")
        (folder / "part-1.parquet").unlink()
        with pytest.raises(FileNotFoundError, match=r"part-1\.parquet .*removed"):
            depmax.HBFE(1).fit(table)

    def test_a_damaged_file_is_named(self, folder: Path) -> None:
        path = folder / "part-1.parquet"
        path.write_bytes(path.read_bytes()[:-20])
        with pytest.raises(ValueError, match=r"part-1\.parquet cannot be read"):
            scan(folder, target="y")

    def test_damage_inside_a_file_is_named(self, folder: Path, frame: pd.DataFrame) -> None:
        path = folder / "part-1.parquet"
        content = bytearray(path.read_bytes())
        content[4:3000] = b"\xff" * 2996
        path.write_bytes(bytes(content))
        with pytest.raises(ValueError, match=r"part-1\.parquet cannot be read"):
            depmax.HBFE(1).fit(scan(folder, target="y"))

    def test_a_file_that_changes_between_visits_is_detected(
        self, folder: Path, frame: pd.DataFrame
    ) -> None:
        table = scan(folder, target="y")
        path = folder / "part-2.parquet"
        frame.iloc[:50].to_parquet(path)
        os.utime(path, ns=(1, 1))
        with pytest.raises(ChangedFileError, match=r"part-2\.parquet has changed"):
            depmax.HBFE(1).fit(table)

    def test_an_iterator_that_changes_between_visits_is_detected(self) -> None:
        sizes = iter([40, 40, 40, 30, 20, 10])
        rng = np.random.default_rng(0)

        def chunks() -> Any:
            size = next(sizes)
            yield rng.normal(size=(size, 2)), rng.normal(size=size)

        with pytest.raises(RuntimeError, match="has changed while it was read"):
            depmax.HBFE(1).fit(scan(chunks))

    def test_a_column_of_another_type_is_named(self, folder: Path, frame: pd.DataFrame) -> None:
        other = frame.iloc[:100].assign(b="text")
        other.to_parquet(folder / "part-1.parquet")
        with pytest.raises(TypeError, match=r"'b' holds double .*part-1"):
            scan(folder, target="y")

    def test_a_column_that_a_file_lacks_is_named(self, folder: Path, frame: pd.DataFrame) -> None:
        frame.iloc[:100].drop(columns="b").to_parquet(folder / "part-1.parquet")
        with pytest.raises(ValueError, match=r"part-1\.parquet .*'b'"):
            scan(folder, target="y")

    def test_an_unknown_target_is_named(self, folder: Path) -> None:
        with pytest.raises(ValueError, match="no column named 'z'"):
            scan(folder, target="z")

    def test_other_formats_and_empty_folders(self, tmp_path: Path) -> None:
        (tmp_path / "table.csv").write_text("a,b\n1,2\n")
        with pytest.raises(ValueError, match=r"table\.csv is not a file"):
            scan(tmp_path / "table.csv")
        with pytest.raises(FileNotFoundError, match="no Parquet or Arrow files"):
            scan(tmp_path)

    def test_free_text_and_dates_are_named(self, frame: pd.DataFrame) -> None:
        noted = frame.assign(note=[f"row {number}" for number in range(300)])
        with pytest.raises(TypeError, match="Column 'note' of X holds text"):
            depmax.HBFE(1).fit(scan(noted, target="y"))
        dated = frame.assign(day=pd.date_range("2020-01-01", periods=300))
        with pytest.raises(TypeError, match="Column 'day' of X holds dates"):
            depmax.HBFE(1).fit(scan(dated, target="y"))

    def test_a_target_with_gaps(self, frame: pd.DataFrame) -> None:
        frame.loc[5:9, "y"] = np.nan
        with pytest.raises(ValueError, match=r"y is missing .* 5 of 300"):
            depmax.KernelPLS(1).fit(scan(frame, target="y"))

    def test_lengths_that_differ(self) -> None:
        with pytest.raises(ValueError, match="5 rows against 4"):
            scan(np.ones((5, 2)), np.ones(4))


LIMITED = """
import resource, sys
from pathlib import Path
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
from depmax import HSCA, scan

folder, rows = Path(sys.argv[1]), 100_000
rng = np.random.default_rng(0)
X = rng.normal(size=(rows, 40))
names = [f"x{number}" for number in range(40)]
table = pa.table({**dict(zip(names, X.T)), "y": X[:, 3] > 0})
stored = {"row_group_size": 10_000, "use_dictionary": False, "compression": "none"}
pq.write_table(table, folder / "part-00.parquet", **stored)
for number in range(1, 13):  # 416 MB in all
    (folder / f"part-{number:02d}.parquet").hardlink_to(folder / "part-00.parquet")
HSCA(1).fit(scan(X[:5000], X[:5000, 3] > 0))  # everything is loaded
expected = HSCA(1, alpha=0).fit(X, X[:, 3] > 0).components_
del X, table
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
allowed = 40 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (used + allowed, used + allowed))
try:
    np.ones(2 * allowed // 8)
except MemoryError:
    pass
else:
    raise SystemExit("there is no limit")
found = HSCA(1, alpha=0).fit(scan(folder, target="y")).components_
np.testing.assert_allclose(found, expected, atol=1e-9)
print("same")
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads Linux's /proc")
def test_a_table_ten_times_as_large_as_the_memory_it_may_use(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LIMITED), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.stdout.strip() == "same", done.stderr


def test_an_existing_file_is_not_a_pattern(tmp_path: Path, frame: pd.DataFrame) -> None:
    for name, n_rows in (("a*.parquet", 30), ("ab.parquet", 20), ("a[b].parquet", 10)):
        frame[:n_rows].to_parquet(tmp_path / name)
    assert len(scan(str(tmp_path / "a*.parquet"), "y").compute()) == 30
    assert len(scan(str(tmp_path / "a[b].parquet"), "y").compute()) == 10
    assert len(scan(str(tmp_path / "*b.parquet"), "y").compute()) == 20


def test_a_folder_of_odd_files(tmp_path: Path, frame: pd.DataFrame) -> None:
    folder = tmp_path / "table"
    (folder / "deep" / "er").mkdir(parents=True)
    frame[:30].to_parquet(folder / "0.parquet")
    frame[30:50].to_parquet(folder / "deep" / "er" / "1.parquet")
    frame[:0].to_parquet(folder / "2.parquet")
    for name in ("_SUCCESS", ".0.parquet.crc", "notes.txt"):
        (folder / name).touch()
    (folder / "itself").symlink_to(folder)
    assert len(scan(folder, "y").compute()) == 50
    (folder / "3.parquet").symlink_to(tmp_path / "nowhere.parquet")
    with pytest.raises(FileNotFoundError, match=r"3\.parquet"):
        scan(folder, "y")
    (folder / "3.parquet").unlink()
    (folder / "4.parquet").touch()
    with pytest.raises(ValueError, match=r"4\.parquet cannot be read"):
        scan(folder, "y")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": []}, "columns is empty"),
        ({"target": ["y", "y"]}, "target names a column twice"),
        ({"rows_per_chunk": 0.5}, "rows_per_chunk must be a whole number"),
        ({"rows_per_chunk": float("nan")}, "rows_per_chunk must be a whole number"),
        ({"data": ""}, "data is an empty path"),
    ],
)
def test_options_without_a_meaning(folder: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scan(**({"data": folder, "target": "y"} | options))


class _Restartable:
    def __iter__(self) -> Iterator[Any]:
        rng = np.random.default_rng(0)
        for _ in range(3):
            X = rng.normal(size=(100, 3))
            yield X, X[:, 1]


@pytest.mark.parametrize(
    "chunks", [_Restartable(), list(_Restartable()), lambda: iter(_Restartable())]
)
def test_chunks_that_can_be_iterated_again(chunks: Any) -> None:
    X, y = map(np.concatenate, zip(*_Restartable(), strict=True))
    assert_allclose(depmax.hsic(scan(chunks), kernel="linear"), depmax.hsic(X, y, kernel="linear"))


def test_a_scan_says_what_it_is_of() -> None:
    assert repr(scan(np.zeros((3000, 1)))) == "<Scan of 3,000 rows, 1 column>"
    assert repr(scan(_Restartable())) == (
        "<Scan of an unknown number of rows, 3 columns and a target>"
    )


def test_iterators_that_end_or_do_not_fit() -> None:
    X, y = np.ones((5, 2)), np.arange(5)
    used_up = iter([(X, y)] * 9)
    for chunks in (used_up, lambda: used_up):
        with pytest.raises(TypeError, match="can be read only once"):
            scan(chunks)
    frames = [_frame(5)]
    with pytest.raises(ValueError, match=r"no column named 'z'.* a, b"):
        scan(frames, target="z")
    with pytest.raises(ValueError, match="5 rows against 4"):
        scan(lambda: iter([(X, y[:4])]))


@pytest.mark.parametrize("target", [None, "y"])
def test_maps_of_files_with_several_row_groups(tmp_path: Path, target: str | None) -> None:
    """Where nobody looks at a target, the lengths of pieces are those that files declare."""
    X = np.random.default_rng(0).normal(size=(500, 3))
    table = pa.table({name: X[:, j] for j, name in enumerate("ab" if target is None else "aby")})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=130)
    rows = scan(tmp_path, target=target)
    assert list(rows.lengths or ()) == [130, 130, 130, 110]
    found = NystroemMap(20, random_state=0).fit(rows)
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    expected = NystroemMap(20, random_state=0).fit(frame)
    assert_allclose(found.transform(frame), expected.transform(frame), atol=1e-10)


# dask 2026.8 calls reset_index in a way that pandas 3 warns of
@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_columns_of_a_dask_table_of_files_keep_their_partitions(tmp_path: Path) -> None:
    """Dask reads a few columns of many files in fewer partitions than all columns."""
    dd = pytest.importorskip("dask.dataframe", reason="needs depmax[distributed]")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 12))
    columns = {f"x{j}": X[:, j] for j in range(12)}
    table = pa.table({**columns, "y": X[:, 3] + rng.normal(size=400)})
    for number in range(8):
        pq.write_table(table.slice(50 * number, 50), tmp_path / f"{number}.parquet")
    expected = depmax.HSCA(2).fit(X, table["y"].to_numpy())
    rows = dd.read_parquet(tmp_path)
    for found in (
        depmax.HSCA(2).fit(rows[list(columns)], rows["y"]),
        depmax.HSCA(2).fit(depmax.scan(rows, target="y")),
    ):
        assert_allclose(found.components_, expected.components_, atol=1e-9)


@pytest.mark.parametrize("names", [list("yabc"), list("aybc"), list("abcy")])
@pytest.mark.parametrize("target", ["y", ["y", "c"]])
def test_the_target_stands_anywhere_in_a_dask_table(
    frame: pd.DataFrame, names: list[str], target: Any
) -> None:
    dd = pytest.importorskip("dask.dataframe", reason="needs depmax[distributed]")
    inputs = [name for name in names if name not in target]
    expected = depmax.HSCA(1, target_kernel="linear").fit(frame[inputs], frame[target])
    table = dd.from_pandas(frame[names], npartitions=3)
    found = depmax.HSCA(1, target_kernel="linear").fit(scan(table, target=target))
    assert_allclose(found.components_, expected.components_, atol=1e-12)
    assert list(found.feature_names_in_) == inputs


# as above: dask 2026.8 with pandas 3
@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_a_damaged_file_of_a_dask_table_is_named_by_a_scan(folder: Path) -> None:
    dd = pytest.importorskip("dask.dataframe", reason="needs depmax[distributed]")
    path = folder / "part-1.parquet"
    content = bytearray(path.read_bytes())
    content[4:3000] = b"\xff" * 2996
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match=r"cannot be read.*depmax\.scan"):
        depmax.HBFE(1).fit(scan(dd.read_parquet(folder), target="y"))
