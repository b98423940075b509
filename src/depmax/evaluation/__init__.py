"""Protocols that judge methods: how stable a selection is, what features keep on new data."""

from depmax.evaluation.covariance_bound import CovarianceBound, covariance_bound
from depmax.evaluation.stability import Stability, stability, stability_of

__all__ = ["CovarianceBound", "Stability", "covariance_bound", "stability", "stability_of"]
