"""What confounders explain: kernel ridge regressions on them, chosen by leave-one-out error.

A regression has few coordinates, the images of at most ``LANDMARKS`` rows, so that time and memory
are linear in the rows, and one eigenproblem gives the leave-one-out errors of all penalties in
closed form: (ψ - f(z)) / (1 - h), h the leverage. Kernels compete: Gaussian of all confounders,
sums over single confounders and over pairs, polynomials, and Gaussians of the directions in which
the regression itself is steep (average outer product of its gradients, taken three times; Trivedi
et al. 2014, Radhakrishnan et al. 2024), without which five confounders are too many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg

from depmax.dependence._given.confounders import Confounders
from depmax.dependence._given.waves import Waves
from depmax.kernels.bandwidth import squared_distances
from depmax.kernels.polynomial import Polynomial

#: Penalties ε to choose from.
PENALTIES = np.logspace(-7, 1, 17)
#: Rows that carry a regression, at most.
LANDMARKS = 160
#: Rows on which kernels compete, at most; the winner is fitted to all rows.
ROWS_TO_CHOOSE = 1000
#: Rows at which gradients are taken, and that a median distance is taken from.
ROWS_FOR_GRADIENTS, ROWS_FOR_WIDTH = 500, 300
#: Times that directions are refined.
REFINEMENTS = 3
#: Waves that a regression may add, the p-value that a wave needs, and the width of its Gaussian.
MOST_WAVES, WAVE_LEVEL, WAVE_WIDTH = 3, 1e-3, 1.0
#: Eigenvalues below this share of the largest are rounding.
NEGLIGIBLE = 1e-10
#: 1 - h is not taken for less.
LEAST_FREEDOM = 1e-6
#: Parameters of a regression, at most, as a share of the rows: the law of random signs is corrected
#: for so many; with as many as rows nothing but rounding is left, and any law of that is wrong.
MOST_PARAMETERS = 0.5

#: Kernel values of rows against others.
Similarity = Callable[[np.ndarray, np.ndarray], np.ndarray]


# --- kernels of confounders -----------------------------------------------------------------------
@dataclass(frozen=True)
class Joint:
    """exp(-‖(z - z')T‖²/2w²): all confounders at once, in the directions T."""

    width: float
    metric: np.ndarray | None = None  # T, or None for the identity

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Kernel values of shape (len(A), len(B))."""
        if self.metric is not None:
            A, B = A @ self.metric, B @ self.metric
        return _gaussian(A, B, self.width)

    def steep_directions(self, rows: np.ndarray, L: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """T' with T'T'ᵀ ∝ Σ ∇f∇fᵀ, over rows and outputs, of f = Σ_l k(·, l) weights_l."""
        T = np.eye(rows.shape[1]) if self.metric is None else self.metric
        K = self(rows, L)
        values = K @ weights
        tilted = L @ T
        slopes = [
            (K @ (weights * tilted[:, [j]]) - (rows @ T)[:, [j]] * values).ravel()
            for j in range(T.shape[1])
        ]
        gradients = T @ np.array(slopes)  # up to the factor 1/w², shape (n_columns, rows · outputs)
        spectrum, directions = linalg.eigh(gradients @ gradients.T)
        spectrum = np.maximum(spectrum, 0.0)
        if not spectrum.sum() > 0.0:
            return T
        roots = np.sqrt(spectrum * (len(spectrum) / spectrum.sum()))
        kept = roots > 1e-6 * roots[-1]
        return directions[:, kept] * roots[kept]


@dataclass(frozen=True)
class Additive:
    """The mean over confounders of Gaussians of each; with ``pairs`` also over pairs of them."""

    width: float
    parts: tuple[np.ndarray, ...]
    pairs: bool = False

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Kernel values of shape (len(A), len(B))."""
        total = np.zeros((len(A), len(B)))
        squares = np.zeros_like(total)
        for part in self.parts:
            values = _gaussian(A[:, part], B[:, part], self.width)
            total += values
            if self.pairs:
                squares += values * values
        count = len(self.parts)
        if not self.pairs:
            return total / count
        return total / count + (total * total - squares) / (count * (count - 1))


@dataclass(frozen=True)
class Together:
    """The mean of several kernels: functions that are sums of one of each."""

    kernels: tuple[Joint, ...]

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Kernel values of shape (len(A), len(B))."""
        return np.asarray(sum(kernel(A, B) for kernel in self.kernels) / len(self.kernels))


def _gaussian(A: np.ndarray, B: np.ndarray, width: float) -> np.ndarray:
    values = squared_distances(A, B)
    values *= -0.5 / width**2
    return np.exp(values, out=values)


def median_distance(rows: np.ndarray) -> float:
    """Median distance of distinct rows, among the first few."""
    few = rows[:ROWS_FOR_WIDTH]
    squares = squared_distances(few, few)[np.triu_indices(len(few), 1)]
    squares = squares[squares > 1e-12]
    return float(np.sqrt(np.median(squares))) if len(squares) else 1.0


# --- one regression -------------------------------------------------------------------------------
@dataclass(frozen=True)
class Basis:
    """Uncorrelated features U of the rows in the span of the landmarks, for one kernel."""

    similarity: Similarity
    landmarks: np.ndarray
    U: np.ndarray  # orthonormal, centred columns, shape (n_samples, n_features)
    values: np.ndarray  # their eigenvalues, which sum to n_samples
    means: np.ndarray  # of the kernel values with each landmark
    mapping: np.ndarray  # U = (k(Z, landmarks) - means) mapping

    @classmethod
    def of(cls, similarity: Similarity, Z: np.ndarray, landmarks: np.ndarray) -> Basis:
        """Eigenvectors of the centred kernel matrix, restricted to the landmarks' span."""
        spectrum, vectors = _eigenvectors(similarity(landmarks, landmarks))
        kept = spectrum > NEGLIGIBLE * spectrum[-1]
        root = vectors[:, kept] / np.sqrt(spectrum[kept])
        C = similarity(Z, landmarks)
        means = C.mean(axis=0)
        features = (C - means) @ root
        spectrum, vectors = _eigenvectors(features.T @ features)
        kept = spectrum > NEGLIGIBLE * spectrum[-1]
        spectrum, vectors = spectrum[kept], vectors[:, kept] / np.sqrt(spectrum[kept])
        values = spectrum * (len(Z) / spectrum.sum())
        return cls(similarity, landmarks, features @ vectors, values, means, root @ vectors)

    @cached_property
    def shrinkages(self) -> np.ndarray:
        """Factor of each feature (rows) for each penalty (columns)."""
        return self.values[:, np.newaxis] / (self.values[:, np.newaxis] + len(self.U) * PENALTIES)

    @cached_property
    def freedoms(self) -> np.ndarray:
        """1 - h of every row, for each penalty."""
        freedom = 1.0 - 1.0 / len(self.U) - (self.U * self.U) @ self.shrinkages
        return np.maximum(freedom, LEAST_FREEDOM)

    def shrunken(self, images: np.ndarray) -> np.ndarray:
        """Coefficients of the features in the regression of least leave-one-out error."""
        place = int(np.argmin(self.errors(images)))
        return np.asarray(self.shrinkages[:, [place]] * (self.U.T @ images))

    def errors(self, images: np.ndarray) -> np.ndarray:
        """Mean squared leave-one-out error of centred images, infinite for forbidden penalties."""
        return self.errors_of_each(images).sum(axis=1)

    def errors_of_each(self, images: np.ndarray) -> np.ndarray:
        """The same for every image by itself, of shape (n_penalties, n_outputs)."""
        inner = self.U.T @ images
        weights = self.freedoms**-2.0
        found = np.full((len(PENALTIES), images.shape[1]), np.inf)
        largest = int(np.argmax(PENALTIES))
        for place, shrinkage in enumerate(self.shrinkages.T):
            if shrinkage.sum() > MOST_PARAMETERS * len(images) and place != largest:
                continue
            left = images - self.U @ (shrinkage[:, np.newaxis] * inner)
            found[place] = weights[:, place] @ (left * left) / len(images)
        return found


def _eigenvectors(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, the smallest first, and eigenvectors, by the faster driver for all of them."""
    values, vectors = linalg.eigh(matrix, driver="evd", check_finite=False, overwrite_a=True)
    return values, vectors


@dataclass(frozen=True)
class Smoother:
    """A regression with its penalty: a linear map of images to what confounders explain of them."""

    basis: Basis
    place: int  # of the penalty
    error: float  # mean squared leave-one-out error, as a share of the images' variance

    @property
    def freedom(self) -> np.ndarray:
        """1 - h of every row, of shape (n_samples, 1)."""
        return self.basis.freedoms[:, [self.place]]

    @property
    def dof(self) -> float:
        """Effective number of parameters, the trace of H without the mean."""
        return float(self.basis.shrinkages[:, self.place].sum())

    def residual(self, images: np.ndarray) -> np.ndarray:
        """(I - H) images: what the confounders do not explain, in the sample."""
        images = images - images.mean(axis=0)
        shrinkage = self.basis.shrinkages[:, [self.place]]
        return images - self.basis.U @ (shrinkage * (self.basis.U.T @ images))

    def studentised(self, images: np.ndarray) -> np.ndarray:
        """Residuals over √(1 - h), of the variance of the noise in every row.

        Leave-one-out residuals would be larger where rows are few, on both sides of a test at the
        same rows, which is a dependence.
        """
        return self.residual(images) / np.sqrt(self.freedom)

    def curve(self, images: np.ndarray) -> Curve:
        """The regression of these images as a function of confounders."""
        mean = images.mean(axis=0)
        basis = self.basis
        inner = self.basis.shrinkages[:, [self.place]] * (basis.U.T @ (images - mean))
        weights = basis.mapping @ inner
        return Curve(basis.similarity, basis.landmarks, weights, mean - basis.means @ weights)


@dataclass(frozen=True)
class Curve:
    """A fitted regression: what confounders explain at any rows."""

    similarity: Similarity
    landmarks: np.ndarray
    weights: np.ndarray  # shape (n_landmarks, n_outputs)
    offset: np.ndarray  # shape (n_outputs,)

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        """Predictions of shape (n_rows, n_outputs)."""
        return np.asarray(self.similarity(Z, self.landmarks) @ self.weights + self.offset)


# --- the choice -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class Regressions:
    """All regressions on the same confounders; kernels that do not depend on images are shared."""

    given: Confounders
    landmarks: np.ndarray = field(init=False)
    chosen_rows: np.ndarray | slice = field(init=False)

    def __post_init__(self) -> None:
        m = len(self.given.values)
        order = np.random.default_rng(0).permutation(m)
        rows: Any = slice(None) if m <= ROWS_TO_CHOOSE else np.sort(order[:ROWS_TO_CHOOSE])
        object.__setattr__(self, "landmarks", self.given.values[order[:LANDMARKS]])
        object.__setattr__(self, "chosen_rows", rows)

    @cached_property
    def joint(self) -> tuple[tuple[Joint, Basis], ...]:
        """Gaussians of all confounders, and their features on the rows to choose on."""
        width = median_distance(self.few)
        factors = (0.15, 0.35, 0.7, 1.5) if len(self.given.parts) == 1 else (0.5, 1.0, 2.0)
        kernels = [Joint(factor * width) for factor in factors]
        return tuple((kernel, self.basis(kernel)) for kernel in kernels)

    @cached_property
    def shared(self) -> tuple[Basis, ...]:
        """Features of the kernels that compete for every image, on the rows to choose on."""
        few, parts = self.few, self.given.parts
        others: list[Similarity] = []
        if len(parts) > 1:
            others += [Additive(width, parts) for width in (0.35, 0.8, 2.0)]
            others += [Additive(width, parts, pairs=True) for width in (0.8, 2.0)]
        others += [Polynomial(degree=degree, offset=float(few.shape[1])) for degree in (2, 3)]
        return (*(basis for _, basis in self.joint), *map(self.basis, others))

    @property
    def few(self) -> np.ndarray:
        """Confounders of the rows to choose on."""
        return np.asarray(self.given.values[self.chosen_rows])

    @cached_property
    def waves(self) -> Waves:
        """Waves of the rows to choose on."""
        return Waves.of(self.few)

    def missed(self, residuals: np.ndarray) -> float:
        """p-value of what is still a wave of the confounders in residuals of a regression."""
        return self.waves.strongest(residuals[self.chosen_rows]).pvalue

    def basis(self, similarity: Similarity) -> Basis:
        """Features of one kernel on the rows to choose on."""
        return Basis.of(similarity, self.few, self.landmarks)

    def best(self, images: np.ndarray, also: Sequence[Basis] = ()) -> tuple[Smoother, Basis]:
        """The regression of least leave-one-out error, and its features on the rows to choose on.

        Parameters
        ----------
        images : ndarray of shape (n_samples, n_outputs)
        also : features of kernels that compete beside the shared ones
        """
        part = images[self.chosen_rows]
        part = part - part.mean(axis=0)
        winner = min((*self.shared, *also), key=lambda basis: basis.errors(part).min())
        return self._smoother(self._on_all_rows(winner), images), winner

    def best_of_each(
        self, columns: np.ndarray, also: Sequence[Basis] = ()
    ) -> list[tuple[Smoother, Basis]]:
        """``best`` for every column by itself, the errors of all of them at once."""
        part = columns[self.chosen_rows]
        part = part - part.mean(axis=0)
        candidates = (*self.shared, *also)
        errors = [basis.errors_of_each(part).min(axis=0) for basis in candidates]
        winners = np.argmin(errors, axis=0)  # of each column
        full = {place: self._on_all_rows(candidates[place]) for place in set(winners.tolist())}
        return [
            (self._smoother(full[place], columns[:, [column]]), candidates[place])
            for column, place in enumerate(winners.tolist())
        ]

    def _on_all_rows(self, basis: Basis) -> Basis:
        """The same features of all rows."""
        if len(basis.U) == len(self.given.values):
            return basis
        return Basis.of(basis.similarity, self.given.values, self.landmarks)

    def _smoother(self, basis: Basis, images: np.ndarray) -> Smoother:
        """The penalty of least leave-one-out error."""
        centred = images - images.mean(axis=0)
        errors = basis.errors(centred)
        place = int(np.argmin(errors))
        variance = max(float(np.mean(np.sum(centred**2, axis=1))), np.finfo(float).tiny)
        return Smoother(basis, place, float(errors[place]) / variance)

    def directions(self, images: np.ndarray) -> list[Basis]:
        """Features of Gaussians of the directions in which the best such regression is steep.

        Also of waves, where its residuals follow one.
        """
        part = images[self.chosen_rows]
        part = part - part.mean(axis=0)
        kernel, basis = min(self.joint, key=lambda pair: pair[1].errors(part).min())
        found = self._with_waves(part, kernel, basis)
        if len(self.given.parts) == 1:
            return found
        for step in range(REFINEMENTS):
            weights = basis.mapping @ basis.shrunken(part)
            rows = self.few[:ROWS_FOR_GRADIENTS]
            metric = kernel.steep_directions(rows, self.landmarks, weights)
            width = median_distance(self.few @ metric)
            kernel = Joint(0.5 * width, metric)
            basis = self.basis(kernel)
            found.append(basis)
            if step == REFINEMENTS - 1:
                found += [self.basis(Joint(c * width, metric)) for c in (0.2, 1.0)]
        return found

    def _with_waves(self, part: np.ndarray, kernel: Joint, basis: Basis) -> list[Basis]:
        """Features of this kernel and of waves along which its residuals go up and down."""
        kernels, found = [kernel], []
        for _ in range(MOST_WAVES):
            left = part - basis.U @ basis.shrunken(part)
            wave = self.waves.strongest(left)
            if wave.pvalue > WAVE_LEVEL:
                break
            kernels.append(Joint(WAVE_WIDTH, wave.frequency[:, np.newaxis]))
            basis = self.basis(Together(tuple(kernels)))
            found.append(basis)
        return found
