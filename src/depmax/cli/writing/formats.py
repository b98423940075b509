"""Which format a file gets, by its extension."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import polars as pl

from depmax._files import expand_home, replacing, require_writable
from depmax.cli.errors import OutputError


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


FORMATS = {
    ".csv": ("delimited", "Csv"),
    ".tsv": ("delimited", "Tsv"),
    ".parquet": ("parquet", "Parquet"),
    ".pq": ("parquet", "Parquet"),
    ".arrow": ("arrow", "Arrow"),
    ".ipc": ("arrow", "Arrow"),
    ".feather": ("arrow", "Arrow"),
    ".npz": ("npz", "Npz"),
}


def require_place(path: str, *, reads: Sequence[str] = ()) -> Path:
    """The path, if a file can be written there that is not one of those the command reads."""
    try:
        place = require_writable(expand_home(path))
        for name in reads:
            if place.exists() and _is_file(name) and place.samefile(expand_home(name)):
                raise OutputError(
                    f"Cannot write {path}: it is the file that is read ({name}), which would be "
                    "lost. Name another file with --output."
                )
    except OSError as error:
        raise OutputError(str(error)) from None
    return place


def _is_file(name: str) -> bool:
    """Whether an input is a file, not a data set by name or a file that is not there."""
    try:
        return expand_home(name).is_file()
    except OSError:
        return False


def require_format(path: str, *, reads: Sequence[str] = ()) -> Path:
    """The same, if its extension is one that tables are written in."""
    if Path(path).suffix.lower() not in FORMATS:
        ending = Path(path).suffix or "no extension"
        raise OutputError(
            f"Cannot write {path}: its extension ({ending}) is not a known format. Known: "
            f"{', '.join(FORMATS)}."
        )
    return require_place(path, reads=reads)


@contextmanager
def open_writer(path: Path) -> Iterator[Writer]:
    """Writer of a table that takes its place when the block ends without an error."""
    module, name = FORMATS[path.suffix.lower()]
    kind = getattr(import_module(f"depmax.cli.writing.{module}"), name)
    try:
        with replacing(path) as temporary:
            writer: Writer = kind(temporary)
            try:
                yield writer
            finally:
                writer.close()
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise OutputError(f"Cannot write {path}: {error}") from error
