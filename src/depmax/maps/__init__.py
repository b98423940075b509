"""Feature maps: transformers whose output has a kernel as its inner product, at least nearly."""

from depmax.maps.basis_selection import BasisSelection
from depmax.maps.feature_map import FeatureMap
from depmax.maps.incomplete_cholesky import IncompleteCholesky
from depmax.maps.random_fourier import RandomFourier
from depmax.maps.span import KernelMap, NystroemMap
from depmax.maps.subtree_counts import SubtreeCounts

__all__ = [
    "BasisSelection",
    "FeatureMap",
    "IncompleteCholesky",
    "KernelMap",
    "NystroemMap",
    "RandomFourier",
    "SubtreeCounts",
]
