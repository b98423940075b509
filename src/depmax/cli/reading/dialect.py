"""How a text file is written: its encoding, its separator, and whether it has a header."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO

from depmax.cli.errors import DataError
from depmax.cli.reading.source import ReadOptions, is_number, names_of

#: Runs of spaces and tabs between two cells.
WHITESPACE = "whitespace"
#: Tried in this order: a cell holds a comma more often than a tab or a semicolon.
SEPARATORS = ("\t", ";", "|", ",")
IN_WORDS = {"\t": "tabs", " ": "spaces", WHITESPACE: "spaces"}

#: Lines that decide on the separator and the header, and the most characters they may take.
SAMPLE_LINES, SAMPLE_CHARACTERS = 200, 4_000_000
#: A cell between spaces, in quotes or not.
_SPACED = re.compile(r'"((?:[^"]|"")*)"|(\S+)')
#: So many increasing numbers in the first line are names, such as wavelengths, not a row.
POSITIONS = 5

#: Bytes that are cut into cells at a time, so also the longest line; a gzip file can hold a line of
#: gigabytes in a few kilobytes.
BLOCK = 1 << 24
#: The largest cell, as for the reader of all rows; Python's own limit is 128 kB.
csv.field_size_limit(BLOCK)

#: Bytes that no text has; tab, line feed, form feed and carriage return are text.
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class Dialect:
    """How a file is written."""

    encoding: str
    separator: str
    header: bool
    names: tuple[str, ...]
    #: What was found and might surprise, in words.
    assumed: tuple[str, ...]
    #: Whether the header does not name the first column, as R writes names of rows.
    lacks_first: bool = False

    def rows(self, stream: Iterable[str], *, strict: bool = False) -> Iterator[list[str]]:
        """Cells of every row, by Python's own reader."""
        return _rows(stream, self.separator, strict=strict)


def find_dialect(path: Path, options: ReadOptions) -> Dialect:
    """Encoding, separator and header of a file, as far as the options leave them open."""
    assumed = []
    encoding = options.encoding or _find_encoding(path)
    if options.encoding is None and encoding not in ("utf-8", "utf-8-sig"):
        assumed.append({"cp1252": "Windows-1252", "utf-16": "UTF-16"}[encoding])
    lines, whole = _sample(path, encoding)
    if not any(line.strip() for line in lines):
        raise DataError(f"{path} is empty: a header and rows are needed.")
    separator = options.separator or _find_separator(lines, path)
    usual = "\t" if ".tsv" in path.name.lower() else ","
    if options.separator is None and separator != usual:
        assumed.append(f"separated by {IN_WORDS.get(separator, repr(separator))}")
    rows = [row for row in _rows(iter(lines), separator) if any(cell.strip() for cell in row)]
    if not whole and len(rows) > 2:
        rows.pop()  # may be cut off within quotes
    header = options.header if options.header is not None else find_header(rows, options)
    if options.header is None and not header:
        assumed.append("without a header (columns are named column_1, column_2, …)")
    lacks_first = header and _are_named(rows[1:], len(rows[0]))
    first = ["", *rows[0]] if lacks_first else rows[0]
    names = names_of(first, header, assumed)
    return Dialect(encoding, separator, header, names, tuple(assumed), lacks_first)


@contextmanager
def open_text(path: Path, encoding: str) -> Iterator[IO[str]]:
    """A text file, compressed or not; errors name the file."""
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    with explained(path, encoding), opened(path, "rt", encoding=encoding, newline="") as stream:
        yield stream


class Lines:
    """Lines of a text file, counted, none longer than a block."""

    def __init__(self, stream: IO[str], path: Path) -> None:
        self._stream = stream
        self._path = path
        self.count = 0

    def __iter__(self) -> Iterator[str]:
        while line := self._stream.readline(BLOCK + 1):
            self.count += 1
            if len(line) > BLOCK:
                raise DataError(
                    f"{self._path}, line {self.count}: the line is longer than {BLOCK >> 20} "
                    "million characters. Is this a table with one line per row?"
                )
            yield line


@contextmanager
def explained(path: Path, encoding: str) -> Iterator[None]:
    """Errors of bytes and compression as messages."""
    try:
        yield
    except (UnicodeError, LookupError):
        raise DataError(
            f"{path} is not valid {encoding}: pass its encoding, such as "
            "--encoding utf-8, cp1252 or utf-16."
        ) from None
    except EOFError:
        raise DataError(f"{path} is not a complete gzip file: it was cut off.") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path} is not a valid gzip file: {error}.") from None


def _rows(lines: Iterable[str], separator: str, *, strict: bool = False) -> Iterator[list[str]]:
    if separator == WHITESPACE:
        return (between_spaces(line) for line in lines)
    return csv.reader(lines, delimiter=separator, strict=strict)


def between_spaces(line: str) -> list[str]:
    """Cells between runs of spaces or tabs, some perhaps in double quotes."""
    if '"' not in line:
        return line.split()
    return [quoted.replace('""', '"') or plain for quoted, plain in _SPACED.findall(line)]


