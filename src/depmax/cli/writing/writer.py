"""What every format offers: rows are added, then the file is closed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

import polars as pl


class Writer(ABC):
    """Rows on their way into a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def add(self, rows: pl.DataFrame) -> None:
        """Append rows; the first call sets the columns and their types."""

    @abstractmethod
    def close(self) -> None:
        """Finish the file."""
