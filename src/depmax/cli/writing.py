"""Tables to files, a batch of rows at a time: a writer per format."""

from __future__ import annotations

import re
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from depmax._files import expand_home, first_line, replacing, require_writable
from depmax._text import FORMULA
from depmax.cli.errors import OutputError
from depmax.cli.output import STDOUT, Output
from depmax.cli.reading.source import Marks
from depmax.data.files import FORMATS as COLUMNAR


class Writer(ABC):
    """Rows on their way into a file."""

    @abstractmethod
    def add(self, rows: pl.DataFrame) -> None:
        """Append rows; the first call sets the columns and their types."""

    @abstractmethod
    def close(self) -> None:
        """Finish the file."""


class Csv(Writer):
    """A header, then a line per row."""

    def __init__(self, path: Path, marks: Marks) -> None:
        self._marks = marks
        self._file: Any = sys.stdout.buffer if str(path) == STDOUT else path.open("wb")
        self._empty = True
        self._warned = False

    def add(self, rows: pl.DataFrame) -> None:
        """Append rows, below a header if they are the first."""
        self._mention_formulas(rows)
        if self._marks.decimal == ",":
            numbers = pl.col(pl.Float32, pl.Float64).cast(pl.String)
            rows = rows.with_columns(numbers.str.replace(".", ",", literal=True))
        text = rows.write_csv(include_header=self._empty, separator=self._marks.separator)
        self._file.write(text.encode())
        self._empty = False

    def close(self) -> None:
        """Finish the file."""
        self._file.flush()
        if self._file is not sys.stdout.buffer:
            self._file.close()

    def _mention_formulas(self, rows: pl.DataFrame) -> None:
        """Warn of text from the data that a spreadsheet would run; the text itself stays."""
        if self._warned:
            return
        suspects: list[str] = [name for name in rows.columns if re.match(FORMULA, name)]
        text = rows.select(pl.col(pl.String, pl.Categorical, pl.Enum).cast(pl.String))
        for cells in text.iter_columns():
            suspects += cells.filter(cells.str.contains(FORMULA)).head(1).to_list()
        if suspects:
            self._warned = True
            warnings.warn(
                "The output holds text that a spreadsheet would run as a formula: "
                f"{suspects[0][:60]!r}. Import it as text, or write .parquet.",
                stacklevel=2,
            )


class ColumnarWriter(Writer):
    """A batch of rows in a row group of Parquet, or in a record batch of Arrow."""

    def __init__(self, path: Path, form: str) -> None:
        self._path, self._form = str(path), form
        self._writer: Any = None
        self._schema: Any = None

    def add(self, rows: pl.DataFrame) -> None:
        """Append a batch; categories are text, since every batch would have its own levels."""
        import pyarrow as pa
        from pyarrow import parquet

        table = rows.with_columns(pl.col(pl.Categorical).cast(pl.String)).to_arrow()
        if self._writer is None:
            self._schema = table.schema
            opened = parquet.ParquetWriter if self._form == "parquet" else pa.ipc.new_file
            self._writer = opened(self._path, table.schema)
        self._writer.write_table(table.cast(self._schema))

    def close(self) -> None:
        """Finish the file."""
        if self._writer is not None:
            self._writer.close()


#: Text where nothing of another kind was read.
COMMAS = Marks()
#: Known extensions.
FORMATS = (".csv", ".tsv", *COLUMNAR)


def require_place(path: str, *, reads: Sequence[str] = ()) -> Path:
    """The path, if a file can be written there that is not one of those the command reads."""
    try:
        place = require_writable(expand_home(path))
        for name in reads:
            source = _existing(name)
            if source is None:
                continue
            if place.exists() and source.is_file() and place.samefile(source):
                raise OutputError(
                    f"Cannot write {path}: it is the input file ({name}), which would be lost. "
                    "Name another file."
                )
            if source.is_dir() and place.resolve().is_relative_to(source.resolve()):
                raise OutputError(
                    f"Cannot write {path}: it is in the input folder ({name}), whose files form "
                    "one table. Name a file elsewhere."
                )
    except OSError as error:
        raise OutputError(str(error)) from None
    return place


def require_page(path: str, *, reads: Sequence[str]) -> Path:
    """The path of a report, which no other program takes for a file of another kind."""
    place = require_place(path, reads=reads)
    if place.suffix.lower() not in ("", ".html", ".htm"):
        raise OutputError(f"Cannot write {path}: a report is a web page, so name it .html.")
    return place


def _existing(name: str) -> Path | None:
    """The file or folder of an input, None for a data set by name or one that is not there."""
    try:
        path = expand_home(name)
        return path if path.exists() else None
    except OSError:
        return None


def require_format(path: str, out: Output, *, reads: Sequence[str] = ()) -> Path:
    """A path whose extension is one that tables are written in, or standard output."""
    if path == STDOUT:
        out.leave_to_data()
        return Path(STDOUT)
    if Path(path).suffix.lower() not in FORMATS:
        ending = Path(path).suffix or "no extension"
        raise OutputError(
            f"Cannot write {path}: its extension ({ending}) is not a known format. Known: "
            f"{', '.join(FORMATS)}; - is standard output, as CSV."
        )
    return require_place(path, reads=reads)


@contextmanager
def open_writer(path: Path, marks: Marks = COMMAS) -> Iterator[Writer]:
    """Writer of a table that takes its place when the block ends without an error."""
    with (
        writing_to(path),
        nullcontext(path) if str(path) == STDOUT else replacing(path) as temporary,
    ):
        suffix = path.suffix.lower()
        marks = replace(marks, separator="\t") if suffix == ".tsv" else marks
        form = COLUMNAR.get(suffix)
        writer = Csv(temporary, marks) if form is None else ColumnarWriter(temporary, form)
        try:
            yield writer
        finally:
            writer.close()


@contextmanager
def writing_to(path: Path) -> Iterator[None]:
    """What goes wrong while a file is written, as an error that names it."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"Cannot write {path}: {error}") from error
    except pl.exceptions.PolarsError as error:  # a type that the format does not have
        raise OutputError(f"Cannot write {path}: {first_line(error)}.") from None
