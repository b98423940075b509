"""How far HSIC can be off on new data, whatever the data are."""

from __future__ import annotations

import math
from numbers import Integral, Real


def hsic_bound(n_samples: int, *, delta: float = 0.05, sharp: bool = True) -> float:
    """Largest distance of HSIC₁ from its population value, with probability at least 1 - delta.

    It holds for every distribution of the data and for kernels with values from 0 to 1 (Gaussian,
    Laplace, Delta) that were fixed before the data were seen. It is a worst case:
    :func:`depmax.hsic_interval` tells what is typical under dependence.

    Parameters
    ----------
    n_samples : int
        Number of rows, at least 4.
    delta : float, default=0.05
        Largest probability that the bound fails.
    sharp : bool, default=True
        Hoeffding's bound for a statistic of groups of four rows with values between -2 and 2,
        4√(log(2/δ) / 2⌊m/4⌋). False gives the published 8√(log(2/δ)/m), which is larger.

    Returns
    -------
    float

    References
    ----------
    Song, Smola, Gretton, Bedo, Borgwardt (2012), theorem 4. Feature selection via dependence
    maximization. Journal of Machine Learning Research 13.

    Examples
    --------
    >>> from depmax.evaluation import hsic_bound
    >>> round(hsic_bound(10_000), 4), round(hsic_bound(10_000, sharp=False), 4)
    (0.1086, 0.1537)
    """
    if not isinstance(n_samples, Integral) or n_samples < 4:
        raise ValueError(f"n_samples must be a whole number >= 4, got {n_samples!r}.")
    if not isinstance(delta, Real) or not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be a probability between 0 and 1, got {delta!r}.")
    surprise = math.log(2.0 / delta)
    if sharp:
        return 4.0 * math.sqrt(surprise / (2.0 * (n_samples // 4)))
    return 8.0 * math.sqrt(surprise / n_samples)
