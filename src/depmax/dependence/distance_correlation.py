"""Distance correlation, as the alignment of two distance-induced kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from depmax.data import read_target
from depmax.data.sample import Sample, read_sample, require_samples, warn_of_outputs
from depmax.data.table import require_equal_length
from depmax.dependence._terms import cosine, self_and_cross_terms
from depmax.dependence.resolve import weighted_rows
from depmax.kernels import Distance, FromFunction


def distance_correlation(
    X: Any,
    y: Any,
    *,
    unbiased: bool = False,
    exponent: float = 1.0,
    sample_weight: Any = None,
) -> float:
    """Distance correlation between X and y.

    Zero in the population only if X and y are independent, whatever their dimensions. It is the
    alignment, HSIC(X, y) / √(HSIC(X, X) HSIC(y, y)), of the distance-induced kernels
    :class:`depmax.kernels.Distance`.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of numbers
    y : numbers in one or several columns, or labels
        Two text classes count as -1 and +1, more as indicators; numbers, including whole ones, stay
        as they are. To have classes coded as whole numbers treated as classes, pass them as text.
    unbiased : bool, default=False
        If False, the distance correlation of Székely, Rizzo and Bakirov (2007), between 0 and 1. If
        True, the bias-corrected *squared* distance correlation of Székely and Rizzo (2013): around
        zero under independence, so possibly negative, and no square root is taken.
    exponent : float, default=1.0
        Power of the Euclidean distance, above 0. The statement about independence holds below 2; at
        2, the result for two scalars is the absolute value of Pearson's correlation.
    sample_weight : array-like of shape (n_samples,), optional
        How many rows each row stands for, as in :func:`depmax.hsic`.

    Returns
    -------
    float
        Zero if X or y is constant.

    Notes
    -----
    Memory is linear in the number of samples, time quadratic. Distances between dense rows are
    computed from differences, so they are as exact for equal and close rows as for distant ones.

    References
    ----------
    G. Székely, M. Rizzo, N. Bakirov (2007), Measuring and testing dependence by correlation of
    distances. G. Székely, M. Rizzo (2013), The distance correlation t-test of independence in high
    dimension. D. Sejdinovic, B. Sriperumbudur, A. Gretton, K. Fukumizu (2013), Equivalence of
    distance-based and RKHS-based statistics in hypothesis testing.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import distance_correlation
    >>> x = np.linspace(-1, 1, 50)
    >>> round(distance_correlation(x, 3 * x + 1), 4)
    1.0
    >>> round(distance_correlation(x, x**2), 4)
    0.4918
    """
    if not 0 < exponent <= 2:
        raise ValueError(
            f"exponent must lie in (0, 2], got {exponent}: beyond 2 it does not measure dependence."
        )
    weight, X, y = weighted_rows(sample_weight, X, y)
    x_sample = _distance_side(read_sample(X, Distance(exponent)).rows, exponent, weight)
    target = read_target(y)
    warn_of_outputs(target, Distance(exponent))
    y_sample = _distance_side(target.vectors, exponent, weight)
    require_equal_length(x_sample.n_samples, y_sample.n_samples)
    require_samples(x_sample.total, unbiased)
    found = self_and_cross_terms(x_sample.about_mean(), y_sample.about_mean(), unbiased=unbiased)
    of_x, of_y, cross = (each.hsic() for each in found)
    value = cosine(cross, of_x, of_y)
    return value if unbiased else math.sqrt(max(0.0, value))


def _distance_side(rows: Any, exponent: float, weight: np.ndarray | None) -> Sample:
    """Rows with a kernel whose centred matrix is that of ``Distance``.

    For dense rows -‖x - z‖^p / 2, which differs from it by ½‖x‖^p + ½‖z‖^p: centring removes that.
    """
    if sparse.issparse(rows):
        return Sample(Distance(exponent), rows, weight=weight)

    def minus_half_distance(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        from scipy.spatial.distance import cdist

        distances: np.ndarray = cdist(X, Z)
        return -0.5 * (distances if exponent == 1 else distances**exponent)

    return Sample(FromFunction(minus_half_distance), rows, weight=weight)
