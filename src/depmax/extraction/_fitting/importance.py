"""Which columns matter to a linear latent-variable model: VIP, selectivity ratio, intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from depmax.algebra.row_sums import dense
from depmax.data.sample import read_rows
from depmax.extraction._fitting.cross_validation import folds_of
from depmax.extraction._fitting.number_of_components import fit_part
from depmax.extraction._fitting.prediction import FOLDS
from depmax.maps.feature_map import is_linear


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


def vip(model: Any) -> np.ndarray:
    """Importance of the columns: √(D Σ_j SS_j w_j²/Σ_j SS_j), of shape (n_features,).

    The weights w_j, of length 1, follow from R = W(PᵀW)⁻¹, whose factor PᵀW is triangular: they are
    its orthonormal columns.
    """
    n_orthogonal = model.n_orthogonal
    rotations = np.roll(model.components_.T, n_orthogonal, axis=1)  # in the order of deflation
    weights = np.roll(np.linalg.qr(rotations)[0], -n_orthogonal, axis=1)
    explained = model.score_variance_ * np.square(model.target_loadings_).sum(axis=1)
    return np.sqrt(len(weights) * (np.square(weights) @ explained) / explained.sum())


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
