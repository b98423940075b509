"""Errors that a user can mend, and the exit codes that scripts can use."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from enum import IntEnum


class Code(IntEnum):
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
    """One line that says what is wrong and what would do instead."""

    code = Code.USAGE


class DataError(UserError):
    """The data cannot be read, or do not answer the question."""

    code = Code.DATA


class ModelError(UserError):
    """The model cannot be loaded, or does not fit the data."""

    code = Code.MODEL


class OutputError(UserError):
    """The result cannot be written."""

    code = Code.OUTPUT


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
    return f" Known: {shortened(known, 12)}." if known else ""


def shortened(names: Iterable[str], limit: int = 5) -> str:
    """The first names, and how many more there are.

    Examples
    --------
    >>> shortened("abcdefg", 3)
    'a, b, c and 4 more'
    """
    names = list(names)
    rest = len(names) - limit
    shown = ", ".join(names[:limit])
    return shown if rest <= 0 else f"{shown} and {rest} more"
