"""The deflation loop: choose a direction, take its feature, go on with what is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from depmax.pencils.deflation.orthogonal import OrthogonalFeatures
from depmax.pencils.images import Images

#: A target, or its covariance with the inputs, below this relative to where it began is zero.
EXHAUSTED = 1e-11
#: Rounding errors of a product, relative to what it could be.
ROUNDING = 1e-14


class Residual:
    """What is left of the samples and of the target after some features: the view of a criterion.

    In the primal a direction is its weights u_j of shape (D,), in the dual its weights β_j of
    shape (m,), u_j = Φᵀβ_j.

    Attributes
    ----------
    target : ndarray of shape (m, r) or None
        Y as it was given; numbers as they are, two classes as -1 and +1, more as indicators.
    dual : bool
        Whether directions are given by β.
    """

    def __init__(
        self, images: Images, found: OrthogonalFeatures, target: np.ndarray | None
    ) -> None:
        self.images = images
        self.found = found
        self.target = target
        self.dual = images.dual

    @property
    def n_samples(self) -> int:
        """Number of samples m."""
        return self.images.n_samples

    @property
    def features(self) -> np.ndarray:
        """T of shape (m, j), the features so far, orthogonal."""
        return self.found.features

    @property
    def left_target(self) -> np.ndarray:
        """Y_j = (I - Π_T)Y of shape (m, r)."""
        if self.target is None:
            raise ValueError("This criterion needs a target: pass y.")
        return self.found.residual(self.target)

    @property
    def matrix(self) -> np.ndarray:
        """X_j of shape (m, D) in the primal, K_j of shape (m, m) in the dual; dense."""
        return self.found.residual(self.images.push(np.eye(self.images.width)))

    def pull(self, values: np.ndarray) -> np.ndarray:
        """X_jᵀV of shape (D, r) in the primal, its weights (I - Π_T)V in the dual."""
        return self.images.pull(self.found.residual(values))

    def push(self, directions: np.ndarray) -> np.ndarray:
        """X_jU of shape (m, r) in the primal, K_jB in the dual."""
        return self.found.residual(self.images.push(directions))

    def covaries(self, values: np.ndarray, directions: np.ndarray) -> bool:
        """Whether X_jᵀV, given by its weights, is more than rounding errors."""
        size = np.sqrt(max(float(np.trace(self.images.inner(directions))), 0.0))
        scale = np.sqrt(self.images.variance) * float(np.linalg.norm(values))
        return bool(size > EXHAUSTED * scale)


#: Gives the weights of the next direction, or None if there is none.
Criterion = Callable[[Residual], np.ndarray | None]
#: How long a direction is made: ‖u_j‖ = 1, ‖τ_j‖ = 1, or as the criterion gives it.
Scale = Literal["direction", "feature", "given"]


def deflate(
    images: Images,
    target: np.ndarray | None,
    criterion: Criterion,
    n_features: int,
    *,
    center: bool,
    scale: Scale = "direction",
) -> tuple[np.ndarray, OrthogonalFeatures]:
    """Directions of shape (width, k) and the orthogonal features that they lead to.

    Fewer than requested where the criterion ends or its direction leads to earlier features only.
    """
    found = OrthogonalFeatures(images.n_samples, n_features, center=center)
    residual = Residual(images, found, target)
    directions: list[np.ndarray] = []
    while len(directions) < n_features:
        answer = criterion(residual)
        if answer is None:
            break
        weights = _checked(answer, images)
        image = images.push(weights[:, np.newaxis])[:, 0]
        if not found.add(image, ROUNDING * images.reach(weights)):
            break
        factor = 1.0
        if scale == "feature":
            factor = 1.0 / float(found.lengths[-1])
        elif scale == "direction":
            factor = 1.0 / np.sqrt(images.square(weights, image))
        found.rescale(factor)
        directions.append(weights * factor)
    if not directions:
        return np.empty((images.width, 0)), found
    return np.column_stack(directions), found


def _checked(answer: np.ndarray, images: Images) -> np.ndarray:
    weights = np.asarray(answer, dtype=np.float64)
    if weights.ndim == 2 and 1 in weights.shape:
        weights = weights.ravel()
    if weights.shape != (images.width,):
        meaning = "β_j, one weight per row" if images.dual else "u_j, one weight per column"
        raise ValueError(
            f"criterion must return {meaning}, of shape ({images.width},), but returned shape "
            f"{weights.shape}. dual=True or dual=False chooses between the two."
        )
    if not np.isfinite(weights).all():
        raise ValueError("criterion returned NaN or infinity.")
    return weights
