"""Every parameter that is a number or a switch is declared; anything else is refused by name.

Private modules: the declared rules are what is read, so that no parameter is left out.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from depmax import extraction, maps, selection
from depmax._parameters import integer, number, one_of, rules_of
from depmax.extraction import DependenceExtractor
from depmax.maps import FeatureMap
from depmax.selection import DependenceSelector
from tests.contracts.discovery import classes

ESTIMATORS: dict[str, type] = {
    **classes(selection, DependenceSelector),
    **classes(extraction, DependenceExtractor),
    **classes(maps, FeatureMap),
}
try:
    from depmax import neural
    from depmax.neural._extractor import NeuralExtractor

    ESTIMATORS |= classes(neural, NeuralExtractor)
    SOLVERS: list[type] = [neural.FullBatch, neural.MiniBatch]
except ImportError:  # the extra "neural" is not installed
    SOLVERS = []
SOLVERS += [extraction.NaturalGradient, extraction.QuasiNewton]
BASES = {"DependenceSelector", "DependenceExtractor", "FeatureMap"}
ESTIMATORS = {name: part for name, part in ESTIMATORS.items() if name not in BASES}

#: How many is read with the data at hand, by a check of its own.
OWN_CHECK = {"n_components", "n_features_to_select"}
X = np.random.default_rng(0).normal(size=(40, 4))
Y = (X[:, 0] > 0).astype(int)
BAD: list[Any] = [float("nan"), float("inf"), -1, "x", True, np.True_, 2.5, -np.inf, [1], {}]


def _is_plain(parameter: inspect.Parameter) -> bool:
    """Whether a number or a switch is among what a parameter takes."""
    kinds = str(parameter.annotation).replace("Alpha", "float")
    kinds = kinds.replace("tuple[int, ...]", "")  # a sequence is declared too, but is no number
    return any(kind in kinds.replace("|", " ").split() for kind in ("int", "float", "bool"))


def _plain_parameters() -> list[Any]:
    found = []
    for name, part in ESTIMATORS.items():
        for parameter in inspect.signature(part).parameters.values():
            if _is_plain(parameter) or parameter.name == "random_state":
                found.append(pytest.param(part, parameter, id=f"{name}-{parameter.name}"))
    return found


every_parameter = pytest.mark.parametrize(("part", "parameter"), _plain_parameters())


@every_parameter
def test_numbers_and_switches_are_declared(part: type, parameter: inspect.Parameter) -> None:
    if parameter.name in OWN_CHECK:
        return
    rule = rules_of(part)[parameter.name]
    rule.require(parameter.default, parameter.name, part.__name__)


def _is_meant(parameter: inspect.Parameter, value: Any) -> bool:
    """Whether a value that is bad elsewhere has a meaning here."""
    if isinstance(value, bool | np.bool_):
        return "bool" in str(parameter.annotation) or parameter.name == "verbose"
    if isinstance(value, int) and value == -1:
        return parameter.name == "n_jobs"
    if isinstance(value, float) and value == 2.5:
        free = ("alpha", "target_alpha", "C", "noise", "weight_decay")  # numbers of any size
        return parameter.name in free
    return False


@every_parameter
def test_nonsense_is_refused_by_name(part: type, parameter: inspect.Parameter) -> None:
    for value in BAD:
        if _is_meant(parameter, value):
            assert rules_of(part)[parameter.name].accepts(value)
            continue
        refusal = rf"{parameter.name} of {part.__name__}\b"
        with pytest.raises((TypeError, ValueError), match=refusal):
            part(**{parameter.name: value}).fit(X, Y)


@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_refuse_nonsense_when_they_are_made(solver: type) -> None:
    for parameter in inspect.signature(solver).parameters.values():
        for value in [*BAD[:6], -np.inf, [1], {}]:
            with pytest.raises(ValueError, match=f"{parameter.name} of {solver.__name__} must be"):
                solver(**{parameter.name: value})


@pytest.mark.parametrize(
    ("rule", "text", "good", "bad"),
    [
        (number(0), "a number >= 0", [0, 1e9, np.float32(2)], [-1e-9, np.inf, True]),
        (number(0, ends="()"), "a positive number", [1e-300], [0]),
        (number(0, 1), "a number from 0 to 1", [0, 1], [1.1, np.nan]),
        (number(0, 1, ends="[)"), "a number >= 0 and < 1", [0], [1]),
        (number(0, 1, ends="(]"), "a number > 0 and <= 1", [1], [0]),
        (number(0, also=["auto"]), "a number >= 0 or 'auto'", ["auto"], ["x", None]),
        (integer(2), "an integer >= 2", [2, np.int8(3)], [1, 2.0, True]),
        (integer(1, also=["all", None]), "an integer >= 1, 'all' or None", ["all", None], [0]),
        (one_of(True, False), "True or False", [True, np.False_], [1, 0, "True"]),
        (one_of("a"), "'a'", ["a"], ["b", None, ["a"]]),
    ],
)
def test_rules_say_what_they_accept(rule: Any, text: str, good: list[Any], bad: list[Any]) -> None:
    assert rule.text == text
    assert [rule.accepts(value) for value in good] == [True] * len(good)
    assert [rule.accepts(value) for value in bad] == [False] * len(bad)
