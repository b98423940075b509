"""CSV and TSV."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import polars as pl

from depmax.cli.writing.formats import Writer

#: Text that a spreadsheet runs when it opens the file: =…, @…, and +… or -… that call something.
_FORMULA = r"^\s*(?:[=@].|[+-].*[(|!])"


class Csv(Writer):
    """A header, then a line per row."""

    separator = ","

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._file = path.open("wb")
        self._empty = True
        self._warned = False

    def add(self, rows: pl.DataFrame) -> None:
        """Append rows, below a header if they are the first."""
        self._mention_formulas(rows)
        rows.write_csv(self._file, include_header=self._empty, separator=self.separator)
        self._empty = False

    def close(self) -> None:
        """Finish the file."""
        self._file.close()

    def _mention_formulas(self, rows: pl.DataFrame) -> None:
        """Warn of text from the data that a spreadsheet would run; the text itself stays."""
        if self._warned:
            return
        suspects: list[str] = [name for name in rows.columns if re.match(_FORMULA, name)]
        text = rows.select(pl.col(pl.String, pl.Categorical, pl.Enum).cast(pl.String))
        for cells in text.iter_columns():
            suspects += cells.filter(cells.str.contains(_FORMULA)).head(1).to_list()
        if suspects:
            self._warned = True
            warnings.warn(
                "The output holds text that a spreadsheet would run as a formula: "
                f"{suspects[0][:60]!r}. Import it as text, or write .parquet.",
                stacklevel=2,
            )


class Tsv(Csv):
    """The same with tabs."""

    separator = "\t"
