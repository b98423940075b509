"""Table 5.3 of the thesis: linear features, then nearest neighbours, on sets with two classes."""

from __future__ import annotations

import numpy as np

from reproduction.dimension_choice import Inputs
from reproduction.thesis_accuracy import Stage
from reproduction.thesis_methods import LINEAR
from reproduction.thesis_table import SplitTable


def stages(X: np.ndarray) -> list[Stage]:
    """Linear features."""
    return [Stage(Inputs(X), LINEAR, X.shape[1])]


TABLE = SplitTable(
    "thesis_linear",
    "Thesis, Table 5.3: accuracy of k-NN on linear features",
    ("heart", "ionosphere"),
    stages,
)
TABLE.register()
