"""svmlight (LIBSVM): a label, then index:value for what is not zero."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import polars as pl
from sklearn.datasets import load_svmlight_file

from depmax.cli.errors import DataError
from depmax.cli.reading.source import Source

#: Above so many bytes a dense table of a sparse file is refused rather than tried.
DENSE_BYTES = 4 * 2**30
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

    def read(self) -> pl.DataFrame:
        """All rows, as a dense table."""
        found = self._contents
        width = found.last - found.first + 1
        size = 8 * found.n_rows * width
        if size > DENSE_BYTES:
            raise DataError(
                f"{self.name} would take {size / 2**30:.0f} GB as a table of {found.n_rows} "
                f"rows and {width} columns: in Python, depmax.screen(X, y) and selectors "
                'with kernel="linear" take the sparse matrix of load_svmlight_file (scikit-learn).'
            )
        return pl.concat(self.batches(list(self.schema()), CHUNK_LINES))

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pl.DataFrame]:
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
        numbers = [f"x{place}" for place in range(found.first, found.last + 1)]
        targets = self._targets(() if found.levels else np.empty(0))
        return dict.fromkeys(numbers, pl.Float64()) | {one.name: one.dtype for one in targets}

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
            while lines := list(islice(file, size)):
                try:
                    matrix, labels = load_svmlight_file(
                        io.BytesIO(b"".join(lines)), multilabel=self._multilabel, zero_based=True
                    )[:2]
                except (ValueError, UnicodeDecodeError) as error:
                    reason = " ".join(str(error).split())[:160].rstrip(".")
                    raise DataError(
                        f"{self.name} is not a valid svmlight file: {reason}."
                    ) from None
                if matrix.shape[0]:
                    yield matrix, labels

    def _targets(self, labels: Any) -> list[pl.Series]:
        """One column of labels, or an indicator of every label of a multi-label file."""
        found = self._contents
        if not self._multilabel:
            return [pl.Series(TARGET, labels.astype(np.int64) if found.whole else labels)]
        return [
            pl.Series(f"{TARGET}_{level:g}", [int(level in row) for row in labels], dtype=pl.Int64)
            for level in found.levels
        ]


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
