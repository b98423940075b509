"""Data files as tables, one file per format; and the data sets of depmax as if they were files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import polars as pl

from depmax._files import expand_home
from depmax._resources import cached_property
from depmax.cli.errors import DataError, nearest
from depmax.cli.reading.source import ReadOptions, Source
from depmax.data.files import FORMATS as COLUMNAR
from depmax.datasets import Dataset, available, load

#: Module and class of every extension; those of text may end in .gz.
FORMATS = {
    **dict.fromkeys((".csv", ".tsv", ".txt", ".data", ".dat"), ("delimited", "Delimited")),
    **dict.fromkeys(COLUMNAR, ("columnar", "Columnar")),
    **dict.fromkeys((".xlsx", ".xlsm"), ("excel", "Excel")),
}
#: Formats of other programs that a user may have, and can save in another one.
OTHERS = (".xls", ".xlsb", ".ods", ".sav", ".dta", ".sas7bdat", ".xpt", ".rds", ".rdata", ".json")


def suffix_of(path: str | Path) -> str:
    """Extension in lower case, for a compressed file the one before .gz.

    Examples
    --------
    >>> suffix_of("data.CSV.gz")
    '.csv'
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if len(suffixes) > 1 and suffixes[-1] == ".gz":
        return suffixes[-2]
    return suffixes[-1] if suffixes else ""


def open_source(path: str, options: ReadOptions | None = None) -> Source:
    """The file, ready to be read, if it exists and its format is known."""
    if not path:
        raise DataError("The name of the data file is empty.")
    if path in ("-", "/dev/stdin"):
        raise DataError(
            "Tables are not read from standard input, since their rows are visited more than once: "
            "write the table to a file first, such as table.csv."
        )
    options = options or ReadOptions()
    if options.sheet is not None and not suffix_of(path).startswith(".xls"):
        raise DataError(f"--sheet is for Excel files, and {path} is not one.")
    if path.startswith(Bundled.prefix):
        return Bundled(Path(path), options)
    try:
        file = expand_home(path)
    except OSError as error:
        raise DataError(str(error)) from None
    if file.is_dir():
        from depmax.cli.reading.columnar import Columnar

        return Columnar(file, options)
    if not file.exists():
        raise DataError(f"The file {path} does not exist.{_near(file)}")
    if suffix_of(file) not in FORMATS:
        ending = suffix_of(file) or "no extension"
        if ending in OTHERS:
            raise DataError(f"{path}: {ending} files cannot be read. Save it as .xlsx or .csv.")
        raise DataError(
            f"{path} has an unknown extension ({ending}): known extensions are "
            f"{', '.join(FORMATS)}; .csv.gz and .tsv.gz too."
        )
    if file.stat().st_size == 0:
        raise DataError(f"{path} is empty.")
    module, name = FORMATS[suffix_of(file)]
    source: Source = getattr(import_module(f"depmax.cli.reading.{module}"), name)(file, options)
    return source


def _near(file: Path) -> str:
    """Hint at files of a similar name in the same folder."""
    from difflib import get_close_matches

    if not file.parent.is_dir():
        return f" Nor does the folder {file.parent}."
    others = [other.name for other in file.parent.iterdir() if suffix_of(other) in FORMATS]
    near = get_close_matches(file.name, others)
    return f" Did you mean {' or '.join(near)}?" if near else ""


class Bundled(Source):
    """``bundled:sonar`` instead of a file, the target last."""

    prefix: ClassVar[str] = "bundled:"

    def _find_types(self) -> Mapping[str, pl.DataType]:
        return dict(self._frame.schema)

    def _parts(self, columns: list[str], size: int) -> Iterator[pl.DataFrame]:
        yield from self._frame.select(columns).iter_slices(size)

    @cached_property
    def _frame(self) -> pl.DataFrame:
        frame: pl.DataFrame = self._set.to_frame("polars")
        return frame

    @property
    def default_targets(self) -> tuple[str, ...]:
        """The target of the set."""
        target = self._set.target_name
        return (target,) if isinstance(target, str) else target

    @cached_property
    def _set(self) -> Dataset:
        name = str(self.path).removeprefix(self.prefix)
        if name not in available():
            raise DataError(f"No data set named {name!r} is bundled.{nearest(name, available())}")
        return load(name)
