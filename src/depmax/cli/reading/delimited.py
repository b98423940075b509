"""CSV and TSV, plain or compressed."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO

import polars as pl
import pyarrow as pa
from pyarrow import csv as arrow_csv

from depmax.cli.errors import DataError
from depmax.cli.reading.source import Source, require_distinct

#: Types that arrow reads a column as, by what polars found in it; anything else stays text.
_ARROW_TYPES = {pl.Int64: pa.int64(), pl.Float64: pa.float64(), pl.Boolean: pa.bool_()}


class Delimited(Source):
    """A header, then a line per row."""

    types_are_guesses = True

    @property
    def delimiter(self) -> str:
        """What stands between two cells."""
        if self.options.delimiter is not None:
            return self.options.delimiter
        return "\t" if ".tsv" in self.path.name.lower() else ","

    def header(self) -> list[str]:
        """Names of the columns as the first line has them, in full."""
        with self._open() as stream:
            try:
                line = next(csv.reader(stream, delimiter=self.delimiter), [])
            except (UnicodeDecodeError, csv.Error):
                raise self._no_text() from None
            except (OSError, EOFError, zlib.error) as error:  # no gzip file, or cut off
                raise self._unreadable(error) from None
        if not any(cell.strip() for cell in line):
            raise DataError(f"{self.name} is empty: a header and rows are needed.")
        names = [cell.strip() for cell in line]
        self._refuse_other_delimiter(names)
        require_distinct([name for name in names if name], self.name)
        return [name or f"column {place + 1}" for place, name in enumerate(names)]

    def _find_types(self) -> Mapping[str, pl.DataType]:
        """Types of the columns over all rows."""
        try:
            return dict(self._scan().collect_schema())
        except (pl.exceptions.PolarsError, OSError) as error:
            raise self._unreadable(error) from None

    def read(self) -> pl.DataFrame:
        """All rows; padding around cells is taken off."""
        try:
            frame = self._scan().collect()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise self._unreadable(error) from None
        return unpadded(frame, self.options.missing)

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pl.DataFrame]:
        """Batches of about ``size`` rows, read as they are needed."""
        names, schema = self.header(), self.schema()
        types = {name: _ARROW_TYPES.get(type(schema[name]), pa.string()) for name in columns}
        try:
            reader = arrow_csv.open_csv(
                self.path,
                read_options=arrow_csv.ReadOptions(
                    column_names=names, skip_rows=1, block_size=max(1 << 20, 64 * size)
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self.delimiter, newlines_in_values=True
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=types,
                    include_columns=list(columns),
                    null_values=list(self.options.missing),
                    strings_can_be_null=True,
                ),
            )
            for batch in reader:
                frame = pl.from_arrow(pa.Table.from_batches([batch]))
                assert isinstance(frame, pl.DataFrame)
                yield from unpadded(frame, self.options.missing).iter_slices(size)
        except (pa.ArrowException, OSError) as error:
            raise self._unreadable(error) from None

    def _scan(self) -> pl.LazyFrame:
        return pl.scan_csv(
            self.path,
            separator=self.delimiter,
            has_header=False,
            skip_rows=1,
            new_columns=self.header(),
            null_values=list(self.options.missing),
            infer_schema_length=None,
            try_parse_dates=True,
        )

    def _unreadable(self, error: Exception) -> DataError:
        if isinstance(error, pl.exceptions.NoDataError):
            return DataError(f"{self.name} has a header but no rows.")
        return self._uneven() or DataError(f"{self.name} cannot be read: {_first_line(error)}.")

    def _no_text(self) -> DataError:
        return DataError(
            f"{self.name} is no text in UTF-8: save it as CSV in UTF-8 (with iconv, or in the "
            "program that wrote it)."
        )

    def _uneven(self) -> DataError | None:
        """The first line with more cells than the header, or that is no text, if there is one."""
        try:
            with self._open() as stream:
                lines = csv.reader(stream, delimiter=self.delimiter)
                width = len(next(lines, []))
                for cells in lines:
                    if len(cells) > width:
                        return DataError(
                            f"{self.name}, line {lines.line_num}: {len(cells)} cells, but the "
                            f"header names {width}. Put cells that hold the delimiter "
                            f"{self.delimiter!r} in double quotes."
                        )
        except (UnicodeDecodeError, csv.Error):
            return self._no_text()
        except (OSError, EOFError, zlib.error) as error:
            reason = "it was cut off" if isinstance(error, EOFError) else _first_line(error)
            return DataError(f"{self.name} is no complete gzip file: {reason}.")
        return None

    @contextmanager
    def _open(self) -> Iterator[IO[str]]:
        opened = gzip.open if self.path.suffix.lower() == ".gz" else open
        with opened(self.path, "rt", encoding="utf-8-sig", newline="") as stream:
            yield stream

    def _refuse_other_delimiter(self, names: Sequence[str]) -> None:
        if len(names) != 1:
            return
        others = {";": "';'", "\t": "a tab", "|": "'|'", ",": "','"}
        for other, shown in others.items():
            if other in names[0] and other != self.delimiter:
                option = "$'\\t'" if other == "\t" else f"'{other}'"
                raise DataError(
                    f"{self.name} has a single column, {names[0][:60]!r}: its delimiter looks like "
                    f"{shown}. Pass --delimiter {option}."
                )


def unpadded(frame: pl.DataFrame, missing: Sequence[str]) -> pl.DataFrame:
    """Text without spaces around it, and numbers that stood between spaces as numbers."""
    changed = []
    for series in frame.iter_columns():
        if series.dtype == pl.String:
            text = series.str.strip_chars()
            if not (text == series).all():
                text = text.replace(list(missing), [None] * len(missing))
                numbers = text.cast(pl.Float64, strict=False)
                changed.append(numbers if numbers.null_count() == text.null_count() else text)
    return frame.with_columns(changed) if changed else frame


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0][:300].rstrip(".")
