"""Which rows are unlike the training rows of a latent-variable model: T², Q, leverage, residuals.

Limits are those of normal rows. The training rows had a part in the mean, the variances and the
loadings, so that their laws are narrower than those of new rows. Where some features fit noise, the
limits do not hold for new rows: see docs/mathematics/pls.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from depmax._resources import chunk_rows, slices
from depmax.algebra.row_sums import dense
from depmax.data import read_target
from depmax.data.sample import read_rows
from depmax.data.scan import by_chunks
from depmax.data.table import is_streamed, require_equal_length
from depmax.maps.feature_map import is_linear


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
