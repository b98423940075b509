"""Kernel ridge regression on sets of columns: its leave-one-out error, and what columns add to it.

The kernel of a set of columns is k(x, z) = exp(-‖x - z‖²/2v) with v the total variance of these
columns: with standardised columns v is their number. The regression predicts the rows ψ of Ψ (the
target's images, centred, of total variance 1) with an intercept and the penalty mε‖f‖². For every ε
at once, the error of a row that is left out is (ψ - f(x)) / (1 - h), h its leverage.

All rows may carry the regression (m × m), or some, the landmarks Z: f = Σ β_l k(·, z_l). The latter
visits the rows in blocks and needs time m r² and memory r² for r landmarks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import linalg

from depmax.kernels.bandwidth import squared_distances
from depmax.samples import slices

#: Some of the rows.
Rows = slice | np.ndarray
ALL = slice(None)

#: Penalties ε to choose from by leave-one-out error.
PENALTIES = np.logspace(-6, 1, 22)
#: Penalties over which penalised errors are averaged: one alone, even the best, orders columns less
#: reliably.
AVERAGED = (1e-4, 1e-3, 1e-2)
#: Up to so many rows every row carries the regression,
EXACT = 1500
#: and where single removals are judged, which happens more often and for few columns.
EXACT_REMOVALS = 600
#: Landmarks beyond: at least so many, and at most; between these two per column.
FEWEST, MOST, PER_COLUMN = 300, 1000, 2
#: Rows of a block.
BLOCK = 8192
#: Added to the diagonal of the landmarks' kernel matrix, as a share of its trace: near landmarks.
NEGLIGIBLE = 1e-10
#: 1 - h is not taken for less: a row that no other row resembles.
LEAST_FREEDOM = 1e-8


@dataclass(frozen=True)
class Fit:
    """The regression on some columns with the penalty of the least leave-one-out error."""

    error: float  # mean squared leave-one-out error; 1 is that of the mean
    penalty: float  # ε
    predict: Callable[[np.ndarray], np.ndarray]  # of rows with all columns: images ψ


@dataclass(frozen=True)
class RidgeProblem:
    """Rows whose target is predicted from sets of their columns."""

    X: np.ndarray  # shape (n_samples, n_columns), columns in comparable units
    images: np.ndarray  # Ψ, shape (n_samples, n_outputs), centred, Σψ² = n_samples
    penalty: float | None = None  # ε, or None to choose
    n_landmarks: int | None = None  # or None to choose by the number of rows and columns
    mass: np.ndarray | None = None  # w, how many rows each stands for: then Ψ is such that Σwψ² = W
    variances: np.ndarray = field(init=False)  # of the columns

    def __post_init__(self) -> None:
        centred = self.X - np.average(self.X, axis=0, weights=self.mass)
        object.__setattr__(self, "variances", np.average(centred**2, axis=0, weights=self.mass))

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.X)

    @property
    def n_counted(self) -> float:
        """W, the rows that all stand for."""
        return self.n_samples if self.mass is None else float(self.mass.sum())

    def counted(self, values: np.ndarray, rows: Rows = ALL, power: float = 1.0) -> np.ndarray:
        """Values of some rows, of shape (n_rows, …), times powers of what each row stands for."""
        return values if self.mass is None else values * self.mass[rows, np.newaxis] ** power

    def take(self, rows: np.ndarray) -> RidgeProblem:
        """The same on some of the rows."""
        mass = None if self.mass is None else self.mass[rows]
        images = self.images[rows] - np.average(self.images[rows], axis=0, weights=mass)
        spread = float(np.average(np.sum(images**2, axis=1), weights=mass))
        images /= np.sqrt(max(spread, np.finfo(float).tiny))
        return replace(self, X=self.X[rows], images=images, mass=mass)

    def fit(self, columns: np.ndarray) -> Fit:
        """Leave-one-out error and predictions from these columns."""
        return self._solver(columns, EXACT).fit()

    def penalised_error(self, columns: np.ndarray) -> float:
        """Least penalised error (‖Ψ - f‖² + mε‖f‖²)/m with these columns, averaged over some ε.

        With all rows it is ε tr Ψᵀ(K̄ + mεI)⁻¹Ψ, the conditional covariance of the target given the
        columns: 1 if they say nothing.
        """
        return self._solver(columns, EXACT_REMOVALS).penalised_error()

    def slopes(self, columns: np.ndarray) -> np.ndarray:
        """How much the penalised error would grow, to first order, without each column of X.

        For columns outside the set: how much it would fall with them.
        """
        return self._solver(columns, EXACT).slopes()

    def _solver(self, columns: np.ndarray, exact: int) -> AllRows | Landmarks:
        m = self.n_samples
        count = self.n_landmarks
        if count is None:
            count = m if m <= exact else int(np.clip(PER_COLUMN * len(columns), FEWEST, MOST))
        if count >= m:
            return AllRows(self, columns)
        # nested: more landmarks include the fewer
        places = np.sort(np.random.default_rng(0).permutation(m)[:count])
        return Landmarks(self, columns, places)

    def tile(self, rows: Rows, others: Rows, columns: np.ndarray) -> np.ndarray:
        """Kernel values of some rows with others, by the columns of a set."""
        left = self._part(rows, columns)
        right = left if rows is others else self._part(others, columns)
        return self._of_squares(squared_distances(left, right), columns)

    def against(self, new: np.ndarray, rows: Rows, columns: np.ndarray) -> np.ndarray:
        """Kernel values of new rows, with all columns, with some rows of the problem."""
        right = self._part(rows, columns)
        return self._of_squares(squared_distances(new[:, columns], right), columns)

    def moved(self, M: np.ndarray, rows: Rows, others: Rows, columns: np.ndarray) -> np.ndarray:
        """Σ_il M_il (x_ij - z_lj)² for every column j; the kernel is that of some columns."""
        return moved(M, self.X[rows], self.X[others])

    def moved_together(self, W: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Half of the same for all pairs of rows and symmetric weights."""
        X = self.X
        halves: np.ndarray = W.sum(axis=1) @ (X * X) - np.einsum("ij,ij->j", X, W @ X)
        return halves

    def _part(self, rows: Rows, columns: np.ndarray) -> np.ndarray:
        if isinstance(rows, slice):
            return self.X[rows][:, columns]
        return self.X[np.ix_(rows, columns)]

    def _of_squares(self, values: np.ndarray, columns: np.ndarray) -> np.ndarray:
        values *= -0.5 / self.total(columns)
        return np.exp(values, out=values)

    def total(self, columns: np.ndarray) -> float:
        """Total variance v of some columns."""
        return max(float(self.variances[columns].sum()), np.finfo(float).tiny)

    @property
    def penalties(self) -> np.ndarray:
        """Penalties ε to choose from."""
        return PENALTIES if self.penalty is None else np.array([self.penalty])

    @property
    def averaged_penalties(self) -> tuple[float, ...]:
        """Penalties ε over which penalised errors and slopes are averaged."""
        return AVERAGED if self.penalty is None else (self.penalty,)


