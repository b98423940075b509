"""The radius/margin bound of a support vector machine, and its gradient in the columns' factors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.svm import SVC, OneClassSVM

from depmax.kernels import Gaussian, KernelLike, Linear, as_kernel
from depmax.kernels.base import Kernel

#: Precision of both quadratic problems, for kernel matrices with entries of about 1.
TOLERANCE = 1e-6
#: Stands for the hard margin: the added diagonal keeps the multipliers far below.
HARD = 1e8


class ScaledKernel(Protocol):
    """A kernel with a factor θ_j ≥ 0 for every column."""

    @property
    def largest(self) -> float | None:
        """Bound of the factors, None for none."""

    def gram(self, factors: np.ndarray) -> np.ndarray:
        """Kernel matrix K(θ)."""

    def gradient(self, gram: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Σ_ab W_ab ∂K_ab/∂θ_j for symmetric W, one number per column j."""


@dataclass(frozen=True)
class ScaledLinear:
    """K_ab = Σ_j θ_j x_aj x_bj, with rows scaled so that K_aa is about 1 at θ = 1."""

    rows: np.ndarray
    largest: float | None = 1.0

    @classmethod
    def of(cls, kernel: Kernel, rows: np.ndarray) -> ScaledLinear:
        """Rows of mean squared length 1."""
        size = np.sqrt(np.mean(np.einsum("ij,ij->i", rows, rows)))
        return cls(rows / size if size > 0 else rows)

    def gram(self, factors: np.ndarray) -> np.ndarray:
        """Kernel matrix."""
        return (self.rows * factors) @ self.rows.T

    def gradient(self, gram: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """x_jᵀ W x_j for every column x_j."""
        return np.einsum("ij,ij->j", self.rows, weights @ self.rows)


@dataclass(frozen=True)
class ScaledGaussian:
    """K_ab = exp(-½ Σ_j θ_j (x_aj - x_bj)²), with rows divided by the starting bandwidth."""

    rows: np.ndarray
    largest: float | None = None

    @classmethod
    def of(cls, kernel: Any, rows: np.ndarray) -> ScaledGaussian:
        """Rows in units of the bandwidth."""
        return cls(rows / kernel.resolve(rows).bandwidth)

    def gram(self, factors: np.ndarray) -> np.ndarray:
        """Kernel matrix."""
        return Gaussian(1.0)(self.rows * np.sqrt(factors))

    def gradient(self, gram: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """-½ Σ_ab W_ab K_ab (x_aj - x_bj)² = x_jᵀ(W∘K)x_j - 1ᵀ(W∘K)x_j² for every column x_j."""
        both = weights * gram
        cross = np.einsum("ij,ij->j", self.rows, both @ self.rows)
        return cross - both.sum(axis=0) @ self.rows**2


_FORMS: dict[type, Callable[[Any, np.ndarray], ScaledKernel]] = {
    Linear: ScaledLinear.of,
    Gaussian: ScaledGaussian.of,
}


def scaled_kernel(kernel: KernelLike, rows: np.ndarray) -> ScaledKernel:
    """Form of a kernel with a factor per column, for the kernels that have one here."""
    recipe = as_kernel(kernel)
    if type(recipe) not in _FORMS:
        raise ValueError(
            f"R2W2 scales the columns of the linear and the Gaussian kernel, not of {recipe!r}: "
            "use 'linear', 'gaussian' or Gaussian(bandwidth=...)."
        )
    return _FORMS[type(recipe)](recipe, rows)


@dataclass(frozen=True)
class RadiusMargin:
    """R²‖w‖² as a function of the factors, ‖w‖² summed over machines."""

    kernel: ScaledKernel
    signs: np.ndarray  # labels ±1 of each machine, shape (n_machines, n_samples)
    C: float

    def value_and_gradient(self, factors: np.ndarray) -> tuple[float, np.ndarray]:
        """The bound and its gradient, with the two quadratic problems solved at the factors.

        Their solutions do not move the bound to first order, so only the kernel is derived.
        """
        gram = self.kernel.gram(factors)
        ridged = gram.copy()
        ridged[np.diag_indices_from(ridged)] += 1.0 / self.C
        radius, centre = smallest_ball(ridged)
        margin, multipliers = 0.0, []
        for labels in self.signs:
            size, signed = separate(ridged, labels)
            margin += size
            multipliers.append(signed)
        # R² = Σ β_i K_ii - βᵀKβ and ‖w‖² = max 2Σα - αᵀ(K∘yyᵀ)α, so that the derivative of their
        # product is a weighted sum of those of the kernel's entries
        columns = np.array([np.sqrt(margin) * centre, *(np.sqrt(radius) * np.array(multipliers))])
        weights = -(columns.T @ columns)
        weights[np.diag_indices_from(weights)] += margin * centre
        return radius * margin, self.kernel.gradient(gram, weights)


def separate(gram: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray]:
    """‖w‖² of the hard-margin machine, and its multipliers α_i y_i.

    Examples
    --------
    >>> separate(np.eye(2), np.array([-1.0, 1.0]))
    (2.0, array([-1.,  1.]))
    """
    machine = SVC(kernel="precomputed", C=HARD, tol=TOLERANCE).fit(gram, labels)
    signed = np.zeros(len(gram))
    signed[machine.support_] = machine.dual_coef_[0]
    return float(2.0 * np.abs(signed).sum() - signed @ gram @ signed), signed


def smallest_ball(gram: np.ndarray) -> tuple[float, np.ndarray]:
    """Squared radius of the smallest ball around all images, and the weights β of its centre.

    R² = max ½ Σ β_i β_j d²_ij over β ≥ 0 with Σβ = 1, d² the squared distances. With -½d² as its
    kernel matrix that is exactly the problem of a one-class machine with ν = 1/m. Such a matrix
    is no kernel, but the solver only moves weight between two rows, along which the problem has
    curvature d²_ij ≥ 0; for kernels with a constant diagonal it is the usual equivalence.

    Examples
    --------
    >>> radius, centre = smallest_ball(np.diag([1.0, 1.0, 0.0]))
    >>> round(radius, 6), centre.round(6)
    (0.5, array([0.5, 0.5, 0. ]))
    """
    diagonal = np.diag(gram)
    halves = gram - 0.5 * (diagonal[:, np.newaxis] + diagonal[np.newaxis, :])  # -½d²
    machine = OneClassSVM(kernel="precomputed", nu=1.0 / len(gram), tol=TOLERANCE).fit(halves)
    centre = np.zeros(len(gram))
    centre[machine.support_] = machine.dual_coef_[0]
    return float(-(centre @ halves @ centre)), centre
