"""The worked examples run, and their pages show the code as it is."""

from __future__ import annotations

import re
import runpy
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from depmax import datasets

pytest.importorskip("matplotlib", reason="the examples draw pictures: needs the extra plot")

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PAGES = sorted(path.stem for path in (ROOT / "docs" / "gallery").glob("*.md"))
NAMES = [name for name in PAGES if name != "README"]
#: Those that need no other data than what comes with depmax or scikit-learn.
ALONE = ["own_criterion", "own_kernel", "promoters", "semi_supervised"]


@pytest.fixture(autouse=True)
def _as_a_script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    for shared in ("gallery", "stand_ins"):
        monkeypatch.delitem(sys.modules, shared, raising=False)
    monkeypatch.setenv("DEPMAX_PICTURES", str(tmp_path))


@pytest.mark.parametrize("name", ALONE)
def test_runs_without_other_data(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DEPMAX_DATA", raising=False)
    import matplotlib.pyplot as plt

    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    plt.close("all")
    assert capsys.readouterr().out
    assert (tmp_path / f"{name}.png").stat().st_size > 1000


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(ALONE)))
def test_runs_on_made_up_rows_and_says_so(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_network(name: str) -> Any:
        raise datasets.FetchError(f"{name} cannot be fetched.")

    monkeypatch.delenv("DEPMAX_DATA", raising=False)
    monkeypatch.setattr(datasets, "fetch", no_network)
    import matplotlib.pyplot as plt

    with warnings.catch_warnings():  # the script's own filters stay inside
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    plt.close("all")
    said = capsys.readouterr()
    assert "made up in the place of" in said.err
    assert said.out
    assert (tmp_path / f"{name}.png").stat().st_size > 1000


def test_examples_import_no_private_module() -> None:
    for path in EXAMPLES.glob("*.py"):
        code = path.read_text("utf-8")
        assert not re.search(r"(?:from|import) depmax[\w.]*\._", code), path.name
        assert not re.search(r"from depmax[\w.]* import _", code), path.name


@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_the_script(name: str) -> None:
    shared = runpy.run_path(str(EXAMPLES / "make_gallery.py"))
    prose, code = shared["words_and_code"](name)
    page = (ROOT / "docs" / "gallery" / f"{name}.md").read_text(encoding="utf-8")
    assert f"```python\n{code}\n```" in page, "run examples/make_gallery.py"
    assert all(paragraph in page for paragraph in prose[1:-1]), "run examples/make_gallery.py"
    (picture,) = re.findall(r"!\[[^]]+\]\(([^)]+)\)", page)
    assert (ROOT / "docs" / "gallery" / picture).is_file()


def test_the_index_lists_every_page() -> None:
    index = (ROOT / "docs" / "gallery" / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\((\w+)\.md\)", index)) == NAMES
