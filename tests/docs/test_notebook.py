"""The notebook runs from its first cell to its last; ``make docs`` installs what it takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "quickstart.ipynb"


def test_no_output_is_kept() -> None:
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    assert not any(cell.get("outputs") for cell in cells)
    assert "find_spec" in "".join(cells[1]["source"])  # installs itself where it is missing


@pytest.mark.pages
def test_notebook_runs(tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient", reason="make docs installs it")
    nbformat = pytest.importorskip("nbformat", reason="it comes with nbclient")
    pytest.importorskip("matplotlib", reason="the notebook draws")
    notebook: Any = nbformat.read(NOTEBOOK, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=resources).execute()
    printed = json.dumps(notebook.cells[-3]["outputs"])
    assert "balanced accuracy" in printed
