"""Directions that single samples are: φ(x_i), from the mean where it is at hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from depmax.algebra.row_sums import squared_lengths
from depmax.algebra.space import FeatureProjection, Projection, SampleProjection, Space
from depmax.data.chunks import Chunk
from depmax.data.sample import Sample, in_double


@dataclass(frozen=True)
class Examples:
    """Samples each of which is a direction, φ(x_i) - μ, or φ(x_i) where μ is not at hand.

    Centring in feature space makes the answer independent of where the origin is. With exact
    features (the linear kernel, maps) it costs one product. For other kernels every new row would
    have to be compared with all training rows: directions are then measured from the origin.
    """

    data: Sample
    mean: np.ndarray | None  # μ of shape (D,)

    @classmethod
    def of(cls, data: Sample, *, center: bool) -> Examples:
        """All samples."""
        if not (center and data.has_features):
            return cls(data, None)
        return cls(data, Space.of_sample(data).mean)

    def take(self, indices: np.ndarray) -> Examples:
        """Some of the samples."""
        return replace(self, data=self.data.take(indices))

    def against(self, rows: Any) -> np.ndarray:
        """⟨φ(x) - μ, φ(x_i) - μ⟩ of some rows x and all examples; sparse features stay sparse."""
        if self.mean is None:
            return self.data.kernel(in_double(rows), in_double(self.data.rows))
        left, right, mean = self._features(rows), self._features(self.data.rows), self.mean
        if not sparse.issparse(left):
            return left @ right.T
        values: np.ndarray = (left @ right.T).toarray()
        values -= (left @ mean)[:, np.newaxis]
        values -= right @ mean
        values += mean @ mean
        return values

    def gram(self) -> np.ndarray:
        """The same of all examples."""
        return self.data.gram() if self.mean is None else self.against(self.data.rows)

    def diag(self) -> np.ndarray:
        """Its diagonal, ‖φ(x_i) - μ‖²."""
        if self.mean is None:
            return self.data.diag()
        phi = self._features(self.data.rows)
        squares = squared_lengths(phi)
        if sparse.issparse(phi):
            squares += self.mean @ self.mean - 2 * (phi @ self.mean)
        return squares

    def project(self, indices: np.ndarray, weights: np.ndarray, offset: np.ndarray) -> Projection:
        """Features of new rows along Σ β_i(φ(x_i) - μ), for β of shape (len(indices), k)."""
        chosen = self.data.take(indices)
        if self.mean is None:
            return SampleProjection(chosen.reference(), weights, offset)
        phi = self._features(chosen.rows)
        directions: np.ndarray = phi.T @ weights
        if sparse.issparse(phi):
            directions -= np.outer(self.mean, weights.sum(axis=0))
        return FeatureProjection(self.data.kernel, directions, offset, self.mean)

    def _features(self, rows: Any) -> Any:
        """Dense features minus the mean; sparse features as they are."""
        phi, mean = self.data.kernel.features(in_double(rows)), self.mean
        assert mean is not None
        return phi.astype(np.float64) if sparse.issparse(phi) else phi - mean


@dataclass(frozen=True)
class ExampleColumns:
    """The same kernel values of the rows of a block."""

    examples: Examples
    view: Any

    def __call__(self, block: Chunk) -> np.ndarray:
        """Of shape (n, n_examples)."""
        return self.examples.against(self.view(block))
