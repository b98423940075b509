"""Methods that the user names, or brings along."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sklearn.base import clone

from depmax.evaluation.comparison.catalogue import catalogue, default_methods
from depmax.evaluation.comparison.methods import Method, Sized, all_columns, as_many_as_rows
from depmax.evaluation.comparison.setting import Problem

Methods = Mapping[str, Any] | Iterable[Any] | str | None

#: Parameters that say how many features come out.
DIMENSION_PARAMETERS = ("n_components", "n_features_to_select", "k")


def read_methods(methods: Methods, problem: Problem) -> tuple[Method, ...]:
    """Methods from None (by the data), names, estimators, or a dictionary of both."""
    if methods is None:
        return default_methods(problem)
    if isinstance(methods, str):
        methods = [methods]
    if isinstance(methods, Mapping):
        found = [_named(name, part) for name, part in methods.items()]
    else:
        found = [_unnamed(part) for part in methods]
    if not found:
        raise ValueError("methods is empty: name at least one, or pass None for a choice.")
    names = [method.name for method in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"Two methods are called {twice[0]!r}: pass a dictionary, with a name for each."
        )
    return tuple(found)


def _named(name: str, part: Any) -> Method:
    return replace(_unnamed(part), name=str(name))


def _unnamed(part: Any) -> Method:
    if isinstance(part, str):
        return find_method(part)
    if isinstance(part, Method):
        return part
    return method_of(part)


def find_method(name: str) -> Method:
    """Method of the catalogue with a name, spelled with any case, spaces or hyphens."""
    known = {plain_name(method.name): method for method in catalogue()}
    if plain_name(name) in known:
        return known[plain_name(name)]
    near = difflib.get_close_matches(plain_name(name), known) or list(known)
    names = ", ".join(repr(known[key].name) for key in near)
    raise ValueError(f"There is no method named {name!r}: try {names}, or pass an estimator.")


def plain_name(name: str) -> str:
    """A name without case, spaces and hyphens.

    Examples
    --------
    >>> plain_name("HSIC-Lasso")
    'hsiclasso'
    """
    return "".join(letter for letter in name.lower() if letter.isalnum())


def method_of(estimator: Any) -> Method:
    """A scikit-learn estimator as a method.

    A transformer whose parameters (or those of the last step of a pipeline) hold ``n_components``,
    ``n_features_to_select`` or ``k`` has its dimension chosen; a predictor stands by itself.
    """
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise TypeError(
            f"A method is a name, an unfitted estimator or a Method, got {estimator!r}."
        )
    name = _name_of(estimator)
    if not hasattr(estimator, "transform"):
        if not hasattr(estimator, "predict"):
            raise TypeError(f"{name} can neither transform nor predict.")
        return Method(name, Sized(clone(estimator)), has_dimension=False, predicts=True)
    parameter = _dimension_parameter(estimator)
    selects = hasattr(estimator, "get_support")
    categories = type(estimator).__module__.startswith("depmax.") and selects
    return Method(
        name,
        Sized(clone(estimator), parameter),
        has_dimension=parameter is not None,
        selects=selects,
        takes_categories=categories,
        takes_sparse=True,
        largest=all_columns if selects or not _has_kernel(estimator) else as_many_as_rows,
    )


def _has_kernel(estimator: Any) -> bool:
    """Whether features may outnumber columns, as those of a kernel do."""
    while getattr(estimator, "steps", None):
        estimator = estimator.steps[-1][1]
    return "kernel" in estimator.get_params(deep=False)


def _name_of(estimator: Any) -> str:
    steps = getattr(estimator, "steps", None)
    return " + ".join(_name_of(step) for _, step in steps) if steps else type(estimator).__name__


def _dimension_parameter(estimator: Any) -> str | None:
    prefix = ""
    while getattr(estimator, "steps", None):
        name, estimator = estimator.steps[-1]
        prefix += f"{name}__"
    parameters = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    found = next((name for name in DIMENSION_PARAMETERS if name in parameters), None)
    return None if found is None else prefix + found