@dataclass(frozen=True)
class AllRows:
    """The regression carried by all rows: eigenvalues and eigenvectors of K̄ = HKH.

    Where rows stand for several, K̄ = D^½HKHᵀD^½ with D = diag(w), H = I - 1wᵀ/W and D^½Ψ for Ψ are
    what the repeated rows come to (docs/mathematics/weights.md).
    """

    problem: RidgeProblem
    columns: np.ndarray

    def fit(self) -> Fit:
        """Of the best penalty."""
        problem = self.problem
        gram = self._gram()
        values, vectors = np.linalg.eigh(_centred(gram, problem.mass))
        values = np.maximum(values, 0.0)
        cross = vectors.T @ self._images()
        errors = leave_one_out(vectors, values, cross, problem.mass, problem.penalties)
        best = int(np.argmin(errors))
        penalty = float(problem.penalties[best])
        W = problem.n_counted
        weights = problem.counted(
            vectors @ (cross / (values + W * penalty)[:, np.newaxis]), ALL, 0.5
        )
        weights -= problem.counted(np.full_like(weights, 1.0 / W)) * weights.sum(axis=0)
        means = np.average(gram, axis=0, weights=problem.mass)
        return Fit(
            float(errors[best]) / W,
            penalty,
            _predictor(problem, self.columns, ALL, weights, -means @ weights),
        )

    def penalised_error(self) -> float:
        """Averaged over the penalties: ε Ψᵀ(K̄ + mεI)⁻¹Ψ."""
        images = self._images()
        return float(np.mean([e * np.vdot(images, A) for e, A in self._solved(self._gram())]))

    def slopes(self) -> np.ndarray:
        """From W = Σ ε (AAᵀ)∘K with A = (K̄ + mεI)⁻¹Ψ: (x_jᵀWx_j - (x_j²)ᵀW1)/v."""
        gram = self._gram()
        solved = list(self._solved(gram))
        A = self.problem.counted(np.hstack([np.sqrt(e) * each for e, each in solved]), ALL, 0.5)
        W = (A @ A.T) * gram
        scale = len(solved) * self.problem.total(self.columns)
        return -self.problem.moved_together(W, self.columns) / scale

    def _gram(self) -> np.ndarray:
        return self.problem.tile(ALL, ALL, self.columns)

    def _solved(self, gram: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
        """Penalties ε and weights A."""
        centred = _centred(gram, self.problem.mass)
        for penalty in self.problem.averaged_penalties:
            system = centred.copy()
            system[np.diag_indices_from(system)] += self.problem.n_counted * penalty
            factor = linalg.cho_factor(system, overwrite_a=True, check_finite=False)
            yield penalty, linalg.cho_solve(factor, self._images(), check_finite=False)

    def _images(self) -> np.ndarray:
        return self.problem.counted(self.problem.images, ALL, 0.5)


@dataclass(frozen=True)
class Landmarks:
    """The regression carried by some rows Z: C = k(X, Z) is visited in blocks of rows."""

    problem: RidgeProblem
    columns: np.ndarray
    places: np.ndarray  # of the landmarks among the rows

    def fit(self) -> Fit:
        """Of the best penalty."""
        problem = self.problem
        m, q = problem.n_counted, problem.images.shape[1]
        basis = self._basis()
        penalties = problem.penalties
        shrunk = 1.0 / (basis.values[:, np.newaxis] + m * penalties)  # per direction and penalty
        weights = shrunk[:, :, np.newaxis] * basis.cross[:, np.newaxis, :]
        errors = np.zeros(len(penalties))
        for rows, C in self._blocks():
            E = (C - basis.means) @ basis.directions
            freedom = np.maximum(1.0 - 1.0 / m - (E * E) @ shrunk, LEAST_FREEDOM)
            fitted = (E @ weights.reshape(len(weights), -1)).reshape(len(E), -1, q)
            left = problem.images[rows][:, np.newaxis, :] - fitted
            errors += np.einsum("ikq,ik->k", left**2, problem.counted(freedom**-2, rows))
        best = int(np.argmin(errors))
        beta = basis.directions @ weights[:, best]
        return Fit(
            float(errors[best]) / m,
            float(penalties[best]),
            _predictor(problem, self.columns, self.places, beta, -basis.means @ beta),
        )

    def penalised_error(self) -> float:
        """Averaged over the penalties: (‖Ψ‖² - ΨᵀC(CᵀHC + mεK_zz)⁻¹CᵀΨ)/m."""
        problem = self.problem
        m = problem.n_counted
        products, cross, _ = self._sums()
        own = self._own()
        explained = []
        for penalty in problem.averaged_penalties:
            factor = linalg.cho_factor(products + m * penalty * own, check_finite=False)
            explained.append(np.vdot(cross, linalg.cho_solve(factor, cross, check_finite=False)))
        return float(
            (np.vdot(problem.images, problem.counted(problem.images)) - np.mean(explained)) / m
        )

    def slopes(self) -> np.ndarray:
        """By the envelope theorem: the optimal β held, only the kernel moves."""
        problem = self.problem
        m = problem.n_counted
        basis = self._basis()
        betas = [
            basis.directions @ (basis.cross / (basis.values + m * penalty)[:, np.newaxis])
            for penalty in problem.averaged_penalties
        ]
        result = np.zeros(problem.X.shape[1])
        own = self._own()
        for penalty, beta in zip(problem.averaged_penalties, betas, strict=True):
            M = (beta @ beta.T) * own
            result += m * penalty * problem.moved(M, self.places, self.places, self.columns)
        beta = np.hstack(betas)
        for rows, C in self._blocks():
            left = [problem.images[rows] - (C - basis.means) @ each for each in betas]
            M = (problem.counted(np.hstack(left), rows) @ beta.T) * C
            result -= 2.0 * problem.moved(M, rows, self.places, self.columns)
        return result / (2.0 * m * len(betas) * problem.total(self.columns))

    def _basis(self) -> Basis:
        """Directions of the landmarks' span in which centred rows are uncorrelated."""
        products, cross, means = self._sums()
        spectrum, directions = linalg.eigh(
            products, self._own(), driver="gvd", check_finite=False, overwrite_a=True
        )
        return Basis(np.maximum(spectrum, 0.0), directions, directions.T @ cross, means)

    def _sums(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """CᵀHC, CᵀΨ and the means of the columns of C."""
        problem = self.problem
        m, r = problem.n_counted, len(self.places)
        products, sums = np.zeros((r, r)), np.zeros(r)
        cross = np.zeros((r, problem.images.shape[1]))
        for rows, C in self._blocks():
            counted = problem.counted(C, rows)
            products += counted.T @ C
            sums += counted.sum(axis=0)
            cross += counted.T @ problem.images[rows]
        products -= np.outer(sums, sums) / m
        return products, cross, sums / m

    def _own(self) -> np.ndarray:
        """K_zz, with a little on its diagonal."""
        own = self.problem.tile(self.places, self.places, self.columns)
        own[np.diag_indices_from(own)] += NEGLIGIBLE * len(own)
        return own

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        for rows in slices(self.problem.n_samples, BLOCK):
            yield rows, self.problem.tile(rows, self.places, self.columns)


@dataclass(frozen=True)
class Basis:
    """Features E = (C - means) directions of the rows, with EᵀE diagonal."""

    values: np.ndarray  # diagonal of EᵀE
    directions: np.ndarray  # shape (n_landmarks, n_directions); the penalty is their squared norm
    cross: np.ndarray  # EᵀΨ
    means: np.ndarray  # of the columns of C


def leave_one_out(
    vectors: np.ndarray,
    values: np.ndarray,
    cross: np.ndarray,
    mass: np.ndarray | None,
    penalties: np.ndarray,
) -> np.ndarray:
    """Sum of squared leave-one-out errors for each penalty, from K̄ = U diag(values) Uᵀ and UᵀΨ.

    Of a row that stands for several, one of them is left out at a time.
    """
    m, q = len(vectors), cross.shape[1]
    total = m if mass is None else float(mass.sum())
    shrunk = values[:, np.newaxis] / (values[:, np.newaxis] + total * penalties)
    leverages = (vectors * vectors) @ shrunk
    leverages = leverages if mass is None else leverages / mass[:, np.newaxis]
    freedom = np.maximum(1.0 - 1.0 / total - leverages, LEAST_FREEDOM)
    weights = (1.0 - shrunk)[:, :, np.newaxis] * cross[:, np.newaxis, :]
    left = (vectors @ weights.reshape(len(weights), -1)).reshape(m, -1, q)
    return np.einsum("ikq,ik->k", left**2, freedom**-2)


def _predictor(
    problem: RidgeProblem,
    columns: np.ndarray,
    carriers: Rows,
    weights: np.ndarray,
    intercept: np.ndarray,
) -> Callable[[np.ndarray], np.ndarray]:
    """Images of new rows from the rows that carry the regression."""

    def predict(new: np.ndarray) -> np.ndarray:
        return problem.against(new, carriers, columns) @ weights + intercept

    return predict


def moved(M: np.ndarray, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Σ_il M_il (x_ij - z_lj)² for every column j."""
    crossed = np.einsum("lj,lj->j", M.T @ X, Z)
    return M.sum(axis=1) @ (X * X) - 2.0 * crossed + M.sum(axis=0) @ (Z * Z)


def _centred(gram: np.ndarray, mass: np.ndarray | None) -> np.ndarray:
    """HKH, with masses D^½HKHᵀD^½."""
    means = np.average(gram, axis=0, weights=mass)
    centred = gram - means - means[:, np.newaxis] + np.average(means, weights=mass)
    return centred if mass is None else centred * np.sqrt(np.outer(mass, mass))
