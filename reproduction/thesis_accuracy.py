"""Rows of the thesis's tables of accuracies: fifty half splits, k = 1, 3, 5."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from reproduction.dimension_choice import Method, Outcome, Space, judge
from reproduction.figures import compared
from reproduction.half_splits import HalfSplit, half_splits
from reproduction.registry import Row
from reproduction.thesis_marks import method_marks, set_marks
from reproduction.thesis_methods import FULL

NEIGHBORS = (1, 3, 5)
N_SPLITS = 50
QUICK_SPLITS = 5
COLUMNS = (
    "dataset",
    "neighbors",
    "method",
    "published",
    "ours",
    "standard_error",
    "difference",
    "n_features",
    "marks",
    "set_marks",
    "published_set_marks",
    "n_splits",
    "note",
)
#: Of the file with one value per split.
PAIRED = ("dataset", "neighbors", "method", "accuracies", "numbers_of_features")

Outcomes = dict[tuple[str, int], Outcome]


@dataclass(frozen=True)
class Stage:
    """Methods, the coordinates they work on, and the largest number of features to try."""

    space: Space
    methods: tuple[Method, ...]
    most_features: int


def run_splits(
    stages: Sequence[Stage],
    y: np.ndarray,
    *,
    n_splits: int,
    n_jobs: int | None,
    labelled: float = 1.0,
) -> list[Outcomes]:
    """Every method on every split, the splits spread over processes."""
    splits = half_splits(y, n_splits, labelled=labelled)
    return list(Parallel(n_jobs=n_jobs)(delayed(_run)(stages, y, split) for split in splits))


def _run(stages: Sequence[Stage], y: np.ndarray, split: HalfSplit) -> Outcomes:
    outcomes: Outcomes = {}
    for stage in stages:
        outcomes |= judge(
            stage.space,
            y,
            split,
            stage.methods,
            n_neighbors=NEIGHBORS,
            most_features=stage.most_features,
        )
    return outcomes


def accuracy_rows(
    dataset: str,
    results: Sequence[Outcomes],
    figures: Mapping[str, Mapping[str, float]],
    marks: Mapping[str, str],
    note: str,
) -> Iterator[Row]:
    """One row per number of neighbours and method; tests are among the published methods.

    A method whose name has a comma is a variant of ours, which is not tested.
    """
    methods = dict.fromkeys(name for name, _ in results[0])
    for k in NEIGHBORS:
        known = figures.get(str(k), {})
        scores = {
            name: np.array([outcome[name, k].accuracy for outcome in results]) for name in methods
        }
        tested = {name: values for name, values in scores.items() if "," not in name}
        of_methods, of_set = method_marks(tested), set_marks(tested)
        for name in methods:
            counts = [outcome[name, k].n_features for outcome in results]
            yield accuracy_row(
                dataset,
                k,
                name,
                scores[name],
                known.get(name),
                numbers_of_features=counts,
                # the columns as they are have nothing to choose
                n_features=None if name == FULL.name else float(np.median(counts)),
                marks=of_methods.get(name, ""),
                set_marks=of_set,
                published_set_marks=marks.get(str(k)),
                note=note,
            )


def accuracy_row(
    dataset: str,
    k: int,
    method: str,
    accuracies: np.ndarray | None,
    figure: float | None,
    **more: Any,
) -> Row:
    """Our mean accuracy beside a published one."""
    return compared(
        dataset,
        method,
        accuracies,
        None if figure is None else [figure],
        neighbors=k,
        accuracies=accuracies,
        n_splits=None if accuracies is None else len(accuracies),
        **more,
    )


def absent_rows(
    dataset: str, figures: Mapping[str, Mapping[str, float]], note: str
) -> Iterator[Row]:
    """Published figures of a set that is not at hand."""
    for k, known in figures.items():
        for method, figure in known.items():
            yield accuracy_row(dataset, int(k), method, None, figure, note=note)
