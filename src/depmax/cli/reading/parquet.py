"""Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import polars as pl
import pyarrow as pa
from pyarrow import parquet

from depmax._arrow import is_text
from depmax.cli.reading.columnar import Budget, Columnar, to_polars

#: Rows that are unpacked at a time.
STEP = 65_536
#: Bytes that one compressed byte can become; in Brotli, more.
RATIO, RATIO_BROTLI = 2**15, 2**24


class Parquet(Columnar):
    """A Parquet file, read by row groups.

    Text stays in the file's dictionaries until it is known how long it is written out: a file of
    two kilobytes can repeat one long text a million times.
    """

    format = "Parquet"

    def n_rows(self) -> int | None:
        """Number of rows, from the footer."""
        with self._explained():
            return int(self._open().metadata.num_rows)

    def _find_types(self) -> Mapping[str, pl.DataType]:
        return self._types_of(self._schema)

    def _read(self, columns: list[str]) -> pl.DataFrame:
        file = self._open(columns)
        self.require_room(file.metadata.num_rows, len(columns), self._declared(file, None, columns))
        budget = Budget(self)
        tables = [self._group(file, group, columns, budget) for group in range(file.num_row_groups)]
        frames = [to_polars(table) for table in tables if table.num_rows]
        if not frames:
            return to_polars(self._schema.empty_table().select(columns))
        return pl.concat(frames, rechunk=True)

    def _batches(self, columns: list[str], size: int) -> Iterator[pl.DataFrame]:
        """Batches of at most ``size`` rows, a row group in memory at most."""
        file = self._open(columns)
        for group in range(file.num_row_groups):  # all at once would keep what was read
            if self._declared(file, group, columns) <= self.options.max_memory // 2:
                table = self._group(file, group, columns, Budget(self))
                yield from to_polars(table).iter_slices(size)
            else:
                for batch in self._steps(file, group, columns, size):
                    yield to_polars(self._written_out(Budget(self).checked(batch), columns))

    def _declared(self, file: Any, group: int | None, columns: Sequence[str]) -> int:
        """Bytes of the cells by their number and width, without what text takes."""
        rows = file.metadata if group is None else file.metadata.row_group(group)
        return int(rows.num_rows) * sum(_width(self._schema.field(name).type) for name in columns)

    def _group(self, file: Any, group: int, columns: list[str], budget: Budget) -> Any:
        """A row group, checked, a few columns at a time."""
        found: dict[str, Any] = {}
        for block in self._blocks(file, group, columns):
            batches = [budget.checked(batch) for batch in self._steps(file, group, block, STEP)]
            if batches:
                table = self._written_out(pa.Table.from_batches(batches), block)
                found |= dict(zip(block, table.columns, strict=True))
        if not found:
            return self._schema.empty_table().select(columns)
        fields = [self._schema.field(name).with_type(found[name].type) for name in columns]
        return pa.Table.from_arrays([found[name] for name in columns], schema=pa.schema(fields))

    def _blocks(self, file: Any, group: int, columns: Sequence[str]) -> Iterator[list[str]]:
        """Columns that cannot unpack to more than the limit together, or a single one.

        What a page unpacks to is only known from the page itself, which may lie, so it is bounded
        by the bytes that are there.
        """
        about = file.metadata.row_group(group)
        sizes = {}
        for place in range(about.num_columns):
            chunk = about.column(place)
            ratio = RATIO_BROTLI if chunk.compression == "BROTLI" else RATIO
            sizes[chunk.path_in_schema] = ratio * chunk.total_compressed_size
        block: list[str] = []
        total = 0
        for name in columns:
            size = sizes.get(name, self.options.max_memory)
            if block and total + size > self.options.max_memory:
                yield block
                block, total = [], 0
            block.append(name)
            total += size
        yield block

    def _steps(self, file: Any, group: int, block: Sequence[str], size: int) -> Iterator[Any]:
        """Record batches of some columns, with text in dictionaries."""
        size = min(size, self._fewest_rows(file, group))
        try:
            for batch in file.iter_batches(size, row_groups=[group], columns=list(block)):
                yield batch.select(list(block))
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from None

    def _fewest_rows(self, file: Any, group: int) -> int:
        """Rows at a time where a text may share its beginning with the one before it."""
        about = file.metadata.row_group(group)
        longest = max(
            (
                about.column(place).total_uncompressed_size
                for place in range(about.num_columns)
                if "DELTA_BYTE_ARRAY" in about.column(place).encodings
            ),
            default=0,
        )
        return max(1, self.options.max_memory // (4 * longest)) if longest > 0 else STEP

    def _written_out(self, table: Any, block: Sequence[str]) -> Any:
        """The same with text as text, where the file's own types say so."""
        table = pa.table(table) if isinstance(table, pa.RecordBatch) else table
        for place, name in enumerate(block):
            if is_text(self._schema.field(name).type):
                table = table.set_column(place, name, table.column(place).cast(pa.large_string()))
        return table

    @cached_property
    def _schema(self) -> Any:
        """Arrow's types of the columns."""
        return self._file().schema_arrow

    def _open(self, columns: Sequence[str] = ()) -> Any:
        """The file, with the text of some columns left in dictionaries."""
        self._require_plain(columns, self._schema)
        return self._file([name for name in columns if is_text(self._schema.field(name).type)])

    def _file(self, in_dictionaries: Sequence[str] = ()) -> Any:
        try:
            return parquet.ParquetFile(
                self.path, pre_buffer=False, read_dictionary=list(in_dictionaries)
            )
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from None


def _width(kind: Any) -> int:
    """Bytes of a cell, as far as its type tells."""
    try:
        return max(8, int(kind.byte_width))
    except ValueError:  # text
        return 8
