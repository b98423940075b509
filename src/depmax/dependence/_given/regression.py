"""What confounders explain: kernel ridge regressions on them, chosen by leave-one-out error.

A regression has few coordinates, the images of at most ``LANDMARKS`` rows, so that time and memory
are linear in the rows, and one eigenproblem gives the leave-one-out errors of all penalties in
closed form: (ψ - f(z)) / (1 - h), h the leverage; of groups of rows that are left out together,
(I - H_g)⁻¹ (ψ - f(z))_g, H_g the part of H that belongs to the group. Kernels compete: Gaussian of
all confounders, sums over single confounders and over pairs, polynomials, and Gaussians of the
directions in which the regression itself is steep (average outer product of its gradients, taken
three times; Trivedi et al. 2014, Radhakrishnan et al. 2024), without which five confounders are too
many. What smooth regressions miss is looked for among waves of the confounders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import linalg
from scipy.special import gammaln

from depmax._files import held_by_models
from depmax._resources import cached_property
from depmax.dependence._given.confounders import (
    Additive,
    Confounders,
    Joint,
    MeanOfKernels,
    RowUnits,
    Similarity,
    median_distance,
    some_of,
)
from depmax.kernels import Polynomial

#: Rows times frequencies that are compared, and the range of frequencies.
WAVE_CELLS, FREQUENCIES = 4e6, (1.0, 8.0)
#: Peaks that are climbed, and steps to their tops.
PEAKS, STEPS_TO_PEAK = 5, 8


@dataclass(frozen=True)
class Waves:
    """Plane waves of confounders with random frequencies, the same for all residuals.

    A smooth kernel averages out a fast wave of unknown direction; a search over frequencies
    does not.
    """

    Z: np.ndarray
    frequencies: np.ndarray  # shape (n_columns, n_waves)
    cosines: np.ndarray  # shape (n_samples, n_waves)
    sines: np.ndarray
    units: RowUnits

    @classmethod
    def of(cls, Z: np.ndarray, units: RowUnits) -> Waves:
        """Frequencies of random direction and length; confounders have variance 1."""
        Z = np.ascontiguousarray(Z, dtype=np.float32)
        count = max(int(WAVE_CELLS // len(Z)), 1)
        rng = np.random.default_rng(0)
        directions = rng.standard_normal((Z.shape[1], count), dtype=np.float32)
        directions /= np.sqrt((directions * directions).sum(axis=0))
        frequencies = directions * rng.uniform(*FREQUENCIES, count).astype(np.float32)
        phases = Z @ frequencies
        return cls(Z, frequencies, np.cos(phases), np.sin(phases), units)

    @cached_property
    def axes(self) -> np.ndarray:
        """Half axes of the frequencies' ball in units of the width of a peak, where above 1."""
        spectrum = np.atleast_1d(np.linalg.eigvalsh(np.atleast_2d(np.cov(self.Z.T))))
        axes = FREQUENCIES[1] * np.sqrt(np.maximum(spectrum, 0.0))
        return np.asarray(axes[axes > 1.0])

    def pvalue(self, height: float, n_outputs: int) -> float:
        """Of a peak of this height among all frequencies, if residuals do not depend on Z.

        Each ordinate is exponential with mean 1, so that N of them exceed s with probability
        N exp(-s) at most. Tops lie between them: in d dimensions the periodogram has about
        V (s/π)^{d/2} exp(-s) peaks above s, V half the volume of the ball, as ω and -ω are one
        (Worsley 1994, for χ² with two degrees of freedom). The larger counts.
        """
        d = len(self.axes)
        count = np.log(self.axes).sum() - np.log(2.0) - gammaln(0.5 * d + 1.0)
        count += 0.5 * d * np.log(max(height, 1.0))
        count = max(float(count), float(np.log(self.frequencies.shape[1]))) + np.log(n_outputs)
        return float(np.exp(min(count - height, 0.0)))

    def strongest(self, residuals: np.ndarray) -> tuple[np.ndarray, float]:
        """Frequency ω and p-value of the highest peak of the periodogram |Σ r exp(i ωᵀz)|² / Σ r².

        For normal confounders a peak is a Gaussian bell, on which ω + ∇log/2 leads to the top. Its
        height counts in units of Σ_u |Σ_{i in u} r_i exp(i ωᵀz_i)|², if that is more.
        """
        r = residuals - residuals.mean(axis=0)
        r = r / np.sqrt(np.maximum((r * r).sum(axis=0), np.finfo(float).tiny))
        r = r.astype(np.float32)
        power = (r.T @ self.cosines) ** 2 + (r.T @ self.sines) ** 2  # (n_outputs, n_waves)
        best, height = self.frequencies[:, 0], 0.0
        for place in np.argsort(power.max(axis=0))[-PEAKS:]:
            column = r[:, int(np.argmax(power[:, place]))]
            frequency, reached = _climb(self.Z, column, self.frequencies[:, place])
            reached /= self._excess(column, frequency)
            if reached > height:
                best, height = frequency, reached
        return best.astype(np.float64), self.pvalue(height, len(power))

    def _excess(self, r: np.ndarray, frequency: np.ndarray) -> float:
        """Variance of Σ r exp(i ωᵀz) over that of independent rows, at least 1."""
        if self.units.codes is None:
            return 1.0
        phase = self.Z @ frequency
        parts = self.units.totals(np.column_stack([r * np.cos(phase), r * np.sin(phase)]))
        return max(float(np.sum(parts**2)), 1.0)


