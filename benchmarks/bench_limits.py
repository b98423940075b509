"""Time and peak memory of every public function and estimator at 10⁴, 10⁵ and 10⁶ rows.

Each measurement is a process of its own with limits of memory and of time; a refusal that names
what to use instead is an outcome. ``--page`` writes the table of docs/limits.md from the results.
Only what has no result yet, or ran out of less time than it now gets, is run: ``--again NAME`` runs
an entry anew. What ran out of time is not run with more rows, unless it refuses those at once.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import re
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import common
import numpy as np

import depmax
from depmax import dependence, evaluation, extraction, maps, selection
from depmax.kernels import Gaussian
from depmax.maps import NystroemMap

ROWS = (10_000, 100_000, 1_000_000)
COLUMNS = 10
PAGE = Path(__file__).parent.parent / "docs" / "limits.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
#: Names that compute nothing with rows of numbers, and bases of classes.
NOT_MEASURED = {
    "DependenceExtractor",
    "DependenceSelector",
    "FeatureMap",
    "SubtreeCounts",
}
#: Names whose entries say what they are given.
SAID_WITH_ARGUMENTS = {"Unconfounded"}
#: Seconds within which too many rows are refused, where fewer ran out of time.
REFUSAL = 3
#: Methods for classes; all others predict a number here.
FOR_CLASSES = {"KernelBoosting", "KernelLDA", "KernelPLSClassifier"}


@dataclass(frozen=True)
class Rows:
    """Ten columns; a number, two classes and three labels depend on some of them."""

    X: np.ndarray
    y: np.ndarray
    classes: np.ndarray
    #: Three labels of each row, none to all of which hold.
    labels: np.ndarray

    @classmethod
    def drawn(cls, count: int) -> Rows:
        """Standard normal columns."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((count, COLUMNS))
        y = X[:, 0] + X[:, 1] ** 2 + X[:, 2] + 0.5 * rng.standard_normal(count)
        return cls(X, y, (y > 1).astype(int), (X[:, 1:4] > 0).astype(int))


Call = Callable[[Rows], object]

#: Functions that take something else than X and y.
CALLS: dict[str, Call] = {
    "correntropy": lambda rows: dependence.correntropy(rows.X[:, 0], rows.y),
    "mmd": lambda rows: dependence.mmd(rows.X[::2], rows.X[1::2]),
    "total_correlation": lambda rows: dependence.total_correlation(rows.X),
    "intrinsic_dimension": lambda rows: dependence.intrinsic_dimension(rows.X),
    "resolve": lambda rows: dependence.resolve(Gaussian(), rows.X, rows.y),
    'hsic_test(method="gamma")': lambda rows: dependence.hsic_test(rows.X, rows.y, method="gamma"),
    "hsic_test(kernel=NystroemMap(100), target_kernel=NystroemMap(50))": lambda rows: (
        dependence.hsic_test(rows.X, rows.y, kernel=NystroemMap(100), target_kernel=NystroemMap(50))
    ),
    "hsic(kernel=NystroemMap(100), target_kernel=NystroemMap(50))": lambda rows: dependence.hsic(
        rows.X, rows.y, kernel=NystroemMap(100), target_kernel=NystroemMap(50)
    ),
    'hsic_test(method="aggregate")': lambda rows: dependence.hsic_test(
        rows.X, rows.y, method="aggregate"
    ),
    "hsic_test(given=x1)": lambda rows: dependence.hsic_test(
        rows.X[:, 1:], rows.y, given=rows.X[:, :1]
    ),
    "Residual": lambda rows: extraction.Residual([0]).fit_transform(rows.X),
    "Unconfounded(HSCA())": lambda rows: selection.Unconfounded(extraction.HSCA(), given=[0]).fit(
        rows.X, rows.y
    ),
    "Unconfounded(BAHSIC())": lambda rows: selection.Unconfounded(
        selection.BAHSIC(), given=[0]
    ).fit(rows.X, rows.y),
    "MLkNN": lambda rows: evaluation.MLkNN().fit(rows.X, rows.labels),
    "stability": lambda rows: evaluation.stability(
        selection.DependenceFilter(3), rows.X, rows.y, random_state=0
    ),
    **{
        name: partial(lambda measure, rows: measure(rows.labels, rows.X[:, :3]), measure)
        for name, measure in (
            ("average_precision", evaluation.average_precision),
            ("coverage", evaluation.coverage),
            ("one_error", evaluation.one_error),
            ("ranking_loss", evaluation.ranking_loss),
        )
    },
    "hsic(block_size=1000)": lambda rows: dependence.hsic(rows.X, rows.y, block_size=1000),
}


