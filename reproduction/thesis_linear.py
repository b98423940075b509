"""Table 5.3 of the thesis: linear features, then nearest neighbours, on sets with two classes."""

from __future__ import annotations

import numpy as np

from reproduction.dimension_choice import Inputs
from reproduction.thesis_accuracy import Stage
from reproduction.thesis_methods import LINEAR
from reproduction.thesis_table import SplitTable
from reproduction.thesis_variants import LARGEST_LINEAR


def stages(X: np.ndarray) -> list[Stage]:
    """Linear features, then another reading of the text."""
    most = X.shape[1]
    return [
        Stage(Inputs(X), LINEAR, most),
        Stage(Inputs(X), (LARGEST_LINEAR,), most, variant=True),
    ]


TABLE = SplitTable(
    "thesis_linear",
    "Thesis, Table 5.3: accuracy of k-NN on linear features",
    ("heart", "ionosphere"),
    stages,
)
TABLE.register()
