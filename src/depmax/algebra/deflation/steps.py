"""The deflation loop: a direction, its feature orthogonal to earlier ones, then what is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy import linalg

from depmax.algebra.images import Images

#: What is left of a vector outside the span of earlier features, relative to it, to be more than
#: rounding errors.
INDEPENDENT = 1e-10


class OrthogonalFeatures:
    """T with orthogonal columns τ_j = (I - Π_T)Φu_j, and what leads from U to them.

    Parameters
    ----------
    n_samples, capacity : int
        m, and the largest number of features.
    center : bool
        Whether features have mean zero: deflation by the constant τ_0 = 1.

    Notes
    -----
    With M = (TᵀT)⁻¹TᵀΦU, unit upper triangular, the features are ΦUM⁻¹ minus their means. For
    Φ = X this is U(PᵀU)⁻¹, for U = XᵀB it is B((TᵀT)⁻¹TᵀKB)⁻¹.
    """

    def __init__(self, n_samples: int, capacity: int, *, center: bool) -> None:
        self._first = int(center)  # columns before those of the features
        self._basis = np.empty((n_samples, capacity + self._first), order="F")  # orthonormal
        if center:
            self._basis[:, 0] = 1.0 / np.sqrt(n_samples)
        self._products = np.zeros((capacity + self._first, capacity))  # basis against Φu_j
        self._lengths: list[float] = []  # ‖τ_j‖

    @property
    def count(self) -> int:
        """Number of features j."""
        return len(self._lengths)

    @property
    def basis(self) -> np.ndarray:
        """Orthonormal basis of the features so far and, with centring, the constant."""
        return self._basis[:, : self._first + self.count]

    @property
    def features(self) -> np.ndarray:
        """T of shape (m, j)."""
        scaled: np.ndarray = self.basis[:, self._first :] * self.lengths
        return scaled

    @property
    def lengths(self) -> np.ndarray:
        """‖τ_j‖ of every feature."""
        return np.array(self._lengths)

    def centred(self, values: np.ndarray) -> np.ndarray:
        """Vectors over samples, less their means if features have mean zero."""
        return values - values.mean(axis=0) if self._first else values

    def residual(self, values: np.ndarray) -> np.ndarray:
        """(I - Π_T)V of vectors over samples."""
        basis = self.basis
        rest = values - basis @ (basis.T @ values)
        rest -= basis @ (basis.T @ rest)  # once more: the first time leaves rounding errors
        return rest

    def add(self, image: np.ndarray, noise: float = 0.0) -> bool:
        """One more feature from Φu, of shape (m,); False if earlier features span it already.

        ``noise`` is the length below which Φu itself is nothing but rounding errors.
        """
        rest = self.residual(image)
        length = float(linalg.norm(rest))
        start = self.centred(image)
        if not length > max(INDEPENDENT * float(linalg.norm(start)), noise):
            return False
        position = self._first + self.count
        self._basis[:, position] = rest / length
        self._products[: position + 1, self.count] = self._basis[:, : position + 1].T @ image
        self._products[position, self.count] = length
        self._lengths.append(length)
        return True

    def rescale(self, factor: float) -> None:
        """Multiply u_j and τ_j of the last feature."""
        self._products[:, self.count - 1] *= factor
        self._lengths[-1] *= factor

    def conjugate(self, directions: np.ndarray) -> np.ndarray:
        """UM⁻¹ for U of shape (width, j)."""
        count = self.count
        products = self._products[self._first : self._first + count, :count]
        triangle = products / self.lengths[:, np.newaxis]  # M
        solved: np.ndarray = linalg.solve_triangular(
            triangle, directions.T, trans="T", unit_diagonal=True
        ).T
        return solved

    @property
    def offset(self) -> np.ndarray:
        """Means of ΦUM⁻¹, of shape (j,), zero without centring."""
        if not self._first:
            return np.zeros(self.count)
        means = self._products[:1, : self.count] / np.sqrt(len(self._basis))
        return self.conjugate(means)[0]


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
        return self.found.residual(self.found.centred(self.target))

    @property
    def target_size(self) -> float:
        """‖Y‖ before the first feature, from its mean if features are centred."""
        assert self.target is not None
        return float(linalg.norm(self.found.centred(self.target)))

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
