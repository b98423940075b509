"""The examples of CONTRIBUTING, added to a copy of the package as the page says.

Every block starts with a comment that names a file: a whole file, an export of a package
(``…/__init__.py, and in __all__``), or an entry of a table (``…, in NAME``). ``make docs`` runs
them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import depmax

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(
    r"^```python\n# (src/\S+\.py)(?:, (and )?in (\w+))?\n(.*?)^```",
    (ROOT / "CONTRIBUTING.md").read_text("utf-8"),
    re.M | re.S,
)
#: Name of every example, as tests are called after it, and the fewest contracts that find it.
PARTS = {
    "cauchy": 5,
    "EveryNthRow": 40,
    "cross_covariance_norm": 1,
    "ColumnAlignment": 40,
    "CovarianceDirections": 40,
}


def _export(package: str, lines: str) -> str:
    """A package with one import more and its name in ``__all__``."""
    name = lines.split()[-1]
    package = package.replace("\nfrom ", f"\n{lines}from ", 1)
    return package.replace("__all__ = [", f'__all__ = [\n    "{name}",', 1)


def _enter(module: str, table: str, lines: str) -> str:
    """A module with one entry more in a table, and the import that the entry needs."""
    found = re.match(r"((?:from [^\n]*\n)*)\s*(.*)", lines, re.S)
    assert found is not None
    imports, entry = found.groups()
    start = re.search(rf"^(def )?{table}\b.*?[(\[{{]$", module, re.M | re.S)
    assert start is not None, f"{table} is not there any more"
    module = module[: start.end()] + "\n" + entry.rstrip().rstrip(",") + "," + module[start.end() :]
    return module.replace("\nfrom depmax", f"\n{imports}from depmax", 1)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder ``src`` of a copy of the package with all examples in it."""
    root = tmp_path_factory.mktemp("examples")
    package = Path(depmax.__file__).parent
    shutil.copytree(package, root / "src/depmax", ignore=shutil.ignore_patterns("__pycache__"))
    for path, exported, table, code in BLOCKS:
        file = root / path
        if not table:
            assert not file.exists(), f"{path} exists: choose another example"
            file.write_text(code, "utf-8")
        else:
            old = file.read_text("utf-8")
            new = _export(old, code) if exported else _enter(old, table, code)
            file.write_text(new, "utf-8")
    return root / "src"


@pytest.fixture(scope="module")
def run(source: Path) -> Callable[..., str]:
    """Runs Python with the copy."""
    path = os.pathsep.join([str(source), *sys.path])
    environment = os.environ | {"PYTHONPATH": path, "MPLBACKEND": "agg", "COLUMNS": "200"}

    def python(*arguments: str, folder: Path = ROOT) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
        return done.stdout

    return python


def test_there_is_one_file_and_one_export_for_every_kind_of_part() -> None:
    files = [path for path, _, table, _ in BLOCKS if not table]
    # what a model file may hold is a list of its own, for the sake of safety
    edits = [path for path, _, table, _ in BLOCKS if table and table != "_TRUSTED"]
    packages = ("kernels", "maps", "dependence", "selection", "extraction")
    exports = [f"src/depmax/{package}/__init__.py" for package in packages]
    tables = ["cli/reading/__init__.py", "evaluation/comparison/catalogue.py"]
    assert edits == exports + [f"src/depmax/{table}" for table in tables]
    assert [Path(path).parent for path in files] == [Path(path).parent for path in edits[:-1]]


@pytest.mark.pages
def test_contracts_find_the_new_parts_and_hold(run: Callable[..., str]) -> None:
    contracts = ["tests/contracts", "-q", "-rA", "-p", "no:cacheprovider", "-p", "no:xdist"]
    report = run("-m", "pytest", *contracts, "-k", " or ".join(PARTS))
    passed = [line for line in report.splitlines() if line.startswith("PASSED")]
    for part, fewest in PARTS.items():
        assert sum(part.lower() in line.lower() for line in passed) >= fewest, part


USE = """
import json
from pathlib import Path
import numpy as np
import depmax
from depmax.cli.commands import app
from depmax.cli.reading import open_source
from depmax.kernels import as_kernel
from depmax.maps import EveryNthRow
from depmax.testing import check_extractor, check_kernel, check_map, check_measure, check_selector

assert Path(depmax.__file__).is_relative_to({source!r}), depmax.__file__
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 5))
y = (X[:, 1] > 0).astype(int)
check_kernel("cauchy", X)
check_map(EveryNthRow(60, kernel=as_kernel("cauchy")), X, tol=1e-6)
check_measure(depmax.cross_covariance_norm, X, X[:, 0])
check_selector(depmax.ColumnAlignment(2), X, y)
check_extractor(depmax.CovarianceDirections(2), X, y)

rows = [dict(zip("abcde", map(float, row)), label="no yes".split()[t]) for row, t in zip(X, y)]
Path("table.jsonl").write_text("\\n".join(map(json.dumps, rows)))
assert open_source("table.jsonl").read().shape == (60, 6)
methods = ["covariance directions", depmax.ColumnAlignment()]
print(depmax.compare(X, y, methods, cv=2, dimensions=[1]))
for line in (
    "select table.jsonl -t label -m ColumnAlignment -n 1 -o few.csv",
    "fit table.jsonl -t label -m covariance-directions -n 1 -o model.skops",
    "transform model.skops table.jsonl -o features.csv",
):
    app(line.split(), standalone_mode=False)
assert len(Path("features.csv").read_text().splitlines()) == 61
Path("bad.jsonl").write_text("not json")
try:
    open_source("bad.jsonl").read()
except Exception as error:
    assert type(error).__name__ == "DataError" and "bad.jsonl" in str(error)
else:
    raise AssertionError("a file of another format must be refused")
"""


@pytest.mark.pages
def test_new_parts_serve_users(run: Callable[..., str], source: Path, tmp_path: Path) -> None:
    pytest.importorskip("polars", reason="the command line needs it")
    report = run("-c", USE.format(source=str(source)), folder=tmp_path)
    assert "covariance directions" in report
