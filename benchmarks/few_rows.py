"""Few rows and thousands of columns: what would make KernelRidgeElimination better there?

Ten sets of 49 to 168 rows, two repeats of five folds, the judges of the shoot-out. What is changed
is chosen on CHOICE and checked on CHECK. One line per set and variant is appended to
``results/few_rows.csv``; interactions are left out to save time.

    python benchmarks/few_rows.py
    python benchmarks/few_rows.py --sets colon --variants "as it is" "F test"
    python benchmarks/few_rows.py --table
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import _shootout_methods
import _shootout_sets
import numpy as np
import shootout
from _shootout_methods import Method, Rank
from common import RESULTS

import depmax
from depmax.kernels import Gaussian
from depmax.selection._ridge.problem import AVERAGED, RidgeProblem

FILE = RESULTS / "few_rows.csv"
FIELDS = ("set", "half", "variant", "5", "10")
#: Sets of the shoot-out keep their half; of the others every second one, in alphabetical order.
CHOICE = (
    *("breast_vantveer_1113", "breast_west", "dlbcl_shipp"),
    *("gasoline_nir", "leukemia_golub", "srbct_khan"),
)
CHECK = ("cns_pomeroy", "colon", "gisette_168", "lymphoma_alizadeh")
REPEATS = 2
#: Parts of the rows that rankings are averaged over, and their share of the rows.
PARTS, SHARE = 5, 0.7

Penalties = Callable[[RidgeProblem], tuple[float, ...]]


@contextmanager
def averaged(penalties: Penalties) -> Iterator[None]:
    """Other penalties for the search."""
    usual = RidgeProblem.averaged_penalties
    RidgeProblem.averaged_penalties = property(penalties)  # type: ignore[assignment]  # another rule stands in for the usual one
    try:
        yield
    finally:
        RidgeProblem.averaged_penalties = usual  # type: ignore[method-assign]  # another rule stands in for the usual one


def times(factor: float) -> Penalties:
    """The usual penalties, larger."""
    return lambda problem: tuple(factor * penalty for penalty in AVERAGED)


def by_leave_one_out(problem: RidgeProblem) -> tuple[float, ...]:
    """About the penalty of the least leave-one-out error with all columns, from 0.001 to 1."""
    every = np.arange(problem.X.shape[1])
    middle = float(np.clip(problem.fit(every).penalty, AVERAGED[1], 1.0))
    return (0.1 * middle, middle, 10.0 * middle)


def ranking(X: np.ndarray, y: np.ndarray, classes: bool) -> np.ndarray:
    """Ranks of all columns."""
    selector = depmax.KernelRidgeElimination(1, pvalues=False, interactions=None)
    return selector.fit(X, y.astype(str) if classes else y).ranking_


def elimination(penalties: Penalties) -> Rank:
    """The default, with some penalties."""

    def rank(X: np.ndarray, y: np.ndarray, classes: bool, k: int) -> np.ndarray:
        with averaged(penalties):
            return np.argsort(ranking(X, y, classes))

    return rank


def screened(X: np.ndarray, y: np.ndarray, classes: bool, k: int) -> np.ndarray:
    """After the F test has left as many columns as there are rows."""
    kept = np.sort(_shootout_methods._f(X, y, classes, k)[: max(24, len(X))])
    return kept[np.argsort(ranking(X[:, kept], y, classes))]


def on_parts(X: np.ndarray, y: np.ndarray, classes: bool, k: int) -> np.ndarray:
    """By the mean of 1 / (rank + 2) over random parts of the rows."""
    rng = np.random.default_rng(0)
    total = np.zeros(X.shape[1])
    for _ in range(PARTS):
        rows = rng.permutation(len(X))[: int(SHARE * len(X))]
        total += 1.0 / np.minimum(ranking(X[rows], y[rows], classes) + 2, 60)
    return np.argsort(-total, kind="stable")


def bahsic(X: np.ndarray, y: np.ndarray, classes: bool, k: int) -> np.ndarray:
    """As published."""
    selector = depmax.BAHSIC(1, kernel=Gaussian("dimension"), interactions=None, pvalues=False)
    return np.argsort(selector.fit(X, y.astype(str) if classes else y).ranking_)


VARIANTS: dict[str, Rank] = {
    "as it is": elimination(times(1.0)),
    "penalties x 10": elimination(times(10.0)),
    "penalties x 1000": elimination(times(1000.0)),
    "penalties by leave-one-out": elimination(by_leave_one_out),
    "screened first": screened,
    "parts of the rows": on_parts,
    "BAHSIC as published": bahsic,
    "F test": _shootout_methods._f,
}


def points(name: str, variant: str) -> dict[str, str]:
    """Mean points of a set with 5 and 10 columns."""
    task = _shootout_sets.load(name, 800)
    method = Method(variant, VARIANTS[variant])
    rows = [
        row
        for fold, train, test in shootout.splits(task, REPEATS)
        for row in shootout.run_fold(task, fold, train, test, method)
    ]
    half = "choice" if name in CHOICE else "check"
    found = {"set": name, "half": half, "variant": variant}
    for k in (5, 10):
        scores = [float(row["svm"]) + float(row["boosting"]) for row in rows if row["k"] == k]
        found[str(k)] = f"{50 * np.mean(scores):.2f}"
    return found


#: Variants of the table.
SHOWN = (
    *("as it is", "penalties by leave-one-out", "screened first"),
    *("BAHSIC as published", "F test"),
)


def table() -> None:
    """Print the lines of the table of docs/shootout.md, and means over the sets of each half."""
    with FILE.open(newline="") as file:
        found = {(row["set"], row["variant"]): row for row in csv.DictReader(file)}
    for half, names in (("choice", CHOICE), ("check", CHECK)):
        for name in names:
            rows = [found.get((name, variant)) for variant in SHOWN]
            cells = ["–" if row is None else f"{row['5']} / {row['10']}" for row in rows]
            print(f"| {name} | {half} | " + " | ".join(cells) + " |")
    for half, names in (("choice", CHOICE), ("check", CHECK), ("all", CHOICE + CHECK)):
        cells = []
        for v in SHOWN:
            if not all((name, v) in found for name in names):
                cells.append("–")
                continue
            means = [np.mean([float(found[name, v][k]) for name in names]) for k in ("5", "10")]
            cells.append(f"{means[0]:.2f} / {means[1]:.2f}")
        print(f"| *mean* | {half} | " + " | ".join(cells) + " |")


def main() -> None:
    """Run what is not in the file yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=(*CHOICE, *CHECK))
    parser.add_argument("--variants", nargs="+", default=tuple(VARIANTS), choices=VARIANTS)
    parser.add_argument("--table", action="store_true", help="print the table and stop")
    options = parser.parse_args()
    if options.table:
        table()
        return
    warnings.simplefilter("ignore")  # of peers and of small folds, thousands of times
    extra = tuple({*CHOICE, *CHECK} - {*_shootout_sets.CLASSES, *_shootout_sets.NUMBERS})
    _shootout_sets.CLASSES += extra  # sets that the shoot-out itself does not have
    with FILE.open("a+", newline="") as file:
        file.seek(0)
        done = {(row["set"], row["variant"]) for row in csv.DictReader(file)}
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if not done:
            writer.writeheader()
        for name in options.sets:
            for variant in options.variants:
                if (name, variant) not in done:
                    writer.writerow(points(name, variant))
                    file.flush()
                    print(name, variant, flush=True)


if __name__ == "__main__":
    main()
