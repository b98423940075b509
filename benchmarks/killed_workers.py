"""A worker process is killed at twenty different moments of a fit: the same answer every time.

A local Dask cluster of two worker processes fits HSCA to a table in 40 partitions. In every run
one worker is killed (SIGKILL) after another part of the time that an undisturbed fit takes; its
nanny starts a new one. The features must be those of rows in memory to 1e-10, and no run may take
longer than two minutes. Results are kept as they come. ``--kills 20`` sets how often.
"""

from __future__ import annotations

import argparse
import os
import signal
import threading
import time
from typing import Any

import dask.array as da
import distributed
import numpy as np
from common import parse, save, sized, table

from depmax import HSCA

PARTS, ROWS, COLUMNS = sized(40, 4), 5000, 20
PAUSE = 0.05  # seconds that a partition takes to make
LONGEST = 120.0  # a machine that does other work takes tens of seconds to start a worker


def part_of_rows(block_info: Any = None, pause: float = 0.0) -> np.ndarray:
    """Rows of one partition, the same whenever and wherever they are made."""
    number = block_info[None]["chunk-location"][0]
    time.sleep(pause)
    return np.random.default_rng(number).normal(size=(ROWS, COLUMNS)) + 3.0


def collections(pause: float) -> tuple[Any, Any]:
    X = da.map_blocks(part_of_rows, chunks=((ROWS,) * PARTS, (COLUMNS,)), dtype=float, pause=pause)
    return X, X[:, 0] + 0.3 * X[:, 1] ** 2


def in_memory() -> np.ndarray:
    info = [{None: {"chunk-location": (number, 0)}} for number in range(PARTS)]
    X = np.concatenate([part_of_rows(block_info=one) for one in info])
    return np.asarray(HSCA(2).fit(X, X[:, 0] + 0.3 * X[:, 1] ** 2).components_)


def fit() -> tuple[np.ndarray, float]:
    started = time.perf_counter()
    components = np.asarray(HSCA(2).fit(*collections(PAUSE)).components_)
    return components, time.perf_counter() - started


def disturbed(cluster: Any, client: Any, after: float) -> tuple[np.ndarray, float, bool]:
    """A fit during which a worker dies, its time, and whether it was still running then."""
    client.wait_for_workers(2, timeout=LONGEST)
    victim = list(cluster.workers.values())[int(1000 * after) % 2].pid
    dead_at: list[float] = []

    def kill() -> None:
        os.kill(victim, signal.SIGKILL)
        dead_at.append(time.perf_counter())

    timer = threading.Timer(after, kill)
    timer.start()
    components, seconds = fit()
    ended = time.perf_counter()
    timer.join()
    return components, seconds, dead_at[0] < ended


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=sized(20, 1))
    options = parse(parser)
    expected = in_memory()
    rows = []
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        fit()  # workers have loaded everything
        components, undisturbed = fit()
        np.testing.assert_allclose(components, expected, atol=1e-10)
        for number in range(options.kills):
            after = undisturbed * (number + 0.5) / options.kills
            components, seconds, during = disturbed(cluster, client, after)
            error = float(np.abs(components - expected).max() / np.abs(expected).max())
            rows.append({"after": after, "seconds": seconds, "during": during, "error": error})
            print(f"{after:.2f} s: {seconds:.1f} s, difference {error:.1g}", flush=True)
            results = {"undisturbed": undisturbed, "kills": rows}
            save("killed_workers", results, "dask", "distributed")
            assert error <= 1e-10, "another answer"
            assert seconds <= LONGEST, "as good as a hang"
    table(
        ["killed after (s)", "fit (s)", "during the fit", "relative difference"],
        [
            [f"{row['after']:.2f}", f"{row['seconds']:.1f}", row["during"], f"{row['error']:.1g}"]
            for row in rows
        ],
    )


if __name__ == "__main__":
    main()
