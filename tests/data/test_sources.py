"""Where rows come from: the same rows of arrays, memory maps, sparse matrices and lists.

Private modules: how many rows a chunk has when nobody says so is a rule of numbers, not of one
table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from depmax import HBFE, scan
from depmax._resources import CHUNK_BYTES, chunk_rows

X = np.arange(24.0).reshape(8, 3)
X[3] = [5.0, -1.0, 2.0]


def memory_map(path: Path) -> np.ndarray:
    np.save(path / "rows.npy", X)
    return np.load(path / "rows.npy", mmap_mode="r")


@pytest.fixture(params=["array", "memory map", "matrix", "sparse array", "list", "float32"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The same eight rows from everywhere."""
    return {
        "array": X,
        "memory map": memory_map(tmp_path),
        "matrix": sparse.csc_matrix(X),
        "sparse array": sparse.coo_array(X),
        "list": X.tolist(),
        "float32": X.astype(np.float32),
    }[request.param]


def dense(block: Any) -> np.ndarray:
    return block.toarray() if sparse.issparse(block) else block


class TestEverySource:
    @pytest.mark.parametrize("size", [1, 3, 8, 100])
    def test_chunks_cover_the_rows_once(self, source: Any, size: int) -> None:
        chunks = [dense(chunk) for chunk in scan(source, rows_per_chunk=size).chunks()]
        assert [len(chunk) for chunk in chunks] == [min(size, 8 - at) for at in range(0, 8, size)]
        assert_array_equal(np.concatenate(chunks), X)

    def test_a_fit_in_chunks_is_that_in_memory(self, source: Any) -> None:
        y = np.array([0.0, 1.0, 0.0, 3.0, 4.0, 2.0, 7.0, 5.0])
        whole = HBFE(1, target_kernel="linear").fit(X, y)
        chunks = HBFE(1, target_kernel="linear").fit(scan(source, y, rows_per_chunk=3))
        assert_allclose(chunks.transform(X), whole.transform(X), atol=1e-4)


class TestMemory:
    def test_a_memory_map_is_read_only_where_a_chunk_is_used(self, tmp_path: Path) -> None:
        mapped = memory_map(tmp_path)
        chunk = next(scan(mapped, rows_per_chunk=3).chunks())
        assert isinstance(chunk, np.memmap)
        assert np.shares_memory(chunk, mapped)

    def test_a_chunk_of_an_array_is_a_view(self) -> None:
        assert all(np.shares_memory(chunk, X) for chunk in scan(X, rows_per_chunk=4).chunks())

    def test_sparse_rows_stay_sparse(self) -> None:
        rows = scan(sparse.coo_matrix(X), rows_per_chunk=2)
        assert all(sparse.issparse(chunk) for chunk in rows.chunks())
        assert sparse.issparse(rows.compute())


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0], (1.0, 2.0, 3.0), np.array([1.0, 2.0, 3.0])])
def test_one_dimension_is_one_column(values: Any) -> None:
    assert scan(values).compute().shape == (3, 1)


@given(n_columns=st.integers(0, 10**7))
def test_a_chunk_has_rows_for_blas_and_no_more_than_its_memory(n_columns: int) -> None:
    rows = chunk_rows(n_columns)
    assert rows >= 64
    assert rows == 64 or 8 * rows * n_columns <= CHUNK_BYTES
