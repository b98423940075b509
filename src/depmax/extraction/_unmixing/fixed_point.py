"""Separation of what does not correlate with the target, before everything is fitted together."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from depmax.extraction._unmixing.likelihood import Likelihood, Unmixing

#: Steps at most, and the cosine between rows before and after a step at which they are found.
STEPS, FOUND = 40, 1.0 - 1e-4


def separate(likelihood: Likelihood, start: Unmixing) -> tuple[Unmixing, int]:
    """Discarded rows of ``start`` rotated to sources that are not Gaussian, and the steps taken.

    These are the symmetric fixed point steps of FastICA with the hyperbolic tangent, within the
    inputs that neither correlate with the target nor with the features. Mixtures of sources look
    Gaussian; from here on it can be seen which sources are.
    """
    count, size = likelihood.n_components, likelihood.n_inputs
    if count == size:
        return start, 0
    # Orthonormal rows of the white inputs that the discarded rows of the start span
    rows = linalg.qr(start.inputs[count:].T, mode="economic")[0].T
    rotation, closeness, step = rows, 0.0, 0
    while step < STEPS and closeness < FOUND:
        step += 1
        pull, bend = likelihood.bends(np.pad(rotation, ((0, 0), (0, likelihood.n_targets))))
        wanted = (pull[:, :size] - bend[:, np.newaxis] * rotation) @ rows.T @ rows
        left, _, right = linalg.svd(wanted, full_matrices=False)
        turned = left @ right  # the nearest matrix with orthonormal rows
        closeness = float(np.abs(np.einsum("ij,ij->i", turned, rotation)).min())
        rotation = turned
    inputs = start.inputs.copy()
    inputs[count:] = rotation
    return Unmixing(inputs, start.targets), step
