"""Extractors: one published method per file."""

from depmax.extraction.base import DependenceExtractor
from depmax.extraction.hbfe import HBFE
from depmax.extraction.hsca import HSCA

__all__ = ["HBFE", "HSCA", "DependenceExtractor"]
