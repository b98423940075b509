"""Help that fits a screen: the options that most people need, all of them with ``--help-all``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from inspect import cleandoc
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from depmax.cli.options import ALL, MORE

#: Rare options that the short page names.
_NAMED = 3


class DocumentedCommand(TyperCommand):
    """A command whose help has paragraphs, examples without gaps and a line or two an option."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Description, examples, arguments and options."""
        params = self.get_params(ctx)
        rare = [param for param in params if getattr(param, "rich_help_panel", None) == MORE]
        shown = params if ctx.meta.get(ALL) else [one for one in params if one not in rare]
        more = ""
        if len(shown) < len(params):
            named = ", ".join(param.opts[0] for param in rare[:_NAMED])
            more = f"{len(rare)} more options ({named} …): {ctx.command_path} --help-all"
        rows = [(_left(param), _right(param)) for param in shown]
        _write(formatter, [*_described(self, ctx), _grid(rows), Text(more, style="bold")])


class DocumentedGroup(TyperGroup):
    """The program: its commands with a line or two each."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Description, examples, commands, and what its output and its exit codes mean."""
        commands = [(name, self.commands[name].get_short_help_str(200)) for name in self.commands]
        options = [(_left(param), _right(param)) for param in self.get_params(ctx)]
        epilog = [Text.from_markup(part) for part in (self.epilog or "").split("\n\n")]
        _write(formatter, [*_described(self, ctx), _grid(commands), _grid(options), *epilog])


def _described(command: Any, ctx: Any) -> list[Any]:
    """Usage and help: lines of a paragraph are joined, those that begin with spaces stay."""
    text = re.sub(r"(?<=\S)\n(?=\S)", " ", cleandoc(command.help or ""))
    text = re.sub(r"\n\n(?=  )", "\n", text)  # examples below each other
    usage = re.sub("[{}]", "", command.get_usage(ctx))  # typer's braces about what is required
    return [Text(usage), *map(Text.from_markup, text.split("\n\n"))]


def _left(param: Any) -> str:
    """``-t, --target COLUMN``, or the name of an argument."""
    if param.param_type_name == "argument":
        return str(param.metavar)
    both = [*param.opts, *param.secondary_opts]
    short = next((name for name in both if not name.startswith("--")), "")
    long = [name for name in param.opts if name.startswith("--")]
    if param.default is not False:  # what is off by default need not be switched off
        long += param.secondary_opts
    named = ", ".join(filter(None, [short, *long]))
    value = "" if getattr(param, "is_flag", False) else f" {param.metavar or 'VALUE'}"
    return f"{'' if short else '    '}{named}{value}"


def _right(param: Any) -> str:
    """What it means, and its default."""
    default = param.default
    default = default.value if isinstance(default, Enum) else default
    hidden = default is None or isinstance(default, bool) or not param.show_default
    return f"{param.help or ''}{'' if hidden else f' [default: {default}]'}"


def _grid(rows: Iterable[Sequence[str]]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="cyan")
    grid.add_column()
    for left, right in rows:
        grid.add_row(Text(left), Text(right))
    return grid


def _write(formatter: Any, parts: Iterable[Any]) -> None:
    """Parts with an empty line between them."""
    console = Console(highlight=False)
    with console.capture() as written:
        for part in filter(None, parts):
            console.print(Padding(part, (0, 1, 1, 1)))
    lines = (line.rstrip() for line in written.get().splitlines())
    formatter.write("\n".join(lines).rstrip() + "\n")
