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
_DAYS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y",
         "%d-%B-%Y", "%d %B %Y")  # fmt: skip
_CLOCKS = (" %H:%M:%S%.f", "T%H:%M:%S%.f", " %H:%M", "T%H:%M:%S%.fZ")
_DATE_LIKE = r"^\d{1,4}([-/.:]\d|[- ]?[A-Za-z]{3})"
#: A day with a year of two digits, by the century that Excel takes it for.
_SHORT_YEARS = {
    century: rf"^(\d{{1,2}}(?:[-/.]\d{{1,2}}|[- ]?[A-Za-z]{{3,9}})[-/. ]?)({years})([ T].*)?$"
    for century, years in (("19", r"[3-9]\d"), ("20", r"[0-2]\d"))
}
#: What may stand before or after all numbers of a column, and a unit that may stand after them.
_SIGNS = "$€£¥%"
_UNIT = re.compile(r"[+-]?\d[\d.,]*\s?([^\W\d_eE][^\W\d_]*(?:/[^\W\d_]+)?)")


#: A cell that is no number, date or size: it has no digit, or begins with another character and has
#: a letter that these have not.
_WORD = re.compile(r"\D*|(?!\s*[+-]?\d).*[^\W\deETZ_].*", re.DOTALL)
#: What reads as a number all the same.
_SPECIAL = re.compile(r"\s*[+-]?(nan|inf|infinity)\s*", re.IGNORECASE)


#: Cells among which one is looked for that shows what the marks in numbers mean.
FIRST_CELLS = 50


def _is_decimal(cell: str) -> bool:
    """Whether the point in a number cannot be a separator of thousands."""
    return "." in cell and re.match(_GROUPED[","], cell) is None


def _is_word(cell: str) -> bool:
    return _WORD.fullmatch(cell) is not None and _SPECIAL.fullmatch(cell) is None


