"""The plan of the house: what lies open in a package is what the package offers."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import depmax

PACKAGES = ("kernels", "maps", "dependence", "selection", "extraction", "neural")
SOURCE = Path(depmax.__file__).parent
TESTS = Path(__file__).parents[1]


def _defined(module: Path) -> set[str]:
    """Names that a module or package defines itself."""
    found: set[str] = set()
    for node in ast.parse(module.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def _exported(package: str) -> set[str]:
    """``__all__`` of a package, read and not imported: neural needs torch."""
    for node in ast.parse((SOURCE / package / "__init__.py").read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    raise AssertionError(f"{package} has no __all__")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_open_module_defines_what_the_room_exports(package: str) -> None:
    """Machinery lies one level down: in modules and packages that start with an underscore."""
    exported = _exported(package)
    machinery = [
        path.name
        for path in sorted((SOURCE / package).iterdir())
        if not path.name.startswith("_")
        and (path.suffix == ".py" or path.is_dir())
        and not (path.suffix == ".py" and exported & _defined(path))
    ]
    assert not machinery, f"{machinery} export nothing: give them an underscore"


def _assigned(module: Path) -> list[str]:
    """Constants that a module gives a value to, each as often as it does."""
    return [
        name.id
        for node in ast.parse(module.read_text("utf-8")).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name) and name.id.isupper()
    ]


def test_no_module_gives_a_constant_two_values() -> None:
    """The first one would be lost to what was written for it, without an error."""
    modules = sorted(SOURCE.rglob("*.py"))
    twice = [path.name for path in modules if len(_assigned(path)) > len({*_assigned(path)})]
    assert not twice


# --- data of tests --------------------------------------------------------------------------------
GENERATORS = ("np.random.default_rng", "np.random.RandomState")


def _names(nodes: list[ast.stmt], context: type[ast.expr_context]) -> set[str]:
    """Names that statements read or assign."""
    parts = (part for node in nodes for part in ast.walk(node))
    return {p.id for p in parts if isinstance(p, ast.Name) and isinstance(p.ctx, context)}


def _shared_draws(module: Path) -> list[str]:
    """Functions that draw from a generator of their module."""
    tree = ast.parse(module.read_text("utf-8"))
    generators = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if ast.unparse(node.value.func) in GENERATORS
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return [
        f"{module.relative_to(TESTS)}:{part.lineno}"
        for node in tree.body
        for part in ([node, *node.body] if isinstance(node, ast.ClassDef) else [node])
        if isinstance(part, ast.FunctionDef)
        if (generators & _names(part.body, ast.Load))
        - {argument.arg for argument in part.args.args}
        - _names(part.body, ast.Store)
    ]


def test_no_test_draws_from_a_generator_that_others_draw_from() -> None:
    """Its data would depend on which tests ran before: ask for the fixture ``rng``."""
    found = [place for module in sorted(TESTS.rglob("*.py")) for place in _shared_draws(module)]
    assert not found, found


def test_a_test_that_imports_a_private_module_says_why() -> None:
    """What is public can be rewritten inside; a test of what is private must be worth its price."""
    private = re.compile(
        r"^\s*((from|import) depmax\.(\w+\.)*_[a-z]|from depmax[.\w]* import (\w+, )*_[a-z])",
        re.MULTILINE,
    )
    texts = {path: path.read_text("utf-8") for path in sorted(TESTS.rglob("*.py"))}
    silent = [
        str(path.relative_to(TESTS))
        for path, text in texts.items()
        if private.search(text)
        and "Private modules: " not in (ast.get_docstring(ast.parse(text)) or "")
    ]
    assert not silent, f"{silent}: test what is public, or say 'Private modules: why' at the top"
