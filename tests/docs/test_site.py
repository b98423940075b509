"""The site leaves nothing out: reference, method map, pictures, docstrings."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import inspect
import pkgutil
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import BaseEstimator

import depmax
from depmax import dependence, extraction, maps, selection
from depmax.evaluation.comparison.catalogue import catalogue
from tests.contracts.discovery import classes, functions

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
assert _spec is not None
assert _spec.loader is not None
generate = importlib.util.module_from_spec(_spec)
sys.modules["generate"] = generate  # dataclasses look their module up
_spec.loader.exec_module(generate)

#: ``cli`` has a guide of its own.
PACKAGES = {
    module.name for module in pkgutil.iter_modules(depmax.__path__) if module.name[0] != "_"
} - {"cli"}
#: Needs torch, and is not looked into without it.
TORCH = importlib.util.find_spec("torch") is not None
READABLE = sorted(PACKAGES if TORCH else PACKAGES - {"neural"})
#: Errors of numpydoc's validation that every public docstring is free of,
VALIDATED = {
    "GL01", "GL02", "GL03", "GL05", "GL06", "GL07", "GL08", "GL09", "GL10",
    "SS01", "SS02", "SS04", "PR02", "PR03", "PR04", "PR05",
}  # fmt: skip  # shorter to read in this form
#: and these of missing parameters and returns, except: packages for contributors have them in type
#: hints; kernels below are made by operators and ``as_kernel``; the function is handed over.
PARAMETERS_ELSEWHERE = {
    "depmax.kernels.FromMap",
    "depmax.kernels.FromScikitLearn",
    "depmax.kernels.Product",
    "depmax.kernels.Scaled",
    "depmax.kernels.Sum",
}


def _checks(name: str, value: Any) -> set[str]:
    if name.startswith(("depmax.data.", "depmax.algebra.")):
        return VALIDATED
    # A dataclass describes its fields as attributes.
    if dataclasses.is_dataclass(value) or name in PARAMETERS_ELSEWHERE:
        return VALIDATED | {"RT01"}
    return VALIDATED | {"PR01", "RT01"}


def _names() -> list[str]:
    return sorted({name for package in READABLE for name in generate.exported(package)})


def test_every_package_has_a_page() -> None:
    assert set(generate.PACKAGES) == PACKAGES
    index = (DOCS / "reference" / "index.md").read_text("utf-8")
    assert all(f"\n{package}\n" in index for package in PACKAGES)


def test_every_name_of_depmax_is_in_the_reference() -> None:
    listed = {name.removeprefix("depmax.") for name in _names()}
    assert set(depmax.__all__) - {"__version__"} <= listed


@pytest.mark.parametrize("name", _names())
def test_docstring_is_complete(name: str) -> None:
    validate = pytest.importorskip("numpydoc.validate", reason="comes with depmax[dev]").validate
    module, _, attribute = name.rpartition(".")
    value = getattr(importlib.import_module(module), attribute)
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        return  # a type or a constant: its comment is not a docstring
    found = [text for code, text in validate(name)["errors"] if code in _checks(name, value)]
    assert not found, found


def _estimators() -> list[str]:
    packages = ["selection", "extraction", "maps"] + ["neural"] * TORCH
    bases = {"DependenceSelector", "DependenceExtractor", "FeatureMap"}
    found: list[str] = []
    for package in packages:
        module: Any = importlib.import_module(f"depmax.{package}")
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) and issubclass(value, BaseEstimator) and name not in bases:
                found.append(name)
    return found


def test_the_method_map_has_every_estimator() -> None:
    mapped = re.findall(r"^\| `(\w+)` \|", (DOCS / "methods.md").read_text("utf-8"), re.M)
    assert len(mapped) == len(set(mapped))
    assert set(_estimators()) <= set(mapped)
    own = {method.name.replace("-", "") for method in catalogue().values()}
    assert own & set(depmax.__all__) <= set(mapped)
    neural = {"NeuroHBFE", "NeuroHSCA", "NeuroStructure", "Autoencoder"}
    assert set(mapped) <= set(_estimators()) | neural


def test_the_decision_picture_names_what_exists() -> None:
    for step in generate.DECISION:
        for name in re.findall(r"\b[A-Za-z_]{3,}\b", re.sub(r"\(.*?\)", "", step.answer)):
            assert name in depmax.__all__, name


def test_pictures_are_those_of_the_code() -> None:
    drawn = {"layers": generate.draw_layers(), "decision": generate.draw_decision()}
    for name, picture in drawn.items():
        kept = (DOCS / "images" / f"{name}.svg").read_text("utf-8")
        assert kept == picture, "run python docs/generate.py"


def test_the_citation_has_the_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"version: {depmax.__version__}\n" in citation


def test_the_page_of_limits_has_every_public_name() -> None:
    """Its table is written by benchmarks/bench_limits.py, also for what was not run."""
    page = (ROOT / "docs" / "limits.md").read_text("utf-8")
    exported = {
        name for package in (dependence, extraction, selection, maps) for name in package.__all__
    }
    bases = {
        extraction: extraction.DependenceExtractor,
        selection: selection.DependenceSelector,
        maps: maps.FeatureMap,
    }
    estimators = {name for package, base in bases.items() for name in classes(package, base)}
    wanted = exported & {*functions(dependence), *estimators}
    assert not [name for name in sorted(wanted) if f"| `{name}` |" not in page]
