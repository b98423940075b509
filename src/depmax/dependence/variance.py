"""How large and how precise an HSIC is: as a share from 0 to 1, and its variance."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from scipy import special

from depmax._threads import chunk_rows, slices
from depmax.data.sample import Sample, require_finite_values, require_samples
from depmax.dependence._terms import TILE, TileSums
from depmax.dependence.resolve import read_pair
from depmax.kernels import KernelLike


def effects_of(
    cross: Any, own_x: Any, own_y: float, influence: Any, n_samples: int, n_units: int
) -> np.ndarray:
    """Shares HSIC₁(x, y) / √(HSIC₁(x, x) HSIC₁(y, y)) of columns, each with an interval of 95%.

    Parameters
    ----------
    cross, own_x : ndarray of shape (n_columns,), or numbers of one
        Σ ÃB̃ and Σ Ã² of every column; nothing depends on a column without Ã².
    own_y : float
        Σ B̃².
    influence : ndarray of shape (n_columns,)
        ``influence_of`` every column.
    n_samples, n_units : int
        Rows, and independent units of them, such as patients. The interval is as wide as if rows of
        a unit repeated each other where HSIC vanishes.

    Returns
    -------
    ndarray of shape (3, n_columns)
        Each between 0 and 1.
    """
    m, n = n_samples, n_units
    both = np.sqrt(np.maximum(own_x, 0.0)) * math.sqrt(max(own_y, 0.0))
    share = np.divide(cross, both, out=np.zeros_like(both), where=both > 0.0)
    if n < 4:  # as few units as this show nothing
        low, high = np.zeros_like(share), np.ones_like(share)
    else:
        # a row does to HSIC₁ four times ĥ_i less their mean: this factor times what it contributes,
        # less the mean of that; and to the share what follows from the three of them
        factor = 2.0 * (m - 2) / ((m - 1) * (m - 3)) * n / m
        # under independence the variance of HSIC₁ is 2 HSIC₁(x, x) HSIC₁(y, y) / (m (m - 3))
        left = 2.0 / (n * (n - 3))
        low, high = root_interval(share, factor**2 * influence / n**2, left, n, 0.95)
    return np.where(both > 0.0, [share, low, high], 0.0).clip(0.0, 1.0)


def influence_of(
    cross: np.ndarray, own_x: np.ndarray, own_y: np.ndarray, units: np.ndarray | None
) -> float:
    """Σ of the squares of what each row, or unit of rows, does to the share.

    From (Ã ∘ B̃)1, (Ã ∘ Ã)1 and (B̃ ∘ B̃)1: what every row contributes to m(m-3) HSIC₁.
    """
    all_x, all_y = float(own_x.sum()), float(own_y.sum())
    if all_x <= 0.0 or all_y <= 0.0:
        return 0.0
    scale = math.sqrt(all_x) * math.sqrt(all_y)
    share = float(cross.sum()) / scale
    found = cross / scale - 0.5 * share * (own_x / all_x + own_y / all_y)
    found *= len(cross) * (len(cross) - 3)
    found -= found.mean()
    if units is not None:
        found = np.bincount(np.unique(units, return_inverse=True)[1], found).astype(np.float64)
    return float(found @ found)


def root_interval(
    estimate: Any, variance: Any, variance_left: float, n_samples: int, confidence_level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Interval that is symmetric for the square root of a quantity that is not negative.

    Parameters
    ----------
    estimate : float or ndarray
        Unbiased, so possibly negative.
    variance : float or ndarray
        Of the estimate, to first order.
    variance_left : float
        Of the estimate where the first order vanishes.
    n_samples : int
    confidence_level : float

    Returns
    -------
    low, high : ndarray
    """
    quantile = float(special.stdtrit(n_samples - 1, 0.5 + confidence_level / 2))
    spread = variance * n_samples / (n_samples - 1) + variance_left
    root = np.sqrt(np.maximum(estimate, math.sqrt(variance_left)))
    half = quantile * np.sqrt(spread) / (2.0 * np.where(root > 0.0, root, 1.0))
    low = np.where(estimate > 0.0, np.maximum(root - half, 0.0) ** 2, estimate)
    return np.minimum(low, estimate), np.maximum((root + half) ** 2, estimate)


def hsic_variance(
    X: Any,
    y: Any,
    *,
    kernel: KernelLike = "gaussian",
    target_kernel: KernelLike | Literal["auto"] = "auto",
    sample_weight: Any = None,
) -> float:
    """Variance of the unbiased HSIC estimate, to first order (Song et al., 2012, Theorem 5).

    It takes O(m²) time with kernels, with linear memory, and O(m r²) with maps of r coordinates. It
    is near zero under independence, where the estimate varies only at second order.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, or objects the kernel compares
    y : target: labels, numbers, several columns, or objects
    kernel : kernel or name, default="gaussian"
        As in :func:`depmax.hsic`.
    target_kernel : kernel, name or "auto", default="auto"
        As in :func:`depmax.hsic`.
    sample_weight : array-like of shape (n_samples,), optional
        How many observations each row stands for, in whole numbers: the result is that of the rows
        repeated. Weights that correct for how rows were drawn are refused: what they add up to
        is not a number of observations, and the variance would be too small.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import hsic_variance
    >>> x = np.linspace(-1, 1, 50)
    >>> hsic_variance(x, x) > 0
    True
    """
    return first_order_variance(*read_counted(X, y, kernel, target_kernel, sample_weight))


