"""Pages and pictures of the site that are made from the code: run by ``conf.py``, or by hand.

The reference has a page per package with every name that the package exports; the drawing of the
architecture is made from the layering contract; the decision picture from the list below.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import tomllib
import warnings
from dataclasses import dataclass
from html import escape
from pathlib import Path
from types import ModuleType
from typing import Any

import depmax

ROOT = Path(__file__).parents[1]

#: Title of every package's page, in the order of the index. The last ones are for contributors.
PACKAGES = {
    "dependence": "Measures, tests and screening",
    "selection": "Selectors",
    "extraction": "Extractors",
    "kernels": "Kernels",
    "maps": "Feature maps",
    "evaluation": "Comparison and evaluation",
    "persistence": "Models in files",
    "onnx": "Models as ONNX graphs",
    "plotting": "Pictures",
    "report": "Reports",
    "datasets": "Data sets",
    "neural": "Neural extractors",
    "testing": "Contracts for parts of your own",
    "data": "Rows, targets and files (for contributors)",
    "algebra": "Sums over rows and directions (for contributors)",
    "evidence": "Scores, draws and the rule (for contributors)",
}
#: Names that a package exports in another way than by ``__all__``.
WITHOUT_ALL = {"persistence": ["load_model", "save_model"]}
#: Names of ``depmax`` that belong to a page, but not to the ``__all__`` of its package.
ALSO = {
    "algebra": [
        "depmax.GaussianGraph",
        "depmax.GivenGraph",
        "depmax.NeighborGraph",
        "depmax.RadiusGraph",
    ],
    "kernels": ["depmax.ScaleWarning", "depmax.UnseenCategoryWarning"],
}


def imported(module: str) -> Any:
    """A module of depmax; without torch, classes that need it are read all the same."""
    if importlib.util.find_spec("torch"):
        return importlib.import_module(module)
    from sphinx.ext.autodoc.mock import mock

    with mock(["torch"]):
        return importlib.import_module(module)


def exported(package: str) -> list[str]:
    """Full public names of what a package exports, the short one where ``depmax`` has it too."""
    module = imported(f"depmax.{package}")
    names = WITHOUT_ALL.get(package) or module.__all__
    own = [f"{_owner(module, name)}.{name}" for name in sorted(names, key=str.lower)]
    return own + ALSO.get(package, [])


def _owner(module: ModuleType, name: str) -> str:
    shared = name in depmax.__all__ and getattr(depmax, name) is getattr(module, name)
    return "depmax" if shared else module.__name__


def _get(full_name: str) -> Any:
    module, _, name = full_name.rpartition(".")
    return getattr(imported(module), name)


def _summary(names: list[str]) -> str:
    lines = "\n".join(f"   {name}" for name in names)
    options = "   :toctree: generated\n   :nosignatures:"
    return f"```{{eval-rst}}\n.. autosummary::\n{options}\n\n{lines}\n```"


def reference_page(package: str) -> str:
    """The page of a package: its summary line, classes, functions and what else it exports."""
    module = imported(f"depmax.{package}")
    first = inspect.cleandoc(module.__doc__ or "").split("\n\n")[0].replace("``", "`")
    names = exported(package)
    groups: dict[str, list[str]] = {"Classes": [], "Functions": [], "Types and constants": []}
    for name in names:
        value = _get(name)
        kind = "Classes" if inspect.isclass(value) else "Functions"
        groups[kind if inspect.isclass(value) or callable(value) else "Types and constants"].append(
            name
        )
    parts = [f"# {PACKAGES[package]}", f"`depmax.{package}`: {first}"]
    for title, group in groups.items():
        if group:
            parts += [f"## {title}", _summary(group)]
    return "\n\n".join(parts) + "\n"


def layers() -> list[list[str]]:
    """Packages from top to bottom, as the layering contract has them; helpers are one layer."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (packages,) = (contract for contract in contracts if contract["id"] == "packages")
    return [re.findall(r"\w+", layer) for layer in packages["layers"] if layer != "__main__"]


def draw_layers() -> str:
    """The packages as floors: an import may only go down."""
    width, height, gap, left = 720, 46, 14, 40
    rows = layers()
    parts = []
    for floor, names in enumerate(rows):
        top = floor * (height + gap) + 6
        step = (width - left) / len(names)
        for position, name in enumerate(names):
            x = left + position * step
            parts.append(_box(x, top, step - 10, height, name, "#e8f0fb", "#35609c", mono=True))
    bottom = len(rows) * (height + gap)
    arrow = (
        f'<path d="M18 12 V{bottom - 26}" stroke="#7a8699" stroke-width="2"/>'
        f'<path d="M12 {bottom - 34} L18 {bottom - 20} L24 {bottom - 34} Z" fill="#7a8699"/>'
    )
    return _svg(width, bottom, "Packages from top to bottom; imports go down only", [arrow, *parts])