def _climb(Z: np.ndarray, r: np.ndarray, frequency: np.ndarray) -> tuple[np.ndarray, float]:
    """The top of a peak of the periodogram of one residual, and its height."""
    best, height = frequency, 0.0
    for _ in range(STEPS_TO_PEAK):
        phase = Z @ frequency
        c, s = r * np.cos(phase), r * np.sin(phase)
        a, b = float(c.sum()), float(s.sum())
        power = a * a + b * b
        if power <= height:
            break
        best, height = frequency, power
        frequency = frequency + (b * (Z.T @ c) - a * (Z.T @ s)) / power
    return best, height


#: Penalties ε to choose from.
PENALTIES = np.logspace(-7, 1, 17)
#: Rows that carry a regression, at most.
LANDMARKS = 160
#: Rows on which kernels compete, at most; the winner is fitted to all rows.
ROWS_TO_CHOOSE = 1000
#: Rows at which gradients are taken.
ROWS_FOR_GRADIENTS = 500
#: Times that directions are refined.
REFINEMENTS = 3
#: Waves that a regression may add, the p-value that a wave needs, and the width of its Gaussian.
MOST_WAVES, WAVE_LEVEL, WAVE_WIDTH = 3, 1e-3, 1.0
#: Outputs that a kernel and its penalty are chosen by, at most: those that vary most.
OUTPUTS_TO_CHOOSE = 8
#: Eigenvalues below this share of the largest are rounding.
NEGLIGIBLE = 1e-10
#: 1 - h is not taken for less.
LEAST_FREEDOM = 1e-6
#: Parameters of a regression, at most, as a share of the units: the law of random signs is
#: corrected for so many; with as many as rows nothing but rounding is left, and any law of that is
#: wrong.
MOST_PARAMETERS = 0.5
#: Features ζ of the confounders beside the constant, and their squared norm against its 1.
WEIGHTS, WEIGHT = 8, 0.25
#: An error below this share of the variance is rounding: confounders explain all.
ROUNDING = 1e-8


