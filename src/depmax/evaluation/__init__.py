"""Protocols that judge methods: how stable a selection is."""

from depmax.evaluation.stability import Stability, stability, stability_of

__all__ = ["Stability", "stability", "stability_of"]
