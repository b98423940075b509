"""Independent parts of a computation in threads, results in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from joblib import effective_n_jobs
from threadpoolctl import threadpool_limits

Part = TypeVar("Part")
Result = TypeVar("Result")


def map_threads(
    work: Callable[[Part], Result], parts: Sequence[Part], n_jobs: int | None
) -> list[Result]:
    """Results of ``work`` on every part, in order, whatever the number of threads.

    For parts of a millisecond each, where starting a pool of joblib's would cost more than the
    work itself; the work must leave the interpreter lock, as numpy and compiled loops do.

    Examples
    --------
    >>> map_threads(abs, [-1, 2, -3], n_jobs=2)
    [1, 2, 3]
    """
    threads = min(effective_n_jobs(n_jobs), len(parts))
    if threads <= 1:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, parts))


@contextmanager
def one_blas_thread(n_jobs: int | None = None, *, always: bool = False) -> Iterator[None]:
    """Keep BLAS to one thread in each of several threads, and ``always`` for small matrices."""
    if effective_n_jobs(n_jobs) == 1 and not always:
        yield
        return
    with threadpool_limits(limits=1, user_api="blas"):
        yield
