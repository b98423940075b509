"""What a fitted extractor does to new rows: one map and one product."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from depmax.data.sample import Reference, Sample, in_double
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


#: Rows whose features are made twice, and the difference, relative to the largest, that is allowed.
PROBE_ROWS, REPEATED = 256, 1e-6


def n_repeated(projection: Projection, side: Sample, features: np.ndarray) -> int:
    """Number of the first features that the projection makes of the training rows once more.

    Those of a direction that is spanned by earlier ones up to rounding errors, or of no variance,
    have weights that blow rounding errors up.

    Parameters
    ----------
    projection : Projection
    side : Sample
        The training rows, in memory.
    features : ndarray of shape (m, k)
        As the fit has made them.
    """
    probe = np.unique(np.linspace(0, side.n_samples - 1, PROBE_ROWS).astype(np.intp))
    rows = side.kernel.matrix[side.rows[probe]] if side.precomputed else side.rows[probe]
    error = np.abs(projection(rows) - features[probe]).max(axis=0)
    differs = ~(error <= REPEATED * np.abs(features).max(axis=0))
    return int(differs.argmax()) if differs.any() else features.shape[1]


@dataclass(frozen=True)
class Fitted:
    """What ``fit`` knows of the features of the training rows."""

    make_features: Callable[[], np.ndarray]
    dtype: np.dtype
    complete: bool  # whether these are all rows of X

    @property
    def features(self) -> np.ndarray:
        """Features of the training rows."""
        return self.make_features().astype(self.dtype, copy=False)
