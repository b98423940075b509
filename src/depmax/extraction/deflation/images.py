"""Samples in feature space, seen through products only: in the primal or in the dual."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from depmax.extraction.projection import FeatureProjection, Projection, SampleProjection
from depmax.samples import Sample, chunk_rows, slices


class Images(Protocol):
    """Φ of m samples. A direction u is given by its weights: u itself, or β with u = Φᵀβ."""

    n_samples: int
    width: int  # number of weights of a direction
    dual: bool
    variance: float  # Σ‖φ(x_i) - mean‖², or about zero without centring

    def pull(self, values: np.ndarray) -> np.ndarray:
        """Weights of the directions ΦᵀV for V of shape (m, r) that centring leaves as it is."""

    def push(self, weights: np.ndarray) -> np.ndarray:
        """ΦU of shape (m, r), up to a constant in every column if there is centring."""

    def inner(self, weights: np.ndarray) -> np.ndarray:
        """UᵀU of shape (r, r), measured in feature space."""

    def square(self, weights: np.ndarray, image: np.ndarray) -> float:
        """‖u‖² of one direction with the image Φu."""

    def reach(self, weights: np.ndarray) -> float:
        """What ‖Φu‖ cannot exceed, given the weights of u: the scale of its rounding errors."""

    def example(self, index: int) -> np.ndarray:
        """Weights of the direction φ(x_i), of shape (width,)."""

    def columns(self, indices: np.ndarray) -> np.ndarray:
        """Kernel values of all samples with some, of shape (m, len(indices))."""

    def project(self, weights: np.ndarray, offset: np.ndarray) -> Projection:
        """Features of new rows for these weights; ``offset`` belongs to what ``push`` gives."""


class FeatureImages:
    """The exact features of a kernel; sparse ones stay sparse, and the mean is never subtracted."""

    dual = False

    def __init__(self, side: Sample, *, center: bool) -> None:
        self.side = side
        self.n_samples = side.n_samples
        self.width = int(side.n_coordinates or 0)
        rows = side.rows
        in_memory = isinstance(rows, np.ndarray) or sparse.issparse(rows)
        self._phi = side.coordinates(slice(None)) if in_memory else None
        total, squares = np.zeros(self.width), 0.0
        for _, phi in self._blocks():
            total += np.asarray(phi.sum(axis=0)).ravel()
            squares += float(phi.multiply(phi).sum() if sparse.issparse(phi) else np.vdot(phi, phi))
        self.mean = total / self.n_samples if center else np.zeros(self.width)
        self.variance = squares - self.n_samples * float(self.mean @ self.mean)

    def pull(self, values: np.ndarray) -> np.ndarray:
        """ΦᵀV of shape (D, r)."""
        product = np.zeros((self.width, values.shape[1]))
        for rows, phi in self._blocks():
            product += phi.T @ values[rows]
        product -= np.outer(self.mean, values.sum(axis=0))
        return product

    def push(self, weights: np.ndarray) -> np.ndarray:
        """ΦU minus its means."""
        image = np.empty((self.n_samples, weights.shape[1]))
        for rows, phi in self._blocks():
            image[rows] = phi @ weights
        image -= self.mean @ weights
        return image

    def inner(self, weights: np.ndarray) -> np.ndarray:
        """UᵀU."""
        return weights.T @ weights

    def square(self, weights: np.ndarray, image: np.ndarray) -> float:
        """uᵀu."""
        return float(weights @ weights)

    def reach(self, weights: np.ndarray) -> float:
        """√Σ‖φ‖²‖u‖."""
        return float(np.sqrt(self.variance) * np.linalg.norm(weights))

    def example(self, index: int) -> np.ndarray:
        """The features of one sample."""
        return self._take(np.array([index]))[0]

    def columns(self, indices: np.ndarray) -> np.ndarray:
        """Inner products of the features."""
        others = self._take(indices).T
        values = np.empty((self.n_samples, len(indices)))
        for rows, phi in self._blocks():
            values[rows] = phi @ others
        return values

    def project(self, weights: np.ndarray, offset: np.ndarray) -> Projection:
        """Product with the features."""
        return FeatureProjection(self.side.kernel, weights, self.mean @ weights + offset)

    def _take(self, indices: np.ndarray) -> np.ndarray:
        phi = self.side.coordinates(indices) if self._phi is None else self._phi[indices]
        phi = phi.toarray() if sparse.issparse(phi) else phi
        return np.asarray(phi, dtype=np.float64)

    def _blocks(self) -> Iterator[tuple[slice, Any]]:
        if sparse.issparse(self._phi):
            yield slice(0, self.n_samples), self._phi
            return
        for rows in slices(self.n_samples, chunk_rows(self.width)):
            phi = self.side.coordinates(rows) if self._phi is None else self._phi[rows]
            yield rows, phi if sparse.issparse(phi) else np.asarray(phi, dtype=np.float64)


class GramImages:
    """The kernel matrix; weights β of a direction are those of the samples."""

    dual = True

    def __init__(self, side: Sample, *, center: bool, precomputed: bool) -> None:
        self.side = side
        self.n_samples = self.width = side.n_samples
        self.gram = side.gram()
        self._precomputed = precomputed
        mean = self.gram.sum() / self.n_samples if center else 0.0
        self.variance = float(np.trace(self.gram) - mean)

    def pull(self, values: np.ndarray) -> np.ndarray:
        """V itself: the direction ΦᵀV has the weights V."""
        return values

    def push(self, weights: np.ndarray) -> np.ndarray:
        """KB."""
        return self.gram @ weights

    def inner(self, weights: np.ndarray) -> np.ndarray:
        """BᵀKB."""
        return weights.T @ (self.gram @ weights)

    def square(self, weights: np.ndarray, image: np.ndarray) -> float:
        """βᵀKβ."""
        return float(weights @ image)

    def reach(self, weights: np.ndarray) -> float:
        """Tr K‖β‖."""
        return float(self.variance * np.linalg.norm(weights))

    def example(self, index: int) -> np.ndarray:
        """The unit vector of one sample."""
        unit = np.zeros(self.n_samples)
        unit[index] = 1.0
        return unit

    def columns(self, indices: np.ndarray) -> np.ndarray:
        """Columns of K."""
        return self.gram[:, indices]

    def project(self, weights: np.ndarray, offset: np.ndarray) -> Projection:
        """Product with the kernel values of those training rows that have weights."""
        kernel = None if self._precomputed else self.side.kernel
        used = np.flatnonzero(weights.any(axis=1))
        return SampleProjection(kernel, self.side.rows[used], weights[used], offset)


def images_of(side: Sample, *, center: bool, precomputed: bool, dual: bool | None = None) -> Images:
    """Images in the primal where the kernel has features, else in the dual.

    ``dual`` decides where it is not None; without features the primal is refused.
    """
    has_features = side.n_coordinates is not None
    primal = has_features if dual is None else not dual
    if not primal:
        return GramImages(side, center=center, precomputed=precomputed)
    if not has_features:
        raise ValueError(
            f"dual=False needs the features of the kernel, which {side.kernel!r} does not have: "
            "use dual=True or kernel='linear', or pass a map such as NystroemMap as the kernel."
        )
    return FeatureImages(side, center=center)
