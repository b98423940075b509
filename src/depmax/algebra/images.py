"""Samples in feature space, seen through products only: in the primal or in the dual."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from depmax.algebra.examples import Examples
from depmax.algebra.projection import FeatureProjection, Projection, SampleProjection
from depmax.algebra.row_sums import dense
from depmax.algebra.space import Space, precision_of
from depmax.data.sample import Sample


class Images(Protocol):
    """Φ of m samples. A direction u is given by its weights: u itself, or β with u = Φᵀβ."""

    n_samples: int
    width: int  # number of weights of a direction
    dual: bool

    @property
    def variance(self) -> float:
        """Σ‖φ(x_i) - mean‖², or about zero without centring."""

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
    """The primal: the exact features of a kernel, about their mean; sparse ones stay sparse.

    Parameters
    ----------
    side : Sample
        With a kernel that has features.
    center : bool
        Without centring the mean is zero.
    hold : bool
        Whether features are made once and kept, where the rows are in memory: for methods that
        visit the samples many times.
    """

    dual = False

    def __init__(self, side: Sample, *, center: bool = True, hold: bool = False) -> None:
        self.side = side
        self.n_samples = side.n_samples
        self.width = int(side.n_coordinates or 0)
        if hold and side.is_in_memory:
            phi = side.coordinates(slice(None))
            self.space = Space.of_array(phi, precision_of(side), center=center, mass=side.mass)
        else:
            self.space = Space.of_sample(side, center=center)

    @property
    def mean(self) -> np.ndarray:
        """Mean of the features, of shape (D,); zero without centring."""
        return self.space.mean

    @property
    def lean(self) -> np.ndarray:
        """Σ ‖φ - mean‖²(φ - mean), of shape (D,)."""
        return self.space.lean

    @property
    def variance(self) -> float:
        """Σ‖φ - mean‖²."""
        return self.space.variance

    def pull(self, values: np.ndarray) -> np.ndarray:
        """ΦᵀV of shape (D, r)."""
        return self.space.cross(values)

    def push(self, weights: np.ndarray) -> np.ndarray:
        """ΦU minus its means."""
        return self.space.features(weights)

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

    def covariances(self, directions: np.ndarray) -> np.ndarray:
        """SP."""
        return self.space.scatter @ directions

    def project(self, weights: np.ndarray, offset: np.ndarray | float = 0.0) -> Projection:
        """Product with the features."""
        return FeatureProjection(
            self.side.kernel, weights, np.broadcast_to(offset, weights.shape[1:]).copy(), self.mean
        )

    def _take(self, indices: np.ndarray) -> np.ndarray:
        phi = dense(self.side.coordinates(indices))
        return np.asarray(phi, dtype=np.float64) - self.mean


class GramImages:
    """The dual: the kernel matrix; weights β of a direction are those of the samples."""

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


class CountedImages(GramImages):
    """The dual of samples that stand for several each: W^½HKHᵀW^½ is the kernel matrix.

    Values at the samples are multiplied by the roots of the masses W, weights β are those of
    W^½(φ - μ), and nothing is left to centre.
    """

    def __init__(self, side: Sample, mass: np.ndarray) -> None:
        self.n_samples = self.width = side.n_samples
        self._side, self._roots = side, np.sqrt(mass)
        self._shares = mass / mass.sum()
        gram = side.gram()
        self._mean = self._shares @ gram  # ⟨μ, φ⟩ of every sample
        centred = gram - self._mean - self._mean[:, np.newaxis] + self._mean @ self._shares
        self.gram = self._roots[:, np.newaxis] * centred * self._roots
        self.variance = float(np.trace(self.gram))

    def project(self, weights: np.ndarray, offset: np.ndarray) -> Projection:
        """Product with the kernel values of the training rows."""
        own = self._roots[:, np.newaxis] * weights
        own -= np.outer(self._shares, own.sum(axis=0))
        return SampleProjection(self._side.reference(), own, offset + self._mean @ own)


def images_of(side: Sample, *, center: bool, dual: bool | None = None) -> Images:
    """The samples for methods that visit them many times, in the primal or in the dual."""
    if dual is False and not side.has_features:
        raise ValueError(
            f"dual=False needs the features of the kernel, which {side.kernel!r} does not have: "
            "use dual=True or kernel='linear', or pass a map such as NystroemMap as the kernel."
        )
    if side.has_features if dual is None else not dual:
        return FeatureImages(side, center=center, hold=True)
    return GramImages(side, center=center)