def _sample(path: Path, encoding: str) -> tuple[list[str], bool]:
    """The first lines, and whether they are all."""
    lines: list[str] = []
    characters = 0
    with open_text(path, encoding) as stream:
        for line in Lines(stream, path):
            lines.append(line)
            characters += len(line)
            if len(lines) >= SAMPLE_LINES or (characters > SAMPLE_CHARACTERS and len(lines) > 5):
                return lines, False
    return lines, True


def _find_encoding(path: Path) -> str:
    """UTF-8 or UTF-16 by their mark, UTF-8 if all bytes are, else Windows-1252."""
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    utf8 = codecs.getincrementaldecoder("utf-8")()
    cp1252 = codecs.getincrementaldecoder("cp1252")()
    possible = {"utf-8": utf8, "cp1252": cp1252}
    with explained(path, "any encoding"), opened(path, "rb") as stream:
        start = stream.read(4)
        for mark, encoding in _MARKS:
            if start.startswith(mark):
                return encoding
        chunk = start
        while chunk:
            if _CONTROL.search(chunk):
                raise DataError(
                    f"{path} is not a text file: it holds bytes that text does not contain. If it "
                    "is in UTF-16, pass --encoding utf-16-le or utf-16-be."
                )
            following = stream.read(1 << 20)
            for encoding in list(possible):
                try:
                    possible[encoding].decode(chunk, final=not following)
                except UnicodeDecodeError:
                    del possible[encoding]
            if not possible:
                raise DataError(
                    f"{path} is neither valid UTF-8 nor valid Windows-1252: pass its encoding, "
                    "such as --encoding shift-jis or gb18030."
                )
            chunk = following
    return next(iter(possible))


def _find_separator(lines: Sequence[str], path: Path) -> str:
    """The separator that cuts all lines into the same number of cells, of at least two."""
    best, share = ",", 0.0
    order = SEPARATORS if ".csv" not in path.name.lower() else (";", ",", "\t", "|")
    for separator in order:
        counts = [len(row) for row in _rows(iter(lines), separator) if row]
        width, agreeing = Counter(counts).most_common(1)[0] if counts else (0, 0)
        if width < 2:
            continue
        if agreeing == len(counts):
            return separator
        if agreeing / len(counts) > share:
            best, share = separator, agreeing / len(counts)
    return WHITESPACE if share == 0.0 and _is_spaced(lines) else best


def _is_spaced(lines: Sequence[str]) -> bool:
    """Whether all lines have equally many words, at least half of them numbers.

    The first may have one less, as R writes tables with names of rows.
    """
    rows = [between_spaces(line) for line in lines if line.strip()]
    words = [word for row in rows[1:] or rows for word in row]
    numbers = sum(is_number(word) for word in words)
    widths = {len(row) for row in rows[1:] or rows}
    same = len(widths) == 1 and min(widths) > 1 and widths <= {len(rows[0]), len(rows[0]) + 1}
    return same and 2 * numbers >= len(words)


def _are_named(rows: Sequence[Sequence[str]], width: int) -> bool:
    """Whether all rows begin with a name of their own, beside so many cells."""
    distinct = len({row[0] for row in rows}) == len(rows)
    longer = {len(row) for row in rows} == {width + 1}
    return longer and distinct and any(row[-1].strip() for row in rows)


def find_header(rows: Sequence[Sequence[str]], options: ReadOptions) -> bool:
    """Whether the first row holds names: nothing that is found again below it, and no numbers.

    Increasing numbers are names too: wavelengths, years or places.
    """
    first = [cell.strip() for cell in rows[0]]
    below = rows[1:]
    if options.expected is not None:
        header = options.expected.header
        if set(options.expected.columns) <= set(names_of(first, True, []) if header else first):
            return True
        if not header:
            return False
    numbers = [cell for cell in first if is_number(cell)]
    words = [
        (place, cell)
        for place, cell in enumerate(first)
        if cell and cell not in options.missing and not is_number(cell)
    ]
    again = sum(
        any(place < len(row) and row[place].strip() == cell for row in below)
        for place, cell in words
    )
    if words and 2 * again > len(words):
        return False
    if not numbers:
        return True
    above_numbers = [
        place
        for place, _ in words
        if below and all(place < len(row) and is_number(row[place]) for row in below)
    ]
    return bool(above_numbers) or _are_positions(numbers)


def _are_positions(cells: Sequence[str]) -> bool:
    """Whether numbers only rise or only fall, as positions do; few must also be evenly spaced."""
    values = [float(cell.replace(",", ".")) for cell in cells]
    steps = [after - before for before, after in pairwise(values)]
    one_way = all(step > 0 for step in steps) or all(step < 0 for step in steps)
    whole = all(value.is_integer() for value in values)
    return one_way and (len(values) >= POSITIONS or (whole and len(set(steps)) == 1))
