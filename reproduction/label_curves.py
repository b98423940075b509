"""How good the first d features are for ML-kNN, for many d and by several measures at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from depmax.evaluation.multilabel import (
    LabelCounts,
    average_precision,
    coverage,
    one_error,
    ranking_loss,
    votes,
)
from reproduction.dimension_choice import Method
from reproduction.half_splits import HalfSplit
from reproduction.nested_neighbors import nested_neighbors


def _hamming_loss(Y: np.ndarray, probabilities: np.ndarray) -> float:
    """Share of the labels that are not as predicted, a probability above 1/2 being a yes."""
    return float(np.mean((probabilities > 0.5) != Y))


#: Measures of (labels, probabilities), and whether larger is better.
MEASURES: dict[str, tuple[Callable[[np.ndarray, np.ndarray], float], bool]] = {
    "average precision": (average_precision, True),
    "coverage": (coverage, False),
    "Hamming loss": (_hamming_loss, False),
    "one error": (one_error, False),
    "ranking loss": (ranking_loss, False),
}


def label_curves(
    X: np.ndarray,
    Y: np.ndarray,
    split: HalfSplit,
    methods: Sequence[Method],
    dimensions: Sequence[int],
    *,
    n_neighbors: int = 10,
) -> dict[str, np.ndarray]:
    """Every measure on the test half, for every method and number of features.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_columns)
    Y : ndarray of shape (n_samples, n_labels)
        Zeros and ones.
    split : HalfSplit
    methods : sequence of Method
        Fitted with the largest number of features and cut. One that is not nested gives the same
        features whatever their number, such as the columns themselves: its curve is flat.
    dimensions : sequence of int
        Numbers of features, growing.
    n_neighbors : int, default=10

    Returns
    -------
    dict of method to ndarray of shape (n_dimensions, n_measures)
    """
    labels, truth = Y[split.train], Y[split.test]
    curves = {}
    for method in methods:
        transform = method.fit(X[split.train], labels.astype(float), max(dimensions))
        own, queries = transform(X[split.train]), transform(X[split.test])
        counts: Sequence[int] = dimensions if method.nested else [own.shape[1]]
        among = nested_neighbors(own, None, n_neighbors, counts)
        near = nested_neighbors(own, queries, n_neighbors, counts)
        values = []
        for inside, outside in zip(among, near, strict=True):
            learnt = LabelCounts.learn(labels, inside, smoothing=1.0)
            probabilities = learnt.posterior(votes(labels, outside))
            values.append([measure(truth, probabilities) for measure, _ in MEASURES.values()])
        curves[method.name] = np.repeat(values, len(dimensions) // len(values), axis=0)
    return curves
