"""Tables 1 to 4 of the ICA-FX paper: features, then five regressors, root mean square errors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from depmax.datasets import Problem, make_linear_direction, make_sine_direction
from depmax.extraction import ICAFX, PHD, SIR, LinearRegressionFeature
from reproduction.external import load_external
from reproduction.figures import compared, published
from reproduction.ica_regressors import REGRESSORS, errors
from reproduction.kept_splits import KeptSplits, Key
from reproduction.registry import COLUMNS, Row, Table, register

METHODS: dict[str, Callable[[int], Any]] = {
    "Original": lambda count: FunctionTransformer(),
    "PCA": PCA,
    "MLR": LinearRegressionFeature,
    "SIR": SIR,
    "PHD": PHD,
    "ICA-FX": ICAFX,
    "ICA-FX, published rule": lambda count: ICAFX(count, solver="natural-gradient"),
    "ICA-FX, random start": lambda count: ICAFX(
        count, solver="natural-gradient", init="random", random_state=0
    ),
}
#: Splits of one draw, and draws: the paper has one, and single draws differ more than methods.
PER_DRAW, DRAWS, QUICK_SPLITS = 10, 5, 2
Split = tuple[np.ndarray, np.ndarray]
Data = tuple[np.ndarray, np.ndarray]
#: Of the file with the errors of every split.
PAIRED = ("dataset", "n_features", "method", *REGRESSORS)


@dataclass(frozen=True)
class Experiment:
    """One table: its data and how they are split."""

    name: str
    title: str
    read: Callable[[int], Data]  # from the number of the draw
    splits: Callable[[int], list[Split]]  # of a draw
    sphered: bool = False  # whether all methods but PCA get the sphered inputs
    n_splits: int = DRAWS * PER_DRAW

    def split(self, number: int) -> tuple[Data, Split]:
        """The data of a draw and one of its splits, counted over all draws."""
        draw, place = divmod(number, PER_DRAW)
        return self.read(draw), self.splits(draw)[place]


def external(name: str) -> Callable[[int], Data]:
    """Reader of a data set of the folder that DEPMAX_DATA names, the same for all draws."""

    def read(draw: int) -> Data:
        data = load_external(name)
        return np.asarray(data.X, dtype=np.float64), np.asarray(data.y, dtype=np.float64)

    return read


def artificial(make: Callable[..., Problem]) -> Callable[[int], Data]:
    """Reader of an artificial problem of 1,000 rows, the draw being its seed."""

    def read(draw: int) -> Data:
        problem = make(1000, random_state=draw)
        return problem.X, problem.y

    return read


def folds(n_rows: int) -> Callable[[int], list[Split]]:
    """Ten folds."""
    rows = np.arange(n_rows)
    return lambda draw: [*KFold(PER_DRAW, shuffle=True, random_state=draw).split(rows)]


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
        lambda draw: [
            *ShuffleSplit(PER_DRAW, test_size=0.1, random_state=draw).split(np.arange(506))
        ],
    ),
    Experiment(
        "ica_orange_juice",
        "ICA-FX paper, Table 4: orange juice, its own split",
        external("orange_juice_nir"),
        lambda draw: [(np.arange(150), np.arange(150, 218))],
        sphered=True,
        n_splits=1,
    ),
)


def stream_of(experiment: Experiment) -> Any:
    """The stream of one table."""

    def stream(
        quick: bool,
        n_jobs: int | None,
        datasets: Sequence[str] | None,
        n_splits: int | None = None,
        *,
        kept: KeptSplits,
    ) -> Iterator[Row]:
        figures = published(experiment.name)["figures"]
        unknown = sorted(set(datasets or ()) - {experiment.name})
        if unknown:
            raise ValueError(f"The table has no data set {unknown[0]!r}: only {experiment.name!r}.")
        try:
            experiment.read(0)
        except FileNotFoundError as error:
            for method, row in figures.items():
                for count, figure in row.items():
                    yield _row(experiment, method, int(count), None, figure, str(error))
            return
        most = experiment.n_splits
        wanted = n_splits or (min(QUICK_SPLITS, most) if quick else most)
        for method in METHODS:
            row = figures[method.partition(",")[0]]
            counts = list(row)[:1] if quick else list(row)
            for count in counts:
                key = (experiment.name, int(count), method)
                kept.complete([key], wanted, partial(_split, experiment), n_jobs)
                if kept.count(key):
                    values = kept.values(key, wanted)
                    figure = row[count] if method in figures else None
                    yield _row(experiment, method, int(count), values, figure, "")

    return stream


def _split(
    experiment: Experiment, number: int, keys: Sequence[Key]
) -> dict[Key, tuple[float, ...]]:
    """Errors of all regressors with the features of one split."""
    [(_, count, method)] = keys
    (X, y), (train, test) = experiment.split(number)
    steps = [StandardScaler()]
    if experiment.sphered and method not in ("Original", "PCA"):
        steps = [PCA(len(train) - 1, whiten=True)]
    model = make_pipeline(*steps, METHODS[method](count))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the published rule stops early
        rows = np.asarray(model.fit_transform(X[train], y[train]))
    found = errors(rows, y[train], np.asarray(model.transform(X[test])), y[test])
    return {keys[0]: tuple(found[name] for name in REGRESSORS)}


def _row(
    experiment: Experiment,
    method: str,
    count: int,
    results: list[list[float]] | None,  # a list of errors per regressor
    figure: dict[str, Any] | None,
    note: str,
) -> Row:
    scores = best = regressor = None
    if results is not None:
        scores = [float(score) for score in np.mean(results, axis=0)]
        means = {name: float(np.mean(e)) for name, e in zip(REGRESSORS, results, strict=True)}
        regressor = min(means, key=lambda name: means[name])
        best = means[regressor]
    spread = _between_draws(scores or [])
    row = compared(
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
        draw_error=spread,
        note=note,
    )
    if spread is not None and scores is not None:
        # folds of one draw share their rows: what is independent are the draws
        row["standard_error"] = spread / math.sqrt(len(scores) // PER_DRAW)
    return row


def _between_draws(scores: Sequence[float]) -> float | None:
    """Deviation of the mean of a whole draw, over draws; None: there are fewer than three."""
    n_draws = len(scores) // PER_DRAW
    if n_draws < 3:
        return None
    means = np.reshape(scores[: n_draws * PER_DRAW], (n_draws, PER_DRAW)).mean(axis=1)
    return float(np.std(means, ddof=1))


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
                "draw_error",
                "note",
            ),
            PAIRED,
            n_splits=_experiment.n_splits if _experiment.n_splits > 1 else None,
            continued=True,
        )
    )
