"""Supervised independent components: sphering, source densities, likelihood, solvers."""

from depmax.extraction._unmixing.likelihood import (
    Likelihood,
    Solution,
    Unmixing,
    best_of,
    one_more,
    starts,
    the_most_moved,
)
from depmax.extraction._unmixing.solvers import NaturalGradient, QuasiNewton, as_solver
from depmax.extraction._unmixing.sphering import (
    HeldRows,
    Residuals,
    Sphering,
    StreamedRows,
    WhiteRows,
    sphere,
    warn_if_long,
)

__all__ = [
    "HeldRows",
    "Likelihood",
    "NaturalGradient",
    "QuasiNewton",
    "Residuals",
    "Solution",
    "Sphering",
    "StreamedRows",
    "Unmixing",
    "WhiteRows",
    "as_solver",
    "best_of",
    "one_more",
    "sphere",
    "starts",
    "the_most_moved",
    "warn_if_long",
]
