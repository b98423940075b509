"""Extractors: one published method per file."""

from depmax.extraction.base import DependenceExtractor
from depmax.extraction.hbfe import HBFE
from depmax.extraction.hsca import HSCA
from depmax.extraction.kernel_lda import KernelLDA
from depmax.extraction.linear_regression_feature import LinearRegressionFeature
from depmax.extraction.phd import PHD
from depmax.extraction.sir import SIR

__all__ = [
    "HBFE",
    "HSCA",
    "PHD",
    "SIR",
    "DependenceExtractor",
    "KernelLDA",
    "LinearRegressionFeature",
]
