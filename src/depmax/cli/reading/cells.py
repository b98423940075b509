"""From the text of cells to numbers, booleans and dates: one rule for whole files and batches.

A column's type is decided by all of its cells. Which mark stands before decimals is decided by
all columns together, since 1.234 is a little more than one, or more than a thousand.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from depmax._text import listed
from depmax.cli.errors import DataError
from depmax.cli.reading.source import ReadOptions

#: A first group of one to three digits, then groups of three, as in 1,234.5 or 1 234,5.
_GROUPED = {
    ".": r"^[+-]?[1-9]\d{0,2}(?:(?:,\d{3})+|(?:[ '’\u00a0\u202f]\d{3})+)(?:\.\d*)?$",
    ",": r"^[+-]?[1-9]\d{0,2}(?:(?:\.\d{3})+|(?:[ '’\u00a0\u202f]\d{3})+)(?:,\d*)?$",
}
_GROUP_MARKS = {".": r"[, '’\u00a0\u202f]", ",": r"[. '’\u00a0\u202f]"}
_BOOLEANS = {"true": True, "True": True, "TRUE": True}
_BOOLEANS |= {"false": False, "False": False, "FALSE": False}
_DATE_LIKE = re.compile(r"\d{1,4}[-/.:]\d{1,2}")
#: What may stand before or after all numbers of a column.
_UNITS = "$€£¥%"


#: A cell that can be neither a number nor a date: it has no digit, or a letter that neither has.
_WORD = re.compile(r"\D*|.*[^\W\deETZ_].*", re.DOTALL)
#: What reads as a number all the same.
_SPECIAL = re.compile(r"\s*[+-]?(nan|inf|infinity)\s*", re.IGNORECASE)


def _is_decimal(cell: str) -> bool:
    """Whether the point in a number cannot be a separator of thousands."""
    return "." in cell and re.match(_GROUPED[","], cell) is None


def _is_word(cell: str) -> bool:
    return _WORD.fullmatch(cell) is not None and _SPECIAL.fullmatch(cell) is None


@dataclass(frozen=True)
class Way:
    """One way to read a column, which its cells may rule out."""

    kind: Any  # of polars
    form: str = ""  # how dates are written
    mark: str = "."  # before the decimals of numbers
    unit: str = ""  # the sign that numbers come with

    def read(self, text: pl.Series, options: ReadOptions) -> pl.Series:
        """Cells of a file as values, nothing where one is missing."""
        if self.kind.is_numeric():
            return self._numbers(text, options)
        if self.kind == pl.Null:
            return pl.Series(text.name, [None] * text.len(), dtype=pl.Null)
        return self.values(clean(text, options.missing))

    def values(self, text: pl.Series) -> pl.Series:
        """Booleans, dates or words, nothing where a cell is something else."""
        if self.kind == pl.Boolean:
            return text.replace_strict(_BOOLEANS, default=None, return_dtype=pl.Boolean)
        return text.str.strptime(self.kind, self.form, strict=False) if self.form else text

    def _numbers(self, text: pl.Series, options: ReadOptions) -> pl.Series:
        whole = self.kind == pl.Int64
        if not options.number_is_missing and (whole or self.mark == "."):
            numbers = text.cast(self.kind, strict=False)
            nan = not whole and bool(numbers.is_nan().any())
            if numbers.null_count() == 0 and not nan:
                return numbers
        text = clean(text, (*options.missing, *options.missing_numbers))
        text = without_unit(text, self.unit)
        return text.cast(self.kind) if whole else read_numbers(text, self.mark)


_WORDS = Way(pl.String())
#: In this order; numbers come before them, words after them.
_WAYS = (
    Way(pl.Boolean()),
    Way(pl.Date(), "%Y-%m-%d"),
    Way(pl.Date(), "%Y/%m/%d"),
    Way(pl.Date(), "%d.%m.%Y"),
    Way(pl.Date(), "%d/%m/%Y"),
    Way(pl.Date(), "%m/%d/%Y"),
    Way(pl.Date(), "%d-%m-%Y"),
    Way(pl.Datetime(), "%Y-%m-%d %H:%M:%S%.f"),
    Way(pl.Datetime(), "%Y-%m-%dT%H:%M:%S%.f"),
    Way(pl.Datetime(), "%Y-%m-%d %H:%M"),
    Way(pl.Datetime(), "%Y-%m-%dT%H:%M:%S%.fZ"),
    Way(pl.Datetime(), "%d.%m.%Y %H:%M"),
    Way(pl.Datetime(), "%d/%m/%Y %H:%M"),
    Way(pl.Time(), "%H:%M:%S"),
    Way(pl.Time(), "%H:%M"),
)


@dataclass
class CellEvidence:
    """What the cells of a column allow, as more and more of them are seen."""

    options: ReadOptions
    cells: int = 0  # that are not missing
    values: int = 0  # that are not missing in a column of numbers either
    whole: bool = True
    lines: bool = False  # whether a cell holds several lines
    #: Cells that are numbers with either mark before the decimals.
    numbers: dict[str, int] = field(default_factory=lambda: {".": 0, ",": 0})
    #: The first number seen with a mark in it, and the first cell that is not a number.
    marked: str = ""
    odd: str = ""
    #: Signs that numbers come with, such as % or $; of one kind in a column of numbers.
    units: set[str] = field(default_factory=set)
    #: What the cells may be beside numbers and words.
    ways: Sequence[Way] = _WAYS

    def add(self, text: pl.Series) -> None:
        """Look at further cells."""
        if self._are_words(text) or self._are_plain_numbers(text):
            return
        text = clean(text, self.options.missing).drop_nulls()
        self.cells += text.len()
        values = clean(text, self.options.missing_numbers).drop_nulls()
        self.values += values.len()
        unit = _unit_of(values)
        if values.len():
            self.units.add(unit)
        self.whole &= not unit
        values = without_unit(values, unit)
        self.whole &= values.cast(pl.Int64, strict=False).null_count() == 0
        point, comma = (read_numbers(values, mark) for mark in (".", ","))
        self.numbers["."] += point.len() - point.null_count()
        self.numbers[","] += comma.len() - comma.null_count()
        self._remember(values, point, comma)
        self.lines = self.lines or bool(text.str.contains("\n", literal=True).any())
        may_be_dates = text.len() == 0 or _DATE_LIKE.match(str(text[0])) is not None
        may_be_dates &= not self.are_numbers(".")
        ways = [way for way in self.ways if may_be_dates or not way.form]
        self.ways = [way for way in ways if way.values(text).null_count() == 0]

    def _are_words(self, text: pl.Series) -> bool:
        """Count text that can be nothing else by its distinct cells: tables have many columns."""
        if text.len() == 0 or not _is_word(text[0]):
            return False
        counts = Counter(text.to_list())
        if not all(map(_is_word, counts)):
            return False
        for cell, count in ((cell.strip(), count) for cell, count in counts.items()):
            if cell not in self.options.missing:
                self.cells += count
                self.lines |= "\n" in cell
                is_boolean = cell in _BOOLEANS
                self.ways = [way for way in self.ways if is_boolean and way.kind == pl.Boolean]
                if cell not in self.options.missing_numbers:
                    self.values += count
                    self.whole = False
                    self.odd = self.odd or cell
        return True

    def _are_plain_numbers(self, text: pl.Series) -> bool:
        """Count the usual case without a closer look: a column that has numbers only, and more."""
        if self.options.number_is_missing:
            return False
        if text.len() == 0 or (self.values and not self.are_numbers(".")):
            return False
        with_comma = text.len()
        if not self.whole or text.cast(pl.Int64, strict=False).null_count():
            numbers = text.cast(pl.Float64, strict=False).fill_nan(None)
            first = str(text[0])
            if numbers.null_count() or (self._may_have_commas and not _is_decimal(first)):
                return False
            self.whole, with_comma = False, 0
            self.marked = self.marked or first
        self.cells += text.len()
        self.values += text.len()
        self.units.add("")
        self.numbers["."] += text.len()
        self.numbers[","] += with_comma
        self.ways = ()
        return True

    @property
    def _may_have_commas(self) -> bool:
        return self.values == 0 or self.are_numbers(",")

    def _remember(self, values: pl.Series, point: pl.Series, comma: pl.Series) -> None:
        if not self.marked:
            either = point.is_not_null() | comma.is_not_null()
            seen = values.filter(values.str.contains("[.,]") & either)
            self.marked = str(seen[0]) if seen.len() else ""
        if not self.odd:
            seen = values.filter(point.is_null() & comma.is_null())
            self.odd = str(seen[0]) if seen.len() else ""

    def are_numbers(self, mark: str) -> bool:
        """Whether all cells are numbers with this mark before the decimals, in the same unit."""
        return 0 < self.values == self.numbers[mark] and len(self.units) == 1

    def way(self, decimal: str) -> Way:
        """How the column is read, as all of its cells allow."""
        if self.cells == 0:
            return Way(pl.Null())
        if self.are_numbers(decimal):
            kind = pl.Int64() if self.whole else pl.Float64()
            return Way(kind, mark=decimal, unit=next(iter(self.units)))
        return self.ways[0] if self.ways else _WORDS


def clean(text: pl.Series, missing: Sequence[str]) -> pl.Series:
    """Text without spaces around it, and nothing where it stands for a missing value."""
    text = text.str.strip_chars()
    gaps = text.is_in(list(missing))
    return _without(text, gaps) if gaps.any() else text


def _without(text: pl.Series, gaps: pl.Series) -> pl.Series:
    nothing = pl.Series(text.name, [None], dtype=pl.String).new_from_index(0, text.len())
    return nothing.zip_with(gaps.fill_null(True), text)


def _unit_of(text: pl.Series) -> str:
    """The sign that stands before or after every cell, empty if there is none."""
    first = str(text[0]) if text.len() else ""
    found = [unit for unit in _UNITS if unit in first]
    if len(found) != 1:
        return ""
    unit = re.escape(found[0])
    return found[0] if bool(text.str.contains(rf"^[+-]?{unit}|{unit}$").all()) else ""


def without_unit(text: pl.Series, unit: str) -> pl.Series:
    """Cells without the sign before or after their numbers."""
    if not unit:
        return text
    sign = re.escape(unit)
    text = text.str.replace(rf"^([+-]?){sign}\s?", "${1}")
    return text.str.replace(rf"\s?{sign}$", "")


def read_numbers(text: pl.Series, mark: str) -> pl.Series:
    """Numbers with a mark before their decimals; null where a cell is not one."""
    plain = text
    if mark == ",":
        swapped = text.str.replace(",", ".", literal=True)
        plain = _without(swapped, text.str.contains(".", literal=True))
    numbers = plain.cast(pl.Float64, strict=False)
    if numbers.null_count() == text.null_count():
        return numbers
    grouped = text.str.contains(_GROUPED[mark])
    if not grouped.any():
        return numbers
    joined = text.str.replace_all(_GROUP_MARKS[mark], "").str.replace(",", ".", literal=True)
    return joined.cast(pl.Float64, strict=False).zip_with(grouped.fill_null(False), numbers)


@dataclass(frozen=True)
class Types:
    """How all columns are read, the mark before decimals, and what should be said of them."""

    ways: Mapping[str, Way]
    decimal: str
    assumed: tuple[str, ...]
    notes: tuple[str, ...]


def settle(evidence: Mapping[str, CellEvidence], options: ReadOptions, separator: str) -> Types:
    """Decide on the mark before decimals, then on the type of every column."""
    with_mark = {name: seen for name, seen in evidence.items() if seen.marked}
    decimal, said = options.decimal or ".", ""
    if options.decimal is None:
        decimal, said = _find_decimal(with_mark, options, separator)
    found = {name: seen for name, seen in evidence.items() if name not in options.text}
    ways = dict.fromkeys(evidence, _WORDS) | {n: seen.way(decimal) for n, seen in found.items()}
    nearly = {
        name: seen
        for name, seen in found.items()
        if ways[name].kind == pl.String and seen.numbers[decimal] > seen.cells / 2
    }
    notes = _about_odd_cells(nearly, decimal)
    with_unit = [f"{name!r} ({way.unit})" for name, way in ways.items() if way.unit]
    if with_unit:
        notes += (f"Signs are left out of the numbers of {listed(with_unit)}.",)
    return Types(ways, decimal, (said,) if said else (), notes)


#: Different cells that notes name; columns with others are counted.
NAMED_CELLS = 3


def _about_odd_cells(nearly: Mapping[str, CellEvidence], decimal: str) -> tuple[str, ...]:
    """Say which columns would be numbers except for some cells; group those with the same cells."""
    columns_by_cells: dict[str, list[str]] = {}
    for name, seen in nearly.items():
        columns_by_cells.setdefault(repr(seen.odd or seen.marked), []).append(name)
    remedy = (
        "If that stands for a missing value, pass it with --missing, together with any others "
        "(such as NA)."
    )
    notes = []
    for held, names in list(columns_by_cells.items())[:NAMED_CELLS]:
        seen = nearly[names[0]]
        found = (
            f"Column {names[0]!r} is read as text, although {seen.numbers[decimal]} of "
            f"{seen.cells} cells are numbers: it also holds {held}."
            if len(names) == 1
            else f"Columns {listed(map(repr, names))} are read as text, although most of their "
            f"cells are numbers: they also hold {held}."
        )
        notes.append(f"{found} {remedy}")
    others = sum(map(len, list(columns_by_cells.values())[NAMED_CELLS:]))
    if others:
        notes.append(
            f"{others} more column{'s are' if others > 1 else ' is'} read as text, although most "
            "cells are numbers."
        )
    return tuple(notes)


def _find_decimal(
    columns: Mapping[str, CellEvidence], options: ReadOptions, separator: str
) -> tuple[str, str]:
    """The mark that reads all columns of numbers, and what to say of it."""
    comma = [n for n, s in columns.items() if s.are_numbers(",") and not s.are_numbers(".")]
    point = [n for n, s in columns.items() if s.are_numbers(".") and not s.are_numbers(",")]
    either = [n for n, s in columns.items() if s.are_numbers(".") and s.are_numbers(",")]
    if comma and point:
        raise DataError(
            f"Column {comma[0]!r} holds numbers with a decimal comma, such as "
            f"{columns[comma[0]].marked}, and column {point[0]!r} numbers with a decimal point, "
            f"such as {columns[point[0]].marked}. Pass --decimal ',' or --decimal '.': columns of "
            "the other kind are then read as text."
        )
    if comma:
        shown = listed(map(repr, comma), 3)
        return ",", f"decimal comma in {shown} ({columns[comma[0]].marked})"
    if point or not either:
        return ".", ""
    example = columns[either[0]].marked
    expected = options.expected.decimal if options.expected else None
    decimal = expected or ("," if separator == ";" and "," in example else ".")
    meaning = "decimals" if decimal in example else "thousands"
    shown = listed(map(repr, either), 3)
    return decimal, f"{example} with {meaning} after the mark (column {shown})"
