"""The contracts of depmax's parts, for the parts of others."""

from depmax.testing.estimators import check_extractor, check_selector
from depmax.testing.parts import check_kernel, check_map, check_measure

__all__ = ["check_extractor", "check_kernel", "check_map", "check_measure", "check_selector"]
