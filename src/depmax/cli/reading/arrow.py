"""Arrow IPC files and streams; Feather is the same format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa
from pyarrow import feather

from depmax.cli.errors import DataError
from depmax.cli.reading.source import Source, require_distinct


class Arrow(Source):
    """An Arrow or Feather file, mapped into memory rather than loaded."""

    def _find_types(self) -> Mapping[str, pl.DataType]:
        """Types of the columns."""
        with self._open() as reader:
            return dict(_polars(reader.schema.empty_table()).schema)

    def read(self) -> pl.DataFrame:
        """All rows."""
        if self._is_feather_1():
            return _polars(feather.read_table(self.path))
        with self._open() as reader:
            try:
                table = reader.read_all()
            except (pa.ArrowException, OSError) as error:
                raise self._damaged(error) from None
        return _polars(table)

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pl.DataFrame]:
        """Batches of at most ``size`` rows, one record batch in memory at a time."""
        if self._is_feather_1():
            yield from super().batches(columns, size)
            return
        with self._open() as reader:
            try:
                for batch in _record_batches(reader):
                    frame = _polars(pa.Table.from_batches([batch]).select(list(columns)))
                    yield from frame.iter_slices(size)
            except (pa.ArrowException, OSError) as error:
                raise self._damaged(error) from None

    def _is_feather_1(self) -> bool:
        with self.path.open("rb") as file:
            return file.read(4) == b"FEA1"

    def _open(self) -> Any:
        source = pa.memory_map(str(self.path))
        try:
            magic = source.read(6)
            source.seek(0)
            opened = pa.ipc.open_file if magic == b"ARROW1" else pa.ipc.open_stream
            reader = opened(source)
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from None
        require_distinct(reader.schema.names, self.name)
        return reader

    def _damaged(self, error: Exception) -> DataError:
        return DataError(
            f"{self.name} is not a valid Arrow or Feather file: it was cut off or has another "
            f"format ({str(error).strip().splitlines()[0].rstrip('.')[:160]})."
        )


def _record_batches(reader: Any) -> Iterator[Any]:
    if hasattr(reader, "num_record_batches"):
        for place in range(reader.num_record_batches):
            yield reader.get_batch(place)
    else:
        yield from reader


def _polars(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame
