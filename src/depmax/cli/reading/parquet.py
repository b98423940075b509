"""Parquet: one file, or a folder of files that are one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import polars as pl
import pyarrow as pa
from pyarrow import parquet

from depmax.cli.errors import DataError, shortened
from depmax.cli.reading.arrow import Arrow, Budget, Columnar, to_polars
from depmax.cli.reading.source import Source, is_text, require_distinct
from depmax.data.chunks import Scan
from depmax.data.files import FORMATS, FileScan, TableFile
from depmax.data.scan import scan

#: Rows that are unpacked at a time; few where a text may share its beginning with the one before
#: it, since such texts can be much longer than what the file holds of them.
STEP, FEW = 65_536, 16
#: Bytes that a page unpacks to at most. What it really does is only known from the page, and
#: pyarrow ends the process when asked for the metadata of a damaged column.
PAGE = 2**31
#: Bytes that one compressed byte can become, except in Brotli.
RATIO = 2**15


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
        for block in self._blocks(columns):
            try:
                table = self._block(file, group, block, STEP, budget)
            except pa.ArrowNotImplementedError as error:  # the text is not in dictionaries
                size = FEW if "DeltaByteArray" in str(error) else STEP
                table = self._block(self._file(), group, block, size, budget)
            table = self._written_out(table, block)
            found |= dict(zip(block, table.columns, strict=True))
        fields = [self._schema.field(name).with_type(found[name].type) for name in columns]
        return pa.Table.from_arrays([found[name] for name in columns], schema=pa.schema(fields))

    def _block(self, file: Any, group: int, block: list[str], size: int, budget: Budget) -> Any:
        batches = [budget.checked(batch) for batch in self._steps(file, group, block, size)]
        if not batches:
            return self._schema.empty_table().select(block)
        return pa.Table.from_batches(batches)

    def _blocks(self, columns: Sequence[str]) -> Iterator[list[str]]:
        """Columns whose pages cannot unpack to more than the limit together."""
        limit = self.options.max_memory
        small = RATIO * self.path.stat().st_size <= limit
        width = len(columns) if small else max(1, limit // PAGE)
        for start in range(0, len(columns), width):
            yield list(columns[start : start + width])

    def _steps(self, file: Any, group: int, block: Sequence[str], size: int) -> Iterator[Any]:
        """Record batches of some columns, with text in dictionaries where the file has those."""
        names = list(block)
        try:
            for batch in file.iter_batches(size, row_groups=[group], columns=names):
                yield batch.select(names)
        except OSError as error:
            if "DictAccumulator" in str(error):
                raise pa.ArrowNotImplementedError(str(error)) from None
            raise self._damaged(error) from None
        except (pa.ArrowException, KeyError) as error:
            raise self._damaged(error) from None

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


class Folder(Source):
    """The files of a folder, one after another in the order of their names."""

    @cached_property
    def table(self) -> Scan:
        """The files, looked at once: a missing column or another type is named."""
        try:
            return scan(self.path)
        except (FileNotFoundError, TypeError, ValueError) as error:
            raise DataError(str(error)) from None

    @cached_property
    def _files(self) -> list[tuple[TableFile, Source]]:
        """The files, each with the reader of its format."""
        assert isinstance(self.table, FileScan)
        readers = {"parquet": Parquet, "ipc": Arrow}
        return [
            (file, readers[FORMATS[file.path.suffix.lower()]](file.path, self.options))
            for file in self.table.files
        ]

    def assumptions(self) -> list[str]:
        """Tables in the folder that are not read."""
        others = [
            str(file.relative_to(self.path))
            for file in sorted(self.path.rglob("*"))
            if file.suffix.lower() in (".csv", ".tsv", ".xlsx")
        ]
        if not others:
            return []
        return [f"Only Parquet and Arrow files of {self.name} are read, not {shortened(others)}."]

    def _find_types(self) -> Mapping[str, pl.DataType]:
        """Types of the columns, from the files' footers."""
        empty = to_polars(self.table.empty.x)
        require_distinct(empty.columns, self.name)
        return dict(empty.schema)

    def _read(self, columns: list[str]) -> pl.DataFrame:
        """All rows."""
        self.require_room(self.n_rows() or 0, len(columns))
        frames: list[pl.DataFrame] = []
        n_rows = n_bytes = 0
        for frame in self._batches(columns, 2**20):
            n_rows += frame.height
            n_bytes += int(frame.estimated_size())
            self.require_room(n_rows, frame.width, n_bytes)
            frames.append(frame)
        if not frames:
            raise DataError(f"The files in {self.name} have no rows.")
        return pl.concat(frames)

    def _batches(self, columns: list[str], size: int) -> Iterator[pl.DataFrame]:
        """Batches of at most ``size`` rows, each file read with all checks of its format."""
        for file, source in self._files:
            try:
                file.require_unchanged()
            except (FileNotFoundError, RuntimeError) as error:
                raise DataError(str(error)) from None
            keys = [
                pl.lit(value).cast(self.schema()[name]).alias(name)
                for name, value in file.keys.items()
                if name in columns
            ]
            own = [name for name in columns if name in source.schema()]
            # a column without any value has the type that it has in the other files
            typed = [
                pl.col(name).cast(self.schema()[name])
                for name in own
                if source.schema()[name] == pl.Null
            ]
            for frame in source.batches(own or list(source.schema())[:1], size):
                yield frame.with_columns(*typed, *keys).select(columns)

    def n_rows(self) -> int | None:
        """Number of rows, from the files' footers."""
        lengths = self.table.lengths
        return None if lengths is None else int(sum(lengths))
