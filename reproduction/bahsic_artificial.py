"""Section 7.1 of the BAHSIC paper: ranks of the two relevant features in artificial problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from joblib import Parallel, delayed
from sklearn.preprocessing import StandardScaler

from depmax.datasets.artificial import (
    Problem,
    make_collinear_classes,
    make_nonlinear_regression,
    make_xor,
)
from reproduction import methods
from reproduction.figures import compared, published
from reproduction.registry import Row, Table, register, whole

NAME = "bahsic_artificial"
SIZES = tuple(range(40, 401, 40))
QUICK_SIZES = (40, 400)
N_FEATURES = 22
RELEVANT = (0, 1)

GENERATORS: dict[str, Callable[..., Problem]] = {
    "xor": make_xor,
    "classes": make_collinear_classes,
    "regression": make_nonlinear_regression,
}
METHODS: dict[str, methods.Order] = {
    "BAHSIC": methods.bahsic,
    "BAHSIC, one round": methods.bahsic_one_round,
    "FOHSIC": methods.fohsic,
    "Pearson": methods.pearson,
    "MI": methods.mutual_information,
    "Relief": methods.relief,
}


def stream(quick: bool, n_jobs: int | None, datasets: Sequence[str] | None) -> Iterator[Row]:
    """One row per problem, number of samples and method."""
    for problem in datasets or GENERATORS:
        if problem not in GENERATORS:
            raise ValueError(f"No problem named {problem!r}: one of {sorted(GENERATORS)}.")
        yield from whole(rows_of(problem, quick, n_jobs))


def rows_of(problem: str, quick: bool, n_jobs: int | None) -> Iterator[Row]:
    """The rows of one problem."""
    claims = published(NAME)["figures"][problem]
    draws = range(3 if quick else 10)
    for size in QUICK_SIZES if quick else SIZES:
        # as in the paper: Relief for two classes only
        for method in (name for name in METHODS if name in claims):
            jobs = (delayed(median_rank)(problem, method, size, draw) for draw in draws)
            ranks = list(Parallel(n_jobs=n_jobs)(jobs))
            yield compared(
                problem,
                method,
                ranks,
                n_samples=size,
                claim=claims[method],
                median=float(np.median(ranks)),
            )


def median_rank(problem: str, method: str, size: int, draw: int) -> float:
    """Median rank of the two relevant features in one draw; 1.5 is perfect, 11.5 is chance."""
    X, y = GENERATORS[problem](size, N_FEATURES, random_state=draw)
    order = METHODS[method](StandardScaler().fit_transform(X), y, N_FEATURES)
    ranks = np.empty(N_FEATURES)
    ranks[order] = np.arange(1, N_FEATURES + 1)
    return float(np.median(ranks[list(RELEVANT)]))


register(
    Table(
        NAME,
        "BAHSIC paper, Figure 2: median rank of the two relevant of 22 features, mean of ten draws",
        published(NAME)["source"],
        stream,
        ("dataset", "n_samples", "method", "claim", "ours", "standard_error", "median"),
    )
)
