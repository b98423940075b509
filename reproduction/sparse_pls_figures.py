"""Figures 2 and 3 of the sparse PLS paper: what sparse directions and few candidates cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from depmax.extraction import SMA, SMC
from reproduction.figures import compared
from reproduction.registry import Row, Table, register, whole
from reproduction.sparse_pls_protocol import normalised

DATASET = "synthetic"
N_COLUMNS, N_RELEVANT = 1000, 50
#: Half the width of the uniform noise over the deviation of the labels: "small" in the text.
NOISE = 0.05
EXTRACTORS = {"SMC": SMC, "SMA": SMA}


@dataclass(frozen=True)
class Figure:
    """A figure: rows of the synthetic set, and the settings that are compared."""

    name: str
    title: str
    n_rows: int
    settings: Mapping[str, Mapping[str, Any]]  # of the extractors, by what the legend says
    n_features: int
    shown: tuple[int, ...]  # numbers of features with a row
    per_value: bool  # whether the quantity is divided by the number of kernel values of a new row
    draws: int


FIGURES = (
    Figure(
        "sparse_pls_figure2",
        "Sparse PLS paper, Figure 2: covariance (SMC) and alignment (SMA) per kernel value",
        100,
        {f"p = {p}": {"sparsity": p, "n_candidates": None} for p in (1, 2, 3)},
        n_features=30,
        shown=(1, 5, 10, 15, 30),
        per_value=True,
        draws=3,
    ),
    Figure(
        "sparse_pls_figure3",
        "Sparse PLS paper, Figure 3: covariance (SMC) and alignment (SMA) by candidate columns",
        2000,
        {f"{c} columns": {"n_candidates": c} for c in (10, 100, 500, 2000)},
        n_features=100,
        shown=(1, 5, 10, 25, 50, 100),
        per_value=False,
        draws=1,  # as in the paper
    ),
)


def draw(number: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns of unit norm, and labels: a combination of 50 of them with a little noise."""
    random = np.random.default_rng(number)
    X = normalised(random.normal(size=(n_rows, N_COLUMNS)))
    relevant = random.choice(N_COLUMNS, N_RELEVANT, replace=False)
    y = X[:, relevant] @ random.normal(size=N_RELEVANT)
    y = y + NOISE * y.std() * random.uniform(-1.0, 1.0, n_rows)
    return X, normalised(y[:, np.newaxis])[:, 0]


def cumulative(X: np.ndarray, y: np.ndarray, method: str, count: int, **setting: Any) -> np.ndarray:
    """Of the first k features: the squared covariances with y (SMC), or the alignments (SMA).

    (1/ℓ²) Σ_j (y'τ_j)² with directions of unit length, equation (11), and
    Σ_j (y'τ_j)²/(y'y τ_j'τ_j), equation (12).
    """
    model = EXTRACTORS[method](count, kernel="linear", random_state=0, **setting)
    features = np.asarray(model.fit_transform(X, y))
    values = np.square(y @ features)
    if method == "SMC":
        return np.cumsum(values) / len(y) ** 2
    return np.cumsum(values / (np.square(features).sum(axis=0) * (y @ y)))


def stream(
    figure: Figure, quick: bool, n_jobs: int | None, datasets: Sequence[str] | None
) -> Iterator[Row]:
    """One row per method, setting and number of features."""
    unknown = sorted(set(datasets or ()) - {DATASET})
    if unknown:
        raise ValueError(f"The figure has no data set {unknown[0]!r}: only {DATASET!r}.")
    yield from whole(_rows(figure, 1 if quick else figure.draws))


def _rows(figure: Figure, draws: int) -> Iterator[Row]:
    samples = [draw(number, figure.n_rows) for number in range(draws)]
    for method in EXTRACTORS:
        for legend, setting in figure.settings.items():
            curves = [cumulative(X, y, method, figure.n_features, **setting) for X, y in samples]
            for count in figure.shown:
                evaluations = count * int(setting.get("sparsity", 1))
                scale = evaluations if figure.per_value else 1
                yield compared(
                    DATASET,
                    f"{method}, {legend}",
                    [curve[count - 1] / scale for curve in curves],
                    n_features=count,
                    evaluations=evaluations,
                    n_draws=draws,
                )


for _figure in FIGURES:
    register(
        Table(
            _figure.name,
            _figure.title,
            "Dhanjal, Gunn, Shawe-Taylor (2009), IEEE Transactions on Pattern Analysis and Machine "
            "Intelligence 31(8) (curves without numbers)",
            partial(stream, _figure),
            (
                *("dataset", "method", "n_features", "evaluations"),
                *("ours", "standard_error", "n_draws"),
            ),
        )
    )
