"""Samples in feature space, seen through products only: in the primal, the dual, or one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import linalg, sparse

from depmax.algebra.projection import FeatureProjection, Projection, SampleProjection
from depmax.algebra.row_sums import dense
from depmax.algebra.space import Space
from depmax.data.sample import Sample, in_double
from depmax.kernels import Capabilities
from depmax.kernels.kernel import Kernel

#: What is left of a column of unit square beside others, below which it is rounding errors.
LOST = 1e-12


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


class Primal:
    """Samples as the exact features of a kernel, about their mean; sparse ones stay sparse.

    A direction is its weights u of shape (D,). Rows are multiplied by the roots of how many samples
    each stands for.
    """

    dual: ClassVar[bool] = False

    def __init__(self, data: Sample, *, center: bool) -> None:
        self.data = data
        self.space = Space.held(data, center=center)
        self.roots = _roots(data)
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
        return FeatureProjection(self.data.kernel, weights, offset, self.space.mean)


class Dual:
    """Samples as rows of the kernel matrix; a direction u = Φᵀβ is its weights β of shape (m,).

    The methods are those of ``Primal``; centring is left to features without a constant part.
    """

    dual: ClassVar[bool] = True

    def __init__(self, data: Sample, *, center: bool) -> None:
        self._examples = Examples.of(data, center=center)
        self.roots = _roots(data)
        gram = self._examples.data.gram()
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


def _roots(data: Sample) -> np.ndarray:
    """√ of how many samples each stands for, of shape (m, 1)."""
    weight = np.ones(data.n_samples) if data.weight is None else data.weight
    roots: np.ndarray = np.sqrt(weight)[:, np.newaxis]
    return roots


def with_products(
    scatter: np.ndarray, cross: np.ndarray, square: float
) -> tuple[np.ndarray, np.ndarray]:
    """R and Z with RᵀR = S, RᵀZ = C and ‖Z‖² = ‖Y‖², from a Cholesky factor with pivots.

    Pivots are those of columns of unit length; what the others leave of one, if less than ``LOST``,
    is taken for zero. The last row of R is zero, that of Z what no column reaches of Y.
    """
    scale = np.sqrt(np.where(scatter.diagonal() > 0, scatter.diagonal(), 1.0))
    upper, order, rank, _ = linalg.lapack.dpstrf(scatter / np.outer(scale, scale), tol=LOST)
    upper, order = np.triu(upper)[:rank], order - 1
    factor = np.zeros((rank + 1, len(scatter)))
    factor[:rank, order] = upper
    values = np.zeros((rank + 1, cross.shape[1]))
    pivots = order[:rank]
    own = cross[pivots] / scale[pivots, np.newaxis]
    values[:rank] = linalg.solve_triangular(upper[:, :rank], own, trans="T")
    values[rank, 0] = np.sqrt(max(square - float(np.square(values).sum()), 0.0))
    return factor * scale, values
