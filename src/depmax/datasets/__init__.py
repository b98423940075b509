"""Real data sets, bundled or fetched, and artificial problems.

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
from depmax.datasets.openml import FetchError, fetch, fetchable
from depmax.datasets.stored import Dataset, available, data_folder, load, load_external

__all__ = [
    "Dataset",
    "FetchError",
    "Problem",
    "available",
    "data_folder",
    "fetch",
    "fetchable",
    "load",
    "load_external",
    "make_collinear_classes",
    "make_linear_direction",
    "make_mixed",
    "make_nonlinear_regression",
    "make_product",
    "make_rings",
    "make_sine_direction",
    "make_xor",
]
