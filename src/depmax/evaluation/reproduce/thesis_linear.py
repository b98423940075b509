"""Table 5.3 of the thesis: linear features, then nearest neighbours, on sets with two classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from depmax.evaluation.dimension_choice import Inputs
from depmax.evaluation.reproduce.figures import published
from depmax.evaluation.reproduce.registry import Row, Table, register, whole
from depmax.evaluation.reproduce.thesis_accuracy import (
    COLUMNS,
    N_SPLITS,
    PAIRED,
    QUICK_SPLITS,
    Stage,
    absent_rows,
    accuracy_rows,
    run_splits,
)
from depmax.evaluation.reproduce.thesis_data import read_wanted
from depmax.evaluation.reproduce.thesis_methods import LINEAR

NAME = "thesis_linear"
#: Sets that come with the package, for a quick look.
QUICK = ("heart", "ionosphere")


def stream(
    quick: bool,
    n_jobs: int | None,
    datasets: Sequence[str] | None,
    n_splits: int | None = None,
) -> Iterator[Row]:
    """One row per data set, number of neighbours and method."""
    contents = published(NAME)
    figures = contents["figures"]
    for data in read_wanted(figures, datasets or (QUICK if quick else None)):
        if data.X is None or data.y is None:
            yield from whole(absent_rows(data.name, figures[data.name], data.note))
            continue
        results = run_splits(
            [Stage(Inputs(data.X), LINEAR, data.X.shape[1])],
            data.y,
            n_splits=n_splits or (QUICK_SPLITS if quick else N_SPLITS),
            n_jobs=n_jobs,
        )
        marks = contents["marks"][data.name]
        rows = accuracy_rows(data.name, results, figures[data.name], marks, data.note)
        yield from whole(rows)


register(
    Table(
        NAME,
        "Thesis, Table 5.3: accuracy of k-NN on linear features",
        published(NAME)["source"],
        stream,
        COLUMNS,
        PAIRED,
        N_SPLITS,
    )
)
