"""Fits on a Dask cluster of worker processes: the same answer, whatever happens to the workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import depmax

dask = pytest.importorskip("dask", reason="needs depmax[distributed]")
da = pytest.importorskip("dask.array", reason="needs depmax[distributed]")
distributed = pytest.importorskip("distributed", reason="needs depmax[distributed]")

pytestmark = [
    pytest.mark.cluster,
    # Workers that are killed, and a cluster that is closed, leave sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

PARTS, ROWS, COLUMNS = 12, 400, 6


def part_of_rows(block_info: Any = None, pause: float = 0.0, seed: int = 0) -> np.ndarray:
    """Rows of one chunk, the same whenever and wherever they are made."""
    number = block_info[None]["chunk-location"][0]
    time.sleep(pause)
    return np.random.default_rng([seed, number]).normal(size=(ROWS, COLUMNS)) + 3.0


def _collections(pause: float) -> tuple[Any, Any]:
    chunks = ((ROWS,) * PARTS, (COLUMNS,))
    X = da.map_blocks(part_of_rows, chunks=chunks, dtype=float, pause=pause)
    return X, X[:, 0] + 0.3 * X[:, 1] ** 2


def _in_memory() -> tuple[np.ndarray, np.ndarray]:
    info = [{None: {"chunk-location": (number, 0)}} for number in range(PARTS)]
    X = np.concatenate([part_of_rows(block_info=one) for one in info])
    return X, X[:, 0] + 0.3 * X[:, 1] ** 2


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with (
        # A lost worker is looked for again after 15 s and given up if it is missing then. On a busy
        # machine that moment can fall into the restart after the next test has killed it again.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit="700MiB",
        ) as started,
        distributed.Client(started),
    ):
        yield started


def _components(pause: float = 0.0) -> np.ndarray:
    model: Any = depmax.HSCA(2).fit(*_collections(pause))
    return model.components_


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    model: Any = depmax.HSCA(2).fit(*_in_memory())
    return model.components_


def test_the_answer_of_one_machine(cluster: Any, expected: np.ndarray) -> None:
    assert_allclose(_components(), expected, atol=1e-10)
    X, _ = _collections(0.0)
    rows, answers = _in_memory()
    model = depmax.HSCA(2).fit(rows, answers)
    assert_allclose(model.transform(X).compute(), model.transform(rows), atol=1e-10)


@pytest.mark.parametrize("after", [0.2, 0.6])
def test_a_worker_that_is_killed(cluster: Any, expected: np.ndarray, after: float) -> None:
    victim = next(iter(cluster.workers.values())).pid
    timer = threading.Timer(after, os.kill, (victim, signal.SIGKILL))
    timer.start()
    assert_allclose(_components(pause=0.1), expected, atol=1e-10)
    timer.join()
    distributed.default_client().wait_for_workers(2, timeout=120)


def test_workers_that_join_late(cluster: Any, expected: np.ndarray) -> None:
    timer = threading.Timer(0.3, cluster.scale, (3,))
    timer.start()
    assert_allclose(_components(pause=0.1), expected, atol=1e-10)
    timer.join()
    cluster.scale(2)


def large_part(block_info: Any = None) -> np.ndarray:
    """Rows of one chunk, 32 MB, quickly made."""
    number = block_info[None]["chunk-location"][0]
    return np.tile(np.random.default_rng(number).normal(size=(5000, 8)), (100, 1))


def test_a_collection_larger_than_the_workers_memory(cluster: Any) -> None:
    """1.5 GB of rows on two workers of 700 MB: chunks are let go when they are summed."""
    chunks = ((500_000,) * 48, (8,))
    X = da.map_blocks(large_part, chunks=chunks, dtype=float)
    model = depmax.HBFE(1, target_kernel="linear").fit(X, X[:, 2] > 0.0)
    assert abs(model.components_[0, 2]) > 0.999


def test_nothing_is_left_on_the_cluster(cluster: Any) -> None:
    _components()
    client = distributed.default_client()
    for _ in range(50):
        if not client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
            return
        time.sleep(0.1)
    pytest.fail("tasks are left on the scheduler")


def test_a_partition_that_fails_is_an_error(cluster: Any) -> None:
    X, y = _collections(0.0)
    broken = da.where(X > 6.2, np.nan, X)
    with pytest.raises(ValueError, match="NaN in column"):
        depmax.HBFE(1).fit(broken, y)


INTERRUPTED = """
import gc, os, signal, threading, time
import distributed
from tests.data import test_cluster as here
import depmax

if __name__ == "__main__":
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    )
    client = distributed.Client(cluster)
    gc.disable()  # distributed watches collections, and an interruption within one is lost
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        depmax.HSCA(2).fit(*here._collections(0.4))
    except KeyboardInterrupt:
        pass
    else:
        raise SystemExit("it was not interrupted")
    for _ in range(100):
        left = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
        if left == 0:
            print("nothing left", flush=True)
            break
        time.sleep(0.1)
    os._exit(0)
"""


def test_an_interruption_leaves_no_tasks() -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert "nothing left" in done.stdout, done.stderr
