"""BAHSIC at BLAS speed: full elimination against compiled exponentials and the peers.

The same elimination (binary target, Gaussian kernel, "dimension" policy, 10 % steps) is run with
explicit exponentials compiled by numba on both cores; the rankings must agree before anything is
timed.
"""

from __future__ import annotations

import argparse
import importlib.util
from typing import Any

import numpy as np
from common import best_seconds, duration, megabytes, parse, peak_memory, save, sized, table
from numba import njit, prange
from sklearn.feature_selection import mutual_info_classif

from depmax import BAHSIC
from depmax.kernels import Gaussian


@njit(parallel=True, fastmath=True, cache=True)
def explicit_scores(columns, weights, distances, gamma, out):
    """Σ_{a<b} 2 M_ab exp(-γ(D_ab - (x_a - x_b)²)) for every column, columns over both cores."""
    for j in prange(columns.shape[0]):
        x = columns[j]
        total = 0.0
        for a in range(x.shape[0]):
            for b in range(a):
                difference = x[a] - x[b]
                total += weights[a, b] * np.exp(
                    -gamma * (distances[a, b] - difference * difference)
                )
        out[j] = 2.0 * total


def explicit_elimination(X: np.ndarray, weights: np.ndarray) -> list[int]:
    """The same backward search with explicit exponentials; columns from best to worst."""
    active, worst_first = list(range(X.shape[1])), []
    squares = (X**2).sum(axis=1)
    distances = squares[:, None] + squares[None, :] - 2.0 * X @ X.T
    columns = np.ascontiguousarray(X.T)
    while len(active) > 1:
        scores = np.empty(len(active))
        explicit_scores(columns[active], weights, distances, 0.5 / len(active), scores)
        count = min(max(1, int(0.1 * len(active))), len(active) - 1)
        leaving = sorted(range(len(active)), key=lambda p: (-scores[p], -active[p]))[:count]
        for place in leaving:
            worst_first.append(active[place])
            x = X[:, active[place]]
            distances -= (x[:, None] - x[None, :]) ** 2
        gone = {active[place] for place in leaving}
        active = [column for column in active if column not in gone]
    return [*active, *worst_first[::-1]]


def target_weights(y: np.ndarray) -> np.ndarray:
    """M of unbiased HSIC = Σ M∘K for two classes: L - u1ᵀ - 1uᵀ + c on rows that differ."""
    m = len(y)
    signs = 2.0 * y - 1.0
    psi = signs - signs.mean()
    L = np.outer(psi, psi)
    np.fill_diagonal(L, 0.0)
    u = L.sum(axis=1) / (m - 2)
    M = L - u[:, np.newaxis] - u + L.sum() / ((m - 1) * (m - 2))
    np.fill_diagonal(M, 0.0)
    return M / (m * (m - 3))


DATA = """
    import contextlib, io
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.normal(size=({m}, {d}))
    y = (X[:, 0] + X[:, 1] ** 2 - 1 + 0.5 * X[:, 2] > 0).astype(int)
"""
OURS = """
    from depmax import BAHSIC
    from depmax.kernels import Gaussian

    def run(X, y):
        kernel = Gaussian("dimension")
        model = BAHSIC(10, kernel=kernel, interactions=None, pvalues=False, n_jobs=2)
        return int(model.fit(X, y).support_.sum())

    run(X[:60, :12], y[:60])
"""
PEER = """
    from pyHSICLasso import HSICLasso

    def run(X, y):
        model = HSICLasso()
        with contextlib.redirect_stdout(io.StringIO()):
            model.input(X, y)
            model.classification(10, B=20, M=3, n_jobs=1)  # more jobs are other processes
        return len(model.get_index())

    run(X[:60, :12], y[:60])
"""


