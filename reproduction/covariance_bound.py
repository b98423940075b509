"""How far the covariance of features can be off on new data (sparse PLS paper, Theorem 5.5)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from depmax._resources import slices
from depmax.data.sample import Sample, read_rows
from depmax.data.table import require_equal_length
from depmax.extraction._fitting.prediction import coded_target
from depmax.kernels.kernel import is_precomputed

#: Kernel values that are held at a time.
TILE = 2**21


@dataclass(frozen=True)
class CovarianceBound:
    """A lower bound on E[y²‖τ(x)‖²] and all its terms."""

    #: Mean of y²‖τ(x)‖² over the training rows.
    empirical: float
    #: 2c√(Σ y⁴k(x, x)²)/m, from the Rademacher complexity.
    complexity: float
    #: 3cR²√(log(2/δ)/2m), from the deviation of the mean.
    deviation: float
    #: Norm c = ‖AᵀKA‖ of the projection.
    norm: float
    #: R², the largest y²k(x, x).
    squared_radius: float
    #: The bound fails with at most this probability.
    delta: float
    n_samples: int
    #: ‖S‖ (Frobenius) of S = mean of y²φ(x)φ(x)ᵀ: ``empirical`` is at most c‖S‖.
    target_norm: float
    #: Whether norm and radius were given, not read off the same rows.
    fixed_beforehand: bool
    #: Rows outside the radius, which count as zero (``outliers="ignore"``).
    n_outliers: int = 0

    @property
    def bound(self) -> float:
        """Empirical - complexity - deviation."""
        return self.empirical - self.complexity - self.deviation

    @property
    def is_vacuous(self) -> bool:
        """Whether the bound says nothing: y²‖τ‖² is never negative anyway."""
        return self.bound <= 0

    @property
    def samples_needed(self) -> float:
        """Number of rows like these at which these features would have a positive bound.

        Both penalties fall as 1/√m; infinity if ``empirical`` is zero.
        """
        if self.empirical <= 0:
            return math.inf
        return self.n_samples * ((self.complexity + self.deviation) / self.empirical) ** 2

    @property
    def samples_needed_at_best(self) -> float:
        """The same for the projection that the bound favours most: no features need fewer rows.

        ``empirical`` is at most c‖S‖, and both penalties are proportional to c.
        """
        if self.target_norm <= 0 or self.norm <= 0:
            return math.inf
        penalties = (self.complexity + self.deviation) / self.norm
        return self.n_samples * (penalties / self.target_norm) ** 2

    def __str__(self) -> str:
        penalties = f"{self.complexity:.4g} - {self.deviation:.4g}"
        terms = f"{self.empirical:.4g} - {penalties} = {self.bound:.4g}"
        if self.is_vacuous:
            verdict = (
                f"vacuous: {terms} is not above zero, which holds without any bound; these "
                f"features would need {self.samples_needed:,.0f} rows, any others at least "
                f"{self.samples_needed_at_best:,.0f}"
            )
        else:
            verdict = f"E[y²‖τ‖²] ≥ {terms} with probability {1 - self.delta:g}"
        if not self.fixed_beforehand:
            verdict += "; norm and radius were estimated from the data, so this is only an estimate"
        return verdict


def covariance_bound(
    extractor: Any,
    X: Any,
    y: Any,
    *,
    delta: float = 0.1,
    norm: float | None = None,
    radius: float | None = None,
    n_components: int | None = None,
    outliers: Literal["refuse", "ignore"] = "refuse",
) -> CovarianceBound:
    """Lower bound on the expected cumulative squared covariance E[y²‖τ(x)‖²] of features.

    With probability 1 - δ over training sets of m rows

    E[y²‖τ‖²] ≥ (1/m)Σ y_i²‖τ(x_i)‖² - (2c/m)√(Σ y_i⁴k(x_i, x_i)²) - 3cR²√(log(2/δ)/2m)

    with the norm c = ‖AᵀKA‖ of the projection and R² = max y²k(x, x).

    Parameters
    ----------
    extractor : a fitted extractor
        Such as SMC, SMA or KernelPLS.
    X, y : the rows and the target that it was fitted to
        One target: numbers unchanged, two classes as -1 and +1.
    delta : float, default=0.1
    norm, radius : float, optional
        c and R. The theorem needs them fixed before the data are seen; if they are omitted, those
        of the data are used, and the result says so. Values that the data exceed are refused.
    n_components : int, optional
        Use this many of the features.
    outliers : {"refuse", "ignore"}, default="refuse"
        What rows outside ``radius``, y²k(x, x) > R², are: an error, or left out of the mean, which
        still is over all m rows. The bound holds all the same, since y²‖τ‖² is never negative, and
        a few long rows no longer decide R.

    Returns
    -------
    CovarianceBound
        With every term. Even with thousands of rows the bound is usually vacuous; it then says so,
        with the number of rows that these features (``samples_needed``) and the best possible ones
        (``samples_needed_at_best``) would need.

    Notes
    -----
    Centred features have an offset, τ = φᵀW - b. It counts as one more coordinate, so k(x, x) + 1
    takes the place of k(x, x) and AᵀKA + bbᵀ that of AᵀKA. Note that y²‖τ‖² is not a squared
    covariance: its mean can be large even for features that do not depend on y.

    References
    ----------
    C. Dhanjal, S. Gunn, J. Shawe-Taylor (2009), Efficient sparse kernel feature extraction based on
    partial least squares, theorem 5.5.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import SMC
    >>> from reproduction.covariance_bound import covariance_bound
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> y = X[:, 0] > 0
    >>> covariance_bound(SMC(2, random_state=0).fit(X, y), X, y).is_vacuous
    True
    """
    projection, kernel = _parts(extractor)
    if isinstance(delta, bool) or not isinstance(delta, Real) or not 0 < float(delta) < 1:
        raise ValueError(f"delta must be a probability, 0 < delta < 1, got {delta!r}.")
    count = _count(n_components, projection.weights.shape[1])
    target = coded_target(y, whole_numbers_are_numbers=getattr(extractor, "_regresses", False))
    if target.values.shape[1] != 1:
        raise ValueError(
            f"covariance_bound takes one target, but y has {target.values.shape[1]} columns or "
            "classes: call it once for each."
        )
    rows = read_rows(extractor, X, extractor._abilities())
    m = int(rows.shape[0])
    require_equal_length(m, target.n_samples)
    squares = np.square(target.values[:, 0])  # y²
    features = np.asarray(extractor.transform(X), dtype=np.float64)[:, :count]
    if outliers not in ("refuse", "ignore") or (outliers == "ignore" and radius is None):
        raise ValueError(
            f"outliers must be 'refuse', or 'ignore' with a radius, got outliers={outliers!r} and "
            f"radius={radius!r}."
        )
    offset = projection.offset[:count]
    has_offset = bool(np.any(offset))
    lengths = np.asarray(kernel.diag(rows[:]), dtype=np.float64) + has_offset  # k(x, x)
    n_outliers = 0
    if outliers == "ignore" and radius is not None:
        outside = squares * lengths > float(radius) ** 2
        squares, n_outliers = np.where(outside, 0.0, squares), int(outside.sum())
    metric = projection.inner()[:count, :count] + np.outer(offset, offset)
    c, squared_radius, fixed = _fixed(
        float(np.linalg.norm(metric)), float((squares * lengths).max()), norm, radius
    )
    return CovarianceBound(
        empirical=float(squares @ np.square(features).sum(axis=1)) / m,
        complexity=2 * c / m * float(np.sqrt(np.sum(np.square(squares * lengths)))),
        deviation=3 * c * squared_radius * float(np.sqrt(np.log(2 / float(delta)) / (2 * m))),
        norm=c,
        squared_radius=squared_radius,
        delta=float(delta),
        n_samples=m,
        target_norm=_target_norm(Sample(kernel, rows), squares, has_offset),
        fixed_beforehand=fixed,
        n_outliers=n_outliers,
    )


@dataclass(frozen=True)
class BoundedComponents:
    """How many features the bound pays for."""

    #: Number of features with the largest bound less cost.
    n_components: int
    #: Price q of a feature.
    cost: float
    #: Bound with 1, 2, … features.
    bounds: tuple[CovarianceBound, ...]

    @property
    def values(self) -> np.ndarray:
        """Bound - qk for k = 1, 2, … features."""
        prices = self.cost * np.arange(1, len(self.bounds) + 1)
        return np.array([bound.bound for bound in self.bounds]) - prices


def components_by_bound(
    extractor: Any,
    X: Any,
    y: Any,
    *,
    cost: float | None = None,
    delta: float = 0.1,
    norm: float | None = None,
    radius: float | None = None,
    outliers: Literal["refuse", "ignore"] = "refuse",
) -> BoundedComponents:
    """Number of features that maximises the lower bound minus a cost for each feature.

    Parameters
    ----------
    extractor : a fitted extractor whose first features are those of a smaller one
    X, y : as in :func:`covariance_bound`
    cost : float, optional
        q; by default half of what the first feature explains (the heuristic of the paper).
    delta, norm, radius, outliers : as in :func:`covariance_bound`
        Given values hold for all numbers of features.

    Returns
    -------
    BoundedComponents

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import SMC
    >>> from reproduction.covariance_bound import components_by_bound
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = X[:, 0] - 0.5 * X[:, 1]
    >>> found = components_by_bound(SMC(3, random_state=0).fit(X, y), X, y)
    >>> found.n_components, len(found.values)
    (1, 3)
    """
    if cost is not None and not (isinstance(cost, Real) and math.isfinite(cost) and cost >= 0):
        raise ValueError(f"cost must be a number >= 0, got {cost!r}.")
    available = _parts(extractor)[0].weights.shape[1]
    bounds = tuple(
        covariance_bound(
            extractor,
            X,
            y,
            delta=delta,
            norm=norm,
            radius=radius,
            n_components=count,
            outliers=outliers,
        )
        for count in range(1, available + 1)
    )
    price = bounds[0].empirical / 2.0 if cost is None else float(cost)
    found = BoundedComponents(1, price, bounds)
    return replace(found, n_components=int(np.argmax(found.values)) + 1)


def _target_norm(sample: Sample, squares: np.ndarray, has_offset: bool) -> float:
    """‖mean of y²φφᵀ‖ = √(Σ y_i²y_j²k(x_i, x_j)²)/m, with one more coordinate for an offset."""
    m = sample.n_samples
    width = sample.n_coordinates
    if width is not None and width < m:
        moment = np.zeros((width + has_offset,) * 2)
        for rows in sample.chunks():
            phi = sample.coordinates(rows)
            phi = phi.toarray() if sparse.issparse(phi) else np.asarray(phi, dtype=np.float64)
            if has_offset:
                phi = np.column_stack([phi, np.ones(len(phi))])
            moment += phi.T @ (squares[rows, np.newaxis] * phi)
        return float(np.linalg.norm(moment)) / m
    total = 0.0
    for rows in slices(m, max(1, TILE // m)):
        values = sample.tile(rows, slice(0, m)) + has_offset
        total += float(squares[rows] @ np.square(values) @ squares)
    return math.sqrt(total) / m


def _parts(extractor: Any) -> tuple[Any, Any]:
    """Projection and kernel of a fitted extractor that has both."""
    check_is_fitted(extractor)
    if not hasattr(extractor, "_projection"):
        raise TypeError(
            "covariance_bound is for depmax's extractors, whose features are linear in a kernel's "
            f"feature space, such as SMC or KernelPLS; got {type(extractor).__name__}."
        )
    if is_precomputed(extractor.kernel):
        raise ValueError(
            'covariance_bound needs k(x, x) of the rows, which kernel="precomputed" does not keep: '
            "fit with the kernel itself, or with Precomputed(matrix) and row numbers as X."
        )
    return extractor._projection, extractor.kernel_


def _count(n_components: int | None, available: int) -> int:
    if n_components is None:
        return available
    if (
        isinstance(n_components, bool)
        or not isinstance(n_components, Integral)
        or not 1 <= n_components <= available
    ):
        raise ValueError(
            f"n_components must be an integer from 1 to {available}, the number of features, got "
            f"{n_components!r}."
        )
    return int(n_components)


def _fixed(
    own_norm: float, own_squared_radius: float, norm: float | None, radius: float | None
) -> tuple[float, float, bool]:
    """Norm c, R², and whether both were given; given ones must cover those of the data."""
    slack = 1 + 1e-9
    if norm is not None and not float(norm) * slack >= own_norm:
        raise ValueError(
            f"norm={norm!r} is less than that of this projection, {own_norm:.6g}: the theorem is "
            "about a class of projections that contains it."
        )
    if radius is not None and not float(radius) ** 2 * slack >= own_squared_radius:
        raise ValueError(
            f"radius={radius!r} is less than that of the rows, {own_squared_radius**0.5:.6g}: "
            "every yφ(x) must lie inside."
        )
    c = own_norm if norm is None else float(norm)
    squared = own_squared_radius if radius is None else float(radius) ** 2
    return c, squared, norm is not None and radius is not None
