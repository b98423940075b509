"""What Arrow and Parquet share: types from a schema, cells checked before they are used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import polars as pl
import pyarrow as pa

from depmax._arrow import bytes_written_out, first_line, is_plain, validated
from depmax._limits import COLUMN_BYTES, require_memory
from depmax.cli.errors import DataError
from depmax.cli.reading.source import Source, require_distinct


class Columnar(Source):
    """A file with Arrow's types."""

    #: What messages call the format.
    format: ClassVar[str]

    def _types_of(self, schema: Any) -> Mapping[str, pl.DataType]:
        """Types of the columns; those that polars does not have are named too."""
        require_distinct(schema.names, self.name)
        require_memory(COLUMN_BYTES * len(schema), self.options.max_memory, self.name)
        plain = [field for field in schema if is_plain(field.type)]
        types = dict(to_polars(pa.schema(plain).empty_table()).schema)
        return {field.name: types.get(field.name) or _nested(field) for field in schema}

    def _require_plain(self, columns: Sequence[str], schema: Any) -> None:
        """Refuse lists, records and the like, whose cells are never read."""
        for name in columns:
            kind = schema.field(name).type
            if not is_plain(kind):
                raise DataError(
                    f"Column {name!r} of {self.name} holds {str(kind)[:80]} values, neither "
                    "numbers nor categories: leave it out."
                )

    def _damaged(self, error: Exception) -> DataError:
        return DataError(
            f"{self.name} is not a valid {self.format} file: it was cut off or has another format "
            f"({first_line(error)})."
        )


class Budget:
    """Counts the cells of a file as they are read, and ends when they are too many."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._n_bytes = 0

    def checked(self, table: Any) -> Any:
        """The next part of the file, validated, if it fits beside those before it."""
        self._n_bytes += bytes_written_out(validated(table, self._source.name))
        require_memory(self._n_bytes, self._source.options.max_memory, self._source.name)
        return table


def to_polars(table: Any) -> pl.DataFrame:
    """Validated cells as a frame."""
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _nested(field: Any) -> pl.DataType:
    """A type that says what a column holds, where its cells are not read."""
    try:
        return to_polars(pa.schema([field]).empty_table()).dtypes[0]
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException, ValueError):
        return pl.Object()
