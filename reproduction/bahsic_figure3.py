"""Figure 3 of the BAHSIC paper: error against the number of features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import balanced_accuracy_score, r2_score

from reproduction import methods
from reproduction.bahsic_table1 import METHODS, TASKS
from reproduction.figures import compared
from reproduction.protocol import Split, gaussian_machine, splits
from reproduction.registry import COLUMNS, Row, Table, register, whole
from reproduction.table1_data import PROBLEMS, Problem

NAME = "bahsic_figure3"
#: The figure's panels; satimage and vehicle are not at hand.
DATASETS = (
    *("covertype", "ionosphere", "sonar", "satimage", "segment", "vehicle"),
    *("housing", "bodyfat", "abalone"),
)
QUICK = ("ionosphere",)
N_FOLDS = 10
#: Numbers of features, and all.
COUNTS = (1, 2, 3, 5, 8, 13, 21, 34)


def stream(
    quick: bool, n_jobs: int | None, datasets: Sequence[str] | None, n_splits: int = N_FOLDS
) -> Iterator[Row]:
    """One row per data set, method and number of features; sets that are not at hand last."""
    wanted = datasets or (QUICK if quick else DATASETS)
    unknown = sorted(set(wanted) - set(DATASETS))
    if unknown:
        raise ValueError(f"Figure 3 has no data set named {unknown[0]!r}: one of {DATASETS}.")
    count = 2 if quick else n_splits
    for problem in PROBLEMS:
        if problem.name in wanted:
            yield from whole(_rows(problem, count, n_jobs))
    for name in DATASETS:
        if name in wanted and name not in {problem.name for problem in PROBLEMS}:
            yield from whole(iter([_missing(name, "data not at hand")]))


def curve(X: np.ndarray, y: np.ndarray, problem: Problem, order: methods.Order, part: Any) -> Any:
    """Errors of one fold (%) with each number of features, all of them last."""
    split = Split.of(X, y, problem.task, *part)
    ranked = order(split.rows, split.target, X.shape[1] if order is methods.fohsic else 1)
    errors = []
    for count in counts_of(X.shape[1]):
        predicted = split.predicted(gaussian_machine, ranked[:count])
        score = r2_score if problem.task == "regression" else balanced_accuracy_score
        errors.append(100.0 * (1.0 - score(split.truth, predicted)))
    return errors


def counts_of(n_columns: int) -> list[int]:
    """Numbers of features that a set of so many columns is tried with."""
    return [count for count in COUNTS if count < n_columns] + [n_columns]


def _rows(problem: Problem, n_splits: int, n_jobs: int | None) -> Iterator[Row]:
    try:
        X, y = problem.read()
    except FileNotFoundError as error:
        yield _missing(problem.name, str(error))
        return
    parts = splits(y, problem.task, N_FOLDS)[:n_splits]
    for method, order in METHODS.items():
        if problem.task not in TASKS.get(method, (problem.task,)):
            continue
        jobs = (delayed(curve)(X, y, problem, order, part) for part in parts)
        errors = np.array(list(Parallel(n_jobs=n_jobs)(jobs)))
        for place, count in enumerate(counts_of(X.shape[1])):
            yield compared(
                problem.name,
                method,
                errors[:, place],
                n_features=count,
                n_splits=len(parts),
                note=problem.note,
            )


def _missing(name: str, note: str) -> Row:
    return compared(name, "BAHSIC", None, n_features=None, n_splits=None, note=note)


register(
    Table(
        NAME,
        "BAHSIC paper, Figure 3: balanced error (%), or variance not explained (%), against the "
        "number of features",
        "Song, Smola, Gretton, Bedo, Borgwardt (2012), JMLR 13, Figure 3 (curves without numbers)",
        stream,
        (*COLUMNS, "n_features", "n_splits", "note"),
        n_splits=N_FOLDS,
    )
)
