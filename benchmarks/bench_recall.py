"""Recall of the relevant columns beside HSIC-Lasso, over draws of a mixed problem.

Main effects linear and quadratic, one exclusive-or pair, the rest noise (datasets.make_mixed).
BAHSIC runs with its default settings; "None" is the published algorithm without the screening of
interactions. The peers see the same draws: pyHSICLasso with blocks (B = 20, M = 3) and, where it
fits, with all samples; our HSICLasso in both forms.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import time
import warnings
from collections.abc import Callable

import numpy as np
from common import at_least, parse, report_bars, save, sized, table

from depmax import BAHSIC, HSICLasso
from depmax.datasets import make_mixed

TOP = 10
SIZES = sized(((500, 200), (1000, 1000), (2000, 2000)), ((100, 30),))

Find = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _selector(make: Callable[[], object]) -> Find:
    return lambda X, y: np.flatnonzero(make().fit(X, y).support_)


def _py_hsic_lasso(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    from pyHSICLasso import HSICLasso as Peer

    peer = Peer()
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peer's own
        peer.input(X, y)
        peer.classification(TOP, B=20, M=3, n_jobs=1)
    return np.asarray(peer.get_index())[:TOP]


def _methods(m: int, n_jobs: int, peer_rows: int) -> dict[str, Find]:
    methods = {
        "BAHSIC": _selector(lambda: BAHSIC(TOP, n_jobs=n_jobs)),
        "BAHSIC, interactions=None": _selector(
            lambda: BAHSIC(TOP, interactions=None, pvalues=False, n_jobs=n_jobs)
        ),
        "HSICLasso, blocks": _selector(
            lambda: HSICLasso(TOP, block_size=20, n_permutations=3, random_state=0, n_jobs=n_jobs)
        ),
        "HSICLasso, all samples": _selector(lambda: HSICLasso(TOP, n_jobs=n_jobs)),
    }
    if importlib.util.find_spec("pyHSICLasso") and m <= peer_rows:
        methods["pyHSICLasso, blocks"] = _py_hsic_lasso
    return methods


def compare(m: int, d: int, draws: int, n_jobs: int, peer_rows: int) -> dict[str, dict[str, float]]:
    """Recall in the top ten, draws that keep the pair, and seconds, per method."""
    found: dict[str, list[tuple[float, bool, float]]] = {}
    for draw in range(draws):
        problem = make_mixed(m, d, random_state=draw)
        for name, find in _methods(m, n_jobs, peer_rows).items():
            start = time.perf_counter()
            chosen = set(find(problem.X, problem.y).tolist())
            seconds = time.perf_counter() - start
            recall = len(chosen & set(problem.relevant)) / len(problem.relevant)
            pair = set(problem.interactions[0]) <= chosen
            found.setdefault(name, []).append((recall, pair, seconds))
    return {
        name: {
            "recall": round(float(np.mean([recall for recall, _, _ in rows])), 6),
            "pairs": int(sum(pair for _, pair, _ in rows)),
            "seconds": float(np.median([seconds for _, _, seconds in rows])),
        }
        for name, rows in found.items()
    }


def main() -> None:
    """Compare at three sizes, and print which bars are reached."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=sized(10, 1))
    parser.add_argument("--largest", type=int, default=2000)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument(
        "--peer-rows", type=int, default=500, help="largest sample for pyHSICLasso, minutes beyond"
    )
    options = parse(parser)
    results = {}
    bars = {}
    for m, d in SIZES:
        if m > options.largest:
            continue
        here = compare(m, d, options.draws, options.n_jobs, options.peer_rows)
        results[f"{m}x{d}"] = here
        rows = [
            (name, f"{r['recall']:.3f}", f"{r['pairs']}/{options.draws}", f"{r['seconds']:.1f} s")
            for name, r in here.items()
        ]
        table([f"{m} x {d}", "recall in top 10", "pair kept", "time"], rows)
        peers = max(r["recall"] for name, r in here.items() if "Lasso" in name)
        ours = here["BAHSIC"]
        bars[f"{m} x {d}: recall beside the best peer's"] = at_least(ours["recall"], peers)
        bars[f"{m} x {d}: draws that keep the pair"] = at_least(ours["pairs"], 0.9 * options.draws)
    report_bars(bars)
    save("recall", {"draws": options.draws, "sizes": results, "bars": bars})


if __name__ == "__main__":
    main()
