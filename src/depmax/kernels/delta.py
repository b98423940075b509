"""The delta kernel of class labels, with weights per class."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar, Literal

import numpy as np

from depmax._limits import require_indicators
from depmax.kernels.kernel import (
    Capabilities,
    Choose,
    ClassWeights,
    Kernel,
    frequencies,
    lookup,
    shares_of,
)

#: Numbers of labels up to which comparing with each costs less than sorting the rows.
MANY_LABELS = 32


class Delta(Kernel):
    """Delta kernel, k(y, y') = c_y if y = y', else 0, for labels of any type.

    Parameters
    ----------
    weights : None, {"balanced", "one_vs_rest"} or mapping from label to weight, default=None
        ``None``: c_y = 1. ``"balanced"``: c_y = 1/p_y with p_y the share of class y (the MUL kernel
        of Song et al., 2012). ``"one_vs_rest"``: c_y = 1/(p_y (1 - p_y))², one feature per class
        against the rest. Shares instead of counts keep HSIC on one scale for any number of samples.
        A label that a mapping does not contain has weight zero.

    Examples
    --------
    >>> from depmax.kernels import Delta
    >>> Delta()(["a", "b", "a"])
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """

    _capabilities: ClassVar[Capabilities] = Capabilities(vector_input=False, labels=True)

    def __init__(
        self, weights: Literal["balanced", "one_vs_rest"] | ClassWeights | None = None
    ) -> None:
        self.weights = weights

    @property
    def is_resolved(self) -> bool:
        """Whether the weights are numbers."""
        return not isinstance(self.weights, str)

    def resolve(
        self, X: Any, choose: Choose | None = None, mass: np.ndarray | None = None
    ) -> Kernel:
        """Copy with one weight per label found in X."""
        if self.weights is not None and not isinstance(self.weights, str):
            if not all(np.isfinite(weight) and weight >= 0 for weight in self.weights.values()):
                raise ValueError(
                    f"weights of Delta must be finite and at least 0, got {dict(self.weights)}: "
                    "below zero the kernel is not positive semidefinite."
                )
            return self
        return self._of_shares(frequencies(self._read(X), mass))

    def resolve_streamed(self, rows: Any) -> Kernel:
        """Copy with one weight per label of rows that are read a chunk at a time."""
        if self.weights is not None and not isinstance(self.weights, str):
            return self.resolve(rows.example)
        return self._of_shares(shares_of(rows, self))

    def _of_shares(self, shares: dict[Hashable, float]) -> Kernel:
        rules = {
            None: lambda share: 1.0,
            "balanced": lambda share: 1.0 / share,
            "one_vs_rest": lambda share: 1.0 / (share * (1.0 - share)) ** 2,
        }
        if self.weights not in rules:
            raise ValueError(
                f"weights of Delta must be None, 'balanced', 'one_vs_rest' or a mapping, "
                f"got {self.weights!r}."
            )
        if self.weights == "one_vs_rest" and len(shares) < 2:
            raise ValueError("weights='one_vs_rest' of Delta needs at least two classes.")
        rule = rules[self.weights]
        return self._copy_with(weights={label: rule(share) for label, share in shares.items()})

    @property
    def has_features(self) -> bool:
        """One indicator per known label, once resolved."""
        return self.weights is not None and self.is_resolved

    def features(self, X: Any) -> np.ndarray:
        """Indicators √c_y e_y of shape (n_samples, n_labels)."""
        assert self.weights is not None
        assert not isinstance(self.weights, str)
        labels, roots = self._read(X), np.sqrt(list(self.weights.values()))
        if len(roots) <= MANY_LABELS:
            known = np.array([label == labels for label in self.weights], dtype=np.float64)
            return known.T * roots
        require_indicators(len(labels), len(roots))
        values, codes = np.unique(labels, return_inverse=True)
        places = {label: place for place, label in enumerate(self.weights)}
        columns = np.array([places.get(value, -1) for value in values.tolist()])[codes]
        (rows,) = np.nonzero(columns >= 0)
        indicators = np.zeros((len(labels), len(roots)))
        indicators[rows, columns[rows]] = roots[columns[rows]]
        return indicators

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        same = (X[:, np.newaxis] == Z[np.newaxis, :]).astype(np.float64)
        return same if self.weights is None else same * self._diag(X)[:, np.newaxis]

    def _diag(self, X: Any) -> np.ndarray:
        if self.weights is None:
            return np.ones(X.shape[0])
        assert not isinstance(self.weights, str)
        return lookup(X, self.weights)
