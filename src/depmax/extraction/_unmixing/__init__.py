"""Supervised independent components: sphering, source densities, likelihood, solvers."""

from depmax.extraction._unmixing.likelihood import Likelihood
from depmax.extraction._unmixing.natural_gradient import NaturalGradient
from depmax.extraction._unmixing.quasi_newton import QuasiNewton
from depmax.extraction._unmixing.solution import Solution
from depmax.extraction._unmixing.sphering import Sphering, sphere
from depmax.extraction._unmixing.start import starts

__all__ = [
    "Likelihood",
    "NaturalGradient",
    "QuasiNewton",
    "Solution",
    "Sphering",
    "sphere",
    "starts",
]
