"""ARFF, the format of Weka and of OpenML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Literal

import polars as pl

from depmax.cli.errors import DataError, shortened
from depmax.cli.reading.dialect import Lines
from depmax.cli.reading.source import Source, require_distinct

Kind = Literal["number", "nominal", "date", "string"]
_KINDS: dict[str, Kind] = {
    "numeric": "number",
    "real": "number",
    "integer": "number",
    "date": "date",
    "string": "string",
}
_GAP = "?"
#: Lines that are read at once.
CHUNK_LINES = 10_000

#: A cell: between single or double quotes, where a backslash takes the next character as it is, or
#: as it stands up to the next comma.
_CELL = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,'"\s][^,]*|"""
_CELLS = re.compile(rf"\s*({_CELL})\s*(,|$)")
_ATTRIBUTE = re.compile(
    r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{'"]+)\s*(.*)""", re.IGNORECASE
)
#: Parts of a date as Java writes them, and as polars does.
_DATE_PARTS = (
    ("yyyy", "%Y"),
    ("yy", "%y"),
    ("MM", "%m"),
    ("dd", "%d"),
    ("HH", "%H"),
    ("mm", "%M"),
    ("ss", "%S"),
)


@dataclass(frozen=True)
class Attribute:
    """A column as the header declares it."""

    name: str
    kind: Kind
    levels: tuple[str, ...] = ()
    date_format: str = ""

    @property
    def dtype(self) -> pl.DataType:
        """The type of its cells."""
        if self.kind == "nominal":
            return pl.Enum(self.levels)
        if self.kind == "date":
            return pl.Datetime("ms")
        return pl.Float64() if self.kind == "number" else pl.String()


class Arff(Source):
    """Numeric, nominal and text attributes; a question mark is a missing value."""

    def _find_types(self) -> Mapping[str, pl.DataType]:
        """Types of the columns, from the header."""
        return {attribute.name: attribute.dtype for attribute in self._attributes}

    def _read(self, columns: list[str]) -> pl.DataFrame:
        frames: list[pl.DataFrame] = []
        n_rows = n_bytes = 0
        for frame in self._batches(columns, CHUNK_LINES):
            n_rows += frame.height
            n_bytes += int(frame.estimated_size())
            self.require_room(n_rows, len(columns), n_bytes)
            frames.append(frame)
        if not frames:
            raise DataError(f"{self.name} has a header but no rows.")
        return pl.concat(frames, rechunk=True)

    def _batches(self, columns: list[str], size: int) -> Iterator[pl.DataFrame]:
        """Batches of at most ``size`` rows, read as they are needed."""
        rows: list[list[str | None]] = []
        for row in self._rows():
            rows.append(row)
            if len(rows) == size:
                yield self._frame(rows, columns)
                rows = []
        if rows:
            yield self._frame(rows, columns)

    # --- the header
    @cached_property
    def _attributes(self) -> tuple[Attribute, ...]:
        return self._header[0]

    @cached_property
    def _header(self) -> tuple[tuple[Attribute, ...], int]:
        """The attributes, and how many lines the header has."""
        attributes: list[Attribute] = []
        with self._lines() as lines:
            for line in lines:
                text = line.strip()
                start = text[:12].lower()
                if start.startswith("@data"):
                    break
                if start.startswith("@attribute"):
                    attributes.append(self._attribute(text, lines.count))
                elif text and not text.startswith("%") and not start.startswith("@relation"):
                    raise self._invalid(f"the header does not allow {text[:40]!r}", lines.count)
            else:
                raise DataError(f"{self.name} is not a valid ARFF file: its header ends too early.")
            count = lines.count
        if not attributes:
            raise DataError(f"{self.name} is not a valid ARFF file: it declares no attribute.")
        require_distinct([attribute.name for attribute in attributes], self.name)
        return tuple(attributes), count

    def _attribute(self, text: str, line: int) -> Attribute:
        found = _ATTRIBUTE.fullmatch(text)
        if found is None:
            raise self._invalid(f"{text[:60]!r} does not name an attribute and its type", line)
        name, declared = _unquoted(found[1]), found[2].strip()
        if declared.startswith("{"):
            if not declared.endswith("}"):
                raise self._invalid(f"the values of {name!r} are not closed by a brace", line)
            levels = [_unquoted(cell) for cell in self._cells(declared[1:-1], line)]
            repeated = [level for level in dict.fromkeys(levels) if levels.count(level) > 1]
            if repeated:
                raise self._invalid(f"{name!r} has the value {repeated[0]!r} twice", line)
            return Attribute(name, "nominal", tuple(levels))
        kind, _, rest = declared.partition(" ")
        if kind.lower() not in _KINDS:
            raise DataError(
                f"{self.name}, line {line}: {name!r} has the type {kind[:40]!r}, which is not "
                "supported. Save the file as CSV."
            )
        form = _unquoted(rest.strip()) or "yyyy-MM-dd'T'HH:mm:ss"
        return Attribute(name, _KINDS[kind.lower()], date_format=_as_strptime(form))

    # --- the rows
    def _rows(self) -> Iterator[list[str | None]]:
        """Cells of every row, None where one is missing."""
        attributes, header = self._header
        width = len(attributes)
        commas: bool | None = None
        with self._lines() as lines:
            for line in lines:
                text = line.strip()
                if lines.count <= header or not text or text[0] == "%":
                    continue
                if text[0] == "{":
                    raise DataError(
                        f"{self.name}, line {lines.count}: the row lists only some of its cells "
                        "(sparse ARFF), which is not supported. Save the file as CSV."
                    )
                if commas is None:
                    commas = "," in text or width == 1
                plain = "'" not in text and '"' not in text
                if plain:
                    cells = text.split(",") if commas else text.split()
                else:
                    cells = self._cells(text if commas else ",".join(text.split()), lines.count)
                if len(cells) != width:
                    raise DataError(
                        f"{self.name}, line {lines.count}: {len(cells)} "
                        f"cell{'' if len(cells) == 1 else 's'}, but the header declares {width}. "
                        "Put cells that hold a comma in quotes."
                    )
                stripped = [cell.strip() for cell in cells]
                yield [
                    None if cell == _GAP else cell if plain else _unquoted(cell)
                    for cell in stripped
                ]

    def _frame(self, rows: Sequence[Sequence[str | None]], columns: Sequence[str]) -> pl.DataFrame:
        place = {attribute.name: j for j, attribute in enumerate(self._attributes)}
        return pl.DataFrame(
            [
                self._series(self._attributes[place[name]], [row[place[name]] for row in rows])
                for name in columns
            ]
        )

    def _series(self, attribute: Attribute, cells: Sequence[str | None]) -> pl.Series:
        text = pl.Series(attribute.name, cells, dtype=pl.String)
        if attribute.kind == "string":
            return text
        if attribute.kind == "number":
            values = text.cast(pl.Float64, strict=False)
            self._require_read(attribute, text, values)
            return values.fill_nan(None)
        if attribute.kind == "date":
            values = text.str.strptime(pl.Datetime("ms"), attribute.date_format, strict=False)
        else:
            values = text.cast(attribute.dtype, strict=False)
        self._require_read(attribute, text, values)
        return values

    def _require_read(self, attribute: Attribute, text: pl.Series, values: pl.Series) -> None:
        """Refuse cells that are not what the header declares."""
        if values.null_count() > text.null_count():
            cell = str(text.filter(values.is_null() & text.is_not_null())[0])
            declared = {
                "number": "a number",
                "nominal": f"one of {shortened(attribute.levels, 6)}",
                "date": "a date in the declared form",
            }[attribute.kind]
            raise DataError(
                f"{self.name}: the column {attribute.name!r} holds {cell[:60]!r}, which is not "
                f"{declared}."
            )

    def _cells(self, text: str, line: int) -> list[str]:
        """Cells between commas, with their quotes."""
        cells, place = [], 0
        while True:
            found = _CELLS.match(text, place)
            if found is None:
                raise self._invalid("a quote is opened and not closed, or not at a comma", line)
            cells.append(found[1].strip())
            place = found.end()
            if not found[2]:
                return cells

    def _invalid(self, reason: str, line: int) -> DataError:
        return DataError(f"{self.name} is not a valid ARFF file: {reason} (line {line}).")

    @contextmanager
    def _lines(self) -> Iterator[Lines]:
        try:
            file: IO[str]
            with self.path.open(encoding="utf-8-sig") as file:
                yield Lines(file, self.path)
        except UnicodeDecodeError:
            raise DataError(f"{self.name} is not valid UTF-8.") from None


def _unquoted(cell: str) -> str:
    """Text without its quotes and the backslashes before characters within."""
    if len(cell) >= 2 and cell[0] == cell[-1] and cell[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", cell[1:-1])
    return cell


def _as_strptime(form: str) -> str:
    for java, python in _DATE_PARTS:
        form = form.replace(java, python)
    return form.replace("'", "")
