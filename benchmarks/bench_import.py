"""How long a user waits: for the import, and for the first call of what is compiled.

Imports are timed in new interpreters, depmax and scikit-learn in turn. The first calls run in a
process that finds an empty cache of compiled functions, then in another that finds it filled. The
limit of ``import depmax`` is ``import sklearn``, which it needs; that of a first call is the same
call in a process that has made it before.
"""

from __future__ import annotations

import argparse
import tempfile
from typing import Any

import common
import numpy as np

IMPORT = """
import time
start = time.perf_counter()
import {name}
print(time.perf_counter() - start)
"""
FIRST_CALL = """
import time
{setup}
for _ in range(2):
    start = time.perf_counter()
    {call}
    print(time.perf_counter() - start)
"""
CALLS = {
    "Subsequence": (
        "from depmax.kernels import Subsequence",
        'Subsequence()(["abcde", "bcdef"])',
    ),
    "screen": (
        "import numpy as np\n"
        "from depmax import screen\n"
        "X = np.random.default_rng(0).normal(size=(100, 3))",
        "screen(X, X[:, 0] > 0)",
    ),
}


def time_imports(rounds: int) -> dict[str, float]:
    """Least seconds of either import, taken in turn so that both meet the same machine."""
    names = ("depmax", "sklearn")
    taken: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(rounds + 1):  # the first fills the file cache
        for name in names:
            taken[name].append(float(common.run_python(IMPORT.format(name=name))))
    return {name: float(np.min(values[1:])) for name, values in taken.items()}


def time_first_calls(name: str, rounds: int) -> dict[str, float]:
    """Seconds of the first call without and with compiled functions on disk, and of a second."""
    setup, call = CALLS[name]
    code = FIRST_CALL.format(setup=setup, call=call)
    taken = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as empty:
            cold = common.run_python(code, NUMBA_CACHE_DIR=empty).split()
            warm = common.run_python(code, NUMBA_CACHE_DIR=empty).split()
        taken.append([float(cold[0]), float(warm[0]), float(warm[1])])
    cold_best, warm_best, again = np.min(taken, axis=0)
    return {"cold": float(cold_best), "warm": float(warm_best), "second_call": float(again)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=common.sized(7, 1))
    parser.add_argument("--no-save", action="store_true", help="only print")
    options = common.parse(parser)
    rates = common.machine()
    imports = time_imports(options.rounds)
    first = {name: time_first_calls(name, min(3, options.rounds)) for name in CALLS}
    ratio = imports["depmax"] / imports["sklearn"]

    common.table(
        ["import", "time", "of sklearn's"],
        [
            [name, common.duration(taken), f"{taken / imports['sklearn']:.2f}"]
            for name, taken in imports.items()
        ],
    )
    print()
    common.table(
        ["first call of", "nothing compiled", "compiled on disk", "second call"],
        [[name, *map(common.duration, taken.values())] for name, taken in first.items()],
    )
    bars: dict[str, Any] = {"import depmax / import sklearn": common.at_most(ratio, 1.3)}
    for name, taken in first.items():
        bars[f"first {name}, nothing compiled, in s"] = common.at_most(taken["cold"], 2.0)
    print()
    common.report_bars(bars)
    if not options.no_save:
        results = {"rates": rates, "import": imports, "first_call": first, "bars": bars}
        common.save("import", results)


if __name__ == "__main__":
    main()
