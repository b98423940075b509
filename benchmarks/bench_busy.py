"""Small fits beside a busy neighbour: seconds with one BLAS thread and with one per processor.

    python benchmarks/bench_busy.py [--smoke]

BLAS threads wait for each other in a loop after every product; where another process keeps the
processors busy, a fit of tenths of a second once took a hundred times as long. Fits to few rows
keep to one thread (``depmax._resources``), so that the columns should agree within a factor of two.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from common import parse

FIT = """
import sys, time, warnings
import numpy as np
import depmax
warnings.simplefilter("ignore")
rows = int(sys.argv[1])
X = np.random.default_rng(0).normal(size=(rows, 8))
y = X[:, 0] * X[:, 1] + X[:, 2]
for estimator in (
    depmax.KernelRidgeElimination(3), depmax.BAHSIC(3), depmax.FOHSIC(3), depmax.HSICLasso(3),
    depmax.HSCA(2, kernel="gaussian"), depmax.HBFE(2, kernel="gaussian"),
    depmax.KernelPLS(2, kernel="gaussian"), depmax.SMA(2),
):
    estimator.fit(X, y)  # loops are loaded
    wall, processor = time.perf_counter(), time.process_time()
    estimator.fit(X, y)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(type(estimator).__name__, wall, processor)
"""


def seconds(threads: int, rows: int) -> dict[str, tuple[float, float]]:
    """Seconds of every method, by the clock and of the processors."""
    count = str(threads)
    environment = os.environ | {"OMP_NUM_THREADS": count, "OPENBLAS_NUM_THREADS": count}
    ended = subprocess.run(
        [sys.executable, "-c", FIT, str(rows)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = (line.split() for line in ended.stdout.splitlines())
    return {name: (float(wall), float(processor)) for name, wall, processor in lines}


def main() -> None:
    """Print a row per method."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=300)
    options = parse(parser)
    rows = 60 if options.smoke else options.rows
    processors = max(2, os.cpu_count() or 2)
    neighbour = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        one, many = seconds(1, rows), seconds(processors, rows)
    finally:
        neighbour.kill()
        neighbour.wait()
    print(f"| method, {rows} × 8 | 1 thread | {processors} threads | processor time |")
    print("|---|---|---|---|")
    for name, (wall, processor) in one.items():
        other, more = many[name]
        print(
            f"| {name} | {wall:.2f} s | {other:.2f} s | {more / max(processor, 1e-3):.1f} times |"
        )


if __name__ == "__main__":
    main()
