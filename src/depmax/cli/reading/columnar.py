"""Parquet and Arrow (which is Feather): a file, or a folder of files that are one table."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from depmax._files import first_line, validated
from depmax._resources import COLUMN_BYTES, cached_property, require_memory
from depmax._text import listed
from depmax.cli.errors import DataError
from depmax.cli.reading.source import ReadOptions, Source, require_distinct
from depmax.data.files import FORMATS, FileScan
from depmax.data.scan import scan

#: Rows that are unpacked at a time; few where a text may share its beginning with the one before
#: it, since such texts can be much longer than what the file holds of them.
STEP, FEW = 65_536, 16
#: Bytes that a page unpacks to at most. What it really does is only known from the page, and
#: pyarrow ends the process when asked for the metadata of a damaged column.
PAGE = 2**31
#: Bytes that one compressed byte can become, except in Brotli.
RATIO = 2**15
#: The mark at both ends of an Arrow file; a stream has none.
_MARK = b"ARROW1"


class Columnar(Source):
    """A file with Arrow's types, or a folder of such files in the order of their names."""

    @cached_property
    def _folder(self) -> FileScan | None:
        """The files of a folder, looked at once: a missing column or another type is named."""
        if not self.path.is_dir():
            return None
        try:
            table = scan(self.path)
        except (FileNotFoundError, TypeError, ValueError) as error:
            raise DataError(str(error)) from None
        assert isinstance(table, FileScan)
        return table

    @cached_property
    def _files(self) -> list[File]:
        paths = [self.path] if self._folder is None else [one.path for one in self._folder.files]
        readers: dict[str, type[File]] = {"parquet": ParquetFile, "ipc": ArrowFile}
        return [readers[FORMATS[path.suffix.lower()]](path, self.options) for path in paths]

    @cached_property
    def _schema(self) -> Any:
        """Arrow's types of all columns."""
        return self._files[0].schema if self._folder is None else self._folder.schema

    def _find_types(self) -> Mapping[str, pl.DataType]:
        """Types of the columns; those that polars does not have are named too."""
        schema = self._schema
        require_distinct(schema.names, self.name)
        require_memory(COLUMN_BYTES * len(schema), self.options.max_memory, self.name)
        plain = [field for field in schema if is_plain(field.type)]
        types = dict(to_polars(pa.schema(plain).empty_table()).schema)
        return {field.name: types.get(field.name) or _nested(field) for field in schema}

    def _parts(self, columns: list[str], size: int) -> Iterator[pl.DataFrame]:
        for name in columns:  # cells of lists, records and the like are never read
            kind = self._schema.field(name).type
            if not is_plain(kind):
                raise DataError(
                    f"Column {name!r} of {self.name} holds {str(kind)[:80]} values, neither "
                    "numbers nor categories: drop it."
                )
        if self._folder is None:
            yield from map(to_polars, self._files[0].tables(columns, size))
            return
        for file, stored in zip(self._files, self._folder.files, strict=True):
            try:
                stored.require_unchanged()
            except (FileNotFoundError, RuntimeError) as error:
                raise DataError(str(error)) from None
            own = [name for name in columns if name not in stored.keys]
            added = {
                name: pl.lit(value).cast(self.schema()[name]).alias(name)
                for name, value in stored.keys.items()
            }
            # a column without any value has the type that it has in the other files
            empty = [name for name in own if pa.types.is_null(file.schema.field(name).type)]
            typed = [pl.col(name).cast(self.schema()[name]) for name in empty]
            for table in file.tables(own or file.schema.names[:1], size):
                yield to_polars(table).with_columns(*typed, *added.values()).select(columns)

    def n_rows(self) -> int | None:
        """Number of rows, where the files say so."""
        if self._folder is not None:
            return int(sum(self._folder.lengths or ()))
        with self._explained():
            return self._files[0].n_rows

    def assumptions(self) -> list[str]:
        """Tables in a folder that are not read."""
        others = [
            str(file.relative_to(self.path))
            for file in (sorted(self.path.rglob("*")) if self._folder is not None else ())
            if file.suffix.lower() in (".csv", ".tsv", ".xlsx")
        ]
        if not others:
            return []
        return [f"Only Parquet and Arrow files of {self.name} are read, not {listed(others)}."]


