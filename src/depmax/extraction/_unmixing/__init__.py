"""Supervised independent components: sphering, source densities, likelihood, solvers."""

from depmax.extraction._unmixing.likelihood import (
    Likelihood,
    Solution,
    one_more,
    starts,
    the_most_moved,
)
from depmax.extraction._unmixing.solvers import NaturalGradient, QuasiNewton
from depmax.extraction._unmixing.sphering import Sphering, sphere

__all__ = [
    "Likelihood",
    "NaturalGradient",
    "QuasiNewton",
    "Solution",
    "Sphering",
    "one_more",
    "sphere",
    "starts",
    "the_most_moved",
]
