"""Options that several commands share, with their help and completion.

A command takes dataclasses among its parameters; every field of theirs becomes an option.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from dataclasses import Field, dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from functools import partial, wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from depmax._resources import VARIABLE, limited_to, max_memory
from depmax.cli.errors import UserError, guarded
from depmax.cli.reading.source import ReadOptions, is_number

if TYPE_CHECKING:
    from depmax.cli.methods import Role
    from depmax.cli.reading.source import Source
    from depmax.cli.table import Request

#: Panel of the options that few people need, and where a context says that all are asked for.
MORE, ALL = "More options", "depmax.help_all"
#: Where fields keep their options.
_OPTION = "option"


#: What fills gaps in columns of numbers.
Impute = StrEnum("Impute", ["median", "mean", "frequent"])


class TaskName(StrEnum):
    """Whether the target is classes or numbers."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


def _flag(text: str, *flags: str, **more: Any) -> Any:
    """What typer needs to know of an option."""
    return typer.Option(*flags, help=text, **more)


def option(text: str, *flags: str, default: Any = None, **more: Any) -> Any:
    """An option with its help, as a field of a dataclass or as a parameter of a command."""
    return field(default=default, metadata={_OPTION: _flag(text, *flags, **more)})


#: One that few people need.
rare = partial(option, rich_help_panel=MORE)


