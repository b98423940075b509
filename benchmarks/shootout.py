"""Which columns are worth keeping: depmax's selectors and the peers on real data.

For every set, fold and method: the columns are standardised and selected on the training rows
only, then a support vector machine and gradient boosting learn from 5, 10 and 20 of them and are
judged on the rows left out (accuracy and balanced accuracy; R², not below 0, for numbers). One line
per set, fold, method and number of columns is appended to ``results/shootout.csv``; lines that are
there are not computed again, so that a run can be interrupted and resumed.

    python benchmarks/shootout.py                    # all sets that DEPMAX_DATA holds
    python benchmarks/shootout.py --repeats 3 --max-rows 5000
    python benchmarks/shootout.py --half tuning --methods BAHSIC "RFE linear SVM"
    python benchmarks/shootout.py --again --methods BAHSIC   # after its code has changed
    PYTHONPATH=. python benchmarks/shootout.py --page   # docs/shootout.md from the results
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import _shootout_methods
import _shootout_sets
import numpy as np
from _shootout_methods import Method
from _shootout_sets import Task
from common import RESULTS, parse, require_data
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.metrics import accuracy_score, balanced_accuracy_score, r2_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

COUNTS = (5, 10, 20)
FOLDS = 5
#: The judges' scores, and for classes their balanced accuracies.
SCORES = ("svm", "boosting")
BALANCED = ("svm_balanced", "boosting_balanced")
FIELDS = ("set", "kind", "half", "fold", "method", "k", "seconds", *SCORES, *BALANCED)
FILE = RESULTS / "shootout.csv"


def splits(task: Task, repeats: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Number, training rows and test rows of every fold of every repeat."""
    folds = StratifiedKFold if task.kind == "classes" else KFold
    for repeat in range(repeats):
        cv = folds(FOLDS, shuffle=True, random_state=repeat)
        for place, (train, test) in enumerate(cv.split(task.X, task.y)):
            yield repeat * FOLDS + place, train, test


def prepare(task: Task, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, ...]:
    """Rows and targets of a fold: gaps filled, columns and numbers in the training rows' units."""
    X, new = task.X[train], task.X[test]
    varied = np.nanmin(X, axis=0) < np.nanmax(X, axis=0)
    imputer, scaler = SimpleImputer(strategy="median"), StandardScaler()
    X = scaler.fit_transform(imputer.fit_transform(X[:, varied]))
    new = scaler.transform(imputer.transform(new[:, varied]))
    y, truth = task.y[train], task.y[test]
    if task.kind == "numbers":
        centre, spread = y.mean(), y.std()
        y, truth = (y - centre) / spread, (truth - centre) / spread
    return X, y, new, truth


def judge(
    X: np.ndarray, y: np.ndarray, new: np.ndarray, truth: np.ndarray, classes: bool
) -> dict[str, float]:
    """Scores of both models on the rows left out."""
    if classes:
        models = (SVC(), HistGradientBoostingClassifier(max_iter=50, random_state=0))
        metrics = {SCORES: accuracy_score, BALANCED: balanced_accuracy_score}
    else:
        models = (SVR(), HistGradientBoostingRegressor(max_iter=50, random_state=0))
        metrics = {SCORES: r2_score}
    predicted = [model.fit(X, y).predict(new) for model in models]
    return {
        field: max(0.0, float(metric(truth, answer)))
        for fields, metric in metrics.items()
        for field, answer in zip(fields, predicted, strict=True)
    }


def run_fold(task: Task, fold: int, train: np.ndarray, test: np.ndarray, method: Method):
    """Lines of one method on one fold."""
    X, y, new, truth = prepare(task, train, test)
    classes = task.kind == "classes"
    ranked, seconds = np.empty(0, dtype=int), 0.0
    for place, k in enumerate(k for k in COUNTS if k < X.shape[1]):
        if place == 0 or not method.nested:
            start = time.process_time()
            ranked = method.rank(X, y, classes, k)
            seconds = time.process_time() - start
        kept = ranked[:k]
        scores = judge(X[:, kept], y, new[:, kept], truth, classes)
        yield {
            "set": task.name,
            "kind": task.kind,
            "half": task.half,
            "fold": fold,
            "method": method.name,
            "k": k,
            "seconds": f"{seconds:.4g}",
            **{field: f"{score:.6f}" for field, score in scores.items()},
        }


