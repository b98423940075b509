"""The command and its subcommands, with help that fits a screen: what few need is in --help-all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from inspect import cleandoc
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from depmax.cli import options as o
from depmax.cli.commands.compare import compare
from depmax.cli.commands.models import fit, transform
from depmax.cli.commands.profile import profile
from depmax.cli.commands.screen import screen
from depmax.cli.commands.select import select
from depmax.cli.output import Output

_HELP = """Which few features predict this, how sure can we be, and which method should I use?

[bold]Examples[/]

  depmax profile patients.csv

  depmax compare patients.csv --target outcome

  depmax screen patients.csv -t outcome

  depmax select patients.csv -t outcome -n 5 -o few.csv

  depmax fit patients.csv -t outcome -n 5 -o model.skops

  depmax transform model.skops new.csv -o features.csv

No data of your own? Every command also takes a data set that comes with depmax:

  depmax screen bundled:sonar
"""

_EPILOG = (
    "[bold]Exit codes[/]: 0 success, 1 a bug in depmax, 2 an option or name that does not exist, 3 "
    "data "
    "that cannot be read or used, 4 a model that cannot be loaded or does not fit the data, 5 a "
    "file that cannot be written, 6 no dependence (screen --check), 130 interrupted.\n\n"
    "Results go to standard output (tab-separated in a pipe, JSON with --json), everything else to "
    "standard error. Completion for your shell: depmax --install-completion."
)


#: Rare options that the short page names.
_NAMED = 3


class DocumentedCommand(TyperCommand):
    """A command whose help has paragraphs, examples without gaps and a line or two an option."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Description, examples, arguments and options."""
        params = self.get_params(ctx)
        rare = [param for param in params if getattr(param, "rich_help_panel", None) == o.MORE]
        shown = params if ctx.meta.get(o.ALL) else [one for one in params if one not in rare]
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


app = typer.Typer(
    cls=DocumentedGroup,
    help=_HELP,
    epilog=_EPILOG,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(requested: bool) -> None:
    if requested:
        from depmax import __version__

        print(f"depmax {__version__}")
        raise typer.Exit


@app.callback()
def _depmax(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


@o.command
def methods(out: Output) -> None:
    """List the methods for select, fit and compare, with the parameters that --set can change.

    [bold]Examples[/]

      depmax methods

      depmax fit data.csv -t y --method FOHSIC --set step=1
    """
    from depmax.cli.methods import methods as known

    rows = [
        {
            "method": method.name,
            "role": method.role,
            "what it does": method.method.description,
            "parameters": ", ".join(method.make().get_params(deep=False)),
        }
        for method in known().values()
    ]
    out.table("methods", rows)
    out.finish()


@o.command
def datasets(
    name: o.DatasetName = None,
    *,
    output: str | None = o.option("Write the set to a file.", "--output", "-o", metavar="FILE"),
    out: Output,
) -> None:
    """List the data sets of depmax, describe one, or write it to a file.

    Every command takes bundled:NAME instead of a file.

    [bold]Examples[/]

      depmax datasets

      depmax datasets sonar -o sonar.csv

      depmax screen bundled:sonar
    """
    from depmax.cli.errors import UserError, nearest
    from depmax.cli.writing import open_writer, require_format
    from depmax.datasets import available, load

    if name is None:
        if output is not None:
            raise UserError("Which data set should be written? depmax datasets lists them.")
        rows = [
            {
                "name": f"bundled:{entry.name}",
                "rows": len(entry.y),
                "columns": len(entry.feature_names),
                "target": str(entry.target_name),
                "title": entry.title,
            }
            for entry in map(load, available())
        ]
        out.table("datasets", rows)
        out.finish()
        return
    name = name.removeprefix("bundled:")
    if name not in available():
        raise UserError(f"There is no data set named {name!r}.{nearest(name, available())}")
    place = None if output is None else require_format(output, out)
    chosen = load(name)
    facts = {
        "name": chosen.name,
        "title": chosen.title,
        "rows": len(chosen.y),
        "columns": len(chosen.feature_names),
        "target": chosen.target_name,
        "licence": chosen.licence,
        "source": chosen.source,
        "citation": chosen.citation,
        "notes": chosen.notes,
    }
    if place is None:
        out.table("about", [{"": key, "value": str(value)} for key, value in facts.items()])
    else:
        with open_writer(place) as writer:
            writer.add(chosen.to_frame("polars"))
        out.command("output", str(place), "Written:")
        out.say(f"{chosen.title}. {chosen.licence}.")
    out.finish()


@o.command
def cautions(out: Output) -> None:
    """List the cautions that compare, screen and select may say, by code, with what to do.

    [bold]Examples[/]

      depmax cautions

      depmax compare sorted.csv -t outcome --ignore DM002
    """
    from depmax.evaluation import CAUTIONS

    if not out.on_terminal:
        shown = ("code", "title", "about")
        rows = [{name: getattr(one, name) for name in shown} for one in CAUTIONS.values()]
        out.table("cautions", rows)
    for one in CAUTIONS.values() if out.on_terminal else ():
        out.result(one.code, one.title, f"{one.code} {one.title}", style="bold")
        out.result(one.code, one.title, one.about)
        out.line()
    out.finish()


for command in (profile, compare, screen, select, fit, transform, methods, datasets, cautions):
    app.command(cls=DocumentedCommand)(command)
