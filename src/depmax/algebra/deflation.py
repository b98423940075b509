"""Deflation: orthogonal features, one after another, along directions that a criterion chooses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import linalg, sparse

from depmax.algebra.row_sums import dense, squared_lengths
from depmax.algebra.space import FeatureProjection, Projection, SampleProjection, Space
from depmax.data.chunks import Chunk
from depmax.data.sample import Sample, in_double

#: What is left of a vector outside the span of earlier features, relative to it, to be more than
#: rounding errors.
INDEPENDENT = 1e-10
#: A target, or its covariance with the inputs, below this relative to where it began is zero.
EXHAUSTED = 1e-11
#: Rounding errors of a product, relative to what it could be.
ROUNDING = 1e-14
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


# --- what samples offer -------------------------------------------------------------------------
class Primal:
    """Samples as the exact features of a kernel, about their mean; sparse ones stay sparse.

    A direction is its weights u of shape (D,). Rows are multiplied by the roots of how many samples
    each stands for.
    """

    dual: ClassVar[bool] = False

    def __init__(self, data: Sample, *, center: bool) -> None:
        self.data = data
        self.space = Space.held(data, center=center)
        self.roots = roots_of(data)
        self.width = self.space.dimension
        self.variance = self.space.variance

    def pull(self, values: np.ndarray) -> np.ndarray:
        """ΦᵀV of shape (D, r)."""
        values = values if self.data.weight is None else self.roots * values
        return self.space.cross(values, weighted=False)

    def push(self, weights: np.ndarray) -> np.ndarray:
        """ΦU of shape (m, r)."""
        images = self.space.features(weights)
        return images if self.data.weight is None else self.roots * images

    def inner(self, weights: np.ndarray) -> np.ndarray:
        """UᵀU of shape (r, r)."""
        return weights.T @ weights

    def square(self, weights: np.ndarray, image: np.ndarray) -> float:
        """‖u‖² of one direction with the image Φu."""
        return float(weights @ weights)

    def reach(self, weights: np.ndarray) -> float:
        """√Σ‖φ‖²‖u‖, which ‖Φu‖ cannot exceed: the scale of its rounding errors."""
        return float(np.sqrt(self.variance) * np.linalg.norm(weights))

    def examples(self, indices: np.ndarray) -> np.ndarray:
        """Weights of the directions of some samples, of shape (D, len(indices))."""
        phi = np.asarray(dense(self.data.coordinates(indices)), dtype=np.float64)
        return (phi - self.space.mean).T

    def columns(self, indices: np.ndarray) -> np.ndarray:
        """Kernel values of all samples with some, of shape (m, len(indices))."""
        return self.push(self.examples(indices))

    def project(self, weights: np.ndarray, offset: np.ndarray) -> Projection:
        """Features of new rows; ``offset`` belongs to what ``push`` gives."""
        return self.space.project(weights, offset)


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
            values = self.data.kernel(in_double(rows), in_double(self.data.rows))
            return np.asarray(values, dtype=np.float64)  # of a given matrix, in its precision
        left, right, mean = self._features(rows), self._features(self.data.rows), self.mean
        if not sparse.issparse(left):
            return left @ right.T
        products: np.ndarray = (left @ right.T).toarray()
        products -= (left @ mean)[:, np.newaxis]
        products -= right @ mean
        products += mean @ mean
        return products

    def gram(self) -> np.ndarray:
        """Kernel matrix of all examples."""
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
    """Kernel columns of the examples at the rows of a block."""

    examples: Examples
    view: Any

    def __call__(self, block: Chunk) -> np.ndarray:
        """Of shape (n, n_examples)."""
        return self.examples.against(self.view(block))


class Dual:
    """Samples as rows of the kernel matrix; a direction u = Φᵀβ is its weights β of shape (m,).

    The methods are those of ``Primal``; centring is left to features without a constant part.
    """

    dual: ClassVar[bool] = True

    def __init__(self, data: Sample, *, center: bool) -> None:
        self._examples = Examples.of(data, center=center)
        self.roots = roots_of(data)
        gram = self._examples.gram()
        self.gram = gram if data.weight is None else self.roots * gram * self.roots.T
        self.width = data.n_samples
        self.variance = float(np.trace(self.gram))
        if center:
            self.variance -= (self.roots.T @ self.gram @ self.roots).item() / data.total

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

    def examples(self, indices: np.ndarray) -> np.ndarray:
        """Unit vectors."""
        units = np.zeros((self.width, len(indices)))
        units[indices, np.arange(len(indices))] = 1.0
        return units

    def columns(self, indices: np.ndarray) -> np.ndarray:
        """Columns of K."""
        return self.gram[:, indices]

    def project(self, weights: np.ndarray, offset: np.ndarray) -> Projection:
        """Product with the kernel values of those training rows that have weights."""
        used = np.flatnonzero(weights.any(axis=1))
        return self._examples.project(used, (self.roots * weights)[used], offset)


Images = Primal | Dual


def images_of(data: Sample, *, center: bool, dual: bool | None = None) -> Images:
    """Samples for methods that visit them many times, by default in the primal if they can."""
    if dual is False and not data.has_features:
        raise ValueError(
            f"dual=False needs the features of the kernel, which {data.kernel!r} does not have: "
            "use dual=True or kernel='linear', or pass a map such as NystroemMap as the kernel."
        )
    in_features = data.has_features if dual is None else not dual
    return (Primal if in_features else Dual)(data, center=center)


def gram_values(data: Sample, *, dual: bool | None = None) -> float:
    """Values of pairs of samples that ``images_of`` holds, in float64, but for a given matrix."""
    in_features = data.has_features if dual is None else not dual
    return 0.0 if in_features or data.precomputed else float(data.n_samples) ** 2


def roots_of(data: Sample) -> np.ndarray:
    """√ of how many samples each stands for, of shape (m, 1)."""
    weight = np.ones(data.n_samples) if data.weight is None else data.weight
    roots: np.ndarray = np.sqrt(weight)[:, np.newaxis]
    return roots


# --- the loop -------------------------------------------------------------------------------------
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


def unless_exhausted(values: np.ndarray, start: float) -> np.ndarray:
    """The values; zero where they are nothing but rounding errors of where they began."""
    return np.zeros_like(values) if linalg.norm(values) <= EXHAUSTED * start else values


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
            squared = images.square(weights, image)
            if squared <= 0:  # rounding errors of a direction of no length
                break
            given = np.sqrt(squared)
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
