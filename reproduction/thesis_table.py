"""A table of the thesis: accuracies of k-NN over repeated half splits of its data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reproduction.figures import published
from reproduction.kept_splits import KeptSplits
from reproduction.registry import Row, Table, register, whole
from reproduction.thesis_accuracy import (
    COLUMNS,
    N_SPLITS,
    PAIRED,
    QUICK_SPLITS,
    Outcomes,
    Stage,
    absent_rows,
    accuracy_rows,
    run_splits,
)
from reproduction.thesis_data import read_wanted

#: Rows of a set from its name, outcomes of the splits, published figures, marks and a note.
MakeRows = Callable[[str, Outcomes, Mapping[str, Any], Mapping[str, Any], str], Iterator[Row]]


@dataclass(frozen=True)
class SplitTable:
    """What one such table runs on every data set, and how its rows are made."""

    name: str
    title: str
    quick: tuple[str, ...]  # sets that come with the package, for a quick look
    stages: Callable[[np.ndarray], list[Stage]]  # methods, given the inputs of a set
    labelled: float = 1.0  # share of the training rows whose label is known
    samples: Mapping[str, int] = field(default_factory=dict)  # sets with only so many rows
    rows: MakeRows = accuracy_rows
    beside: str = "marks"  # what the publication prints beside its figures
    columns: tuple[str, ...] = COLUMNS

    def stream(
        self,
        quick: bool,
        n_jobs: int | None,
        datasets: Sequence[str] | None,
        n_splits: int | None = None,
        *,
        kept: KeptSplits,
    ) -> Iterator[Row]:
        """The rows of one data set after the other."""
        contents = published(self.name)
        figures = contents["figures"]
        for data in read_wanted(figures, datasets or (self.quick if quick else None)):
            if data.name in self.samples:
                data = data.sample(self.samples[data.name])
            known = figures[data.name]
            if data.X is None or data.y is None:
                yield from whole(absent_rows(data.name, known, data.note))
                continue
            stages = [stage for stage in self.stages(data.X) if not (quick and stage.variant)]
            results = run_splits(
                stages,
                data.y,
                data.name,
                kept,
                n_splits=n_splits or (QUICK_SPLITS if quick else N_SPLITS),
                n_jobs=n_jobs,
                labelled=self.labelled,
            )
            if results:
                beside = contents[self.beside][data.name]
                yield from whole(self.rows(data.name, results, known, beside, data.note))

    def register(self) -> None:
        """Add the table to those that can be run by name."""
        source = published(self.name)["source"]
        register(
            Table(
                self.name,
                self.title,
                source,
                self.stream,
                self.columns,
                PAIRED,
                N_SPLITS,
                continued=True,
            )
        )
