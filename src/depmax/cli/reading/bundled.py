"""The data sets that come with depmax, as if they were files."""

from __future__ import annotations

import polars as pl

from depmax.cli.errors import DataError, nearest
from depmax.cli.reading.source import Source
from depmax.datasets import Dataset, available, load

PREFIX = "bundled:"


class Bundled(Source):
    """``bundled:sonar`` in place of a file."""

    def read(self) -> pl.DataFrame:
        """All rows, the target last."""
        frame: pl.DataFrame = self._load().to_frame("polars")
        return frame

    def default_targets(self) -> tuple[str, ...]:
        """The target of the set."""
        target = self._load().target_name
        return (target,) if isinstance(target, str) else target

    def _load(self) -> Dataset:
        name = str(self.path).removeprefix(PREFIX)
        if name not in available():
            raise DataError(f"No data set named {name!r} is bundled.{nearest(name, available())}")
        return load(name)
