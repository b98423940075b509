"""Trials on the workers of a Dask cluster, through joblib's backend."""

from __future__ import annotations

import platform
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from threading import Lock
from typing import Any

from joblib import parallel_config

from depmax._extras import require

#: Seconds to wait for an answer of a host, and for a scheduler and its first worker.
ANSWER, PATIENCE = 3, 10
#: How often a task is sent again after its data were lost.
REPEATS = 3
#: What workers must have in the version that is installed here: the rest follows from it, and
#: another version of these may give other digits.
PACKAGES = ("depmax", "scikit-learn", "scipy", "numpy", "joblib")

#: Warnings are collected and BLAS is kept to one thread for a whole process.
_one_at_a_time = Lock()


class ClusterError(ConnectionError):
    """A cluster cannot be used: its scheduler, its workers, or what is installed on them."""


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Let joblib run everything on the workers of a scheduler.

    Parameters
    ----------
    address : str
        Of the scheduler, such as ``"tcp://10.0.0.1:8786"``.
    """
    require("A cluster", "distributed", "dask", extra="distributed")
    import distributed
    from distributed.comm.addressing import get_address_host_port

    try:
        if not address.startswith(("inproc://", "ucx")):
            # a client would wait for long, or for ever, for what does not answer
            with socket.create_connection(get_address_host_port(address), ANSWER) as there:
                if "://" not in address or address.startswith("tcp://"):
                    there.recv(1)  # a scheduler speaks first
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (AssertionError, OSError, TimeoutError) as error:  # the first if it gives up half-way
        raise ClusterError(
            f"There is no Dask scheduler at {address!r}: `dask scheduler` starts one and prints "
            "its address, such as tcp://10.0.0.1:8786."
        ) from error
    except ValueError as error:
        raise ClusterError(
            f"{address!r} is not the address of a Dask scheduler, such as tcp://10.0.0.1:8786: "
            f"{error}"
        ) from error
    with client:
        require_workers(client)
        with parallel_config("dask", client=client):
            yield


def on_workers(
    client: Any,
    task: Callable[..., Any],
    arguments: Iterable[Sequence[Any]],
    shared: Sequence[Any],
) -> Iterator[Any]:
    """Results of a task for every set of arguments, in the order in which they finish.

    Parameters
    ----------
    client : distributed.Client
    task : callable
    arguments : iterable of sequences
        Of every task.
    shared : sequence
        Arguments of many tasks, sent to every worker once.
    """
    require_workers(client)
    import distributed

    # What this client asked for is forgotten when it is closed, also after an interruption.
    own = distributed.Client(
        client.scheduler.address, security=client.security, set_as_default=False
    )
    with own:
        tasks = Tasks(own, OnWorker(task), list(shared))
        finished = distributed.as_completed(map(tasks.submitted, arguments), loop=own.loop)
        for future in finished:
            try:
                result = future.result()
            except CancelledError:  # the data that it needs were lost together with a worker
                finished.add(tasks.again(future))
                continue
            tasks.done(future)
            yield result


@dataclass
class Tasks:
    """Tasks under way on a cluster, and the data that they share there.

    Small arguments are a part of their task, so that a worker that dies takes nothing with it that
    the scheduler cannot send again. Shared data lie with the workers, and are sent once more if
    all of those die.
    """

    client: Any
    task: Callable[..., Any]
    shared: list[Any]
    held: dict[int, Any] = field(default_factory=dict)  # futures of shared data by identity
    under_way: dict[Any, tuple[Sequence[Any], int]] = field(default_factory=dict)

    def submitted(self, arguments: Sequence[Any], repeats: int = 0) -> Any:
        """A future of the task."""
        if not self.held and self.shared:
            there = self.client.scatter(self.shared, broadcast=True, hash=False)
            self.held = dict(zip(map(id, self.shared), there, strict=True))
        sent = [self.held.get(id(each), each) for each in arguments]
        future = self.client.submit(self.task, *sent, pure=False)
        self.under_way[future.key] = arguments, repeats
        return future

    def again(self, future: Any) -> Any:
        """A new future in place of one whose data were lost."""
        arguments, repeats = self.under_way.pop(future.key)
        if repeats == REPEATS:
            raise ClusterError(
                f"Workers of the scheduler at {self.client.scheduler.address} died {REPEATS + 1} "
                "times with the data that they hold: they may need more memory."
            )
        if any(each.status != "finished" for each in self.held.values()):
            self.held = {}
        return self.submitted(arguments, repeats + 1)

    def done(self, future: Any) -> None:
        """Forget a task."""
        del self.under_way[future.key]


@dataclass(frozen=True)
class OnWorker:
    """A task that has its worker to itself, as it would have a process.

    Inside it, joblib's own parallelism stays on the worker: a search over columns is not a job for
    a scheduler.
    """

    task: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        """The task's result."""
        with _one_at_a_time, parallel_config("threading", n_jobs=1):
            return self.task(*arguments)


def require_workers(client: Any) -> None:
    """Refuse a cluster without workers, or with workers that would compute something else."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError as error:
        raise ClusterError(
            f"The scheduler at {client.scheduler.address} has had no worker for {PATIENCE} "
            f"seconds: start one with `dask worker {client.scheduler.address}`."
        ) from error
    # functions that a worker has without depmax
    _require_same(client, "Python", platform.python_version)
    for package in PACKAGES:
        _require_same(client, package, metadata.version, package)


def _require_same(client: Any, name: str, version: Callable[..., str], *arguments: str) -> None:
    """Refuse workers on which something has another version than here, or is missing."""
    here = version(*arguments)
    for worker, found in client.run(version, *arguments, on_error="return").items():
        if isinstance(found, metadata.PackageNotFoundError):
            raise ClusterError(
                f"The worker {worker} does not have {name}: install {name} {here} there, the "
                "version used here."
            )
        if isinstance(found, Exception):
            raise ClusterError(f"The worker {worker} does not answer: {found!r}.") from found
        if found != here:
            raise ClusterError(
                f"The worker {worker} has {name} {found}, but this process has {here}: install the "
                "same version on both, so that results are the same."
            )
