"""What a parameter of an estimator may be: declared once per class, checked when ``fit`` begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Rule:
    """What a parameter accepts, and how to say so."""

    accepts: Callable[[Any], bool]
    text: str  # completes "alpha of HSCA must be …"
    hint: str = ""  # why, or what to do instead

    def require(self, value: Any, name: str, owner: str) -> None:
        """Refuse a value by the name of the parameter and of its owner."""
        if not self.accepts(value):
            hint = f": {self.hint}" if self.hint else ""
            raise ValueError(f"{name} of {owner} must be {self.text}, got {value!r}{hint}.")


def is_number(value: Any) -> bool:
    """Whether a value is a finite number; True and False are not numbers."""
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)


def is_whole(value: Any) -> bool:
    """Whether a value is an integer; True and False are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def number(
    low: float, high: float = inf, *, ends: str = "[]", also: Sequence[Any] = (), hint: str = ""
) -> Rule:
    """A finite number in an interval, "[)" without its upper end, or one of a few other values."""
    above, below = ends[0] == "(", ends[1] == ")"
    more, less = ">" if above else ">=", "<" if below else "<="
    if high < inf:
        closed = not above and not below
        span = f"from {low:g} to {high:g}" if closed else f"{more} {low:g} and {less} {high:g}"
        text = f"a number {span}"
    else:
        text = "a positive number" if above and low == 0 else f"a number {more} {low:g}"

    def inside(value: Any) -> bool:
        if not is_number(value) or value < low or value > high:
            return False
        return not (above and value == low) and not (below and value == high)

    return _or_one_of(inside, text, also, hint)


def integer(low: int, *, also: Sequence[Any] = (), hint: str = "") -> Rule:
    """A whole number from ``low`` on, or one of a few other values."""

    def inside(value: Any) -> bool:
        return is_whole(value) and value >= low

    return _or_one_of(inside, f"an integer >= {low}", also, hint)


def one_of(*values: Any) -> Rule:
    """One of a few names, or of None, True and False."""
    return _or_one_of(lambda value: False, "", values)


def _or_one_of(
    accepts: Callable[[Any], bool], text: str, also: Sequence[Any], hint: str = ""
) -> Rule:
    def accepts_either(value: Any) -> bool:
        if isinstance(value, np.bool_):
            value = bool(value)
        named = isinstance(value, str) and value in [v for v in also if isinstance(v, str)]
        return named or any(value is option for option in also) or accepts(value)

    texts = [*([text] if text else []), *(repr(value) for value in also)]
    first = ", ".join(texts[:-1])
    return Rule(accepts_either, f"{first} or {texts[-1]}" if first else texts[-1], hint)


#: True or False, and nothing that merely counts as such.
FLAG = one_of(True, False)

#: Parameters that mean the same in every estimator.
COMMON = {
    "unbiased": FLAG,
    "center": FLAG,
    "missing": one_of("neutral", "level", "refuse"),
    "n_jobs": Rule(
        lambda value: value is None or (is_whole(value) and value != 0),
        "an integer other than 0 (-1 for all processors) or None",
    ),
    "verbose": Rule(
        lambda value: isinstance(value, Integral | np.bool_) and int(value) >= 0, "an integer >= 0"
    ),
    "random_state": Rule(
        lambda value: (
            value is None
            or value is np.random
            or isinstance(value, np.random.RandomState)
            or (is_whole(value) and 0 <= value < 2**32)
        ),
        "None, an integer from 0 to 2**32 - 1 or a numpy.random.RandomState",
    ),
}


@cache
def rules_of(estimator: type) -> dict[str, Rule]:
    """Rules by parameter: the common ones, then ``_declared`` of the class and its bases."""
    rules = dict(COMMON)
    for cls in reversed(estimator.__mro__):
        rules.update(vars(cls).get("_declared", {}))
    return rules


def check_parameters(estimator: Any) -> None:
    """Refuse parameters of an estimator or a dataclass that are not what its class declares.

    Examples
    --------
    >>> from depmax import DependenceFilter
    >>> check_parameters(DependenceFilter(fdr=-1))
    Traceback (most recent call last):
    ...
    ValueError: fdr of DependenceFilter must be a number from 0 to 1, got -1.
    """
    kind: Any = type(estimator)
    rules = rules_of(kind)
    for name in _parameters_of(kind):
        if name in rules:
            rules[name].require(getattr(estimator, name), name, kind.__name__)


@cache
def _parameters_of(kind: type) -> tuple[str, ...]:
    """Parameters of an estimator in alphabetical order, or fields of a dataclass."""
    if hasattr(kind, "_get_param_names"):  # scikit-learn's
        return tuple(kind._get_param_names())
    return tuple(field.name for field in fields(kind))
