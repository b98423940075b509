"""The random event kernel: the covariance of two events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from depmax.kernels.kernel import Capabilities, Kernel


class RandomEvent(Kernel):
    """Kernel of random events, k(A, B) = P(A ∩ B) - P(A) P(B), for events given by their members.

    A row lists for each of the d outcomes whether it belongs to the event (1) or not (0); values
    between are degrees of membership.

    Parameters
    ----------
    probabilities : sequence of n_features floats, optional
        Probability of each outcome; equal by default.

    Examples
    --------
    >>> from depmax.kernels import RandomEvent
    >>> RandomEvent()([[1, 1, 0, 0], [1, 0, 1, 0]])
    array([[0.25, 0.  ],
           [0.  , 0.25]])
    """

    _capabilities: ClassVar[Capabilities] = Capabilities()

    def __init__(self, probabilities: Sequence[float] | None = None) -> None:
        self.probabilities = probabilities

    @property
    def has_features(self) -> bool:
        """Memberships, centred and scaled by the probabilities."""
        return True

    def features(self, X: Any) -> np.ndarray:
        """Coordinates √pⱼ (xⱼ - P(A)) of shape (n_samples, n_features)."""
        rows = self._read(X)
        weights = self._weights(rows)
        return np.sqrt(weights) * (rows - (rows @ weights)[:, np.newaxis])

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        weights = self._weights(X)
        return (X * weights) @ Z.T - np.multiply.outer(X @ weights, Z @ weights)

    def _diag(self, X: Any) -> np.ndarray:
        weights = self._weights(X)
        return X**2 @ weights - (X @ weights) ** 2

    def _weights(self, X: np.ndarray) -> np.ndarray:
        if self.probabilities is None:
            return np.full(X.shape[1], 1.0 / X.shape[1], dtype=X.dtype)
        weights = np.asarray(self.probabilities, dtype=X.dtype)
        if weights.shape != (X.shape[1],) or (weights < 0).any():
            raise ValueError(
                f"probabilities of RandomEvent must be {X.shape[1]} non-negative numbers, "
                "one per column of X."
            )
        if not np.isclose(weights.sum(), 1.0):
            raise ValueError(f"probabilities of RandomEvent must sum to 1, got {weights.sum():g}.")
        return weights
