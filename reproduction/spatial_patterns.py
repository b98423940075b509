"""Common spatial patterns of EEG trials, plain and with filters that are learnt with them.

A trial is known by the covariances of its channels, of which those at a lag are the matrices
C_τ = mean over t of s(t) s(t + τ)ᵀ; after any linear filter the power of a pattern w is a sum of
wᵀC_τw. Every model here is fitted to some trials and gives log powers of all.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg, optimize

#: Patterns per class, as is usual; the papers' tables do not say.
PATTERNS = 3
#: Share of the mean variance that is added to covariances, so that few trials do not break them.
RIDGE = 1e-3
#: Length of the filter of CSSSP, as in its publication.
TAPS = 16

#: Log powers of all trials, from lagged covariances (n_trials, n_lags, channels, channels), the
#: trials to learn from, and the classes of all trials (0 and 1).
Model = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def lagged_covariances(signals: np.ndarray, n_lags: int = 1) -> np.ndarray:
    """C_τ of every trial for τ = 0, …, n_lags - 1; (n_trials, n_lags, channels, channels)."""
    n_samples = signals.shape[2]
    found = [
        signals[:, :, : n_samples - lag] @ signals[:, :, lag:].transpose(0, 2, 1)
        for lag in range(n_lags)
    ]
    covariances: np.ndarray = np.stack(found, axis=1) / n_samples
    return covariances


def csp(lagged: np.ndarray, train: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Plain common spatial patterns."""
    return _log_powers(lagged[:, 0], train, y)


def cssp(lagged: np.ndarray, train: np.ndarray, y: np.ndarray, delay: int) -> np.ndarray:
    """Patterns of the channels and of the same channels a delay later: a filter per channel."""
    here, later = lagged[:, 0], lagged[:, delay]
    blocks = np.block([[here, later], [later.transpose(0, 2, 1), here]])
    return _log_powers(blocks, train, y)


def csssp(lagged: np.ndarray, train: np.ndarray, y: np.ndarray, penalty: float) -> np.ndarray:
    """Patterns after one filter for all channels, sparse in time; each class has its own filter.

    The filter b, b₀ = 1, has the largest power of one class over that of both, less
    penalty/TAPS · Σ|b_τ|.
    """
    symmetric = lagged[:, :TAPS] + lagged[:, :TAPS].transpose(0, 1, 3, 2)
    symmetric[:, 0] /= 2
    found = []
    for level in (0, 1):
        one, other = (
            symmetric[train][y[train] == label].mean(axis=0) for label in (level, 1 - level)
        )
        powers = _powers_of(_filter(one, other, penalty))
        filtered = np.tensordot(symmetric, powers, axes=([1], [0]))
        found.append(_log_powers(filtered, train, y, which=level))
    return np.hstack(found)


def _filter(one: np.ndarray, other: np.ndarray, penalty: float) -> np.ndarray:
    """The filter of a class: b₀ = 1, the other values as positive and negative parts."""
    n_taps = len(one)

    def loss(parts: np.ndarray) -> tuple[float, np.ndarray]:
        b = np.concatenate([[1.0], parts[: n_taps - 1] - parts[n_taps - 1 :]])
        weights = _powers_of(b)
        first, second = (np.tensordot(weights, means, axes=1) for means in (one, other))
        value, vectors = _leading(first, first + second, 1)
        w = vectors[:, 0]
        # of the largest eigenvalue, by each power of the filter, and those by its values
        by_power = np.einsum("tcd,c,d->t", (1 - value) * one - value * other, w, w)
        slopes = np.array(
            [
                2 * b[tap] * by_power[0]
                + sum(
                    by_power[lag] * (b[tap + lag] if tap + lag < n_taps else 0.0)
                    + by_power[lag] * (b[tap - lag] if tap >= lag else 0.0)
                    for lag in range(1, n_taps)
                )
                for tap in range(1, n_taps)
            ]
        )
        cost = penalty / n_taps
        return float(cost * parts.sum() - value), np.concatenate([cost - slopes, cost + slopes])

    start = np.zeros(2 * (n_taps - 1))
    bounds = [(0.0, None)] * len(start)
    best = optimize.minimize(
        loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": 50}
    ).x
    return np.concatenate([[1.0], best[: n_taps - 1] - best[n_taps - 1 :]])


def _powers_of(b: np.ndarray) -> np.ndarray:
    """Σ_j b_j b_{j+τ} for every lag: what C_τ counts in the power after the filter."""
    return np.correlate(b, b, mode="full")[len(b) - 1 :]


def _leading(one: np.ndarray, both: np.ndarray, count: int) -> tuple[float, np.ndarray]:
    """Largest power of one class over that of both, and the patterns of the largest ones."""
    size = len(one)
    ridge = RIDGE * np.trace(both) / size * np.eye(size)
    values, vectors = linalg.eigh(one, both + ridge, subset_by_index=(size - count, size - 1))
    return float(values[-1]), vectors[:, ::-1]


def _log_powers(
    covariances: np.ndarray, train: np.ndarray, y: np.ndarray, which: int | None = None
) -> np.ndarray:
    """Log power of all trials in the patterns of both classes, or of one."""
    means = [covariances[train][y[train] == level].mean(axis=0) for level in (0, 1)]
    both = means[0] + means[1]
    levels = (0, 1) if which is None else (which,)
    W = np.hstack([_leading(means[level], both, PATTERNS)[1] for level in levels])
    powers: np.ndarray = np.log(np.einsum("tcd,cp,dp->tp", covariances, W, W, optimize=True))
    return powers
