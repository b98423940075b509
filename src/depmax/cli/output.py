"""What the user sees: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from depmax._text import printable


class Output:
    """Tables for people on a terminal, tab-separated lines in a pipe, JSON on request."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self._results: dict[str, Any] = {}
        self._out = Console(highlight=False, soft_wrap=True)
        self._err = Console(stderr=True, highlight=False, soft_wrap=True)

    @property
    def on_terminal(self) -> bool:
        """Whether a person reads standard output."""
        return sys.stdout.isatty() and not self.as_json

    # --- for people, on standard error
    def say(self, line: str) -> None:
        """A line about what happens, unless the user wants quiet."""
        if not self.quiet:
            self._err.print(Text(printable(line)))

    def note(self, lines: Iterable[str]) -> None:
        """Lines that a user should know of."""
        for line in lines:
            if not self.quiet:
                self._err.print(Text.assemble(("note: ", "yellow"), printable(line)))

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """A spinner with the time gone, on a terminal only."""
        if self.quiet or not sys.stderr.isatty():
            yield
            return
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=self._err, transient=True) as progress:
            progress.add_task(what)
            yield

    @contextmanager
    def counting(self, what: str, total: int | None) -> Iterator[Any]:
        """A bar with the time left, on a terminal only; yields a function that takes a count."""
        if self.quiet or not sys.stderr.isatty():
            yield lambda done, total=None: None
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeRemainingColumn as Remaining

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Remaining())
        with Progress(*columns, console=self._err, transient=True) as progress:
            task = progress.add_task(what, total=total)
            yield lambda done, total=total: progress.update(task, completed=done, total=total)

    # --- results, on standard output
    def result(self, name: str, value: Any, line: str | None = None) -> None:
        """A value for ``--json``, and a line for people."""
        self._results[name] = value
        if line is not None and not self.as_json:
            if self.on_terminal:
                self._out.print(Text(printable(line)))
            else:
                self.say(line)

    def table(
        self, name: str, rows: Sequence[Mapping[str, Any]], *, title: str = "", shown: int = 0
    ) -> None:
        """Rows: all in JSON and in a pipe, the first ``shown`` on a terminal (0 is all)."""
        self._results[name] = [dict(row) for row in rows]
        if self.as_json or not rows:
            return
        columns = list(rows[0])
        if not self.on_terminal:
            print("\t".join(columns))
            for row in rows:
                print("\t".join(_cell(row[column]) for column in columns))
            return
        table = RichTable(title=title or None, title_justify="left", box=None, header_style="bold")
        for column in columns:
            number = isinstance(rows[0][column], int | float | np.number)
            table.add_column(column, justify="right" if number else "left")
        visible = rows[:shown] if shown else rows
        for row in visible:
            table.add_row(*(Text(_cell(row[column], digits=4)) for column in columns))
        self._out.print(table)
        if len(visible) < len(rows):
            self._out.print(Text(f"… and {len(rows) - len(visible)} more", style="dim"))

    def finish(self) -> None:
        """Print what was collected, if JSON was asked for."""
        if self.as_json:
            print(json.dumps(_plain(self._results), indent=2, allow_nan=False))


def _cell(value: Any, digits: int = 6) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return f"{value:.{digits}g}"
    return printable(str(value))


def _plain(value: Any) -> Any:
    """Values that JSON has: numpy's as Python's, NaN and infinity as null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
