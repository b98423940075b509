"""What every format offers: the columns, the whole table, or batches of rows."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
import pyarrow as pa

from depmax._files import DamagedFileError, first_line, stamp
from depmax._resources import (
    FileTooLargeError,
    cached_property,
    max_memory,
    require_memory,
    table_bytes,
)
from depmax._text import counted, listed
from depmax.cli.errors import DataError

#: What a column holds, as far as reading is concerned.
ColumnKind = Literal["number", "boolean", "text", "date", "empty", "other"]

_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
#: What stands for a missing value in files of text.
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")
#: What does so among numbers only: between words it may be a value, as in + and -.
MISSING_NUMBERS = ("-", "--", "–", "—", ".", "n/a", "na", "None", "none", "#N/A", "<NA>")


#: Cells that are read at a time where some rows are drawn.
SAMPLED_CELLS = 2_000_000
#: Rows of a part where all are read.
WHOLE = 2**20


@dataclass(frozen=True)
class Expected:
    """How the file of a model was written, which decides what a new file leaves open."""

    columns: tuple[str, ...]
    decimal: str | None = None
    header: bool = True
    #: Formats of columns of dates, and signs or units of those of numbers.
    dates: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Marks:
    """What stands between cells and before decimals in a file of text."""

    separator: str = ","
    decimal: str = "."


@dataclass(frozen=True)
class ReadOptions:
    """How text files and workbooks are read; None means that it is detected."""

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    missing: tuple[str, ...] = MISSING
    missing_numbers: tuple[str, ...] = MISSING_NUMBERS
    #: Columns that stay text, whatever their cells look like.
    text: frozenset[str] = frozenset()
    expected: Expected | None = None
    #: Name or number of a sheet of an Excel workbook; None is the first.
    sheet: str | None = None
    #: Bytes that a table may take.
    max_memory: int = field(default_factory=max_memory)

    @cached_property
    def number_is_missing(self) -> bool:
        """Whether a number, such as -9, stands for a missing value."""
        return any(map(is_number, self.missing))


@dataclass(frozen=True)
class Source(ABC):
    """A data file."""

    path: Path
    options: ReadOptions

    #: Whether the format has no types of its own, so that a number may be read as text.
    types_are_guesses: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """What messages call the file."""
        return str(self.path)

    def schema(self) -> Mapping[str, pl.DataType]:
        """Columns and their types, found once, without keeping the rows."""
        return self._types

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """All rows, of some columns or of all."""
        names = list(self.schema()) if columns is None else list(columns)
        with self._explained():
            self.require_room(self.n_rows() or 0, len(names))
            return self.joined(self._parts(names, WHOLE), f"{self.name} has no rows.")

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pl.DataFrame]:
        """Some columns, a batch of rows at a time; formats that can, never hold the whole file."""
        with self._explained():
            yield from self._parts(list(columns), size)

    @cached_property
    def _types(self) -> Mapping[str, pl.DataType]:
        with self._explained():
            types = self._find_types()
            require_memory(
                table_bytes(0, len(types)),
                self.options.max_memory,
                self.name,
                f"a table of {counted(len(types), 'column')}",
            )
            return types

    @abstractmethod
    def _find_types(self) -> Mapping[str, pl.DataType]:
        """Columns and their types; formats that can, do not read the rows."""

    @abstractmethod
    def _parts(self, columns: list[str], size: int) -> Iterator[pl.DataFrame]:
        """Some columns in this order with their types, at most ``size`` rows at a time."""

    def require_room(self, n_rows: int, n_columns: int, n_bytes: int = 0) -> None:
        """Refuse a table that would take more memory than the limit."""
        require_memory(
            table_bytes(n_rows, n_columns, n_bytes),
            self.options.max_memory,
            self.name,
            f"a table of {counted(n_rows, 'row')} and {counted(n_columns, 'column')}",
        )

    def joined(self, parts: Iterable[pl.DataFrame], if_none: str) -> pl.DataFrame:
        """Parts as one table, refused as soon as they take more memory than the limit."""
        frames: list[pl.DataFrame] = []
        n_rows = n_bytes = 0
        for frame in parts:
            n_rows += frame.height
            n_bytes += int(frame.estimated_size())
            self.require_room(n_rows, frame.width, n_bytes)
            frames.append(frame)
        if not frames:
            raise DataError(if_none)
        return pl.concat(frames, rechunk=True)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """What a library says of a file that it cannot read, as an error that names the file.

        A panic of polars is not an Exception, so nothing else would stop it.
        """
        self._require_unchanged()
        try:
            yield
            self._require_unchanged()
        except (FileTooLargeError, DamagedFileError) as error:
            raise DataError(str(error)) from None
        except (
            pl.exceptions.PolarsError,
            pl.exceptions.PanicException,
            pa.ArrowException,
        ) as error:
            raise DataError(f"{self.name} cannot be read: {first_line(error)}.") from None
        except UnicodeDecodeError:
            raise DataError(f"{self.name} holds text that is not valid UTF-8.") from None

    @cached_property
    def _stamp(self) -> tuple[int, ...]:
        return stamp(self.path) if self.path.exists() else ()

    def _require_unchanged(self) -> None:
        """Refuse a file that is not the one of the first visit: a table is read more than once."""
        if (stamp(self.path) if self.path.exists() else ()) != self._stamp:
            raise DataError(
                f"{self.name} has changed while it was read: run the command again once nothing "
                "is writing to it."
            )

    def sample(self, columns: Sequence[str], n_rows: int, seed: int) -> pl.DataFrame:
        """Random rows, in their order, from one visit to the file."""
        total = self.n_rows()
        assert total is not None
        chosen = np.sort(np.random.default_rng(seed).choice(total, n_rows, replace=False))
        parts, start = [], 0
        for batch in self.batches(columns, max(256, SAMPLED_CELLS // max(1, len(columns)))):
            first, last = np.searchsorted(chosen, [start, start + batch.height])
            parts.append(batch[chosen[first:last] - start])
            start += batch.height
        return pl.concat(parts)

    def assumptions(self) -> list[str]:
        """What was found out about the file and might be wrong, for the user to see."""
        return []

    def written(self) -> dict[str, Any]:
        """What a model remembers of how its file was written."""
        return {}

    def marks(self) -> Marks:
        """Separator and decimal mark, for text that is written from this file."""
        return Marks()

    @property
    def default_targets(self) -> tuple[str, ...]:
        """Columns that the format itself calls the target."""
        return ()

    def n_rows(self) -> int | None:
        """Number of rows, if it is known without reading the file."""
        return None


def is_number(cell: str) -> bool:
    """Whether a cell is a number, with a decimal point or a decimal comma."""
    return _NUMBER.fullmatch(cell.strip()) is not None


def kind_of(dtype: pl.DataType) -> ColumnKind:
    """What a column of a type holds."""
    if dtype.is_numeric():
        return "number"
    if dtype == pl.Boolean:
        return "boolean"
    if dtype == pl.Null:
        return "empty"
    if dtype.is_temporal():
        return "date"
    return "text" if dtype in (pl.String, pl.Categorical, pl.Enum) else "other"


def names_of(cells: Sequence[str], header: bool, assumed: list[str]) -> tuple[str, ...]:
    """Names of columns by the cells of the first row; of equal ones the second is "name (2)"."""
    named = [
        (cell.strip() if header else "") or f"column_{place + 1}"
        for place, cell in enumerate(cells)
    ]
    seen: Counter[str] = Counter()
    for place, name in enumerate(named):
        seen[name] += 1
        if seen[name] > 1:
            named[place] = f"{name} ({seen[name]})"
    twice = [repr(f"{name} (2)") for name, count in seen.items() if count > 1]
    assumed += [f"with {listed(twice, 3)} for columns of the same name"] if twice else []
    return tuple(named)


def require_distinct(names: Sequence[str], where: str) -> None:
    """Refuse columns with the same name."""
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    twice = [name for name, count in seen.items() if count > 1]
    if twice:
        raise DataError(
            f"{where} has several columns with the same name: {listed(map(repr, twice))}. "
            "Rename them."
        )
