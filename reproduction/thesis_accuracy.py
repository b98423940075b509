"""Rows of the thesis's tables of accuracies: fifty half splits, k = 1, 3, 5."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from reproduction.dimension_choice import Method, Outcome, Space, judge
from reproduction.figures import compared
from reproduction.half_splits import half_splits
from reproduction.kept_splits import KeptSplits, Key
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

#: What a method reached with a number of neighbours, one outcome per split.
Outcomes = Mapping[tuple[str, int], Sequence[Outcome]]


@dataclass(frozen=True)
class Stage:
    """Methods, the coordinates they work on, and the largest number of features to try."""

    space: Space
    methods: tuple[Method, ...]
    most_features: int
    labelled_by_class: bool = True  # whether each class has the same share of known labels
    variant: bool = False  # not the thesis's words: shown beside, and run after the others


def run_splits(
    stages: Sequence[Stage],
    y: np.ndarray,
    dataset: str,
    kept: KeptSplits,
    *,
    n_splits: int,
    n_jobs: int | None,
    labelled: float = 1.0,
) -> Outcomes:
    """Every method on every split that is not kept yet, variants last; empty ones are left out.

    Methods may have different numbers of splits, which are always the first ones.
    """
    keys: dict[bool, dict[tuple[str, int], Key]] = {False: {}, True: {}}
    for stage in stages:
        for name, k in product((method.name for method in stage.methods), NEIGHBORS):
            keys[stage.variant][name, k] = (dataset, k, name)
    job = partial(_run, stages, y, labelled)
    for wanted in keys.values():
        kept.complete(list(wanted.values()), n_splits, job, n_jobs)
    return {
        pair: [
            Outcome(accuracy, int(number))
            for accuracy, number in zip(*kept.values(key, n_splits), strict=True)
        ]
        for pair, key in (keys[False] | keys[True]).items()
        if kept.count(key)
    }


def _run(
    stages: Sequence[Stage], y: np.ndarray, labelled: float, seed: int, keys: Sequence[Key]
) -> dict[Key, tuple[float, float]]:
    """Accuracy and number of features of the methods that the keys name, on one split."""
    dataset = keys[0][0]
    wanted = {name for _, _, name in keys}
    found: dict[Key, tuple[float, float]] = {}
    for stage in stages:
        methods = [method for method in stage.methods if method.name in wanted]
        if not methods:
            continue
        [split] = half_splits(
            y, 1, labelled=labelled, by_class=stage.labelled_by_class, first_seed=seed
        )
        for (name, k), outcome in judge(
            stage.space,
            y,
            split,
            methods,
            n_neighbors=NEIGHBORS,
            most_features=stage.most_features,
        ).items():
            found[dataset, k, name] = (outcome.accuracy, float(outcome.n_features))
    return found


def accuracy_rows(
    dataset: str,
    results: Outcomes,
    figures: Mapping[str, Mapping[str, float]],
    marks: Mapping[str, str],
    note: str,
) -> Iterator[Row]:
    """One row per number of neighbours and method; tests are among the published methods.

    A method whose name has a comma is a variant of ours, which is not tested. Tests are of the
    splits that all tested methods have.
    """
    for k in NEIGHBORS:
        known = figures.get(str(k), {})
        scores = accuracies_of(results, k)
        tested = {name: values for name, values in scores.items() if "," not in name}
        common = min((len(values) for values in tested.values()), default=0)
        tested = {name: values[:common] for name, values in tested.items()}
        of_methods, of_set = method_marks(tested), set_marks(tested)
        for name in scores:
            counts = [outcome.n_features for outcome in results[name, k]]
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


def accuracies_of(results: Outcomes, k: int) -> dict[str, np.ndarray]:
    """Accuracies over the splits with a number of neighbours, by method."""
    return {
        name: np.array([outcome.accuracy for outcome in found])
        for (name, neighbors), found in results.items()
        if neighbors == k
    }


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