def problem(m: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Noise with a few relevant columns, standardised."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, d))
    y = (X[:, 0] + X[:, 1] ** 2 - 1 + 0.5 * X[:, 2] > 0).astype(int)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def elimination(m: int, d: int, results: dict[str, Any], with_explicit: bool) -> None:
    """Time full eliminations and the peers."""
    X, y = problem(m, d)
    selector = BAHSIC(10, kernel=Gaussian("dimension"), interactions=None, pvalues=False, n_jobs=2)
    seconds = best_seconds(lambda: selector.fit(X, y), 3)
    row: dict[str, Any] = {"depmax": seconds}
    print(f"\n{m} x {d}: BAHSIC full elimination {seconds:.2f} s")
    if with_explicit:
        weights = target_weights(y)
        explicit_elimination(X[:50], weights[:50, :50].copy())
        order = explicit_elimination(X, weights)
        ours = list(np.argsort(selector.ranking_))
        same = float(np.mean([a == b for a, b in zip(order, ours, strict=True)]))
        row["same_ranks"], row["same_first_100"] = same, order[:100] == ours[:100]
        row["explicit"] = best_seconds(lambda: explicit_elimination(X, weights), 1)
        ratio = row["explicit"] / seconds
        print(f"  ranks equal to the explicit search: {100 * same:.1f} %")
        print(f"  compiled exponentials on both cores {row['explicit']:.2f} s: ", end="")
        print(f"{ratio:.1f} times (bar 13)")
    row["mutual_info_classif"] = best_seconds(
        lambda: mutual_info_classif(X, y, random_state=0, n_jobs=2), 1
    )
    print(f"  mutual_info_classif {row['mutual_info_classif']:.2f} s")
    if with_explicit and importlib.util.find_spec("pyHSICLasso"):
        ours = peak_memory(DATA.format(m=m, d=d) + OURS, "run(X, y)")
        peer = peak_memory(DATA.format(m=m, d=d) + PEER, "run(X, y)")
        row["pyHSICLasso"] = peer["seconds"]
        row["memory"] = {"depmax": ours["increment"], "pyHSICLasso": peer["increment"]}
        print(f"  pyHSICLasso block (B=20, M=3) {peer['seconds']:.2f} s: ", end="")
        print(f"{peer['seconds'] / seconds:.1f} times (bar 3, aim 5), memory ", end="")
        print(f"{megabytes(peer['increment'])} against {megabytes(ours['increment'])}")
    if importlib.util.find_spec("mrmr"):
        row["mrmr"] = best_seconds(lambda: _mrmr(X, y), 1)
        print(f"  mRMR (mrmr_selection), 10 columns {row['mrmr']:.2f} s")
    results[f"{m}x{d}"] = row


def _mrmr(X: np.ndarray, y: np.ndarray) -> None:
    import mrmr
    import pandas as pd

    mrmr.mrmr_classif(pd.DataFrame(X), pd.Series(y), K=10, n_jobs=2, show_progress=False)


BLOCKS = """
    import numpy as np
    from depmax import BAHSIC

    rng = np.random.default_rng(0)
    X = rng.standard_normal(({m}, 50))
    y = (X[:, 0] + 0.5 * X[:, 2] > 0).astype(int)

    def run(rows):
        selector = BAHSIC(5, block_size=500, interactions=None, pvalues=False, n_jobs=2)
        return int(selector.fit(X[:rows], y[:rows]).support_[[0, 2]].sum())

    run(1000)
"""


def blocks(results: dict[str, Any], sizes: tuple[int, ...]) -> None:
    """Time and memory of a search over blocks of rows: linear and constant in the rows."""
    rows = []
    for m in sizes:
        found = peak_memory(BLOCKS.format(m=m), f"run({m})")
        results[f"blocks {m}"] = {key: found[key] for key in ("seconds", "increment")}
        per_row = f"{1e6 * found['seconds'] / m:.0f} µs"
        rows.append((m, duration(found["seconds"]), per_row, megabytes(found["increment"])))
    table(["block_size=500, 50 columns", "time", "per row", "memory of the fit"], rows)


def main() -> None:
    """Run all parts."""
    options = parse(argparse.ArgumentParser(description=__doc__.splitlines()[0]))
    results: dict[str, Any] = {}
    size = sized(1000, 60)
    elimination(size, size, results, with_explicit=True)
    if not options.smoke:
        elimination(2000, 2000, results, with_explicit=False)
    blocks(results, sized((10_000, 50_000, 200_000), (1000,)))
    save("bahsic", results)


if __name__ == "__main__":
    main()
