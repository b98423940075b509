"""Time the subsequence kernel of the promoter strings beside a dynamic program in plain Python.

A cell is one step of the program, length x |s| x |t| of them per pair. The limit is the number of
multiply-adds per second, in the same run, of a compiled loop that stays in registers.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import common
import numba
import numpy as np

from depmax.datasets import load
from depmax.kernels import Subsequence
from depmax.kernels import _subsequence_loop as loop

N_THREADS = os.cpu_count() or 1
DECAY = 0.5


def plain_value(s: str, t: str, length: int) -> float:
    """K_n(s, t), the recursion of Lodhi et al. (2002) as one writes it down."""
    prefix = [[1.0] * (len(t) + 1) for _ in range(len(s) + 1)]  # K'_0
    for _ in range(1, length):
        longer = [[0.0] * (len(t) + 1) for _ in range(len(s) + 1)]  # K'_i
        for a, x in enumerate(s):
            above, row, below = longer[a], longer[a + 1], prefix[a]
            inner = 0.0  # K''_i
            for b, y in enumerate(t):
                inner *= DECAY
                if x == y:
                    inner += DECAY * DECAY * below[b]
                row[b + 1] = DECAY * above[b + 1] + inner
        prefix = longer
    pairs = ((a, b) for a, x in enumerate(s) for b, y in enumerate(t) if x == y)
    return DECAY * DECAY * sum(prefix[a][b] for a, b in pairs)


def plain_matrix(X: list[str], length: int) -> np.ndarray:
    K = np.zeros((len(X), len(X)))
    for i, j in zip(*np.triu_indices(len(X)), strict=True):
        K[i, j] = K[j, i] = plain_value(X[i], X[j], length)
    own = np.sqrt(np.diag(K))
    return K / np.outer(own, own)


def seconds(call: Callable[[], object], repeats: int) -> float:
    """Least of several measurements."""
    clock = [time.perf_counter()]
    for _ in range(repeats):
        call()
        clock.append(time.perf_counter())
    return float(np.diff(clock).min())


@numba.njit("void(int64, float64[::1])", nogil=True)
def multiply_adds(n_rounds: int, out: np.ndarray) -> None:
    """Three multiply-adds per lane and round, none waiting for another."""
    x, y = loop._fill(0.9), loop._fill(0.5)
    a = b = c = y
    for _ in range(n_rounds):
        a, b = loop._times_plus(a, x, y), loop._times_plus(b, x, y)
        c = loop._times_plus(c, x, y)
    loop._store(out, 0, loop._times_plus(a, b, c))


def most_multiply_adds_per_second(n_rounds: int = 2_000_000) -> float:
    buffers = [np.empty(loop.LANES) for _ in range(N_THREADS)]
    with ThreadPoolExecutor(N_THREADS) as pool:
        least = seconds(lambda: list(pool.map(partial(multiply_adds, n_rounds), buffers)), 30)
    return 3 * n_rounds * loop.LANES * N_THREADS / least


def first_call() -> str:
    """Seconds of the first evaluation in a new process that finds nothing compiled."""
    code = """if True:
        import time; from depmax.kernels import Subsequence
        wall, cpu = time.perf_counter(), time.process_time()
        Subsequence()(["abcde", "bcdef"])
        print(f"{time.perf_counter() - wall:.2f} s, processor {time.process_time() - cpu:.2f} s")
    """
    with tempfile.TemporaryDirectory() as empty:
        here = {**os.environ, "NUMBA_CACHE_DIR": empty}
        return subprocess.check_output([sys.executable, "-c", code], env=here, text=True).strip()


def main() -> None:
    common.parse(argparse.ArgumentParser(description=__doc__.splitlines()[0]))
    X = [str(s) for s in load("promoters").X.ravel()][: common.sized(None, 6)]
    n_pairs, size = len(X) * (len(X) + 1) / 2, len(X[0])  # all have the same size
    limit = most_multiply_adds_per_second()
    print(f"{len(X)} strings, {N_THREADS} threads; limit {limit / 1e9:.1f} billion multiply-adds/s")
    for length in (4, 5):
        kernel = Subsequence(length=length, decay=DECAY, n_jobs=N_THREADS)
        start = time.perf_counter()
        expected = plain_matrix(X, length)
        plain = time.perf_counter() - start
        np.testing.assert_allclose(kernel(X), expected, rtol=0, atol=1e-10)
        ours = seconds(partial(kernel, X), 50)
        cells = n_pairs * length * size**2
        # What cannot be avoided: no subsequence ends too early or too late for its other symbols.
        needed = n_pairs * (3 * (length - 1) * (size - length + 1) ** 2 + size**2)
        print(
            f"length {length}: plain Python {plain:.2f} s, depmax {ours * 1e3:.2f} ms, "
            f"{plain / ours:.0f} times as fast; {cells / ours / 1e9:.2f} billion cells/s, "
            f"{needed / ours / limit:.0%} of the limit"
        )
    print(f"first call, nothing compiled: {first_call()}")


if __name__ == "__main__":
    main()