def entries() -> dict[str, Call]:
    """Every public function and estimator, extractors also with a kernel and with a map."""
    found: dict[str, Call] = {}
    for package in (dependence, selection, maps, extraction):
        for name in package.__all__:
            part = getattr(package, name)
            if name in NOT_MEASURED | SAID_WITH_ARGUMENTS or name in CALLS:
                continue
            if inspect.isfunction(part):
                found[name] = _function(part)
            elif hasattr(part, "fit"):
                found |= dict(_estimators(name, part))
    found["compare"] = _compare
    if find_spec("torch"):
        found |= {name: _network(name) for name in ("Autoencoder", "NeuroHBFE", "NeuroHSCA")}
    return dict(sorted({**CALLS, **found}.items(), key=lambda entry: entry[0].lower()))


def _compare(rows: Rows) -> object:
    return depmax.compare(rows.X, rows.classes, n_jobs=1)


def _network(name: str) -> Call:
    def fit(rows: Rows) -> object:
        from depmax import neural  # imports torch

        return getattr(neural, name)(random_state=0).fit(rows.X, rows.y)

    return fit


def _function(part: Callable[..., object]) -> Call:
    return lambda rows: part(rows.X, rows.y)


def _estimators(name: str, part: Any) -> Iterator[tuple[str, Call]]:
    yield name, _fit(name, part)
    kernel = inspect.signature(part).parameters.get("kernel")
    if kernel is None or part.__module__.startswith(("depmax.maps", "depmax.selection")):
        return
    if kernel.default != "gaussian":
        yield f'{name}(kernel="gaussian")', _fit(name, part, kernel="gaussian")
    yield f"{name}(kernel=NystroemMap(100))", _fit(name, part, kernel=NystroemMap(100))


def _fit(name: str, part: Any, **parameters: Any) -> Call:
    return lambda rows: part(**parameters).fit(
        rows.X, rows.classes if name in FOR_CLASSES else rows.y
    )


