"""How large and how precise an HSIC is: as a share from 0 to 1, and its variance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import special

from depmax._resources import chunk_rows, slices
from depmax._warnings import warn_caller
from depmax.data.sample import Sample, require_finite_values, require_samples
from depmax.dependence._nulls.law import is_varied, u_centred
from depmax.dependence._terms import TILE, TileSums, self_and_cross_terms
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
    """Both samples; weights of their rows that are not whole numbers are refused."""
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
    """Variance of HSIC₁ from what each row contributes to m(m-3) HSIC₁."""
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
    """Contributions of rows from the coordinates themselves, whose columns sum to zero."""
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


#: Rows from which the error of maps is estimated, at most.
ROWS_OF_ERROR = 1000


@dataclass(frozen=True)
class Interval:
    """A confidence interval for HSIC, which is never negative."""

    estimate: float
    low: float
    high: float
    confidence_level: float
    #: Whether enough rows differ from the most frequent value (if not, ``high`` is too low), and
    #: maps that stand for kernels are precise (if not, the interval is mainly their error).
    reliable: bool = True


def hsic_interval(
    X: Any,
    y: Any,
    *,
    confidence_level: float = 0.95,
    kernel: KernelLike = "gaussian",
    target_kernel: KernelLike | Literal["auto"] = "auto",
    sample_weight: Any = None,
) -> Interval:
    """Confidence interval for HSIC, symmetric in its square root.

    HSIC is a squared distance; its root is nearly normal even if HSIC itself is skewed. The
    variance is that of :func:`depmax.hsic_variance` plus the part that remains under independence.
    In simulations with bounded kernels, the 95% interval covered the truth in 94 to 100% of the
    draws, with 20, 50 and 200 rows. With unbounded kernels (linear) and skewed data it is too
    short: it covered 82, 86 and 91%. It is too short for a rare value, too: if fewer than ten rows
    (or a quarter of them) differ from the most frequent value of X or of y, or if a class with a
    weight has one row, there is a warning, and ``reliable`` is False. If a map stands for a kernel
    (:class:`depmax.maps.NystroemMap`), the interval is one for HSIC of the kernel itself: it is
    wider by what the map leaves out, as seen on up to 1,000 rows, with a warning if that is most of
    it. To test whether there is any dependence, use :func:`depmax.hsic_test`.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, or objects the kernel compares
    y : target: labels, numbers, several columns, or objects
    confidence_level : float, default=0.95
        Probability that the interval covers the true value, with many samples.
    kernel : kernel or name, default="gaussian"
        As in :func:`depmax.hsic`.
    target_kernel : kernel, name or "auto", default="auto"
        As in :func:`depmax.hsic`.
    sample_weight : array-like of shape (n_samples,), optional
        How many observations each row stands for, in whole numbers: the result is that of the rows
        repeated. Weights that correct for how rows were drawn are refused: what they add up to
        is not a number of observations, and the interval would be too short.

    Returns
    -------
    Interval

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import hsic_interval
    >>> x = np.linspace(-1, 1, 50)
    >>> interval = hsic_interval(x, x)
    >>> interval.low < interval.estimate < interval.high
    True
    """
    require_share(confidence_level, "confidence_level")
    x_sample, y_sample = read_counted(X, y, kernel, target_kernel, sample_weight)
    m = n_counted(x_sample)
    of_x, of_y, cross = (each.hsic() for each in self_and_cross_terms(x_sample, y_sample))
    # the variance under independence, 2 ΣÃ² ΣB̃² / (m (m - 3)), in units of HSIC₁
    left = 2.0 * max(of_x, 0.0) * max(of_y, 0.0) / (m * (m - 3))
    variance = first_order_variance(x_sample, y_sample)
    ends = root_interval(cross, variance, left, m, confidence_level)
    low, high = (float(end) for end in ends)
    below, above = error_of_maps(x_sample, y_sample, confidence_level)
    reliable = all(
        [
            is_varied(x_sample, "X"),  # warns of all
            is_varied(y_sample, "y"),
            _is_precise(below, above, high - low),
        ]
    )
    low = min(low, max(low - below, 0.0))
    return Interval(cross, low, high + above, confidence_level, reliable)


def error_of_maps(x: Sample, y: Sample, confidence_level: float) -> tuple[float, float]:
    """How far HSIC of the kernels that maps approximate may lie below and above that of the maps.

    HSIC is linear in both kernels, so that the difference is a U-statistic, too: it is estimated,
    with its standard error, from rows drawn with a fixed seed.
    """
    exact = [_exact(side) for side in (x, y)]
    if exact[0] is x and exact[1] is y:
        return 0.0, 0.0
    counts = np.ones(x.n_samples) if x.weight is None else x.weight
    m = min(n_counted(x), ROWS_OF_ERROR)
    drawn = np.random.default_rng(0).choice(n_counted(x), m, replace=False)
    rows = np.searchsorted(np.cumsum(counts), drawn, side="right")
    true, mapped = (
        np.prod([u_centred(side.take(rows).near_origin().gram()) for side in pair], axis=0)
        for pair in (exact, (x, y))
    )
    differences = true - mapped  # ΣΣ of them is m(m-3) times the difference of HSIC₁
    estimate = float(differences.sum()) / (m * (m - 3))
    variance = variance_of_shares(differences.sum(axis=1), m)
    variance += 2.0 * float(np.sum(differences**2)) / (m * (m - 3)) ** 2
    half = float(special.stdtrit(m - 1, 0.5 + confidence_level / 2)) * math.sqrt(variance)
    return max(half - estimate, 0.0), max(estimate + half, 0.0)


def _exact(side: Sample) -> Sample:
    """Rows with the kernel that their map approximates; without a map, the sample itself."""
    kernel = side.kernel.approximated
    return side if kernel is side.kernel else Sample(kernel, side.rows, weight=side.weight)


def _is_precise(below: float, above: float, width: float) -> bool:
    """Whether maps add less to an interval than chance does; warns if they do not."""
    if max(below, above) <= width:
        return True
    warn_caller(
        "The maps that stand for kernels are so coarse that HSIC of the kernels themselves may be "
        f"{max(below, above):.2g} off, more than chance explains ({width:.2g}); the interval "
        "includes this. Raise n_components of the map.",
        UserWarning,
    )
    return False
