"""Screening many columns, beside scikit-learn's mutual information.

The target has two classes. First the scores of 2,000 rows are compared with ``hsic`` of each
column under the same kernels. Mutual information is another measure: there only the columns that
come first are compared.

The limit of a column is the faster of numpy's sorts of so many numbers with their positions, and
reading and writing what every route must touch, at the speed of this machine with all cores busy.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import common
import numpy as np
from sklearn.feature_selection import mutual_info_classif

from depmax import hsic, screen
from depmax.kernels import Laplace

#: Bytes per row that a column cannot do without: the column and its order are read and written
#: once by the sort, then the sorted values, their order and one coordinate of the target are read.
BYTES_PER_ROW = 8 * (2 + 2 + 3)


def sample(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes and normal columns; the first three depend on the class, each in its way."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, 0] += 0.5 * y
    X[:, 1] *= 1 + 0.5 * y
    X[:, 2] += np.where(y == 1, np.sign(X[:, 2]), 0.0)
    return X, y


def check_answers(n_rows: int = 2000) -> float:
    """Largest relative difference between scores and ``hsic`` with the same bandwidths."""
    X, y = sample(n_rows, 6)
    found = screen(X, y)
    expected = [
        hsic(column, y, kernel=Laplace(bandwidth=float(width)))
        for column, width in zip(X.T, found.bandwidths, strict=True)
    ]
    difference = np.abs(found.scores - expected).max() / np.abs(expected).max()
    assert difference < 1e-10, difference
    print(f"scores of {n_rows} rows equal hsic to {difference:.0e}")
    return float(difference)


def sort_seconds(n_rows: int) -> float:
    """Seconds per column of the faster argsort, with all cores sorting."""
    columns = np.random.default_rng(0).normal(size=(common.N_CORES, n_rows))

    def sort_all(kind: str) -> None:
        list(pool.map(lambda column: np.argsort(column, kind=kind), columns))

    with ThreadPoolExecutor(common.N_CORES) as pool:
        best = min(
            common.best_seconds(lambda kind=kind: sort_all(kind)) for kind in ("quick", "stable")
        )
    return best / common.N_CORES


def limit(n_rows: int, bandwidth: float) -> float:
    """Seconds per column for the work that cannot be left out."""
    return sort_seconds(n_rows) + BYTES_PER_ROW * n_rows / bandwidth


def time_screen(n_rows: int, n_columns: int, bandwidth: float) -> dict[str, Any]:
    """Seconds per column of ``screen``, and the fraction of the limit."""
    X, y = sample(n_rows, n_columns)
    taken = common.best_seconds(lambda: screen(X, y, n_jobs=common.N_CORES))
    least = limit(n_rows, bandwidth)
    each = taken / n_columns
    return {
        "n_rows": n_rows,
        "n_columns": n_columns,
        "seconds_per_column": each,
        "limit_per_column": least,
        "fraction": least / each,
    }


def time_mutual_information(n_rows: int, n_columns: int, budget: float) -> dict[str, Any]:
    """Seconds per column of scikit-learn's estimate, from fewer columns if all take too long."""
    X, y = sample(n_rows, n_columns)

    def estimate(count: int) -> np.ndarray:
        return mutual_info_classif(X[:, :count], y, random_state=0, n_jobs=common.N_CORES)

    estimate(common.N_CORES)  # starts the workers
    few = 2 * common.N_CORES
    each = common.best_seconds(lambda: estimate(few), repeats=2) / few
    used = n_columns if each * n_columns <= budget else few
    if used == n_columns:
        each = common.best_seconds(lambda: estimate(n_columns), repeats=3, budget=budget)
        each /= n_columns
    return {"n_columns_timed": used, "seconds_per_column": each}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=common.sized(200_000, 5000))
    parser.add_argument("--many-rows", type=int, default=common.sized(1_000_000, 10_000))
    parser.add_argument("--no-save", action="store_true", help="only print")
    options = common.parse(parser)
    rates = common.machine()
    bandwidth = common.copy_rate()
    print(f"memory {bandwidth / 1e9:.1f} GB/s")
    difference = check_answers()

    X, y = sample(20_000, 8)
    best = np.argsort(screen(X, y).ranking)[:3]
    theirs = np.argsort(-mutual_info_classif(X, y, random_state=0))[:3]
    assert set(best) == set(theirs) == {0, 1, 2}, (best, theirs)
    print("screen and mutual information put the three columns that matter first")

    ours = time_screen(options.rows, 20, bandwidth)
    peer = time_mutual_information(options.rows, 20, budget=40.0)
    many = time_screen(options.many_rows, 4, bandwidth)
    ratio = peer["seconds_per_column"] / ours["seconds_per_column"]
    print()
    common.table(
        ["", "rows", "columns", "per column", "times depmax", "of the limit"],
        [
            _row("depmax.screen", ours, 20, 1.0),
            _row("mutual_info_classif", {**peer, "n_rows": options.rows}, 20, ratio),
            _row("depmax.screen", many, 4, None),
        ],
    )
    if peer["n_columns_timed"] != 20:
        print(f"mutual_info_classif was timed on {peer['n_columns_timed']} of the columns")
    bars = {"per column against mutual_info_classif": common.at_least(ratio, 20)}
    print()
    common.report_bars(bars)
    if not options.no_save:
        results = {
            "rates": {**rates, "copy_bytes": bandwidth},
            "difference": difference,
            "screen": ours,
            "mutual_info_classif": peer,
            "screen_many_rows": many,
            "bars": bars,
        }
        common.save("screen", results)


def _row(name: str, timing: dict[str, Any], columns: int, ratio: float | None) -> list[str]:
    return [
        name,
        f"{timing['n_rows']:,}",
        str(columns),
        common.duration(timing["seconds_per_column"]),
        "" if ratio is None else f"{ratio:.3g}",
        f"{timing['fraction']:.0%}" if "fraction" in timing else "",
    ]


if __name__ == "__main__":
    main()
