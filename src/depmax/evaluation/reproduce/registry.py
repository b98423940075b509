"""The list of published tables; a module of this package adds one by ``register``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

#: One figure of a table: ``dataset``, ``method``, ``published``, ``published_error``, ``ours``,
#: ``standard_error``, ``difference`` and what else the table's columns name; None is no figure.
Row = dict[str, Any]

#: What every table shows.
COLUMNS = (
    "dataset",
    "method",
    "published",
    "published_error",
    "ours",
    "standard_error",
    "difference",
)

_TABLES: dict[str, Table] = {}


class Stream(Protocol):
    """Computes the rows of a table one after another."""

    def __call__(
        self, quick: bool, n_jobs: int | None, datasets: Sequence[str] | None
    ) -> Iterator[Row]:
        """Rows of the wanted data sets, or of those that a quick or a full run has."""
        ...


@dataclass(frozen=True)
class Table:
    """A published table or figure, and how to compute ours.

    Attributes
    ----------
    name, title, source : str
        The short name, the full one, and where it was published.
    stream : callable of (quick, n_jobs, datasets)
        Yields one row per figure; ``quick`` means fewer folds or sets, ``datasets`` those wanted.
    columns : tuple of str
        What the rows hold, in the order in which they are shown.
    paired : tuple of str
        Columns of a second file that keeps one value per split, so that methods can be compared
        in pairs; it starts with what tells its rows apart.
    """

    name: str
    title: str
    source: str
    stream: Stream
    columns: tuple[str, ...] = COLUMNS
    paired: tuple[str, ...] = ()

    def run(
        self,
        quick: bool = False,
        n_jobs: int | None = None,
        datasets: Sequence[str] | None = None,
        report: Callable[[Row], None] | None = None,
    ) -> list[Row]:
        """All rows; ``report`` is called with each, paired columns included, once it is known."""
        rows = []
        for row in self.stream(quick, n_jobs, datasets):
            rows.append({column: row.get(column) for column in self.columns})
            if report is not None:
                report(rows[-1] | {column: row.get(column) for column in self.paired})
        return rows


def register(table: Table) -> Table:
    """Add a table to the list; a second one of the same name is refused."""
    if table.name in _TABLES:
        raise ValueError(f"A table named {table.name!r} is registered already.")
    _TABLES[table.name] = table
    return table


def tables() -> dict[str, Table]:
    """Every registered table by name, in alphabetical order."""
    package = importlib.import_module("depmax.evaluation.reproduce")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(_TABLES.items()))
