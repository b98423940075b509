"""Figure 1 of the BAHSIC paper: the function of X with the largest covariance with the labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from depmax.kernels import Gaussian
from reproduction.figures import compared
from reproduction.registry import Row, Table, register, whole

NAME = "bahsic_figure1"
DATASET = "one mode between two"
#: σ that the paper calls good, and a tenth and ten times of it for its other two curves.
WIDTHS = (0.01, 0.1, 1.0)
#: Rows of a draw; the paper gives neither their number nor the spread of the modes.
N_ROWS = 200
SPREAD = 0.2
DRAWS, QUICK_DRAWS = 10, 2


def draw(number: int) -> tuple[np.ndarray, np.ndarray]:
    """A relevant and an irrelevant column, and labels: +1 around -1 and 1, -1 around 0."""
    random = np.random.default_rng(number)
    y = np.where(np.arange(N_ROWS) % 2 == 0, 1.0, -1.0)
    centres = np.where(y > 0, random.choice([-1.0, 1.0], N_ROWS), 0.0)
    relevant = centres + SPREAD * random.normal(size=N_ROWS)
    return np.column_stack([relevant, random.normal(size=N_ROWS)]), y


def eigenfunction(
    x: np.ndarray, y: np.ndarray, width: float
) -> tuple[Callable[[np.ndarray], np.ndarray], float]:
    """The function f of unit norm with the largest covariance with the labels, and that covariance.

    With a linear kernel of the labels the covariance operator has one singular function,
    f = Σ_i (y_i - ȳ) k(x_i, ·) over its norm. A constant makes it of mean zero on the rows.
    """
    kernel, rows = Gaussian(width), x[:, np.newaxis]
    weights = y - y.mean()
    values = kernel(rows) @ weights
    norm = math.sqrt(weights @ values)

    def function(new: np.ndarray) -> np.ndarray:
        mapped: np.ndarray = (kernel(new[:, np.newaxis], rows) @ weights - values.mean()) / norm
        return mapped

    return function, norm / len(y)


def stream(quick: bool, n_jobs: int | None, datasets: Sequence[str] | None) -> Iterator[Row]:
    """One row per width: how well mapped rows go with the labels, on the same and on new rows."""
    unknown = sorted(set(datasets or ()) - {DATASET})
    if unknown:
        raise ValueError(f"The figure has no data set {unknown[0]!r}: only {DATASET!r}.")
    yield from whole(_row(width, QUICK_DRAWS if quick else DRAWS) for width in WIDTHS)


def _row(width: float, n_draws: int) -> Row:
    found = []
    for number in range(n_draws):
        X, y = draw(number)
        others, truth = draw(1000 + number)
        function, covariance = eigenfunction(X[:, 0], y, width)
        found.append(
            [
                _correlation(function(X[:, 0]), y),
                _correlation(function(others[:, 0]), truth),
                covariance,
            ]
        )
    own, new, covariances = np.transpose(found)
    return compared(
        DATASET,
        f"σ = {width:g}",
        new,
        same_rows=own.mean(),
        coco=covariances.mean(),
        n_draws=n_draws,
    )


def _correlation(mapped: np.ndarray, y: np.ndarray) -> float:
    return float(np.corrcoef(mapped, y)[0, 1])


register(
    Table(
        NAME,
        "BAHSIC paper, Figure 1: correlation of labels and mapped feature, by kernel width",
        "Song, Smola, Gretton, Bedo, Borgwardt (2012), JMLR 13, Figure 1 (curves without numbers)",
        stream,
        ("dataset", "method", "coco", "same_rows", "ours", "standard_error", "n_draws"),
    )
)
