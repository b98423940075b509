"""Compressed CSV tables: a header row, the features first, the target last."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable


@dataclass(frozen=True)
class Table:
    """What a file holds, before anything is known about its origin."""

    X: np.ndarray
    y: np.ndarray
    feature_names: tuple[str, ...]
    target_name: str | tuple[str, ...]


def read_table(path: Traversable) -> Table:
    """Read NAME.csv.gz, whose target is the last column or the trailing ``label_*`` columns."""
    with _open(path) as stream:
        header = next(csv.reader(stream), [])
    n_targets = _count_targets(header)
    if len(header) <= n_targets:
        raise ValueError(f"{path.name} needs a header that names a feature and then a target.")
    n_features = len(header) - n_targets
    y = np.column_stack([_typed(column) for column in _text(path, header[n_features:], n_features)])
    if not len(y):
        raise ValueError(f"{path.name} has a header but no rows.")
    return Table(
        X=_features(path, header[:n_features]),
        y=y[:, 0] if n_targets == 1 else y,
        feature_names=tuple(header[:n_features]),
        target_name=header[-1] if n_targets == 1 else tuple(header[n_features:]),
    )


def _count_targets(header: list[str]) -> int:
    """How many columns at the end are targets."""
    labels = 0
    while labels < len(header) and header[-1 - labels].startswith("label_"):
        labels += 1
    return max(labels, 1)


def _features(path: Traversable, names: list[str]) -> np.ndarray:
    """Floats where every cell is a number, else strings or objects (see ``Dataset.X``)."""
    numbers = _numbers(path, len(names))
    if numbers is not None:
        return numbers
    columns = [_float_or_text(column) for column in _text(path, names, 0)]
    if all(column.dtype == np.float64 for column in columns):
        return np.column_stack(columns)
    if len(columns) == 1:
        return columns[0]
    return np.column_stack([column.astype(object) for column in columns])


def _numbers(path: Traversable, n_features: int) -> np.ndarray | None:
    """All features by numpy's own parser, fast on large files; None if a cell is not a number."""
    with _open(path) as stream:
        try:
            return np.loadtxt(
                stream, delimiter=",", skiprows=1, usecols=range(n_features), comments=None, ndmin=2
            )
        except ValueError:
            return None


def _text(path: Traversable, names: list[str], first: int) -> list[list[str]]:
    """The cells of len(names) columns from column ``first`` on, one list for each column."""
    columns: list[list[str]] = [[] for _ in names]
    with _open(path) as stream:
        rows = csv.reader(stream)
        width = len(next(rows))
        for row in rows:
            if len(row) != width:
                raise ValueError(
                    f"{path.name}, line {rows.line_num}: {len(row)} cells, "
                    f"but the header names {width}."
                )
            for column, cell in zip(columns, row[first : first + len(names)], strict=True):
                column.append(cell)
    return columns


def _float_or_text(cells: list[str]) -> np.ndarray:
    try:
        return np.array([float(cell) if cell else np.nan for cell in cells])
    except ValueError:
        return _objects(cell or None for cell in cells)


def _typed(cells: list[str]) -> np.ndarray:
    """Integers if all cells are, else floats, else strings."""
    try:
        return np.array([int(cell) for cell in cells])
    except ValueError:
        values = _float_or_text(cells)
        return values if values.dtype == np.float64 else np.array(cells)


def _objects(values: Iterable[Any]) -> np.ndarray:
    items = list(values)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


@contextmanager
def _open(path: Traversable) -> Iterator[IO[str]]:
    with (
        path.open("rb") as packed,
        gzip.open(packed, "rt", encoding="utf-8", newline="") as stream,
    ):
        yield stream
