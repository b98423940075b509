"""CSV and TSV."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from depmax.cli.writing.formats import Writer


class Csv(Writer):
    """A header, then a line per row."""

    separator = ","

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._file = path.open("wb")
        self._empty = True

    def add(self, rows: pl.DataFrame) -> None:
        """Append rows, below a header if they are the first."""
        rows.write_csv(self._file, include_header=self._empty, separator=self.separator)
        self._empty = False

    def close(self) -> None:
        """Finish the file."""
        self._file.close()


class Tsv(Csv):
    """The same with tabs."""

    separator = "\t"
