"""CSV and similar files, plain or compressed: one reader for whole files and for batches."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa
from pyarrow import csv as arrow_csv

from depmax._files import first_line
from depmax._resources import cached_property, require_memory
from depmax._text import counted
from depmax.cli.errors import DataError
from depmax.cli.reading.cells import CellEvidence, Types, settle
from depmax.cli.reading.dialect import (
    BLOCK,
    WHITESPACE,
    Dialect,
    Lines,
    between_spaces,
    find_dialect,
    open_text,
)
from depmax.cli.reading.source import Marks, Source, require_distinct

#: What the parser and its results take for every column, however few rows there are.
COLUMN_BYTES = 12_000


class Delimited(Source):
    """A line per row, below a header or without one."""

    types_are_guesses = True

    @cached_property
    def dialect(self) -> Dialect:
        """Encoding, separator, header and names of the columns."""
        try:
            found = find_dialect(self.path, self.options)
        except csv.Error as error:
            raise DataError(f"{self.name} cannot be read: {error}.") from None
        require_distinct(found.names, self.name)
        require_memory(
            COLUMN_BYTES * len(found.names),
            self.options.max_memory,
            self.name,
            f"text with {len(found.names):,} columns (Parquet and Arrow files take less)",
        )
        return found

    @cached_property
    def types(self) -> Types:
        """Types of the columns by all of their cells, and the mark before decimals."""
        evidence = {name: CellEvidence(self.options) for name in self.dialect.names}
        rows = 0
        for batch in self._text(self.dialect.names):
            rows += batch.height
            for text in batch.iter_columns():
                evidence[text.name].add(text)
        if rows == 0:
            raise DataError(f"{self.name} has a header but no rows.")
        if any(seen.lines for seen in evidence.values()):
            self._require_closed_quotes()
        try:
            return settle(evidence, self.options, self.dialect.separator)
        except DataError as error:
            raise DataError(f"{self.name}: {error}") from None

    def assumptions(self) -> list[str]:
        """What was found out about the file and might be wrong."""
        said = [*self.dialect.assumed, *self.types.assumed]
        if not said:
            return list(self.types.notes)
        line = (
            f"{self.name} is read as {', '.join(said)}; override this with --separator, --decimal, "
            "--encoding and --header or --no-header."
        )
        return [line, *self.types.notes]

    def written(self) -> dict[str, Any]:
        """What decides where a new file leaves it open, and how missing values are written."""
        return {
            "decimal": self.types.decimal,
            "header": self.dialect.header,
            "dates": {name: way.form for name, way in self.types.ways.items() if way.form},
            "units": {name: way.unit for name, way in self.types.ways.items() if way.unit},
            "missing": self.options.missing,
            "missing_numbers": self.options.missing_numbers,
        }

    def marks(self) -> Marks:
        """Those of this file; a CSV has no tabs and no runs of spaces."""
        separator, decimal = self.dialect.separator, self.types.decimal
        if separator in ("\t", WHITESPACE):
            separator = ";" if decimal == "," else ","
        return Marks(separator, decimal)

    def _find_types(self) -> Mapping[str, pl.DataType]:
        return {name: way.kind for name, way in self.types.ways.items()}

    def _parts(self, columns: list[str], size: int) -> Iterator[pl.DataFrame]:
        """Read as they are needed."""
        ways = self.types.ways
        for batch in self._text(columns):
            cells = [ways[text.name].read(text, self.options) for text in batch.iter_columns()]
            yield from pl.DataFrame(cells).iter_slices(size)

    def _text(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Cells of some columns as they stand in the file."""
        dialect = self.dialect
        names = list(dialect.names)
        skipped = not dialect.header
        try:
            reader = arrow_csv.open_csv(
                self._stream(),
                read_options=arrow_csv.ReadOptions(column_names=names, block_size=BLOCK),
                parse_options=arrow_csv.ParseOptions(
                    delimiter="\t" if dialect.separator == WHITESPACE else dialect.separator,
                    newlines_in_values=True,
                    ignore_empty_lines=len(names) > 1,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    include_columns=list(columns),
                    strings_can_be_null=False,
                ),
            )
            for batch in reader:
                frame = pl.from_arrow(pa.Table.from_batches([batch]))
                assert isinstance(frame, pl.DataFrame)
                if not skipped and frame.height:
                    frame, skipped = frame.slice(1), True
                if frame.height:
                    yield frame
        except (pa.ArrowException, OSError) as error:
            raise self._unreadable(error) from None

    def _stream(self) -> Any:
        """The file as text in UTF-8 with one character between cells."""
        plain = self.dialect.encoding in ("utf-8", "utf-8-sig")
        if plain and self.dialect.separator != WHITESPACE and not self.dialect.lacks_first:
            packed = self.path.suffix.lower() == ".gz"
            return pa.input_stream(str(self.path), compression="gzip" if packed else None)
        return _Recoded(self)

    def _unreadable(self, error: Exception) -> DataError:
        if "straddling" in str(error):
            return DataError(
                f"{self.name} has a row longer than {BLOCK >> 20} MB. Is a double quote opened and "
                "not closed?"
            )
        return self._uneven() or DataError(f"{self.name} cannot be read: {first_line(error)}.")

    def _uneven(self) -> DataError | None:
        """The first line with another number of cells than the first row, if there is one."""
        dialect = self.dialect
        width = len(dialect.names)
        first = "the header names" if dialect.header else "the first line has"
        for line, cells in self._numbered_rows():
            unnamed = dialect.lacks_first and line == 1
            if cells and len(cells) + unnamed != width:
                return DataError(
                    f"{self.name}, line {line}: {counted(len(cells), 'cell')}, but {first} "
                    f"{width}. Put cells that hold the separator {dialect.separator!r} in double "
                    f"quotes{', and remove titles above the header' * dialect.header}."
                )
        return None

    def _require_closed_quotes(self) -> None:
        """Refuse a quote that takes in the lines below it; cells with line ends are checked."""
        for _ in self._numbered_rows(strict=True):
            pass

    def _numbered_rows(self, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
        """The line at which every row ends, and its cells, by Python's own reader."""
        with open_text(self.path, self.dialect.encoding) as stream:
            lines = Lines(stream, self.path)
            try:
                for cells in self.dialect.rows(lines, strict=strict):
                    yield lines.count, cells
            except csv.Error as error:
                quotes = (
                    "a double quote is opened and not closed, or followed by more text. Write a "
                    "quote within a quoted cell twice"
                )
                why = quotes if strict else error
                raise DataError(f"{self.name}, line {lines.count}: {why}.") from None


class _Recoded(io.RawIOBase):
    """A file as UTF-8; cells between runs of spaces become cells between tabs."""

    def __init__(self, source: Delimited) -> None:
        self._source = source
        self._parts = self._recoded()
        self._rest = b""

    def _recoded(self) -> Iterator[bytes]:
        dialect = self._source.dialect
        if dialect.lacks_first:
            yield b"\t" if dialect.separator == WHITESPACE else dialect.separator.encode()
        with open_text(self._source.path, dialect.encoding) as stream:
            if dialect.separator != WHITESPACE:
                while part := stream.read(1 << 20):
                    yield part.encode()
                return
            for line in Lines(stream, self._source.path):
                cells = between_spaces(line)
                if '"' in line:
                    cells = ['"' + cell.replace('"', '""') + '"' for cell in cells]
                yield ("\t".join(cells) + "\n").encode()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            part = next(self._parts, None)
            if part is None:
                return 0
            self._rest = part
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count
