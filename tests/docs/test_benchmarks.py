"""Scripts in ``benchmarks``: each serves a page and runs in seconds with ``make bench SMOKE=1``."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALL = sorted((ROOT / "benchmarks").glob("*.py"))
SCRIPTS = [path for path in ALL if path.name[0] != "_" and path.stem != "common"]
#: Laws of single tests have no public name: what is simulated is how good their approximations are.
#: The limit of a compiled loop is measured by its own multiply-add.
PRIVATE = {"_calibrate_corners", "_calibrate_pvalues", "bench_subsequence"}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_page_uses_it(path: Path) -> None:
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "mathematics").glob("*.md")]
    texts = [page.read_text("utf-8") for page in pages]
    names = (f"{path.stem}.py", f"SCRIPTS={path.stem}")
    assert any(name in text for text in texts for name in names)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_it_takes_seconds_if_asked(path: Path) -> None:
    """``common.parse`` adds the option ``--smoke`` to those of a script."""
    calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if _is_parse(node)]
    assert len(calls) == 1


def _is_parse(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    if isinstance(function, ast.Attribute):
        return isinstance(function.value, ast.Name) and ast.unparse(function) == "common.parse"
    return ast.unparse(function) == "parse"


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_what_it_imports_is_there(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("depmax.")):
            continue
        assert node.module is not None
        names = [name.name for name in node.names]
        assert "._" not in ".".join([node.module, *names]) or path.stem in PRIVATE
        if node.module != "depmax.neural":  # needs torch
            module = importlib.import_module(node.module)
            assert all(hasattr(module, name) or name[0] == "_" for name in names)
