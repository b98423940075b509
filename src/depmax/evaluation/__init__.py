"""Protocols that judge methods: comparisons on held-out rows, and how stable a selection is."""

from depmax.evaluation.comparison import Comparison, compare
from depmax.evaluation.comparison.methods import Method, by_ranking, leading
from depmax.evaluation.comparison.preparing import NumericTarget, PrepareColumns
from depmax.evaluation.comparison.problem import Problem
from depmax.evaluation.comparison.progress import Progress
from depmax.evaluation.comparison.significance import CorrectedMean, corrected_mean, holm
from depmax.evaluation.stability import Stability, stability, stability_of

__all__ = [
    "Comparison",
    "CorrectedMean",
    "Method",
    "NumericTarget",
    "PrepareColumns",
    "Problem",
    "Progress",
    "Stability",
    "by_ranking",
    "compare",
    "corrected_mean",
    "holm",
    "leading",
    "stability",
    "stability_of",
]
