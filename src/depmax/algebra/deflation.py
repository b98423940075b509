"""Deflation: orthogonal features, one after another, along directions that a criterion chooses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, eigsh

from depmax._threads import slices
from depmax.algebra import leading
from depmax.algebra.images import Images, images_of
from depmax.algebra.losses import Loss
from depmax.algebra.projection import Projection
from depmax.data.sample import Sample

#: What is left of a vector outside the span of earlier features, relative to it, to be more than
#: rounding errors.
INDEPENDENT = 1e-10
#: A target, or its covariance with the inputs, below this relative to where it began is zero.
EXHAUSTED = 1e-11
#: Rounding errors of a product, relative to what it could be.
ROUNDING = 1e-14
#: Largest matrix whose leading eigenvector is found by a dense solver.
DENSE = 512
#: Kernel columns that are scored at once.
COLUMNS = 256
#: A kernel column that features span, up to this share of its square length, adds nothing.
SPANNED = 1e-20


class OrthogonalFeatures:
    """T with orthogonal columns τ_j = (I - Π_T)Φu_j, and what leads from U to them.

    Parameters
    ----------
    n_samples, capacity : int
        m, and the largest number of features.
    center : bool
        Whether features have mean zero: deflation by the constant τ_0 = 1.
    roots : ndarray of shape (m,), optional
        √ of how many samples each stands for, by which rows of Φ are multiplied.

    Notes
    -----
    With M = (TᵀT)⁻¹TᵀΦU, unit upper triangular, the features are ΦUM⁻¹ minus their means. For
    Φ = X this is U(PᵀU)⁻¹, for U = XᵀB it is B((TᵀT)⁻¹TᵀKB)⁻¹.
    """

    def __init__(
        self, n_samples: int, capacity: int, *, center: bool, roots: np.ndarray | None = None
    ) -> None:
        roots = np.ones(n_samples) if roots is None else roots
        self._first = int(center)  # columns before those of the features
        self._total = float(np.linalg.norm(roots))  # the root of the number of samples
        self._basis = np.empty((n_samples, capacity + self._first), order="F")  # orthonormal
        if center:
            self._basis[:, 0] = roots / self._total
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
        scaled: np.ndarray = self.basis[:, self._first :] * np.array(self._lengths)
        return scaled

    def centred(self, values: np.ndarray) -> np.ndarray:
        """Vectors over samples, less their means if features have mean zero."""
        constant = self._basis[:, : self._first]
        return values - constant @ (constant.T @ values)

    def residual(self, values: np.ndarray) -> np.ndarray:
        """(I - Π_T)V of vectors over samples."""
        basis = self.basis
        rest = values - basis @ (basis.T @ values)
        rest -= basis @ (basis.T @ rest)  # once more: the first time leaves rounding errors
        return rest

    def add(self, image: np.ndarray, *, size: float | None = None, noise: float = 0.0) -> float:
        """One more feature from Φu, of shape (m,), divided by a size: by default by its length.

        Returns
        -------
        float
            The size; 0 if earlier features span Φu already, or it is no longer than ``noise``.
        """
        rest = self.residual(image)
        length = float(linalg.norm(rest))
        if not length > max(INDEPENDENT * float(linalg.norm(self.centred(image))), noise):
            return 0.0
        size = length if size is None else size
        count, position, factor = self.count, self._first + self.count, 1.0 / size
        self._basis[:, position] = rest / length
        self._products[:position, count] = (self._basis[:, :position].T @ image) * factor
        self._products[position, count] = length * factor
        self._lengths.append(length * factor)
        return size

    def conjugate(self, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """UM⁻¹ for U of shape (width, j), and the means of ΦUM⁻¹, of shape (j,)."""
        first, count = self._first, self.count
        if count == 0:
            return directions, np.zeros(0)
        triangle = self._products[first : first + count, :count] / np.array(self._lengths)[:, None]
        means = self._products[:first, :count].sum(axis=0) / self._total
        solved = linalg.solve_triangular(
            triangle, np.vstack([directions, means]).T, trans="T", unit_diagonal=True
        ).T
        return solved[:-1], solved[-1]


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
        return len(self.images.roots)

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

    def square(self, directions: np.ndarray) -> np.ndarray:
        """X_jᵀX_jU in the primal, (I - Π_T)K(I - Π_T)B in the dual: of shape (width, r)."""
        if self.dual:
            return self.push(self.pull(directions))
        return self.pull(self.push(directions))


#: Gives the weights of the next direction, or None if there is none.
Criterion = Callable[[Residual], np.ndarray | None]
#: How long a direction is made: ‖u_j‖ = 1, ‖τ_j‖ = 1, or as the criterion gives it.
Scale = Literal["direction", "feature", "given"]


def deflate(
    data: Sample,
    target: np.ndarray | None,
    criterion: Criterion,
    n_features: int,
    *,
    center: bool = True,
    dual: bool | None = None,
    scale: Scale = "direction",
) -> tuple[Projection, np.ndarray]:
    """Orthogonal features: how they are made of new rows, and those of the samples, (m, k).

    Fewer than requested where the criterion ends or its direction leads to earlier features only.
    """
    images = images_of(data, center=center, dual=dual)
    roots = images.roots
    found = OrthogonalFeatures(len(roots), n_features, center=center, roots=roots[:, 0])
    residual = Residual(images, found, None if target is None else roots * target)
    directions = np.empty((images.width, n_features))
    while found.count < n_features:
        answer = criterion(residual)
        if answer is None:
            break
        weights = _checked(answer, images)
        image = images.push(weights[:, np.newaxis])[:, 0]
        given = None if scale == "feature" else 1.0
        if scale == "direction":
            given = np.sqrt(images.square(weights, image))
        size = found.add(image, size=given, noise=ROUNDING * images.reach(weights))
        if not size:
            break
        directions[:, found.count - 1] = weights / size
    projection = images.project(*found.conjugate(directions[:, : found.count]))
    return projection, found.features / roots


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


# --- criteria -------------------------------------------------------------------------------------


def pls(residual: Residual) -> np.ndarray | None:
    """Largest covariance with the target: u_j is the first left singular vector of X_jᵀY_j."""
    return _most_covariant(residual, _left(residual))


def pca(residual: Residual) -> np.ndarray | None:
    """Largest variance: u_j is the first eigenvector of X_jᵀX_j."""
    size = residual.images.width
    if size <= DENSE:
        matrix = residual.square(np.eye(size))
        values, vectors = leading((matrix + matrix.T) / 2, 1)
    else:
        start = np.random.default_rng(0).normal(size=size)
        operator = LinearOperator(
            (size, size), lambda u: residual.square(u.reshape(-1, 1)).ravel(), dtype=np.float64
        )
        values, vectors = eigsh(operator, k=1, which="LA", v0=start)
    return vectors[:, 0] if values[0] > EXHAUSTED * residual.images.variance else None


def smc(residual: Residual) -> np.ndarray | None:
    """One sample: the largest covariance, Σ(k_iᵀY_j)²/k_ii."""
    return _best_example(residual, _left(residual))


def sma(residual: Residual) -> np.ndarray | None:
    """One sample: the largest alignment, Σ(k_iᵀY_j)²/‖(I - Π)k_i‖²."""
    return _best_example(residual, _left(residual), of_features=True)


def skfa(residual: Residual) -> np.ndarray | None:
    """One sample: the largest variance, ‖(I - Π)k_i‖²/k_ii, without a target."""
    return _best_example(residual, None)


def boosted(residual: Residual, loss: Loss) -> np.ndarray | None:
    """Largest covariance with the negative gradient of a loss at its best fit on the features."""
    return _most_covariant(residual, _descent(residual, loss))


def sparse_boosted(residual: Residual, loss: Loss) -> np.ndarray | None:
    """One sample: the largest covariance with the negative gradient of a loss."""
    return _best_example(residual, _descent(residual, loss))


def descent(found: OrthogonalFeatures, target: np.ndarray, loss: Loss) -> np.ndarray:
    """Negative gradients at the best fit on the features, of shape (m, r); zero at the optimum."""
    basis = found.basis
    gradients = [loss.descent(column, basis) for column in target.T]
    values = found.residual(np.column_stack(gradients))
    start = loss.descent(target[:, 0], basis[:, :0])
    return _unless_exhausted(values, float(linalg.norm(start)))


def _descent(residual: Residual, loss: Loss) -> np.ndarray:
    assert residual.target is not None
    return descent(residual.found, residual.target, loss)


def _left(residual: Residual) -> np.ndarray:
    """What is left of the target, of shape (m, r)."""
    return _unless_exhausted(residual.left_target, residual.target_size)


def _unless_exhausted(values: np.ndarray, start: float) -> np.ndarray:
    """The values; zero where they are nothing but rounding errors of where they began."""
    return np.zeros_like(values) if linalg.norm(values) <= EXHAUSTED * start else values


def _most_covariant(residual: Residual, values: np.ndarray) -> np.ndarray | None:
    """Leading left singular vector of X_jᵀV, up to its length; None if the product is zero."""
    directions = residual.pull(values)
    inner = residual.images.inner(directions)
    size = np.sqrt(max(float(np.trace(inner)), 0.0))
    if not size > EXHAUSTED * np.sqrt(residual.images.variance) * float(np.linalg.norm(values)):
        return None
    if len(inner) > 1:
        directions = directions @ leading(inner, 1)[1]
    return directions[:, 0]


def _best_example(
    residual: Residual, values: np.ndarray | None, *, of_features: bool = False
) -> np.ndarray | None:
    """Sample with the largest score among those outside the span of earlier features.

    The score is the squared covariance of its kernel column with values of shape (m, r), without
    values its squared length, over the square of its feature or of its direction.
    """
    if values is not None and not values.any():
        return None
    images, everything = residual.images, np.arange(residual.n_samples)
    scores = np.full(residual.n_samples, -np.inf)
    for block in slices(residual.n_samples, COLUMNS):
        columns = images.columns(everything[block])
        outside = residual.found.residual(columns)  # (I - Π)k_i
        rest = np.square(outside).sum(axis=0)
        size = rest if of_features else columns[everything[block], np.arange(columns.shape[1])]
        fresh = rest > SPANNED * np.square(columns).sum(axis=0)
        covariances = rest if values is None else np.square(values.T @ outside).sum(axis=0)
        np.divide(covariances, size, out=scores[block], where=fresh & (size > 0))
    best = int(scores.argmax())
    return images.examples(np.array([best]))[:, 0] if scores[best] > 0 else None
