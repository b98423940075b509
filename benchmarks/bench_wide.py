"""Screening wide tables, beside mutual information, the F test, LightGBM's gain and plain sorting.

    python benchmarks/bench_wide.py          # writes results/wide.json
    python benchmarks/bench_wide.py --smoke  # small tables, nothing written

Figures are seconds of CPU on one core, the best of three calls after one that compiles and loads.
Mutual information is timed on some of the columns where all would take minutes.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import common
import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.feature_selection import (
    f_classif,
    f_regression,
    mutual_info_classif,
    mutual_info_regression,
)

from depmax import screen, screen_pairs

#: Columns that mutual information is timed on.
SOME = 200


def cpu_seconds(call: Callable[[], object], repeats: int = 3) -> float:
    """Least CPU time of several calls, after one that compiles and loads."""
    call()
    found = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
    return min(found)


def dense(n_rows: int, n_columns: int, classes: bool) -> tuple[np.ndarray, np.ndarray]:
    """Normal columns, of which the first ten in a hundred depend on the target."""
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % 2 if classes else rng.normal(size=n_rows)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, : n_columns // 100] += y[:, np.newaxis]
    return X, y


def texts(n_rows: int, n_columns: int) -> tuple[Any, np.ndarray]:
    """tf-idf of words whose frequencies follow Zipf's law, a fifth of the texts of one class."""
    rng = np.random.default_rng(0)
    shares = 1.0 / np.arange(1, 2 * n_columns + 1)
    shares /= shares.sum()
    words = [rng.choice(2 * n_columns, rng.integers(80, 400), p=shares) for _ in range(n_rows)]
    counts = np.array([np.bincount(each, minlength=2 * n_columns) for each in words])
    used = np.flatnonzero((counts > 0).sum(axis=0) >= 2)[:n_columns]
    y = (np.arange(n_rows) < n_rows // 5).astype(int)
    return TfidfTransformer().fit_transform(sparse.csr_matrix(counts[:, used])), y


def lightgbm_gain(X: Any, y: np.ndarray, classes: bool) -> np.ndarray:
    """Importance of every column by the gain of 100 trees."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    model = (LGBMClassifier if classes else LGBMRegressor)(
        importance_type="gain", n_jobs=1, verbose=-1
    )
    return model.fit(X, y).feature_importances_


def beside_peers(X: Any, y: np.ndarray, *, classes: bool, with_gain: bool) -> dict[str, float]:
    """Seconds of ``screen`` and of the others on one table."""
    columns = X if sparse.issparse(X) else np.ascontiguousarray(X.T)
    information = mutual_info_classif if classes else mutual_info_regression
    some = X[:, : min(SOME, X.shape[1])]
    found = {"depmax.screen": cpu_seconds(lambda: screen(X, y))}
    found["depmax.screen(full=True)"] = cpu_seconds(lambda: screen(X, y, full=True), 1)
    if not sparse.issparse(X):
        found["np.sort of the columns"] = cpu_seconds(lambda: np.sort(columns, axis=1))
    found["F test"] = cpu_seconds(lambda: (f_classif if classes else f_regression)(X, y))
    if X.shape[0] <= 10_000:
        each = cpu_seconds(lambda: information(some, y, random_state=0), 1) / some.shape[1]
        found["mutual information"] = each * X.shape[1]
    if with_gain:
        found["LightGBM gain"] = cpu_seconds(lambda: lightgbm_gain(X, y, classes), 1)
    return found


def show(title: str, n_columns: int, found: dict[str, float]) -> None:
    """Print one table: seconds, time of a column, ratio to ``screen``."""
    print(f"\n{title}")
    ours = found["depmax.screen"]
    rows = []
    for name, taken in found.items():
        times = common.duration(taken), common.duration(taken / n_columns)
        rows.append([name, *times, f"{taken / ours:.3g}"])
    common.table(["", "CPU", "per column", "times screen"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options = common.parse(parser)
    warnings.simplefilter("ignore", UserWarning)
    with_gain = importlib.util.find_spec("lightgbm") is not None
    if not with_gain:
        print("LightGBM is not installed: its gain is left out.")
    wide, tall, text, pairs = (100, 8000), (200_000, 10), (300, 2000), (100, 20_000)
    if options.smoke:
        wide, tall, text, pairs = (60, 1200), (5000, 3), (80, 300), (60, 300)

    results: dict[str, Any] = {}
    tables = {
        f"{wide[0]:,} x {wide[1]:,}, two classes": (*dense(*wide, classes=True), True),
        f"{tall[0]:,} x {tall[1]:,}, numeric target": (*dense(*tall, classes=False), False),
        f"tf-idf {text[0]:,} x {text[1]:,}, two classes": (*texts(*text), True),
    }
    for title, (X, y, classes) in tables.items():
        found = beside_peers(X, y, classes=classes, with_gain=with_gain)
        show(title, X.shape[1], found)
        results[title] = found
    X, y = dense(*pairs, classes=True)
    title = f"screen_pairs {pairs[0]:,} x {pairs[1]:,}, two classes"
    start = time.process_time()
    screen_pairs(X, y, random_state=0, n_jobs=1)
    taken = time.process_time() - start
    n_pairs = pairs[1] * (pairs[1] - 1) // 2
    print(f"\n{title}: {common.duration(taken)}, {common.duration(taken / n_pairs)} a pair")
    results[title] = {"depmax.screen_pairs": taken}

    if options.smoke:
        return
    of_wide, of_tall, of_text = (results[title] for title in tables)
    per_column = 1e6 * of_wide["depmax.screen"] / wide[1]
    ratio = of_tall["depmax.screen"] / of_tall["np.sort of the columns"]
    bars = {
        "wide table, µs a column": common.at_most(per_column, 20.0),
        "long table, times sorting": common.at_most(ratio, 3.0),
        "tf-idf, s": common.at_most(of_text["depmax.screen"], 1.0),
        "pairs, minutes": common.at_most(taken / 60.0, 5.0),
    }
    print()
    common.report_bars(bars)
    common.save("wide", {"seconds": results, "bars": bars}, "lightgbm")


if __name__ == "__main__":
    main()
