"""The command ``depmax``; needs the extra ``cli``."""

from __future__ import annotations

import sys

#: What the command needs beside the library itself.
_NEEDED = ("typer", "rich", "polars", "pyarrow", "skops")


def main() -> None:
    """Run the command line, or say what is missing."""
    from importlib.util import find_spec

    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        print(
            f"error: the command line needs {', '.join(missing)}: pip install 'depmax[cli]'",
            file=sys.stderr,
        )
        sys.exit(1)
    from depmax.cli.app import app

    app(prog_name="depmax")
