"""Scales of the columns that minimise the radius/margin bound of a support vector machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.optimize import minimize
from sklearn.svm import SVC, OneClassSVM

from depmax._parameters import integer, number
from depmax._resources import require_pairs, warn_if_long
from depmax.data import Target, read_target
from depmax.data.columns import Categories
from depmax.data.sample import require_samples
from depmax.data.table import constant_columns, require_equal_length
from depmax.kernels import Gaussian, KernelLike, Linear, as_kernel
from depmax.kernels.kernel import Kernel
from depmax.selection._scores import standardized
from depmax.selection.selector import DependenceSelector, Ranking
from reproduction.zero_norm_svm import machine_signs

#: Precision of both quadratic problems, for kernel matrices with entries of about 1.
TOLERANCE = 1e-6
#: Stands for the hard margin: the added diagonal keeps the multipliers far below.
HARD = 1e8
#: Arrays of all pairs of rows at the peak: the kernel matrix, two changed copies, its weights.
MATRICES = 5.0
#: What to do where they are too large.
INSTEAD = "Use BAHSIC, Relief or ZeroNormSVM, whose memory is linear in the rows."
#: Time of one core over the cube of the rows, with ten columns.
SECONDS_PER_CUBE = 9e-10


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
    machine = SVC(kernel="precomputed", C=HARD, tol=TOLERANCE, random_state=0).fit(gram, labels)
    signed = np.zeros(len(gram))
    signed[machine.support_] = machine.dual_coef_[0]
    return float(2.0 * np.abs(signed).sum() - signed @ gram @ signed), signed


def smallest_ball(gram: np.ndarray) -> tuple[float, np.ndarray]:
    """Squared radius of the smallest ball around all images, and the weights β of its centre.

    R² = max ½ Σ β_i β_j d²_ij over β ≥ 0 with Σβ = 1, d² the squared distances. With -½d² as its
    kernel matrix that is exactly the problem of a one-class machine with ν = 1/m. Such a matrix
    is not a kernel, but the solver only moves weight between two rows, along which the problem has
    curvature d²_ij ≥ 0; for kernels with a constant diagonal it is the usual equivalence.

    Examples
    --------
    >>> radius, centre = smallest_ball(np.diag([1.0, 1.0, 0.0]))
    >>> round(radius, 6), centre.round(6)
    (0.5, array([0.5, 0.5, 0. ]))
    """
    diagonal = np.diag(gram)
    halves = gram - 0.5 * (diagonal[:, np.newaxis] + diagonal[np.newaxis, :])  # -½d²
    machine = OneClassSVM(kernel="precomputed", nu=1.0 / len(gram), tol=TOLERANCE)
    machine.random_state = 0  # not a parameter; without it numpy's global state is drawn from
    machine.fit(halves)
    centre = np.zeros(len(gram))
    centre[machine.support_] = machine.dual_coef_[0]
    return float(-(centre @ halves @ centre)), centre


class R2W2(DependenceSelector):
    """Select columns by the scales that minimise the radius/margin bound R²‖w‖² of an SVM.

    For rows in a ball of radius R that are separated with margin 1/‖w‖, R²‖w‖² bounds the number of
    leave-one-out errors. Every column gets a factor, and the bound is minimised over all factors by
    gradient descent.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        How many columns to keep; a float below 1 is a share, None is half.
    kernel : {"gaussian", "linear"} or such a kernel object, default="gaussian"
        Kernel of the SVM. The bandwidth of the Gaussian kernel only sets the starting point of the
        factors, so it matters little.
    C : float, default=100.0
        Weight of squared errors: 1/C is added to the diagonal of the kernel matrix, which makes
        every sample separable. 1/C is the amount of noise that the SVM allows for.
    max_iter : int, default=100
        Largest number of steps of the minimisation (L-BFGS-B).

    Attributes
    ----------
    ranking_ : ndarray of shape (n_features,)
        1 is best, all distinct: by the factor, and among columns whose factor is 0 by how little
        the bound rises with it. Constant columns rank last.
    scores_ : ndarray of shape (n_features,)
        Factor θ of the squared differences in each column, relative to the start.
    path_ : tuple of (n_features, bound)
        Number of columns with a factor above 0, and the bound after each step: here smaller is
        better.
    n_iter_ : int
        Steps of the minimisation.
    support_, substitutes_, n_features_
        As in every selector.

    Notes
    -----
    Columns are standardised first. The factors θ ≥ 0 multiply *squared* differences (or products,
    for the linear kernel), that is θ = σ² for the scales σ of the publications: in σ every column
    has a spurious stationary point at 0. For the linear kernel θ ≤ 1, since a common factor only
    changes the weight of errors. With several classes there is one machine for each against the
    rest, with several labels one for each, and their ‖w‖² add up. Memory is quadratic in the number
    of rows, time per step between quadratic and cubic, which is practical for a few thousand rows.
    The bound has local minima; the search starts with equal factors for all columns and is
    deterministic.

    References
    ----------
    J. Weston, S. Mukherjee, O. Chapelle, M. Pontil, T. Poggio, V. Vapnik (2000), Feature selection
    for SVMs.
    O. Chapelle, V. Vapnik, O. Bousquet, S. Mukherjee (2002), Choosing multiple parameters for
    support vector machines.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.r2w2 import R2W2
    >>> X = np.random.default_rng(0).normal(size=(80, 5))
    >>> ring = X[:, 1] ** 2 + X[:, 3] ** 2 > 1.5
    >>> R2W2(2).fit(X, ring).get_support(indices=True).tolist()
    [1, 3]
    """

    _declared: ClassVar = {"C": number(0, ends="()"), "max_iter": integer(1)}

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        kernel: KernelLike = "gaussian",
        C: float = 100.0,
        max_iter: int = 100,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.kernel = kernel
        self.C = C
        self.max_iter = max_iter

    def _compared_by(self) -> None:
        """Columns are put on one scale first."""

    def _rank(self, X: Any, y: Any, categories: Categories) -> Ranking:
        target = read_target(y)
        self._check(X, target)
        require_pairs("R2W2", X.shape[0], MATRICES * X.shape[0] ** 2, INSTEAD)
        warn_if_long(f"R2W2 of {X.shape[0]:,} rows", SECONDS_PER_CUBE * X.shape[0] ** 3, INSTEAD)
        varying = np.flatnonzero(~constant_columns(X))
        factors, slopes = np.zeros(X.shape[1]), np.full(X.shape[1], np.inf)
        path: list[tuple[int, float]] = []
        self.n_iter_ = 0
        if len(varying):
            rows = standardized(X[:, varying])
            bound = RadiusMargin(
                scaled_kernel(self.kernel, rows), machine_signs(target), float(self.C)
            )
            found = self._minimize(bound, len(varying), path)
            factors[varying], slopes[varying] = found.x, found.jac
            self.n_iter_ = int(found.nit)
        return Ranking(np.lexsort((slopes, -factors)), factors, tuple(path))

    def _minimize(self, bound: RadiusMargin, n_columns: int, path: list[tuple[int, float]]) -> Any:
        """Smallest bound near the start, each step noted in ``path``."""

        def note(intermediate_result: Any) -> None:
            left = int(np.sum(intermediate_result.x > 0))
            path.append((left, float(intermediate_result.fun)))

        return minimize(
            bound.value_and_gradient,
            np.ones(n_columns),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, bound.kernel.largest)] * n_columns,
            callback=note,
            options={"maxiter": self.max_iter},
        )

    def _check(self, X: np.ndarray, target: Target) -> None:
        require_equal_length(X.shape[0], target.n_samples)
        require_samples(X.shape[0], unbiased=False)
        if target.kind not in ("classes", "multilabel"):
            raise ValueError(
                "R2W2 bounds the errors of a classifier, but y holds numbers: use ZeroNormSVM, "
                "Relief or BAHSIC, or cut y into classes."
            )
        if bool((target.values == target.values[:1]).all()):
            raise ValueError("y has one class only: there is nothing to separate.")
        self._refuse_categories("scales columns of numbers")
