"""ARFF, the format of Weka and of OpenML."""

from __future__ import annotations

import polars as pl
from scipy.io import arff

from depmax.cli.errors import DataError
from depmax.cli.reading.source import Source, require_distinct


class Arff(Source):
    """Numeric and nominal attributes; a question mark is a missing value."""

    def read(self) -> pl.DataFrame:
        """All rows."""
        try:
            with self.path.open(encoding="utf-8-sig") as file:
                records, meta = arff.loadarff(file)
        except NotImplementedError as error:  # attributes of text, sparse rows
            raise DataError(
                f"{self.name} cannot be read: {_one_line(error)}. Save it as CSV."
            ) from None
        except (arff.ArffError, ValueError, StopIteration, UnicodeDecodeError) as error:
            raise DataError(f"{self.name} is no ARFF file: {_one_line(error)}.") from None
        names = list(meta.names())
        require_distinct(names, self.name)
        columns = {}
        for name in names:
            kind, levels = meta[name]
            if kind == "nominal":
                text = [cell.decode() for cell in records[name]]
                values = [None if cell == "?" else cell for cell in text]
                columns[name] = pl.Series(name, values, dtype=pl.Enum(list(levels)))
            elif kind == "date":
                columns[name] = pl.Series(name, records[name].astype("datetime64[ms]"))
            else:
                columns[name] = pl.Series(name, records[name]).fill_nan(None)
        frame = pl.DataFrame(columns)
        if frame.height == 0:
            raise DataError(f"{self.name} has a header but no rows.")
        return frame


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()).rstrip(".")
    return text[:200] or "its header ends too early"
