"""Numbers as a reader wants to see them, and as a table sorts them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from depmax.report.contents import Column, Noted, Table


@dataclass(frozen=True)
class Cell:
    """Text of a cell, the key it is sorted by, and the share of a bar behind it."""

    text: str
    key: str
    number: bool
    share: float | None = None
    note: str = ""


def cells_of(table: Table) -> list[list[Cell]]:
    """All cells, row by row."""
    return [
        [cell_of(value, column) for value, column in zip(row, table.columns, strict=True)]
        for row in table.rows
    ]


def cell_of(value: Any, column: Column) -> Cell:
    """One cell; None and NaN are a dash and sort last."""
    if isinstance(value, Noted):
        return Cell(value.text, value.text.lower(), False, note=value.note)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None or (number and math.isnan(value)):
        return Cell("–", "", number or bool(column.format))
    if not number:
        return Cell(str(value), str(value).lower(), False)
    if column.format == "p":
        return Cell(pvalue(value), repr(float(value)), True)
    if column.format == "bar":
        return Cell(f"{value:.2f}", repr(float(value)), True, min(1.0, max(0.0, float(value))))
    return Cell(format(value, column.format or "g"), repr(float(value)), True)


def pvalue(value: float) -> str:
    """A p-value, honest about how small it can be known.

    >>> pvalue(0.2345), pvalue(0.00123), pvalue(1e-9)
    ('0.23', '0.0012', '< 0.0001')
    """
    return "< 0.0001" if value < 1e-4 else f"{value:.2g}"
