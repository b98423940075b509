"""Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa
from pyarrow import parquet

from depmax.cli.errors import DataError
from depmax.cli.reading.source import Source, require_distinct


class Parquet(Source):
    """A Parquet file, read by row groups."""

    def _find_types(self) -> Mapping[str, pl.DataType]:
        """Types of the columns, from the file's own footer."""
        return dict(_polars(self._open().schema_arrow.empty_table()).schema)

    def read(self) -> pl.DataFrame:
        """All rows."""
        file = self._open()
        try:
            return _polars(file.read())
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from None

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pl.DataFrame]:
        """Batches of at most ``size`` rows, a row group in memory at most."""
        file = self._open()
        names = list(columns)
        try:
            for group in range(file.num_row_groups):  # all at once would keep what was read
                for batch in file.iter_batches(size, row_groups=[group], columns=names):
                    yield _polars(pa.Table.from_batches([batch])).select(names)
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from None

    def n_rows(self) -> int | None:
        """Number of rows, from the footer."""
        return int(self._open().metadata.num_rows)

    def _open(self) -> Any:
        try:
            file = parquet.ParquetFile(self.path, pre_buffer=False)
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from None
        require_distinct(file.schema_arrow.names, self.name)
        return file

    def _damaged(self, error: Exception) -> DataError:
        return DataError(
            f"{self.name} is not a valid Parquet file: it was cut off or has another format "
            f"({str(error).strip().splitlines()[0].rstrip('.')[:160]})."
        )


def _polars(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame
