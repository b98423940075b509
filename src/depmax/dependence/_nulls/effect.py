"""How strong a dependence is, as a share between 0 and 1, and intervals of squared distances."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special


@dataclass(frozen=True)
class Effect:
    """Unbiased HSIC over the root of both sides' own: 0 under independence, 1 for equal kernels."""

    share: float
    low: float
    high: float


#: Of a side that is constant: nothing depends on it.
NO_EFFECT = Effect(0.0, 0.0, 0.0)


def effect_of(
    cross: np.ndarray, own_x: np.ndarray, own_y: np.ndarray, confidence_level: float = 0.95
) -> Effect:
    """The share HSIC₁(x, y) / √(HSIC₁(x, x) HSIC₁(y, y)), between 0 and 1, with an interval.

    Parameters
    ----------
    cross, own_x, own_y : ndarray of shape (n_samples,)
        (Ã ∘ B̃)1, (Ã ∘ Ã)1 and (B̃ ∘ B̃)1: what every row contributes to m(m-3) HSIC₁.
    confidence_level : float, default=0.95
    """
    m = len(cross)
    hsic, of_x, of_y = (float(each.sum()) / (m * (m - 3)) for each in (cross, own_x, own_y))
    if of_x <= 0 or of_y <= 0:
        return NO_EFFECT
    scale = math.sqrt(of_x) * math.sqrt(of_y)
    share = hsic / scale
    influence = influences(cross) / scale
    influence -= 0.5 * share * (influences(own_x) / of_x + influences(own_y) / of_y)
    return effect_with(share, float(np.mean(influence**2)), m, confidence_level)


def effect_with(
    share: float, mean_square: float, n_samples: int, confidence_level: float = 0.95
) -> Effect:
    """A share with its interval, from the mean square of what every row does to it."""
    m = n_samples
    # under independence the variance of HSIC₁ is 2 HSIC₁(x, x) HSIC₁(y, y) / (m (m - 3))
    low, high = root_interval(share, mean_square / m, 2.0 / (m * (m - 3)), m, confidence_level)
    return Effect(*(min(1.0, max(0.0, each)) for each in (share, low, high)))


def influences(shares: np.ndarray) -> np.ndarray:
    """What every row does to HSIC₁, from what it contributes: four times ĥ_i less their mean."""
    m = len(shares)
    return 2.0 * (m - 2) * (shares - shares.mean()) / ((m - 1) * (m - 3))


def root_interval(
    estimate: float, variance: float, variance_left: float, n_samples: int, confidence_level: float
) -> tuple[float, float]:
    """Interval that is symmetric for the square root of a quantity that is not negative.

    Parameters
    ----------
    estimate : float
        Unbiased, so possibly negative.
    variance : float
        Of the estimate, to first order.
    variance_left : float
        Of the estimate where the first order vanishes.
    n_samples : int
    confidence_level : float

    Returns
    -------
    low, high : float
    """
    quantile = float(special.stdtrit(n_samples - 1, 0.5 + confidence_level / 2))
    spread = variance * n_samples / (n_samples - 1) + variance_left
    root = math.sqrt(max(estimate, math.sqrt(variance_left)))
    half = quantile * math.sqrt(spread) / (2.0 * root) if root > 0 else 0.0
    low = max(root - half, 0.0) ** 2 if estimate > 0 else estimate
    return min(low, estimate), max((root + half) ** 2, estimate)
