"""Run worked examples and write their pages: ``python examples/make_gallery.py promoters text``.

A page is the script's docstring, its code, what it printed and what it drew. The last paragraph of
the docstring describes the picture.
"""

from __future__ import annotations

import ast
import io
import runpy
import sys
import traceback
from contextlib import redirect_stdout
from pathlib import Path

HERE = Path(__file__).parent
PAGES = HERE.parent / "docs" / "gallery"


def words_and_code(name: str) -> tuple[list[str], str]:
    """Paragraphs of an example's docstring, and the code after it."""
    source = (HERE / f"{name}.py").read_text(encoding="utf-8")
    tree = ast.parse(source)
    code = "\n".join(source.splitlines()[tree.body[0].end_lineno :]).strip()
    return (ast.get_docstring(tree) or "").split("\n\n"), code


def run(name: str) -> str:
    """What an example prints."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        runpy.run_path(str(HERE / f"{name}.py"), run_name="__main__")
    return printed.getvalue().strip()


def page(name: str) -> str:
    """Run an example and return its page."""
    (title, *prose, picture), code = words_and_code(name)
    alternative = " ".join(picture.split())
    parts = [
        f"# {title.rstrip('.')}",
        *prose,
        f"```python\n{code}\n```",
        "It prints",
        f"```text\n{run(name)}\n```",
        f"![{alternative}](../images/gallery/{name}.png)",
        alternative,
        f"The script: [examples/{name}.py](../../examples/{name}.py).",
    ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Write the pages of the examples that are named; one that fails does not stop the others."""
    sys.path.insert(0, str(HERE))
    PAGES.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in sys.argv[1:]:
        try:
            text = page(name)
        except (Exception, SystemExit):
            failed += 1
            traceback.print_exc()
            continue
        (PAGES / f"{name}.md").write_text(text, encoding="utf-8")
        print(f"wrote docs/gallery/{name}.md", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
