"""What the commands on a page print: run in a terminal, and written below them.

``python docs/terminal.py`` renews the pages; a test finds those that are not current.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
#: Pages whose blocks of commands are followed by what the commands print.
PAGES = (DOCS / "start.md",)
#: Columns of the terminal, so that lines fit on the page.
WIDTH = 100

_BLOCK = re.compile(r"```console\n(?P<commands>depmax [^`]*)```\n\n```text\n[^`]*```")


def run(command: str, folder: Path) -> str:
    """What a command prints on a terminal without colours."""
    ours, theirs = pty.openpty()
    own = {"COLUMNS": str(WIDTH), "LINES": "50", "NO_COLOR": "1", "TERM": "dumb"}
    own["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with subprocess.Popen(
        command.replace("depmax", f"{sys.executable} -m depmax", 1),
        shell=True,
        cwd=folder,
        env=os.environ | own,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 1 << 16):
                parts.append(part)
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    if process.returncode:
        raise RuntimeError(f"{command} failed: {b''.join(parts).decode()}")
    return b"".join(parts).decode().replace("\r\n", "\n")


def renewed(text: str) -> str:
    """The page with the output of its commands as it is today; they run in one folder, in order."""
    with tempfile.TemporaryDirectory() as folder:

        def renew(block: re.Match[str]) -> str:
            commands = block["commands"].strip().splitlines()
            printed = [run(command, Path(folder)) for command in commands]
            lines = [line.rstrip() for line in printed[-1].strip("\n").splitlines()]
            output = "\n".join(lines)
            return f"```console\n{block['commands']}```\n\n```text\n{output}\n```"

        return _BLOCK.sub(renew, text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(renewed(page.read_text("utf-8")), "utf-8")
