"""Tables as plain text and as CSV files."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from depmax._files import replacing
from reproduction.registry import LAST, Row, Table


def print_table(table: Table, rows: Sequence[Row]) -> None:
    """Print rows under a title, columns aligned."""
    print(f"{table.title}\n{table.source}\n")
    cells = [[_text(row.get(column)) for column in table.columns] for row in rows]
    lines = [list(table.columns), *cells]
    widths = [max(len(line[place]) for line in lines) for place in range(len(table.columns))]
    numeric = [_is_number_column(rows, column) for column in table.columns]
    for line in lines:
        parts = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ]
        print("  ".join(parts).rstrip())


def save_csv(path: Path, rows: Sequence[Row], columns: Sequence[str]) -> None:
    """Write rows to a file, whole or not at all; a list of numbers is one cell, with spaces."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        replacing(path) as temporary,
        temporary.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _text(row.get(name)) for name in columns} for row in rows)


def read_csv(path: Path) -> list[Row]:
    """Rows of a file that ``save_csv`` wrote, or none if there is no such file."""
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: _value(cell) for name, cell in row.items()} for row in csv.DictReader(file)]


class Results:
    """Files of a table that have a data set as soon as its rows are complete.

    Parameters
    ----------
    table : Table
    path : Path
        For the rows; those of sets that are not computed anew stay.
    splits : Path or None
        For the value of every split, if the table keeps them.
    """

    def __init__(self, table: Table, path: Path, splits: Path | None = None) -> None:
        self.table, self.path, self.splits = table, path, splits
        self._fresh: list[Row] = []

    def add(self, row: Row) -> None:
        """Take a row as ``Table.run`` reports it."""
        if self._fresh and self._fresh[-1]["dataset"] != row["dataset"]:
            self.save()
        self._fresh.append(row)
        if row[LAST]:
            self.save()

    def save(self) -> None:
        """Write what was added; call it at the end of a run."""
        save_csv(self.path, merge(read_csv(self.path), self._fresh), self.table.columns)
        if self.splits is not None and self.table.paired:
            # a set that is not at hand has no splits
            kept = [row for row in self._fresh if row[self.table.paired[-1]] is not None]
            save_csv(self.splits, merge(read_csv(self.splits), kept), self.table.paired)


def merge(old: Sequence[Row], new: Sequence[Row]) -> list[Row]:
    """Old rows with those of the data sets that were computed anew replaced, where they stood."""
    fresh: dict[str, list[Row]] = {}
    for row in new:
        fresh.setdefault(row["dataset"], []).append(row)
    merged: list[Row] = []
    for row in old:
        if row["dataset"] not in fresh:
            merged.append(row)
        else:
            merged += fresh[row["dataset"]]
            fresh[row["dataset"]] = []
    return merged + [row for rows in fresh.values() for row in rows]


def _text(value: object) -> str:
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


def _is_number_column(rows: Sequence[Row], column: str) -> bool:
    values = [row.get(column) for row in rows]
    return any(isinstance(value, int | float) for value in values)
