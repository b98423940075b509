"""Comparing methods: trials on splits, their tables, and the best model."""

from depmax.evaluation.comparison.compare import compare
from depmax.evaluation.comparison.comparison import Comparison

__all__ = ["Comparison", "compare"]