# --- one regression -------------------------------------------------------------------------------
@dataclass(frozen=True)
class RidgeBasis:
    """Uncorrelated features U of the rows in the span of the landmarks, for one kernel."""

    similarity: Similarity
    landmarks: np.ndarray
    U: np.ndarray  # orthonormal, centred columns, shape (n_samples, n_features)
    values: np.ndarray  # their eigenvalues, which sum to n_samples
    means: np.ndarray  # of the kernel values with each landmark
    mapping: np.ndarray  # U = (k(Z, landmarks) - means) mapping
    units: RowUnits  # what is left out at once

    @classmethod
    def of(
        cls, similarity: Similarity, Z: np.ndarray, landmarks: np.ndarray, units: RowUnits
    ) -> RidgeBasis:
        """Eigenvectors of the centred kernel matrix, restricted to the landmarks' span."""
        own = similarity(landmarks, landmarks)
        own[np.diag_indices_from(own)] += NEGLIGIBLE * np.trace(own)
        factor = linalg.cholesky(own, lower=True, overwrite_a=True, check_finite=False)
        C = similarity(Z, landmarks)
        means = C.mean(axis=0)
        features = _solved(factor, (C - means).T).T
        spectrum, vectors = linalg.eigh(
            features.T @ features, driver="evd", check_finite=False, overwrite_a=True
        )
        kept = spectrum > NEGLIGIBLE * spectrum[-1]
        spectrum, vectors = spectrum[kept], vectors[:, kept] / np.sqrt(spectrum[kept])
        values = spectrum * (len(Z) / spectrum.sum())
        mapping = _solved(factor, vectors, trans="T")
        return cls(similarity, landmarks, features @ vectors, values, means, mapping, units)

    @cached_property
    def shrinkages(self) -> np.ndarray:
        """Factor of each feature (rows) for each penalty (columns)."""
        return self.values[:, np.newaxis] / (self.values[:, np.newaxis] + len(self.U) * PENALTIES)

    @cached_property
    def freedoms(self) -> np.ndarray:
        """1 - h of every row, for each penalty."""
        freedom = 1.0 - 1.0 / len(self.U) - (self.U * self.U) @ self.shrinkages
        return np.maximum(freedom, LEAST_FREEDOM)

    @cached_property
    def unfolded(self) -> list[list[np.ndarray]]:
        """(I - H_g)⁻¹ of the units of each size, for each penalty."""
        found = []
        for rows in self.units.members:
            U, one = self.U[rows], np.eye(rows.shape[1])
            parts = [(U * shrinkage) @ U.mT + 1.0 / len(self.U) for shrinkage in self.shrinkages.T]
            found.append([np.linalg.inv((1.0 + LEAST_FREEDOM) * one - part) for part in parts])
        return found

    def shrunken(self, images: np.ndarray) -> np.ndarray:
        """Coefficients of the features in the regression of least leave-one-out error."""
        place = int(np.argmin(self.errors(images)))
        return np.asarray(self.shrinkages[:, [place]] * (self.U.T @ images))

    def errors(self, images: np.ndarray) -> np.ndarray:
        """Mean squared leave-one-out error of centred images, infinite for forbidden penalties."""
        return self.errors_of_each(images).sum(axis=1)

    def errors_of_each(self, images: np.ndarray) -> np.ndarray:
        """Errors of every image by itself, of shape (n_penalties, n_outputs)."""
        m = len(images)
        allowed = self.shrinkages.sum(axis=0) <= MOST_PARAMETERS * self.units.count
        allowed[np.argmax(PENALTIES)] = True
        shrinkages = self.shrinkages[:, allowed]
        found = np.full((len(PENALTIES), images.shape[1]), np.inf)
        for start in range(0, images.shape[1], OUTPUTS_TO_CHOOSE):
            part = images[:, start : start + OUTPUTS_TO_CHOOSE]
            inner = self.U.T @ part
            shrunken = shrinkages[:, :, np.newaxis] * inner[:, np.newaxis, :]
            fitted = self.U @ shrunken.reshape(len(inner), -1)
            left = part[:, np.newaxis, :] - fitted.reshape(m, shrinkages.shape[1], -1)
            errors = self._squares_left_out(left, np.flatnonzero(allowed)) / m
            found[allowed, start : start + OUTPUTS_TO_CHOOSE] = errors
        return found

    def _squares_left_out(self, left: np.ndarray, penalties: np.ndarray) -> np.ndarray:
        """Σ of squared errors of units left out, from residuals (n_samples, n_penalties, k)."""
        if self.units.codes is None:
            weights = self.freedoms[:, penalties] ** -2.0
            return np.asarray(np.einsum("ij,ijk,ijk->jk", weights, left, left))
        found = np.zeros(left.shape[1:])
        for rows, inverses in zip(self.units.members, self.unfolded, strict=True):
            for place, penalty in enumerate(penalties):
                found[place] += np.sum((inverses[penalty] @ left[rows, place]) ** 2, axis=(0, 1))
        return found


#: L⁻¹ values of a triangular factor L, with ``trans="T"`` L⁻ᵀ values.
_solved = partial(linalg.solve_triangular, lower=True, check_finite=False)


def _most_varied(images: np.ndarray) -> np.ndarray:
    """The centred outputs that vary most, as many as are used to choose a regression."""
    centred = images - images.mean(axis=0)
    if centred.shape[1] <= OUTPUTS_TO_CHOOSE:
        return np.asarray(centred)
    order = np.argsort(np.sum(centred * centred, axis=0), kind="stable")
    return np.asarray(centred[:, order[-OUTPUTS_TO_CHOOSE:]])


@dataclass(frozen=True)
class Smoother:
    """A regression with its penalty: a linear map of images to what confounders explain of them."""

    basis: RidgeBasis
    place: int  # of the penalty
    error: float  # mean squared leave-one-out error, as a share of the images' variance

    def variances(self, likeness: float = 0.0) -> np.ndarray:
        """Var of each residual where the noise has variance 1: the diagonal of (I - H) B (I - H)ᵀ.

        Of shape (n_samples, 1). B is I, and has ``likeness`` beside the diagonal for rows of the
        same unit. With I it is 1 - h for a projection and less for a penalised regression.
        """
        U, shrinkage = self.basis.U, self.basis.shrinkages[:, [self.place]]
        found = 1.0 - 1.0 / len(U) - (U * U) @ (shrinkage * (2.0 - shrinkage))
        if likeness > 0.0:  # (I - H) times the indicators of units has rows δ - share - inner
            units = self.basis.units
            shares = units.totals(np.ones((len(U), 1))) / len(U)
            totals = shrinkage.T * units.totals(U)  # (n_units, n_features)
            inner = np.sum(U * totals[units.codes], axis=1, keepdims=True)
            crossed = U @ (totals.T @ shares) + 0.5 * np.sum(
                (U @ (totals.T @ totals)) * U, axis=1, keepdims=True
            )
            own = 1.0 - 2.0 * (shares[units.codes] + inner) + np.sum(shares**2) + 2.0 * crossed
            found = (1.0 - likeness) * found + likeness * own
        return np.asarray(np.maximum(found, LEAST_FREEDOM))

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
        """Residuals over the root of ``variances``: of the variance of the noise in every row.

        Leave-one-out residuals would be larger where rows are sparse. As these are the same rows on
        both sides of a test, that would be a dependence.
        """
        left = self.residual(images)
        return left / np.sqrt(self.variances(self.basis.units.likeness(left)))

    def curve(self, images: np.ndarray) -> RidgeCurve:
        """The regression of these images as a function of confounders."""
        mean = images.mean(axis=0)
        basis = self.basis
        inner = self.basis.shrinkages[:, [self.place]] * (basis.U.T @ (images - mean))
        weights = basis.mapping @ inner
        return RidgeCurve(basis.similarity, basis.landmarks, weights, mean - basis.means @ weights)


@held_by_models
@dataclass(frozen=True)
class RidgeCurve:
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
    units: RowUnits

    @cached_property
    def landmarks(self) -> np.ndarray:
        """Confounders of the rows that carry the regressions."""
        return np.asarray(self.given.values[self._order[:LANDMARKS]])

    @cached_property
    def chosen_rows(self) -> np.ndarray | slice:
        """Rows to choose on."""
        few = len(self._order) <= ROWS_TO_CHOOSE
        return slice(None) if few else np.sort(self._order[:ROWS_TO_CHOOSE])

    @cached_property
    def _order(self) -> np.ndarray:
        return np.random.default_rng(0).permutation(len(self.given.values))

    @cached_property
    def joint(self) -> tuple[tuple[Joint, RidgeBasis], ...]:
        """Gaussians of all confounders, and their features on the rows to choose on."""
        width = median_distance(self.few)
        factors = (0.15, 0.35, 0.7, 1.5) if len(self.given.parts) == 1 else (0.5, 1.0, 2.0)
        kernels = [Joint(factor * width) for factor in factors]
        return tuple((kernel, self.basis(kernel)) for kernel in kernels)

    @cached_property
    def shared(self) -> tuple[RidgeBasis, ...]:
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
    def few_units(self) -> RowUnits:
        """Units of the rows to choose on."""
        rows = self.chosen_rows
        return self.units if isinstance(rows, slice) else self.units.take(rows)

    @cached_property
    def waves(self) -> Waves:
        """Waves of the rows to choose on."""
        return Waves.of(self.few, self.few_units)

    @cached_property
    def weights(self) -> np.ndarray:
        """ζ: a constant and the leading features of a wide Gaussian, of all rows."""
        Z = self.given.values
        basis = RidgeBasis.of(Joint(2.0 * median_distance(Z)), Z, self.landmarks, self.units)
        count = min(WEIGHTS, len(basis.values))
        features = basis.U[:, -count:] * np.sqrt(basis.values[-count:])
        features *= np.sqrt(WEIGHT / np.mean(np.sum(features**2, axis=1)))
        return np.column_stack([np.ones(len(Z)), features])

    def missed(self, residuals: np.ndarray) -> float:
        """p-value of what is still a wave of the confounders in residuals of a regression."""
        return self.waves.strongest(residuals[self.chosen_rows])[1]

    def basis(self, similarity: Similarity) -> RidgeBasis:
        """Features of one kernel on the rows to choose on."""
        return RidgeBasis.of(similarity, self.few, self.landmarks, self.few_units)

    def best(self, images: np.ndarray, also: Sequence[RidgeBasis] = ()) -> Smoother:
        """The regression of least leave-one-out error.

        Parameters
        ----------
        images : ndarray of shape (n_samples, n_outputs)
        also : features of kernels that compete beside the shared ones
        """
        part = _most_varied(images[self.chosen_rows])
        winner = min((*self.shared, *also), key=lambda basis: basis.errors(part).min())
        return self._smoother(self._on_all_rows(winner), images)

    def best_of_each(
        self, columns: np.ndarray, also: Sequence[RidgeBasis] = ()
    ) -> list[tuple[Smoother, RidgeBasis]]:
        """``best`` for every column by itself, with its features on the rows to choose on."""
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

    def _on_all_rows(self, basis: RidgeBasis) -> RidgeBasis:
        """These features of all rows."""
        if len(basis.U) == len(self.given.values):
            return basis
        return RidgeBasis.of(basis.similarity, self.given.values, self.landmarks, self.units)

    def _smoother(self, basis: RidgeBasis, images: np.ndarray) -> Smoother:
        """The penalty of least leave-one-out error."""
        centred = _most_varied(images)
        errors = basis.errors(centred)
        place = int(np.argmin(errors))
        variance = max(float(np.mean(np.sum(centred**2, axis=1))), np.finfo(float).tiny)
        return Smoother(basis, place, float(errors[place]) / variance)

    def directions(self, images: np.ndarray) -> list[RidgeBasis]:
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
            rows = some_of(self.few, ROWS_FOR_GRADIENTS)
            metric = kernel.steep_directions(rows, self.landmarks, weights)
            width = median_distance(self.few @ metric)
            kernel = Joint(0.5 * width, metric)
            basis = self.basis(kernel)
            found.append(basis)
            if step == REFINEMENTS - 1:
                found += [self.basis(Joint(c * width, metric)) for c in (0.2, 1.0)]
        return found

    def _with_waves(self, part: np.ndarray, kernel: Joint, basis: RidgeBasis) -> list[RidgeBasis]:
        """Features of this kernel and of waves along which its residuals go up and down."""
        kernels, found = [kernel], []
        for _ in range(MOST_WAVES):
            left = part - basis.U @ basis.shrunken(part)
            frequency, pvalue = self.waves.strongest(left)
            if pvalue > WAVE_LEVEL:
                break
            kernels.append(Joint(WAVE_WIDTH, frequency[:, np.newaxis]))
            basis = self.basis(MeanOfKernels(tuple(kernels)))
            found.append(basis)
        return found