class Budget:
    """Counts the cells of a file as they are read, and ends when they are too many."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._n_bytes = 0

    def checked(self, table: Any) -> Any:
        """The next part of the file, validated, if it fits beside those before it."""
        self._n_bytes += bytes_written_out(validated(table, self._file.path))
        require_memory(self._n_bytes, self._file.limit, self._file.path)
        return table


class File(ABC):
    """One file, whose cells are checked before anything else looks at them."""

    #: What messages call the format.
    format: ClassVar[str]
    #: Number of rows, if it is known without reading the file.
    n_rows: int | None = None

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.path = path
        self.limit = options.max_memory

    @property
    @abstractmethod
    def schema(self) -> Any:
        """Arrow's types of the columns."""

    @abstractmethod
    def tables(self, columns: Sequence[str], size: int) -> Iterator[Any]:
        """Checked tables of Arrow with some columns of at most ``size`` rows, in their order."""

    def damaged(self, error: Exception) -> DataError:
        """What a library says of the file, as an error that names it."""
        return DataError(
            f"{self.path} is not a valid {self.format} file: it was cut off or has another format "
            f"({first_line(error)})."
        )


class ParquetFile(File):
    """A Parquet file, read by row groups.

    Text stays in the file's dictionaries until it is known how long it is written out: a file of
    two kilobytes can repeat one long text a million times.
    """

    format = "Parquet"

    @cached_property
    def schema(self) -> Any:
        """Arrow's types of the columns."""
        return self._open().schema_arrow

    @property
    def n_rows(self) -> int:  # type: ignore[override]  # always known
        """Number of rows, from the footer."""
        return int(self._open().metadata.num_rows)

    def tables(self, columns: Sequence[str], size: int) -> Iterator[Any]:
        """A row group in memory at most."""
        file = self._open(columns)
        width = sum(_width(self.schema.field(name).type) for name in columns)
        for group in range(file.num_row_groups):  # all at once would keep what was read
            if width * file.metadata.row_group(group).num_rows <= self.limit // 2:
                table = self._group(file, group, columns)
                yield from (table.slice(at, size) for at in range(0, table.num_rows, size))
            else:
                for batch in self._steps(file, group, columns, size):
                    yield self._written_out(Budget(self).checked(batch), columns)

    def _group(self, file: Any, group: int, columns: Sequence[str]) -> Any:
        """A row group, checked, a few columns at a time."""
        budget = Budget(self)
        found: dict[str, Any] = {}
        for block in self._blocks(columns):
            try:
                table = self._block(file, group, block, STEP, budget)
            except pa.ArrowNotImplementedError as error:  # the text is not in dictionaries
                size = FEW if "DeltaByteArray" in str(error) else STEP
                table = self._block(self._open(), group, block, size, budget)
            found |= dict(zip(block, self._written_out(table, block).columns, strict=True))
        fields = [self.schema.field(name).with_type(found[name].type) for name in columns]
        return pa.Table.from_arrays([found[name] for name in columns], schema=pa.schema(fields))

    def _block(self, file: Any, group: int, block: Sequence[str], size: int, budget: Budget) -> Any:
        batches = [budget.checked(batch) for batch in self._steps(file, group, block, size)]
        if not batches:
            return self.schema.empty_table().select(block)
        return pa.Table.from_batches(batches)

    def _blocks(self, columns: Sequence[str]) -> Iterator[list[str]]:
        """Columns whose pages cannot unpack to more than the limit together."""
        small = RATIO * self.path.stat().st_size <= self.limit
        width = len(columns) if small else max(1, self.limit // PAGE)
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
            raise self.damaged(error) from None
        except (pa.ArrowException, KeyError) as error:
            raise self.damaged(error) from None

    def _written_out(self, table: Any, block: Sequence[str]) -> Any:
        """A table with text as text, where the file's own types say so."""
        table = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table
        for place, name in enumerate(block):
            if is_text(self.schema.field(name).type):
                table = table.set_column(place, name, table.column(place).cast(pa.large_string()))
        return table

    def _open(self, columns: Sequence[str] = ()) -> Any:
        """The file, with the text of some columns left in dictionaries."""
        texts = [name for name in columns if is_text(self.schema.field(name).type)]
        try:
            return parquet.ParquetFile(self.path, pre_buffer=False, read_dictionary=texts)
        except (pa.ArrowException, OSError) as error:
            raise self.damaged(error) from None


class ArrowFile(File):
    """An Arrow or Feather file, mapped into memory rather than loaded.

    It is a sequence of messages, with an index behind them unless it is a stream. What the messages
    would unpack to is looked at before any of them is unpacked.
    """

    format = "Arrow or Feather"

    @cached_property
    def schema(self) -> Any:
        """Arrow's types of the columns."""
        with self._open() as reader:
            return reader.schema

    def tables(self, columns: Sequence[str], size: int) -> Iterator[Any]:
        """One record batch in memory at a time."""
        with self._open() as reader:
            for batch in self._record_batches(reader):
                checked = Budget(self).checked(batch.select(list(columns)))
                table = pa.Table.from_batches([checked])  # other ways end names at a zero byte
                yield from (table.slice(at, size) for at in range(0, table.num_rows, size))

    def _record_batches(self, reader: Any) -> Iterator[Any]:
        try:
            if self._is_file():
                for place in range(reader.num_record_batches):
                    yield reader.get_batch(place)
            else:
                yield from reader
        except (pa.ArrowException, OSError, EOFError) as error:
            raise self.damaged(error) from None

    @contextmanager
    def _open(self) -> Iterator[Any]:
        if self._start(4) == b"FEA1":
            raise DataError(
                f"{self.path} is a Feather file of version 1, which cannot be checked for damage: "
                "write it again with pyarrow.feather.write_feather, or as Parquet."
            )
        with pa.memory_map(str(self.path)) as source:
            opened = pa.ipc.open_file if self._is_file() else pa.ipc.open_stream
            try:
                opened(source)  # refuses a damaged index
                for message in self._messages(source):
                    size = _unpacked_bytes(message)
                    require_memory(size, self.limit, self.path, "one batch of rows")
                source.seek(0)
                reader = opened(source)
            except struct.error:
                raise self.damaged(ValueError("its index points outside the file")) from None
            except (pa.ArrowException, OSError, EOFError) as error:
                raise self.damaged(error) from None
            yield reader

    def _is_file(self) -> bool:
        return self._start(len(_MARK)) == _MARK

    def _start(self, size: int) -> bytes:
        with self.path.open("rb") as file:
            return file.read(size)

    def _messages(self, source: Any) -> Iterator[Any]:
        """Dictionaries and batches of rows, mapped and still packed."""
        if not self._is_file():
            source.seek(0)
            yield from pa.ipc.MessageReader.open_stream(source)
            return
        for place in _blocks(source):
            source.seek(place)
            yield pa.ipc.read_message(source)


# --- cells and their types
def to_polars(table: Any) -> pl.DataFrame:
    """Validated cells as a frame."""
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    frame.columns = table.column_names  # polars gives a column without a name one
    return frame


def _nested(field: Any) -> pl.DataType:
    """A type that says what a column holds, where its cells are not read."""
    try:
        return to_polars(pa.schema([field]).empty_table()).dtypes[0]
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException, ValueError):
        return pl.Object()


