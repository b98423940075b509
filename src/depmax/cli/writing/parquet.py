"""Parquet."""

from __future__ import annotations

from typing import Any

import polars as pl
from pyarrow import parquet

from depmax.cli.writing.formats import Writer


class Parquet(Writer):
    """One row group per batch."""

    _writer: Any = None

    def add(self, rows: pl.DataFrame) -> None:
        """Append a row group."""
        table = plain(rows).to_arrow()
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self.path, table.schema)
        self._writer.write_table(table.cast(self._writer.schema))

    def close(self) -> None:
        """Write the footer."""
        if self._writer is not None:
            self._writer.close()


def plain(rows: pl.DataFrame) -> pl.DataFrame:
    """Categories as text, since every batch would have its own levels."""
    return rows.with_columns(pl.col(pl.Categorical).cast(pl.String))
