"""What pages show as the output of commands is what the commands print: ``make docs`` compares."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

pytest.importorskip("pty", reason="terminals are those of Unix")
PLACE = Path(__file__).parents[2] / "docs" / "terminal.py"
_spec = importlib.util.spec_from_file_location("terminal", PLACE)
assert _spec is not None
assert _spec.loader is not None
terminal = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(terminal)


@pytest.mark.pages
@pytest.mark.parametrize("page", terminal.PAGES, ids=lambda page: page.name)
def test_pages_are_current(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import depmax

    source = str(Path(depmax.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([source, os.environ.get("PYTHONPATH", "")]))
    text = page.read_text("utf-8")
    assert terminal.renewed(text) == text, "run python docs/terminal.py"


def test_a_command_that_fails_is_not_shown(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="failed"):
        terminal.run("depmax screen nothing.csv -t y", tmp_path)