# --- one measurement ------------------------------------------------------------------------------
def measured(call: Call, count: int, seconds: int, gigabytes: float) -> dict[str, Any]:
    """Outcome of a call in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.write(write, json.dumps(_outcome(call, count, seconds, gigabytes)).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    status = os.waitpid(child, 0)[1]
    if text:
        return dict(json.loads(text))
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        return {"outcome": "time", "limit": seconds}
    return {"outcome": "died", "message": f"status {status}"}


def _outcome(call: Call, count: int, seconds: int, gigabytes: float) -> dict[str, Any]:
    """In the child: a limit of CPU time kills it, one of memory is an error."""
    rows = Rows.drawn(count)
    before = _reset_peak()
    limit = int(gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    used = int(np.ceil(time.process_time()))
    resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, used + seconds + 5))
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the data, which say nothing of time and memory
            call(rows)
    except MemoryError:
        return {"outcome": "memory"}
    except ValueError as error:
        return {"outcome": "refuses", "message": str(error)}
    except Exception as error:
        return {"outcome": "error", "message": f"{type(error).__name__}: {error}"}
    took = time.process_time() - start
    return {"outcome": "done", "seconds": took, "bytes": _peak() - before}


def _reset_peak() -> int:
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    status = Path("/proc/self/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+)", status)
    assert found is not None
    return int(found[1]) * 1024


# --- all of them ----------------------------------------------------------------------------------
def run(chosen: dict[str, Call], sizes: list[int], options: argparse.Namespace) -> None:
    """Measure what has no result yet, few rows and quick entries first; keep each at once."""
    results: dict[str, Any] = (
        {} if common.SMOKE else (common.load("limits") or {}).get("results", {})
    )
    for name in options.again:
        results.pop(name, None)
    for count in sizes:
        for name in sorted(chosen, key=lambda name: _seconds(results.get(name, {}))):
            own = results.setdefault(name, {})
            if _is_final(own.get(str(count)), options.seconds):
                continue
            fewer = [own.get(str(size), {}) for size in ROWS if size < count]
            over = any(result.get("outcome") == "time" for result in fewer)
            seconds = REFUSAL if over else options.seconds
            result = measured(chosen[name], count, seconds, options.gigabytes)
            if result["outcome"] == "time":
                result["limit"] = options.seconds
            own[str(count)] = result
            print(f"{count:>9,}  {name:45}  {shown(own[str(count)])}", flush=True)
            _keep(results, options)


def _seconds(own: dict[str, Any]) -> float:
    """What an entry took with the most rows that it was measured with; 0 if not yet."""
    done = [own[size] for size in sorted(own, key=int)]
    return float(done[-1].get("seconds", np.inf)) if done else 0.0


def _is_final(result: dict[str, Any] | None, seconds: int) -> bool:
    return result is not None and (result["outcome"] != "time" or result["limit"] >= seconds)


def _keep(results: dict[str, Any], options: argparse.Namespace) -> None:
    content = {
        **common.facts(),
        "gigabytes": options.gigabytes,
        "columns": COLUMNS,
        "load": os.getloadavg()[1],  # what else ran: times are of the processor, not the clock
        "results": results,
    }
    if common.SMOKE:
        return
    path = common.RESULTS / "limits.json"
    path.write_text(json.dumps(content, indent=1) + "\n")


# --- the page -------------------------------------------------------------------------------------
def shown(result: dict[str, Any] | None) -> str:
    """One cell of the table."""
    if result is None:
        return "not run"
    outcome = result["outcome"]
    if outcome == "done":
        return f"{common.duration(result['seconds'])}, {max(result['bytes'], 0) / 1e6:,.0f} MB"
    if outcome == "time":
        return f"> {result['limit']} s"
    if outcome == "memory":
        return "out of memory"
    if outcome == "refuses":
        return "refuses: " + remedy(result["message"])
    return f"{outcome}: {result['message']}"


def _known(own: dict[str, Any]) -> Iterator[dict[str, Any] | None]:
    """Results by rows; more rows than ran out of time, or were refused, fare no better."""
    over: dict[str, Any] | None = None
    for count in ROWS:
        result = own.get(str(count), over)
        if result is not None and result["outcome"] in ("time", "refuses"):
            over = result
        yield result


def remedy(message: str) -> str:
    """What a refusal names instead."""
    found = re.search(r"the limit is [^.]*\. (.*?) If you have", message)
    text = found[1] if found else message
    return text.removeprefix("Pass a map, whose memory is linear in the rows: ").rstrip(".")


def write_page() -> None:
    """The table of docs/limits.md."""
    kept = common.load("limits")
    assert kept is not None
    lines = ["| | 10⁴ rows | 10⁵ rows | 10⁶ rows |", "|---|---|---|---|"]
    for name in entries():
        own = kept["results"].get(name, {})
        cells = [shown(result) for result in _known(own)]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    text = PAGE.read_text()
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    PAGE.write_text(f"{head}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{tail}")


def main() -> None:
    """Run what is asked for, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="entries that begin with these; all by default")
    parser.add_argument("--rows", type=int, nargs="*", default=common.sized(list(ROWS), [120]))
    parser.add_argument("--seconds", type=int, default=60, help="of CPU time")
    parser.add_argument("--gigabytes", type=float, default=6.0)
    parser.add_argument("--again", nargs="*", default=[])
    parser.add_argument("--page", action="store_true", help="write the table only")
    options = common.parse(parser)
    chosen = {
        name: call
        for name, call in entries().items()
        if not options.names or name.startswith(tuple(options.names))
    }
    if not options.page:
        print(f"depmax {depmax.__version__}: {len(chosen)} entries", file=sys.stderr)
        small = Rows.drawn(300)
        depmax.hsic_test(small.X, small.y)  # what is loaded at the first call is not counted
        run(chosen, options.rows, options)
    if PAGE.exists() and not options.smoke:
        write_page()


if __name__ == "__main__":
    main()
