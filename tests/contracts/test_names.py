"""Words that users meet: a name has one meaning, and messages are present-day English."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import depmax
from depmax import evaluation, extraction, kernels, maps, selection

#: Parameters that another name is used for, each with its reason.
REPLACED = {
    "Y": "targets are y",
    "level": "a significance_level, a confidence_level or a false discovery rate (fdr)",
}
PACKAGES = (depmax, evaluation, extraction, kernels, maps, selection)
PUBLIC = {
    f"{package.__name__}.{name}": getattr(package, name)
    for package in PACKAGES
    for name in package.__all__
    if callable(getattr(package, name)) and not name.endswith("Warning")
}
ESTIMATORS = {
    name: found
    for name, found in PUBLIC.items()
    if isinstance(found, type) and issubclass(found, BaseEstimator)
}
#: Phrases that no message, help text or report uses.
DATED = re.compile(
    r"(?<![Tt]here )\b(is|are) no (?!longer|larger|more|better)"
    r"|\b(has|have) not\b|\bin place of\b|\bnobody\b|\btold\b|\bof ours\b|\bdear\b"
)


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_a_parameter_has_one_name_everywhere(name: str) -> None:
    for parameter in inspect.signature(PUBLIC[name]).parameters:
        assert parameter not in REPLACED, REPLACED[parameter]


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_a_parameter_does_not_hide_a_method(name: str) -> None:
    estimator = ESTIMATORS[name]
    methods = {name for name in dir(estimator) if callable(getattr(estimator, name, None))}
    assert not set(inspect.signature(estimator).parameters) & {"predict", "score", *methods}


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of every string that is not a docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in docstrings:
            yield node.lineno, node.value


def test_messages_are_present_day_english() -> None:
    package = Path(inspect.getfile(depmax)).parent
    dated = [
        f"{path.relative_to(package)}:{line}: {text}"
        for path in sorted(package.rglob("*.py"))
        for line, text in _texts(path)
        if DATED.search(text)
    ]
    assert not dated
