"""Tables 5.8 and 5.9 of the thesis: linear features, then ML-kNN, on eleven sets of web pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from reproduction.dimension_choice import Method
from reproduction.external import load_external
from reproduction.figures import compared, published
from reproduction.half_splits import half_splits
from reproduction.label_curves import MEASURES, label_curves
from reproduction.registry import Row, Table, register, whole
from reproduction.thesis_accuracy import N_SPLITS
from reproduction.thesis_marks import method_marks
from reproduction.thesis_methods import FULL, hbfe, pca

NAME = "thesis_yahoo"
#: Rows of the standard training part, which the thesis splits in halves; the file has 5000.
N_ROWS = 2000
#: Per cent of the columns.
SHARES = range(2, 101, 5)
QUICK = ("arts",)
QUICK_SPLITS = 2
NOTE = "same data"

METHODS = (
    FULL,
    Method("HBFE1", partial(hbfe, unbiased=True)),
    Method("HBFE0", partial(hbfe, unbiased=False)),
    Method("PCA", pca),
)
COLUMNS = (
    "dataset",
    "measure",
    "method",
    "published",
    "ours",
    "standard_error",
    "difference",
    "marks",
    "published_best",
    "best",
    "best_n_features",
    "n_splits",
    "note",
)
PAIRED = ("dataset", "measure", "method", "values")


def stream(
    quick: bool,
    n_jobs: int | None,
    datasets: Sequence[str] | None,
    n_splits: int | None = None,
) -> Iterator[Row]:
    """One row per data set, measure and method."""
    contents = published(NAME)
    figures = contents["figures"]
    wanted = datasets or (QUICK if quick else tuple(figures))
    unknown = sorted(set(wanted) - set(figures))
    if unknown:
        raise ValueError(f"The table has no set named {unknown[0]!r}: one of {sorted(figures)}.")
    for name in wanted:
        try:
            data = load_external(f"yahoo_{name}")
        except FileNotFoundError as error:
            yield from whole(absent_rows(name, figures[name], str(error)))
            continue
        # word frequencies as they are: the figures of all columns agree with the published ones
        X, Y = data.X[:N_ROWS].astype(float), data.y[:N_ROWS].astype(int)
        dimensions = dimensions_of(X.shape[1], len(X) // 2)
        jobs = (
            delayed(label_curves)(X, Y, split, METHODS, dimensions)
            for split in half_splits(Y, n_splits or (QUICK_SPLITS if quick else N_SPLITS))
        )
        curves = list(Parallel(n_jobs=n_jobs)(jobs))
        rows = rows_of(name, curves, dimensions, figures[name], contents["marks"][name])
        yield from whole(rows)


def absent_rows(name: str, figures: Mapping[str, Mapping[str, float]], note: str) -> Iterator[Row]:
    """Published figures of a set that is not at hand."""
    for measure, known in figures.items():
        for method, figure in known.items():
            yield compared(name, method, None, [figure], measure=measure, note=note)


def dimensions_of(n_columns: int, n_rows: int) -> list[int]:
    """Two per cent of the columns, then five more each, as far as there are rows."""
    counts = [max(1, round(share * n_columns / 100)) for share in SHARES]
    return [count for count in counts if count <= n_rows]


def rows_of(
    name: str,
    curves: Sequence[Mapping[str, np.ndarray]],
    dimensions: Sequence[int],
    figures: Mapping[str, Mapping[str, float]],
    marks: Mapping[str, str | None],
) -> Iterator[Row]:
    """Means over all numbers of features, as published, and the best number beside them."""
    for place, (measure, (_, larger)) in enumerate(MEASURES.items()):
        sign = 1 if larger else -1
        # (n_splits, n_dimensions) per method
        tables = {
            method.name: np.array([curve[method.name][:, place] for curve in curves])
            for method in METHODS
        }
        found = method_marks({key: sign * table.mean(axis=1) for key, table in tables.items()})
        for method in METHODS:
            table = tables[method.name]
            by_dimension = table.mean(axis=0)
            best = int(np.argmax(sign * by_dimension))
            more: dict[str, Any] = {}
            if method.nested:
                more = {"best": float(by_dimension[best]), "best_n_features": dimensions[best]}
            yield compared(
                name,
                method.name,
                table.mean(axis=1),
                [figures[measure][method.name]],
                measure=measure,
                marks=found[method.name],
                published_best=marks[measure],
                n_splits=len(table),
                values=table.mean(axis=1),
                note=NOTE,
                **more,
            )


register(
    Table(
        NAME,
        "Thesis, Tables 5.8 and 5.9: ML-kNN on linear features, mean over numbers of features",
        published(NAME)["source"],
        stream,
        COLUMNS,
        PAIRED,
        N_SPLITS,
    )
)
