"""The worked examples: ``make docs`` runs them; here is what it does not check."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from depmax.datasets import available

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_reader_can_run_it(path: Path) -> None:
    """Public names only, and data that come with depmax or scikit-learn."""
    code = path.read_text("utf-8")
    assert not re.search(r"(?:from|import) depmax[\w.]*\._", code)
    assert not re.search(r"from depmax[\w.]* import _", code)
    assert "fetch" not in code
    assert "load_external" not in code
    assert set(re.findall(r'\bload\("(\w+)"\)', code)) <= set(available())


def test_every_script_has_its_place_in_the_gallery() -> None:
    text = (EXAMPLES.parent / "docs" / "generate.py").read_text("utf-8")
    listed = re.search(r"GALLERY = \((.*?)\)", text, re.S)
    assert listed is not None
    assert sorted(re.findall(r'"(\w+)"', listed[1])) == [path.stem for path in SCRIPTS]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_it_draws_a_picture(path: Path) -> None:
    assert "plt.show()" in path.read_text("utf-8")
