"""Densities of the sources, and which of them a sample looks like.

All three have log p(u) = -u²/2 - k log cosh u - log Z_k: k = 1 has heavier tails than a Gaussian
(super-Gaussian), k = -1 lighter ones (sub-Gaussian, half of N(1, 1) and half of N(-1, 1)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SUPER, GAUSSIAN, SUB = 1, 0, -1
#: What a user calls them.
NAMES = {SUPER: "super-gaussian", GAUSSIAN: "gaussian", SUB: "sub-gaussian"}

_HALF_LOG_2PI = 0.5 * np.log(2.0 * np.pi)
#: log Z_k, the logarithm of ∫ exp(-u²/2) cosh(u)^(-k) du.
LOG_NORMALISERS = {SUPER: 0.6195404611792522, GAUSSIAN: _HALF_LOG_2PI, SUB: _HALF_LOG_2PI + 0.5}

#: A Gaussian source becomes another when the evidence exceeds this many standard errors, and
#: another one becomes Gaussian again when it falls below the second: they do not alternate.
ENTER, LEAVE = 2.5, 1.0

#: More than the sources of Gaussian samples reach, whichever rotation is chosen.
CLEAR = 6.0


def log_normaliser(states: np.ndarray) -> float:
    """Sum of log Z over sources."""
    return float(sum(LOG_NORMALISERS[int(state)] for state in states))


@dataclass(frozen=True)
class Evidence:
    """E[sech²u]E[u²] - E[u tanh u] of every source, zero for a Gaussian one of any variance.

    It is positive for super-Gaussian sources: then k = 1 is where the likelihood has a maximum.
    """

    value: np.ndarray  # shape (N,)
    error: np.ndarray  # standard errors, shape (N,)
    curvature: np.ndarray  # E[sech²u], shape (N,)

    @property
    def is_clear(self) -> bool:
        """Whether no source could be Gaussian."""
        return bool((np.abs(self.value) > CLEAR * self.error).all())

    @classmethod
    def of_moments(cls, sums: np.ndarray, products: np.ndarray, n_samples: int) -> Evidence:
        """From sums (3, N) and sums of products (3, 3, N) of sech²u, u² and u tanh u."""
        means = sums / n_samples
        curvature, power, pull = means
        slopes = np.stack([power, curvature, -np.ones_like(pull)])  # of the value, by each mean
        covariance = products / n_samples - means[:, None] * means[None, :]
        variance = np.einsum("ai,abi,bi->i", slopes, covariance, slopes)
        error = np.sqrt(np.maximum(variance, 0.0) / n_samples)
        return cls(curvature * power - pull, error, curvature)


def signed_states(evidence: Evidence) -> np.ndarray:
    """Heavy or light tails, whichever is nearer; none Gaussian."""
    return np.where(evidence.value >= 0, SUPER, SUB)


def next_states(states: np.ndarray, evidence: Evidence) -> np.ndarray:
    """States after looking at the evidence; ``states`` are those before."""
    value, error = evidence.value, evidence.error
    clear = np.abs(value) > ENTER * error
    stays = states * value > LEAVE * error
    kept = np.where(stays, states, GAUSSIAN)
    return np.where(clear, np.sign(value), kept).astype(np.int64)


def turned_states(states: np.ndarray, evidence: Evidence) -> np.ndarray:
    """States after looking at the evidence, where none may be Gaussian."""
    against = states * evidence.value < -LEAVE * evidence.error
    return np.where(against, -states, states)
