"""Real data sets: a few that come with the package, and any in a folder of yours.

>>> from depmax.datasets import load
>>> load("sonar")
Dataset(sonar: 208 rows, 60 features, 2 classes)
"""

from depmax.datasets.bundled import available, load
from depmax.datasets.dataset import Dataset
from depmax.datasets.external import data_folder, load_external

__all__ = ["Dataset", "available", "data_folder", "load", "load_external"]
