"""Directions among those of unit variance: how much variance is added, and when units cancel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import linalg

from depmax._parameters import number
from depmax.algebra import Space, Sphere
from depmax.algebra.directions import negligible
from depmax.algebra.graphs import Laplacian
from depmax.data.sample import Sample
from depmax.kernels.kernel import Kernel

#: Regularisation, or the choice of it.
Alpha = float | Literal["auto"]
#: What ``alpha`` may be.
ALPHA = number(0, also=["auto"])
#: What ``alpha="auto"`` adds where there are as many coordinates as samples, or more.
SINGULAR = 0.1
#: Smallest eigenvalue of a kernel matrix, relative to rounding errors, that ends in a gap.
GAP = 1e3


def chosen_alpha(
    alpha: Alpha, space: Space, n_groups: int, kernel: Kernel, width: int | None
) -> float:
    """The number that ``alpha`` stands for, however the same kernel is given.

    ``"auto"`` is nothing where samples span so few dimensions that the covariance within
    ``n_groups`` groups of them is known, and 0.1 where a direction could fit any target. Without
    few features they do so if the eigenvalues of the kernel matrix end in a gap, as those of a
    linear kernel that is passed as a matrix do; those of a Gaussian kernel, or of its landmarks,
    fade out, or are as many as the samples that differ.
    """
    if alpha != "auto":
        return float(alpha)
    exact = kernel.has_features and kernel.mixing is None
    if exact and width is not None and min(width, space.total) + n_groups <= space.total:
        return 0.0
    scatter = space.scatter  # diagonal without features: coordinates are principal components
    values = linalg.eigvalsh(scatter) if kernel.has_features else np.diag(scatter)
    noise = negligible(space.eps) * values.max(initial=0.0)
    size = int((values > noise).sum()) + n_groups
    few = size < space.n_samples and bool((values[values > noise] > GAP * noise).all())
    return 0.0 if few and _more_differ(space, size) else SINGULAR


def alpha_of(model: Any, data: Sample, space: Space, n_groups: int = 1) -> float:
    """``alpha`` of an extractor as a number; ``n_groups`` means take so many parameters."""
    return chosen_alpha(model.alpha, space, n_groups, data.kernel, data.n_coordinates)


def units_cancel(model: Any, data: Sample, n_groups: int = 1) -> bool:
    """Whether sphering undoes any scaling of columns: linear features, no variance added."""
    width = data.n_coordinates
    if not data.kernel.capabilities.is_linear or width is None:
        return False
    if model.alpha == "auto":
        return width + n_groups <= data.total
    return float(model.alpha) == 0.0


def unit_variance(space: Space, vectors: np.ndarray) -> np.ndarray:
    """Directions at which features have variance 1; directions of no variance stay as they are."""
    variances = np.einsum("ij,ij->j", vectors, space.covariance @ vectors)
    squares = np.einsum("ij,ij->j", vectors, vectors)
    still = variances <= 1e-14 * squares * max(float(np.trace(space.covariance)), 0.0)
    return vectors / np.sqrt(np.where(still, 1.0, variances))


def sphere_of_graph(space: Space, laplacian: Laplacian, alpha: float) -> Sphere:
    """Sphere of B = ΦᵀDΦ about the mean weighted by D; for a normalised Laplacian of ΦᵀΦ."""
    if laplacian.normalized:
        size, total = space.scatter, float(space.n_samples)
    else:
        degrees = laplacian.degrees

        def weighted(values: np.ndarray) -> np.ndarray:
            images: np.ndarray = degrees[:, np.newaxis] * values
            return images - np.outer(degrees, images.sum(axis=0) / degrees.sum())

        size, total = space.quadratic(weighted), float(degrees.sum())
    return Sphere.of(size, alpha, eps=space.eps, noise=total * space.rounding)


@dataclass(frozen=True)
class _Places:
    """Different places on a line, at most so many, gathered from parts of the samples."""

    direction: np.ndarray
    gap: float
    most: int
    found: np.ndarray

    def __call__(self, phi: Any, part: Any) -> _Places:
        return self._distinct(np.asarray(phi @ self.direction).ravel())

    def __add__(self, other: _Places) -> _Places:
        return self._distinct(np.append(self.found, other.found))

    def _distinct(self, places: np.ndarray) -> _Places:
        places = np.sort(places)
        apart = np.append(True, np.diff(places) > self.gap)[: len(places)]
        return replace(self, found=places[apart][: self.most])


def _more_differ(space: Space, count: int) -> bool:
    """Whether more samples than these differ, by their place on a line of any direction."""
    direction = np.random.default_rng(0).standard_normal(space.dimension)
    width = np.sqrt(max(float(direction @ space.covariance @ direction), 0.0))
    gap = GAP * negligible(space.eps) * width
    places = space.summed(_Places(direction, gap, count + 1, np.empty(0)))
    return len(places.found) > count
