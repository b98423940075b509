"""Section 9 of the BAHSIC paper: ten genes, SVM error and overlap of the lists of genes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import LabelEncoder
from sklearn.svm import SVC

from depmax.datasets import available, load
from reproduction import methods
from reproduction.external import load_external
from reproduction.figures import compared, published
from reproduction.protocol import Task, folds, one_against_rest, overlap
from reproduction.registry import COLUMNS, Row, Table, register, whole

NAME = "bahsic_microarrays"
N_GENES = 10
COSTS = (0.1, 1, 10, 100, 1000)
WIDTHS = (1, 10, 100, 1000)
QUICK = ("colon",)


@dataclass(frozen=True)
class Study:
    """A data set, and the paper's number of it if it is the same."""

    file: str
    task: Task = "binary"
    number: str | None = None
    note: str = "not in the paper"
    logarithms: bool = False  # of values that are all positive

    @property
    def name(self) -> str:
        """The file, and how a variant differs."""
        return f"{self.file}, logarithms" if self.logarithms else self.file


STUDIES = (
    Study("colon", number="11", note="same data: Alon et al. (1999)"),
    Study("colon", number="11", note="variant: logarithms of the values", logarithms=True),
    Study("leukemia_golub38", note="the 38 training rows only; the paper has all 72 as set 13"),
    Study("srbct_khan", "multiclass"),
    Study("yeast_brown_selected", "multiclass", note="186 genes of set 19; which the paper took?"),
    Study("lymphoma_alizadeh", "multiclass", "18", "same data: Alizadeh et al. (2000)"),
    Study("breast_vantveer_1113", note="stand-in for set 1: 1113 of its 24481 genes"),
    Study("leukemia_golub", number="13", note="same data: Golub et al. (1999)"),
    Study("breast_west", number="10", note="same study: West et al."),
    Study("prostate_singh"),
    Study("dlbcl_shipp"),
    Study("cns_pomeroy"),
    Study("lung_gordon"),
)
METHODS: dict[str, methods.Order] = {
    "pc": methods.pearson,
    "snr": methods.filtered("snr"),
    "pam": methods.filtered("pam"),
    "t": methods.filtered("t"),
    "m-t": methods.filtered("moderated_t"),
    "lods": methods.filtered("lods"),
    "lin": methods.linear,
    "RBF": methods.bahsic,
    "dis": methods.inverse_distance,
    "rfe": methods.rfe,
}
#: Table 4 has no others.
MULTICLASS = ("lin", "RBF", "dis")


def stream(quick: bool, n_jobs: int | None, datasets: Sequence[str] | None) -> Iterator[Row]:
    """One row per data set and method; the smallest sets first."""
    known = [study.name for study in STUDIES]
    wanted = datasets or (QUICK if quick else known)
    figures = published(NAME)["figures"]
    bundled = set(available())
    for study in STUDIES:
        if study.name in wanted:
            figure = figures[study.number] if study.number else {}
            yield from whole(rows_of(study, figure, quick, n_jobs))
    # any other set with classes that comes with the package or lies in the user's folder
    for name in wanted:
        if name not in known:
            study = Study(name, note="not in the paper" if name in bundled else "your own data")
            yield from whole(rows_of(study, {}, quick, n_jobs))


def rows_of(
    study: Study, figures: dict[str, Any], quick: bool, n_jobs: int | None
) -> Iterator[Row]:
    """The rows of one data set."""
    try:
        data = load(study.file) if study.file in available() else load_external(study.file)
    except FileNotFoundError as error:
        yield compared(study.name, "all", None, note=str(error))
        return
    X, y = data.X.astype(float), LabelEncoder().fit_transform(data.y)
    if study.logarithms:
        X = np.log(X)
    two = len(np.unique(y)) == 2
    for method in METHODS if two else MULTICLASS:
        results = folds(
            X,
            y,
            study.task,
            METHODS[method],
            min(N_GENES, X.shape[1]),
            partial(tuned_machine, n_folds=2 if quick else 5),
            n_folds=3 if quick else 10,
            n_jobs=n_jobs,
        )
        figure = figures.get(method)
        yield compared(
            study.name,
            method,
            [fold.score for fold in results],
            None if figure is None else figure[:1],
            published_overlap=None if figure is None else figure[1],
            overlap=overlap(results),
            note=study.note,
        )


def tuned_machine(X: np.ndarray, y: np.ndarray, n_folds: int = 5) -> Any:
    """A fitted Gaussian SVM, cost and width chosen by cross-validation inside the training part.

    A plain loop with scikit-learn's checks off: a third of the time of its grid search, and the
    same choice (of equally good settings the first).
    """
    n_folds = max(2, min(n_folds, int(np.bincount(y).min())))
    inner = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    splits = list(inner.split(X, y))
    with config_context(assume_finite=True, skip_parameter_validation=True):
        machines = [
            one_against_rest(SVC(C=cost, gamma=1 / (2 * width**2)), y)
            for cost in COSTS
            for width in WIDTHS
        ]
        hits = [
            np.mean([_hits(clone(machine), X, y, *split) for split in splits])
            for machine in machines
        ]
        return machines[int(np.argmax(hits))].fit(X, y)


def _hits(machine: Any, X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    return float(np.mean(machine.fit(X[train], y[train]).predict(X[test]) == y[test]))


register(
    Table(
        NAME,
        "BAHSIC paper, Tables 3 and 4: error (%) with ten genes, and genes common to all folds",
        published(NAME)["source"],
        stream,
        (*COLUMNS, "published_overlap", "overlap", "note"),
    )
)
