"""What a fitted extractor does to new rows: one map and one product."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from depmax.data.sample import Reference, in_double
from depmax.kernels.kernel import Kernel


@dataclass(frozen=True)
class FeatureProjection:
    """f(x) = (φ(x) - μ)W - shift, from the exact features φ of a kernel.

    The centre μ is taken away first, where features are dense: far from zero, a product would round
    off what tells one row from another.
    """

    kernel: Kernel
    weights: np.ndarray  # W, shape (D, k)
    shift: np.ndarray  # shape (k,)
    centre: np.ndarray | None = None  # μ of the training rows, shape (D,)

    @property
    def offset(self) -> np.ndarray:
        """μW + shift, so that f(x) = φ(x)W - offset."""
        return self.shift if self.centre is None else self.centre @ self.weights + self.shift

    @property
    def width(self) -> int:
        """Columns of the widest matrix on the way."""
        mixing = self.kernel.mixing
        return int(self.weights.shape[0] if mixing is None else mixing.shape[0])

    def first(self, count: int) -> FeatureProjection:
        """The first features only."""
        return replace(self, weights=self.weights[:, :count], shift=self.shift[:count])

    def times(self, factors: np.ndarray) -> FeatureProjection:
        """The same with every feature multiplied by a number."""
        return replace(self, weights=self.weights * factors, shift=self.shift * factors)

    def __call__(self, rows: Any) -> np.ndarray:
        """Features of some rows, of shape (n_rows, k)."""
        mixing, rows = self.kernel.mixing, in_double(rows)
        if mixing is not None:  # two small products instead of a large one
            return self.kernel.unmixed(rows) @ (mixing @ self.weights) - self.offset
        phi = self.kernel.features(rows)
        if self.centre is not None and isinstance(phi, np.ndarray):
            return (phi - self.centre) @ self.weights - self.shift
        return safe_sparse_dot(phi, self.weights, dense_output=True) - self.offset

    def in_features(self) -> FeatureProjection:
        """The same as a product with features."""
        return self

    def inner(self) -> np.ndarray:
        """WᵀW of shape (k, k)."""
        return self.weights.T @ self.weights


@dataclass(frozen=True)
class SampleProjection:
    """f(x) = k(x, reference)Q - offset, from kernel values with reference rows."""

    reference: Reference
    weights: np.ndarray  # Q, shape (n_reference, k)
    offset: np.ndarray  # shape (k,)

    @property
    def width(self) -> int:
        """Columns of the widest matrix on the way."""
        return int(self.weights.shape[0])

    def first(self, count: int) -> SampleProjection:
        """The first features only."""
        return replace(self, weights=self.weights[:, :count], offset=self.offset[:count])

    def of_rows(self, used: np.ndarray) -> SampleProjection:
        """The same from some of the reference rows: the others have no weight."""
        reference = replace(self.reference, rows=self.reference.rows[used])
        return replace(self, reference=reference, weights=self.weights[used])

    def times(self, factors: np.ndarray) -> SampleProjection:
        """The same with every feature multiplied by a number."""
        return replace(self, weights=self.weights * factors, offset=self.offset * factors)

    def __call__(self, rows: Any) -> np.ndarray:
        """Features of some rows, of shape (n_rows, k)."""
        return self.reference.against(rows) @ self.weights - self.offset

    def in_features(self) -> FeatureProjection:
        """The same as a product with the features φ of the kernel: W = φ(reference)ᵀQ."""
        kernel = self.reference.kernel
        assert kernel is not None
        weights = kernel.features(self.reference.rows).T @ self.weights
        return FeatureProjection(kernel, np.asarray(weights, dtype=np.float64), self.offset)

    def inner(self) -> np.ndarray:
        """QᵀKQ of shape (k, k), the inner products of the directions in feature space."""
        kernel = self.reference.kernel
        assert kernel is not None
        return self.weights.T @ kernel(self.reference.rows) @ self.weights


Projection = FeatureProjection | SampleProjection
