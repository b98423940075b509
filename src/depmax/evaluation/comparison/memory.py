"""How much memory a fit takes beyond its data."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Callable

MEGABYTE = 2.0**20


def peak_megabytes(work: Callable[[], object]) -> float:
    """Most memory that Python and numpy held at once for some work, beyond what was there before.

    What compiled libraries take for themselves (libsvm, BLAS, compiled loops) is not seen. NaN
    where it cannot be told apart from other work: in one of several threads, or under a trace of
    the user's own.
    """
    if tracemalloc.is_tracing() or threading.current_thread() is not threading.main_thread():
        return float("nan")
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / MEGABYTE
    finally:
        tracemalloc.stop()
