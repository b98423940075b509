"""Excel workbooks (.xlsx, .xlsm): one sheet as a table."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import polars as pl

from depmax._extras import require
from depmax._resources import FileTooLargeError, cached_property, require_memory
from depmax._text import listed
from depmax.cli.errors import DataError
from depmax.cli.reading.delimited import Delimited
from depmax.cli.reading.dialect import SAMPLE_LINES, Dialect, find_header
from depmax.cli.reading.source import ReadOptions, names_of, require_distinct

#: The largest sheet that Excel itself allows.
MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
#: Rows that are turned into columns at a time.
BLOCK_ROWS = 10_000
#: Memory that one byte of a workbook's XML may take once it is parsed into objects.
PARSED = 4
#: What a cell holds whose formula went wrong.
ERRORS = ("#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!")


class Excel(Delimited):
    """One sheet of a workbook; its cells are judged as those of a text file are.

    The table begins at the first row that is not blank. Formulas count as the values that were
    last computed for them.
    """

    def __init__(self, path: Path, options: ReadOptions) -> None:
        require(f"Reading {path.name}", "openpyxl")
        marks = (*options.missing, *ERRORS)
        decimal = options.decimal or "."  # numbers are stored as such, whatever they look like
        super().__init__(path, replace(options, missing=marks, decimal=decimal))

    @property
    def dialect(self) -> Dialect:
        """Names of the columns, and whether the sheet has them."""
        return self._sheet[0]

    def assumptions(self) -> list[str]:
        """Which sheet was taken, and whether it has a header."""
        lines = [f"{self.name}: {line}" for line in self.dialect.assumed]
        return [*lines, *self.types.notes]

    def _text(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        yield from self._sheet[1].select(columns).iter_slices(BLOCK_ROWS)

    def _require_closed_quotes(self) -> None:
        """Cells need no quotes here."""

    @cached_property
    def _sheet(self) -> tuple[Dialect, pl.DataFrame]:
        """The sheet's names and all of its cells as text."""
        with self._explained_damage():
            self._require_harmless()
            with self._workbook() as workbook:
                title, assumed = self._choose([sheet.title for sheet in workbook.worksheets])
                return self._read_sheet(workbook[title], assumed)

    def _read_sheet(self, sheet: Any, assumed: list[str]) -> tuple[Dialect, pl.DataFrame]:
        rows = self._rows(sheet)
        first = list(islice(rows, SAMPLE_LINES))
        if not first:
            raise DataError(f"{self.name}: the sheet {sheet.title!r} is empty.")
        header = self.options.header
        if header is None:
            header = find_header(first, self.options)
            if not header:
                assumed.append("no header was found (columns are named column_1, column_2, …)")
        width = max(map(len, first)) if not header else len(first[0])
        labels = first[0] if header else []
        labels = [*labels, *[""] * (width - len(labels))]
        names = names_of(labels, True, assumed)
        require_distinct(names, f"The sheet {sheet.title!r} of {self.name}")
        self.require_room(0, width)
        all_rows = chain(first[1:] if header else first, rows)
        blocks = iter(lambda: list(islice(all_rows, BLOCK_ROWS)), [])
        parts = (self._frame(block, names, sheet.title) for block in blocks)
        none = f"{self.name}: the sheet {sheet.title!r} has a header but no rows below it."
        dialect = Dialect("utf-8", ",", header, names, tuple(assumed))
        return dialect, self.joined(parts, none)

    def _rows(self, sheet: Any) -> Iterator[list[str]]:
        """Cells of every row that is not blank, as text, without blank ones at its end."""
        sheet.reset_dimensions()  # what a file declares need not be so
        for count, values in enumerate(sheet.iter_rows(values_only=True)):
            if count >= MOST_ROWS or len(values) > MOST_COLUMNS:
                raise DataError(
                    f"{self.name} is damaged: the sheet {sheet.title!r} is larger than Excel "
                    "allows."
                )
            row = [_as_text(value) for value in values]
            while row and not row[-1].strip():
                row.pop()
            if row:
                yield row

    def _frame(self, rows: list[list[str]], names: Sequence[str], sheet: str) -> pl.DataFrame:
        width = len(names)
        for row in rows:
            if len(row) > width:
                raise DataError(
                    f"{self.name}: the sheet {sheet!r} has cells to the right of its last named "
                    f"column {names[-1]!r}, such as {row[-1][:40]!r}. The first row that is not "
                    "blank must hold the column names: remove titles and notes beside the table."
                )
        padded = [[*row, *[""] * (width - len(row))] for row in rows]
        columns = zip(names, zip(*padded, strict=True), strict=True)
        return pl.DataFrame({name: pl.Series(cells, dtype=pl.String) for name, cells in columns})

    def _choose(self, titles: Sequence[str]) -> tuple[str, list[str]]:
        """The sheet that was requested, by name or number, or the first; and what to say of it."""
        if not titles:
            raise DataError(f"{self.name} has no sheet with cells.")
        requested = self.options.sheet
        if requested is None:
            said = f"sheet {titles[0]!r} of {len(titles)} (choose another with --sheet)"
            return titles[0], [said] if len(titles) > 1 else []
        if requested in titles:
            return requested, []
        if requested.isdecimal() and 1 <= int(requested) <= len(titles):
            return titles[int(requested) - 1], []
        raise DataError(
            f"--sheet: {self.name} has no sheet {requested!r}. It has "
            f"{listed(map(repr, titles), 12)}."
        )

    def _require_harmless(self) -> None:
        """Refuse a workbook that unpacks to more than the limit, or declares entities."""
        with ZipFile(self.path) as archive:
            members = archive.infolist()
            sizes = {member.filename.lower(): member.file_size for member in members}
            # sheets are read a cell at a time, though one cell may hold nearly all of a sheet
            sheets = [size for name, size in sizes.items() if name.startswith("xl/worksheets/")]
            n_bytes = PARSED * (sum(sizes.values()) - sum(sheets)) + max(sheets, default=0)
            require_memory(n_bytes, self.options.max_memory, self.name, "an Excel workbook")
            for member in members:
                if member.filename.lower().endswith((".xml", ".rels")):
                    with archive.open(member) as part:
                        if b"<!" in part.read(4096).replace(b"<!--", b""):
                            raise DataError(
                                f"{self.name} is not a valid Excel file: {member.filename} "
                                "declares a document type, which no workbook does."
                            )

    @contextmanager
    def _workbook(self) -> Iterator[Any]:
        from openpyxl import load_workbook

        with warnings.catch_warnings():  # of parts that are not read: styles, extensions
            warnings.simplefilter("ignore")
            workbook = load_workbook(
                self.path, read_only=True, data_only=True, keep_links=False, keep_vba=False
            )
            try:
                yield workbook
            finally:
                workbook.close()

    @contextmanager
    def _explained_damage(self) -> Iterator[None]:
        """Whatever goes wrong in a damaged workbook, as one error that names the file."""
        try:
            yield
        except (DataError, FileTooLargeError, MemoryError):
            raise
        except BadZipFile:
            raise DataError(
                f"{self.name} is not a valid .xlsx file. If it is an older .xls file or protected "
                "by a password, save it as .xlsx without one."
            ) from None
        except Exception as error:  # damaged XML makes the parser fail in many ways
            reason = " ".join(str(error).split())[:120].rstrip(".").strip("'\"")
            raise DataError(
                f"{self.name} is not a valid Excel file: {reason or type(error).__name__}."
            ) from None


def _as_text(value: Any) -> str:
    """A cell as a text file would have it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    return str(value)
