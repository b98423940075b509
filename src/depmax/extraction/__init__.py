"""Extractors: one published method per file."""

from depmax.extraction._unmixing import NaturalGradient, QuasiNewton
from depmax.extraction.base import DependenceExtractor
from depmax.extraction.hbfe import HBFE
from depmax.extraction.hsca import HSCA
from depmax.extraction.icafx import ICAFX

__all__ = ["HBFE", "HSCA", "ICAFX", "DependenceExtractor", "NaturalGradient", "QuasiNewton"]
