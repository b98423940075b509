"""Real data sets that come with depmax, and artificial problems.

>>> from depmax.datasets import load
>>> load("sonar")
Dataset(sonar: 208 rows, 60 features, 2 classes)
"""

from depmax.datasets.artificial import (
    Problem,
    make_collinear_classes,
    make_linear_direction,
    make_mixed,
    make_nonlinear_regression,
    make_product,
    make_rings,
    make_sine_direction,
    make_xor,
)
from depmax.datasets.stored import Dataset, available, load

__all__ = [
    "Dataset",
    "Problem",
    "available",
    "load",
    "make_collinear_classes",
    "make_linear_direction",
    "make_mixed",
    "make_nonlinear_regression",
    "make_product",
    "make_rings",
    "make_sine_direction",
    "make_xor",
]
