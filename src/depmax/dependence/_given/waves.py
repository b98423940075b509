"""Waves of confounders that residuals follow: what smooth regressions miss."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from depmax.dependence._given.units import RowUnits

#: Rows times frequencies that are compared, and the range of frequencies.
WAVE_CELLS, FREQUENCIES = 4e6, (1.0, 8.0)
#: Peaks that are climbed, and steps to their tops.
PEAKS, STEPS_TO_PEAK = 5, 8


@dataclass(frozen=True)
class Waves:
    """Plane waves of confounders with random frequencies, the same for all residuals.

    A smooth kernel averages out a fast wave of unknown direction; a search over frequencies
    does not.
    """

    Z: np.ndarray
    frequencies: np.ndarray  # shape (n_columns, n_waves)
    cosines: np.ndarray  # shape (n_samples, n_waves)
    sines: np.ndarray
    units: RowUnits

    @classmethod
    def of(cls, Z: np.ndarray, units: RowUnits) -> Waves:
        """Frequencies of random direction and length; confounders have variance 1."""
        Z = np.ascontiguousarray(Z, dtype=np.float32)
        count = max(int(WAVE_CELLS // len(Z)), 1)
        rng = np.random.default_rng(0)
        directions = rng.standard_normal((Z.shape[1], count), dtype=np.float32)
        directions /= np.sqrt((directions * directions).sum(axis=0))
        frequencies = directions * rng.uniform(*FREQUENCIES, count).astype(np.float32)
        phases = Z @ frequencies
        return cls(Z, frequencies, np.cos(phases), np.sin(phases), units)

    @cached_property
    def axes(self) -> np.ndarray:
        """Half axes of the frequencies' ball in units of the width of a peak, where above 1."""
        spectrum = np.atleast_1d(np.linalg.eigvalsh(np.atleast_2d(np.cov(self.Z.T))))
        axes = FREQUENCIES[1] * np.sqrt(np.maximum(spectrum, 0.0))
        return np.asarray(axes[axes > 1.0])

    def pvalue(self, height: float, n_outputs: int) -> float:
        """Of a peak of this height among all frequencies, if residuals do not depend on Z.

        Each ordinate is exponential with mean 1, so that N of them exceed s with probability
        N exp(-s) at most. Tops lie between them: in d dimensions the periodogram has about
        V (s/π)^{d/2} exp(-s) peaks above s, V half the volume of the ball, as ω and -ω are one
        (Worsley 1994, for χ² with two degrees of freedom). The larger counts.
        """
        d = len(self.axes)
        count = np.log(self.axes).sum() - np.log(2.0) - gammaln(0.5 * d + 1.0)
        count += 0.5 * d * np.log(max(height, 1.0))
        count = max(float(count), float(np.log(self.frequencies.shape[1]))) + np.log(n_outputs)
        return float(np.exp(min(count - height, 0.0)))

    def strongest(self, residuals: np.ndarray) -> tuple[np.ndarray, float]:
        """Frequency ω and p-value of the highest peak of the periodogram |Σ r exp(i ωᵀz)|² / Σ r².

        For normal confounders a peak is a Gaussian bell, on which ω + ∇log/2 leads to the top. Its
        height counts in units of Σ_u |Σ_{i in u} r_i exp(i ωᵀz_i)|², if that is more.
        """
        r = residuals - residuals.mean(axis=0)
        r = r / np.sqrt(np.maximum((r * r).sum(axis=0), np.finfo(float).tiny))
        r = r.astype(np.float32)
        power = (r.T @ self.cosines) ** 2 + (r.T @ self.sines) ** 2  # (n_outputs, n_waves)
        best, height = self.frequencies[:, 0], 0.0
        for place in np.argsort(power.max(axis=0))[-PEAKS:]:
            column = r[:, int(np.argmax(power[:, place]))]
            frequency, reached = _climb(self.Z, column, self.frequencies[:, place])
            reached /= self._excess(column, frequency)
            if reached > height:
                best, height = frequency, reached
        return best.astype(np.float64), self.pvalue(height, len(power))

    def _excess(self, r: np.ndarray, frequency: np.ndarray) -> float:
        """Variance of Σ r exp(i ωᵀz) over that of independent rows, at least 1."""
        if self.units.codes is None:
            return 1.0
        phase = self.Z @ frequency
        parts = self.units.totals(np.column_stack([r * np.cos(phase), r * np.sin(phase)]))
        return max(float(np.sum(parts**2)), 1.0)


def _climb(Z: np.ndarray, r: np.ndarray, frequency: np.ndarray) -> tuple[np.ndarray, float]:
    """The top of a peak of the periodogram of one residual, and its height."""
    best, height = frequency, 0.0
    for _ in range(STEPS_TO_PEAK):
        phase = Z @ frequency
        c, s = r * np.cos(phase), r * np.sin(phase)
        a, b = float(c.sum()), float(s.sum())
        power = a * a + b * b
        if power <= height:
            break
        best, height = frequency, power
        frequency = frequency + (b * (Z.T @ c) - a * (Z.T @ s)) / power
    return best, height
