"""How often the sentences of `compare` are true.

Small tables are drawn from large sets and simulated; every candidate of a comparison is fitted on
the table and judged on up to 4,000 other rows, which tells what the verdict should have said.

    DEPMAX_DATA=... python benchmarks/verdicts.py --draws 4      # goes on where it was stopped
    python benchmarks/verdicts.py --page                         # the table of docs/verdicts.md
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import common
import numpy as np
from _verdict_tables import REPORT, SIMULATED, TUNING, Drawn, drawn
from joblib import Parallel, delayed
from sklearn.utils import _safe_indexing

from depmax import Comparison, compare
from depmax.evaluation.comparison.trials import run_trial
from depmax.evidence import Predicted, Truth

CELLS = common.RESULTS / "verdicts.cells.jsonl"


def true_scores(found: Comparison, table: Drawn) -> np.ndarray:
    """Scores of all candidates, fitted on the table, on the unseen rows; guessing included."""
    setting, metric = found.setting, found.metrics[0]
    classes = setting.truth.classes
    y = table.y
    if classes is not None and y.dtype != classes.dtype:
        y = y.astype(classes.dtype)
    values = y if classes is None else np.searchsorted(classes, y)
    unseen = table.unseen
    truth = Truth(setting.truth.kind, np.asarray(values)[unseen], classes)
    parts = (table.seen, unseen)
    trials = {
        m.name: run_trial(m, (0, 0), parts, table.X, y, setting)
        for m in found.methods
        if m.name in found.candidates.by_method
    }
    everything = np.ones(len(unseen), dtype=bool)
    scores = []
    for one in found.candidates.all:
        if one.method == "guessing":
            seen = setting.truth.values
            guess = np.bincount(seen).argmax() if classes is not None else seen.mean()
            run = Predicted(np.full(len(unseen), guess), None, everything)
        elif trials[one.method].failure is not None:
            scores.append(np.nan)
            continue
        else:
            run = Predicted(*trials[one.method].predictions[one.size], everything)
        scores.append(float(metric.judge(truth, [run])(np.ones((1, len(unseen))))[0]))
    return np.array(scores)


def judged(name: str, number: int, arrays: str | None = None) -> dict[str, Any]:
    """One table: what the verdict said, and what is true."""
    table = drawn(name, number)
    X = _safe_indexing(table.X, table.seen)
    groups = None if table.groups is None else table.groups[table.seen]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = time.process_time()
        found = compare(X, table.y[table.seen], groups=groups, random_state=number)
        verdict = found.verdict
        seconds = time.process_time() - started
        truth = true_scores(found, table)
    place, whole = found.place, found.all_columns
    evidence, candidates = found.candidates.evidence, found.candidates.all
    if arrays is not None:
        np.savez_compressed(
            Path(arrays) / f"{name.replace(' ', '_')}-{number}.npz",
            scores=evidence.scores,
            draws=evidence.draws.astype(np.float32),
            costs=found.candidates.costs,
            columns=[one.n_columns for one in candidates],
            methods=[one.method for one in candidates],
            truth=truth,
            alone=found.dependent_columns[1],
            kind=table.truth,
            whole=whole,
            rows=table.n_rows,
        )
    return {
        "set": name,
        "number": number,
        "kind": table.truth,
        "rows": table.n_rows,
        "outcome": verdict.outcome,
        "method": verdict.method,
        "size": verdict.size,
        "kept": len(verdict.columns),
        "true": truth[place],
        "true_best": float(np.nanmax(truth[list(found.leaders)])),  # of the rows of the table
        "true_all": truth[whole],
        "true_guess": truth[0],
        "margin": verdict.margin,
        "expected": [verdict.expected.value, verdict.expected.low, verdict.expected.high],
        "dominated": bool(
            any(
                evidence.scores[i] > evidence.scores[place]
                and one.n_columns < candidates[place].n_columns
                for i, one in enumerate(candidates)
                if i
            )
        ),
        "seconds": seconds,
    }


def collect(names: tuple[str, ...], draws: int, n_jobs: int, arrays: str | None) -> None:
    """Judge tables that are not in the file yet; written as they come."""
    done = {(each["set"], each["number"]) for each in results()}
    todo = [(s, n) for n in range(draws) for s in names if (s, n) not in done]
    jobs = (delayed(judged)(s, n, arrays) for s, n in todo)
    for found in Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)(jobs):
        with CELLS.open("a") as file:
            file.write(json.dumps(found, default=common._plain) + "\n")
        print(
            found["set"], found["number"], found["outcome"], f"{found['seconds']:.0f} s", flush=True
        )


def results() -> list[dict[str, Any]]:
    """Every table that was judged so far."""
    return list(map(json.loads, CELLS.read_text().splitlines())) if CELLS.exists() else []


def share(hits: Any) -> str:
    """A share in per cent with its standard error, and of how many."""
    hits = np.asarray(hits, dtype=float)
    if not len(hits):
        return "–"
    p = hits.mean()
    return f"{100 * p:.0f} ± {100 * (p * (1 - p) / len(hits)) ** 0.5:.0f} % of {len(hits)}"


def mean(values: Any) -> str:
    """A mean with its standard error."""
    values = np.asarray(values, dtype=float)
    if not len(values):
        return "–"
    return f"{values.mean():.2f} ± {values.std() / len(values) ** 0.5:.2f}"


def summary(cells: list[dict[str, Any]]) -> dict[str, str]:
    """Every claim with how often it is true."""
    signal = [c for c in cells if c["kind"] == "signal"]
    noise = [c for c in cells if c["kind"] == "noise"]
    plain = [c for c in signal if c["set"] not in ("rare class", "prices")]
    spoken = [c for c in plain if c["outcome"] not in ("nothing", "too few rows")]
    suffice = [c for c in plain if c["outcome"] in ("few columns suffice", "better than all")]
    true = [
        c for c in spoken if c["size"] and c["kept"] and c["true"] >= c["true_all"] - c["margin"]
    ]
    whole = [c for c in spoken if c["outcome"] == "all columns"]
    better = [c for c in plain if c["outcome"] == "better than all"]
    rare = [c for c in cells if c["set"] == "rare class"]
    prices = [c for c in cells if c["set"] == "prices"]

    def covered(cell: dict[str, Any]) -> bool:
        return bool(cell["expected"][1] <= cell["true"] <= cell["expected"][2])

    silent = ("nothing", "too few rows")
    kinds: dict[str, list[str]] = {}
    for c in plain:
        kinds.setdefault(c["set"], []).append(c["outcome"])
    return {
        "regret in points": mean([100 * (c["true_best"] - c["true"]) for c in spoken]),
        "suffice, but > 1 point worse": share([c["true"] < c["true_all"] - 0.01 for c in suffice]),
        "suffice, but > 3 points worse": share([c["true"] < c["true_all"] - 0.03 for c in suffice]),
        "suffice said where true": share([c in suffice for c in true]),
        "all columns, but a candidate is > 2 points better": share(
            [c["true_best"] > c["true"] + 0.02 for c in whole]
        ),
        "better than all, false": share([c["true"] <= c["true_all"] for c in better]),
        "nothing, on signal": share([c["outcome"] == "nothing" for c in plain]),
        "too few rows, on signal": share([c["outcome"] == "too few rows" for c in plain]),
        "rare class found": share([c["outcome"] not in silent for c in rare]),
        "silent on noise": share([c["outcome"] in silent for c in noise]),
        "95% interval covers": share([covered(c) for c in spoken]),
        "its median width": f"{np.median([np.ptp(c['expected'][1:]) for c in spoken]):.3f}",
        "prices: bias": mean([c["expected"][0] - c["true"] for c in prices]),
        "prices: covers": share([covered(c) for c in prices]),
        "worse and larger than another": share([c["dominated"] for c in cells]),
        "columns kept are not those scored": share(
            [c["kept"] != c["size"] for c in spoken if c["kept"]]
        ),
        "same kind of outcome in two draws": share(
            [o[i] == o[i + 1] for o in kinds.values() for i in range(0, len(o) - 1, 2)]
        ),
        "CPU seconds, median": f"{np.median([c['seconds'] for c in cells]):.1f}",
    }


def main() -> None:
    """Collect, or print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=4, help="tables of every set")
    parser.add_argument("--sets", nargs="*", default=[*TUNING, *REPORT, *SIMULATED])
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--arrays", help="folder for the arrays behind the verdicts")
    parser.add_argument("--smoke", action="store_true", help="one small table, nothing written")
    parser.add_argument("--page", action="store_true", help="print what was found")
    given = parser.parse_args()
    if given.smoke:
        print(summary([judged("copies", 0)]))
        return
    if not given.page:
        collect(tuple(given.sets), given.draws, given.n_jobs, given.arrays)
    cells = results()
    for title, names in (("tuning", TUNING), ("report", REPORT), ("simulated", SIMULATED)):
        chosen = [c for c in cells if c["set"] in names]
        if chosen:
            print(f"\n{title}: {len(chosen)} tables")
            for claim, figure in summary(chosen).items():
                print(f"  {claim:<52} {figure}")


if __name__ == "__main__":
    main()