def _complete(names: Callable[[], list[str]]) -> Callable[[str], list[str]]:
    """Complete by the names that begin with what is typed."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.lower().startswith(incomplete.lower())]

    return complete


def _method(text: str, role: Role | None) -> Any:
    """A method by its name."""

    def names() -> list[str]:
        from depmax.cli.methods import methods

        return [method.name for method in methods(role).values()]

    completion = _complete(names)
    return _flag(text, "--method", "-m", metavar="NAME", autocompletion=completion)


def _dataset_names() -> list[str]:
    from depmax.datasets import available

    return available()


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help=(
            "CSV, TSV, Excel, Parquet or Arrow/Feather file, folder of Parquet or Arrow files, or "
            "a data set of depmax, such as bundled:sonar."
        ),
        show_default=False,
    ),
]
Fill = Annotated[
    Impute | None,
    _flag(
        "Fill missing numbers by median, mean or frequent; categories by the most frequent.",
        "--impute",
        metavar="NAME",
    ),
]
Target = Annotated[
    list[str] | None,
    _flag("Column to predict; repeat the option for several.", "--target", "-t", metavar="COLUMN"),
]


def _limit_memory(context: typer.Context, requested: str | None) -> str | None:
    """While the command runs, its limit holds for everything it does, also in its workers."""
    try:
        context.with_resource(limited_to(max_memory(requested)))
    except ValueError as error:
        raise typer.BadParameter(str(error).removeprefix("max_memory: ")) from None
    return requested


def _some(jobs: int | None) -> int | None:
    if jobs == 0:
        raise typer.BadParameter("must be 1 or more, or -1 for all processors; got 0.")
    return jobs


Seed = Annotated[
    int,
    _flag(
        "Random seed.", "--seed", min=0, max=2**32 - 1, metavar="N", rich_help_panel=MORE
    ),  # seeds that numpy takes
]
_jobs = partial(_flag, metavar="N", callback=_some, rich_help_panel=MORE)
Jobs = Annotated[int | None, _jobs("Number of processors to use; -1 uses all.", "--n-jobs")]
AllJobs = Annotated[int, _jobs("Number of processors to use; all by default (-1).", "--n-jobs")]
Selector = Annotated[str, _method("A selector; depmax methods lists them.", "selector")]
Method = Annotated[str, _method("A selector or extractor; depmax methods lists them.", None)]
DatasetName = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME",
        help="A data set.",
        show_default=False,
        autocompletion=_complete(_dataset_names),
    ),
]


def _show_all(context: typer.Context, requested: bool) -> None:
    if requested:
        context.meta[ALL] = True
        typer.echo(context.get_help())
        raise typer.Exit


HelpAll = Annotated[
    bool, _flag("Show all options.", "--help-all", is_eager=True, callback=_show_all)
]


@dataclass(frozen=True)
class Reading:
    """How the file is written, as far as that is not detected."""

    separator: str | None = rare(
        "Field separator of a text file: a character, tab or whitespace. Detected by default, as "
        "are the next three.",
        metavar="CHAR",
    )
    decimal: str | None = rare("Decimal mark of a text file: . or ,", metavar="CHAR")
    encoding: str | None = rare("Text encoding, such as utf-8, cp1252 or utf-16.", metavar="NAME")
    header: bool | None = rare(
        "Whether the first line of a text file holds the column names.",
        "--header/--no-header",
        show_default=False,
    )
    missing: list[str] | None = rare(
        "What stands for a missing value in text files, besides an empty cell; may be repeated. A "
        "number, such as 999, does so beside the default, which words replace: NA, N/A, NaN, nan, "
        "null, NULL and ?, and among numbers and dates also -, --, . and none.",
        metavar="TEXT",
    )
    sheet: str | None = rare(
        "Sheet of an Excel file, by name or number; 1, the first, is the default.", metavar="NAME"
    )
    max_memory: str | None = rare(
        "Memory that a table, a model or the values of all pairs of rows may take, such "
        "as 16GB, or none: what would take more is refused before it is read or computed. By "
        f"default 4GB, or what {VARIABLE} says.",
        metavar="SIZE",
        callback=_limit_memory,
    )

    def open(self, data: str) -> Source:
        """The file, ready to be read in this way."""
        from depmax.cli.reading import open_source

        return open_source(data, self.options())

    def options(self) -> ReadOptions:
        """Options of reading, checked."""
        separator = {"\\t": "\t", "tab": "\t", "space": "whitespace"}.get(
            str(self.separator), self.separator
        )
        if separator is not None and len(separator) != 1 and separator != "whitespace":
            raise UserError(
                f"--separator must be a single character, tab or whitespace, got {separator!r}."
            )
        if separator in ('"', "\n", "\r"):
            raise UserError(f"--separator cannot be {separator!r}.")
        decimal, encoding = self.decimal, self.encoding
        if decimal not in (None, ".", ","):
            raise UserError(f"--decimal must be . or , (got {decimal!r}).")
        if decimal is not None and decimal == separator:
            raise UserError(f"--separator and --decimal cannot both be {decimal!r}.")
        if encoding is not None:
            encoding = _known_encoding(encoding)
        options = ReadOptions(
            separator,
            decimal,
            encoding,
            self.header,
            sheet=self.sheet,
            max_memory=max_memory(self.max_memory),
        )
        if self.missing is None:
            return options
        if all(map(is_number, self.missing)):  # codes, beside what is missing anyway
            return replace(options, missing=(*options.missing, *self.missing))
        return replace(options, missing=("", *self.missing), missing_numbers=())


@dataclass(frozen=True)
class Columns:
    """What the columns are."""

    task: TaskName = option(
        "What the target is: classification or regression; auto guesses, and says what.",
        metavar="NAME",
        default=TaskName.auto,
    )
    weight: str | None = rare(
        "Column that says how many rows each row stands for; 0 ignores the row. It is not used as "
        "a feature.",
        metavar="COLUMN",
    )
    event: str | None = rare(
        "Column that says whether the event was seen (1) or the time in --target is censored (0): "
        "the target is then survival times. With another coding name what says that it was seen, "
        "such as status=2.",
        metavar="COLUMN[=VALUE]",
    )
    drop: list[str] | None = option("Ignore a column; may be repeated.", metavar="COLUMN")
    keep: list[str] | None = rare(
        "Use a column although it looks like an identifier; may be repeated.", metavar="COLUMN"
    )
    impute: Fill = None
    expand: bool = rare(
        "Use dates as year, month, weekday, days and hour, and sentences as the words they hold; "
        "else they are ignored.",
        "--expand/--no-expand",
        default=True,
    )

    @property
    def fill(self) -> str | None:
        """What fills gaps, as text."""
        return self.impute and str(self.impute)

    def request(self, target: list[str] | None, **more: Any) -> Request:
        """What a table is made of."""
        from depmax.cli.table import Request

        return Request(
            tuple(target or ()),
            tuple(self.drop or ()),
            tuple(self.keep or ()),
            self.fill,
            self.task.value,
            weight=self.weight,
            expand=self.expand,
            event=self.event,
            **more,
        )


@dataclass(frozen=True)
class GroupedColumns(Columns):
    """And which rows belong together."""

    groups: str | None = option(
        "Column that says which rows belong together, such as the patient: whole groups, not "
        "rows, are then independent. It is not used as a feature.",
        metavar="COLUMN",
    )
    ignore: list[str] | None = rare(
        "Silence a caution, such as DM001; may be repeated. depmax cautions lists all.",
        metavar="CODE",
    )

    @property
    def ignored(self) -> tuple[str, ...]:
        """Codes of cautions that are not wanted."""
        from depmax.evaluation.comparison.cautions import read_ignored

        try:
            return read_ignored(self.ignore or (), "--ignore")
        except ValueError as error:
            raise UserError(str(error)) from None

    def request(self, target: list[str] | None, **more: Any) -> Request:
        """What a table is made of."""
        return super().request(target, groups=self.groups, **more)


@dataclass(frozen=True)
class Fitting:
    """How a method is fitted."""

    screen: int | None = option(
        "Let a selector search only the N columns that each depend most on the target: for tables "
        "with thousands of columns.",
        min=1,
        metavar="N",
    )
    settings: list[str] | None = option(
        "Another parameter of the method, such as kernel=laplace or kernel__bandwidth=2; may be "
        "repeated.",
        "--set",
        metavar="NAME=VALUE",
    )
    scale: bool = rare("Standardise numeric columns first.", "--scale/--no-scale", default=True)
    seed: Seed = 0
    n_jobs: Jobs = None


def command(function: Callable[..., None]) -> Callable[..., None]:
    """A command as typer takes it: fields of dataclasses are options; errors end in one line."""
    hints = get_type_hints(function, include_extras=True)
    parameters: list[Parameter] = []
    groups = {}
    for name, parameter in signature(function).parameters.items():
        if is_dataclass(hints[name]):
            groups[name] = dict(_options(hints[name]))
            parameters += groups[name].values()
        else:
            parameters.append(_parameter(name, hints[name], parameter))
    if any(one.annotation.__metadata__[0].rich_help_panel == MORE for one in parameters):
        parameters.append(
            Parameter("help_all", Parameter.KEYWORD_ONLY, default=False, annotation=HelpAll)
        )

    @wraps(function)
    def run(**given: Any) -> None:
        given.pop("help_all", None)
        built = {
            name: hints[name](**{option: given.pop(option) for option in options})
            for name, options in groups.items()
        }
        function(**given, **built)

    run.__signature__ = signature(function).replace(parameters=parameters)  # type: ignore[attr-defined]  # what inspect.signature looks for
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return guarded(run)


def _options(kind: Any) -> Iterator[tuple[str, Parameter]]:
    """Fields of a dataclass as keyword parameters."""
    hints = get_type_hints(kind, include_extras=True)
    for one in fields(kind):
        if one.init:
            yield one.name, _parameter(one.name, hints[one.name], one)


def _parameter(name: str, hint: Any, given: Any) -> Parameter:
    """A field of a dataclass, or a parameter that has one as its default, as typer takes it."""
    one = given.default if isinstance(given.default, Field) else given
    if _OPTION in getattr(one, "metadata", ()):
        hint = Annotated[hint, one.metadata[_OPTION]]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=one.default, annotation=hint)


def typed(*given: Any) -> list[str]:
    """Options of dataclasses as a user types them; those with their defaults are left out."""
    words: list[str] = []
    for group in given:
        for name, parameter in _options(type(group)):
            value = getattr(group, name)
            (option,) = (one for one in parameter.annotation.__metadata__)
            flag = option.default if isinstance(option.default, str) else f"--{name}"
            if value == parameter.default:
                continue
            if "/" in flag:  # --header or --no-header
                words.append(flag.split("/")[0 if value else 1])
            else:
                words += spelled({flag: value})
    return words


def spelled(options: dict[str, Any]) -> list[str]:
    """Options as they are typed; those that were not given are left out."""
    words: list[str] = []
    for option, value in options.items():
        values = value if isinstance(value, list) else [] if value is None else [value]
        for one in map(str, values):
            # a value that looks like an option is read as one unless it is tied to its own
            tied = f"{option}={one}" if option.startswith("--") else f"{option}{one}"
            words += [tied] if one.startswith("-") else [option, one]
    return words


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
