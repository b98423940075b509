"""The list of published tables; a module of this package adds one by ``register``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from reproduction.kept_splits import KeptSplits

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


#: Marks the last row of a data set, so that a run can keep the set at once.
LAST = "last"


@dataclass(frozen=True)
class Table:
    """A published table or figure, and how to compute ours.

    Attributes
    ----------
    name, title, source : str
        The short name, the full one, and where it was published.
    stream : callable of (quick, n_jobs, datasets), of n_splits if there are repeated splits, and
        of kept if the table keeps them
        Yields one row per figure; ``quick`` means fewer folds or sets, ``datasets`` those wanted.
    columns : tuple of str
        What the rows hold, in the order in which they are shown.
    paired : tuple of str
        Columns of a second file that keeps one value per split, so that methods can be compared
        in pairs; it starts with what tells its rows apart, the last of which is the method.
    n_splits : int or None
        Number of repeated splits of a full run, or None if the table has no such splits.
    continued : bool
        Whether splits are kept one by one in the second file, so that a run goes on from them.
    """

    name: str
    title: str
    source: str
    stream: Callable[..., Iterator[Row]]
    columns: tuple[str, ...] = COLUMNS
    paired: tuple[str, ...] = ()
    n_splits: int | None = None
    continued: bool = False

    def run(
        self,
        quick: bool = False,
        n_jobs: int | None = None,
        datasets: Sequence[str] | None = None,
        report: Callable[[Row], None] | None = None,
        n_splits: int | None = None,
        kept: KeptSplits | None = None,
    ) -> list[Row]:
        """All rows; ``report`` is called with each once it is known.

        What ``report`` gets has the paired columns as well, and ``last``: whether the rows of its
        data set are complete. ``n_splits`` asks for the first of the repeated splits only;
        ``kept`` are those of earlier runs, if the table goes on from them.
        """
        rows = []
        more = self._fewer(n_splits)
        if self.continued:
            more["kept"] = kept or KeptSplits(self.paired)
        for row in self.stream(quick, n_jobs, datasets, **more):
            rows.append({column: row.get(column) for column in self.columns})
            if report is not None:
                paired = {column: row.get(column) for column in self.paired}
                report(rows[-1] | paired | {LAST: row.get(LAST, False)})
        return rows

    def _fewer(self, n_splits: int | None) -> dict[str, Any]:
        """What the stream is given for a number of splits."""
        if n_splits is None:
            return {}
        if self.n_splits is None:
            raise ValueError(f"{self.name} has no repeated splits: leave n_splits out.")
        if not 1 <= n_splits <= self.n_splits:
            raise ValueError(
                f"n_splits must be from 1 to {self.n_splits} for {self.name}, got {n_splits}."
            )
        return {"n_splits": n_splits}


def whole(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows of one data set, the last of them marked."""
    held: Row | None = None
    for row in rows:
        if held is not None:
            yield held
        held = row
    if held is not None:
        yield held | {LAST: True}


def register(table: Table) -> Table:
    """Add a table to the list; a second one of the same name is refused."""
    if table.name in _TABLES:
        raise ValueError(f"A table named {table.name!r} is registered already.")
    _TABLES[table.name] = table
    return table


def tables() -> dict[str, Table]:
    """Every registered table by name, in alphabetical order."""
    package = importlib.import_module("reproduction")
    for module in pkgutil.iter_modules(package.__path__):
        if module.name == "__main__":
            continue
        importlib.import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(_TABLES.items()))