def _width(kind: Any) -> int:
    """Bytes of a cell, as far as its type tells."""
    try:
        return max(8, int(kind.byte_width))
    except ValueError:  # text
        return 8


def is_plain(kind: Any) -> bool:
    """Whether cells of a type are single values rather than lists, records or runs."""
    types = pa.types
    if types.is_dictionary(kind):
        return is_plain(kind.value_type) and not types.is_dictionary(kind.value_type)
    return bool(
        types.is_null(kind)
        or types.is_boolean(kind)
        or types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_temporal(kind)
        or types.is_decimal(kind)
        or is_text(kind)
    )


def is_text(kind: Any) -> bool:
    """Whether cells of a type are text."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def bytes_written_out(table: Any) -> int:
    """Bytes of the cells of a validated table or batch, with shared text counted each time."""
    return sum(
        max(8 * len(chunk), chunk.nbytes, _text_bytes(chunk))
        for column in table.columns
        for chunk in _chunks(column)
    )


def _chunks(column: Any) -> Iterator[Any]:
    yield from column.chunks if isinstance(column, pa.ChunkedArray) else (column,)


def _text_bytes(array: Any) -> int:
    """Bytes of text that several cells share, as dictionaries and views let them."""
    kind = array.type
    if pa.types.is_dictionary(kind) and is_text(kind.value_type):
        return int(
            pc.sum(pc.take(pa.array(_lengths(array.dictionary)), array.indices)).as_py() or 0
        )
    return int(_lengths(array).sum()) if pa.types.is_string_view(kind) else 0


def _lengths(array: Any) -> np.ndarray:
    """Bytes of every cell of text."""
    if not pa.types.is_string_view(array.type):
        lengths = pc.binary_length(array).fill_null(0)
        return np.asarray(lengths, dtype=np.int64)
    views = np.frombuffer(array.buffers()[1], dtype=np.int32)[::4]  # 16 bytes, the length first
    lengths = views[array.offset : array.offset + len(array)].astype(np.int64)
    return np.where(np.asarray(array.is_valid()), lengths, 0)


# --- what the messages of an Arrow file declare
def _blocks(source: Any) -> Iterator[int]:
    """Where the messages of a file begin, from the index at its end."""
    end = source.size() - len(_MARK) - 4
    source.seek(end)
    (length,) = struct.unpack("<i", source.read(4))
    source.seek(max(0, end - length))
    index = memoryview(source.read(length))
    footer = _follow(index, 0)
    for number in (2, 3):  # dictionaries, batches of rows
        field = _field(index, footer, number)
        if field is not None:
            first = _follow(index, field)
            (count,) = struct.unpack_from("<I", index, first)
            for place in range(count):
                (offset,) = struct.unpack_from("<q", index, first + 4 + 24 * place)
                if not 0 <= offset < source.size():
                    raise struct.error("a block lies outside the file")
                yield offset


def _unpacked_bytes(message: Any) -> int:
    """Bytes that the compressed buffers of a message declare; 0 where none is compressed.

    Every compressed buffer begins with its unpacked length. Where the buffers lie is in the
    message's head, in the layout of Flatbuffers: tables whose fields are found by number.
    """
    if message.type not in ("record batch", "dictionary"):
        return 0
    head, body = memoryview(message.metadata), memoryview(message.body)
    batch = _table(head, _table(head, _follow(head, 0), field=2), field=None)
    if message.type == "dictionary":
        batch = _table(head, batch, field=1)
    buffers, compression = _field(head, batch, 2), _field(head, batch, 3)
    if buffers is None or compression is None:
        return 0
    first = _follow(head, buffers)
    (count,) = struct.unpack_from("<I", head, first)
    total = 0
    for place in range(count):
        offset, length = struct.unpack_from("<qq", head, first + 4 + 16 * place)
        if length >= 8:
            (unpacked,) = struct.unpack_from("<q", body, offset)
            total += length if unpacked < 0 else unpacked
    return total


def _follow(head: memoryview, place: int) -> int:
    """Where the offset at a place leads."""
    (offset,) = struct.unpack_from("<I", head, place)
    return place + int(offset)


def _field(head: memoryview, table: int, number: int) -> int | None:
    """Where a field of a table lies, None if it is not there."""
    (back,) = struct.unpack_from("<i", head, table)
    directory = table - back
    (size,) = struct.unpack_from("<H", head, directory)
    if 4 + 2 * number >= size:
        return None
    (offset,) = struct.unpack_from("<H", head, directory + 4 + 2 * number)
    return table + offset if offset else None


def _table(head: memoryview, table: int, field: int | None) -> int:
    """The table that a field of a table refers to, or the table itself."""
    if field is None:
        return table
    place = _field(head, table, field)
    if place is None:
        raise struct.error("a field is missing")
    return _follow(head, place)
