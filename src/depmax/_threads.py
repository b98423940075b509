"""Parts of a computation: chunks of rows, and threads that compute parts at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from typing import Any, TypeVar

import numpy as np
from joblib import cpu_count, effective_n_jobs
from scipy import sparse
from threadpoolctl import ThreadpoolController, threadpool_limits

#: Threads that BLAS would use if it were not kept to one here.
_allowed: ContextVar[int | None] = ContextVar("_allowed", default=None)

#: Bytes of one dense chunk; small enough for any machine, large enough for BLAS.
CHUNK_BYTES = 16 * 2**20

#: Products of numbers in a matrix of pairs of rows, up to which more threads win little.
SMALL_PRODUCTS = 2e9

Part = TypeVar("Part")
Result = TypeVar("Result")


def slices(n_rows: int, size: int) -> Iterator[slice]:
    """Consecutive slices of at most ``size`` rows that cover ``n_rows`` rows.

    Examples
    --------
    >>> [(rows.start, rows.stop) for rows in slices(5, 2)]
    [(0, 2), (2, 4), (4, 5)]
    """
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def chunk_rows(n_columns: int) -> int:
    """Rows of a dense float64 chunk with this many columns."""
    return max(64, CHUNK_BYTES // (8 * max(1, n_columns)))


def map_threads(
    work: Callable[[Part], Result], parts: Sequence[Part], n_jobs: int | None
) -> list[Result]:
    """Results of ``work`` on every part, in order, whatever the number of threads.

    For parts of a millisecond each, where starting a pool of joblib's would cost more than the
    work itself; the work must release the interpreter lock, as numpy and compiled loops do.

    Examples
    --------
    >>> map_threads(abs, [-1, 2, -3], n_jobs=2)
    [1, 2, 3]
    """
    threads = len(parts)
    if threads > 1:
        threads = min(effective_n_jobs(n_jobs), threads)
    if threads > 1:  # counting processors reads files, which takes longer than a small part
        # where joblib's backend is a cluster, it counts the processors of all its machines
        threads = min(threads, cpu_count())
    if threads <= 1:
        return [work(part) for part in parts]
    if threads == len(parts):  # this thread takes one of them
        with ThreadPoolExecutor(threads - 1) as pool:
            others = [pool.submit(work, part) for part in parts[1:]]
            return [work(parts[0]), *(other.result() for other in others)]
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


@contextmanager
def blas_threads_for_parts() -> Iterator[int]:
    """Number of threads that BLAS would use, for parts that call BLAS, which then keeps to one."""
    threads = _allowed.get()
    if threads is not None:
        yield threads
        return
    blas = _controller().select(user_api="blas")
    threads = max((library["num_threads"] for library in blas.info()), default=1)
    if threads == 1:
        yield 1
        return
    with blas.limit(limits=1):
        token = _allowed.set(threads)
        try:
            yield threads
        finally:
            _allowed.reset(token)


@contextmanager
def small_problems(small: bool) -> Iterator[None]:
    """Keep BLAS to one thread where many ``small`` problems follow each other.

    Its other threads would use the cores while they wait for the next problem. Parts of a larger
    computation among them still get threads of their own.
    """
    if not small:
        yield
        return
    with blas_threads_for_parts():
        yield


def one_thread_for_few_rows(
    most: int,
) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """A fit whose matrix products keep to one thread for at most so many rows.

    Several BLAS threads wait for each other in a loop after each product. On a machine with another
    task that loop is most of what they do: a fit to 300 × 8 took seconds instead of tenths, and a
    search over 20 columns of 4,000 rows eight times as long.
    """

    def decorate(fit: Callable[..., Result]) -> Callable[..., Result]:
        @wraps(fit)
        def fitted(self: Any, X: Any, *others: Any, **more: Any) -> Result:
            shape = tuple(getattr(X, "shape", ()))
            shape = shape or (len(X) if isinstance(X, list | tuple) else None,)
            small = False
            if all(isinstance(size, int) for size in shape):  # others are known to Dask only
                columns = shape[1] if len(shape) == 2 else 1
                small = shape[0] <= most and shape[0] ** 2 * columns <= SMALL_PRODUCTS
            with small_problems(small):
                return fit(self, X, *others, **more)

        return fitted

    return decorate


@contextmanager
def thread_pool(threads: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """Like ``map``, in threads that are kept for many short computations.

    Examples
    --------
    >>> with thread_pool(2) as run:
    ...     list(run(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    if threads == 1:
        yield map
        return
    with ThreadPoolExecutor(threads - 1) as pool:

        def run(work: Callable[[Part], Result], parts: Iterable[Part]) -> Iterable[Result]:
            waiting = list(enumerate(parts))[::-1]
            results: dict[int, Result] = {}

            def take() -> None:
                while True:
                    try:
                        number, part = waiting.pop()
                    except IndexError:  # another thread took the last one
                        return
                    results[number] = work(part)

            helpers = [pool.submit(take) for _ in range(min(threads, len(waiting)) - 1)]
            take()  # this thread works too: others may take a while to wake up
            for helper in helpers:
                helper.result()
            return [results[number] for number in range(len(results))]

        yield run


@cache
def _controller() -> Any:
    """The libraries that are loaded, looked for once: the search takes milliseconds."""
    return ThreadpoolController()


def each_column(
    X: Any, score: Callable[[np.ndarray, int], Any], n_jobs: int | None = None
) -> np.ndarray:
    """Results of ``score(column, position)`` for every column, by threads."""
    values = X.tocsc() if sparse.issparse(X) else X

    def scored(position: int) -> Any:
        if sparse.issparse(values):
            column = values[:, [position]].toarray()[:, 0]
        else:
            column = values[:, position]
        return score(np.ascontiguousarray(column, dtype=np.float64), position)

    return np.array(map_threads(scored, range(values.shape[1]), n_jobs))
