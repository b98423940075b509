"""How files are collected: without optional libraries, imported once; ``--quick``, ``--cov``."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
SOURCE = ROOT / "src"

# Their doctests need torch; tests/neural says so when it is skipped.
collect_ignore_glob = [] if find_spec("torch") else ["src/depmax/neural/*"]

#: Whole runs, faults, limits and products of many options, which ``--quick`` leaves out.
LONG = (
    "tests/browser",
    "tests/cli/test_bad_input.py",
    "tests/cli/test_commands.py",
    "tests/cli/test_compare.py",
    "tests/cli/test_excel.py",
    "tests/cli/test_folders.py",
    "tests/cli/test_hostile_files.py",
    "tests/cli/test_next.py",
    "tests/cli/test_process.py",
    "tests/cli/test_streaming.py",
    "tests/contracts/test_collection.py",
    "tests/contracts/test_deflation_invariance.py",
    "tests/contracts/test_degenerate.py",
    "tests/contracts/test_faults.py",
    "tests/contracts/test_frames.py",
    "tests/contracts/test_labels.py",
    "tests/contracts/test_limits.py",
    "tests/contracts/test_mixed_tables.py",
    "tests/contracts/test_n_components.py",
    "tests/contracts/test_optimum.py",
    "tests/contracts/test_scales.py",
    "tests/contracts/test_searches.py",
    "tests/contracts/test_streamed_selection.py",
    "tests/docs",
    "tests/evaluation/compare",
    "tests/examples",
    "tests/fuzz",
    "tests/neural",
    "tests/reproduction",
)

#: Cases of one test that ``--quick`` runs at most, and of which ``--cov`` counts the lines.
MOST_CASES, MOST_COUNTED = 5, 10


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--quick``."""
    parser.addoption(
        "--quick",
        action="store_true",
        help="few cases of every test; no whole runs, no simulations, no scikit-learn checks",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out whole files and folders."""
    long = config.getoption("quick") and any(collection_path == ROOT / path for path in LONG)
    return True if long else None


def pytest_collect_file(file_path: Path) -> None:
    """Import a module of the package by its name before its doctests are looked for.

    Otherwise pytest imports its package and then runs the file a second time. Classes would be
    there twice, and the second module would stand where a function of its package has the same
    name.
    """
    if file_path.suffix == ".py" and file_path.is_relative_to(SOURCE):
        parts = file_path.relative_to(SOURCE).with_suffix("").parts
        if parts[-1] != "__main__":
            import_module(".".join(parts).removesuffix(".__init__"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Count lines in few cases of every test, and run no others with ``--quick``."""
    if config.getoption("cov_source", None):
        count_lines_of_few(items)
    if config.getoption("quick"):
        leave_out_most(config, items)


def count_lines_of_few(items: list[pytest.Item]) -> None:
    """Run most cases without the tracer, which doubles their time and finds no further lines."""
    fast = [item for item in items if not item.get_closest_marker("slow")]
    counted = set(thin_diagonal(fast, MOST_COUNTED))
    for item in items:
        if item not in counted:
            item.add_marker("no_cover")


def leave_out_most(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is slow, scikit-learn's checks, and most of the products of parameters."""
    fast = [
        item
        for item in items
        if not item.get_closest_marker("slow")
        and not item.get_closest_marker("cluster")
        and not item.name.startswith("test_scikit_learn")
    ]
    kept = set(thin_diagonal(fast, MOST_CASES))
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def thin_diagonal(items: list[pytest.Item], most: int) -> Iterator[pytest.Item]:
    """Of every test, few cases, spread over the values of its parameters.

    A test over 20 kernels, 6 targets and 3 options has 360 cases; 20 or a few more of them have
    every kernel, every target and every option, and at most ``most`` of these are taken.
    """
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in tests.values():
        seen: set[tuple[str, int]] = set()
        fresh = []
        for case in cases:
            callspec = getattr(case, "callspec", None)
            params = {} if callspec is None else callspec.params
            values = {(name, id(value)) for name, value in params.items()}
            if values - seen or not values:
                fresh.append(case)
            seen |= values
        yield from fresh[:: -(-len(fresh) // most)]
