"""Evaluation of methods: comparisons, stability, measures of multi-label predictions."""

from depmax.evaluation.comparison import Comparison, compare
from depmax.evaluation.comparison.cautions import CAUTIONS, Caution
from depmax.evaluation.comparison.methods import Method, ScreenFirst, Sized, by_ranking, leading
from depmax.evaluation.comparison.planted import (
    PlantedRecovery,
    Recovered,
    planted_recovery,
)
from depmax.evaluation.comparison.preparing import NumericTarget
from depmax.evaluation.comparison.problem import Problem, Progress
from depmax.evaluation.comparison.verdict import Verdict
from depmax.evaluation.expand import Expand
from depmax.evaluation.hsic_bound import hsic_bound
from depmax.evaluation.multilabel import MLkNN, average_precision, coverage, one_error, ranking_loss
from depmax.evaluation.prepare import Prepare
from depmax.evaluation.profiling import Profile, profile
from depmax.evaluation.stability import Stability, stability, stability_of

__all__ = [
    "CAUTIONS",
    "Caution",
    "Comparison",
    "Expand",
    "MLkNN",
    "Method",
    "NumericTarget",
    "PlantedRecovery",
    "Prepare",
    "Problem",
    "Profile",
    "Progress",
    "Recovered",
    "ScreenFirst",
    "Sized",
    "Stability",
    "Verdict",
    "average_precision",
    "by_ranking",
    "compare",
    "coverage",
    "hsic_bound",
    "leading",
    "one_error",
    "planted_recovery",
    "profile",
    "ranking_loss",
    "stability",
    "stability_of",
]
