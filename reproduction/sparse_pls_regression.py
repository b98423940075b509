"""Table 3 of the sparse PLS paper: features followed by least squares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from reproduction.external import load_external
from reproduction.figures import compared, published
from reproduction.kept_splits import KeptSplits
from reproduction.registry import COLUMNS, Row, Table, register, whole
from reproduction.sparse_pls_learners import LeastSquares
from reproduction.sparse_pls_methods import REGRESSION, REGRESSION_VARIANTS
from reproduction.sparse_pls_protocol import (
    FOLDS,
    PAIRED,
    Plan,
    chosen_methods,
    normalised,
    outer_errors,
    wanted_sets,
)

NAME = "sparse_pls_regression"
MOST_ROWS = 1000
QUICK = ("baseball",)
#: The paper has other versions of two sets; these are those with the same columns.
NOTES = {
    "ailerons": "13,750 rows where the paper has 7,154; the first 1,000",
    "baseball": "same data",
    "pole_telecomm": "15,000 rows where the paper has 9,065; the first 1,000",
}


def stream(
    quick: bool,
    n_jobs: int | None,
    datasets: Sequence[str] | None,
    n_splits: int | None = None,
    *,
    kept: KeptSplits,
) -> Iterator[Row]:
    """One row per data set and method."""
    figures = published(NAME)["figures"]
    plan = Plan(inner_folds=3) if quick else Plan()
    for name in wanted_sets(figures, datasets or (QUICK if quick else None)):
        data = load_external(name)
        X = normalised(np.asarray(data.X, dtype=np.float64)[:MOST_ROWS])
        y = normalised(np.asarray(data.y, dtype=np.float64)[:MOST_ROWS, np.newaxis])[:, 0]
        methods = chosen_methods((*REGRESSION, *REGRESSION_VARIANTS), quick)
        found = (
            outer_errors(X, y, m, LeastSquares(), plan, kept, name, n_jobs, n_splits)
            for m in methods
        )
        yield from whole(
            compared(
                name,
                method.name,
                errors,
                figures[name].get(method.name.partition(",")[0]),
                n_splits=len(errors),
                note=NOTES[name],
            )
            for method, errors in zip(methods, found, strict=True)
            if errors
        )


register(
    Table(
        NAME,
        "Sparse PLS paper, Table 3: error of least squares on features",
        published(NAME)["source"],
        stream,
        (*COLUMNS, "n_splits", "note"),
        PAIRED,
        n_splits=FOLDS,
        continued=True,
    )
)
