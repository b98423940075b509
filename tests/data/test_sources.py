"""Where rows come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from depmax._threads import CHUNK_BYTES, chunk_rows, slices
from depmax.data.sources import ArrayRows, RowSource, SparseRows, as_rows

X = np.arange(24.0).reshape(8, 3)


def memory_map(path: Path) -> np.ndarray:
    np.save(path / "rows.npy", X)
    return np.load(path / "rows.npy", mmap_mode="r")


@pytest.fixture(params=["array", "memory map", "matrix", "sparse array", "list", "float32"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> RowSource:
    """The same eight rows from everywhere."""
    return as_rows(
        {
            "array": X,
            "memory map": memory_map(tmp_path),
            "matrix": sparse.csc_matrix(X),
            "sparse array": sparse.coo_array(X),
            "list": X.tolist(),
            "float32": X.astype(np.float32),
        }[request.param]
    )


def dense(block: Any) -> np.ndarray:
    return block.toarray() if sparse.issparse(block) else block


class TestEverySource:
    def test_keeps_the_protocol(self, source: RowSource) -> None:
        assert isinstance(source, RowSource)
        assert source.shape == (8, 3)

    @pytest.mark.parametrize("size", [1, 3, 8, 100])
    def test_blocks_cover_the_rows_once(self, source: RowSource, size: int) -> None:
        blocks = [dense(source.block(rows)) for rows in slices(8, size)]
        assert_array_equal(np.concatenate(blocks), X)

    def test_rows_are_taken_by_index_in_the_order_asked_for(self, source: RowSource) -> None:
        indices = np.array([5, 0, 5])
        assert_array_equal(dense(source.take(indices)), X[indices])

    def test_is_its_own_source(self, source: RowSource) -> None:
        assert as_rows(source) is source


class TestMemory:
    def test_a_memory_map_is_read_only_where_a_block_is_used(self, tmp_path: Path) -> None:
        mapped = memory_map(tmp_path)
        block = as_rows(mapped).block(slice(2, 5))
        assert isinstance(block, np.memmap)
        assert np.shares_memory(block, mapped)

    def test_a_block_of_an_array_is_a_view_and_taken_rows_are_a_copy(self) -> None:
        source = as_rows(X)
        assert np.shares_memory(source.block(slice(0, 4)), X)
        assert not np.shares_memory(source.take(np.array([0, 1])), X)

    def test_sparse_rows_stay_sparse(self) -> None:
        source = as_rows(sparse.coo_matrix(X))
        assert isinstance(source, SparseRows)
        assert sparse.issparse(source.block(slice(0, 2)))
        assert sparse.issparse(source.take(np.array([1])))


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0], (1.0, 2.0, 3.0), np.array([1.0, 2.0, 3.0])])
def test_one_dimension_is_one_column(values: Any) -> None:
    source = as_rows(values)
    assert isinstance(source, ArrayRows)
    assert source.shape == (3, 1)


def test_a_source_of_ones_own_is_used_as_it_is() -> None:
    class Zeros:
        shape = (5, 2)

        def block(self, rows: slice) -> np.ndarray:
            return np.zeros((rows.stop - rows.start, 2))

        def take(self, indices: np.ndarray) -> np.ndarray:
            return np.zeros((len(indices), 2))

    zeros = Zeros()
    assert as_rows(zeros) is zeros


def test_dask_is_refused_by_name() -> None:
    fake = type("Array", (), {"__module__": "dask.array.core"})()
    with pytest.raises(TypeError, match="X is a Dask collection"):
        as_rows(fake)


@given(n_rows=st.integers(0, 200), size=st.integers(1, 50))
def test_slices_cover_all_rows_in_order_without_overlap(n_rows: int, size: int) -> None:
    parts = list(slices(n_rows, size))
    assert [row for part in parts for row in range(n_rows)[part]] == list(range(n_rows))
    assert all(0 < part.stop - part.start <= size for part in parts)


@given(n_columns=st.integers(0, 10**7))
def test_a_chunk_has_rows_for_blas_and_no_more_than_its_memory(n_columns: int) -> None:
    rows = chunk_rows(n_columns)
    assert rows >= 64
    assert rows == 64 or 8 * rows * n_columns <= CHUNK_BYTES
