"""A side measured from about its own mean, so that sums over its tiles do not cancel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from depmax.kernels import Linear
from depmax.samples.sample import Origin, Sample

#: Rows whose mean image is the new origin of a side without coordinates.
PILOT_ROWS = 16


def steady(side: Sample) -> Sample:
    """Measure a side from about its mean unless its kernel is bounded anyway."""
    if side.is_narrow or not side.kernel.capabilities.stationary:
        return about_a_pilot(side)
    return side


def about_a_pilot(side: Sample) -> Sample:
    """Measure a side from about its own mean: the same centred kernel matrix.

    Sums over its tiles do not cancel, however far the rows lie from the origin of the feature
    space and however wide the kernel is.
    """
    if side.origin is not None:
        return side
    if side.is_narrow and not sparse.issparse(side.coordinates(slice(0, 1))):
        return Sample(Linear(), side.centred_coordinates(), side.n_samples)
    pilot = np.linspace(0, side.n_samples - 1, min(side.n_samples, PILOT_ROWS)).astype(np.intp)
    means = side.tile(slice(None), pilot).mean(axis=1)
    return replace(side, origin=Origin(means, float(means[pilot].mean())))
