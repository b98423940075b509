"""ARFF, the format of Weka and of OpenML."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from typing import IO

import polars as pl
from scipy.io import arff

from depmax.cli.errors import DataError
from depmax.cli.reading.source import Source, require_distinct


class Arff(Source):
    """Numeric and nominal attributes; a question mark is a missing value."""

    def read(self) -> pl.DataFrame:
        """All rows."""
        with self._open() as file:
            frame = self._frame(file)
        if frame.height == 0:
            raise DataError(f"{self.name} has a header but no rows.")
        return frame

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pl.DataFrame]:
        """Batches of ``size`` lines, each read with the header before it."""
        with self._open() as file:
            list(islice(file, len(self._header)))
            while lines := list(islice(file, size)):
                frame = self._frame(io.StringIO("".join([*self._header, *lines])))
                if frame.height:
                    yield frame.select(columns)

    def _find_types(self) -> Mapping[str, pl.DataType]:
        """Types of the columns, from the header."""
        return dict(self._frame(io.StringIO("".join(self._header))).schema)

    @cached_property
    def _header(self) -> list[str]:
        """The lines up to @data."""
        lines = []
        with self._open() as file:
            for line in file:
                lines.append(line)
                if line.strip().lower().startswith("@data"):
                    return lines
        raise DataError(f"{self.name} is not a valid ARFF file: its header ends too early.")

    @contextmanager
    def _open(self) -> Iterator[IO[str]]:
        try:
            with self.path.open(encoding="utf-8-sig") as file:
                yield file
        except UnicodeDecodeError:
            raise DataError(f"{self.name} is not valid UTF-8.") from None

    def _frame(self, file: IO[str]) -> pl.DataFrame:
        try:
            records, meta = arff.loadarff(file)
        except NotImplementedError as error:  # attributes of text, sparse rows
            raise DataError(
                f"{self.name} cannot be read: {_one_line(error)}. Save it as CSV."
            ) from None
        except (arff.ArffError, ValueError, StopIteration) as error:
            if isinstance(error, UnicodeDecodeError):
                raise
            raise DataError(f"{self.name} is not a valid ARFF file: {_one_line(error)}.") from None
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
        return pl.DataFrame(columns)


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()).rstrip(".")
    return text[:200] or "its header ends too early"
