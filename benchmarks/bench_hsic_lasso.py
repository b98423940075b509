"""HSICLasso beside pyHSICLasso: time and memory at 1,000 x 1,000, block version (B = 20, M = 3)."""

from __future__ import annotations

import argparse

from common import (
    at_least,
    at_most,
    duration,
    megabytes,
    peak_memory,
    report_bars,
    save,
    table,
)

DATA = """
    import contextlib, io, os, time, warnings
    import numpy as np

    warnings.simplefilter("ignore")  # the peer's own
    rng = np.random.default_rng(0)
    X = rng.standard_normal(({m}, {d}))
    score = X[:, 0] + X[:, 1] ** 2 + X[:, 2] + np.tanh(2 * X[:, 3]) + 0.3 * rng.standard_normal({m})
    y = (score > np.median(score)).astype(int)

    def found(columns):  # how many of the four relevant features
        return len(set(columns) & {{0, 1, 2, 3}})
"""
OURS = """
    from depmax.selection.hsic_lasso import HSICLasso

    def run(rows, features, **parameters):
        selector = HSICLasso(10, n_jobs={n_jobs}, random_state=0, **parameters)
        return found(np.flatnonzero(selector.fit(X[:rows, :features], y[:rows]).support_))

    run(60, 12, {parameters})  # so that what is loaded at the first call is not counted
"""
PEER = """
    from pyHSICLasso import HSICLasso

    def run(rows, features, B, M):
        lasso = HSICLasso()
        with contextlib.redirect_stdout(io.StringIO()):
            lasso.input(X[:rows, :features], y[:rows])
            lasso.classification(10, B=B, M=M, n_jobs={n_jobs}, max_neighbors=2)
        return found(lasso.get_index())

    run(60, 12, {parameters})
"""


def measure(library: str, parameters: str, m: int, d: int, n_jobs: int) -> dict[str, float]:
    """Seconds and peak memory of one fit, in a fresh process, and the relevant features found."""
    setup = DATA.format(m=m, d=d) + library.format(n_jobs=n_jobs, parameters=parameters)
    return peak_memory(setup, f"run({m}, {d}, {parameters})")


def main() -> None:
    """Compare, and print which bars are reached."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--features", type=int, default=1000)
    options = parser.parse_args()
    m, d = options.samples, options.features
    runs = {
        "pyHSICLasso B = 20, M = 3": (PEER, "B=20, M=3", 1),  # more jobs are other processes
        "HSICLasso B = 20, M = 3": (OURS, "block_size=20, n_permutations=3", 1),
        "HSICLasso B = 20, M = 3, 2 threads": (OURS, "block_size=20, n_permutations=3", 2),
        "HSICLasso, all samples": (OURS, "block_size=None", 1),
        "HSICLasso, all samples, 2 threads": (OURS, "block_size=None", 2),
    }
    results = {name: measure(*run[:2], m, d, run[2]) for name, run in runs.items()}
    rows = [
        (name, duration(r["seconds"]), megabytes(r["increment"]), int(r["value"]))
        for name, r in results.items()
    ]
    table([f"{m} x {d}", "time", "memory", "relevant of 4"], rows)
    peer, block = results["pyHSICLasso B = 20, M = 3"], results["HSICLasso B = 20, M = 3"]
    whole = results["HSICLasso, all samples"]
    bars = {
        "block version, times as fast as pyHSICLasso's": at_least(
            peer["seconds"] / block["seconds"], 3, 5
        ),
        "block version, part of its memory": at_most(block["increment"] / peer["increment"], 0.25),
        "all samples, times as fast as pyHSICLasso's blocks": at_least(
            peer["seconds"] / whole["seconds"], 3, 5
        ),
        "all samples, part of its memory": at_most(whole["increment"] / peer["increment"], 0.25),
    }
    report_bars(bars)
    save("hsic_lasso", {"samples": m, "features": d, "runs": results, "bars": bars}, "pyHSICLasso")


if __name__ == "__main__":
    main()
