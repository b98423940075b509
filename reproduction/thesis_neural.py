"""Neural features beside HBFE and HSCA on sets of the thesis, which has no figures for them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from reproduction.dimension_choice import Inputs, Method
from reproduction.figures import published
from reproduction.kept_splits import KeptSplits
from reproduction.registry import Row, Table, register, whole
from reproduction.thesis_accuracy import (
    NEIGHBORS,
    PAIRED,
    Outcomes,
    Stage,
    accuracy_row,
    run_splits,
)
from reproduction.thesis_data import read_wanted
from reproduction.thesis_methods import FULL, KERNEL, LINEAR, Transform
from reproduction.thesis_spaces import GaussianSpace

NAME = "thesis_neural"
#: Small sets of the thesis, and one that comes with the package for a quick look.
DATA = ("specft", "sonar", "heart", "derm", "ionosphere", "wdbc")
QUICK = ("heart",)
N_SPLITS, QUICK_SPLITS = 10, 2
#: Largest number of features of every method: few, since each neural one is another network.
MOST = 3
COMPARED = ("HBFE1", "HSCA0")
COLUMNS = (
    "dataset",
    "neighbors",
    "method",
    "ours",
    "standard_error",
    "n_features",
    "n_splits",
    "note",
)


def neural(rows: np.ndarray, y: np.ndarray, count: int, name: str) -> Transform:
    """A neural extractor with its defaults and the target as in the thesis."""
    import depmax.neural

    make: Any = getattr(depmax.neural, name)
    model = make(count, target_kernel="linear", random_state=0)
    with warnings.catch_warnings():  # a network that could still improve is judged as it is
        warnings.simplefilter("ignore", ConvergenceWarning)
        transform: Transform = model.fit(rows, y).transform
    return transform


def neuro_hbfe(rows: np.ndarray, y: np.ndarray, count: int) -> Transform:
    """Features of one network, trained together: another fit for every number of them."""
    return neural(rows, y, count, "NeuroHBFE")


def neuro_hsca(rows: np.ndarray, y: np.ndarray, count: int) -> Transform:
    """Features of one network after another."""
    return neural(rows, y, count, "NeuroHSCA")


METHODS = (
    FULL,
    *(method for method in LINEAR if method.name in COMPARED),
    Method("NeuroHBFE", neuro_hbfe, nested=False),
    Method("NeuroHSCA", neuro_hsca),
)
GAUSSIAN = tuple(
    replace(method, name=f"{method.name}, Gaussian") for method in KERNEL if method.name in COMPARED
)


def stream(
    quick: bool,
    n_jobs: int | None,
    datasets: Sequence[str] | None,
    n_splits: int | None = None,
    *,
    kept: KeptSplits,
) -> Iterator[Row]:
    """One row per data set, number of neighbours and method."""
    import depmax.neural  # noqa: F401  (without torch it says which extra to install)

    wanted = dict.fromkeys(DATA)
    for data in read_wanted(wanted, datasets or (QUICK if quick else None)):
        if data.X is None or data.y is None:
            absent = accuracy_row(data.name, NEIGHBORS[0], FULL.name, None, None, note=data.note)
            yield from whole([absent])
            continue
        results = run_splits(
            [
                Stage(Inputs(data.X), METHODS, MOST),
                Stage(GaussianSpace(data.X), GAUSSIAN, MOST),
            ],
            data.y,
            data.name,
            kept,
            n_splits=n_splits or (QUICK_SPLITS if quick else N_SPLITS),
            n_jobs=n_jobs,
        )
        if results:
            yield from whole(rows_of(data.name, results, data.note))


def rows_of(dataset: str, results: Outcomes, note: str) -> Iterator[Row]:
    """Mean accuracies of all methods."""
    for k in NEIGHBORS:
        for method in (*METHODS, *GAUSSIAN):
            found = results.get((method.name, k))
            if found is None:
                continue
            counts = [outcome.n_features for outcome in found]
            yield accuracy_row(
                dataset,
                k,
                method.name,
                np.array([outcome.accuracy for outcome in found]),
                None,
                numbers_of_features=counts,
                n_features=None if method is FULL else float(np.median(counts)),
                note=note,
            )


register(
    Table(
        NAME,
        "Thesis, sets of Table 5.3: accuracy of k-NN on neural features beside HBFE and HSCA",
        published("thesis_linear")["source"],
        stream,
        COLUMNS,
        PAIRED,
        N_SPLITS,
        continued=True,
    )
)
