"""svmlight (LIBSVM): a label, then index:value for what is not zero."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import polars as pl
from sklearn.datasets import load_svmlight_file

from depmax._limits import table_bytes
from depmax.cli.errors import DataError
from depmax.cli.reading.source import Source

#: Columns have at most this number, which fits into 32 bits.
LAST_COLUMN = 2**31 - 2
_LONG_INDEX = re.compile(rb"\d{10,}:")
#: Lines that are read at once to find the columns.
CHUNK_LINES = 10_000

TARGET = "label"
#: Whole numbers beyond are not exact as floats, so they are not names of classes.
WHOLE = 2.0**53


@dataclass(frozen=True)
class _Contents:
    """What one pass over a file finds."""

    n_rows: int
    first: int  # smallest and largest column
    last: int
    whole: bool  # whether all labels are whole numbers
    levels: tuple[float, ...]  # labels of a multi-label file


class Svmlight(Source):
    """Columns x1, x2, … as the file counts them, and the label."""

    def _read(self, columns: list[str]) -> pl.DataFrame:
        """All rows, as a dense table."""
        self._require_table(table_bytes(self._contents.n_rows, len(columns)), len(columns))
        return pl.concat(self._batches(columns, CHUNK_LINES))

    def _batches(self, columns: list[str], size: int) -> Iterator[pl.DataFrame]:
        """Batches of ``size`` lines; a column that the file never mentions is zero."""
        numbers = [name for name in columns if self._is_number(name)]
        places = np.array([int(name[1:]) for name in numbers], dtype=np.int64)
        for matrix, labels in self._chunks(size):
            dense = _picked(matrix, places)
            frame = pl.DataFrame(dense, schema=numbers).with_columns(self._targets(labels))
            yield frame.select(columns)

    def default_targets(self) -> tuple[str, ...]:
        """The label, or the labels of a multi-label file."""
        return tuple(name for name in self.schema() if not self._is_number(name))

    def has_column(self, name: str) -> bool:
        """Any column x1, x2, … may be requested."""
        return self._is_number(name) or name in self.schema()

    def n_rows(self) -> int | None:
        """Number of rows, which the pass that finds the columns counts."""
        return self._contents.n_rows

    def _find_types(self) -> Mapping[str, pl.DataType]:
        """Columns from the first to the last that the file mentions, and the targets."""
        found = self._contents
        width = found.last - found.first + 1 + len(found.levels)
        self._require_table(table_bytes(0, width), width)
        numbers = [f"x{place}" for place in range(found.first, found.last + 1)]
        targets = self._targets(() if found.levels else np.empty(0))
        return dict.fromkeys(numbers, pl.Float64()) | {one.name: one.dtype for one in targets}

    def _require_table(self, n_bytes: int, width: int) -> None:
        """Refuse a table that would take more than the limit; its largest index makes it wide."""
        if n_bytes > self.options.max_memory:
            raise DataError(
                f"{self.name} would take at least {n_bytes / 2**30:.0f} GB as a table of "
                f"{self._contents.n_rows:,} rows and {width:,} columns, and the limit is "
                f"{self.options.max_memory / 2**30:.3g} GB (--max-memory): in Python, "
                'depmax.screen(X, y) and selectors with kernel="linear" take the sparse matrix of '
                "load_svmlight_file (scikit-learn)."
            )

    @staticmethod
    def _is_number(name: str) -> bool:
        return name[:1] == "x" and name[1:].isdigit()

    @cached_property
    def _contents(self) -> _Contents:
        n_rows, last, zero, whole = 0, 0, False, True
        levels: set[float] = set()
        for matrix, labels in self._chunks(CHUNK_LINES):
            self._require_finite(labels, n_rows)
            n_rows += matrix.shape[0]
            last = max(last, matrix.shape[1] - 1)
            zero = zero or bool((matrix.indices == 0).any())
            if self._multilabel:
                levels.update(level for row in labels for level in row)
            else:
                whole = whole and bool(np.all((labels == np.round(labels)) & (abs(labels) < WHOLE)))
        if n_rows == 0:
            raise DataError(f"{self.name} is empty: it has no rows.")
        first = 0 if zero or last == 0 else 1
        return _Contents(n_rows, first, last, whole, tuple(sorted(levels)))

    def _require_finite(self, labels: Any, start: int) -> None:
        sums = np.array([sum(row) for row in labels]) if self._multilabel else labels
        bad = np.flatnonzero(~np.isfinite(sums))
        if len(bad):
            raise DataError(
                f"{self.name} has the label {sums[bad[0]]:g} in row {start + bad[0] + 1}: correct "
                "it or delete the row."
            )

    @cached_property
    def _multilabel(self) -> bool:
        """Whether the first row has several labels, as in 1,4 3:0.5."""
        with self.path.open("rb") as file:
            return b"," in file.readline().split(b" ", 1)[0]

    def _chunks(self, size: int) -> Iterator[tuple[Any, Any]]:
        """Sparse rows with the file's own indices as columns, and their labels, by lines."""
        with self.path.open("rb") as file:
            start = 0
            while lines := list(islice(file, size)):
                self._require_indices(lines, start)
                start += len(lines)
                try:
                    matrix, labels = load_svmlight_file(
                        io.BytesIO(b"".join(lines)), multilabel=self._multilabel, zero_based=True
                    )[:2]
                except (ValueError, OverflowError) as error:
                    reason = " ".join(str(error).split())[:160].rstrip(".")
                    raise DataError(
                        f"{self.name} is not a valid svmlight file: {reason}."
                    ) from None
                if matrix.shape[0]:
                    yield matrix, labels

    def _require_indices(self, lines: Sequence[bytes], start: int) -> None:
        """Refuse columns whose number would not fit, which scikit-learn reads as another one."""
        for place, line in enumerate(lines):
            for found in _LONG_INDEX.findall(line.split(b"#", 1)[0]):
                if int(found[:-1][:20]) > LAST_COLUMN:
                    raise DataError(
                        f"{self.name}, line {start + place + 1}: the index {found[:30].decode()} "
                        f"is too large; the largest column index is {LAST_COLUMN}."
                    )

    def _targets(self, labels: Any) -> list[pl.Series]:
        """One column of labels, or an indicator of every label of a multi-label file."""
        found = self._contents
        if not self._multilabel:
            return [pl.Series(TARGET, labels.astype(np.int64) if found.whole else labels)]
        return [
            pl.Series(f"{TARGET}_{level:g}", indicator, dtype=pl.Int64)
            for level, indicator in zip(
                found.levels, _indicators(labels, found.levels), strict=True
            )
        ]


def _indicators(labels: Any, levels: Sequence[float]) -> np.ndarray:
    """1 where a row has a label, else 0: a row per label."""
    place = {level: number for number, level in enumerate(levels)}
    found = np.zeros((len(levels), len(labels)), dtype=np.int64)
    for row, several in enumerate(labels):
        for level in several:
            found[place[level], row] = 1
    return found


def _picked(matrix: Any, places: np.ndarray) -> np.ndarray:
    """Some columns of sparse rows as a dense array, in time and memory of what is not zero."""
    dense = np.zeros((matrix.shape[0], len(places)))
    if len(places):
        order = np.argsort(places)
        at = np.searchsorted(places[order], matrix.indices)
        at[at == len(places)] = 0
        requested = places[order][at] == matrix.indices
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        dense[rows[requested], order[at[requested]]] = matrix.data[requested]
    return dense
