"""Kernel target alignment: the cosine between two kernel matrices."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from depmax.data.sample import Sample, require_samples
from depmax.dependence._terms import (
    TileSums,
    cosine,
    is_constant,
    row_sums,
    self_and_cross_terms,
)
from depmax.dependence.resolve import read_pair
from depmax.kernels import KernelLike


def alignment(
    X: Any,
    y: Any,
    *,
    kernel: KernelLike = "gaussian",
    target_kernel: KernelLike | Literal["auto"] = "auto",
    centered: bool = True,
    sample_weight: Any = None,
) -> float:
    """Kernel target alignment between X and y: the cosine of their kernel matrices.

    It is tr(KL) / (‖K‖ ‖L‖) with Frobenius norms. With centring, HKH and HLH replace K and L, which
    gives HSIC₀(X, y) / √(HSIC₀(X, X) HSIC₀(y, y)), also called centred kernel alignment (CKA).

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, or objects the kernel compares
    y : target: labels, numbers, several columns, or objects
    kernel : kernel or name, default="gaussian"
        As in :func:`depmax.hsic`.
    target_kernel : kernel, name or "auto", default="auto"
        As in :func:`depmax.hsic`.
    centered : bool, default=True
        Whether to centre both matrices. Without centring, a large common part of all kernel values
        hides the dependence: independent samples then have an alignment far above zero.
    sample_weight : array-like of shape (n_samples,), optional
        How many rows each row stands for, as in :func:`depmax.hsic`.

    Returns
    -------
    float
        Between 0 and 1 for positive semidefinite kernels. It is 0 if one of the two norms is zero,
        as when all rows of X are equal: a constant has no direction to align with.

    Notes
    -----
    Memory is linear in the number of samples. The alignment does not change when a kernel is
    multiplied by a number; if centred, it does not change when a number is added to a kernel
    either.

    References
    ----------
    N. Cristianini, J. Shawe-Taylor, A. Elisseeff, J. Kandola (2002), On kernel-target alignment.
    C. Cortes, M. Mohri, A. Rostamizadeh (2012), Algorithms for learning kernels based on centered
    alignment.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import alignment
    >>> x = np.linspace(-1, 1, 50)
    >>> round(alignment(x, 3 * x), 4)
    1.0
    >>> round(alignment(x, x**2), 4)
    0.3217
    """
    x, y_side = read_pair(X, y, kernel, target_kernel, sample_weight)
    require_samples(x.total, unbiased=False)
    if not centered:
        return cosine(*_raw_products(x, y_side))
    if is_constant(x) or is_constant(y_side):
        return 0.0
    found = self_and_cross_terms(x.about_mean(), y_side.about_mean(), unbiased=False)
    of_x, of_y, cross = (each.hsic() for each in found)
    return cosine(cross, of_x, of_y)


def _raw_products(x: Sample, y: Sample) -> tuple[float, float, float]:
    """Compute tr KL, tr KK and tr LL, nothing centred."""
    if not (x.is_narrow and y.is_narrow):
        products = TileSums.of(x, y, zero_diagonal=False).products
        return float(products[0, 1]), float(products[0, 0]), float(products[1, 1])
    sums = [row_sums(*pair) for pair in ((x, y), (x, x), (y, y))]
    crosses = [each.about(0.0 * each.origin_x, 0.0 * each.origin_y).cross for each in sums]
    cross, of_x, of_y = (float(np.sum(each**2)) for each in crosses)  # ‖ΦᵀΨ‖² about the origin
    return cross, of_x, of_y
