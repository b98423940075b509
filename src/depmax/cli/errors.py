"""Errors that a user can fix: one clear line and an exit code instead of a traceback."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from enum import IntEnum
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from depmax._resources import told_from
from depmax._text import listed, printable


class ExitCode(IntEnum):
    """Exit codes, as ``depmax --help`` documents them."""

    FINE = 0
    UNEXPECTED = 1  # a bug of ours: please report it
    USAGE = 2  # an option, a method or a table that does not exist
    DATA = 3  # a file that cannot be read, or data that do not answer the question
    MODEL = 4  # a model file that cannot be loaded, or does not fit the data
    OUTPUT = 5  # a file that cannot be written
    NOT_FOUND = 6  # --check: no dependence at the level asked for
    INTERRUPTED = 130


class UserError(Exception):
    """One line that says what is wrong and what to do instead."""

    code = ExitCode.USAGE


class DataError(UserError):
    """The data cannot be read, or cannot answer the question."""

    code = ExitCode.DATA


class ModelError(UserError):
    """The model cannot be loaded, or does not fit the data."""

    code = ExitCode.MODEL


class OutputError(UserError):
    """The result cannot be written."""

    code = ExitCode.OUTPUT


def nearest(name: str, known: Iterable[str], limit: int = 3) -> str:
    """A hint with the nearest known names, or with all if none is near and they are few.

    Examples
    --------
    >>> nearest("agee", ["age", "sex"])
    ' Did you mean age?'
    >>> nearest("colour", ["age", "sex"])
    ' Known: age, sex.'
    """
    known = list(known)
    folded = {item.casefold(): item for item in known}
    near = [folded[item] for item in get_close_matches(name.casefold(), folded, n=limit)]
    if near:
        return f" Did you mean {' or '.join(near)}?"
    return f" Known: {listed(known, 12)}." if known else ""


P = ParamSpec("P")
R = TypeVar("R")

#: The parameters behind -n.
_SIZE = re.compile(r"n_(?:features_to_select|components)(?:=(['\"]?)(\w+)\1)?")
#: Seconds from which on a command says beforehand how long it takes.
LONG = 10.0
#: Set, errors come with their traceback.
DEBUG = "DEPMAX_DEBUG"


def guarded(command: Callable[P, R]) -> Callable[P, R]:
    """A command whose errors end in one line on standard error."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with _warnings_as_lines(), told_from(LONG):
                return command(*args, **kwargs)
        except typer.Exit:
            raise
        except BrokenPipeError:  # whoever read our output has gone, e.g. head
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            raise typer.Exit(ExitCode.FINE) from None
        except KeyboardInterrupt:
            _complain("Interrupted. No file was left half-written.")
            raise typer.Exit(ExitCode.INTERRUPTED) from None
        except Exception as error:
            if os.environ.get(DEBUG):
                raise
            line, code = _explained(error)
            _complain(line)
            raise typer.Exit(code) from None

    return run


def _explained(error: Exception) -> tuple[str, ExitCode]:
    from depmax.persistence import ModelFileError

    text = _one_line(error)
    if isinstance(error, UserError):
        return text, error.code
    if isinstance(error, MemoryError):
        return f"Not enough memory. {text}".strip(), ExitCode.DATA
    codes: dict[type[Exception], ExitCode] = {ModelFileError: ExitCode.MODEL}
    codes |= {ImportError: ExitCode.USAGE, OSError: ExitCode.DATA}
    codes |= {ValueError: ExitCode.DATA, TypeError: ExitCode.DATA}  # refused by name and remedy
    for kind, code in codes.items():
        if isinstance(error, kind):
            return text, code
    return (
        f"Unexpected {type(error).__name__}: {text} (This is a bug in depmax; {DEBUG}=1 shows the "
        "traceback.)",
        ExitCode.UNEXPECTED,
    )


def _one_line(error: Any) -> str:
    """A message on one line, with the parameter that -n sets by that name."""
    line = printable(" ".join(str(error).split()))
    return _SIZE.sub(lambda match: f"-n {match[2] or ''}".rstrip(), line)


def _complain(line: str) -> None:
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(Text.assemble(("error: ", "bold red"), line))


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Each warning once, as a line on standard error."""
    seen: set[str] = set()

    def show(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        text = _one_line(message)
        ours = not issubclass(category, DeprecationWarning | FutureWarning | ResourceWarning)
        if ours and text not in seen:
            seen.add(text)
            print(f"warning: {text}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show
        yield
