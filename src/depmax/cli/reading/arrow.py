"""Arrow IPC files and streams (Feather is the same format), and what Parquet shares with them."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import polars as pl
import pyarrow as pa

from depmax._files import first_line, validated
from depmax._limits import COLUMN_BYTES, require_memory
from depmax.cli.errors import DataError
from depmax.cli.reading.source import Source, bytes_written_out, is_plain, require_distinct


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
                    "numbers nor categories: drop it."
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
    frame.columns = table.column_names  # polars gives a column without a name one
    return frame


def _nested(field: Any) -> pl.DataType:
    """A type that says what a column holds, where its cells are not read."""
    try:
        return to_polars(pa.schema([field]).empty_table()).dtypes[0]
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException, ValueError):
        return pl.Object()


#: The mark at both ends of a file; a stream has none.
_MARK = b"ARROW1"


class Arrow(Columnar):
    """An Arrow or Feather file, mapped into memory rather than loaded.

    It is a sequence of messages, with an index behind them unless it is a stream. What the messages
    would unpack to is looked at before any of them is unpacked.
    """

    format = "Arrow or Feather"

    def _find_types(self) -> Mapping[str, pl.DataType]:
        with self._open() as reader:
            return self._types_of(reader.schema)

    def _read(self, columns: list[str]) -> pl.DataFrame:
        with self._open() as reader:
            self._require_plain(columns, reader.schema)
            budget = Budget(self)
            frames = [
                _frame(budget.checked(batch.select(columns)))
                for batch in self._record_batches(reader)
            ]
            if not frames:
                return to_polars(reader.schema.empty_table().select(columns))
            return pl.concat(frames, rechunk=True)

    def _batches(self, columns: list[str], size: int) -> Iterator[pl.DataFrame]:
        """Batches of at most ``size`` rows, one record batch in memory at a time."""
        with self._open() as reader:
            self._require_plain(columns, reader.schema)
            for batch in self._record_batches(reader):
                part = Budget(self).checked(batch.select(columns))
                yield from _frame(part).iter_slices(size)

    def _record_batches(self, reader: Any) -> Iterator[Any]:
        try:
            if self._is_file():
                for place in range(reader.num_record_batches):
                    yield reader.get_batch(place)
            else:
                yield from reader
        except (pa.ArrowException, OSError, EOFError) as error:
            raise self._damaged(error) from None

    @contextmanager
    def _open(self) -> Iterator[Any]:
        self._refuse_version_1()
        with pa.memory_map(str(self.path)) as source:
            opened = pa.ipc.open_file if self._is_file() else pa.ipc.open_stream
            try:
                reader = opened(source)  # refuses a damaged index
                for message in self._messages(source):
                    require_memory(
                        _unpacked_bytes(message),
                        self.options.max_memory,
                        self.name,
                        "one batch of rows",
                    )
                source.seek(0)
                reader = opened(source)
            except struct.error:
                raise self._damaged(ValueError("its index points outside the file")) from None
            except (pa.ArrowException, OSError, EOFError) as error:
                raise self._damaged(error) from None
            yield reader

    def _refuse_version_1(self) -> None:
        if self._start(4) == b"FEA1":
            raise DataError(
                f"{self.name} is a Feather file of version 1, which cannot be checked for damage: "
                "write it again with pyarrow.feather.write_feather, or as Parquet."
            )

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


def _frame(batch: Any) -> pl.DataFrame:
    return to_polars(pa.Table.from_batches([batch]))


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
