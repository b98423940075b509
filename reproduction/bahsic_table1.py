"""Table 1 of the BAHSIC paper: five features, then a Gaussian SVM, on public data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from reproduction import methods
from reproduction.figures import compared, published
from reproduction.protocol import folds, gaussian_machine
from reproduction.registry import COLUMNS, Row, Table, register, whole
from reproduction.table1_data import PROBLEMS, Problem

NAME = "bahsic_table1"
N_FEATURES = 5
#: Sets that come with the package, for a quick look.
QUICK = ("wine", "heart", "ionosphere")
QUICK_FOLDS = 3

METHODS: dict[str, methods.Order] = {
    "BAHSIC": methods.bahsic,
    "FOHSIC": methods.fohsic,
    "PC": methods.pearson,
    "MI": methods.mutual_information,
    "RFE": methods.rfe,
    "RELIEF": methods.relief,
    "L0": methods.zero_norm,
    "R2W2": methods.r2w2,
}
#: Where the paper has dashes.
TASKS = {
    "RFE": ("binary", "multiclass"),
    "L0": ("binary", "multiclass"),
    "RELIEF": ("binary",),
    "R2W2": ("binary",),
}


def stream(quick: bool, n_jobs: int | None, datasets: Sequence[str] | None) -> Iterator[Row]:
    """One row per data set and method; sets of the paper that are not at hand come last."""
    figures = published(NAME)["figures"]
    wanted = datasets or (QUICK if quick else tuple(figures))
    variants = {problem.name for problem in PROBLEMS} - set(figures)
    wanted = wanted if datasets or quick else (*wanted, *sorted(variants))
    unknown = sorted(set(wanted) - set(figures) - variants)
    if unknown:
        raise ValueError(f"Table 1 has no data set named {unknown[0]!r}: one of {sorted(figures)}.")
    for problem in PROBLEMS:
        if problem.name in wanted:
            yield from whole(_rows(problem, figures[problem.published_name], quick, n_jobs))
    for name in sorted(set(wanted) - {problem.name for problem in PROBLEMS}):
        yield from whole(
            compared(name, method, None, figure, note="data not at hand")
            for method, figure in figures[name].items()
        )


def _rows(
    problem: Problem, figures: dict[str, Any], quick: bool, n_jobs: int | None
) -> Iterator[Row]:
    try:
        X, y = problem.read()
    except FileNotFoundError as error:
        for method, figure in figures.items():
            yield compared(problem.name, method, None, figure, note=str(error))
        return
    for method, order in METHODS.items():
        scores, note = None, problem.note
        if problem.task not in TASKS.get(method, (problem.task,)):
            note = "not applicable, as in the paper"
        else:
            results = folds(
                X,
                y,
                problem.task,
                order,
                N_FEATURES,
                gaussian_machine,
                n_folds=QUICK_FOLDS if quick else 10,
                n_jobs=n_jobs,
            )
            scores = [fold.score for fold in results]
        yield compared(problem.name, method, scores, figures[method], note=note)


register(
    Table(
        NAME,
        "BAHSIC paper, Table 1: error (%), or variance not explained (%), with five features",
        published(NAME)["source"],
        stream,
        (*COLUMNS, "note"),
    )
)
