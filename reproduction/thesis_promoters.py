"""Table 5.10 of the thesis: promoters as numbers and as strings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from depmax.datasets import load
from reproduction.dimension_choice import Inputs
from reproduction.figures import published
from reproduction.kept_splits import KeptSplits
from reproduction.registry import Row, Table, register, whole
from reproduction.thesis_accuracy import (
    COLUMNS,
    PAIRED,
    QUICK_SPLITS,
    Stage,
    accuracy_rows,
    run_splits,
)
from reproduction.thesis_data import standardised
from reproduction.thesis_methods import FULL, LINEAR
from reproduction.thesis_spaces import GaussianSpace, StringSpace
from reproduction.thesis_variants import renamed

NAME = "thesis_promoters"
#: Published accuracies are multiples of 1/(53 · 30): 53 test rows, 30 splits.
N_SPLITS = 30
#: The thesis's numbers for the nucleotides.
CODES = {"a": 1.0, "g": 2.0, "c": 3.0, "t": 4.0}
#: The feature kernel of HSCA is linear here, also with the other kernels.
METHODS = tuple(m for m in LINEAR if m is not FULL and "," not in m.name)
MOST_FEATURES = 30
#: A variant without a choice of the kernel: one length and decay for all splits.
FIXED = (7, 0.3)
FIXED_METHODS = renamed(METHODS, f", length {FIXED[0]} and decay {FIXED[1]}")
NOTE = "same data"


def stream(
    quick: bool,
    n_jobs: int | None,
    datasets: Sequence[str] | None,
    n_splits: int | None = None,
    *,
    kept: KeptSplits,
) -> Iterator[Row]:
    """One row per kernel, number of neighbours and method."""
    contents = published(NAME)
    figures = contents["figures"]
    wanted = datasets or tuple(figures)
    unknown = sorted(set(wanted) - set(figures))
    if unknown:
        raise ValueError(f"The table has no kernel {unknown[0]!r}: one of {sorted(figures)}.")
    data = load("promoters")
    strings = [text.lower() for text in data.X]
    y = np.where(data.y == "+", 1.0, -1.0)
    for kernel in wanted:
        results = run_splits(
            stages_of(kernel, strings),
            y,
            kernel,
            kept,
            n_splits=n_splits or (QUICK_SPLITS if quick else N_SPLITS),
            n_jobs=n_jobs,
        )
        if results:
            marks = contents["marks"][kernel]
            yield from whole(accuracy_rows(kernel, results, figures[kernel], marks, NOTE))


def stages_of(kernel: str, strings: Sequence[str]) -> list[Stage]:
    """Methods and coordinates of one part of the table; the columns as they are go with one."""
    if kernel == "string":
        fixed = StringSpace.of(strings, lengths=(FIXED[0],), decays=(FIXED[1],))
        return [
            Stage(StringSpace.of(strings), METHODS, MOST_FEATURES),
            Stage(fixed, FIXED_METHODS, MOST_FEATURES, variant=True),
        ]
    X = standardised(np.array([[CODES[letter] for letter in text] for text in strings]))
    if kernel == "linear":
        return [Stage(Inputs(X), METHODS, MOST_FEATURES)]
    return [Stage(Inputs(X), (FULL,), 1), Stage(GaussianSpace(X), METHODS, MOST_FEATURES)]


register(
    Table(
        NAME,
        "Thesis, Table 5.10: accuracy of k-NN on promoters, by kernel",
        published(NAME)["source"],
        stream,
        COLUMNS,
        PAIRED,
        N_SPLITS,
        continued=True,
    )
)
