"""NPZ: a matrix X and the names of its columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from depmax.cli.errors import OutputError
from depmax.cli.writing.formats import Writer


class Npz(Writer):
    """Rows are collected, since the format holds whole arrays."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._batches: list[np.ndarray] = []
        self._names: list[str] = []

    def add(self, rows: pl.DataFrame) -> None:
        """Keep rows of numbers until the file is closed."""
        text = [
            n for n, dtype in rows.schema.items() if not (dtype.is_numeric() or dtype == pl.Boolean)
        ]
        if text:
            raise OutputError(
                f"NPZ holds numbers, but column {text[0]!r} is not numeric: write .parquet or .csv."
            )
        self._names = rows.columns
        self._batches.append(rows.to_numpy())

    def close(self) -> None:
        """Write all rows."""
        if self._batches:
            with self.path.open("wb") as file:
                np.savez_compressed(
                    file, X=np.concatenate(self._batches), feature_names=np.array(self._names)
                )
