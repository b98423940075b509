"""Where solvers start."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import linalg

from depmax.extraction._unmixing.likelihood import Likelihood, Unmixing


def starts(likelihood: Likelihood, n_init: int, rng: np.random.RandomState) -> Iterator[Unmixing]:
    """Canonical directions first, then random rotations.

    The first start is where the likelihood of Gaussian sources is largest: the first features are
    the directions of regression of the targets on the inputs, each with its own target, and the
    others uncorrelated with all targets.
    """
    size, width = likelihood.n_inputs, likelihood.n_targets
    paired = min(likelihood.n_components, size, width)
    noisy = 1.0 + likelihood.alpha  # variance of an input with its noise
    W = np.eye(size) / np.sqrt(noisy)
    V = np.zeros((size, width))
    pairs = np.arange(paired)
    W[pairs, pairs] /= likelihood.scale[:paired]  # 1/√(1+α-ρ²)
    V[pairs, pairs] = -noisy * likelihood.slope[:paired] * W[pairs, pairs]
    yield likelihood.of_published(W, V)
    for _ in range(n_init - 1):
        rotation, _ = linalg.qr(rng.standard_normal((size, size)))
        yield likelihood.of_published(rotation, np.zeros((size, width)))