@dataclass(frozen=True)
class Step:
    """One question of the decision picture, and the answer that ends it."""

    question: str
    condition: str
    answer: str


#: From the first to the last question; what each rests on is said in docs/methods.md.
DECISION = (
    Step("Not sure what you need?", "let held-out rows decide", "compare(X, y)"),
    Step("Is there anything to find?", "one p-value for all", "hsic_test(X, y)"),
    Step("Which columns matter, each alone?", "score and p-value each", "screen(X, y)"),
    Step("Which pairs work only together?", "every pair tested", "screen_pairs(X, y)"),
    Step("Keep the few best columns?", "a hundred rows or more", "KernelRidgeElimination"),
    Step("… thousands of columns, few rows?", "say 60 rows of genes", "BAHSIC"),
    Step("… in milliseconds?", "one convex problem", "HSICLasso"),
    Step("Build new features?", "classes, or numbers", "HSCA"),
    Step("… a linear trend in numbers?", "one direction or two", "SIR, KernelPLS"),
    Step("… with few labels?", "unlabelled rows help", "HBFE(beta=…)"),
    Step("… cheap for new rows?", "k kernel values per row", "SMA, SparseKernelPLS"),
)


def draw_decision() -> str:
    """Questions down the left side, each with its answer on the right."""
    width, height, gap = 640, 52, 12
    parts = []
    for row, step in enumerate(DECISION):
        top = row * (height + gap) + 4
        parts.append(_box(4, top, 286, height, step.question, "#f4f5f7", "#7a8699"))
        middle = top + height / 2
        parts.append(
            f'<path d="M294 {middle} H384" stroke="#7a8699" stroke-width="2"/>'
            f'<path d="M384 {middle - 6} L396 {middle} L384 {middle + 6} Z" fill="#7a8699"/>'
        )
        label = _box(400, top, 236, height, step.answer, "#e8f0fb", "#35609c", step.condition, True)
        parts.append(label)
        if row + 1 < len(DECISION):
            parts.append(
                f'<path d="M147 {top + height} v{gap}" stroke="#7a8699" stroke-width="2"/>'
            )
    total = len(DECISION) * (height + gap)
    return _svg(width, total, "Which method answers which question", parts)


def _box(
    x: float, y: float, width: float, height: float, text: str, fill: str, stroke: str,
    note: str = "", mono: bool = False,
) -> str:  # fmt: skip  # shorter to read in this form
    family = "ui-monospace, monospace" if mono else "system-ui, sans-serif"
    middle, baseline = x + width / 2, y + height / 2 + (-2 if note else 5)
    lines = (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" rx="7" '
        f'fill="{fill}" stroke="{stroke}"/>'
        f'<text x="{middle:.1f}" y="{baseline:.1f}" text-anchor="middle" font-size="15" '
        f'font-family="{family}" fill="#1c2430">{escape(text)}</text>'
    )
    if note:
        lines += (
            f'<text x="{middle:.1f}" y="{baseline + 18:.1f}" text-anchor="middle" font-size="13" '
            f'font-family="system-ui, sans-serif" fill="#4a5568">{escape(note)}</text>'
        )
    return lines


def _svg(width: float, height: float, title: str, parts: list[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img">\n<title>{escape(title)}</title>\n'
        f"{body}\n</svg>\n"
    )


def _write(path: Path, text: str) -> None:
    """Only what has changed, so that Sphinx reads no page twice."""
    if not path.exists() or path.read_text("utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


#: Scripts of the gallery, from what most readers need to what few do.
GALLERY = (
    "screening", "mixed_table", "what_a_column_does", "planted_targets",
    "more_columns_than_rows", "spectra", "text", "promoters", "multi_label",
    "semi_supervised", "eeg_bands", "causal_discovery", "own_kernel", "own_criterion",
)  # fmt: skip  # shorter to read in this form


def gallery_order(file: str) -> int:
    """Place of a script in the gallery."""
    return GALLERY.index(Path(file).stem)


def warnings_are_errors(settings: dict[str, Any], example: str, when: str) -> None:
    """A warning in an example fails the build; called before and after each of them."""
    if when == "before":
        _FILTERS[:] = warnings.filters
        warnings.simplefilter("error")
    else:
        warnings.filters[:] = _FILTERS


_FILTERS: list[Any] = []


def write_all(docs: Path) -> None:
    """Write all generated files below ``docs``."""
    for package in PACKAGES:
        _write(docs / "reference" / f"{package}.md", reference_page(package))
    _write(docs / "images" / "layers.svg", draw_layers())
    _write(docs / "images" / "decision.svg", draw_decision())


if __name__ == "__main__":
    write_all(Path(__file__).parent)
