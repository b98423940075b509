"""A folder of Parquet or Arrow files that are one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import polars as pl

from depmax.cli.errors import DataError
from depmax.cli.reading.source import Source, require_distinct
from depmax.samples import Scan, scan


class Folder(Source):
    """The files of a folder, one after another in the order of their names."""

    @cached_property
    def table(self) -> Scan:
        """The files, looked at once: a missing column or another type is named."""
        try:
            return scan(self.path)
        except (FileNotFoundError, TypeError, ValueError) as error:
            raise DataError(str(error)) from None

    def _find_types(self) -> Mapping[str, pl.DataType]:
        """Types of the columns, from the files' footers."""
        empty = _polars(self.table.pieces.empty.x)
        require_distinct(empty.columns, self.name)
        return dict(empty.schema)

    def _read(self, columns: list[str]) -> pl.DataFrame:
        """All rows."""
        self.require_room(self.n_rows() or 0, len(columns))
        return pl.concat(self._batches(columns, 2**20))

    def _batches(self, columns: list[str], size: int) -> Iterator[pl.DataFrame]:
        """Batches of at most ``size`` rows, one row group in memory at a time."""
        chosen = scan(self.path, columns=list(columns), rows_per_chunk=size)
        try:
            for chunk in chosen.chunks():
                yield _polars(chunk)
        except (FileNotFoundError, RuntimeError, ValueError) as error:
            raise DataError(str(error)) from None

    def n_rows(self) -> int | None:
        """Number of rows, from the files' footers."""
        lengths = self.table.pieces.lengths
        return None if lengths is None else int(sum(lengths))


def _polars(table: Any) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame
