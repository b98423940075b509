"""What partial least squares offers beside features: paths of predictions, and diagnostics.

Of columns: VIP, selectivity ratio, intervals. Of rows: T², Q, leverage, residuals. Limits are those
of normal rows. The training rows had a part in the mean, the variances and the loadings, so that
their laws are narrower than those of new rows. Where some features fit noise, the limits do not
hold for new rows: see docs/mathematics/pls.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from depmax._resources import chunk_rows, slices
from depmax.algebra.row_sums import dense
from depmax.data import read_target
from depmax.data.sample import Sample, read_rows
from depmax.data.scan import by_chunks
from depmax.data.table import is_streamed, require_equal_length
from depmax.extraction._fitting.cross_validation import FoldSums, folds_of
from depmax.extraction._fitting.number_of_components import fit_part
from depmax.extraction._fitting.prediction import (
    FOLDS,
    CodedTarget,
    FeaturePredictor,
    HeldOut,
    Splits,
    predicted,
)
from depmax.kernels import Linear
from depmax.maps.feature_map import is_linear

#: Columns up to which sums of folds are held.
LARGEST = 4000


@property  # type: ignore[misc]  # becomes one of the classes that take it
def vip_(self: Any) -> np.ndarray:
    """Variable importance in the projection: above 1, a column does more than the average.

    √(D Σ_j SS_j w_j²/Σ_j SS_j), of shape (n_features,). The weights w_j, of length 1, follow from
    R = W(PᵀW)⁻¹, whose factor PᵀW is triangular: they are its orthonormal columns.
    """
    if not is_linear(self) or not hasattr(self, "components_"):
        raise AttributeError(f"{type(self).__name__} has vip_ once it is fitted, linear only.")
    rotations = np.roll(self.components_.T, self.n_orthogonal, axis=1)  # in order of deflation
    weights = np.roll(np.linalg.qr(rotations)[0], -self.n_orthogonal, axis=1)
    explained = self.score_variance_ * np.square(self.target_loadings_).sum(axis=1)
    return np.sqrt(len(weights) * (np.square(weights) @ explained) / explained.sum())


def predict(self: Any, X: Any, n_components: int | None = None) -> np.ndarray:
    """Targets of new rows.

    Parameters
    ----------
    X : as in ``fit``
    n_components : int, optional
        How many of the features are used, as if no more had been fitted; by default all.

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, n_targets)
        One-dimensional if y was; classes if y had classes. As lazy as X.

    Examples
    --------
    >>> from depmax import KernelPLS
    >>> from depmax.datasets import load
    >>> meat = load("tecator")
    >>> model = KernelPLS(15).fit(meat.X, meat.y)
    >>> few = KernelPLS(5).fit(meat.X, meat.y)
    >>> bool(abs(model.predict(meat.X, 5) - few.predict(meat.X)).max() < 1e-8)
    True
    """
    if n_components is None:
        return predicted(self, X)
    check_is_fitted(self)
    largest = self.n_components_ - self.n_orthogonal
    if not 1 <= n_components <= largest:
        raise ValueError(
            f"n_components of predict must be from 1 to {largest}, the number of features "
            f"that {type(self).__name__} has, got {n_components!r}."
        )
    readout = self._readout.first(int(n_components))
    if is_streamed(X):
        flat = readout.classes is not None or readout.flat
        width = None if flat else len(readout.intercept)
        dtype = None if readout.classes is None else readout.classes.dtype
        own = partial(self.predict, n_components=n_components)
        return by_chunks(own, X, width, dtype=dtype)
    return readout.answers(self._apply(X)[:, : int(n_components)])


def predict_path(self: Any, X: Any) -> np.ndarray:
    """Targets of new rows by 1, 2, … features.

    Parameters
    ----------
    X : as in ``fit``, in memory

    Returns
    -------
    ndarray of shape (n_counts, n_samples) or (n_counts, n_samples, n_targets)

    Examples
    --------
    >>> from depmax import KernelPLS
    >>> from depmax.datasets import load
    >>> meat = load("tecator")
    >>> model = KernelPLS(10, kernel="gaussian").fit(meat.X[50:], meat.y[50:])
    >>> errors = model.predict_path(meat.X[:50]) - meat.y[:50]
    >>> errors.shape
    (10, 50)
    """
    check_is_fitted(self)
    T, readout = self._apply(X), self._readout
    counts = range(1, self.n_components_ - self.n_orthogonal + 1)
    return np.array([readout.first(count).answers(T[:, :count]) for count in counts])


def held_out(
    self: Any, X: Any, target: CodedTarget, data: Sample, splits: Splits, limit: int
) -> Iterator[HeldOut]:
    """Held-out predictions from sums over all rows less those of each fold, of numbers."""
    y, tests = target.plain, [test for _, test in splits]
    own = [self._read_answer(y[train], None).numbers for train, _ in splits]
    n_train = min(len(train) for train, _ in splits)
    if not (_adds_up(data, n_train) and _is_whole(target, own, tests)):
        yield from FeaturePredictor._held_out(self, X, target, data, splits, limit)
        return
    if target.classes is None:
        factors = [np.ones(target.values.shape[1])] * len(own)
    else:  # codes of the rows outside the fold, from those of all rows
        factors = [target.scale / part.scale for part in own]
    sums = FoldSums.of(data.rows, tests)
    with sums.solving():
        paths = list(sums.paths(target.values, factors, self._weights_of(limit)))
    for test, part, path in zip(tests, own, paths, strict=True):
        readouts = tuple(
            self._read_out(part, _no_features, path.squares[:k], path.covariances[:, :k])
            for k in range(1, min(limit, len(path.squares)) + 1)
        )
        yield HeldOut(test, path.features, readouts)


def _adds_up(data: Sample, n_train: int) -> bool:
    """Whether products of all rows are sums of those of folds: numbers as they are, in memory.

    Of more columns than rows, features of the rows themselves have more digits.
    """
    rows = data.rows
    return (
        isinstance(data.kernel, Linear)
        and isinstance(rows, np.ndarray)
        and not sparse.issparse(rows)
        and data.n_coordinates == rows.shape[1]
        and rows.shape[1] <= min(n_train, LARGEST)
        and bool(np.isfinite(rows.sum()))
    )


def _is_whole(target: CodedTarget, own: list[CodedTarget], tests: list[np.ndarray]) -> bool:
    """Whether every row is held out once, and all classes are among the others each time."""
    n_classes = target.values.shape[1]
    return sum(map(len, tests)) == target.n_samples and all(
        part.values.shape[1] == n_classes for part in own
    )


def _no_features() -> np.ndarray:
    raise AssertionError("least squares needs products only")


# --- which rows are unlike the training rows ------------------------------------------------------
@dataclass(frozen=True)
class ResidualLaw:
    """Q/(1 - h) of a training row with leverage h is about a multiple of χ² (Box, 1954)."""

    mean: float
    freedom: float  # degrees of freedom, 2 mean²/variance

    @classmethod
    def of(cls, values: np.ndarray, weight: np.ndarray | None) -> ResidualLaw:
        """A law with the mean and the variance of some values."""
        mean = float(np.average(values, weights=weight))
        variance = float(np.average((values - mean) ** 2, weights=weight))
        return cls(mean, 2.0 * mean**2 / variance if variance > 0 else np.inf)

    def limit(self, alpha: float, factor: float) -> float:
        """What a share alpha of rows exceeds whose Q has a mean larger by a factor."""
        if not np.isfinite(self.freedom) or self.mean == 0:
            return self.mean * factor
        scale = self.mean * factor / self.freedom
        return float(scale * stats.chi2.isf(alpha, self.freedom))


def t2(self: Any, X: Any) -> np.ndarray:
    """Hotelling's T²: how far the features of a row are from their mean, Σ τ_j²/s_j².

    Parameters
    ----------
    X : as in ``fit``

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> from depmax import KernelPLS
    >>> from depmax.datasets import load
    >>> meat = load("tecator")
    >>> model = KernelPLS(4).fit(meat.X, meat.y)
    >>> odd = model.t2(meat.X) > model.t2_limit(0.01, training=True)
    >>> int(odd.sum())
    7
    """
    check_is_fitted(self)
    if is_streamed(X):
        return by_chunks(self.t2, X)
    return np.asarray(np.square(self._apply(X), dtype=np.float64) @ (1.0 / self.score_variance_))


def t2_limit(self: Any, alpha: float = 0.05, *, training: bool = False) -> float:
    """What T² of a share ``alpha`` of normal rows exceeds.

    Parameters
    ----------
    alpha : float, default=0.05
    training : bool, default=False
        Whether the rows are those of ``fit``: (m-1)²/m times a Beta(k/2, (m-k-1)/2) variable;
        of new rows k(m²-1)/(m(m-k)) times an F(k, m-k) one.

    Returns
    -------
    float

    Notes
    -----
    Of new rows ``alpha`` exceed it only if rows are many and no feature fits noise; otherwise
    fewer, or more, do.
    """
    m, k = _rows_and_features(self)
    if training:
        law = stats.beta(k / 2, (m - k - 1) / 2)
        return float((m - 1) ** 2 / m * law.isf(alpha))
    return float(k * (m**2 - 1) / (m * (m - k)) * stats.f.isf(alpha, k, m - k))


def leverage(self: Any, X: Any) -> np.ndarray:
    """1/m + T²/(m - 1): how strongly the prediction of a row follows its own target.

    Parameters
    ----------
    X : as in ``fit``

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    return _leverage(_rows_and_features(self)[0], self.t2(X))


@available_if(is_linear)
def q(self: Any, X: Any) -> np.ndarray:
    """Squared distance of rows from the plane of the loadings, ‖x - Σ τ_jp_j‖² (SPE, DModX²).

    Not ``reconstruction_error``, the distance from the nearest point of the span of the weights.

    Parameters
    ----------
    X : as in ``fit``

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import KernelPLS
    >>> from depmax.datasets import load
    >>> meat = load("tecator")
    >>> model = KernelPLS(4).fit(meat.X, meat.y)
    >>> strange = meat.X[:1] + 0.1 * np.sin(np.arange(100.0))
    >>> bool(model.q(strange)[0] > model.q_limit(0.001))
    True
    """
    check_is_fitted(self)
    if is_streamed(X):
        return by_chunks(self.q, X)
    return _residual_squares(self, read_rows(self, X, self._abilities()))


@available_if(is_linear)
def q_limit(self: Any, alpha: float = 0.05, *, training: bool = False) -> float:
    """What Q of a share ``alpha`` of normal rows exceeds.

    Parameters
    ----------
    alpha : float, default=0.05
    training : bool, default=False
        Whether the rows are those of ``fit``, which are nearer to a plane that was fitted to them.

    Returns
    -------
    float
        From a multiple of χ² with the mean and the variance of Q of the training rows, of which
        each was divided by 1 - leverage; a new row has 1 + leverage.

    Notes
    -----
    Of new rows ``alpha`` exceed it only if rows are many and no feature fits noise; otherwise
    fewer, or more, do.
    """
    m, k = _rows_and_features(self)
    if self._residual_law is None:
        raise ValueError(
            f"{type(self).__name__} has no limit of Q: rows that arrive in batches or are read a "
            "chunk at a time are not kept. Fit to rows in memory."
        )
    law = ResidualLaw(*self._residual_law)
    share = (k + 1) / m  # mean leverage
    return law.limit(alpha, 1.0 - share if training else 1.0 + share)


def y_residuals(self: Any, X: Any, y: Any, *, training: bool = False) -> np.ndarray:
    """Studentised residuals (y - ŷ)/(s√(1 ± h)) of numbers, with leverage h.

    Parameters
    ----------
    X, y : as in ``fit``
    training : bool, default=False
        Whether the rows are those of ``fit``: 1 - h, otherwise 1 + h.

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, n_targets)
        Of normal training rows about a t variable with m - k - 1 degrees of freedom; those of new
        rows are larger where features fit noise, see the errors of ``cross_validate``.
    """
    m, k = _rows_and_features(self)
    if self._error_squares is None:
        raise ValueError(f"y_residuals of {type(self).__name__} needs numbers, but y has classes.")
    truth, features = np.asarray(read_target(y).vectors, dtype=np.float64), self._apply(X)
    require_equal_length(len(features), len(truth))
    h = self.leverage(X)[:, np.newaxis]
    spread = np.sqrt(self._error_squares / max(m - k - 1, 1) * (1.0 - h if training else 1.0 + h))
    found = (truth - self._readout.values(features)) / spread
    return np.asarray(found[:, 0] if self._readout.flat else found)


def residual_law(model: Any, rows: Any, weight: np.ndarray | None) -> tuple[float, float]:
    """Mean and degrees of freedom of Q/(1 - h) of training rows, read as the kernel takes them."""
    t2 = np.square(model._map(rows)) @ (1.0 / model.score_variance_)
    h = _leverage(_rows_and_features(model)[0], t2)
    law = ResidualLaw.of(_residual_squares(model, rows) / np.maximum(1.0 - h, 1e-3), weight)
    return law.mean, law.freedom


def _leverage(m: float, t2: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 / m + t2 / (m - 1))


def _residual_squares(model: Any, rows: Any) -> np.ndarray:
    """‖x - Σ τ_jp_j‖² of every row."""
    found = np.empty(rows.shape[0])
    for block in slices(rows.shape[0], chunk_rows(len(model.mean_))):
        part = rows[block]
        phi = np.asarray(dense(model.kernel_.features(part)), dtype=np.float64) - model.mean_
        phi -= model._map(part) @ model.loadings_
        found[block] = np.einsum("ij,ij->i", phi, phi)
    return found


def _rows_and_features(model: Any) -> tuple[float, int]:
    """How many training rows, or what these stand for, and how many features."""
    check_is_fitted(model)
    return float(model._n_rows), int(model.n_components_)


# --- which columns matter -------------------------------------------------------------------------
@dataclass(frozen=True)
class CoefficientIntervals:
    """Coefficients with the spread of fits without a fold each: the result of ``coef_intervals``.

    Attributes
    ----------
    coef, standard_error : ndarray of shape (n_targets, n_features)
        As in ``coef_``, and the jackknife's standard error.
    low, high : ndarray of shape (n_targets, n_features)
        Ends of the intervals.
    pvalues : ndarray of shape (n_targets, n_features)
        Of the hypothesis that a coefficient is zero, one column at a time, not adjusted.
    """

    coef: np.ndarray
    standard_error: np.ndarray
    low: np.ndarray
    high: np.ndarray
    pvalues: np.ndarray


@available_if(is_linear)
def selectivity_ratio(self: Any, X: Any) -> np.ndarray:
    """Explained over unexplained variance of every column by the predictions.

    Parameters
    ----------
    X : as in ``fit``, usually the same rows

    Returns
    -------
    ndarray of shape (n_features,) or (n_targets, n_features)
        By the target projection Xb/‖b‖ with the coefficients b. One target has one dimension.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import KernelPLS
    >>> X = np.random.default_rng(0).normal(size=(50, 5))
    >>> model = KernelPLS(2).fit(X, X[:, 1])
    >>> model.selectivity_ratio(X).argmax(), model.vip_.argmax()
    (np.int64(1), np.int64(1))
    """
    check_is_fitted(self)
    rows = read_rows(self, X, self._abilities())
    phi = np.asarray(dense(self.kernel_.features(rows)), dtype=np.float64)
    phi = phi - phi.mean(axis=0)
    scores = phi @ self.coef_.T
    explained = np.square(scores.T @ phi) / np.square(scores).sum(axis=0)[:, np.newaxis]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = explained / np.maximum(np.square(phi).sum(axis=0) - explained, 0.0)
    ratios = np.nan_to_num(ratios, nan=0.0, posinf=np.inf)  # a constant column
    return np.asarray(ratios[0] if len(ratios) == 1 else ratios)


@available_if(is_linear)
def coef_intervals(
    self: Any, X: Any, y: Any, *, cv: Any = FOLDS, groups: Any = None, level: float = 0.95
) -> CoefficientIntervals:
    """Jackknife intervals of the coefficients, from fits that leave a fold out each.

    Parameters
    ----------
    X, y : the rows of ``fit``
    cv : int, splitter or iterable, default=10
        ``LeaveOneOut()`` is the plain jackknife; with ``groups`` no group is divided.
    groups : array-like of shape (n_samples,), optional
    level : float, default=0.95
        Probability of the intervals, by a t distribution with one degree less than folds.

    Returns
    -------
    CoefficientIntervals
        With the variance (g - 1)/g Σ(b_i - b̄)² over g fits. Coefficients of a few components are
        biased towards zero, which no jackknife sees.

    Examples
    --------
    >>> import numpy as np
    >>> from depmax import KernelPLS
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> y = X[:, 0] + 0.1 * np.random.default_rng(1).normal(size=60)
    >>> found = KernelPLS(3).fit(X, y).coef_intervals(X, y)
    >>> found.pvalues[0].round(3) < 0.05
    array([ True, False, False, False])
    """
    check_is_fitted(self)
    model = clone(self)
    target = model._read_answer(y, None).numbers
    count, labels = self.n_components_ - self.n_orthogonal, target.plain
    fits = np.array(
        [
            fit_part(model, X, labels, train, test, count).model.coef_
            for train, test in folds_of(target, cv, groups)
        ]
    )
    share = (len(fits) - 1) / len(fits)
    error = np.sqrt(share * np.square(fits - fits.mean(axis=0)).sum(axis=0))
    law = stats.t(len(fits) - 1)
    reach = law.isf((1.0 - level) / 2) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(self.coef_) / error
    pvalues = 2.0 * law.sf(np.nan_to_num(ratio, nan=0.0, posinf=np.inf))
    return CoefficientIntervals(self.coef_, error, self.coef_ - reach, self.coef_ + reach, pvalues)
