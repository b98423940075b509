"""Row groups of Parquet files: matrices of numbers in little memory, one column after another."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from depmax import HSCA, scan
from depmax.data import files
from depmax.data.files import ChangedFileError, TableFile
from depmax.data.sample import aligned


@pytest.fixture
def table() -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "real": rng.normal(size=1000),
            "whole": rng.integers(-9, 9, size=1000).astype(np.int32),
            "label": rng.choice(["red", "green"], size=1000),
            "single": rng.normal(size=1000).astype(np.float32),
            "y": rng.normal(size=1000),
        }
    )


@pytest.fixture
def path(tmp_path: Path, table: pa.Table) -> Path:
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path, row_group_size=300)
    return path


def _blocks(number: int, chunks: Iterator[Any]) -> list[Any]:
    return list(chunks)


@pytest.mark.parametrize("target", ["label", "y", ["label", "y"], None])
def test_sums_get_matrices_of_all_rows_in_their_order(
    path: Path, table: pa.Table, target: Any
) -> None:
    names = ["single", "whole", "real"]
    rows = scan(path, target=target, columns=names, rows_per_chunk=70)
    chunks = rows.total(_blocks)
    assert all(isinstance(chunk.x, np.ndarray) and chunk.x.flags.f_contiguous for chunk in chunks)
    expected = np.column_stack([table.column(name).to_numpy() for name in names])
    assert_array_equal(np.concatenate([chunk.x for chunk in chunks]), expected)
    if isinstance(target, str):
        found = [value for chunk in chunks for value in chunk.y.to_pylist()]
        assert found == table.column(target).to_pylist()
    if isinstance(target, list):
        found = pa.concat_tables([chunk.y for chunk in chunks])
        assert found.equals(table.select(target))


def test_other_readers_get_columns_with_their_names(path: Path) -> None:
    rows = scan(path, target="y", columns=["real", "whole"])
    assert [chunk.column_names for chunk in rows.chunks()] == [["real", "whole"]] * 4
    assert rows.map(lambda x: x.select(["whole"])).compute().column_names == ["whole"]


def test_single_precision_and_categories_are_not_matrices(path: Path) -> None:
    for columns in (["single"], ["label", "real"]):
        chunks = scan(path, target="y", columns=columns).total(_blocks)
        assert not any(isinstance(chunk.x, np.ndarray) for chunk in chunks)


def test_rows_by_position(path: Path, table: pa.Table) -> None:
    """A few rows of a piece, and only the first of another."""
    X, _ = aligned(scan(path, target="y", columns=["real", "whole"], rows_per_chunk=40))
    expected = np.column_stack([table.column(name).to_numpy() for name in ("real", "whole")])
    for positions in ([999, 0, 301], [5], [39, 40, 299, 300], np.arange(1000)):
        assert_array_equal(X[np.array(positions)], expected[positions])


def test_the_first_rows_come_before_others_are_decoded(path: Path, table: pa.Table) -> None:
    """Also of a row group: whoever needs the first rows only waits for no others."""
    chunks = scan(path, columns=["real"], rows_per_chunk=50).chunks()
    first = next(chunks)
    path.unlink()
    assert_array_equal(first.column("real").to_numpy(), table.column("real").to_numpy()[:50])
    with pytest.raises(FileNotFoundError):
        list(chunks)


def test_columns_that_differ_in_length_are_damage(path: Path) -> None:
    file = replace(TableFile.opened(path, None), lengths=(301, 300, 300, 100))
    for partly in (False, True):
        with pytest.raises(ValueError, match=r"rows\.parquet is damaged"):
            list(file.matrices(0, ["real"], 400, partly=partly))


def test_long_or_wide_row_groups_are_read_in_batches(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = HSCA(1).fit(scan(path, target="y", columns=["real", "whole"])).components_
    for name, limit in (("WHOLE_BYTES", 8 * 299), ("GROUP_BYTES", 2 * 8 * 299)):
        with monkeypatch.context() as patch:
            patch.setattr(files, name, limit)
            rows = scan(path, target="y", columns=["real", "whole"])
            chunks = rows.total(_blocks)
            lengths = [chunk.n_rows for chunk in chunks if not isinstance(chunk.x, np.ndarray)]
            assert lengths == [300, 300, 300]  # of the last, shorter one a matrix is made
            assert_allclose(HSCA(1).fit(rows).components_, expected, rtol=1e-12)


@pytest.mark.parametrize(("limit", "readers"), [(2**29, 2**29 // 7200), (20_000, 2), (100, 1)])
def test_fewer_row_groups_at_a_time_where_they_are_large(
    path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, readers: int
) -> None:
    expected = HSCA(1).fit(scan(path, target="y", columns=["real", "whole"])).components_
    monkeypatch.setattr(files, "READING_BYTES", limit)
    rows: Any = scan(path, target="y", columns=["real", "whole"])
    assert rows.readers == readers
    assert_allclose(HSCA(1).fit(rows).components_, expected, rtol=1e-12)


def test_arrow_holds_one_column_at_a_time(tmp_path: Path) -> None:
    """Forty columns with dictionaries of 160 kB each; their matrix is numpy's."""
    X = np.random.default_rng(0).normal(size=(40_000, 40))
    table = pa.table({f"x{place}": X[:, place] for place in range(40)})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=20_000)
    rows = scan(tmp_path, target="x0")
    default = pa.default_memory_pool()
    counted = pa.proxy_memory_pool(default)
    pa.set_memory_pool(counted)
    try:
        HSCA(1, target_kernel="linear").fit(rows)
    finally:
        pa.set_memory_pool(default)
    assert counted.max_memory() < 4e6


def test_a_file_that_changes_during_a_visit_is_detected(path: Path) -> None:
    rows = scan(path, target="y", columns=["real", "whole"])

    def visit(number: int, chunks: Iterator[Any]) -> int:
        if number == 2:
            os.utime(path, ns=(1, 1))
        return sum(1 for _ in chunks)

    with pytest.raises(ChangedFileError, match=r"rows\.parquet has changed"):
        rows.total(visit)
