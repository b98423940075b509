"""How large and how precise an HSIC is: as a share from 0 to 1, and its variance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import special

from depmax._threads import chunk_rows, slices
from depmax.data.sample import Sample, require_finite_values, require_samples
from depmax.dependence._terms import TILE, TileSums
from depmax.dependence.resolve import read_pair
from depmax.kernels import KernelLike


@dataclass(frozen=True)
class Effect:
    """Unbiased HSIC, normalised: 0 under independence, 1 for equal kernels."""

    share: float
    low: float
    high: float


#: Of a side that is constant: nothing depends on it.
NO_EFFECT = Effect(0.0, 0.0, 0.0)


def effect_of(
    cross: np.ndarray,
    own_x: np.ndarray,
    own_y: np.ndarray,
    units: np.ndarray | None = None,
    confidence_level: float = 0.95,
) -> Effect:
    """The share HSIC₁(x, y) / √(HSIC₁(x, x) HSIC₁(y, y)), between 0 and 1, with an interval.

    Parameters
    ----------
    cross, own_x, own_y : ndarray of shape (n_samples,)
        (Ã ∘ B̃)1, (Ã ∘ Ã)1 and (B̃ ∘ B̃)1: what every row contributes to m(m-3) HSIC₁.
    units : ndarray of int of shape (n_samples,), optional
        The independent unit, such as the patient, that each row belongs to. The interval is then as
        wide as if rows of a unit repeated each other where HSIC vanishes.
    confidence_level : float, default=0.95
    """
    m = len(cross)
    hsic, of_x, of_y = (float(each.sum()) / (m * (m - 3)) for each in (cross, own_x, own_y))
    if of_x <= 0 or of_y <= 0:
        return NO_EFFECT
    scale = math.sqrt(of_x) * math.sqrt(of_y)
    share = hsic / scale
    # a row does to HSIC₁ four times ĥ_i less their mean: this factor times what it contributes,
    # less the mean of that; and to the share what follows from the three of them
    factor = 2.0 * (m - 2) / ((m - 1) * (m - 3))
    influence = cross / scale
    influence -= (0.5 * share / of_x) * own_x
    influence -= (0.5 * share / of_y) * own_y
    influence -= influence.mean()
    n_units = m
    if units is not None:  # what whole units do, on the scale of a mean over units
        places = np.unique(units, return_inverse=True)[1]
        n_units = int(places.max()) + 1
        influence = n_units / m * np.bincount(places, influence).astype(np.float64)
    mean_square = factor**2 * float(influence @ influence) / n_units
    return effect_with(share, mean_square, n_units, confidence_level)


def effect_with(
    share: float, mean_square: float, n_samples: int, confidence_level: float = 0.95
) -> Effect:
    """A share with its interval, from the mean square of what every row does to it."""
    m = n_samples
    if m < 4:  # as few units as this show nothing
        return Effect(min(1.0, max(0.0, share)), 0.0, 1.0)
    # under independence the variance of HSIC₁ is 2 HSIC₁(x, x) HSIC₁(y, y) / (m (m - 3))
    low, high = root_interval(share, mean_square / m, 2.0 / (m * (m - 3)), m, confidence_level)
    return Effect(*(min(1.0, max(0.0, each)) for each in (share, low, high)))


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
