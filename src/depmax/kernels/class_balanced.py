"""The class-balanced kernel of two classes, which turns HSIC into MMD."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

import numpy as np

from depmax.kernels.kernel import (
    Capabilities,
    Choose,
    ClassWeights,
    Kernel,
    frequencies,
    lookup,
    shares_of,
)


class ClassBalanced(Kernel):
    """Balanced kernel of two classes: k(y, y') = w_y w_y' with w = ∓1/p for classes with shares p.

    The BIN kernel of Song et al. (2012), with shares instead of counts. The kernel matrix is
    already centred, and m²/(m-1)² times the biased squared MMD between the classes is HSIC₀.

    Parameters
    ----------
    weights : mapping from label to weight, optional
        Signed weights of the two labels; ``resolve`` computes them from the labels, with the first
        in sorted order negative.

    Examples
    --------
    >>> from depmax.kernels import ClassBalanced
    >>> ClassBalanced()(["sick", "well", "well", "well"]).round(2)
    array([[16.  , -5.33, -5.33, -5.33],
           [-5.33,  1.78,  1.78,  1.78],
           [-5.33,  1.78,  1.78,  1.78],
           [-5.33,  1.78,  1.78,  1.78]])
    """

    _capabilities: ClassVar[Capabilities] = Capabilities(vector_input=False, labels=True)

    def __init__(self, weights: ClassWeights | None = None) -> None:
        self.weights = weights

    @property
    def is_resolved(self) -> bool:
        """Whether the weights are numbers."""
        return self.weights is not None

    def resolve(
        self, X: Any, choose: Choose | None = None, mass: np.ndarray | None = None
    ) -> Kernel:
        """Copy with the signed weights of the two labels found in X."""
        if self.weights is not None:
            return self
        return self._of_shares(frequencies(self._read(X), mass))

    def resolve_streamed(self, rows: Any) -> Kernel:
        """Copy with the signed weights of two labels of rows that are read a chunk at a time."""
        return self if self.weights is not None else self._of_shares(shares_of(rows, self))

    def _of_shares(self, shares: dict[Hashable, float]) -> Kernel:
        if len(shares) != 2:
            raise ValueError(
                f"ClassBalanced compares two classes, but the labels have {len(shares)}: "
                "use Delta(weights='balanced') for many."
            )
        (negative, p_negative), (positive, p_positive) = shares.items()
        return self._copy_with(weights={negative: -1.0 / p_negative, positive: 1.0 / p_positive})

    @property
    def has_features(self) -> bool:
        """One signed coordinate, once resolved."""
        return self.is_resolved

    def features(self, X: Any) -> np.ndarray:
        """The signed weights as one column."""
        return self._signed(self._read(X))[:, np.newaxis]

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        return np.multiply.outer(self._signed(X), self._signed(Z))

    def _diag(self, X: Any) -> np.ndarray:
        return self._signed(X) ** 2

    def _signed(self, labels: np.ndarray) -> np.ndarray:
        assert self.weights is not None
        return lookup(labels, self.weights)
