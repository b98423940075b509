"""Table 5.6 of the thesis: 30 % of the training rows labelled, with and without a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from depmax.algebra.graphs import GaussianGraph
from depmax.extraction import KernelLDA
from reproduction.dimension_choice import Inputs, Method
from reproduction.registry import Row
from reproduction.signed_rank import signed_rank_pvalue
from reproduction.thesis_accuracy import (
    NEIGHBORS,
    Outcomes,
    Stage,
    accuracies_of,
    accuracy_row,
)
from reproduction.thesis_methods import (
    FULL,
    LDA_SHRINKAGE,
    Transform,
    hbfe,
    hsca,
)
from reproduction.thesis_spaces import SCALES, median_distance
from reproduction.thesis_table import SplitTable
from reproduction.thesis_variants import LARGEST, largest_eigenvalue_hsca, renamed

BETAS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
COLUMNS = (
    "dataset",
    "neighbors",
    "method",
    "published",
    "ours",
    "standard_error",
    "difference",
    "change",
    "significant",
    "published_change",
    "n_splits",
    "note",
)


def supervised(rows: np.ndarray, y: np.ndarray, count: int, fit: Any, **more: Any) -> Transform:
    """Without the unlabelled rows."""
    known = ~np.isnan(y)
    return fit(rows[known], y[known], count, **more)


def with_graph(
    rows: np.ndarray,
    y: np.ndarray,
    count: int,
    fit: Any,
    beta: float = 0.0,
    scale: float = 1.0,
    **more: Any,
) -> Transform:
    """With the Laplacian of a Gaussian graph of all rows, σ a multiple of the median distance."""
    if beta == 0:
        return supervised(rows, y, count, fit, **more)
    graph = GaussianGraph(bandwidth=scale * median_distance(rows))
    return fit(rows, y, count, beta=beta, graph=graph, **more)


def discriminant(rows: np.ndarray, y: np.ndarray, count: int, **more: Any) -> Transform:
    """The discriminant direction; with a graph, that of semi-supervised discriminant analysis."""
    return KernelLDA(count, alpha=LDA_SHRINKAGE, **more).fit(rows, y).transform


#: β = 0 first: of equally good settings the first is chosen.
SETTINGS = ({}, *({"beta": beta, "scale": scale} for beta in BETAS for scale in SCALES))
EXTRACTORS = {
    "HBFE1": partial(hbfe, unbiased=True),
    "HBFE0": partial(hbfe, unbiased=False),
    "HSCA1": partial(hsca, unbiased=True),
    "HSCA0": partial(hsca, unbiased=False),
}
GRAPH = ", graph"
METHODS = (
    FULL,
    *(Method(name, partial(supervised, fit=fit)) for name, fit in EXTRACTORS.items()),
    *(
        Method(name + GRAPH, partial(with_graph, fit=fit), SETTINGS)
        for name, fit in EXTRACTORS.items()
    ),
    Method("LDA", partial(supervised, fit=discriminant), most=1),
    Method("LDA" + GRAPH, partial(with_graph, fit=discriminant), SETTINGS, most=1),
)
#: The eigenvector of the largest real eigenvalue, without a graph.
LARGEST_METHOD = Method(LARGEST, partial(supervised, fit=largest_eigenvalue_hsca))
#: "30 percent of training instances" drawn whatever their class.
RANDOM = ", labels drawn from all rows"
RANDOM_METHODS = renamed(tuple(m for m in METHODS if GRAPH not in m.name), RANDOM)


def rows_of(
    dataset: str,
    results: Outcomes,
    figures: Mapping[str, Mapping[str, float]],
    changes: Mapping[str, Mapping[str, float]],
    note: str,
) -> Iterator[Row]:
    """Accuracies without and with the graph; the change, in points, is in the row of the latter."""
    for k in NEIGHBORS:
        known, known_changes = figures.get(str(k), {}), changes.get(str(k), {})
        scores = accuracies_of(results, k)
        for name, accuracies in scores.items():
            plain = name.replace(GRAPH, "")
            more: dict[str, Any] = {}
            if plain != name and plain in scores:
                common = min(len(accuracies), len(scores[plain]))
                pair = accuracies[:common], scores[plain][:common]
                pvalue = signed_rank_pvalue(*pair)
                more["change"] = float(100 * (pair[0] - pair[1]).mean())
                more["significant"] = "yes" if pvalue < 0.05 else ""
                more["published_change"] = known_changes.get(plain)
            counts = [outcome.n_features for outcome in results[name, k]]
            figure = known.get(name.removesuffix(RANDOM))
            yield accuracy_row(
                dataset, k, name, accuracies, figure, numbers_of_features=counts, note=note, **more
            )


def stages(X: np.ndarray) -> list[Stage]:
    """Features without and with the graph, then other readings of the text."""
    space, most = Inputs(X), X.shape[1]
    return [
        Stage(space, METHODS, most),
        Stage(space, (LARGEST_METHOD,), most, variant=True),
        Stage(space, RANDOM_METHODS, most, labelled_by_class=False, variant=True),
    ]


TABLE = SplitTable(
    "thesis_semisupervised",
    "Thesis, Table 5.6: accuracy of k-NN with 30 % of the labels, without and with a graph",
    ("heart",),
    stages,
    labelled=0.3,
    rows=rows_of,
    beside="changes",
    columns=COLUMNS,
)
TABLE.register()
