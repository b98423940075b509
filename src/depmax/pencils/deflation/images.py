"""Samples in feature space, seen through products only: in the primal or in the dual."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from depmax.pencils.deflation.examples import Examples
from depmax.pencils.projection import FeatureProjection, Projection
from depmax.samples import Sample, chunk_rows, slices

#: Share of Σ‖φ‖² that is variance, below which the mean is subtracted from the samples themselves.
FAR = 1e-4


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
        """Weights of the direction of one sample, of shape (width,)."""

    def columns(self, indices: np.ndarray) -> np.ndarray:
        """Kernel values of all samples with some, of shape (m, len(indices))."""

    def project(self, weights: np.ndarray, offset: np.ndarray) -> Projection:
        """Features of new rows for these weights; ``offset`` belongs to what ``push`` gives."""


class FeatureImages:
    """The exact features of a kernel, about their mean; sparse ones stay sparse.

    The mean is subtracted from sums over the samples; from dense samples themselves where they are
    far from the origin, since sums would lose digits then.
    """

    dual = False

    def __init__(self, side: Sample, *, center: bool) -> None:
        self.side = side
        self.n_samples = side.n_samples
        self.width = int(side.n_coordinates or 0)
        rows = side.rows
        in_memory = isinstance(rows, np.ndarray) or sparse.issparse(rows)
        self._phi = side.coordinates(slice(None)) if in_memory else None
        self._shift: np.ndarray | None = None  # what is subtracted from samples
        total, squares = np.zeros(self.width), 0.0
        for _, phi in self._blocks():
            total += np.asarray(phi.sum(axis=0)).ravel()
            squares += _square(phi)
        self.mean = total / self.n_samples if center else np.zeros(self.width)
        self._late = self.mean  # what is subtracted from sums
        self.variance = squares - self.n_samples * float(self.mean @ self.mean)
        if self.variance < FAR * squares and not sparse.issparse(side.coordinates(slice(0, 1))):
            self._shift, self._late = self.mean, np.zeros(self.width)
            self.variance = sum(_square(phi) for _, phi in self._blocks())

    def pull(self, values: np.ndarray) -> np.ndarray:
        """ΦᵀV of shape (D, r)."""
        product = np.zeros((self.width, values.shape[1]))
        for rows, phi in self._blocks():
            product += phi.T @ values[rows]
        product -= np.outer(self._late, values.sum(axis=0))
        return product

    def push(self, weights: np.ndarray) -> np.ndarray:
        """ΦU minus its means."""
        image = np.empty((self.n_samples, weights.shape[1]))
        for rows, phi in self._blocks():
            image[rows] = phi @ weights
        image -= self._late @ weights
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
        """The features of one sample, about the mean."""
        return self._take(np.array([index]))[0]

    def columns(self, indices: np.ndarray) -> np.ndarray:
        """Inner products of the features, about the mean."""
        return self.push(self._take(indices).T)

    def project(self, weights: np.ndarray, offset: np.ndarray) -> Projection:
        """Product with the features."""
        return FeatureProjection(self.side.kernel, weights, self.mean @ weights + offset)

    def _take(self, indices: np.ndarray) -> np.ndarray:
        phi = self.side.coordinates(indices) if self._phi is None else self._phi[indices]
        phi = phi.toarray() if sparse.issparse(phi) else phi
        return np.asarray(phi, dtype=np.float64) - self.mean

    def _blocks(self) -> Iterator[tuple[slice, Any]]:
        if sparse.issparse(self._phi):
            yield slice(0, self.n_samples), self._phi
            return
        for rows in slices(self.n_samples, chunk_rows(self.width)):
            phi = self.side.coordinates(rows) if self._phi is None else self._phi[rows]
            if not sparse.issparse(phi):
                phi = np.asarray(phi, dtype=np.float64)
                phi = phi if self._shift is None else phi - self._shift
            yield rows, phi


def _square(phi: Any) -> float:
    """Σ‖φ‖² of some samples."""
    return float(phi.multiply(phi).sum() if sparse.issparse(phi) else np.vdot(phi, phi))


class GramImages:
    """The kernel matrix; weights β of a direction are those of the samples."""

    dual = True

    def __init__(self, side: Sample, *, center: bool) -> None:
        self._examples = Examples.of(side, center=center)
        self.n_samples = self.width = side.n_samples
        self.gram = self._examples.side.gram()
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
        used = np.flatnonzero(weights.any(axis=1))
        return self._examples.project(used, weights[used], offset)


def images_of(side: Sample, *, center: bool, dual: bool | None = None) -> Images:
    """Images in the primal where the kernel has features, else in the dual.

    ``dual`` decides where it is not None; without features the primal is refused.
    """
    has_features = side.n_coordinates is not None
    primal = has_features if dual is None else not dual
    if not primal:
        return GramImages(side, center=center)
    if not has_features:
        raise ValueError(
            f"dual=False needs the features of the kernel, which {side.kernel!r} does not have: "
            "use dual=True or kernel='linear', or pass a map such as NystroemMap as the kernel."
        )
    return FeatureImages(side, center=center)
