"""Run the code blocks of a page in order, as a reader would, with some libraries not installed.

``python snippets.py PAGE BLOCKED``: in the current folder, with BLOCKED libraries (comma-separated)
hidden. Only the amount of work is smaller than on the page: ``compare`` without methods takes two.
A block of Python that a ``text`` block follows must print that text, numbers up to one per cent.
``python snippets.py PAGE BLOCKED --write`` writes these blocks.
"""

from __future__ import annotations

import io
import re
import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any


class Hide:
    """A finder that does not find some libraries, in place of another."""

    def __init__(self, finder: Any, hidden: set[str]) -> None:
        self._finder, self._hidden = finder, hidden

    def find_spec(self, name: str, *arguments: Any) -> Any:
        if name.partition(".")[0] in self._hidden:
            return None
        return self._finder.find_spec(name, *arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._finder, name)


#: Language and code of a block, and the text block that may follow it.
BLOCK = re.compile(
    r"^```(?P<language>python|console)\n(?P<code>.*?)^```\n"
    r"(?P<output>\n```text\n(?P<text>.*?)^```\n)?",
    re.M | re.S,
)
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def same(printed: str, shown: str) -> bool:
    """Whether two texts agree but for blanks and one per cent of their numbers."""
    if NUMBER.sub("", printed).split() != NUMBER.sub("", shown).split():
        return False
    pairs = zip(NUMBER.findall(printed), NUMBER.findall(shown), strict=True)
    return all(abs(float(a) - float(b)) <= 0.0101 * max(abs(float(b)), 1e-2) for a, b in pairs)


def data(namespace: dict[str, Any], pandas: bool) -> None:
    """What pages call the reader's own data."""
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 60))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    namespace.update(X=X, y=y, big=X, patients=np.arange(240) % 10)
    namespace["wavelengths"] = np.arange(60)
    if not pandas:
        return
    import pandas as pd

    from depmax.datasets import load

    namespace["new_rows"] = load("sonar").to_frame().drop(columns="target").head()
    letters = ["".join(row) for row in rng.choice(list("acgt"), (240, 6))]
    columns = {"width": X[:, 0], "height": X[:, 1], "colour": rng.choice(["red", "blue"], 240)}
    table = pd.DataFrame(columns | {"sequence": letters}).astype({"colour": "category"})
    namespace["table"] = table
    people = pd.DataFrame(X[:, :8], columns=[f"x{j}" for j in range(8)])
    namespace["frame"] = people
    people.assign(outcome=np.where(y == 1, "ill", "well")).to_csv("patients.csv", index=False)
    people.to_csv("new.csv", index=False)


def fitted(namespace: dict[str, Any]) -> None:
    """Models that a page has fitted without showing it."""
    from depmax import BAHSIC, HBFE

    X, y = namespace["X"], namespace["y"]
    namespace["selector"] = namespace["bahsic"] = BAHSIC(3).fit(X, y)
    namespace["hbfe"] = HBFE(2).fit(X, y)


def less_work() -> None:
    import depmax
    from depmax.evaluation import compare

    def two_methods(X: Any, y: Any, methods: Any = None, **options: Any) -> Any:
        options.pop("n_jobs", None)
        small = {} if methods else {"cv": 2, "dimensions": [2]}
        return compare(X, y, methods or ["BAHSIC", "PCA"], **small | options)

    depmax.compare = two_methods
    sys.modules["depmax.evaluation"].compare = two_methods


def console(code: str) -> None:
    """Commands of depmax in this process; what installs or makes is for another test."""
    for line in code.splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["depmax"]:
            from depmax.cli.commands import app

            try:
                app(words[1:], standalone_mode=False)
            except SystemExit as stop:
                if stop.code:
                    raise RuntimeError(f"exit code {stop.code}: {line}") from stop


#: Pages that show calls on the reader's own ``X`` and ``y``, whatever a block before has set.
READERS_DATA = {"README", "compare", "command_line"}


def main(page: Path, hidden: set[str], write: bool) -> None:
    sys.meta_path[:] = [Hide(finder, hidden) for finder in sys.meta_path]
    namespace: dict[str, Any] = {"__name__": "__main__"}
    data(namespace, pandas="pandas" not in hidden)
    if "polars" not in hidden:
        import polars as pl

        pl.read_csv("new.csv").write_parquet("new.parquet")
    less_work()
    text = page.read_text("utf-8")
    for block in BLOCK.finditer(text):
        code = block["code"]
        if "from_estimator" in code:
            fitted(namespace)
        own = {"X": namespace["X"], "y": namespace["y"]}
        if block["language"] == "console":
            console(code)
            continue
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(code, str(page), "exec"), namespace)
        if write and printed.getvalue() and page.stem not in READERS_DATA:
            new = f"```python\n{code}```\n\n```text\n{printed.getvalue().rstrip()}\n```\n"
            page.write_text(page.read_text("utf-8").replace(block[0], new), "utf-8")
        elif block["text"] is not None and not same(printed.getvalue(), block["text"]):
            raise RuntimeError(f"prints\n{printed.getvalue()}instead of\n{block['text']}")
        if page.stem in READERS_DATA:
            namespace.update(own)


if __name__ == "__main__":
    main(
        Path(sys.argv[1]),
        {name for name in sys.argv[2].split(",") if name},
        write="--write" in sys.argv,
    )
