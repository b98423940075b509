"""What every benchmark needs: time, peak memory, the machine's own speed, tables and results.

With ``--smoke`` a script takes seconds: small tables, one repeat, nothing written. CI runs all of
them so, to see that they run; figures come from whole runs.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import os
import platform
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

RESULTS = Path(__file__).parent / "results"
N_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
LIBRARIES = ("depmax", "numpy", "scipy", "scikit-learn", "numba", "joblib")


# --- whole runs and smoke runs --------------------------------------------------------------------
#: Whether this run only shows that the script works.
SMOKE = "--smoke" in sys.argv[1:]


def sized(whole: Any, smoke: Any) -> Any:
    """What a whole run takes, and what a smoke run does."""
    return smoke if SMOKE else whole


def require_data() -> None:
    """End a smoke run where the folder of real data is not named."""
    if SMOKE and not os.environ.get("DEPMAX_DATA"):
        print("NOT RUN: needs real data in the folder that DEPMAX_DATA names")
        sys.exit(0)


def parse(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Options of a script, with ``--smoke``."""
    parser.add_argument("--smoke", action="store_true", help="small, nothing is written")
    return parser.parse_args()


def require(*libraries: str) -> None:
    """End a smoke run where another library is missing; a whole run then fails by itself."""
    missing = [name for name in libraries if importlib.util.find_spec(name) is None]
    if SMOKE and missing:
        print(f"NOT RUN: needs {', '.join(missing)} (pip install -e '.[bench]')")
        sys.exit(0)


# --- time -----------------------------------------------------------------------------------------
def best_seconds(call: Callable[[], object], repeats: int = 5, budget: float = 30.0) -> float:
    """Least of several measurements; fewer once they have taken ``budget`` seconds together."""
    gc.collect()
    best, spent = np.inf, 0.0
    for _ in range(sized(repeats, 1)):
        start = time.perf_counter()
        call()
        elapsed = time.perf_counter() - start
        best, spent = min(best, elapsed), spent + elapsed
        if spent + elapsed > budget:
            break
    return float(best)


def scaled_seconds(
    call: Callable[[int], object], count: int, few: int, budget: float
) -> tuple[float, bool]:
    """Seconds of ``call(count)``, and whether they are extrapolated.

    Where ``call(count)`` would take more than ``budget`` seconds, the cost of one round comes from
    the best of two runs each with ``few`` and with ``3 * few`` rounds.
    """
    short = best_seconds(lambda: call(few), repeats=2)
    long = best_seconds(lambda: call(3 * few), repeats=2)
    each = max(long - short, 0.0) / (2 * few)
    estimate = short + (count - few) * each
    if estimate > budget:
        return estimate, True
    return best_seconds(lambda: call(count), repeats=3, budget=budget), False


# --- the machine's own speed ----------------------------------------------------------------------
def gemm_rate(threads: int = N_CORES, size: int = 1500) -> float:
    """Floating-point operations per second of a large float64 matrix product."""
    size = sized(size, 100)
    matrix = np.random.default_rng(0).standard_normal((size, size))
    out = np.empty_like(matrix)
    with threadpool_limits(threads):
        seconds = best_seconds(lambda: np.matmul(matrix, matrix, out=out), repeats=7)
    return 2.0 * size**3 / seconds


def exp_rate(dtype: Any = np.float64, threads: int = 1, size: int = 2**15) -> float:
    """Exponentials per second of ``np.exp`` on arrays that stay in the cache."""
    values = np.linspace(-10.0, 0.0, size, dtype=dtype)
    buffers = [np.empty_like(values) for _ in range(threads)]
    rounds = sized(200, 1)

    def work(out: np.ndarray) -> None:
        for _ in range(rounds):
            np.exp(values, out=out)

    with ThreadPoolExecutor(threads) as pool:
        seconds = best_seconds(lambda: list(pool.map(work, buffers)), repeats=7)
    return rounds * size * threads / seconds


