"""What the user sees: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from depmax._text import printable, short_effect
from depmax.cli.errors import LONG, UserError

#: What stands for standard output in place of a path.
STDOUT = "-"


@dataclass
class Output:
    """Tables for people on a terminal, tab-separated lines in a pipe, JSON on request."""

    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Suppress notes and progress.")] = (
        False
    )
    _results: dict[str, Any] = field(default_factory=dict, init=False)
    _leaves: bool = field(default=False, init=False)
    _out: Console = field(default_factory=partial(Console, highlight=False), init=False)
    _err: Console = field(
        default_factory=partial(Console, stderr=True, highlight=False), init=False
    )

    @property
    def on_terminal(self) -> bool:
        """Whether a person reads the results."""
        stream = sys.stderr if self._leaves else sys.stdout
        return stream.isatty() and not self.as_json

    def leave_to_data(self) -> None:
        """From now on standard output is that of data; people read results on standard error."""
        if self.as_json:
            raise UserError("--json and -o - both write to standard output: omit one of them.")
        self._out, self._leaves = self._err, True

    # --- for people, on standard error
    def say(self, line: str) -> None:
        """A line about what is happening, unless the user asked for quiet."""
        if not self.quiet:
            self._err.print(Text(printable(line)), soft_wrap=not sys.stderr.isatty())

    def expect(self, what: str, seconds: float) -> None:
        """Say beforehand how long something takes, if it is long."""
        from depmax.evaluation.comparison.problem import clock

        if seconds > LONG:
            self.say(f"{what} takes about {clock(seconds)}.")

    def note(self, lines: Iterable[str]) -> None:
        """Lines that a user should know about."""
        for line in lines:
            if not self.quiet:
                text = Text.assemble(("note: ", "yellow"), printable(line))
                self._err.print(text, soft_wrap=not sys.stderr.isatty())

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """A spinner with the elapsed time, on a terminal only."""
        if self.quiet or not sys.stderr.isatty():
            yield
            return
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=self._err, transient=True) as progress:
            progress.add_task(what)
            yield

    @contextmanager
    def counting(self) -> Iterator[Callable[[str, int, int | None], None]]:
        """A bar with the step and the time left; yields a function of step, done and total.

        On a terminal only; in a pipe or a file a line says when a step begins.
        """
        if self.quiet:
            yield lambda step, done, total: None
        elif not sys.stderr.isatty():
            begun: set[str] = set()

            def announce(step: str, done: int, total: int | None) -> None:
                if step not in begun:
                    begun.add(step)
                    self.say(f"{step} …")

            yield announce
        else:
            with self._bar() as update:
                yield update

    @contextmanager
    def _bar(self) -> Iterator[Callable[[str, int, int | None], None]]:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
        )
        with Progress(*columns, console=self._err, transient=True) as progress:
            tasks: dict[str, Any] = {}
            began = perf_counter()

            def update(step: str, done: int, total: int | None) -> None:
                nonlocal began
                if step not in tasks:
                    for earlier in tasks.values():
                        progress.update(earlier, visible=False)
                    if tasks:
                        began = perf_counter()
                    tasks[step] = progress.add_task(step, total=total, left="")
                elapsed = perf_counter() - began
                left = _time_left(elapsed, done, total)
                progress.update(tasks[step], completed=done, total=total, left=left)

            yield update

    # --- results, on standard output
    def result(self, name: str, value: Any, line: str | None = None, *, style: str = "") -> None:
        """A value for ``--json``, and a line for people, wrapped between words."""
        self._results[name] = value
        if line is not None and not self.as_json:
            if self.on_terminal:
                self._out.print(Text(printable(line), style=style))
            else:
                self.say(line)

    def command(self, name: str, value: str, label: str, *, shown: str | None = None) -> None:
        """A command or a path to copy, which is not wrapped."""
        self._results[name] = value
        if self.as_json:
            return
        line = "standard output" if value == STDOUT else printable(shown or value)
        if self.on_terminal:
            self._out.print(Text.assemble((f"{label} ", "bold"), line), soft_wrap=True)
        elif not self.quiet:
            self._err.print(Text(f"{label} {line}"), soft_wrap=True)

    def line(self) -> None:
        """An empty line."""
        self._out.print()

    def table(
        self,
        name: str,
        rows: Sequence[Mapping[str, Any]],
        *,
        title: str = "",
        shown: int = 0,
        emphasised: int | None = None,
    ) -> None:
        """Rows: all in JSON and in a pipe, the first ``shown`` on a terminal (0 shows all).

        On a terminal numbers are aligned, columns without any cell are left out, and the last ones
        give way where it is narrow.
        """
        self._results[name] = [dict(row) for row in rows]
        if self.as_json or not rows:
            return
        columns = list(rows[0])
        if not self.on_terminal:
            if self._leaves:
                return
            print("\t".join(columns))
            for row in rows:
                print("\t".join(_cell(row[column]) for column in columns))
            return
        visible = rows[:shown] if shown else rows
        cells = {column: aligned(column, [row[column] for row in visible]) for column in columns}
        cells = {column: texts for column, texts in cells.items() if any(texts)}
        table = RichTable(title=title or None, title_justify="left", box=None, header_style="bold")
        drawn = _fitting(cells, self._out.width)
        for column in drawn:
            number = any(isinstance(row[column], int | float | np.number) for row in visible)
            table.add_column(
                HEADINGS.get(column, column),
                justify="right" if number else "left",
                no_wrap=True,
                overflow="ellipsis",
                max_width=drawn[column],
            )
        for place in range(len(visible)):
            style = "bold green" if place == emphasised else ""
            table.add_row(*(Text(cells[column][place]) for column in drawn), style=style)
        self._out.print(table)
        hidden = [HEADINGS.get(column, column) for column in cells if column not in drawn]
        if any(hidden):
            names = ", ".join(filter(None, hidden))
            self._out.print(Text(f"No room for: {names}. Widen the terminal.", style="dim"))
        if len(visible) < len(rows):
            self._out.print(Text(f"… and {len(rows) - len(visible):,} more", style="dim"))

    def finish(self) -> None:
        """Print what was collected, if JSON was asked for."""
        if self.as_json:
            print(json.dumps(_plain(self._results), indent=2, allow_nan=False))


def _time_left(elapsed: float, done: int, total: int | None) -> str:
    """How long the rest of a step takes, at the speed so far.

    >>> _time_left(10.0, 1, 4), _time_left(1.0, 4, 4)
    ('about 30 s left', '')
    """
    from depmax.evaluation.comparison.problem import clock

    if total is None or not 0 < done < total:
        return ""
    return f"about {clock(elapsed / done * (total - done))} left"


#: Headings of a terminal, where they differ from the names that programs read.
HEADINGS = {
    "pvalue": "p",
    "pvalue_adjusted": "p (adjusted)",
    "balanced_accuracy": "balanced accuracy",
    "r2": "R²",
}
#: Spaces between two columns, and letters of a text for which it is shown at all.
GAP, CUT = 2, 24


def for_people(row: Mapping[str, Any]) -> dict[str, Any]:
    """A column on a terminal: its interval in one cell, nothing that is the same for all."""
    shown = {name: row[name] for name in ("rank", "column", "score")}
    if "effect" in row:
        ends = (row.get(name, float("nan")) for name in ("effect_low", "effect_high"))
        shown["effect"] = short_effect(row["effect"], *ends)
    if "pvalue_adjusted" in row:
        shown["pvalue_adjusted"] = row["pvalue_adjusted"]
    return shown


def aligned(name: str, values: Sequence[Any]) -> list[str]:
    """Cells of a column: numbers with the same number of decimals, three digits of the largest.

    Examples
    --------
    >>> aligned("score", [0.68712, 0.05, -1e-9]), aligned("features", [5.0, 12.0])
    (['0.687', '0.050', '0.000'], ['5', '12'])
    >>> aligned("pvalue_adjusted", [0.00001, 0.234, 1.0])
    ['<0.001', '0.234', '1.000']
    """
    numbers = [
        float(value)
        for value in values
        if isinstance(value, float | np.floating) and math.isfinite(value)
    ]
    if not numbers:
        return [_cell(value) for value in values]
    if name.startswith("pvalue"):
        return [_pvalue(value) for value in values]
    largest = max(abs(number) for number in numbers)
    whole = all(number == int(number) for number in numbers)
    decimals = 0 if whole else _decimals(largest)
    return [
        f"{round(float(value), decimals) + 0.0:.{decimals}f}"
        if isinstance(value, float | np.floating) and math.isfinite(value)
        else _cell(value)
        for value in values
    ]


def _decimals(largest: float) -> int:
    """Decimals that show three digits of the largest number of a column."""
    return min(8, max(0, 2 - math.floor(math.log10(largest)))) if largest > 0 else 0


def _pvalue(value: Any) -> str:
    if value is None or math.isnan(value):
        return ""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _fitting(cells: Mapping[str, Sequence[str]], width: int) -> dict[str, int]:
    """Columns from the first to the last that a line has room for, two at least, and how wide.

    A long text at the end is cut.
    """
    room = width
    found: dict[str, int] = {}
    for name, texts in cells.items():
        needed = max(len(HEADINGS.get(name, name)), *(len(text) for text in texts)) + GAP
        if needed > room and len(found) >= 2:
            if room >= CUT:
                found[name] = room - GAP
            break
        room -= needed
        found[name] = needed
    return found


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
