"""A side measured from about its own mean, so that sums over its tiles do not cancel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from depmax.kernels import Linear
from depmax.samples.sample import Sample

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
    if side.is_narrow and not sparse.issparse(side.coordinates(slice(0, 1))):
        return Sample(Linear(), side.centred_coordinates(), side.n_samples)
    pilot = np.linspace(0, side.n_samples - 1, min(side.n_samples, PILOT_ROWS)).astype(np.intp)
    means = side.tile(slice(None), pilot).mean(axis=1)
    return AboutPilot(side.kernel, side.rows, side.n_samples, means, float(means[pilot].mean()))


@dataclass(frozen=True)
class AboutPilot(Sample):
    """Tiles of ⟨φ(x) - μ, φ(z) - μ⟩ with μ the mean image of a few rows."""

    means: np.ndarray  # ⟨φ(x), μ⟩ of every row
    constant: float  # ‖μ‖²

    def take(self, indices: np.ndarray) -> Sample:
        """The same origin and kernel on some of the rows."""
        return AboutPilot(
            self.kernel, self.rows[indices], len(indices), self.means[indices], self.constant
        )

    def tile(self, rows: slice | np.ndarray, columns: slice | np.ndarray) -> np.ndarray:
        """Kernel values about the pilot's mean."""
        values: np.ndarray = super().tile(rows, columns) - self.means[rows, np.newaxis]
        values -= self.means[np.newaxis, columns]
        values += self.constant
        return values