def read_counted(
    X: Any, y: Any, kernel: KernelLike, target_kernel: KernelLike, sample_weight: Any = None
) -> tuple[Sample, Sample]:
    """Both sides, of rows that may stand for several each, but for whole numbers of them."""
    x_sample, y_sample = read_pair(X, y, kernel, target_kernel, sample_weight)
    weight = x_sample.weight
    if weight is not None and (weight != np.rint(weight)).any():
        raise ValueError(
            "sample_weight must hold whole numbers here: an interval depends on how many "
            "independent observations there are. Omit weights of another kind, or resample the "
            "rows (bootstrap) and take quantiles of depmax.hsic(..., sample_weight=...)."
        )
    require_samples(n_counted(x_sample), unbiased=True)
    return x_sample, y_sample


def n_counted(x: Sample) -> int:
    """Rows, or what they stand for."""
    return x.n_samples if x.weight is None else int(x.weight.sum())


def require_share(value: float, name: str) -> None:
    """Refuse what is no probability, 0 and 1 included."""
    if not 0 < value < 1:
        raise ValueError(f"{name} must lie between 0 and 1, got {value}.")


def first_order_variance(x: Sample, y: Sample) -> float:
    """(16/m)(R - HSIC₁²) with R the mean square of the first projections of the U-statistic."""
    return variance_of_shares(shares_of_rows(x, y), n_counted(x), x.weight)


def variance_of_shares(shares: np.ndarray, m: int, weight: np.ndarray | None = None) -> float:
    """The same from what each row contributes to m(m-3) HSIC₁."""
    total = m * float(np.average(shares, weights=weight))
    # ½h of the paper for U-centred matrices: (m-2)/2 ((m-2) g_i + Σg), over (m-1)(m-2)(m-3)
    projections = 0.5 * ((m - 2) * shares + total) / ((m - 1) * (m - 3))
    estimate = total / (m * (m - 3))
    spread = require_finite_values(np.average(projections**2, weights=weight) - estimate**2)
    return max(0.0, 16.0 / m * float(spread))


def shares_of_rows(x: Sample, y: Sample) -> np.ndarray:
    """(Ã ∘ B̃)1 of the U-centred kernel matrices: what each row contributes to m(m-3) HSIC₁.

    Of a row that stands for several: what each of them contributes.
    """
    if x.weight is None and x.is_narrow and y.is_narrow:
        return _coordinate_shares(x, y)
    return _tile_shares(x, y)


def _tile_shares(x: Sample, y: Sample) -> np.ndarray:
    """(Ã ∘ B̃)1 in two visits to the tiles: row sums first, then the centred products."""
    n_rows, m = x.n_samples, n_counted(x)
    weight = np.ones(n_rows) if x.weight is None else x.weight
    x, y = x.near_origin(), y.near_origin()
    sums = TileSums.of(x, y, zero_diagonal=True).row_sums
    means = sums / (m - 2)  # u with Ã_ij = K_ij - u_i - u_j + c
    constants = sums @ weight / ((m - 1) * (m - 2))
    shares = np.zeros(n_rows)
    for rows in slices(n_rows, TILE):
        product = np.ones((rows.stop - rows.start, n_rows))
        for side, mean, constant in zip((x, y), means, constants, strict=True):
            block = side.tile(rows, slice(None))
            block -= mean[rows, np.newaxis]
            block -= mean[np.newaxis, :]
            block += constant
            product *= block
        # a row does not meet itself, but its copies
        product[np.arange(len(product)), np.arange(rows.start, rows.stop)] *= (
            1.0 - 1.0 / weight[rows]
        )
        shares[rows] = product @ weight
    return shares


def _coordinate_shares(x: Sample, y: Sample) -> np.ndarray:
    """(Ã ∘ B̃)1 from centred coordinates, for which K̃1 = -diag K."""
    phi = x.centred_coordinates()
    return shares_of_coordinates(phi, phi if y is x else y.centred_coordinates())


def shares_of_coordinates(phi: np.ndarray, psi: np.ndarray) -> np.ndarray:
    """The same from the coordinates themselves, whose columns sum to zero."""
    m = len(phi)
    k = np.einsum("ij,ij->i", phi, phi)
    l = k if psi is phi else np.einsum("ij,ij->i", psi, psi)  # noqa: E741  (kernel l of y, as in the formulas)
    u, v = -k / (m - 2), -l / (m - 2)
    a = u - u.sum() / (m - 1)  # Ã_ij = K_ij - a_i - u_j for i ≠ j
    cross, products = phi.T @ psi, np.empty(m)  # (K ∘ L)1 with diagonals
    for rows in slices(m, chunk_rows(psi.shape[1])):
        products[rows] = np.einsum("ij,ij->i", phi[rows] @ cross, psi[rows])
    k_v = phi @ (phi.T @ v) - k * v  # K̃v
    l_u = k_v if psi is phi else psi @ (psi.T @ u) - l * u
    # Σ_{j≠i} Ã_ij (L_ij - v_j), since the rows of Ã sum to zero, with K̃1 = -k and L̃1 = -l
    return products - k * l + a * l - l_u - k_v + a * (v.sum() - v) + (u @ v - u * v)
