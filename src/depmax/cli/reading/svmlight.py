"""svmlight (LIBSVM): a label, then index:value for what is not zero."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from sklearn.datasets import load_svmlight_file

from depmax.cli.errors import DataError
from depmax.cli.reading.source import Source

#: Above so many bytes a dense table of a sparse file is refused rather than tried.
DENSE_BYTES = 4 * 2**30

TARGET = "label"


class Svmlight(Source):
    """Columns x1, x2, … as the file counts them, and the label."""

    def read(self) -> pl.DataFrame:
        """All rows, as a dense table."""
        matrix, labels = self._load()
        if matrix.shape[0] == 0:
            raise DataError(f"{self.name} is empty: it has no rows.")
        size = 8 * matrix.shape[0] * matrix.shape[1]
        if size > DENSE_BYTES:
            raise DataError(
                f"{self.name} would take {size / 2**30:.0f} GB as a table of {matrix.shape[0]} "
                f"rows and {matrix.shape[1]} columns: in Python, depmax.screen(X, y) and selectors "
                'with kernel="linear" take the sparse matrix of load_svmlight_file (scikit-learn).'
            )
        first = 1 if matrix.shape[1] > 1 and matrix[:, [0]].nnz == 0 else 0
        names = [f"x{place}" for place in range(first, matrix.shape[1])]
        frame = pl.DataFrame(matrix.toarray()[:, first:], schema=names)
        return frame.with_columns(_targets(labels))

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pl.DataFrame]:
        """Batches of rows; a column that the file never mentions is zero."""
        frame = self.read()
        absent = [name for name in columns if name not in frame.columns]
        zeros = frame.with_columns(pl.lit(0.0).alias(name) for name in absent)
        yield from zeros.select(columns).iter_slices(size)

    def default_targets(self) -> tuple[str, ...]:
        """The label, or the labels of a multi-label file."""
        return tuple(name for name in self.schema() if name.split("_")[0] == TARGET)

    def has_column(self, name: str) -> bool:
        """Any column x1, x2, … may be asked for."""
        return name[:1] == "x" and name[1:].isdigit()

    def _load(self) -> tuple[Any, Any]:
        """Matrix with the file's own indices as columns, and labels or tuples of labels."""
        try:
            with self.path.open("rb") as file:
                multilabel = b"," in file.readline().split(b" ", 1)[0]
            loaded = load_svmlight_file(str(self.path), multilabel=multilabel, zero_based=True)
        except (ValueError, UnicodeDecodeError) as error:
            reason = " ".join(str(error).split())[:160]
            raise DataError(f"{self.name} is no svmlight file: {reason}.") from None
        return loaded[0], loaded[1]


def _targets(labels: Any) -> list[pl.Series]:
    """One column of labels, or an indicator of every label of a multi-label file."""
    if isinstance(labels, np.ndarray):
        whole = bool(np.all(labels == np.round(labels)))
        return [pl.Series(TARGET, labels.astype(np.int64) if whole else labels)]
    levels = sorted({level for row in labels for level in row})
    return [
        pl.Series(f"{TARGET}_{level:g}", [int(level in row) for row in labels]) for level in levels
    ]
