"""Measures of dependence, and tests of their significance."""

from depmax.dependence.alignment import alignment
from depmax.dependence.coco import coco
from depmax.dependence.correntropy import correntropy
from depmax.dependence.distance_correlation import distance_correlation
from depmax.dependence.exchange import Exchange, Shifts, WholeGroups, WithinGroups
from depmax.dependence.gaussian_information import gaussian_mutual_information, total_correlation
from depmax.dependence.hsic import hsic
from depmax.dependence.hsic_test import hsic_test
from depmax.dependence.independence_test import AggregateTest, IndependenceTest, Screening
from depmax.dependence.intrinsic_dimension import intrinsic_dimension
from depmax.dependence.mmd import mmd
from depmax.dependence.quadratic_mutual_information import quadratic_mutual_information
from depmax.dependence.resolve import resolve
from depmax.dependence.samples_needed import SamplesNeeded, samples_needed
from depmax.dependence.screen import screen
from depmax.dependence.screen_pairs import PairScreening, screen_pairs
from depmax.dependence.structure import Dependence
from depmax.dependence.variance import Interval, hsic_interval, hsic_variance

__all__ = [
    "AggregateTest",
    "Dependence",
    "Exchange",
    "IndependenceTest",
    "Interval",
    "PairScreening",
    "SamplesNeeded",
    "Screening",
    "Shifts",
    "WholeGroups",
    "WithinGroups",
    "alignment",
    "coco",
    "correntropy",
    "distance_correlation",
    "gaussian_mutual_information",
    "hsic",
    "hsic_interval",
    "hsic_test",
    "hsic_variance",
    "intrinsic_dimension",
    "mmd",
    "quadratic_mutual_information",
    "resolve",
    "samples_needed",
    "screen",
    "screen_pairs",
    "total_correlation",
]
