"""Kernels for vectors, labels, strings and mixed tables, and their sums and products."""

from depmax.kernels.adapters import FromFunction, FromMap, FromScikitLearn, Precomputed
from depmax.kernels.censored import Censored
from depmax.kernels.composite import Columns, Product, Scaled, Sum, WeightedSum
from depmax.kernels.distances import (
    BandwidthKernel,
    Distance,
    Gaussian,
    InverseDistance,
    InverseMultiquadric,
    Laplace,
)
from depmax.kernels.inner_products import Linear, Polynomial, RandomEvent, Subset
from depmax.kernels.kernel import Capabilities, Kernel, KernelLike, as_kernel
from depmax.kernels.labels import ClassBalanced, Delta
from depmax.kernels.mixed import Mixed
from depmax.kernels.neutral import Neutral
from depmax.kernels.ridge import RidgeKernel
from depmax.kernels.strings import Spectrum, Subsequence

__all__ = [
    "BandwidthKernel",
    "Capabilities",
    "Censored",
    "ClassBalanced",
    "Columns",
    "Delta",
    "Distance",
    "FromFunction",
    "FromMap",
    "FromScikitLearn",
    "Gaussian",
    "InverseDistance",
    "InverseMultiquadric",
    "Kernel",
    "KernelLike",
    "Laplace",
    "Linear",
    "Mixed",
    "Neutral",
    "Polynomial",
    "Precomputed",
    "Product",
    "RandomEvent",
    "RidgeKernel",
    "Scaled",
    "Spectrum",
    "Subsequence",
    "Subset",
    "Sum",
    "WeightedSum",
    "as_kernel",
]
