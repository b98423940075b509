"""Mutual information and total correlation of Gaussian variables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import linalg

from depmax.data import read_table, read_target
from depmax.data.sample import read_sample, require_samples
from depmax.data.table import require_equal_length
from depmax.dependence.resolve import require_numbers, weighted_rows

#: A part of a column that is independent of the columns before it, below this share of its
#: length (times the number of columns), is rounding.
RANK_TOLERANCE = 16 * np.finfo(np.float64).eps


def gaussian_mutual_information(X: Any, y: Any, *, sample_weight: Any = None) -> float:
    """Mutual information between X and y if they are jointly Gaussian, in nats.

    ``½ log(|C_xx| |C_yy| / |C|)`` with the sample covariances, computed as -½ Σ log(1 - ρ²) from
    the canonical correlations ρ, so no determinant overflows or underflows. For other distributions
    it is only the information in linear relations.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame
        Categorical columns of a frame count as indicators.
    y : numbers in one or several columns, or labels
        Two text classes count as -1 and +1, more as indicators; numbers, including whole ones, stay
        as they are.
    sample_weight : array-like of shape (n_samples,), optional
        How many rows each row stands for, as in :func:`depmax.hsic`.

    Returns
    -------
    float
        Zero if X or y is constant; infinite if a linear combination of y is also one of X. Columns
        that are linear combinations of others, such as the last of the indicators of all classes,
        change nothing.

    Raises
    ------
    ValueError
        If the ranks of X and y together reach the number of samples. Some combinations of X and y
        then necessarily agree, and the value would be infinite whatever the dependence.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import gaussian_mutual_information
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(1000, 1))
    >>> y = x + rng.normal(size=(1000, 1))
    >>> round(gaussian_mutual_information(x, y), 3)  # in the population ½ log 2 = 0.347
    0.354
    """
    weight, X, y = weighted_rows(sample_weight, X, y)
    inputs = read_sample(X, "linear", scale_free=True, weight=weight).centred_coordinates()
    targets = read_target(y).vectors
    require_equal_length(len(inputs), len(targets))
    m = len(inputs) if weight is None else float(weight.sum())
    require_samples(m, unbiased=False)
    basis_x, basis_y = _orthonormal(inputs, weight), _orthonormal(targets, weight)
    rank_x, rank_y = basis_x.shape[1], basis_y.shape[1]
    if rank_x == 0 or rank_y == 0:
        return 0.0
    if rank_x + rank_y >= m:
        raise ValueError(
            f"Gaussian mutual information is infinite for {m:g} samples of X with rank {rank_x} "
            f"and y with rank {rank_y}, whatever their dependence: more than "
            f"{rank_x + rank_y} samples are needed. Select or extract fewer columns first, or use "
            "hsic."
        )
    return _information(basis_x, basis_y)


def total_correlation(X: Any, *, sample_weight: Any = None) -> float:
    """Total correlation of the columns of X if they are jointly Gaussian, in nats.

    The information that the columns share: -½ log|R| with R their correlation matrix, computed
    from a QR decomposition of the standardised columns. Zero if they are uncorrelated. For two
    columns it is their mutual information.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of numbers
    sample_weight : array-like of shape (n_samples,), optional
        How many rows each row stands for, as in :func:`depmax.hsic`.

    Returns
    -------
    float
        Infinite if the correlation matrix is singular: a column is a linear combination of others,
        which is always the case with no more samples than columns. Constant columns share nothing
        and are ignored.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import total_correlation
    >>> x = np.array([1.0, 2.0, 3.0, 4.0])
    >>> round(total_correlation(np.column_stack([x, [1.0, -1.0, -1.0, 1.0]])), 4)
    0.0
    >>> total_correlation(np.column_stack([x, 2 * x]))
    inf
    """
    weight, X, _ = weighted_rows(sample_weight, X)
    table = read_table(X)
    require_numbers(table, "total_correlation")
    values = table.values.toarray() if hasattr(table.values, "toarray") else table.values
    n_samples = len(values) if weight is None else float(weight.sum())
    require_samples(n_samples, unbiased=False)
    columns = _standardise(values, weight)
    n_columns = columns.shape[1]
    if n_columns == 0:
        return 0.0
    if n_columns >= min(n_samples, len(columns)):
        return math.inf
    triangle = linalg.qr(columns, mode="r")[0][:n_columns]
    # length of each unit column's part that is orthogonal to the columns before it
    heights = np.abs(np.diag(triangle))
    if (heights <= RANK_TOLERANCE * n_columns).any():
        return math.inf
    return max(0.0, -float(np.log(heights).sum()))


def _information(basis_x: np.ndarray, basis_y: np.ndarray) -> float:
    """-½ Σ log(1 - ρ²) for the principal angles between two orthonormal bases."""
    if basis_x.shape[1] < basis_y.shape[1]:
        basis_x, basis_y = basis_y, basis_x
    products = basis_x.T @ basis_y
    cosines = np.minimum(linalg.svdvals(products), 1.0)  # ρ, falling
    sines = linalg.svdvals(basis_y - basis_x @ products)[::-1]  # √(1 - ρ²), rising
    if (sines <= RANK_TOLERANCE * basis_x.shape[1]).any():
        return math.inf
    # Small angles are exact in the sine, large ones in the cosine.
    far = cosines**2 < 0.5
    logarithms = np.where(far, 0.5 * np.log1p(-(np.where(far, cosines, 0.0) ** 2)), np.log(sines))
    return max(0.0, -float(logarithms.sum()))


def _orthonormal(values: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Orthonormal basis of the space that the centred columns span, of shape (m, rank)."""
    columns = _standardise(values, weight)
    if columns.shape[1] == 0:
        return columns
    basis, triangle, _ = linalg.qr(columns, mode="economic", pivoting=True)
    heights = np.abs(np.diag(triangle))
    rank = int((heights > RANK_TOLERANCE * max(columns.shape) * heights[0]).sum())
    kept: np.ndarray = basis[:, :rank]
    return kept


def _standardise(values: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Columns with mean zero and length one; constant columns are left out.

    Rows are multiplied by the root of what they stand for.
    """
    values = np.asarray(values, dtype=np.float64)
    columns = values - np.average(values, axis=0, weights=weight)
    columns -= np.average(columns, axis=0, weights=weight)
    if weight is not None:
        columns *= np.sqrt(weight / weight.mean())[:, np.newaxis]
    lengths = np.sqrt(np.einsum("ij,ij->j", columns, columns))
    largest = np.abs(values).max(axis=0)
    varies = lengths > 4 * np.finfo(np.float64).eps * math.sqrt(len(values)) * largest
    unit: np.ndarray = columns[:, varies] / lengths[varies]
    return unit
