"""What a solver returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from depmax.extraction._unmixing.likelihood import Unmixing


@dataclass(frozen=True)
class Solution:
    """Weights at which a solver stopped."""

    unmixing: Unmixing
    states: np.ndarray  # 1, 0 or -1 of every source
    log_likelihood: float  # mean over samples of log p(x | t)
    n_iter: int
    n_passes: int  # visits to all samples
    problem: str | None  # why it is no maximum; None if it is
