"""Time and peak memory of the searches with default options: many rows, and many columns.

Every measurement runs in a process of its own: imports, data and a small call first, which are the
baseline, then one call. CPU seconds, so that other work on the machine does not count. The columns
that make the target are known; "found" says how many of them are among as many selected.

    python benchmarks/bench_elimination.py
    python benchmarks/bench_elimination.py "BAHSIC 200000 x 100"

With --speed, KernelRidgeElimination with 10 columns and with "auto" at usual sizes, beside BAHSIC
and the gains of LightGBM, and beside an older work tree of the repository in the same run:

    git worktree add --detach /tmp/before REVISION
    python benchmarks/bench_elimination.py --speed --before /tmp/before
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common

DATA = """
import time
import numpy as np
rng = np.random.default_rng(0)
def rows(n, d):
    X = rng.normal(size=(n, d))
    {target}
    return X, y, relevant
"""
SETUP = (
    DATA
    + """
from depmax import {selector}
def call(X, y, relevant):
    start = time.process_time()
    kept = {selector}(len(relevant), pvalues=False).fit(X, y).get_support(indices=True)
    spent = time.process_time() - start
    return len(set(kept.tolist()) & set(relevant)) + 1e-6 * spent
{selector}(2, pvalues=False).fit(rng.normal(size=(60, 4)), rng.normal(size=60))
X, y, relevant = rows({rows}, {columns})
"""
)
#: An additive column, a product of two and a wave.
NUMBERS = """y = X[:, 3] + X[:, 8] * X[:, 20] + np.sin(2 * X[:, 5]) + 0.5 * rng.normal(size=n)
    relevant = [3, 5, 8, 20]"""
#: Two classes that differ in ten columns of many, as genes do.
GENES = """y = rng.integers(0, 2, n)
    X[:, :10] += 1.5 * y[:, np.newaxis]
    relevant = list(range(10))"""
#: A pair of columns that matters only together.
XOR = """y = (X[:, 3] * X[:, 8] > 0).astype(int)
    relevant = [3, 8]"""


@dataclass(frozen=True)
class Case:
    """A selector, the size of its data, and what makes the target."""

    selector: str
    rows: int
    columns: int
    target: str = NUMBERS
    word: str = ""

    @property
    def name(self) -> str:
        """How it is called in the results and on the command line."""
        return f"{self.selector} {self.rows} x {self.columns}{self.word}"


CASES = (
    Case("BAHSIC", 20_000, 50),
    Case("BAHSIC", 300, 1_000, XOR, " XOR"),
    Case("KernelRidgeElimination", 300, 1_000, XOR, " XOR"),
    Case("BAHSIC", 100, 20_000, GENES, " genes"),
    Case("KernelRidgeElimination", 100, 20_000, GENES, " genes"),
    Case("BAHSIC", 200_000, 100),
    Case("FOHSIC", 200_000, 100),
    Case("KernelRidgeElimination", 200_000, 100),
    Case("BAHSIC", 20_000, 100),
    Case("KernelRidgeElimination", 20_000, 100),
    Case("KernelRidgeElimination", 1_000, 100),
)


#: Sizes at which the default selector is to answer while one waits.
SIZES = ((300, 30), (1_000, 24), (1_000, 100), (1_000, 500), (500, 500), (20_000, 100))
#: What is timed there: code that selects, and whether an older tree is timed, too.
SPEED = {
    "LightGBM gain": ("LGBM(importance_type='gain', n_jobs=1, verbose=-1, random_state=0)", False),
    "BAHSIC": ("depmax.BAHSIC(10, pvalues=False)", True),
    "plain": ("depmax.KernelRidgeElimination(10, pvalues=False)", True),
    "auto": ("depmax.KernelRidgeElimination('auto', pvalues=False)", False),
}
#: The best of so many calls counts, of fewer once they have taken so many seconds.
CALLS, BUDGET = 3, 20.0
TIMING = (
    DATA
    + """
import depmax
from lightgbm import LGBM{kind} as LGBM
X, y, _ = rows({rows}, {columns})
{model}.fit(X[:60, :24], y[:60])
times = []
while len(times) < {calls} and sum(times) < {budget}:
    start = time.process_time()
    {model}.fit(X, y)
    times.append(time.process_time() - start)
print(min(times))
"""
)


def cpu_seconds(model: str, rows: int, columns: int, target: str, tree: Path | None) -> float:
    """CPU of a fit in a process of its own, with the package of a tree or with this one."""
    code = TIMING.format(
        model=model,
        rows=rows,
        columns=columns,
        target=target,
        kind="Regressor" if target == NUMBERS else "Classifier",
        calls=CALLS,
        budget=BUDGET,
    )
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    tree = tree or Path(__file__).parents[1]
    return float(common.run_python(code, **single, PYTHONPATH=str(tree / "src")))


def speed(old: Path | None) -> None:
    """KernelRidgeElimination(10) and ("auto") beside BAHSIC, LightGBM and an older tree."""
    lines, kept = [], {}
    for (rows, columns), target in itertools.product(SIZES, (NUMBERS, GENES)):
        name = f"{rows:,} x {columns:,}" + (" numbers" if target == NUMBERS else " classes")
        found = {}
        for call, (model, has_old) in SPEED.items():
            found[call] = cpu_seconds(model, rows, columns, target, None)
            if old and has_old:
                found[f"{call} before"] = cpu_seconds(model, rows, columns, target, old)
        found["auto / plain"] = found["auto"] / found["plain"]
        if old:
            found["gain"] = found["plain before"] / found["plain"]
        kept[name] = found
        ratios = ("auto / plain", "gain")
        cells = [f"{v:.1f}" if key in ratios else common.duration(v) for key, v in found.items()]
        lines.append([name, *cells])
        print(*lines[-1], flush=True)
        common.save("elimination", {**_earlier(), "speed": kept}, "lightgbm")
    print()
    common.table(["CPU", *found], lines)


def _earlier() -> dict[str, Any]:
    """What the file of results has."""
    return {key: (common.load("elimination") or {}).get(key, {}) for key in ("cases", "speed")}


def main() -> None:
    """Measure the cases asked for, or all, and keep the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help="names of cases; default all")
    parser.add_argument("--speed", action="store_true", help="beside LightGBM, at usual sizes")
    parser.add_argument("--before", type=Path, help="an older work tree, timed in the same run")
    options = common.parse(parser)
    if options.speed:
        speed(options.before)
        return
    rows = []
    for case in CASES[: common.sized(None, 3)]:
        if options.cases and case.name not in options.cases:
            continue
        rows_of, columns = case.rows, case.columns
        if common.SMOKE:
            rows_of, columns = min(rows_of, 100), min(columns, 30)
        setup = SETUP.format(
            selector=case.selector, target=case.target, rows=rows_of, columns=columns
        )
        measured = common.peak_memory(setup, "call(X, y, relevant)")
        found = int(measured["value"])
        seconds = 1e6 * (measured["value"] - found)
        results = _earlier()  # others may run, too
        results["cases"][case.name] = {
            "cpu_seconds": seconds,
            "bytes": measured["increment"],
            "found": found,
        }
        megabytes = common.megabytes(measured["increment"])
        rows.append([case.name, common.duration(seconds), megabytes, found])
        print(*rows[-1], flush=True)
        common.save("elimination", results)
    print()
    common.table(["", "CPU", "memory of the call", "found"], rows)


if __name__ == "__main__":
    main()
