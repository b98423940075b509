"""A data set, and those that come with the package as compressed CSV files."""

from __future__ import annotations

import csv
import difflib
import gzip
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from typing import IO, TYPE_CHECKING, Any, Literal

import narwhals.stable.v2 as nw
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows and target with their origin; the arrays are read-only, so copy before you write.

    Attributes
    ----------
    X : ndarray
        Floats of shape (n_samples, n_features) when every feature is a number; strings of shape
        (n_samples,) when text is the only feature; otherwise objects of shape (n_samples,
        n_features), where a cell is a float or a string. A missing number is NaN, a missing text
        is None.
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Integers, floats or strings, as in the file.
    feature_names : tuple of str
    target_name : str or tuple of str
        A tuple when the target has several columns.
    name, title, source, citation, licence, notes : str
        The short name, the full name, and the contents of the licence file next to the data.
    """

    X: np.ndarray
    y: np.ndarray
    feature_names: tuple[str, ...]
    target_name: str | tuple[str, ...]
    name: str
    title: str
    source: str
    citation: str
    licence: str
    notes: str

    def __post_init__(self) -> None:
        self.X.flags.writeable = False
        self.y.flags.writeable = False

    def __repr__(self) -> str:
        if self.y.ndim == 2:
            target = f"{self.y.shape[1]} targets"
        elif self.y.dtype.kind == "f" or len(np.unique(self.y)) > 20:
            target = "numbers as target"
        else:
            target = f"{len(np.unique(self.y))} classes"
        features = len(self.feature_names)
        plural = "" if features == 1 else "s"
        return f"Dataset({self.name}: {len(self.y)} rows, {features} feature{plural}, {target})"

    def to_frame(self, library: Literal["pandas", "polars"] = "pandas") -> Any:
        """Features, then the target, as a pandas or polars data frame."""
        if library not in ("pandas", "polars"):
            raise ValueError(f"library must be 'pandas' or 'polars', not {library!r}.")
        targets = (self.target_name,) if isinstance(self.target_name, str) else self.target_name
        matrices = (_as_columns(self.X), _as_columns(self.y))
        columns = [matrix[:, j] for matrix in matrices for j in range(matrix.shape[1])]
        names = (*self.feature_names, *targets)
        # tolist() lets the frame find the type of each column of an array of objects.
        data = {name: column.tolist() for name, column in zip(names, columns, strict=True)}
        try:
            return nw.from_dict(data, backend=library).to_native()
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"to_frame({library!r}) needs {library}: pip install {library}, "
                "or use the arrays X and y."
            ) from error


def _as_columns(array: np.ndarray) -> np.ndarray:
    return array[:, np.newaxis] if array.ndim == 1 else array


#: Ending of the files.
SUFFIX = ".csv.gz"


@dataclass(frozen=True)
class StoredTable:
    """The contents of a file, before anything is known about its origin."""

    X: np.ndarray
    y: np.ndarray
    feature_names: tuple[str, ...]
    target_name: str | tuple[str, ...]


def read_table(path: Traversable) -> StoredTable:
    """Read NAME.csv.gz, whose target is the last column or the trailing ``label_*`` columns."""
    with _open(path) as stream:
        rows = csv.reader(stream)
        header = next(rows, [])
        n_targets = _count_targets(header)
        if len(header) <= n_targets:
            raise ValueError(f"{path.name} needs a header that names a feature and then a target.")
        cells = []
        for row in rows:
            if len(row) != len(header):
                raise ValueError(
                    f"{path.name}, line {rows.line_num}: {len(row)} cells, "
                    f"but the header names {len(header)}."
                )
            cells.append(row)
    if not cells:
        raise ValueError(f"{path.name} has a header but no rows.")
    columns = list(zip(*cells, strict=True))
    features, targets = columns[:-n_targets], columns[-n_targets:]
    y = np.column_stack([_typed(column) for column in targets])
    return StoredTable(
        X=_features([_float_or_text(column) for column in features]),
        y=y[:, 0] if n_targets == 1 else y,
        feature_names=tuple(header[:-n_targets]),
        target_name=header[-1] if n_targets == 1 else tuple(header[-n_targets:]),
    )


def _count_targets(header: list[str]) -> int:
    """How many columns at the end are targets."""
    labels = 0
    while labels < len(header) and header[-1 - labels].startswith("label_"):
        labels += 1
    return max(labels, 1)


def _features(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Floats where every cell is a number, else strings or objects (see ``Dataset.X``)."""
    if all(column.dtype == np.float64 for column in columns):
        return np.column_stack(columns)
    if len(columns) == 1:
        return columns[0]
    return np.column_stack([column.astype(object) for column in columns])


def _float_or_text(cells: Sequence[str]) -> np.ndarray:
    try:
        return np.array([float(cell) if cell else np.nan for cell in cells])
    except ValueError:
        return np.array([cell or None for cell in cells], dtype=object)


def _typed(cells: Sequence[str]) -> np.ndarray:
    """Integers if all cells are, else floats, else strings."""
    try:
        return np.array([int(cell) for cell in cells])
    except ValueError:
        values = _float_or_text(cells)
        return values if values.dtype == np.float64 else np.array(cells)


@contextmanager
def _open(path: Traversable) -> Iterator[IO[str]]:
    with (
        path.open("rb") as packed,
        gzip.open(packed, "rt", encoding="utf-8", newline="") as stream,
    ):
        yield stream


def available() -> list[str]:
    """Names of the data sets that come with the package, in alphabetical order.

    Returns
    -------
    list of str

    Examples
    --------
    >>> available()[:3]
    ['abalone', 'adult_sample', 'dermatology']
    """
    files = (file.name for file in _folder().iterdir())
    return sorted(file.removesuffix(SUFFIX) for file in files if file.endswith(SUFFIX))


def load(name: str) -> Dataset:
    """Load a data set that comes with the package.

    Parameters
    ----------
    name : str
        One of ``available()``.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> wine = load("wine")
    >>> wine.X.shape, wine.y.shape
    ((178, 13), (178,))
    >>> wine.licence
    'Creative Commons Attribution 4.0 International (CC BY 4.0)'
    """
    names = available()
    if name not in names:
        near = difflib.get_close_matches(str(name), names) or names
        raise ValueError(
            f"No data set named {name!r} comes with depmax. Did you mean {' or '.join(near)}?"
        )
    table = read_table(_folder() / f"{name}{SUFFIX}")
    origin = _read_licence(_folder() / f"{name}.licence.txt")
    return Dataset(
        **vars(table),
        name=name,
        title=origin["Title"],
        source=origin["Source"],
        citation=origin["Citation"],
        licence=origin["Licence"],
        notes=f"{origin['Notes']} {origin['Changes']}",
    )


def _folder() -> Traversable:
    return resources.files("depmax.datasets") / "data"


def _read_licence(path: Traversable) -> dict[str, str]:
    """Records ``Key: value``; an indented line continues the value above it."""
    records: dict[str, str] = {}
    key = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            records[key] += f" {line.strip()}"
        else:
            key, _, value = line.partition(": ")
            records[key] = value.strip()
    return records
