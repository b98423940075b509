"""A few cases of every target, so that ``make test`` notices what ``make fuzz`` would find."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import harness
from tests.fuzz.harness import GOOD, Tally, run
from tests.fuzz.record import Record
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


def test_a_long_run_is_continued(tmp_path: Path) -> None:
    """Ranges that were run are kept with their outcomes and left out the next time."""
    path = tmp_path / "fuzz.json"
    record = Record(path)
    for first, end, outcome in ((0, 3, "clean"), (5, 6, "died"), (3, 5, "accepted")):
        tally = Tally("csv")
        for case in range(first, end):
            tally.add(case, outcome)
        record.add(first, end, tally)
    again = Record(path)
    assert list(again.missing("csv", 0, 9)) == [(6, 9)]
    assert list(again.missing("csv", 2, 4)) == []
    assert list(again.missing("xlsx", 2, 4)) == [(2, 4)]
    (row,) = again.rows()
    assert row == "| csv | 6 (0 to 5) | 3 | 2 | 0 | 1 | 0 | 0 |"
    again.add(8, 9, Tally("csv"))
    assert list(again.missing("csv", 0, 12)) == [(6, 8), (9, 12)]
