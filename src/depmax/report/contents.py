"""What a report holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


class Display(Protocol):
    """A picture that draws itself on matplotlib axes."""

    def plot(self, ax: Any = None) -> Any:
        """Draw."""


@dataclass(frozen=True)
class Noted:
    """Text of a cell with a quieter line under it."""

    text: str
    note: str


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    title: str
    format: str = ""  # of numbers, e.g. ".3f"; "p" for p-values; "bar" for a share of one
    help: str = ""  # shown as a tooltip and read by screen readers


@dataclass(frozen=True)
class Table:
    """A table that the reader can sort."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]  # numbers, text, Noted, None if empty
    emphasised: tuple[int, ...] = ()  # rows set apart, such as the best


@dataclass(frozen=True)
class Picture:
    """A picture with its caption and the same in words for those who cannot see it."""

    display: Display
    caption: str
    alternative: str
    width: float = 5.0  # inches
    height: float = 3.4


@dataclass(frozen=True)
class KeyFigure:
    """A number that the reader should remember."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Code:
    """Lines to copy, with what they are for."""

    label: str
    text: str


@dataclass(frozen=True)
class Download:
    """A small text file that the reader can save from the page."""

    label: str
    file_name: str
    text: str
    media_type: str = "text/plain"


@dataclass(frozen=True)
class Section:
    """A heading with text, pictures and tables under it."""

    title: str
    text: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    code: str | tuple[Code, ...] = ()
    downloads: tuple[Download, ...] = ()
    points: tuple[str, ...] = ()  # a list, after the text


@dataclass(frozen=True)
class Report:
    """A page: what was asked, the answer in words, then the evidence."""

    title: str
    question: str
    answer: tuple[str, ...]
    figures: tuple[KeyFigure, ...] = ()
    sections: tuple[Section, ...] = ()
    footer: str = ""
