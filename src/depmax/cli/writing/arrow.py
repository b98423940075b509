"""Arrow IPC files; Feather is the same format."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa

from depmax.cli.writing.formats import Writer
from depmax.cli.writing.parquet import plain


class Arrow(Writer):
    """One record batch per batch."""

    _writer: Any = None

    def add(self, rows: pl.DataFrame) -> None:
        """Append a record batch."""
        table = plain(rows).to_arrow()
        if self._writer is None:
            self._writer = pa.ipc.new_file(str(self.path), table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        """Write the footer."""
        if self._writer is not None:
            self._writer.close()
