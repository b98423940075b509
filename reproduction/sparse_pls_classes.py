"""Tables 4 and 5 of the sparse PLS paper: features followed by neighbours or a machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from depmax.datasets import available, load
from reproduction.external import load_external
from reproduction.figures import compared, published
from reproduction.kept_splits import KeptSplits
from reproduction.registry import COLUMNS, Row, Table, register, whole
from reproduction.sparse_pls_learners import Learner, Machine, Neighbours
from reproduction.sparse_pls_methods import CLASSES, CLASSES_TRIALS, CLASSES_VARIANTS, Method
from reproduction.sparse_pls_protocol import (
    FOLDS,
    PAIRED,
    Plan,
    chosen_methods,
    normalised,
    outer_errors,
    wanted_sets,
)

QUICK = ("ionosphere",)
#: The class that counts as +1.
POSITIVE = {"ionosphere": "good", "sonar": "M", "spectf": "1", "wdbc": "M"}
#: Cross-validations with other folds.
REPEATS = 3
#: Methods that the paper repeats less often, with fewer inner folds.
SLOW = ("LAD BLF", "Exp KB", "Log KB")


def stream(
    name: str,
    learner: Learner,
    methods: Sequence[Method],
    quick: bool,
    n_jobs: int | None,
    datasets: Sequence[str] | None,
    n_splits: int | None = None,
    *,
    kept: KeptSplits,
) -> Iterator[Row]:
    """One row per data set and method."""
    figures = published(name)["figures"]
    for dataset in wanted_sets(figures, datasets or (QUICK if quick else None)):
        data = load(dataset) if dataset in available() else load_external(dataset)
        X = normalised(np.asarray(data.X, dtype=np.float64))
        y = np.where(np.asarray(data.y).astype(str) == POSITIVE[dataset], 1.0, -1.0)
        known = figures[dataset]
        chosen = chosen_methods(methods, quick)
        rows = _rows(dataset, X, y, learner, chosen, known, quick, n_jobs, n_splits, kept)
        yield from whole(rows)


def _rows(
    dataset: str,
    X: np.ndarray,
    y: np.ndarray,
    learner: Learner,
    methods: Sequence[Method],
    figures: Mapping[str, Sequence[float]],
    quick: bool,
    n_jobs: int | None,
    n_splits: int | None,
    kept: KeptSplits,
) -> Iterator[Row]:
    for method in methods:
        slow = method.gaussian or method.name.partition(",")[0] in SLOW
        plan = Plan(repeats=2, inner_folds=3) if slow else Plan(repeats=REPEATS)
        plan = Plan(inner_folds=3) if quick else plan
        errors = outer_errors(X, y, method, learner, plan, kept, dataset, n_jobs, n_splits)
        if errors:
            figure = figures.get(method.name.partition(",")[0])
            yield compared(dataset, method.name, errors, figure, n_splits=len(errors))


_ALL = (*CLASSES, *CLASSES_VARIANTS)
_TRIALS = "sparse_pls_trials"
for _name, _figures, _title, _learner, _methods in (
    *(
        (name, name, title, learner, _ALL)
        for name, title, learner in (
            ("sparse_pls_neighbors", "Table 4: error of k-NN on features", Neighbours()),
            ("sparse_pls_machines", "Table 5: error of SVM on features", Machine()),
        )
    ),
    (_TRIALS, "sparse_pls_neighbors", "Table 4: other readings", Neighbours(), CLASSES_TRIALS),
):
    register(
        Table(
            _name,
            f"Sparse PLS paper, {_title}",
            published(_figures)["source"],
            partial(stream, _figures, _learner, _methods),
            (*COLUMNS, "n_splits"),
            PAIRED,
            n_splits=REPEATS * FOLDS,
            continued=True,
        )
    )
