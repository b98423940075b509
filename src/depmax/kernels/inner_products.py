"""Kernels of products of features: linear, polynomial, of all subsets, and of random events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from depmax._parameters import Rule, is_number, number
from depmax.kernels.kernel import Capabilities, Kernel


class Linear(Kernel):
    """Linear kernel, k(x, z) = <x, z>.

    Examples
    --------
    >>> from depmax.kernels import Linear
    >>> Linear()([[1.0, 2.0], [0.0, 1.0]])
    array([[5., 2.],
           [2., 1.]])
    """

    _capabilities: ClassVar[Capabilities] = Capabilities(
        additive_over_features=True,
        embeds_missing=True,
        sparse=True,
        joins_categories="add",
        is_linear=True,
    )

    def features(self, X: Any) -> Any:
        """The rows themselves."""
        return self._read(X)

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        return safe_sparse_dot(X, Z.T, dense_output=True)

    def _diag(self, X: Any) -> np.ndarray:
        return row_norms(X, squared=True)


@dataclass(eq=False, repr=False)
class Polynomial(Kernel):
    """Polynomial kernel, k(x, z) = (<x, z> + offset)^degree.

    Parameters
    ----------
    degree : int, default=2
    offset : float, default=1.0
        At least zero; above zero, every monomial up to ``degree`` contributes.

    Examples
    --------
    >>> from depmax.kernels import Polynomial
    >>> Polynomial(degree=2, offset=1.0)([[1.0], [2.0]])
    array([[ 4.,  9.],
           [ 9., 25.]])
    """

    degree: int = 2
    offset: float = 1.0

    _capabilities: ClassVar[Capabilities] = Capabilities(sparse=True)
    _declared: ClassVar = {
        "degree": Rule(
            lambda value: is_number(value) and value == int(value) >= 1, "a whole number >= 1"
        ),
        "offset": number(0, hint="below zero the kernel is not positive semidefinite"),
    }

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        return self._power(safe_sparse_dot(X, Z.T, dense_output=True))

    def _diag(self, X: Any) -> np.ndarray:
        return self._power(row_norms(X, squared=True))

    def _power(self, products: np.ndarray) -> np.ndarray:
        products += self.offset
        return products ** int(self.degree)


class Subset(Kernel):
    """All-subsets kernel, k(x, z) = ∏ⱼ (1 + xⱼ zⱼ): one monomial per subset of the features.

    Examples
    --------
    >>> from depmax.kernels import Subset
    >>> Subset()([[1.0, 2.0], [3.0, 0.0]])
    array([[10.,  4.],
           [ 4., 10.]])
    """

    _capabilities: ClassVar[Capabilities] = Capabilities(factors_over_features=True)

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        product = np.ones((X.shape[0], Z.shape[0]), dtype=np.result_type(X, Z))
        for x, z in zip(X.T, Z.T, strict=True):
            factor = np.multiply.outer(x, z)
            factor += 1.0
            product *= factor
        return product

    def _diag(self, X: Any) -> np.ndarray:
        return np.prod(1.0 + X**2, axis=1)


@dataclass(eq=False, repr=False)
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

    probabilities: Sequence[float] | None = None

    def features(self, X: Any) -> np.ndarray:
        """Coordinates √pⱼ (xⱼ - P(A)) of shape (n_samples, n_features)."""
        rows = self._read(X)
        weights = self._weights(rows)
        return np.sqrt(weights) * (rows - (rows @ weights)[:, np.newaxis])

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
