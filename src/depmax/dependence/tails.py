"""Tail of a weighted sum of chi-squares whose leading weights and first cumulants are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize, special


@dataclass(frozen=True)
class ChiSquareMixture:
    """Σ_l w_l (z_l² - 1) + R with z standard normal and R a centred gamma (or normal) remainder.

    The largest weights rule the far tail, the remainder carries the rest of the variance and of
    the third cumulant.
    """

    weights: np.ndarray  # w_l > 0
    variance: float  # of the remainder
    third: float  # third cumulant of the remainder

    def sf(self, value: float) -> float:
        """Probability of at least ``value`` above the mean, by the saddlepoint formula.

        Lugannani and Rice (1980); relative errors are a few per cent however small the tail.
        """
        # K' is convex: K'(s) ≥ K''(0)s bounds s, also where weights are so small that the limit,
        # 1 over the largest, is out of all proportion
        most = (1.0 + 1e-9) * value / self._derivative(0.0, 2)
        end = min((1.0 - 1e-12) * self._limit(), most)
        s = optimize.brentq(lambda s: self._derivative(s, 1) - value, 0.0, end, xtol=1e-14 * end)
        r = np.sqrt(max(2.0 * (s * value - self._cumulant(s)), 0.0))
        q = s * np.sqrt(self._derivative(s, 2))
        tail = special.ndtr(-r) + np.exp(-0.5 * r**2) / np.sqrt(2.0 * np.pi) * (1.0 / q - 1.0 / r)
        if tail <= 0.0:  # digits cancelled: Barndorff-Nielsen's form of the same cannot be negative
            tail = special.ndtr(-(r + np.log(q / r) / r))
        return float(min(tail, 1.0))

    def _gamma(self) -> tuple[float, float]:
        """Shape and scale of the remainder; shape 0 means a normal remainder."""
        if self.third <= 0.0 or self.variance <= 0.0:
            return 0.0, 0.0
        scale = 0.5 * self.third / self.variance
        return self.variance / scale**2, scale

    def _limit(self) -> float:
        """Where the cumulant generating function ends."""
        scale = max(2.0 * float(self.weights.max(initial=0.0)), self._gamma()[1])
        return 1.0 / scale

    def _cumulant(self, s: float) -> float:
        """Logarithm of the moment generating function."""
        w = self.weights
        total = float(np.sum(-0.5 * np.log1p(-2.0 * w * s) - w * s))
        shape, scale = self._gamma()
        if shape:
            return total + shape * (-np.log1p(-scale * s) - scale * s)
        return total + 0.5 * max(self.variance, 0.0) * s**2

    def _derivative(self, s: float, order: int) -> float:
        """First or second derivative of the cumulant generating function."""
        w = self.weights
        shape, scale = self._gamma()
        if order == 1:
            total = float(np.sum(w / (1.0 - 2.0 * w * s) - w))
            rest = shape * scale * (1.0 / (1.0 - scale * s) - 1.0)
            return total + (rest if shape else max(self.variance, 0.0) * s)
        total = float(np.sum(2.0 * (w / (1.0 - 2.0 * w * s)) ** 2))
        rest = shape * (scale / (1.0 - scale * s)) ** 2
        return total + (rest if shape else max(self.variance, 0.0))