def done(file: Path) -> set[tuple[str, int, str]]:
    """Sets, folds and methods with results."""
    if not file.exists():
        return set()
    with file.open() as lines:
        return {(row["set"], int(row["fold"]), row["method"]) for row in csv.DictReader(lines)}


def forget(sets: Sequence[str], methods: Sequence[Method], file: Path) -> None:
    """Remove the results of these methods on these sets."""
    if not file.exists():
        return
    with file.open(newline="") as lines:
        kept = [
            row
            for row in csv.DictReader(lines)
            if row["set"] not in sets or row["method"] not in {m.name for m in methods}
        ]
    with file.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)


def run(sets: Sequence[str], methods: Sequence[Method], repeats: int, max_rows: int, file: Path):
    """All that is missing, one fold of every set after the other, appended as it comes."""
    finished = done(file)
    fresh = not file.exists()
    with file.open("a", newline="") as lines:
        writer = csv.DictWriter(lines, FIELDS, lineterminator="\n")
        if fresh:
            writer.writeheader()
        for name in sets:
            task = None
            for fold in range(repeats * FOLDS):
                missing = [m for m in methods if (name, fold, m.name) not in finished]
                if not missing:
                    continue
                task = task or _shootout_sets.load(name, max_rows)
                missing = [m for m in missing if m.takes(task.X.shape[1])]
                _, train, test = next(s for s in splits(task, repeats) if s[0] == fold)
                for method in missing:
                    # the peers' own warnings (deprecations, convergence) are not ours to mend
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        try:
                            rows = list(run_fold(task, fold, train, test, method))
                        except Exception as error:  # a peer that fails must not end the run
                            print(f"{name} fold {fold}: {method.name} failed: {error!r}")
                            continue
                    writer.writerows(rows)
                    lines.flush()
                print(f"{name} fold {fold}: {len(missing)} methods", flush=True)


def smoke(sets: Sequence[str], methods: Sequence[Method]) -> None:
    """One fold of few rows and columns with every method; nothing is written."""
    for name in sets:
        task = _shootout_sets.load(name, 60)
        task = replace(task, X=task.X[:, :12])
        fold, train, test = next(splits(task, 1))
        for method in methods:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scores = [row["svm"] for row in run_fold(task, fold, train, test, method)]
            print(f"{name} {method.name}: {', '.join(scores)}", flush=True)


def main() -> None:
    """Read the command line and run, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", help="names of sets; default all")
    parser.add_argument("--half", choices=("tuning", "report"), help="one half only")
    parser.add_argument("--methods", nargs="+", help="names of methods; default all installed")
    parser.add_argument("--repeats", type=int, default=1, help="repeats of the five folds")
    parser.add_argument("--max-rows", type=int, default=800, help="rows sampled from larger sets")
    parser.add_argument("--again", action="store_true", help="replace results that are there")
    parser.add_argument("--file", type=Path, default=FILE, help="where results are kept")
    parser.add_argument("--page", action="store_true", help="write the page and its pictures")
    options = parse(parser)
    require_data()
    if options.page:
        import _shootout_page

        _shootout_page.write(options.file)
        return
    sets = options.sets or _shootout_sets.names()
    if options.half:
        tuning = options.half == "tuning"
        sets = [name for name in sets if (name in _shootout_sets.TUNING) == tuning]
    known = _shootout_methods.METHODS
    methods = [known[name] for name in options.methods or known]
    for method in methods:
        if not method.available:
            print(f"{method.name} is left out: the package {method.needs} is not installed.")
    methods = [method for method in methods if method.available]
    if options.smoke:
        smoke(("sonar",), methods)
        return
    if options.again:
        forget(sets, methods, options.file)
    run(sets, methods, options.repeats, options.max_rows, options.file)


if __name__ == "__main__":
    main()
