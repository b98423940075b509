"""A few cases of every target, so that ``make test`` notices what ``make fuzz`` would find."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import harness
from tests.fuzz.harness import GOOD, run
from tests.fuzz.targets import TARGETS

CASES = 60


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits of memory are Linux's")
def test_damaged_files_are_refused_or_read() -> None:
    names = [name for name in TARGETS if name != "neural"]  # which would import torch
    tally = run(",".join(names), 0, CASES * len(names))
    assert not tally.bad
    assert sum(tally.counts[outcome] for outcome in GOOD) == CASES * len(names)
    assert min(tally.counts[outcome] for outcome in GOOD) > 0


SPINNING = """
from tests.fuzz import harness, targets

class Spinning:
    suffix, refusals = ".txt", (ValueError,)
    def content(self, rng): return b""
    def read(self, path):
        while True: pass

harness.HANG = 0.2
targets.TARGETS["spinning"] = Spinning
harness.work("spinning", 0, 1)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits of memory are Linux's")
def test_a_hang_is_counted_in_cpu_time() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SPINNING], cwd=harness.ROOT, env=harness.environment(), check=False
    )
    assert ended.returncode == -signal.SIGPROF
