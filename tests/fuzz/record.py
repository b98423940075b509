"""Outcomes of long runs by ranges of cases, so that a run is continued and not repeated."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.fuzz.harness import OUTCOMES, Tally


class Record:
    """What was run of each target: ranges of case numbers, counts of outcomes, the bad cases."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._targets: dict[str, dict[str, Any]] = (
            json.loads(path.read_text()) if path.exists() else {}
        )

    def missing(self, target: str, first: int, end: int) -> Iterator[tuple[int, int]]:
        """Ranges of cases that were not run yet."""
        for start, stop in self._targets.get(target, {}).get("ranges", []):
            if start > first:
                yield first, min(start, end)
            first = max(first, stop)
            if first >= end:
                return
        yield first, end

    def add(self, first: int, end: int, tally: Tally) -> None:
        """Keep the outcomes of a range, in the file at once."""
        with self._lock:
            known = self._targets.get(tally.target, {"ranges": [], "outcomes": {}, "bad": []})
            counts = Counter(known["outcomes"]) + tally.counts
            self._targets[tally.target] = {
                "ranges": _joined([*known["ranges"], [first, end]]),
                "outcomes": {outcome: counts[outcome] for outcome in OUTCOMES},
                "bad": [*known["bad"], *map(list, tally.bad)],
            }
            written = self.path.with_suffix(".part")
            written.write_text(json.dumps(self._targets, indent=1, sort_keys=True) + "\n")
            os.replace(written, self.path)

    def rows(self) -> Iterator[str]:
        """Lines of a table: target, ranges, outcomes."""
        for target, known in self._targets.items():
            ranges = ", ".join(f"{start:,} to {stop - 1:,}" for start, stop in known["ranges"])
            total = sum(known["outcomes"].values())
            counts = (f"{known['outcomes'][outcome]:,}" for outcome in OUTCOMES)
            yield f"| {target} | {total:,} ({ranges}) | " + " | ".join(counts) + " |"


def _joined(ranges: list[list[int]]) -> list[list[int]]:
    """Ranges in order, those that touch as one."""
    found: list[list[int]] = []
    for start, stop in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1][1] = max(found[-1][1], stop)
        else:
            found.append([start, stop])
    return found
