"""A process that is forked while another thread computes does not wait for that thread.

Private modules: the property that all modules keep values with is what would hold a lock.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import depmax
from depmax._resources import cached_property


class Slow:
    """The first object waits while it computes, the others do not."""

    def __init__(self, entered: threading.Event | None, until: threading.Event | None) -> None:
        self.entered, self.until = entered, until

    @cached_property
    def value(self) -> int:
        """A number."""
        if self.entered is not None and self.until is not None:
            self.entered.set()
            self.until.wait()
        return 7


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked on Unix only")
# Python advises against a fork beside threads; that is what is tested
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_waits_for_nobody() -> None:
    entered, until = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: Slow(entered, until).value)
    thread.start()
    entered.wait()
    child = os.fork()
    if child == 0:
        os._exit(Slow(None, None).value)
    try:
        end = time.monotonic() + 30
        ended, status = os.waitpid(child, os.WNOHANG)
        while not ended and time.monotonic() < end:
            time.sleep(0.01)
            ended, status = os.waitpid(child, os.WNOHANG)
        if not ended:
            os.kill(child, 9)
            os.waitpid(child, 0)
        assert ended
        assert os.waitstatus_to_exitcode(status) == 7
    finally:
        until.set()
        thread.join()


def test_a_value_is_computed_once_and_can_be_forgotten() -> None:
    one = Slow(None, None)
    assert one.value == 7
    one.__dict__["value"] = 8
    assert one.value == 8
    del one.value
    assert one.value == 7
    assert isinstance(Slow.value, cached_property)


def test_no_module_takes_the_property_with_a_lock() -> None:
    folder = Path(depmax.__file__).parent
    texts = {path: path.read_text("utf-8") for path in folder.rglob("*.py")}
    held = [
        path.name
        for path, text in texts.items()
        if "functools.cached_property" in text or "import cached_property" in text
        if path.name != "_resources.py"
        and not re.search(r"from depmax\._resources import [(\s\w,]*\bcached_property\b", text)
    ]
    assert not held


COLD = """
import os, signal, threading, time
import depmax

def first_use():
    depmax.BAHSIC, depmax.HSCA

thread = threading.Thread(target=first_use)
thread.start()
time.sleep(0.05)  # within the import of what BAHSIC needs
child = os.fork()
if child == 0:
    signal.alarm(60)  # ends a child that waits for ever
    depmax.BAHSIC, depmax.HSCA
    os._exit(7)
thread.join()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked on Unix only")
def test_a_fork_waits_for_what_is_being_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", COLD], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["7"], done.stderr
