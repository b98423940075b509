"""Rows of tables as CSV files."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from depmax._files import replacing

Row = dict[str, Any]


def save_csv(path: Path, rows: Sequence[Row], columns: Sequence[str]) -> None:
    """Write rows to a file, whole or not at all; a list of numbers is one cell, with spaces."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        replacing(path) as temporary,
        temporary.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: text_of(row.get(name)) for name in columns} for row in rows)


def read_csv(path: Path) -> list[Row]:
    """Rows of a file that ``save_csv`` wrote, or none if there is no such file."""
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: _value(cell) for name, cell in row.items()} for row in csv.DictReader(file)]


def text_of(value: object) -> str:
    """What a cell shows."""
    if value is None:
        return ""
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        return " ".join(f"{item:.5g}" for item in value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _value(cell: str) -> str | float | None:
    if cell == "":
        return None
    try:
        return float(cell)
    except ValueError:
        return cell
