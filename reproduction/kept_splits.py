"""Values of the splits that were run, kept in a file one by one, so that a run can be continued."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from reproduction.csv_rows import read_csv, save_csv

#: What tells a row of a table apart, such as (data set, method).
Key = tuple[Any, ...]
#: One value per column that is kept.
Values = tuple[float, ...]
#: Runs a split for some rows; other splits of the same table must not matter.
Job = Callable[[int, Sequence[Key]], Mapping[Key, Values]]

METHOD = "method"


class KeptSplits:
    """The first splits of every row, in memory and in a file.

    Parameters
    ----------
    columns : sequence of str
        Columns of the file: those up to ``method`` tell rows apart, the others hold the values,
        one per split.
    path : Path or None
        The file; None keeps values in memory only.
    methods : sequence of str or None
        Only splits of these methods are run; what is kept of the others stays.
    minutes : float or None
        After this time no split is begun; 0 runs none.
    """

    def __init__(
        self,
        columns: Sequence[str],
        path: Path | None = None,
        methods: Sequence[str] | None = None,
        minutes: float | None = None,
    ) -> None:
        self.columns, self.path, self.methods = tuple(columns), path, methods
        self._end = float("inf") if minutes is None else time.monotonic() + 60 * minutes
        self._n_keys = self.columns.index(METHOD) + 1
        self._found: dict[Key, list[list[float]]] = {}
        for row in read_csv(path) if path is not None else ():
            cells = [row[name] for name in self.columns]
            key = tuple(cells[: self._n_keys])
            self._found[key] = [_numbers(cell) for cell in cells[self._n_keys :]]

    def count(self, key: Key) -> int:
        """Number of splits that are kept of a row."""
        return len(self._found[key][0]) if key in self._found else 0

    def values(self, key: Key, n_splits: int | None = None) -> list[list[float]]:
        """The values of a row, a list per column; of its first splits if a number is given."""
        return [column[:n_splits] for column in self._found[key]]

    def complete(
        self, keys: Sequence[Key], n_splits: int, job: Job, n_jobs: int | None = None
    ) -> int:
        """Run the splits that rows have not got; the number that all of them have then."""
        wanted = [k for k in keys if self.methods is None or k[self._n_keys - 1] in self.methods]
        tasks = (delayed(_run)(job, *task) for task in self._tasks(wanted, n_splits))
        for found in Parallel(n_jobs=n_jobs, return_as="generator")(tasks):
            for key, values in found.items():
                columns = self._found.setdefault(key, [[] for _ in values])
                for column, value in zip(columns, values, strict=True):
                    column.append(float(value))
            self._save()
        return min([n_splits, *(self.count(key) for key in keys)])

    def _tasks(self, keys: Sequence[Key], n_splits: int) -> Iterator[tuple[int, list[Key]]]:
        """Splits in order with the rows that lack them, until the time is over."""
        lacking = {key: self.count(key) for key in keys}
        for split in range(n_splits):
            rows = [key for key, count in lacking.items() if count <= split]
            if rows:
                if time.monotonic() >= self._end:
                    return
                yield split, rows

    def _save(self) -> None:
        if self.path is not None:
            rows = (dict(zip(self.columns, (*k, *v), strict=True)) for k, v in self._found.items())
            save_csv(self.path, list(rows), self.columns)


def _run(job: Job, split: int, keys: Sequence[Key]) -> Mapping[Key, Values]:
    return job(split, keys)


def _numbers(cell: Any) -> list[float]:
    """Numbers of a cell; one alone was read as a number."""
    return [cell] if isinstance(cell, float) else [float(part) for part in cell.split()]
