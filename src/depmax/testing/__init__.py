"""The contracts of depmax's parts, for the parts of others."""

from depmax.testing.kernels import check_kernel
from depmax.testing.maps import check_map
from depmax.testing.measures import check_measure

__all__ = ["check_kernel", "check_map", "check_measure"]
