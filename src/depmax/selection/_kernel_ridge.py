"""Kernel ridge regression on sets of columns: its leave-one-out error, and what columns add to it.

The kernel of a set of columns is k(x, z) = exp(-‖x - z‖²/2v) with v the total variance of these
columns: with standardised columns v is their number. The regression predicts the rows ψ of Ψ (the
target's images, centred, of total variance 1) with an intercept and the penalty mε‖f‖². It is
carried by some of the rows, the landmarks Z: f = Σ β_l k(·, z_l). With C = k(X, Z), H the centring
and K_zz the kernel of the landmarks, β = (CᵀHC + mεK_zz)⁻¹CᵀΨ. The rows are visited in blocks: r
landmarks take time m r² and memory r².

The mean embedding of its column stands in for a missing cell (``kernels/neutral.py``). It has a
distance of its own from every value, which depends on the width of the kernel: what the regression
does with distances, also to first order, it does with these.

With many columns a Gaussian kernel is almost linear: it would not see that the target depends on
how far a column is from its middle. So a column of numbers enters twice: as it is, and folded, by
its squared rank, of which only what is not linear in the column counts. Both are kept or dropped
together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import linalg
from scipy.stats import rankdata

from depmax._resources import slices
from depmax.kernels.distances import squared_distances
from depmax.kernels.neutral import GappedRows, Gaps
from depmax.selection._search.data import Units

#: Penalties ε to choose from by leave-one-out error.
PENALTIES = np.logspace(-6, 1, 22)
#: Penalties over which penalised errors are averaged: one alone, even the best, orders columns less
#: reliably.
AVERAGED = (1e-4, 1e-3, 1e-2)
#: Rows that carry the regression unless a number is asked for.
LANDMARKS = 150
#: Rows of a block, its predictions at most, and kernel values kept between visits of the rows.
BLOCK, PREDICTIONS, KEPT = 8192, 2**23, 2**23
#: Columns of predictions that leave-one-out errors are taken of at a time.
AT_ONCE = 64
#: Added to the diagonal of the landmarks' kernel matrix, as a share of its trace: near landmarks.
NEGLIGIBLE = 1e-10
#: Places of missing cells where there are none.
NO_CELL = np.empty(0, dtype=np.intp)
#: 1 - h is not taken for less: a row that no other row resembles.
LEAST_FREEDOM = 1e-8


@dataclass(frozen=True)
class RidgeProblem:
    """Rows whose target is predicted from sets of their columns."""

    X: np.ndarray  # shape (n_samples, n_columns), columns in comparable units
    images: np.ndarray  # Ψ, shape (n_samples, n_outputs), centred, Σψ² = n_samples
    penalty: float | None = None  # ε, or None to choose
    n_landmarks: int = LANDMARKS
    weight: np.ndarray | None = None  # w, how many rows each stands for: then Σwψ² = W
    cells: Sequence[np.ndarray] = ()  # columns that are missing together in some rows
    variances: np.ndarray = field(init=False)  # of the columns
    places: np.ndarray = field(init=False)  # of the landmarks among the rows
    gaps: Gaps = field(init=False)
    _last: dict[float, tuple[np.ndarray, GappedRows]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.cells):
            known = [column[~np.isnan(column)] for column in self.X.T]
            variances = np.array([column.var() if len(column) else 0.0 for column in known])
        else:
            centred = self.X - np.average(self.X, axis=0, weights=self.weight)
            variances = np.asarray(np.average(centred**2, axis=0, weights=self.weight))
        drawn = np.random.default_rng(0).permutation(self.n_samples)[: self.n_landmarks]
        _, first = np.unique(self.X[drawn], axis=0, return_index=True)  # a copy adds nothing
        object.__setattr__(self, "variances", variances)
        object.__setattr__(self, "places", np.sort(drawn[first]))
        object.__setattr__(self, "gaps", Gaps.of(self.X, self.cells))

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.X)

    @property
    def n_counted(self) -> float:
        """W, the rows that all stand for."""
        return self.n_samples if self.weight is None else float(self.weight.sum())

    @property
    def penalties(self) -> np.ndarray:
        """Penalties ε to choose from."""
        return PENALTIES if self.penalty is None else np.array([self.penalty])

    @property
    def averaged_penalties(self) -> tuple[float, ...]:
        """Penalties ε over which penalised errors and slopes are averaged."""
        return AVERAGED if self.penalty is None else (self.penalty,)

    def counted(self, values: np.ndarray, rows: slice) -> np.ndarray:
        """Values of some rows, of shape (n_rows, …), times what each row stands for."""
        return values if self.weight is None else values * self.weight[rows, np.newaxis]

    def take(self, rows: np.ndarray) -> RidgeProblem:
        """A problem on some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        images = self.images[rows] - np.average(self.images[rows], axis=0, weights=weight)
        spread = float(np.average(np.sum(images**2, axis=1), weights=weight))
        images /= np.sqrt(max(spread, np.finfo(float).tiny))
        return replace(self, X=self.X[rows], images=images, weight=weight)

    def regression(self, columns: np.ndarray) -> Regression:
        """The regression on these columns, for every penalty."""
        sums = self._sums(columns)
        spectrum, directions = linalg.eigh(
            sums.products, sums.own, driver="gvd", check_finite=False, overwrite_a=True
        )
        values = np.maximum(spectrum, 0.0)
        return Regression(self, columns, values, directions, directions.T @ sums.cross, sums)

    def penalised_error(self, columns: np.ndarray) -> float:
        """Least penalised error (‖Ψ - f‖² + mε‖f‖²)/m with these columns, averaged over some ε.

        It is (‖Ψ‖² - ΨᵀC(CᵀHC + mεK_zz)⁻¹CᵀΨ)/m; where all rows are landmarks, ε tr Ψᵀ(K̄ + mεI)⁻¹Ψ
        with K̄ = HKH, the conditional covariance of the target given the columns: 1 if they say
        nothing.
        """
        sums = self._sums(columns)
        m = self.n_counted
        explained = []
        for penalty in self.averaged_penalties:
            system = sums.products + m * penalty * sums.own
            factor = linalg.cho_factor(system, check_finite=False, overwrite_a=True)
            solved = linalg.cho_solve(factor, sums.cross, check_finite=False)
            explained.append(np.vdot(sums.cross, solved))
        return float(1.0 - np.mean(explained) / m)

    def _sums(self, columns: np.ndarray) -> KernelSums:
        m, r, q = self.n_counted, len(self.places), self.images.shape[1]
        seen, scale = self._seen(columns), -0.5 / self.total(columns)
        landmarks = seen.take(self.places)
        size = max(1, min(BLOCK, PREDICTIONS // (q * len(self.averaged_penalties))))
        blocks: Iterable[tuple[slice, np.ndarray]] = KernelBlocks(seen, landmarks, scale, size)
        if self.n_samples * r <= KEPT:
            blocks = list(blocks)
        products, sums, cross = np.zeros((r, r)), np.zeros(r), np.zeros((r, q))
        for rows, C in blocks:
            counted = self.counted(C, rows)
            products += counted.T @ C
            sums += counted.sum(axis=0)
            cross += counted.T @ self.images[rows]
        products -= np.outer(sums, sums) / m
        own = _gaussian(landmarks, landmarks, scale)
        own[np.diag_indices_from(own)] += NEGLIGIBLE * r
        return KernelSums(products, cross, sums / m, own, blocks, seen, landmarks)

    def _seen(self, columns: np.ndarray) -> GappedRows:
        """Some columns of all rows, ready to be compared by the kernel of these columns.

        With missing cells, what was made ready is kept for the last width of the kernel: the sets
        of a round, which differ by a column, have the same one.
        """
        if not len(self.cells):
            nothing = np.empty((self.n_samples, 0))
            return GappedRows(self.X[:, columns], nothing, nothing, nothing[0], NO_CELL)
        width = float(f"{2.0 * self.total(columns):.12g}")
        covered, ready = self._last.get(width, (None, None))
        if covered is None or ready is None or not np.isin(columns, covered).all():
            covered = np.sort(columns) if covered is None else np.union1d(covered, columns)
            ready = self.gaps.among(covered).see(self.X[:, covered], 2, width)
            self._last.clear()
            self._last[width] = covered, ready
        return ready.among(np.searchsorted(covered, columns))

    def total(self, columns: np.ndarray) -> float:
        """Total variance v of some columns."""
        return max(float(self.variances[columns].sum()), np.finfo(float).tiny)


@dataclass(frozen=True)
class KernelBlocks:
    """The kernel C = k(X, Z) of a set of columns, some rows at a time."""

    rows: GappedRows
    landmarks: GappedRows
    scale: float  # k = exp(scale · squared distance)
    size: int  # rows of a block

    def __iter__(self) -> Iterator[tuple[slice, np.ndarray]]:
        for start in range(0, len(self.rows.filled), self.size):
            rows = slice(start, start + self.size)
            yield rows, _gaussian(self.rows.take(rows), self.landmarks, self.scale)


@dataclass(frozen=True)
class KernelSums:
    """Sums over all rows of what the kernel C = k(X, Z) of a set of columns says."""

    products: np.ndarray  # CᵀHC
    cross: np.ndarray  # CᵀΨ
    means: np.ndarray  # of the columns of C
    own: np.ndarray  # K_zz, with a little on its diagonal
    blocks: Iterable[tuple[slice, np.ndarray]]  # C in blocks of rows, kept unless there are many
    rows: GappedRows  # X and Z in the columns of the set
    landmarks: GappedRows


@dataclass(frozen=True)
class Regression:
    """The regression on a set of columns, for every penalty at once.

    The features E = (C - means) directions have EᵀE = diag(values), and the penalty is the squared
    norm of their weights: EᵀΨ / (values + mε).
    """

    problem: RidgeProblem
    columns: np.ndarray
    values: np.ndarray
    directions: np.ndarray  # shape (n_landmarks, n_landmarks)
    cross: np.ndarray  # EᵀΨ
    sums: KernelSums

    def left_out(self) -> np.ndarray:
        """Mean squared leave-one-out error for each penalty; 1 is that of the mean.

        The error of a row that is left out is (ψ - f(x)) / (1 - h), h its leverage. Of a row that
        stands for several, one of them is left out at a time.
        """
        problem = self.problem
        m = problem.n_counted
        q = self.cross.shape[1]
        shrunk = 1.0 / (self.values[:, np.newaxis] + m * problem.penalties)
        errors = np.zeros(len(problem.penalties))
        for rows, C in self.sums.blocks:
            E = (C - self.sums.means) @ self.directions
            freedom = np.maximum(1.0 - 1.0 / m - (E * E) @ shrunk, LEAST_FREEDOM)
            weight = problem.counted(freedom**-2, rows)
            for part in slices(len(errors), max(1, AT_ONCE // q)):
                each = shrunk[:, part, np.newaxis] * self.cross[:, np.newaxis]
                left = problem.images[rows][:, np.newaxis] - (
                    E @ each.reshape(len(each), -1)
                ).reshape(len(E), -1, q)
                errors[part] += np.einsum("ikq,ikq,ik->k", left, left, weight[:, part])
        return errors / m

    def penalised_error(self) -> float:
        """As :meth:`RidgeProblem.penalised_error`."""
        m = self.problem.n_counted
        squares = np.sum(self.cross**2, axis=1)
        explained = [
            np.sum(squares / (self.values + m * e)) for e in self.problem.averaged_penalties
        ]
        return float(1.0 - np.mean(explained) / m)

    def slopes(self) -> np.ndarray:
        """How much the penalised error would grow, to first order, without each column of the set.

        By the envelope theorem the best β is held, and only the kernel moves.
        """
        problem, sums, landmarks = self.problem, self.sums, self.sums.landmarks
        m = problem.n_counted
        betas = [self._weights(penalty) for penalty in problem.averaged_penalties]
        beta = np.hstack(betas)
        result = np.zeros(len(self.columns))
        for penalty, each in zip(problem.averaged_penalties, betas, strict=True):
            M = (each @ each.T) * sums.own
            result += m * penalty * _moved(M, landmarks, landmarks)
        for rows, C in self.sums.blocks:
            left = np.tile(problem.images[rows], len(betas)) - (C - sums.means) @ beta
            M = (problem.counted(left, rows) @ beta.T) * C
            result -= 2.0 * _moved(M, sums.rows.take(rows), landmarks)
        return result / (2.0 * m * len(betas) * problem.total(self.columns))

    def predict(self, new: np.ndarray, penalty: float) -> np.ndarray:
        """Images ψ of rows with all columns."""
        total = self.problem.total(self.columns)
        rows = self.problem.gaps.among(self.columns).see(new[:, self.columns], 2, 2.0 * total)
        kernel = _gaussian(rows, self.sums.landmarks, -0.5 / total)
        return np.asarray((kernel - self.sums.means) @ self._weights(penalty))

    def _weights(self, penalty: float) -> np.ndarray:
        """β of the landmarks."""
        shrunk = self.cross / (self.values + self.problem.n_counted * penalty)[:, np.newaxis]
        return np.asarray(self.directions @ shrunk)


def _gaussian(rows: GappedRows, others: GappedRows, scale: float) -> np.ndarray:
    """Kernel values of some rows with others."""
    if len(rows.apart):
        values = rows.sums(others, squared_distances)
    else:
        values = squared_distances(rows.filled, others.filled)
    values *= scale
    return np.exp(values, out=values)


def _moved(M: np.ndarray, rows: GappedRows, others: GappedRows) -> np.ndarray:
    """Σ_il M_il s_j(x_i, z_l) for every column j, with s = (x - z)² where there are values."""
    X, Z = rows.filled, others.filled
    crossed = np.einsum("lj,lj->j", M.T @ X, Z)
    result = M.sum(axis=1) @ (X * X) - 2.0 * crossed + M.sum(axis=0) @ (Z * Z)
    if len(rows.apart):
        result[rows.first] += rows.weighted_corrections(M, others)
    return np.asarray(result)


# --- coordinates ----------------------------------------------------------------------------------

#: Share of a column's variance that its folded form has.
FOLDED = 0.2
#: A folded form that deviates so little from a line, in units of the spread of squared ranks
#: without ties (0.3), says nothing of its own.
STRAIGHT = 0.05


def coordinates(units: Units, scale: bool, weight: np.ndarray | None = None) -> Units:
    """Units with centred coordinates for their columns.

    With ``scale`` every input column has the total variance 1, whether it is a number or the
    indicators of a category.
    """
    X = np.ascontiguousarray(units.X, dtype=np.float64)  # rounding depends on the layout
    X = X - _means(X, weight)
    if scale:
        X = _scaled(X, units.owners, weight)
    folds, spreads = _folded(X, weight)
    told = spreads > 0.0  # columns with a folded form
    X *= np.where(told, np.sqrt(1.0 - FOLDED), 1.0)
    folds = folds[:, told] * (np.sqrt(FOLDED) * spreads[told])
    place = np.full(X.shape[1], -1)
    place[told] = X.shape[1] + np.arange(folds.shape[1])
    columns = [_with_folds(each, place) for each in units.columns]
    cells = [cell for each in units.cells for cell in (each, place[each]) if cell[0] >= 0]
    owners = np.concatenate([units.owners, units.owners[told]])
    return replace(units, X=np.hstack([X, folds]), owners=owners, columns=columns, cells=cells)


def all_columns(units: Units, weight: np.ndarray | None = None) -> np.ndarray:
    """What predicts all columns predicts these: every input column of total variance 1.

    Missing cells are the means of their columns.
    """
    X = np.asarray(units.X, dtype=np.float64)
    return np.nan_to_num(_scaled(X - _means(X, weight), units.owners, weight))


def _with_folds(columns: np.ndarray, place: np.ndarray) -> np.ndarray:
    folds = place[columns]
    return np.concatenate([columns, folds[folds >= 0]])


def _scaled(X: np.ndarray, owners: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Centred columns, those of one input column of total variance 1."""
    largest = np.fmax.reduce(np.abs(X), axis=0)  # squares of very large numbers would overflow
    widths = np.bincount(owners)
    starts = np.cumsum(widths) - widths
    largest = np.repeat(np.fmax.reduceat(largest, starts), widths)
    X = X / np.where(largest > 0.0, largest, 1.0)
    variances = np.add.reduceat(_means(X**2, weight), starts)
    return np.asarray(X / np.repeat(np.sqrt(np.where(variances > 0.0, variances, 1.0)), widths))


def _folded(X: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Squared ranks less what is linear in the column, of variance 1, and the columns' spreads.

    The spread is 0 where there is no such form: columns of two values, or almost straight.
    """
    spreads = np.sqrt(_means(X**2, weight))
    known = spreads > 0.0
    lines = X / np.where(known, spreads, 1.0)
    folds = _middle_ranks(X, weight) ** 2
    folds -= _means(folds, weight)
    folds -= lines * _means(folds * lines, weight)
    own = np.sqrt(_means(folds**2, weight))
    bent = known & (own > STRAIGHT * 0.3)
    return folds / np.where(bent, own, 1.0), np.where(bent, spreads, 0.0)


def _middle_ranks(X: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Ranks from -1 to 1, those of equal values averaged; missing cells have none."""
    if weight is None:
        ranks = rankdata(X, axis=0, nan_policy="omit")
        return np.asarray((2.0 * ranks - 1.0) / np.sum(~np.isnan(X), axis=0) - 1.0)
    ranks = np.empty_like(X)
    for column, values in enumerate(X.T):
        _, codes = np.unique(values, return_inverse=True)
        counts = np.bincount(codes, weight)
        ranks[:, column] = (np.cumsum(counts) - 0.5 * counts)[codes]
    return 2.0 * ranks / weight.sum() - 1.0


def _means(X: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Of the columns, over the rows that have a value; 0 for those without any."""
    absent = np.isnan(X)
    if not absent.any():
        return np.asarray(np.average(X, axis=0, weights=weight))
    present = np.maximum(len(X) - absent.sum(axis=0), 1)  # no weights beside missing cells
    return np.asarray(np.where(absent, 0.0, X).sum(axis=0) / present)
