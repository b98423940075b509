"""The command ``depmax``; needs the extra ``cli``."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

#: What the command needs beside the library itself.
_NEEDED = ("typer", "rich", "polars", "pyarrow", "skops")
_INTERRUPTED = 130


def main() -> None:
    """Run the command line, or say what is missing."""
    _open_streams()
    signal.signal(signal.SIGINT, _interrupt)
    try:
        _run()
    except KeyboardInterrupt:
        _end()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is left to clean up


def _run() -> None:
    from importlib.util import find_spec

    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        print(
            f"error: the command line needs {', '.join(missing)}: pip install 'depmax[cli]'",
            file=sys.stderr,
        )
        sys.exit(1)
    from depmax.cli.commands import app

    app(prog_name="depmax")


def _open_streams() -> None:
    """Standard streams that were closed lead nowhere; what an encoding lacks is shown escaped."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            while os.open(os.devnull, os.O_RDWR) < number:  # no other file takes its number
                pass
            setattr(sys, name, open(os.devnull, "r+", encoding="utf-8"))  # noqa: SIM115  # until the end
        elif number and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _interrupt(_: int, frame: FrameType | None) -> None:
    """Ctrl-C: KeyboardInterrupt, which commands catch; while a library is imported, the end.

    Libraries turn an interrupt during their import into errors of all kinds.
    """
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            _end()
        frame = frame.f_back
    raise KeyboardInterrupt


def _end() -> None:
    """Leave at once, without a traceback and without a file half-written."""
    files = sys.modules.get("depmax._files")
    forget = getattr(files, "forget_unfinished", None)
    if forget is not None:
        forget()
    os.write(2, b"error: Interrupted. No file was left half-written.\n")
    os._exit(_INTERRUPTED)
