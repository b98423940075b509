"""Time and peak memory of the searches with default options: many rows, and many columns.

Every measurement runs in a process of its own: imports, data and a small call first, which are the
baseline, then one call. CPU seconds, so that other work on the machine does not count. The columns
that make the target are known; "found" says how many of them are among as many selected.

    python benchmarks/bench_elimination.py
    python benchmarks/bench_elimination.py "BAHSIC 200000 x 100"
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import common

SETUP = """
import time
import numpy as np
from depmax import {selector}
rng = np.random.default_rng(0)
def rows(n, d):
    X = rng.normal(size=(n, d))
    {target}
    return X, y, relevant
def call(X, y, relevant):
    start = time.process_time()
    kept = {selector}(len(relevant), pvalues=False).fit(X, y).get_support(indices=True)
    spent = time.process_time() - start
    return len(set(kept.tolist()) & set(relevant)) + 1e-6 * spent
{selector}(2, pvalues=False).fit(rng.normal(size=(60, 4)), rng.normal(size=60))
X, y, relevant = rows({rows}, {columns})
"""
#: An additive column, a product of two and a wave.
NUMBERS = """y = X[:, 3] + X[:, 8] * X[:, 20] + np.sin(2 * X[:, 5]) + 0.5 * rng.normal(size=n)
    relevant = [3, 5, 8, 20]"""
#: Two classes that differ in ten columns of many, as genes do.
GENES = """y = rng.integers(0, 2, n)
    X[:, :10] += 1.5 * y[:, np.newaxis]
    relevant = list(range(10))"""
#: A pair of columns that matters only together.
XOR = """y = (X[:, 3] * X[:, 8] > 0).astype(int)
    relevant = [3, 8]"""


@dataclass(frozen=True)
class Case:
    """A selector, the size of its data, and what makes the target."""

    selector: str
    rows: int
    columns: int
    target: str = NUMBERS
    word: str = ""

    @property
    def name(self) -> str:
        """How it is called in the results and on the command line."""
        return f"{self.selector} {self.rows} x {self.columns}{self.word}"


CASES = (
    Case("BAHSIC", 20_000, 50),
    Case("BAHSIC", 300, 1_000, XOR, " XOR"),
    Case("KernelRidgeElimination", 300, 1_000, XOR, " XOR"),
    Case("BAHSIC", 100, 20_000, GENES, " genes"),
    Case("KernelRidgeElimination", 100, 20_000, GENES, " genes"),
    Case("BAHSIC", 200_000, 100),
    Case("FOHSIC", 200_000, 100),
    Case("KernelRidgeElimination", 200_000, 100),
    Case("BAHSIC", 20_000, 100),
    Case("KernelRidgeElimination", 20_000, 100),
    Case("KernelRidgeElimination", 1_000, 100),
)


def main() -> None:
    """Measure the cases asked for, or all, and keep the results."""
    results = (common.load("elimination") or {}).get("cases", {})
    rows = []
    for case in CASES:
        if sys.argv[1:] and case.name not in sys.argv[1:]:
            continue
        setup = SETUP.format(
            selector=case.selector, target=case.target, rows=case.rows, columns=case.columns
        )
        measured = common.peak_memory(setup, "call(X, y, relevant)")
        found = int(measured["value"])
        seconds = 1e6 * (measured["value"] - found)
        results[case.name] = {
            "cpu_seconds": seconds,
            "bytes": measured["increment"],
            "found": found,
        }
        megabytes = common.megabytes(measured["increment"])
        rows.append([case.name, common.duration(seconds), megabytes, found])
        print(*rows[-1], flush=True)
        common.save("elimination", {"cases": results})
    print()
    common.table(["", "CPU", "memory of the call", "found"], rows)


if __name__ == "__main__":
    main()