@dataclass(frozen=True)
class Way:
    """One way to read the cells of a column."""

    kind: Any  # of polars
    form: str = ""  # how dates are written
    mark: str = "."  # before the decimals of numbers
    unit: str = ""  # the sign or unit that numbers come with

    def read(self, text: pl.Series, options: ReadOptions) -> pl.Series:
        """Cells of a file as values, nothing where one is missing."""
        if self.kind.is_numeric():
            return self._numbers(text, options)
        if self.form:
            text = clean(text, (*options.missing, *options.missing_numbers))
            return self.dates(with_century(text))
        text = clean(text, options.missing)
        if self.kind == pl.Boolean:
            return text.replace_strict(_BOOLEANS, default=None, return_dtype=pl.Boolean)
        if self.kind == pl.Null:
            return pl.Series(text.name, [None] * text.len(), dtype=pl.Null)
        return text

    def dates(self, text: pl.Series) -> pl.Series:
        """Dates with whole years, nothing where a cell is something else."""
        return text.str.strptime(self.kind, self.form, strict=False)

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
#: Ways to read dates; of two that fit, the first is taken.
_DATES = (
    *(Way(pl.Date(), day) for day in _DAYS),
    *(Way(pl.Datetime(), day + clock) for clock in _CLOCKS for day in _DAYS),
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
    booleans: bool = True
    lines: bool = False  # whether a cell holds several lines
    #: Cells that are numbers with either mark before the decimals.
    numbers: dict[str, int] = field(default_factory=lambda: {".": 0, ",": 0})
    #: The first number seen with a mark in it, and the first cell that is not a number.
    marked: str = ""
    odd: str = ""
    #: Signs that numbers come with, such as % or $; of one kind in a column of numbers.
    units: set[str] = field(default_factory=set)
    #: Cells that are dates in each format, the first that is none, and whether years are short.
    dated: Counter[Way] = field(default_factory=Counter)
    undated: str = ""
    short_years: bool = False

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
        numbers = without_unit(values, unit)
        self.whole &= not unit and numbers.cast(pl.Int64, strict=False).null_count() == 0
        if self.booleans:
            self.booleans = bool(text.is_in(list(_BOOLEANS)).all())
        point, comma = (read_numbers(numbers, mark) for mark in (".", ","))
        self.numbers["."] += point.count()
        self.numbers[","] += comma.count()
        self._remember(values, point, comma)
        self.lines = self.lines or bool(text.str.contains("\n", literal=True).any())
        if not self.are_numbers("."):
            self._add_dates(values)

    def _add_dates(self, cells: pl.Series) -> None:
        first = cells.filter(cells.str.contains(_DATE_LIKE)).head(1)
        if not first.len():
            return
        whole, first = with_century(cells), with_century(first)
        self.short_years |= bool((whole != cells).any())
        for way in _DATES:
            if way.dates(first).null_count() == 0:
                none = way.dates(whole).is_null()
                self.dated[way] += int((~none).sum())
                if none.any() and not self.undated:
                    self.undated = str(cells.filter(none)[0])

    @property
    def dates(self) -> list[Way]:
        """Ways in which all cells are dates."""
        return [way for way, count in self.dated.items() if count == self.values]

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
                self.booleans &= cell in _BOOLEANS
                self.lines |= "\n" in cell
                if cell not in self.options.missing_numbers:
                    self.values += count
                    self.whole = False
                    self.odd = self.odd or cell
        return True

    def _are_plain_numbers(self, text: pl.Series) -> bool:
        """Count the usual case without a closer look: a column that has numbers only, and more."""
        if text.len() == 0 or (self.values and not self.are_numbers(".")):
            return False
        if self.options.number_is_missing and text.is_in(list(self.options.missing)).any():
            return False
        with_comma = text.len()
        if not self.whole or text.cast(pl.Int64, strict=False).null_count():
            numbers = text.cast(pl.Float64, strict=False).fill_nan(None)
            decimals = filter(_is_decimal, text.head(FIRST_CELLS).to_list())
            marked = next(decimals, "" if self._may_have_commas else str(text[0]))
            if numbers.null_count() or not marked:
                return False
            self.whole, with_comma = False, 0
            self.marked = self.marked or marked
        self.cells += text.len()
        self.values += text.len()
        self.units.add("")
        self.numbers["."] += text.len()
        self.numbers[","] += with_comma
        self.booleans = False
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
        return Way(pl.Boolean()) if self.booleans else next(iter(self.dates), _WORDS)


def clean(text: pl.Series, missing: Sequence[str]) -> pl.Series:
    """Text without spaces around it, and nothing where it stands for a missing value."""
    text = text.str.strip_chars()
    gaps = text.is_in(list(missing))
    return _without(text, gaps) if gaps.any() else text


def _without(text: pl.Series, gaps: pl.Series) -> pl.Series:
    nothing = pl.Series(text.name, [None], dtype=pl.String).new_from_index(0, text.len())
    return nothing.zip_with(gaps.fill_null(True), text)


def _unit_of(text: pl.Series) -> str:
    """The sign or unit that stands before or after most cells, by the first; empty if none does."""
    first = str(text[0]) if text.len() else ""
    units = [sign for sign in _SIGNS if sign in first]
    units += [match[1]] if (match := _UNIT.fullmatch(first)) else []
    if len(units) != 1:
        return ""
    return units[0] if 2 * int(_with_unit(text, units[0]).sum()) > text.len() else ""


def _with_unit(text: pl.Series, unit: str) -> pl.Series:
    sign = re.escape(unit)
    return text.str.contains(rf"^[+-]?{sign}|\d\s?{sign}$")


def without_unit(text: pl.Series, unit: str) -> pl.Series:
    """Numbers without the sign or unit before or after them; nothing where a cell lacks it."""
    if not unit:
        return text
    sign = re.escape(unit)
    text = _without(text, ~_with_unit(text, unit))
    return text.str.replace(rf"^([+-]?){sign}\s?", "${1}").str.replace(rf"\s?{sign}$", "")


def with_century(text: pl.Series) -> pl.Series:
    """Dates with years of four digits; two digits are a year from 1930 to 2029."""
    for century, pattern in _SHORT_YEARS.items():
        text = text.str.replace(pattern, f"${{1}}{century}${{2}}${{3}}")
    return text


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
    dates, notes = _find_dates({n: evidence[n] for n, way in ways.items() if way.form}, options)
    ways |= dates
    text = {name: seen for name, seen in found.items() if ways[name] == _WORDS}
    notes += _about_odd_cells(text, decimal)
    units = {name: way.unit for name, way in ways.items() if way.unit}
    for name, unit in options.expected.units.items() if options.expected else ():
        if units.get(name, unit) != unit:
            raise DataError(
                f"Numbers of {name!r} come with {units[name]}, but came with {unit} when the model "
                "was fitted: write them alike."
            )
    if units:
        shown = listed(f"{name!r} ({unit})" for name, unit in units.items())
        notes += (f"Signs are left out of the numbers of {shown}.",)
    return Types(ways, decimal, (said,) if said else (), notes)


#: Different cells that notes name; columns with others are counted.
NAMED_CELLS = 3


def _about_odd_cells(columns: Mapping[str, CellEvidence], decimal: str) -> tuple[str, ...]:
    """Say which would be numbers or dates but for some cells; group those with the same cells."""
    columns_by_cells: dict[tuple[str, str], list[str]] = {}
    counts: dict[str, int] = {}
    for name, seen in columns.items():
        n_dates = max(seen.dated.values(), default=0)
        counts[name] = max(seen.numbers[decimal], n_dates)
        if counts[name] > seen.cells / 2:
            kind = "dates" if n_dates == counts[name] else "numbers"
            odd = seen.undated if kind == "dates" else seen.odd or seen.marked
            columns_by_cells.setdefault((kind, repr(odd)), []).append(name)
    remedy = (
        "Write it as one of them, or pass it with --missing if it stands for a missing value, "
        "together with any others (such as NA)."
    )
    notes = []
    for (kind, held), names in list(columns_by_cells.items())[:NAMED_CELLS]:
        found = (
            f"Column {names[0]!r} is read as text, although {counts[names[0]]} of "
            f"{columns[names[0]].cells} cells are {kind}: it also holds {held}."
            if len(names) == 1
            else f"Columns {listed(map(repr, names))} are read as text, although most of their "
            f"cells are {kind}: they also hold {held}."
        )
        notes.append(f"{found} {remedy}")
    others = sum(map(len, list(columns_by_cells.values())[NAMED_CELLS:]))
    if others:
        notes.append(
            f"{others} more column{'s are' if others > 1 else ' is'} read as text, although most "
            "cells are numbers."
        )
    return tuple(notes)


def _find_dates(
    columns: Mapping[str, CellEvidence], options: ReadOptions
) -> tuple[dict[str, Way], tuple[str, ...]]:
    """Ways to read columns of dates: as in the file of the model, else as other columns tell."""
    known = options.expected.dates if options.expected else {}
    sure = {seen.dates[0] for seen in columns.values() if len(seen.dates) == 1}
    found, notes = {}, []
    for name, seen in columns.items():
        told = [way for way in seen.dates if way.form == known.get(name)]
        told = told or [way for way in seen.dates if way in sure]
        found[name] = (told or seen.dates)[0]
        if len(seen.dates) > 1 and not told:
            notes.append(
                f"Dates of {name!r} such as {seen.odd} are read with the day first, although the "
                "month could be: written as 2024-12-31 they are clear."
            )
    if short := [repr(name) for name, seen in columns.items() if seen.short_years]:
        notes.append(f"Years of two digits in {listed(short)} are those from 1930 to 2029.")
    return found, tuple(notes)


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
