"""What a computation may take of the machine: memory, time and threads, and values kept once.

A file of a few kilobytes can declare, or unpack to, more than any machine has, and a table of a few
megabytes has a kernel matrix of gigabytes. The memory that either would take is therefore computed
before it is allocated, and refused above a limit. The command line reads the limit before it needs
numpy or joblib: what is slow to load is imported where it is used.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from depmax._warnings import warn_caller

if TYPE_CHECKING:
    import numpy as np


# --- memory and time -----------------------------------------------------------------------------
#: The environment variable that changes the limit.
VARIABLE = "DEPMAX_MAX_MEMORY"
DEFAULT = 4 * 2**30
#: What one more column takes beside its cells: its name, type and evidence, here and there.
COLUMN_BYTES = 2048

_UNITS = {"": 1, "b": 1, "kb": 2**10, "mb": 2**20, "gb": 2**30, "tb": 2**40}


class FileTooLargeError(ValueError):
    """A file that would take more memory than the limit."""


class TooManyRowsError(ValueError):
    """So many rows that values for their pairs or classes take more memory than the limit."""


def parse_memory(text: str) -> int:
    """Bytes of a size such as ``8GB`` or ``500 MB``; ``none`` means no limit.

    Examples
    --------
    >>> parse_memory("1.5 GB")
    1610612736
    """
    folded = text.strip().lower()
    if folded == "none":
        return 2**63 - 1
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?b?)", folded)
    if found is None or found[2] in ("k", "m", "g", "t"):
        raise ValueError(f"{text!r} is not a valid size: write 500MB, 8GB or none.")
    return min(int(float(found[1]) * _UNITS[found[2]]), 2**63 - 1)


def max_memory(requested: int | str | None = None) -> int:
    """The limit in bytes: as requested, else as the environment says, else 4 GB."""
    if isinstance(requested, int):
        return requested
    text = requested if requested is not None else os.environ.get(VARIABLE, "")
    if not text.strip():
        return DEFAULT
    try:
        return parse_memory(text)
    except ValueError as error:
        place = VARIABLE if requested is None else "max_memory"
        raise ValueError(f"{place}: {error}") from None


@contextmanager
def limited_to(n_bytes: int) -> Iterator[None]:
    """Set the limit for everything in the block, also in processes that are started there.

    Examples
    --------
    >>> with limited_to(2**20):
    ...     max_memory()
    1048576
    """
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(n_bytes)
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def table_bytes(n_rows: int, n_columns: int, n_bytes: int = 0) -> int:
    """Memory of a table whose cells take ``n_bytes`` and become one number each."""
    return max(n_bytes, 8 * n_rows * n_columns) + COLUMN_BYTES * n_columns


def require_memory(n_bytes: int, limit: int, name: object, what: str = "") -> None:
    """Refuse a file that would take more memory than the limit.

    Examples
    --------
    >>> require_memory(2**20, limit=2**30, name="a.csv")
    >>> require_memory(2**33, limit=2**32, name="a.csv", what="a table of 2 columns")
    Traceback (most recent call last):
    ...
    depmax._resources.FileTooLargeError: a.csv would take at least 8 GB of memory as a table of 2
    columns, and the limit is 4 GB. If you trust it and have the memory, allow more: --max-memory
    16GB on the command line, or DEPMAX_MAX_MEMORY=16GB in the environment.
    """
    if n_bytes <= limit:
        return
    shape = f" as {what}" if what else ""
    raise FileTooLargeError(
        f"{name} would take at least {_shown(n_bytes)} of memory{shape}, and the limit is "
        f"{_shown(limit)}. If you trust it and have the memory, allow more: "
        f"{_how_to_allow(n_bytes)}"
    )


def require_pairs(who: str, n_rows: int, n_values: float, instead: str) -> None:
    """Refuse to hold matrices of pairs of rows that would take more memory than the limit.

    Parameters
    ----------
    who : str
        What needs them: an estimator, a map.
    n_rows : int
    n_values : float
        Numbers in float64 held at the peak: ``n_rows**2`` for one kernel matrix.
    instead : str
        What to do instead, as a sentence.

    Examples
    --------
    >>> require_pairs("KernelPLS", 1000, 1000**2, "Use a map.")
    >>> require_pairs("KernelPLS", 40_000, 40_000**2, "Use a map.")
    Traceback (most recent call last):
    ...
    depmax._resources.TooManyRowsError: KernelPLS needs a value for every pair of 40,000 rows, which
    would take 11.9 GB of memory, and the limit is 4 GB. Use a map. If you have the memory, allow
    more: --max-memory 16GB on the command line, or DEPMAX_MAX_MEMORY=16GB in the environment.
    """
    needs = f"{who} needs a value for every pair of {n_rows:,} rows, which"
    require_values(needs, n_values, instead)


def require_values(needs: str, n_values: float, instead: str) -> None:
    """Refuse to hold so many numbers in float64, where these take more memory than the limit.

    Parameters
    ----------
    needs : str
        What would take the memory, as the beginning of a sentence.
    n_values : float
    instead : str
        What to do instead, as a sentence.
    """
    n_bytes, limit = int(8 * n_values), max_memory()
    if n_bytes <= limit:
        return
    raise TooManyRowsError(
        f"{needs} would take {_shown(n_bytes)} of memory, and the limit is {_shown(limit)}. "
        f"{instead} If you have the memory, allow more: {_how_to_allow(n_bytes)}"
    )


#: What takes time that is linear in the rows, where kernels are compared on all pairs of them.
MAPS_INSTEAD = (
    "Maps as kernels, kernel=NystroemMap(200) and for a target of numbers "
    "target_kernel=NystroemMap(50), take time that is linear in the rows; or take a random part of "
    "the rows."
)
#: Seconds from which on it is said before it starts how long something takes.
LONG = 60.0


def warn_if_long(what: str, seconds: float, instead: str = MAPS_INSTEAD) -> None:
    """Warn how long something will take, before it starts, if that is more than a minute.

    The command line says so from ten seconds on.

    Parameters
    ----------
    what : str
        What takes so long.
    seconds : float
        Of one core, on a machine of 2026.
    instead : str
        What to do instead, as a sentence.

    Examples
    --------
    >>> import warnings
    >>> warn_if_long("Visiting all pairs of 1,000 rows", 1e-8 * 1000**2)
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     warn_if_long("Visiting all pairs of 200,000 rows", 1e-8 * 200_000**2, "Use a map.")
    >>> print(said[0].message)
    Visiting all pairs of 200,000 rows takes about 7 minutes on one core. Use a map.
    """
    if seconds < LONG:
        return
    minutes = round(seconds / 60)
    long = f"{minutes:,} minutes" if minutes > 1 else f"{round(seconds, -1):.0f} seconds"
    if minutes > 180:
        long = f"{round(minutes / 60):,} hours"
    warn_caller(f"{what} takes about {long} on one core. {instead}", UserWarning)


@contextmanager
def told_from(seconds: float) -> Iterator[None]:
    """Say in the block how long something takes if it is so long: a person waits at a terminal.

    Examples
    --------
    >>> import warnings
    >>> with told_from(10), warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     warn_if_long("Visiting all pairs of 50,000 rows", 1e-8 * 50_000**2, "Use a map.")
    >>> print(said[0].message)
    Visiting all pairs of 50,000 rows takes about 20 seconds on one core. Use a map.
    """
    global LONG
    before, LONG = LONG, min(seconds, LONG)
    try:
        yield
    finally:
        LONG = before


def map_instead(kernel: object, name: str = "kernel") -> str:
    """The sentence that names a map in place of a kernel.

    Examples
    --------
    >>> map_instead("gaussian")
    "Pass a map, whose memory is linear in the rows: kernel=NystroemMap(200, kernel='gaussian')."
    """
    return (
        f"Pass a map, whose memory is linear in the rows: {name}=NystroemMap(200, "
        f"kernel={kernel!r})."
    )


def _how_to_allow(n_bytes: int) -> str:
    """With gigabytes that suffice, a power of two."""
    more = f"{max(1, int(2 ** (n_bytes // 2**30).bit_length()))}GB"
    return f"--max-memory {more} on the command line, or {VARIABLE}={more} in the environment."


def _shown(n_bytes: int) -> str:
    for unit, size in (("GB", 2**30), ("MB", 2**20)):
        if n_bytes >= size:
            return (
                f"{n_bytes / size:.3g} {unit}"
                if n_bytes < 1000 * size
                else f"{n_bytes / size:,.0f} {unit}"
            )
    return f"{n_bytes} bytes"


# --- parts and threads ---------------------------------------------------------------------------
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
    from joblib import cpu_count, effective_n_jobs

    threads = len(parts)
    if threads > 1:
        threads = min(effective_n_jobs(n_jobs), threads)
    if threads > 1:  # counting processors reads files, which takes longer than a small part
        # where joblib's backend is a cluster, it counts the processors of all its machines
        threads = min(threads, cpu_count())
    with thread_pool(max(1, threads)) as run:
        return list(run(work, parts))


@contextmanager
def one_blas_thread(n_jobs: int | None = None, *, always: bool = False) -> Iterator[None]:
    """Keep BLAS to one thread in each of several threads, and ``always`` for small matrices."""
    from joblib import effective_n_jobs
    from threadpoolctl import threadpool_limits

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


def has_few_rows(X: Any, most: int) -> bool:
    """Whether there are at most so many rows, and few products of numbers in all their pairs."""
    shape = tuple(getattr(X, "shape", ()))
    shape = shape or (len(X) if isinstance(X, list | tuple) else None,)
    if not all(isinstance(size, int) for size in shape):  # others are known to Dask only
        return False
    columns = shape[1] if len(shape) == 2 else 1
    return shape[0] <= most and shape[0] ** 2 * columns <= SMALL_PRODUCTS


def one_thread_for_few_rows(
    most: int,
) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """A fit whose matrix products keep to one thread for at most so many rows.

    Several BLAS threads wait for each other in a loop after each product. On a machine with another
    task that loop is most of what they do: a fit to 300 × 8 took seconds instead of tenths, and a
    search over 20 columns of 4,000 rows eight times as long.
    """

    def decorate(fit: Callable[..., Result]) -> Callable[..., Result]:
        @functools.wraps(fit)
        def fitted(self: Any, X: Any, *others: Any, **more: Any) -> Result:
            with small_problems(has_few_rows(X, most)):
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
            try:
                take()  # this thread works too: others may take a while to wake up
                for helper in helpers:
                    helper.result()
            finally:
                waiting.clear()  # after an error, or Ctrl-C, nobody takes another
            return [results[number] for number in range(len(results))]

        yield run


@functools.cache
def _controller() -> Any:
    """The libraries that are loaded, looked for once: the search takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def each_column(
    X: Any, score: Callable[[np.ndarray, int], Any], n_jobs: int | None = None
) -> np.ndarray:
    """Results of ``score(column, position)`` for every column, by threads."""
    import numpy as np
    from scipy import sparse

    values = X.tocsc() if sparse.issparse(X) else X

    def scored(position: int) -> Any:
        if sparse.issparse(values):
            column = values[:, [position]].toarray()[:, 0]
        else:
            column = values[:, position]
        return score(np.ascontiguousarray(column, dtype=np.float64), position)

    return np.array(map_threads(scored, range(values.shape[1]), n_jobs))


# --- values computed once ------------------------------------------------------------------------
# Before Python 3.12 functools.cached_property holds a lock of the whole class while it computes: a
# process that is forked while another thread does so would wait for it for ever.
if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801  # named as the one it replaces
        """The same value for two threads that ask at once, or an equal one."""

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            kept = instance.__dict__
            if self.attrname not in kept:
                kept.setdefault(self.attrname, self.func(instance))
            return kept[self.attrname]
