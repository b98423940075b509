"""Options that several commands share, with their help and completion."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

import typer

from depmax.cli.errors import UserError
from depmax.cli.reading.source import MISSING, ReadOptions


class Impute(StrEnum):
    """What fills gaps in columns of numbers."""

    median = "median"
    mean = "mean"
    frequent = "frequent"


class TargetType(StrEnum):
    """How the target is read, where the guess is wrong."""

    classes = "classes"
    numbers = "numbers"


def _complete(names: Callable[[], list[str]]) -> Callable[[str], list[str]]:
    """Completion by those names that begin as what is typed."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.lower().startswith(incomplete.lower())]

    return complete


def _method_names(role: str | None) -> Callable[[], list[str]]:
    def names() -> list[str]:
        from depmax.cli.methods import methods

        return [method.name for method in methods(role).values()]  # type: ignore[arg-type]

    return names


def _dataset_names() -> list[str]:
    from depmax.datasets import available, fetchable

    return [*available(), *fetchable()]


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, Parquet, Arrow/Feather, ARFF, svmlight or NPZ file, by its extension; "
        "or a set that comes with depmax, as bundled:sonar, or is fetched, as openml:adult.",
        show_default=False,
    ),
]
Target = Annotated[
    list[str] | None,
    typer.Option(
        "--target", "-t", metavar="COLUMN", help="Column to predict; give it again for several."
    ),
]
Kind = Annotated[
    TargetType | None,
    typer.Option("--target-type", help="Read the target as classes or as numbers, not as guessed."),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COLUMN", help="Leave a column out; may be given again."),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="COLUMN",
        help="Use a column although it looks like an identifier; may be given again.",
    ),
]
Fill = Annotated[
    Impute | None,
    typer.Option(
        "--impute", help="Fill missing numbers; the most frequent value fills categories."
    ),
]
Delimiter = Annotated[
    str | None, typer.Option("--delimiter", metavar="CHAR", help="Between two cells of a CSV file.")
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="TEXT",
        help="What stands for a missing value in files of text, beside an empty cell; may be given "
        "again. By default NA, N/A, NaN, nan, null, NULL and ?.",
    ),
]
#: Seeds that numpy takes.
SEED = typer.Option("--seed", min=0, max=2**32 - 1, help="Seed of everything random.")


def _some(jobs: int | None) -> int | None:
    if jobs == 0:
        raise typer.BadParameter("0 processors cannot compute: 1 or more, or -1 for all.")
    return jobs


Seed = Annotated[int | None, SEED]
Jobs = Annotated[
    int | None,
    typer.Option("--n-jobs", metavar="N", help="Processors to use; -1 is all.", callback=_some),
]
AllJobs = Annotated[
    int,
    typer.Option(
        "--n-jobs", metavar="N", help="Processors to use; by default all (-1).", callback=_some
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no progress.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Another parameter of the method, such as kernel=laplace or kernel__bandwidth=2; "
        "may be given again.",
    ),
]
Scale = Annotated[
    bool, typer.Option("--scale/--no-scale", help="Standardise columns of numbers before.")
]
Selector = Annotated[
    str,
    typer.Option(
        "--method",
        "-m",
        help="A selector; depmax methods lists them.",
        autocompletion=_complete(_method_names("selector")),
    ),
]
Method = Annotated[
    str,
    typer.Option(
        "--method",
        "-m",
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


def read_options(delimiter: str | None, missing: list[str] | None) -> ReadOptions:
    """How files of text are read."""
    if delimiter in ("\\t", "tab"):
        delimiter = "\t"
    if delimiter is not None and len(delimiter) != 1:
        raise UserError(f"--delimiter must be a single character, got {delimiter!r}.")
    return ReadOptions(delimiter, MISSING if missing is None else ("", *missing))
