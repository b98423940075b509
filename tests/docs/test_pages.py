"""Every code block of README and guide runs, with what the page says to install and no more.

``make docs`` runs them, ``make test`` the rest.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNNER = Path(__file__).parent / "snippets.py"
OPTIONAL = {
    "chemotools", "dask", "jinja2", "matplotlib", "onnxruntime", "pandas", "polars",
    "pyarrow", "rich", "skl2onnx", "skops", "torch", "typer",
}  # fmt: skip  # shorter to read in this form
COMMAND_LINE = {"jinja2", "matplotlib", "polars", "pyarrow", "rich", "skops", "typer"}
#: What the page says to install; the command line's own block of README asks for more.
PAGES = {
    "README.md": {"jinja2", "matplotlib", "pandas", *COMMAND_LINE},
    "docs/guide/command_line.md": {"pandas", *COMMAND_LINE},
    "docs/guide/compare.md": {"jinja2", "matplotlib", "pandas"},
    "docs/guide/neural.md": {"torch"},
    "docs/start.md": {"pandas", *COMMAND_LINE},
    "docs/coming_from.md": set(),
    "docs/guide/building.md": set(),
    "docs/guide/cautions.md": {"pandas", *COMMAND_LINE},
    "docs/guide/correlation.md": {"pandas", *COMMAND_LINE},
    "docs/guide/faq.md": {"pandas"},
    "docs/guide/genes.md": {"pandas", *COMMAND_LINE},
    "docs/guide/index.md": set(),
    "docs/guide/install.md": set(),
    "docs/guide/kernels.md": {"pandas"},
    "docs/guide/large_data.md": set(),
    "docs/guide/multi_label.md": set(),
    "docs/guide/report.md": set(),
    "docs/guide/profile.md": {"pandas", *COMMAND_LINE},
    "docs/guide/saving.md": {"onnxruntime", "skl2onnx", "skops"},
    "docs/guide/screening.md": {"pandas"},
    "docs/guide/selecting.md": {"pandas"},
    "docs/guide/semi_supervised.md": set(),
    "docs/guide/spectra.md": {"chemotools", "matplotlib"},
    "docs/guide/texts.md": {"pandas"},
    "docs/guide/surveys.md": {"pandas", *COMMAND_LINE},
    "docs/guide/survival.md": {"pandas"},
    "docs/guide/testing.md": {"pandas"},
    "docs/guide/threads.md": set(),
    "docs/guide/visits.md": {"pandas"},
}
#: Pages of code outside ``docs/guide``.
OTHER_PAGES = {"README.md", "docs/start.md", "docs/coming_from.md"}


def _run(code: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"MPLBACKEND": "agg", "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, *code], cwd=folder, env=environment, capture_output=True, text=True
    )


def test_every_page_is_known() -> None:
    guide = {f"docs/guide/{path.name}" for path in (ROOT / "docs" / "guide").glob("*.md")}
    assert OTHER_PAGES | guide == set(PAGES)


@pytest.mark.pages
@pytest.mark.parametrize("page", sorted(PAGES))
def test_blocks_run_as_they_stand(page: str, tmp_path: Path) -> None:
    lacking = [name for name in PAGES[page] if find_spec(name) is None]
    if lacking:
        pytest.skip(f"the page says to install {', '.join(lacking)}")
    hidden = ",".join(sorted(OPTIONAL - PAGES[page]))
    done = _run([str(RUNNER), str(ROOT / page), hidden], tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]


def test_what_readme_says_of_single_columns() -> None:
    from depmax import screen
    from depmax.datasets import load

    text = (ROOT / "README.md").read_text("utf-8")
    said = re.search(r"adjusted p-values (0\.\d+) and (0\.\d+)", text)
    assert said is not None
    data = load("madelon")
    found = screen(data.X, data.y).pvalues_adjusted[[378, 281, 241, 451, 493]]
    assert [f"{value:.2f}" for value in found if value > 0.05] == list(said.groups())


def test_extras_that_pages_name_exist() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for page in PAGES:
        text = (ROOT / page).read_text("utf-8")
        for extra in re.findall(r"(?:depmax|'\.)\[(\w+)\]", text):
            assert extra in project["optional-dependencies"], (page, extra)


PLAIN = """
import sys
sys.path.insert(0, {folder!r})
from snippets import Hide
sys.meta_path[:] = [Hide(finder, {hidden!r}) for finder in sys.meta_path]
import numpy as np
import depmax
X = np.random.default_rng(0).normal(size=(40, 5))
y = (X[:, 0] > 0).astype(int)
depmax.BAHSIC(2).fit_transform(X, y)
depmax.HSCA(2).fit_transform(X, y)
found = depmax.compare(X, y, ["PCA"], cv=2, dimensions=[1])
print(found)
type(found).report = None  # nothing may be computed for a page that cannot be written
for act in (
    lambda: found.to_html("report.html"),
    lambda: found.plot(),
    lambda: found.table,
    lambda: depmax.save_model(found, "model.skops"),
    lambda: depmax.screen(X, y).to_frame(),
):
    try:
        act()
    except ImportError as error:
        print("needs:", error)
"""


def test_plain_install_names_the_extra_before_computing(tmp_path: Path) -> None:
    code = PLAIN.format(folder=str(RUNNER.parent), hidden=OPTIONAL)
    done = _run(["-c", code], tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    said = [line for line in done.stdout.splitlines() if line.startswith("needs:")]
    assert said[0] == ('needs: A report needs jinja2 and matplotlib: pip install "depmax[report]"')
    assert said[1] == 'needs: Drawing needs matplotlib: pip install "depmax[plot]"'
    assert "pandas" in said[2]
    assert said[3] == 'needs: Saving and loading models needs skops: pip install "depmax[cli]"'
    assert "pandas" in said[4]
