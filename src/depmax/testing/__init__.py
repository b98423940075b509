"""The contracts of depmax's parts, for the parts of others."""

from depmax.testing.extractors import check_extractor
from depmax.testing.kernels import check_kernel
from depmax.testing.maps import check_map
from depmax.testing.measures import check_measure
from depmax.testing.selectors import check_selector

__all__ = ["check_extractor", "check_kernel", "check_map", "check_measure", "check_selector"]
