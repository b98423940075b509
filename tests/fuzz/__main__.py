"""``python -m tests.fuzz``: all targets, or those named; ends with 1 if any outcome is bad."""

from __future__ import annotations

import argparse
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fuzz.harness import Tally, run
from tests.fuzz.record import Record


def main() -> int:
    """Run cases, print a line per target and the bad cases."""
    from tests.fuzz.targets import TARGETS

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--cases", type=int, default=10_000, help="cases of each target")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--case", type=int, help="run one case here, with its traceback")
    parser.add_argument("--keep", action="store_true", help="and keep its file")
    parser.add_argument(
        "--record", type=Path, help="a file that keeps outcomes; cases that it has are not repeated"
    )
    parser.add_argument("--table", action="store_true", help="print what the record holds")
    options = parser.parse_args()
    record = Record(options.record) if options.record else None
    if options.table and record:
        print(*record.rows(), sep="\n")
        return 0
    names = options.targets or list(TARGETS)
    if options.case is not None:
        return _one(TARGETS[names[0]](), names[0], options.case, options.keep)
    first, end = options.first, options.first + options.cases
    ranges = [
        (name, *part)
        for name in names
        for part in (record.missing(name, first, end) if record else [(first, end)])
    ]

    def ran(part: tuple[str, int, int]) -> Tally:
        name, start, stop = part
        return _told(run(name, start, stop - start, record.add if record else None))

    with ThreadPoolExecutor(options.jobs) as pool:
        tallies = list(pool.map(ran, ranges))
    return 1 if any(tally.bad for tally in tallies) else 0


def _told(tally: Tally) -> Tally:
    print(tally, flush=True)
    for case, outcome, detail in tally.bad[:20]:
        print(f"  {tally.target} --case {case}: {outcome} {detail}", flush=True)
    return tally


def _one(target: object, name: str, case: int, keep: bool) -> int:
    path = Path(f"case{target.suffix}")
    path.write_bytes(target.content(random.Random(f"{name} {case}")))
    try:
        target.read(path)
        print("accepted")
    finally:
        if not keep:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
