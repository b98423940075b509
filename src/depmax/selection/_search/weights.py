"""The target's side of HSIC as weights on pairs of rows: HSIC = Σ_ab M_ab K_ab."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from depmax.samples import Sample, slices

#: Rows of a strip of pairs.
STRIP = 128


@dataclass(frozen=True)
class TargetWeights:
    """Tiles of M = Ã/(m(m-3)) (unbiased, Ã the U-centred L) or HLH/(m-1)² (biased)."""

    side: Sample
    means: np.ndarray  # what each row and column of L loses, shape (n_samples,)
    constant: float  # what every entry of L gains
    scale: float
    unbiased: bool

    @classmethod
    def of(cls, target: Sample, unbiased: bool) -> TargetWeights:
        """Weights of a target; one visit to the rows of its kernel matrix."""
        side = target.near_origin()
        m = side.n_samples
        sums = np.zeros(m)
        for rows in slices(m, STRIP):
            values = _values(side, rows, unbiased)
            sums[rows] += values.sum(axis=1)
            sums[rows.stop :] += values[:, len(values) :].sum(axis=0)  # L is symmetric
        if unbiased:
            means, constant = sums / (m - 2), sums.sum() / ((m - 1) * (m - 2))
            return cls(side, means, float(constant), 1.0 / (m * (m - 3)), unbiased)
        return cls(side, sums / m, float(sums.sum() / m**2), 1.0 / (m - 1) ** 2, unbiased)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.side.n_samples

    @cached_property
    def size(self) -> float:
        """Largest Σ M∘R over matrices R of root mean square 1: m ‖M‖_F."""
        squares = 0.0
        for rows in self.strips():
            strip = self.strip(rows)
            square, later = strip[:, : len(strip)], strip[:, len(strip) :]
            squares += float(np.vdot(square, square)) + 0.5 * float(np.vdot(later, later))
        return self.n_samples * float(np.sqrt(squares))

    def strip(self, rows: slice) -> np.ndarray:
        """Weights of some rows against themselves and all later rows, each pair counted once.

        Pairs a < b carry twice their weight, so that sums over strips are sums over all pairs.
        """
        later = slice(rows.start, None)
        weights = _values(self.side, rows, self.unbiased)
        weights -= self.means[rows, np.newaxis]
        weights -= self.means[np.newaxis, later]
        weights += self.constant
        count = weights.shape[0]
        square = weights[:, :count]
        if self.unbiased:
            np.fill_diagonal(square, 0.0)
        weights *= 2.0 * self.scale
        square *= 0.5  # both orders of a pair are inside the square
        return weights

    def strips(self) -> list[slice]:
        """Slices of rows whose strips cover all pairs."""
        return list(slices(self.n_samples, STRIP))

    def dot(self, kernel_values: np.ndarray, rows: slice) -> float:
        """Part of Σ M∘K that a strip of kernel values contributes."""
        return float(np.vdot(self.strip(rows), kernel_values))


def _values(side: Sample, rows: slice, unbiased: bool) -> np.ndarray:
    """L̃ (unbiased) or L of some rows against themselves and all later rows.

    The diagonal is set here and nowhere else: zero, or what the kernel declares it to be.
    """
    values = side.tile(rows, slice(rows.start, None))
    own = np.arange(values.shape[0])
    values[own, own] = 0.0 if unbiased else side.take(own + rows.start).diag()
    return values
