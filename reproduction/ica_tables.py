"""Tables 1 to 4 of the ICA-FX paper: features, then five regressors, root mean square errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from depmax.datasets import Problem, load_external, make_linear_direction, make_sine_direction
from depmax.extraction import ICAFX, PHD, SIR, LinearRegressionFeature
from reproduction.figures import compared, published
from reproduction.ica_regressors import errors
from reproduction.registry import COLUMNS, Row, Table, register

METHODS: dict[str, Callable[[int], Any]] = {
    "Original": lambda count: FunctionTransformer(),
    "PCA": PCA,
    "MLR": LinearRegressionFeature,
    "SIR": SIR,
    "PHD": PHD,
    "ICA-FX": ICAFX,
    "ICA-FX, published rule": lambda count: ICAFX(count, solver="natural-gradient"),
}
SEED, N_SPLITS, QUICK_SPLITS = 0, 10, 2
Split = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Experiment:
    """One table: its data and how they are split."""

    name: str
    title: str
    read: Callable[[], tuple[np.ndarray, np.ndarray]]
    splits: Callable[[int], list[Split]]  # from the number of splits
    sphered: bool = False  # whether all methods but PCA get the sphered inputs
    repeated: bool = True  # whether there are several splits


def external(name: str) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
    """Reader of a data set of the folder that DEPMAX_DATA names."""

    def read() -> tuple[np.ndarray, np.ndarray]:
        data = load_external(name)
        return np.asarray(data.X, dtype=np.float64), np.asarray(data.y, dtype=np.float64)

    return read


def artificial(make: Callable[..., Problem]) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
    """Reader of an artificial problem of 1,000 rows."""

    def read() -> tuple[np.ndarray, np.ndarray]:
        problem = make(1000, random_state=SEED)
        return problem.X, problem.y

    return read


def folds(n_rows: int) -> Callable[[int], list[Split]]:
    """Ten folds, or the first of them."""
    rows = np.arange(n_rows)
    return lambda count: [*KFold(N_SPLITS, shuffle=True, random_state=SEED).split(rows)][:count]


EXPERIMENTS = (
    Experiment(
        "ica_linear",
        "ICA-FX paper, Table 1: linear problem",
        artificial(make_linear_direction),
        folds(1000),
    ),
    Experiment(
        "ica_nonlinear",
        "ICA-FX paper, Table 2: sine problem",
        artificial(make_sine_direction),
        folds(1000),
    ),
    Experiment(
        "ica_housing",
        "ICA-FX paper, Table 3: Boston housing",
        external("boston_housing"),
        lambda count: [
            *ShuffleSplit(N_SPLITS, test_size=0.1, random_state=SEED).split(np.arange(506))
        ][:count],
    ),
    Experiment(
        "ica_orange_juice",
        "ICA-FX paper, Table 4: orange juice, its own split",
        external("orange_juice_nir"),
        lambda count: [(np.arange(150), np.arange(150, 218))],
        sphered=True,
        repeated=False,
    ),
)


def stream_of(experiment: Experiment) -> Any:
    """The stream of one table."""

    def stream(
        quick: bool,
        n_jobs: int | None,
        datasets: Sequence[str] | None,
        n_splits: int | None = None,
    ) -> Iterator[Row]:
        figures = published(experiment.name)["figures"]
        unknown = sorted(set(datasets or ()) - {experiment.name})
        if unknown:
            raise ValueError(f"The table has no data set {unknown[0]!r}: only {experiment.name!r}.")
        try:
            X, y = experiment.read()
        except FileNotFoundError as error:
            for method, row in figures.items():
                for count, figure in row.items():
                    yield _row(experiment, method, int(count), None, figure, str(error))
            return
        splits = experiment.splits(n_splits or (QUICK_SPLITS if quick else N_SPLITS))
        for method in METHODS:
            row = figures[method.partition(",")[0]]
            counts = list(row)[:1] if quick else list(row)
            for count in counts:
                jobs = (
                    delayed(_split)(experiment, method, int(count), X, y, split) for split in splits
                )
                results = list(Parallel(n_jobs=n_jobs)(jobs))
                figure = row[count] if method in figures else None
                yield _row(experiment, method, int(count), results, figure, "")

    return stream


def _split(
    experiment: Experiment, method: str, count: int, X: np.ndarray, y: np.ndarray, split: Split
) -> dict[str, float]:
    """Errors of all regressors with the features of one split."""
    train, test = split
    steps = [StandardScaler()]
    if experiment.sphered and method not in ("Original", "PCA"):
        steps = [PCA(len(train) - 1, whiten=True)]
    model = make_pipeline(*steps, METHODS[method](count))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the published rule stops early
        rows = np.asarray(model.fit_transform(X[train], y[train]))
    return errors(rows, y[train], np.asarray(model.transform(X[test])), y[test])


def _row(
    experiment: Experiment,
    method: str,
    count: int,
    results: list[dict[str, float]] | None,
    figure: dict[str, Any] | None,
    note: str,
) -> Row:
    scores = best = regressor = None
    if results is not None:
        scores = [float(np.mean(list(split.values()))) for split in results]
        means = {name: float(np.mean([split[name] for split in results])) for name in results[0]}
        regressor = min(means, key=lambda name: means[name])
        best = means[regressor]
    return compared(
        experiment.name,
        method,
        scores,
        None if figure is None else figure["mean"],
        n_features=count,
        best=best,
        regressor=regressor,
        published_best=None if figure is None else figure["best"],
        published_regressor=None if figure is None else figure["regressor"],
        n_splits=None if scores is None else len(scores),
        note=note,
    )


for _experiment in EXPERIMENTS:
    register(
        Table(
            _experiment.name,
            _experiment.title,
            published(_experiment.name)["source"],
            stream_of(_experiment),
            (
                *COLUMNS,
                "n_features",
                "best",
                "regressor",
                "published_best",
                "published_regressor",
                "n_splits",
                "note",
            ),
            n_splits=N_SPLITS if _experiment.repeated else None,
        )
    )
