"""Table 5.5 of the thesis: Gaussian kernel with basis selection, then nearest neighbours."""

from __future__ import annotations

import numpy as np

from reproduction.dimension_choice import Inputs
from reproduction.thesis_accuracy import Stage
from reproduction.thesis_methods import FULL, KERNEL
from reproduction.thesis_spaces import GaussianSpace
from reproduction.thesis_table import SplitTable


def stages(X: np.ndarray) -> list[Stage]:
    """All columns, then features of the kernel."""
    return [Stage(Inputs(X), (FULL,), 1), Stage(GaussianSpace(X), KERNEL, X.shape[1])]


TABLE = SplitTable(
    "thesis_gaussian",
    "Thesis, Table 5.5: accuracy of k-NN on features of the Gaussian kernel",
    ("heart",),
    stages,
)
TABLE.register()
