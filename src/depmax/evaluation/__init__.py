"""Protocols that judge methods: stability of selections, measures of multi-label predictions."""

from depmax.evaluation.ml_knn import MLkNN
from depmax.evaluation.multilabel import average_precision, coverage, one_error, ranking_loss
from depmax.evaluation.stability import Stability, stability, stability_of

__all__ = [
    "MLkNN",
    "Stability",
    "average_precision",
    "coverage",
    "one_error",
    "ranking_loss",
    "stability",
    "stability_of",
]
