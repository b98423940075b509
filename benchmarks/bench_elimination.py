"""Time and peak memory of KernelRidgeElimination and BAHSIC, default options, up to 200,000 rows.

Every measurement runs in a process of its own: imports, data and a small call first, which are the
baseline, then one call. CPU seconds, so that other work on the machine does not count.
"""

from __future__ import annotations

import common

N_COLUMNS = 100
SETUP = """
import time
import numpy as np
from depmax import {selector}
rng = np.random.default_rng(0)
def draw(n):
    X = rng.normal(size=(n, {columns}))
    y = X[:, 3] + X[:, 8] * X[:, 20] + np.sin(2 * X[:, 50]) + 0.5 * rng.normal(size=n)
    return X, y
def seconds(X, y):
    start = time.process_time()
    {selector}(4, pvalues=False).fit(X, y)
    return time.process_time() - start
{selector}(2, pvalues=False).fit(rng.normal(size=(60, 4)), rng.normal(size=60))
X, y = draw({rows})
"""
CASES = (
    ("KernelRidgeElimination", 1_000),
    ("KernelRidgeElimination", 20_000),
    ("KernelRidgeElimination", 200_000),
    ("BAHSIC", 20_000),
    ("BAHSIC", 200_000),
)


def main() -> None:
    """Measure every case and keep the results."""
    results = {}
    rows = []
    for selector, count in CASES:
        setup = SETUP.format(selector=selector, columns=N_COLUMNS, rows=count)
        found = common.peak_memory(setup, "seconds(X, y)")
        results[f"{selector} {count}"] = {
            "cpu_seconds": found["value"],
            "bytes": found["increment"],
        }
        cells = [f"{selector}, {count:,} rows", common.duration(found["value"])]
        rows.append([*cells, common.megabytes(found["increment"])])
        print(*rows[-1], flush=True)
    print()
    common.table(["", "CPU", "memory of the call"], rows)
    common.save("elimination", {"columns": N_COLUMNS, "cases": results})


if __name__ == "__main__":
    main()