def copy_rate(threads: int = N_CORES, size: int = 2**23) -> float:
    """Bytes read and written per second when large arrays are copied."""
    size = sized(size, 2**16)
    pairs = [(np.ones(size), np.empty(size)) for _ in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        seconds = best_seconds(lambda: list(pool.map(lambda p: np.copyto(p[1], p[0]), pairs)), 7)
    return 2.0 * 8 * size * threads / seconds


def machine() -> dict[str, float]:
    """Rates of this run, from which the limits are computed."""
    rates = {f"gemm_flops_{threads}": gemm_rate(threads) for threads in (1, N_CORES)}
    for threads in (1, N_CORES):
        rates[f"exp_float64_{threads}"] = exp_rate(np.float64, threads)
        rates[f"exp_float32_{threads}"] = exp_rate(np.float32, threads)
    print(
        f"{N_CORES} cores: {rates[f'gemm_flops_{N_CORES}'] / 1e9:.0f} Gflop/s in float64, exp "
        f"{rates[f'exp_float64_{N_CORES}'] / 1e9:.2f} billion/s in float64, "
        f"{rates[f'exp_float32_{N_CORES}'] / 1e9:.2f} in float32"
    )
    return rates


# --- memory ---------------------------------------------------------------------------------------
_PROBE = """
import json, resource, time

def _peak():
    # VmHWM starts afresh with the program; ru_maxrss may inherit the parent's.
    try:
        with open("/proc/self/status") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024
    except OSError:
        import sys
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

{setup}
_before = _peak()
_start = time.perf_counter()
_value = ({expression})
_seconds = time.perf_counter() - _start
print(json.dumps(dict(baseline=_before, total=_peak(), seconds=_seconds, value=float(_value))))
"""


def peak_memory(setup: str, expression: str) -> dict[str, float]:
    """Peak memory of one expression in a fresh process, in bytes.

    Parameters
    ----------
    setup : str
        Imports, data and, so that what is loaded at the first call is not counted, a small call.
    expression : str
        What is measured; it must give a number.

    Returns
    -------
    dict
        ``total`` (peak of the process), ``baseline`` (its peak before the expression),
        ``increment`` (the difference), ``seconds`` and ``value`` of the expression.
    """
    code = _PROBE.format(setup=textwrap.dedent(setup), expression=expression)
    done = run_python(code)
    report: dict[str, float] = json.loads(done.splitlines()[-1])
    report["increment"] = report["total"] - report["baseline"]
    return report


def run_python(code: str, **environment: str) -> str:
    """Output of a new interpreter; its warnings are not shown, its errors are raised."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


# --- output ---------------------------------------------------------------------------------------
def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table: the first column to the left, the others to the right."""
    cells = [list(map(str, row)) for row in [head, *rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        first = row[0].ljust(widths[0])
        rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        print("  ".join([first, *rest]).rstrip())


def duration(seconds: float) -> str:
    """Seconds with three digits, in a unit that suits them."""
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"


def megabytes(size: float) -> str:
    """Bytes in MB."""
    return f"{size / 1e6:.0f} MB"


def at_least(value: float, bar: float, aim: float | None = None) -> dict[str, Any]:
    """A ratio with the bar that it must reach, and the aim."""
    return {"value": value, "bar": bar, "aim": aim, "passed": bool(value >= bar)}


def at_most(value: float, bar: float) -> dict[str, Any]:
    """A number with the bar that it must not exceed."""
    return {"value": value, "bar": bar, "passed": bool(value <= bar)}


def report_bars(bars: dict[str, dict[str, Any]]) -> None:
    """Print which bars are reached; a smoke run reaches none."""
    if SMOKE:
        return
    for name, bar in bars.items():
        aim = f", aim {bar['aim']:g}" if bar.get("aim") else ""
        verdict = "reached" if bar["passed"] else "NOT REACHED"
        print(f"{verdict:>11}  {name}: {bar['value']:.3g} (bar {bar['bar']:g}{aim})")


def versions(*others: str) -> dict[str, str]:
    """Versions of Python, of depmax with what it uses, and of the libraries compared with."""
    found = {"python": platform.python_version()}
    for name in (*LIBRARIES, *others):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            module = sys.modules.get(name)
            found[name] = getattr(module, "__version__", "not installed")
    return found


def load(name: str) -> dict[str, Any] | None:
    """Results of an earlier run, if there are any."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


@dataclass
class Cells:
    """Results of single settings, written as they come, so that a long run can be stopped."""

    name: str | None  # of the file beside the results; None writes nothing
    n_jobs: int
    known: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def resumed(cls, name: str, n_jobs: int) -> Cells:
        """What an earlier run has found, to go on from there."""
        path = RESULTS / f"{name}.cells.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return cls(name, n_jobs, {each["cell"]: each["found"] for each in map(json.loads, lines)})

    def of(self, compute: Callable[..., Any], *setting: Any) -> Any:
        """``compute(*setting, n_jobs)``, unless an earlier run has found it."""
        key = json.dumps([compute.__module__, compute.__name__, *setting])
        if key not in self.known:
            found = json.loads(json.dumps(compute(*setting, self.n_jobs), default=_plain))
            self.known[key] = found
            print(f"  {key}: {json.dumps(found)}", file=sys.stderr, flush=True)
            if self.name is not None:
                with (RESULTS / f"{self.name}.cells.jsonl").open("a") as file:
                    file.write(json.dumps({"cell": key, "found": found}) + "\n")
        return self.known[key]


def facts(*others: str) -> dict[str, Any]:
    """Versions of all libraries and the number of cores."""
    return {"versions": versions(*others), "n_cores": N_CORES}


def save(name: str, results: dict[str, Any], *others: str) -> None:
    """Write results with the versions of all libraries and the number of cores."""
    text = json.dumps({**facts(*others), **results}, indent=1, default=_plain)
    if SMOKE:
        return
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(text + "\n")
    print(f"Written: {path.relative_to(RESULTS.parent.parent)}")


def _plain(value: Any) -> Any:
    """Numbers and arrays of numpy as JSON knows them."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
