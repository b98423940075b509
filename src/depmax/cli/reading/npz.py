"""NPZ: arrays of numpy by name."""

from __future__ import annotations

from zipfile import BadZipFile

import numpy as np
import polars as pl

from depmax.cli.errors import DataError
from depmax.cli.reading.source import Source, require_distinct


class Npz(Source):
    """A matrix X with columns x0, x1, … (or ``feature_names``), and other arrays by their names."""

    def default_targets(self) -> tuple[str, ...]:
        """The array y, by habit."""
        return tuple(name for name in self.schema() if name == "y")

    def read(self) -> pl.DataFrame:
        """All rows: the columns of each matrix, and each vector as a column."""
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
        except (ValueError, OSError, BadZipFile, EOFError, AttributeError) as error:
            reason = " ".join(str(error).split())[:160].rstrip(".")
            raise DataError(
                f"{self.name} is no complete NPZ file of plain arrays: {reason}."
            ) from None
        named = arrays.pop("feature_names", None)
        columns: dict[str, np.ndarray] = {}
        names: list[str] = []
        for name, array in arrays.items():
            if array.ndim not in (1, 2):
                raise DataError(
                    f"The array {name!r} in {self.name} has {array.ndim} dimensions: matrices "
                    "(rows by columns) and vectors are needed."
                )
            if array.ndim == 1:
                parts = {name: array}
            elif name == "X" and named is not None and len(named) == array.shape[1]:
                parts = {str(label): array[:, j] for j, label in enumerate(named)}
            else:
                prefix = "x" if name == "X" else name
                parts = {f"{prefix}{j}": array[:, j] for j in range(array.shape[1])}
            names += list(parts)
            columns |= parts
        require_distinct(names, self.name)
        lengths = {len(column) for column in columns.values()}
        if len(lengths) != 1 or lengths == {0}:
            raise DataError(
                f"{self.name} needs arrays with the same number of rows, and some rows: found "
                f"{', '.join(f'{name} {array.shape}' for name, array in arrays.items()) or 'none'}."
            )
        return pl.DataFrame(columns)
