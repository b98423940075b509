"""Directions that single samples are: φ(x_i), from the mean where it is at hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from depmax.algebra.coordinates import FeatureProjection, Projection, SampleProjection
from depmax.algebra.space import Space
from depmax.data.sample import Sample, in_double
from depmax.kernels import Capabilities
from depmax.kernels.kernel import Kernel


class CentredKernel(Kernel):
    """<φ(x) - μ, φ(z) - μ> for the exact features φ of a kernel; sparse ones stay sparse.

    Parameters
    ----------
    kernel : Kernel
        Resolved, with features.
    mean : ndarray of shape (D,)
        μ.
    """

    def __init__(self, kernel: Kernel, mean: np.ndarray) -> None:
        self.kernel = kernel
        self.mean = mean

    @property
    def capabilities(self) -> Capabilities:
        """Reads what the kernel reads."""
        inner = self.kernel.capabilities
        return Capabilities(vector_input=inner.vector_input, sparse=inner.sparse)

    def _read(self, X: Any) -> Any:
        return X  # the features of the kernel read it

    def _gram(self, X: Any, Z: Any) -> np.ndarray:
        left = self._about_mean(X)
        right = left if X is Z else self._about_mean(Z)
        if not sparse.issparse(left):
            return left @ right.T
        values: np.ndarray = (left @ right.T).toarray()
        values -= (left @ self.mean)[:, np.newaxis]
        values -= right @ self.mean
        values += self.mean @ self.mean
        return values

    def _diag(self, X: Any) -> np.ndarray:
        phi = self._about_mean(X)
        if not sparse.issparse(phi):
            return np.einsum("ij,ij->i", phi, phi)
        squares = np.asarray(phi.multiply(phi).sum(axis=1)).ravel()
        return squares - 2 * (phi @ self.mean) + self.mean @ self.mean

    def _about_mean(self, X: Any) -> Any:
        """Dense features minus the mean; sparse features as they are."""
        phi = self.kernel.features(in_double(X))
        if sparse.issparse(phi):
            return phi.astype(np.float64)
        return np.asarray(phi, dtype=np.float64) - self.mean


@dataclass(frozen=True)
class Examples:
    """Samples each of which is a direction, φ(x_i) - μ, or φ(x_i) where μ is not at hand.

    Centring in feature space makes the answer independent of where the origin is. With exact
    features (the linear kernel, maps) it costs one product. For other kernels every new row would
    have to be compared with all training rows: directions are then measured from the origin.
    """

    data: Sample  # the samples, with the kernel of the centred directions
    kernel: Kernel  # as the user gave it, resolved
    mean: np.ndarray | None  # μ of shape (D,)

    @classmethod
    def of(cls, data: Sample, *, center: bool) -> Examples:
        """All samples."""
        if not (center and data.kernel.has_features):
            return cls(data, data.kernel, None)
        mean = Space.of_sample(data).mean
        centred = replace(data, kernel=CentredKernel(data.kernel, mean)).in_double()
        return cls(centred, data.kernel, mean)

    def project(self, indices: np.ndarray, weights: np.ndarray, offset: np.ndarray) -> Projection:
        """Features of new rows along Σ β_i(φ(x_i) - μ), for β of shape (len(indices), k)."""
        chosen = self.data.take(indices)
        if self.mean is None:
            return SampleProjection(chosen.reference(), weights, offset)
        phi = self.kernel.features(chosen.rows)
        if sparse.issparse(phi):
            if not self.kernel.capabilities.is_linear:  # features may be too many to have weights
                return SampleProjection(chosen.reference(), weights, offset)
            directions = phi.T @ weights - np.outer(self.mean, weights.sum(axis=0))
        else:
            directions = (phi - self.mean).T @ weights
        return FeatureProjection(self.kernel, directions, offset, self.mean)
