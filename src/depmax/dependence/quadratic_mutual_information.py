"""Quadratic mutual information: the L2 distance between joint density and product of marginals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from depmax.data import Target, read_table, read_target
from depmax.data.sample import Sample, require_samples, warn_of_outputs
from depmax.data.table import require_equal_length, warn_of_scales
from depmax.dependence._terms import is_constant, terms
from depmax.dependence.resolve import weighted_rows
from depmax.kernels import Columns, Delta, Gaussian, Kernel


def quadratic_mutual_information(
    X: Any,
    y: Any,
    *,
    bandwidth: float | None = None,
    target_bandwidth: float | None = None,
    sample_weight: Any = None,
) -> float:
    """Quadratic mutual information between X and y, with Parzen windows.

    ∫∫ (p(x, y) - p(x) p(y))² dx dy for densities estimated with Gaussian windows of width h: the
    average of N(x - x_i, h² I) over the sample. The integral is exact: tr(κHνH) / m² with
    κ_ij = (4πh²)^(-d/2) exp(-‖x_i - x_j‖² / 4h²), the overlap of two windows. That is m⁻²(m-1)²
    times the HSIC₀ of these kernels. For classes the integral over y is a sum, and the overlap 1
    within a class and 0 between classes.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame
        Put columns on one scale first: all share one window. Sums over categorical columns of a
        frame replace integrals, as for classes.
    y : numbers in one or several columns, or labels
        Every combination of multi-labels is a class.
    bandwidth : float, optional
        Width h of the windows of X. By default Silverman's rule, (4 / ((d + 2) m))^(1/(d + 4))
        times the root of the average variance of the columns.
    target_bandwidth : float, optional
        The same for y. If it is given, a target that looks like classes is treated as numbers.
    sample_weight : array-like of shape (n_samples,), optional
        How many rows each row stands for, as in :func:`depmax.hsic`.

    Returns
    -------
    float
        Never negative, and zero if X or y is constant. Its unit is one over the units of X and y,
        like that of a density: with Silverman's bandwidth, scaling X by c divides it by c^d. With
        hundreds of columns it may be too small or too large for a float, and is then 0 or infinite.

    References
    ----------
    K. Torkkola (2003), Feature extraction by non-parametric mutual information maximization.

    L. Song, A. Smola, A. Gretton, J. Bedo, K. Borgwardt (2012), Feature selection via dependence
    maximization, section 6.7.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import quadratic_mutual_information
    >>> x = np.linspace(-1, 1, 50)
    >>> round(quadratic_mutual_information(x, x**2), 4)
    0.0976
    >>> round(quadratic_mutual_information(x, x > 0), 4)
    0.1287
    """
    weight, X, y = weighted_rows(sample_weight, X, y)
    x, peak_x = _input_windows(X, bandwidth, weight)
    y_side, peak_y = _target_windows(read_target(y), target_bandwidth, weight)
    require_equal_length(x.n_samples, y_side.n_samples)
    m = x.total
    require_samples(m, unbiased=False)
    if is_constant(x) or is_constant(y_side):
        return 0.0
    trace = (m - 1) ** 2 * terms(x, y_side, unbiased=False).hsic()
    if trace <= 0:  # of semidefinite matrices: rounding
        return 0.0
    with np.errstate(over="ignore", under="ignore"):
        return float(np.exp(math.log(trace / m**2) + peak_x + peak_y))


#: Overlaps of Parzen windows: a kernel with k(x, x) = 1, and the logarithm of its true peak.
Windows = tuple[Sample, float]


def _input_windows(X: Any, bandwidth: float | None, weight: np.ndarray | None) -> Windows:
    table = read_table(X)
    numeric = [c for c in range(table.values.shape[1]) if c not in table.categories]
    warn_of_scales(Gaussian(), table.values, table.names, table.categories)
    width = _width(table.values[:, numeric], bandwidth, "bandwidth", weight)
    kernel: Kernel = Gaussian(width * math.sqrt(2))
    if table.categories:
        # the integral over a category is a sum: rows overlap only where all categories are equal
        parts: list[tuple[str, Kernel, list[int]]] = [
            (f"category {column}", Delta(), [column]) for column in sorted(table.categories)
        ]
        if numeric:
            parts.insert(0, ("numeric", kernel, numeric))
        kernel = Columns(parts).resolve(table.values)
    return Sample(kernel, table.values, weight=weight), _log_peak(width, len(numeric))


def _target_windows(target: Target, bandwidth: float | None, weight: np.ndarray | None) -> Windows:
    if bandwidth is None and target.kind in ("classes", "multilabel"):
        labels = _combinations(target)
        return Sample(Delta().resolve(labels), labels, weight=weight), 0.0
    warn_of_outputs(target, Gaussian())
    vectors = target.vectors
    width = _width(vectors, bandwidth, "target_bandwidth", weight)
    kernel = Gaussian(width * math.sqrt(2))
    return Sample(kernel, vectors, weight=weight), _log_peak(width, vectors.shape[1])


def _combinations(target: Target) -> np.ndarray:
    """One label per row; several labels at once are a label of their own."""
    if target.values.ndim == 1:
        return target.values
    return np.unique(target.values, axis=0, return_inverse=True)[1].reshape(-1)


def _width(values: Any, bandwidth: float | None, name: str, weight: np.ndarray | None) -> float:
    """Check the width, or take Silverman's; 1.0 for constants, where any width gives zero."""
    if bandwidth is not None:
        if not (np.isfinite(bandwidth) and bandwidth > 0):
            raise ValueError(f"{name} must be a positive number or None, got {bandwidth!r}.")
        return float(bandwidth)
    d = values.shape[1]
    m = values.shape[0] if weight is None else float(weight.sum())
    if d == 0 or m < 2:
        return 1.0
    if sparse.issparse(values):
        variances = mean_variance_axis(values, axis=0, weights=weight)[1]
    elif weight is None:
        variances = np.var(values, axis=0, dtype=np.float64)
    else:
        squares = (values - np.average(values, axis=0, weights=weight)) ** 2
        variances = np.average(squares, axis=0, weights=weight)
    variance = float(np.mean(variances)) * m / (m - 1)
    factor: float = (4.0 / ((d + 2) * m)) ** (1.0 / (d + 4))
    return factor * math.sqrt(variance) if variance > 0 else 1.0


def _log_peak(width: float, n_columns: int) -> float:
    """Logarithm of (4πh²)^(-d/2), the overlap of a window with itself."""
    return -0.5 * n_columns * math.log(4.0 * math.pi * width**2)
