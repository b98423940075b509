"""compare on a Dask cluster of worker processes: the same results, and clear refusals.

Private modules: which library seems to be missing is said to `depmax._extras`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import Ridge
from typer.testing import CliRunner

from depmax import compare
from depmax.cli.commands import app
from depmax.evaluation import Comparison
from depmax.evaluation.comparison import cluster as module

distributed = pytest.importorskip("distributed", reason="needs depmax[distributed]")

pytestmark = [
    pytest.mark.cluster,
    # Workers that are killed, and a cluster that is closed, leave sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

METHODS = ["all columns", "correlation filter", "PCA", "HSIC filter"]
OPTIONS: dict[str, Any] = {"cv": 2, "dimensions": [1, 2], "random_state": 0}
#: What a trial finds; times are the machine's.
FOUND = ("method", "fold", "predictions", "warnings", "failure")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as started:
        yield started


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster) as made:
        made.wait_for_workers(2, timeout=60)
        yield made


@pytest.fixture(scope="module")
def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 6))
    return X, X[:, 1] + X[:, 4] ** 2 + 0.5 * rng.normal(size=240)


def outcome(found: Comparison) -> list[Any]:
    """Everything that was found, to the last bit, with the rankings."""
    return [
        [getattr(trial, name) for name in FOUND]
        + [None if trial.ranking is None else trial.ranking.tolist()]
        for trial in found.trials
    ]


def assert_same(left: Comparison, right: Comparison) -> None:
    np.testing.assert_equal(outcome(left), outcome(right))
    assert left.recommended == right.recommended


@pytest.fixture(scope="module")
def here(table: Any) -> Comparison:
    """On one machine."""
    return compare(*table, METHODS, **OPTIONS)


class Slow(TransformerMixin, BaseEstimator):
    """Two columns, after a while."""

    def __init__(self, n_components: int = 1, marks: str = "") -> None:
        self.n_components, self.marks = n_components, marks

    def fit(self, X: Any, y: Any = None) -> Slow:
        import time

        time.sleep(0.15)
        return self

    def transform(self, X: Any) -> Any:
        return X[:, : self.n_components]


def test_the_results_of_one_machine(client: Any, table: Any, here: Comparison) -> None:
    states: list[Any] = []
    with parallel_config("dask"):
        there = compare(*table, METHODS, progress=states.append, **OPTIONS)
    assert_same(here, there)
    assert [state.done for state in states] == list(range(1, 9))
    assert {state.total for state in states} == {8}
    # the session is over; joblib gives each worker a client of its own
    assert client.run_on_scheduler(_clients) == 1


def _clients(dask_scheduler: Any) -> int:
    return sum(
        name.startswith("Client-") and "worker" not in name for name in dask_scheduler.clients
    )


def test_several_threads_of_a_worker_change_nothing(table: Any, here: Comparison) -> None:
    """Warnings and the threads of BLAS belong to a process: trials there wait for each other."""
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=3, processes=False, dashboard_address=":0"
        ) as small,
        distributed.Client(small),
        parallel_config("dask"),
    ):
        there = compare(*table, METHODS, **OPTIONS)
    assert_same(here, there)


def assert_survives_a_killed_worker(cluster: Any, table: Any) -> None:
    options: dict[str, Any] = {"judge": Ridge(), "cv": 4, "dimensions": [1, 2]}
    options |= {"random_state": 0, "prepare": False}
    methods = {"slow": Slow(), "PCA": "PCA"}
    expected = compare(*table, methods, **options)
    victim = next(iter(cluster.workers.values())).pid
    timer = threading.Timer(0.5, os.kill, (victim, signal.SIGKILL))
    timer.start()
    with parallel_config("dask"):
        there = compare(*table, methods, **options)
    timer.join()
    assert_same(expected, there)


def test_a_worker_that_is_killed(client: Any, cluster: Any, table: Any) -> None:
    assert_survives_a_killed_worker(cluster, table)


def test_the_only_worker_is_killed_with_the_data(table: Any) -> None:
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as single,
        distributed.Client(single) as alone,
    ):
        alone.wait_for_workers(1, timeout=60)
        assert_survives_a_killed_worker(single, table)


def test_the_command_line(cluster: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    monkeypatch.chdir(tmp_path)
    words = ["compare", "bundled:wine", "-m", "PCA", "-m", "BAHSIC", "--dimensions", "1,2"]
    words += ["--folds", "2", "--json"]

    def run(*more: str) -> Any:
        done = CliRunner().invoke(app, [*words, *more])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    local, there = run("--n-jobs", "1"), run("--scheduler", cluster.scheduler_address)
    for key in ("recommended", "verdict", "failures"):
        assert local[key] == there[key]
    for left, right in zip(local["leaderboard"], there["leaderboard"], strict=True):
        assert left["balanced_accuracy"] == right["balanced_accuracy"]
        assert left["method"] == right["method"]


class TestRefusals:
    def test_no_scheduler(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "PATIENCE", 0.3)
        done = CliRunner().invoke(
            app, ["compare", "no-such-file.csv", "--scheduler", "tcp://127.0.0.1:1"]
        )
        assert done.exit_code == 2
        assert "--scheduler: There is no Dask scheduler at 'tcp://127.0.0.1:1'" in done.stderr

    @pytest.mark.parametrize("address", ["127.0.0.1", "ftp://x:1", "tcp://127.0.0.1:port", ""])
    def test_no_address(self, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "PATIENCE", 0.3)
        done = CliRunner().invoke(app, ["compare", "bundled:wine", "--scheduler", address])
        assert done.exit_code == 2, done.output
        assert "Dask scheduler" in done.stderr

    def test_no_library(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import depmax._extras

        real = depmax._extras.find_spec
        monkeypatch.setattr(
            depmax._extras, "find_spec", lambda name: None if name == "distributed" else real(name)
        )
        done = CliRunner().invoke(
            app, ["compare", "bundled:wine", "--scheduler", "tcp://127.0.0.1:1"]
        )
        assert done.exit_code == 2
        assert 'needs distributed: pip install "depmax[distributed]"' in done.stderr

    def test_no_worker(self, table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "PATIENCE", 0.3)
        with (
            distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty,
            distributed.Client(empty),
            parallel_config("dask"),
            pytest.raises(module.ClusterError, match="has had no worker"),
        ):
            compare(*table, ["PCA"])

    @pytest.mark.parametrize(
        ("package", "version", "message"),
        [
            ("depmax", None, r"does not have depmax: install depmax \d"),
            ("depmax", "0.0.0", "has depmax 0.0.0, but this process has"),
            ("scikit-learn", "1.0", "has scikit-learn 1.0, but this process has"),
        ],
    )
    def test_workers_with_something_else(
        self, client: Any, table: Any, package: str, version: str | None, message: str
    ) -> None:
        client.run(_pretend, package, version)
        try:
            with parallel_config("dask"), pytest.raises(module.ClusterError, match=message):
                compare(*table, ["PCA"])
        finally:
            client.run(_no_more)


def _pretend(package: str, version: str | None) -> None:
    """Make a worker tell another version of a package, None for no such package."""
    from importlib import metadata

    real: Any = metadata.version

    def told(name: str) -> str:
        if name == package and version is None:
            raise metadata.PackageNotFoundError(name)
        return version if name == package and version else real(name)

    told.real = real
    metadata.version = told


def _no_more() -> None:
    from importlib import metadata

    metadata.version = metadata.version.real


INTERRUPTED = """
import gc, os, signal, threading, time
import distributed, numpy as np
from joblib import parallel_config
from sklearn.linear_model import Ridge
from tests.evaluation.compare.test_cluster import Slow
from depmax import compare

if __name__ == "__main__":
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    )
    client = distributed.Client(cluster)
    X = np.random.default_rng(0).normal(size=(100, 4))
    gc.disable()  # distributed watches collections, and an interruption within one is lost
    threading.Timer(2.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with parallel_config("dask"):
        found = compare(
            X, X[:, 0], {"slow": Slow()}, judge=Ridge(), cv=50, dimensions=[1], prepare=False
        )
    assert not found.complete and 0 < len(found.trials) < 50, len(found.trials)
    for _ in range(100):
        left = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
        if left == 0:
            print("nothing left", flush=True)
            break
        time.sleep(0.1)
    os._exit(0)
"""


def test_an_interruption_keeps_what_is_finished_and_leaves_no_tasks() -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert "nothing left" in done.stdout, done.stderr
