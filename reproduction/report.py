"""Tables as plain text, and files of results that grow by data sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reproduction.csv_rows import read_csv, save_csv, text_of
from reproduction.registry import LAST, Row, Table


def print_table(table: Table, rows: Sequence[Row]) -> None:
    """Print rows under a title, columns aligned."""
    print(f"{table.title}\n{table.source}\n")
    cells = [[text_of(row.get(column)) for column in table.columns] for row in rows]
    lines = [list(table.columns), *cells]
    widths = [max(len(line[place]) for line in lines) for place in range(len(table.columns))]
    numeric = [_is_number_column(rows, column) for column in table.columns]
    for line in lines:
        parts = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ]
        print("  ".join(parts).rstrip())


class Results:
    """Files of a table that have a data set as soon as its rows are complete.

    Parameters
    ----------
    table : Table
    path : Path
        For the rows; those of sets that are not computed anew stay.
    splits : Path or None
        For the value of every split, if the table keeps them and ``KeptSplits`` does not.
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
        old = read_csv(self.path)
        rows = merge(old, self._fresh, keep_methods=self.table.continued)
        save_csv(self.path, rows, self.table.columns)
        if self.splits is not None and self.table.paired and not self.table.continued:
            # a set that is not at hand has no splits
            kept = [row for row in self._fresh if row[self.table.paired[-1]] is not None]
            save_csv(self.splits, merge(read_csv(self.splits), kept), self.table.paired)


def merge(old: Sequence[Row], new: Sequence[Row], *, keep_methods: bool = False) -> list[Row]:
    """Old rows with those of the data sets that were computed anew replaced, where they stood.

    ``keep_methods``: old rows of such a set stay if the new ones do not have their method.
    """
    fresh: dict[str, list[Row]] = {}
    for row in new:
        fresh.setdefault(row["dataset"], []).append(row)
    computed = {(row["dataset"], row["method"]) for row in new}
    merged: list[Row] = []
    for row in old:
        if row["dataset"] not in fresh:
            merged.append(row)
        else:
            merged += fresh[row["dataset"]]
            fresh[row["dataset"]] = []
            if keep_methods and (row["dataset"], row["method"]) not in computed:
                merged.append(row)
    return merged + [row for rows in fresh.values() for row in rows]


def _is_number_column(rows: Sequence[Row], column: str) -> bool:
    values = [row.get(column) for row in rows]
    return any(isinstance(value, int | float) for value in values)
