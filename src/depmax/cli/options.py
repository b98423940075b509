"""Options that several commands share, with their help and completion."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from depmax._limits import VARIABLE, limited_to, max_memory
from depmax.cli.errors import UserError
from depmax.cli.reading.source import ReadOptions


class Impute(StrEnum):
    """What fills gaps in columns of numbers."""

    median = "median"
    mean = "mean"
    frequent = "frequent"


class TaskName(StrEnum):
    """Whether the target is classes or numbers."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


def _complete(names: Callable[[], list[str]]) -> Callable[[str], list[str]]:
    """Complete by the names that begin with what is typed."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.lower().startswith(incomplete.lower())]

    return complete


def _method_names(role: str | None) -> Callable[[], list[str]]:
    def names() -> list[str]:
        from depmax.cli.methods import methods

        return [method.name for method in methods(role).values()]  # type: ignore[arg-type]  # typer hands over plain text

    return names


def _dataset_names() -> list[str]:
    from depmax.datasets import available

    return available()


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help=(
            "CSV, TSV, Excel, Parquet or Arrow/Feather file, recognised by its extension, a "
            "folder of Parquet or Arrow files, or a data set that comes with depmax, such as "
            "bundled:sonar."
        ),
        show_default=False,
    ),
]
Target = Annotated[
    list[str] | None,
    typer.Option(
        "--target", "-t", metavar="COLUMN", help="Column to predict; repeat the option for several."
    ),
]
Task = Annotated[
    TaskName,
    typer.Option(
        "--task",
        help="Whether the target holds classes or numbers; auto guesses, and says what it guessed.",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COLUMN", help="Ignore a column; may be repeated."),
]
Groups = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="COLUMN",
        help=(
            "Column that says which rows belong together, such as the patient: p-values and "
            "splits then treat whole groups, not rows, as independent. It is not used as a "
            "feature."
        ),
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        "--weight",
        metavar="COLUMN",
        help=(
            "Column that says how many rows each row stands for; 0 ignores the row. It is not "
            "used as a feature."
        ),
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="COLUMN",
        help="Use a column although it looks like an identifier; may be repeated.",
    ),
]
Fill = Annotated[
    Impute | None,
    typer.Option(
        "--impute", help="Fill missing numbers; the most frequent value fills categories."
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--separator",
        metavar="CHAR",
        help="Field separator of a text file: a character, tab or whitespace. Detected by default, "
        "as are the next three.",
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option("--decimal", metavar="CHAR", help="Decimal mark of a text file: . or ,"),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding", metavar="NAME", help="Text encoding, such as utf-8, cp1252 or utf-16."
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line of a text file holds the column names.",
        show_default=False,
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="TEXT",
        help="Text that stands for a missing value in text files, besides an empty cell; may "
        "be repeated. It replaces the default: NA, N/A, NaN, nan, null, NULL and ?, and among "
        "numbers also -, --, . and none.",
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        "--sheet",
        metavar="NAME",
        help="Sheet of an Excel file, by name or number (1 is the first, which is the default).",
    ),
]


def _limit_memory(context: typer.Context, requested: str | None) -> str | None:
    """While the command runs, its limit holds for everything it does, also in its workers."""
    try:
        context.with_resource(limited_to(max_memory(requested)))
    except ValueError as error:
        raise typer.BadParameter(str(error).removeprefix("max_memory: ")) from None
    return requested


MaxMemory = Annotated[
    str | None,
    typer.Option(
        "--max-memory",
        metavar="SIZE",
        help="Memory that a table, a model or the values of all pairs of rows may take, such as "
        "16GB, or none: what would take more is refused before it is read or computed. By "
        f"default 4GB, or what {VARIABLE} says.",
        callback=_limit_memory,
    ),
]
#: Seeds that numpy takes.
SEED = typer.Option("--seed", min=0, max=2**32 - 1, metavar="N", help="Random seed.")


def _some(jobs: int | None) -> int | None:
    if jobs == 0:
        raise typer.BadParameter("must be 1 or more, or -1 for all processors; got 0.")
    return jobs


Seed = Annotated[int, SEED]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--n-jobs", metavar="N", help="Number of processors to use; -1 uses all.", callback=_some
    ),
]
AllJobs = Annotated[
    int,
    typer.Option(
        "--n-jobs",
        metavar="N",
        help="Number of processors to use; all by default (-1).",
        callback=_some,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Suppress notes and progress.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Another parameter of the method, such as kernel=laplace or kernel__bandwidth=2; "
        "may be repeated.",
    ),
]
Screen = Annotated[
    int | None,
    typer.Option(
        "--screen",
        min=1,
        metavar="N",
        help=(
            "Let a selector search only the N columns that each depend most on the target: for "
            "tables with thousands of columns."
        ),
    ),
]
Scale = Annotated[
    bool, typer.Option("--scale/--no-scale", help="Standardise numeric columns first.")
]
Selector = Annotated[
    str,
    typer.Option(
        "--method",
        "-m",
        metavar="NAME",
        help="A selector; depmax methods lists them.",
        autocompletion=_complete(_method_names("selector")),
    ),
]
Method = Annotated[
    str,
    typer.Option(
        "--method",
        "-m",
        metavar="NAME",
        help="A selector or extractor; depmax methods lists them.",
        autocompletion=_complete(_method_names(None)),
    ),
]
DatasetName = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME",
        help="A data set.",
        show_default=False,
        autocompletion=_complete(_dataset_names),
    ),
]


def read_options(
    separator: str | None,
    decimal: str | None,
    encoding: str | None,
    header: bool | None,
    missing: list[str] | None,
    memory: str | None = None,
    sheet: str | None = None,
) -> ReadOptions:
    """How files are read."""
    separator = {"\\t": "\t", "tab": "\t", "space": "whitespace"}.get(str(separator), separator)
    if separator is not None and len(separator) != 1 and separator != "whitespace":
        raise UserError(
            f"--separator must be a single character, tab or whitespace, got {separator!r}."
        )
    if separator in ('"', "\n", "\r"):
        raise UserError(f"--separator cannot be {separator!r}.")
    if decimal not in (None, ".", ","):
        raise UserError(f"--decimal must be . or , (got {decimal!r}).")
    if decimal is not None and decimal == separator:
        raise UserError(f"--separator and --decimal cannot both be {decimal!r}.")
    if encoding is not None:
        encoding = _known_encoding(encoding)
    options = ReadOptions(
        separator, decimal, encoding, header, sheet=sheet, max_memory=max_memory(memory)
    )
    if missing is None:
        return options
    return replace(options, missing=("", *missing), missing_numbers=())


def require_one(option: str, value: object, other: str, its_value: object) -> None:
    """Refuse two options that do not go together."""
    if value and its_value:
        raise UserError(f"{option} and {other} cannot be combined: omit one of them.")


def _known_encoding(name: str) -> str:
    try:
        known = codecs.lookup(name).name
    except LookupError:
        raise UserError(
            f"--encoding: there is no encoding named {name!r}. Common ones are utf-8, cp1252, "
            "utf-16 and latin-1."
        ) from None
    return "utf-8-sig" if known == "utf-8" else known
